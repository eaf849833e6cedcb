"""Plans for people in Parquet files: `batch.recommend`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

from counterplan.batch.answers import merge_answers
from counterplan.batch.names import place_of, require_names
from counterplan.batch.part_files import PartRecord
from counterplan.batch.recommend_task import LoadedRecommendation, RecommendTask
from counterplan.batch.running import BatchResult, BatchRun, BatchSettings
from counterplan.errors import SettingError
from counterplan.plans.progress import reporting


def recommend(
    learned: str | Path,
    people: str | Path | Sequence[str | Path],
    out: str | Path,
    *,
    planner: str,
    model: str | Path | None = None,
    problem: str | Path | None = None,
    threshold: float | None = None,
    like: str | Path | None = None,
    refits: Sequence[str] = (),
    agree: int | None = None,
    target: str | Collection[str] | None = None,
    target_column: str | None = None,
    price: float | None = None,
    seed: int = 0,
    reasons: bool = False,
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
) -> BatchResult:
    """Plan for people in Parquet files, partition by partition, and write the plans as Parquet.

    Memory is bounded by a partition for each process. Plans do not depend on the number of processes, and neither on
    where partitions run: each begins with the answers that the learned folder had when the run began.

    Parameters
    ----------
    learned : str or Path
        A learned folder, a problem file or a benchmark.
    people : str, Path or a sequence of them
        Parquet files, folders of them, or patterns such as "people/*.parquet".
    out : str or Path
        A new folder. It gets a part for each partition, in the order of the people, with a row for each step (a person
        without steps has one row); and the manifest `_manifest.json`.
    planner : str
        "program", "card", "guided", "exact" or another planner by name, but not "auto".
    model : str or Path, optional
        The model by name: "MODULE:ATTR", a file or a URL. Every worker process loads it by itself. A benchmark, fitted
        or not, has its own; a program and a card need none.
    problem, threshold, like, refits, agree
        As for `counterplan.inputs.resolve`; files are given by their path.
    target : str or collection of str, optional
        The outcome to reach, or several.
    target_column : str, optional
        Column of the people with the outcome that each is to reach.
    price : float, optional
        Cost of a query; see `Recourse.planner`.
    seed : int, default=0
        As for `counterplan.inputs.resolve`.
    reasons : bool, default=False
        Whether to add reasons to the steps of planners that have none. Programs and cards always have some.
    record : bool, default=True
        Whether to add the answers of the model to those in the learned folder, at the end of the run.
    key : str, optional
        Column with a key of each person, which becomes the column `person` of the parts; models do not get it. Default:
        the row in the file.
    partition_rows : int, optional
        Most people of a partition. Default: 50,000 for programs, otherwise 10,000.
    cluster : str, optional
        The address of a Dask scheduler, such as "tcp://host:8786", or "local" for a Dask cluster on this machine.
        Default: plain processes.
    jobs : int, default=1
        Number of processes on this machine; -1 for one per core.
    memory : str, default="auto"
        Memory limit of each worker of a local Dask cluster, such as "2GB".
    resume : bool, default=False
        Continue an interrupted run in `out`: parts that are there are skipped.
    skip_bad : bool, default=False
        Write rows that do not match the problem to a side file, `_bad_rows`, instead of raising a PeopleError.
    progress : bool or callable, optional
        True for a progress bar; or a function, which is called with the number of people done since the last call.
    **options
        Parameters of `Planner.plan`, the same for everybody: forbid, weights, alternatives, budget, refused, survival,
        survival_at_least, execution, deadline, pareto.

    Returns
    -------
    BatchResult
        Counts over all parts.

    Raises
    ------
    SettingError
        If a setting is invalid, or no scheduler answers.
    PeopleError
        If files or rows do not match the problem; names file, row and column.
    StorageError
        If `out` is not empty, cannot be resumed, or cannot be written.

    Examples
    --------
    >>> from counterplan import batch, benchmarks
    >>> benchmarks.load("german").refused_test.head(20).to_parquet("people.parquet")
    >>> result = batch.recommend("german", "people.parquet", "plans", planner="exact")
    >>> result.rows, result.counts["found"]
    (20, 20)
    >>> sorted(path.name for path in result.folder.glob("*.parquet"))
    ['part-000000.parquet']
    """
    require_names(model=model, problem=problem, like=like)
    for name in ("allowed", "jobs", "progress"):
        if name in options:
            raise SettingError(f"'{name}' depends on the people of a call, and cannot be used in a batch")
    task = RecommendTask(
        learned=place_of(learned),
        planner=planner,
        model=None if model is None else str(model),
        problem=None if problem is None else str(Path(problem).absolute()),
        threshold=threshold,
        like=None if like is None else str(Path(like).absolute()),
        refits=tuple(map(str, refits)),
        agree=agree,
        target=None if target is None else (target,) if isinstance(target, str) else tuple(sorted(target)),
        target_column=target_column,
        price=price,
        seed=seed,
        reasons=reasons,
        record=record,
        options=options,
    )
    run = BatchRun(task, people, out, BatchSettings(key, partition_rows, cluster, jobs, memory, resume, skip_bad))
    loaded = run.loaded
    assert isinstance(loaded, LoadedRecommendation)

    def finish(records: Sequence[PartRecord]) -> str:
        return merge_answers(run.folder, records, loaded.recourse, loaded.inputs.workspace) if record else ""

    with reporting(progress, "Planning", run.people.rows, display=lambda bar: bar.advance) as report:
        return run.run(report, finish)
