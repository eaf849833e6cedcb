"""`recommend --out FOLDER`: plans for people in Parquet files, partition by partition; and what `audit` shares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from counterplan.batch.engines import LOCAL
from counterplan.batch.part_files import MANIFEST
from counterplan.batch.recommend import recommend
from counterplan.batch.running import BatchResult
from counterplan.cli.common import count
from counterplan.cli.terminal import echo
from counterplan.errors import CounterplanError, SettingError

OutFolder = Annotated[
    Path | None,
    typer.Option(
        "--out",
        help="Plan for people in Parquet files, a folder or a pattern, and write the plans as Parquet to this folder.",
    ),
]
PersonKey = Annotated[str | None, typer.Option("--key", help="With --out: column with a key of each person.")]
PartitionRows = Annotated[
    int | None,
    typer.Option(min=1, help="With --out: most people planned for at a time (program: 50,000, others: 10,000)."),
]
Memory = Annotated[str | None, typer.Option(help="With --cluster local: memory limit of each process, such as 2GB.")]
Resume = Annotated[bool, typer.Option("--resume", help="With --out: continue the run in the folder.")]
SkipBad = Annotated[
    bool, typer.Option("--skip-bad", help="With --out: write rows that do not match the problem to a side file.")
]
Record = Annotated[
    bool, typer.Option("--record/--no-record", help="With --out: add the answers of the model to the learned folder.")
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
    """The options of `recommend` that need --out."""

    out: Path | None
    cluster: str | None
    key: str | None
    partition_rows: int | None
    memory: str | None
    resume: bool
    skip_bad: bool
    record: bool
    reasons: bool

    def require_none(self) -> None:
        """Raise a SettingError if one of the options is given without --out."""
        given = {
            "--cluster": self.cluster is not None,
            "--key": self.key is not None,
            "--partition-rows": self.partition_rows is not None,
            "--memory": self.memory is not None,
            "--resume": self.resume,
            "--skip-bad": self.skip_bad,
            "--no-record": not self.record,
            "--reasons": self.reasons,
        }
        for name, is_given in given.items():
            if is_given:
                raise SettingError(f"{name} is for people in Parquet files: give --out FOLDER, too")


def recommend_batch(
    learned: str,
    people: Path | None,
    choices: BatchChoices,
    jobs: int | None,
    excluded: Mapping[str, object],
    **options: Any,
) -> None:
    """Plan for everybody in Parquet files.

    Parameters
    ----------
    learned : str
        The problem or folder.
    people : Path or None
        The files.
    choices : BatchChoices
        How the batch runs.
    jobs : int or None
        Number of processes; default: 1, or one per core on a local cluster.
    excluded : mapping of str to object
        Options that cannot be used with --out, by name, and their values.
    **options
        Parameters of `batch.recommend`.
    """
    for name, value in excluded.items():
        if value:
            raise SettingError(f"{name} cannot be used with --out")
    if people is None:
        raise SettingError("--out: give the people, Parquet files, a folder or a pattern, with --people")
    assert choices.out is not None
    jobs = batch_jobs(choices.cluster, choices.memory, jobs)
    with stopping(choices.out, choices.resume):
        result = recommend(
            learned,
            people,
            choices.out,
            key=choices.key,
            partition_rows=choices.partition_rows,
            cluster=choices.cluster,
            jobs=jobs,
            memory=choices.memory or "auto",
            resume=choices.resume,
            skip_bad=choices.skip_bad,
            record=choices.record,
            reasons=choices.reasons,
            progress=True,
            **options,
        )
    if result.notice:
        echo(f"{result.notice}.", err=True)
    echo(result)
    echo(f"Wrote {parts_text(result)}, with the manifest {MANIFEST}.")


def batch_jobs(cluster: str | None, memory: str | None, jobs: int | None) -> int:
    """The number of processes; a SettingError if it, or the memory, is not for this kind of cluster."""
    if memory is not None and cluster != LOCAL:
        raise SettingError("--memory is for --cluster local; the workers of other clusters have limits of their own")
    if jobs is None:
        return -1 if cluster == LOCAL else 1
    if cluster not in (None, LOCAL) and jobs != 1:
        raise SettingError("--jobs is for processes of this machine; a cluster has as many as were started for it")
    return jobs


@contextmanager
def stopping(folder: Path, resume: bool) -> Iterator[None]:
    """Within this context, an interruption or an error of a run says how to go on with the parts in `folder`."""
    before = (folder / MANIFEST).exists()
    go_on = f"finished parts stay in {folder}: the same command with --resume continues."
    try:
        yield
    except KeyboardInterrupt:
        echo(f"Interrupted: {go_on}", err=True)
        raise typer.Exit(130) from None
    except CounterplanError:
        if any(folder.glob("part-*")) and (resume or not before):
            echo(f"Stopped: {go_on}", err=True)
        raise


def parts_text(result: BatchResult) -> str:
    """How many parts there are, and where."""
    reused = f", {result.reused:,} of them from before" if result.reused else ""
    return f"{count(result.parts, 'part')}{reused} to {result.folder}"
