"""`audit` of people in Parquet files, partition by partition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from counterplan.batch.auditing import DEFAULT_PLANNER as BATCH_PLANNER
from counterplan.batch.auditing import OUTCOMES, audit
from counterplan.cli.batching import batch_jobs, parts_text, stopping
from counterplan.cli.terminal import echo
from counterplan.errors import SettingError
from counterplan.problem.parquet_people import is_parquet_source

__all__ = ["BATCH_PLANNER", "AuditChoices", "Key", "Recorded", "Rows", "Skip", "audit_batch"]

Key = Annotated[str | None, typer.Option("--key", help="Of people in Parquet files: column with a key of each person.")]
Rows = Annotated[
    int | None,
    typer.Option("--partition-rows", min=1, help="Of people in Parquet files: most people at a time (10,000)."),
]
Skip = Annotated[
    bool,
    typer.Option(
        "--skip-bad", help="Of people in Parquet files: write rows that do not match the problem to a side file."
    ),
]
Recorded = Annotated[
    bool,
    typer.Option(
        "--record/--no-record",
        help="Of people in Parquet files: add the answers of the model to the learned folder.",
    ),
]


@dataclass(frozen=True)
class AuditChoices:
    """The options of `audit` that are for people in Parquet files."""

    cluster: str | None
    key: str | None
    partition_rows: int | None
    memory: str | None
    skip_bad: bool
    record: bool

    def is_batch(self, people: Path | None) -> bool:
        """Whether people are audited part by part: they are in a folder or a pattern, or an option demands it."""
        demanded = self.cluster is not None or self.partition_rows is not None
        return demanded or (people is not None and is_parquet_source(people))

    def require_none(self) -> None:
        """Raise a SettingError if one of the options is given for a table that is read as a whole."""
        given = {
            "--key": self.key is not None,
            "--memory": self.memory is not None,
            "--skip-bad": self.skip_bad,
            "--no-record": not self.record,
        }
        for name, is_given in given.items():
            if is_given:
                raise SettingError(
                    f"{name} is for people in Parquet files that are audited part by part: name a folder or a pattern "
                    "with --people, or give --partition-rows for a single file"
                )


def audit_batch(
    learned: str,
    people: Path | None,
    out: Path,
    choices: AuditChoices,
    jobs: int | None,
    excluded: Mapping[str, object],
    **options: Any,
) -> None:
    """Audit everybody in Parquet files.

    Parameters
    ----------
    learned : str
        The problem or folder.
    people : Path or None
        The files.
    out : Path
        The folder.
    choices : AuditChoices
        How the batch runs.
    jobs : int or None
        Number of processes; default: 1, or one per core on a local cluster.
    excluded : mapping of str to object
        Options that cannot be used, by name, and their values.
    **options
        Parameters of `batch.audit`.
    """
    if people is None:
        raise SettingError("give the people, Parquet files, a folder or a pattern, with --people")
    for name, value in excluded.items():
        if value:
            raise SettingError(f"{name} cannot be used for people in Parquet files that are audited part by part")
    jobs = batch_jobs(choices.cluster, choices.memory, jobs)
    with stopping(out / OUTCOMES, bool(options["resume"])):
        done = audit(
            learned,
            people,
            out,
            key=choices.key,
            partition_rows=choices.partition_rows,
            cluster=choices.cluster,
            jobs=jobs,
            memory=choices.memory or "auto",
            skip_bad=choices.skip_bad,
            record=choices.record,
            progress=True,
            **options,
        )
    if done.run.notice:
        echo(f"{done.run.notice}.", err=True)
    echo(str(done))
    echo(f"Wrote {out / 'report.html'}, tables and data, and {parts_text(done.run)}.")
