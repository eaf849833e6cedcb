"""`audit` of people in Parquet files, partition by partition."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from counterplan.batch.auditing import DEFAULT_PLANNER, OUTCOMES, audit
from counterplan.cli.batching import BatchChoices, parts_text, stopping
from counterplan.cli.terminal import echo
from counterplan.errors import SettingError
from counterplan.problem.parquet_people import is_parquet_source

BATCH_PLANNER = DEFAULT_PLANNER


def is_batch(people: Path | None, choices: BatchChoices) -> bool:
    """Whether people are audited part by part: they are in a folder or a pattern, or an option demands it."""
    demanded = choices.cluster is not None or choices.partition_rows is not None
    return demanded or (people is not None and is_parquet_source(people))


def audit_batch(
    learned: str, people: Path | None, out: Path, choices: BatchChoices, jobs: int | None, **options: Any
) -> None:
    """Audit everybody in Parquet files; `options` are parameters of `batch.audit`."""
    if people is None:
        raise SettingError("give the people, Parquet files, a folder or a pattern, with --people")
    parameters = choices.parameters(jobs)
    with stopping(out / OUTCOMES):
        done = audit(learned, people, out, **parameters, **options)
    if done.run.notice:
        echo(f"{done.run.notice}.", err=True)
    echo(str(done))
    echo(f"Wrote {out / 'report.html'}, tables and data, and {parts_text(done.run)}.")
