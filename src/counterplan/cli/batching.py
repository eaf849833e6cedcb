"""`recommend --out FOLDER`: plans for people in Parquet files, partition by partition; and what `audit` shares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from counterplan.batch.engines import LOCAL
from counterplan.batch.part_files import MANIFEST, part_paths
from counterplan.batch.recommend import recommend
from counterplan.batch.running import BatchResult
from counterplan.cli.terminal import echo
from counterplan.errors import CounterplanError, PeopleError, SettingError
from counterplan.problem.values import count

OutFolder = Annotated[
    Path | None,
    typer.Option(
        "--out",
        help="Plan for people in Parquet files, a folder or a pattern, and write the plans as Parquet to this folder.",
    ),
]
PersonKey = Annotated[
    str | None, typer.Option("--key", help="Of people in Parquet files: column with a key of each person.")
]
PartitionRows = Annotated[
    int | None,
    typer.Option(
        min=1, help="Of people in Parquet files: most people at a time (10,000; for plans by a program 50,000)."
    ),
]
Memory = Annotated[str | None, typer.Option(help="With --cluster local: memory limit of each process, such as 2GB.")]
Resume = Annotated[bool, typer.Option("--resume", help="With --out: continue the run in the folder.")]
SkipBad = Annotated[
    bool,
    typer.Option(
        "--skip-bad", help="Of people in Parquet files: write rows that do not match the problem to a side file."
    ),
]
Record = Annotated[
    bool,
    typer.Option(
        "--record/--no-record",
        help="Of people in Parquet files: add the answers of the model to the learned folder.",
    ),
]
Reasons = Annotated[
    bool, typer.Option("--reasons", help="With --out: add reasons to the steps, which takes longer than planning.")
]
BatchJobs = Annotated[
    int | None,
    typer.Option(
        help="Number of processes; -1: one per core. The result is the same for any number (default: 1; "
        "--cluster local: -1)."
    ),
]


@dataclass(frozen=True)
class BatchChoices:
    """The options of `recommend` and `audit` that are for people in Parquet files."""

    cluster: str | None
    key: str | None
    partition_rows: int | None
    memory: str | None
    skip_bad: bool
    record: bool

    @property
    def given(self) -> dict[str, bool]:
        """Which of the options were given, by name; without --cluster and --partition-rows, which demand a batch."""
        return {
            "--key": self.key is not None,
            "--memory": self.memory is not None,
            "--skip-bad": self.skip_bad,
            "--no-record": not self.record,
        }

    def parameters(self, jobs: int | None) -> dict[str, Any]:
        """Parameters of `batch.recommend` and `batch.audit`; a SettingError if jobs or memory do not fit the cluster.

        `jobs` is the number of processes; default: 1, or one per core on a local cluster.
        """
        return {
            "key": self.key,
            "partition_rows": self.partition_rows,
            "cluster": self.cluster,
            "jobs": _batch_jobs(self.cluster, self.memory, jobs),
            "memory": self.memory or "auto",
            "skip_bad": self.skip_bad,
            "record": self.record,
            "progress": True,
        }


def refuse(given: Mapping[str, object], why: str) -> None:
    """Raise a SettingError about the first option that was given, whose name `why` continues."""
    for name, value in given.items():
        if value or (isinstance(value, int) and not isinstance(value, bool)):  # row 0 is a value
            raise SettingError(f"{name} {why}")


def recommend_batch(
    learned: str, people: Path | None, out: Path, choices: BatchChoices, jobs: int | None, **options: Any
) -> None:
    """Plan for everybody in Parquet files; `options` are parameters of `batch.recommend`."""
    if people is None:
        raise SettingError("--out: give the people, Parquet files, a folder or a pattern, with --people")
    parameters = choices.parameters(jobs)
    with stopping(out):
        result = recommend(learned, people, out, **parameters, **options)
    if result.notice:
        echo(f"{result.notice}.", err=True)
    echo(result)
    echo(f"Wrote {parts_text(result)}, with the manifest {MANIFEST}.")


def _batch_jobs(cluster: str | None, memory: str | None, jobs: int | None) -> int:
    """The number of processes; a SettingError if it, or the memory, is not for this kind of cluster."""
    if memory is not None and cluster != LOCAL:
        raise SettingError("--memory is for --cluster local; the workers of other clusters have limits of their own")
    if jobs is None:
        return -1 if cluster == LOCAL else 1
    if cluster not in (None, LOCAL) and jobs != 1:
        raise SettingError("--jobs is for processes of this machine; a cluster has as many as were started for it")
    return jobs


@contextmanager
def stopping(folder: Path) -> Iterator[None]:
    """Within this context, an interruption or an error of a run says how to go on with the parts in `folder`."""
    before = _stamp(folder / MANIFEST)
    stay, same = f"finished parts stay in {folder}", "the same command with --resume"
    try:
        yield
    except KeyboardInterrupt:
        echo(f"Interrupted: {stay}: {same} continues." if any(part_paths(folder)) else "Interrupted.", err=True)
        raise typer.Exit(130) from None
    except CounterplanError as error:
        begun = _stamp(folder / MANIFEST) != before  # a run that is refused changes nothing
        if begun and any(part_paths(folder)):
            corrected = "once the people are corrected, " if isinstance(error, PeopleError) else ""
            skipping = ", and so does --resume --skip-bad" if isinstance(error, PeopleError) else ""
            echo(f"Stopped: {stay}: {corrected}{same} continues{skipping}.", err=True)
        raise


def _stamp(path: Path) -> int:
    """When a file was written, in ns; 0 if there is none."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def parts_text(result: BatchResult) -> str:
    """How many parts there are, and where."""
    reused = f" ({result.reused:,} of them from before)" if result.reused else ""
    return f"{count(result.parts, 'part')}{reused} to {result.folder}"
