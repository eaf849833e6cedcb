"""`recommend --out FOLDER`: plans for people in Parquet files, partition by partition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from counterplan.batch.engines import LOCAL
from counterplan.batch.part_files import MANIFEST
from counterplan.batch.recommend import recommend
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
    if choices.memory is not None and choices.cluster != LOCAL:
        raise SettingError("--memory is for --cluster local; the workers of other clusters have limits of their own")
    assert choices.out is not None
    if jobs is None:
        jobs = -1 if choices.cluster == LOCAL else 1
    if choices.cluster not in (None, LOCAL) and jobs != 1:
        raise SettingError("--jobs is for processes of this machine; a cluster has as many as were started for it")
    before = (choices.out / MANIFEST).exists()
    go_on = f"finished parts stay in {choices.out}: the same command with --resume continues."
    try:
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
    except KeyboardInterrupt:
        echo(f"Interrupted: {go_on}", err=True)
        raise typer.Exit(130) from None
    except CounterplanError:
        if any(choices.out.glob("part-*")) and (choices.resume or not before):
            echo(f"Stopped: {go_on}", err=True)
        raise
    if result.notice:
        echo(f"{result.notice}.", err=True)
    echo(result)
    reused = f", {result.reused:,} of them from before" if result.reused else ""
    echo(f"Wrote {count(result.parts, 'part')}{reused} to {result.folder}, with the manifest {MANIFEST}.")
