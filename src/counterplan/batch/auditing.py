"""Audits of people in Parquet files: `batch.audit`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from counterplan.audit import AuditResult, AuditSettings
from counterplan.batch.answers import merge_answers
from counterplan.batch.audit_columns import columns_of_groups
from counterplan.batch.audit_relaxations import sampled_relaxations
from counterplan.batch.audit_tables import audit_groupings, audit_tables
from counterplan.batch.audit_task import PLANNER, AuditTask, LoadedAudit
from counterplan.batch.manifest import file_records
from counterplan.batch.names import place_of, require_names
from counterplan.batch.part_files import PartRecord
from counterplan.batch.running import BatchResult, BatchRun, BatchSettings
from counterplan.batch.task import total
from counterplan.errors import SettingError, StorageError
from counterplan.inputs import resolve_problem
from counterplan.models.identity import digest_of
from counterplan.plans.progress import reporting
from counterplan.problem.parquet_people import ParquetPeople

OUTCOMES = "outcomes"
"""Folder of the parts, in that of the audit."""
DEFAULT_PLANNER = "exact"


@dataclass(frozen=True)
class BatchAudit:
    """The result of an audit of people in Parquet files; `str` gives the summary.

    Attributes
    ----------
    folder : Path
        The folder of the report and the tables.
    run : BatchResult
        Counts and parts.
    result : AuditResult
        The statistics; its `people` are None.

    Examples
    --------
    >>> from counterplan import batch, benchmarks
    >>> benchmarks.load("german").test.to_parquet("people.parquet")
    >>> audit = batch.audit("german", "people.parquet", "audit", relaxations=0)
    >>> audit.run.rows, audit.run.parts
    (200, 1)
    >>> audit.result
    AuditResult(200 people, 78 refused)
    """

    folder: Path
    run: BatchResult
    result: AuditResult

    def __str__(self) -> str:
        return "\n".join(filter(None, [str(self.result), self.run.remarks]))


def audit(
    learned: str | Path,
    people: str | Path | Sequence[str | Path],
    out: str | Path,
    *,
    model: str | Path | None = None,
    against: str | Path | None = None,
    settings: AuditSettings | None = None,
    threshold: float | None = None,
    against_threshold: float | None = None,
    like: str | Path | None = None,
    benchmark_seed: int = 0,
    record: bool = True,
    key: str | None = None,
    partition_rows: int | None = None,
    cluster: str | None = None,
    jobs: int = 1,
    memory: str = "auto",
    resume: bool = False,
    skip_bad: bool = False,
    progress: Callable[[int], None] | bool | None = None,
    **options: Any,
) -> BatchAudit:
    """Audit people in Parquet files, partition by partition.

    Outcomes and statistics are those of `counterplan.Audit` with the same planner. Worker processes need memory for a
    partition; the process that computes the statistics at the end keeps about 30 bytes for each person, and needs about
    100 for a while.

    Parameters
    ----------
    learned : str or Path
        A problem file, a learned folder or a benchmark.
    people : str, Path or a sequence of them
        Parquet files, folders of them, or patterns such as "people/*.parquet".
    out : str or Path
        A new folder. It gets report.html, audit.json and tables as CSV; and in `outcomes` a part for each partition,
        with a row for each person, in the order of the people, and the manifest `_manifest.json`.
    model, against : str or Path, optional
        The model, and another one to compare it with, by name: "MODULE:ATTR", a file or a URL. Every worker process
        loads them by itself. A benchmark has its own model.
    settings : AuditSettings, optional
        As for `Audit`. The planner is "exact" unless it is given with `settings` or as an option. "cascade+exact" plans
        with what was learned first. "auto" needs a budget: without one it decides by measuring, and would decide
        differently in different partitions.
    threshold : float, optional
        As for `counterplan.inputs.resolve`.
    against_threshold : float, optional
        The threshold of the other model; `threshold` by default. The model may be the same one.
    like : str or Path, optional
        As for `counterplan.inputs.resolve`.
    benchmark_seed : int, default=0
        Seed of a benchmark.
    record : bool, default=True
        Whether to add the answers of the model to those in the learned folder, if there is one.
    key, partition_rows, cluster, jobs, memory, resume, skip_bad
        As for `counterplan.batch.recommend`. A run that is resumed may have another `level`, `min_group`, `seed` and
        `relaxations`, but not other columns to group people by.
    progress : bool or callable, optional
        True for a progress bar; or a function, which is called with the number of people done since the last call.
    **options
        Fields of `AuditSettings`, instead of `settings`: `groups=["sex"]`, `budget=100`.

    Returns
    -------
    BatchAudit
        The statistics, the folder of the report, and counts of the run.

    Raises
    ------
    SettingError
        If a parameter is invalid, or a column to group people by does not exist or has too many values.
    PeopleError
        If files or rows do not match the problem; names file, row and column.
    StorageError
        If `out` is not empty, cannot be resumed, or cannot be written.

    Examples
    --------
    >>> from counterplan import batch, benchmarks
    >>> benchmarks.load("german").test.to_parquet("people.parquet")
    >>> options = {"groups": ["sex"], "relaxations": 0}
    >>> audit = batch.audit("german", "people.parquet", "audit", **options)
    >>> audit.result.summary["refused"], audit.result.summary["recourse"]
    (78, 78)
    >>> sorted(path.name for path in audit.folder.iterdir())
    ['audit.json', 'differences.csv', 'functions.csv', 'groups.csv', 'outcomes', 'report.html']
    """
    require_names(model=model, against=against, like=like)
    chosen = _settings(settings, options)
    folder = Path(out)
    _require_free(folder, resume)
    problem = resolve_problem(learned)
    groups, columns = columns_of_groups(problem, ParquetPeople.find(people), chosen.groups, key)
    task = AuditTask(
        learned=place_of(learned),
        search=replace(chosen, groups=()),
        columns=columns,
        model=None if model is None else str(model),
        against=None if against is None else str(against),
        threshold=threshold,
        against_threshold=against_threshold,
        like=None if like is None else str(Path(like).absolute()),
        benchmark_seed=benchmark_seed,
        record=record,
    )
    batch_settings = BatchSettings(key, partition_rows, cluster, jobs, memory, resume, skip_bad)
    run = BatchRun(task, people, folder / OUTCOMES, batch_settings)
    results: list[AuditResult] = []

    def finish(records: Sequence[PartRecord]) -> str:
        result, notice = _summarise(run, records, chosen, groups)
        result.save(folder)
        results.append(result)
        return notice

    with reporting(progress, "Auditing", run.people.rows, display=lambda bar: bar.advance) as report:
        done = run.run(report, finish)
    return BatchAudit(folder, done, results[0])


def _summarise(
    run: BatchRun,
    records: Sequence[PartRecord],
    settings: AuditSettings,
    groups: Sequence[tuple[str, ...]],
) -> tuple[AuditResult, str]:
    """The statistics of all parts, and a notice for the user; answers are merged before relaxations need them."""
    loaded = run.loaded
    assert isinstance(loaded, LoadedAudit)
    tables = audit_tables(loaded, run.folder, records)
    groupings = audit_groupings(loaded, run.folder, records, groups)
    recourse, workspace = loaded.recourse, loaded.inputs.workspace
    notice = merge_answers(run.folder, records, recourse, workspace) if loaded.records else ""
    counts = total(record.counts for record in records)
    planners = {name.removeprefix(PLANNER): int(n) for name, n in counts.items() if name.startswith(PLANNER)}
    files = run.people
    fingerprint = digest_of([f"{one.label} {one.digest}".encode() for one in file_records(files)])
    about = loaded.audit.about(loaded.audit.manifest_of(fingerprint, len(tables["outcomes"])))
    about |= {"planners": planners, "files": len(files.files)}
    result = AuditResult(loaded.problem, None, tables, groupings, settings, about)
    before = loaded.audit.box.queries
    parts = (run.folder, run.partitions, records)
    relaxed = sampled_relaxations(loaded, files, parts, result.outcomes, settings, run.settings.key)
    if relaxed is not None:
        result.relaxations, section = relaxed
        result.add_section(section)
    if loaded.records and not notice and workspace is not None and loaded.audit.box.queries > before:
        recourse.save_answers(workspace.folder)
    return result, notice


def _settings(settings: AuditSettings | None, options: dict[str, Any]) -> AuditSettings:
    """The settings, with the planner "exact" unless there is another."""
    unknown = sorted({*options} - {*AuditSettings.__dataclass_fields__})
    if unknown:
        raise SettingError(f"an audit of Parquet files has no parameter '{unknown[0]}'")
    return replace(settings or AuditSettings(planner=DEFAULT_PLANNER), **options)


def _require_free(folder: Path, resume: bool) -> None:
    """Raise a StorageError if the folder holds something, and no run in it is resumed."""
    if not resume and folder.is_dir() and any(path.name != OUTCOMES for path in folder.iterdir()):
        raise StorageError(
            f"{folder}: is not empty; go on with --resume if it holds an unfinished audit of Parquet files, or choose "
            "another --out"
        )
