"""Run a task on all partitions: finished parts are skipped, dead processes replaced, and the manifest is kept."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from counterplan.batch.engines import Engine, InProcess, open_engine
from counterplan.batch.manifest import (
    FileRecord,
    Provenance,
    begin,
    file_records,
    provenance_of,
    require_startable,
    run_of,
    write_manifest,
)
from counterplan.batch.part_files import (
    BAD_ROWS,
    PartRecord,
    part_name,
    read_record,
    remove_empty_folders,
    remove_partless,
    remove_stale,
    remove_unfinished,
)
from counterplan.batch.partitions import Partition, partitions_of
from counterplan.batch.task import Counts, LoadedTask, PartitionTask, total
from counterplan.batch.versions import own_version
from counterplan.batch.worker import BatchJob, Failure, forget_tasks, remember_task, run_partition
from counterplan.errors import CounterplanError, PeopleError, SettingError, StorageError
from counterplan.parallel import checked_jobs
from counterplan.problem.frames import require_columns
from counterplan.problem.parquet_people import ParquetPeople, would_read
from counterplan.problem.values import count, did_you_mean, listed
from counterplan.storage.locks import locked

_WAKE_SECONDS = 0.5
"""Longest uninterrupted wait: a signal that another thread receives does not end a wait of the main thread."""
_IN_FLIGHT = 2
"""Partitions that are submitted for each slot of an engine: the next is there when one ends."""
_MOST_DEATHS = 2

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class BatchSettings:
    """How a batch runs; see `counterplan.batch.recommend`.

    Parameters
    ----------
    key : str, optional
        Column with the key of each person.
    partition_rows : int, optional
        Most rows of a partition.
    cluster : str, optional
        "local", or the address of a Dask scheduler.
    jobs : int, default=1
        Number of processes; -1 for one per core.
    memory : str, default="auto"
        Memory limit of each worker of a local cluster.
    resume : bool, default=False
        Continue the run in the folder.
    skip_bad : bool, default=False
        Skip rows that do not match the problem.
    """

    key: str | None = None
    partition_rows: int | None = None
    cluster: str | None = None
    jobs: int = 1
    memory: str = "auto"
    resume: bool = False
    skip_bad: bool = False


@dataclass(frozen=True)
class BatchResult:
    """The result of a batch run; the rows are in the Parquet files of `folder`.

    Attributes
    ----------
    folder : Path
        The folder.
    counts : dict of str to number
        The sum over all parts: people, plans by status, queries, …
    rows, bad : int
        Rows of the input, and how many of them were skipped.
    parts, reused : int
        Parts, and how many of them were there before the run was resumed.
    text : str
        The counts in words.
    notice : str
        What the user should know besides; empty if nothing.
    repeated_keys : int
        Rows with the key of an earlier row of the same partition; keys of different partitions are not compared.

    Examples
    --------
    >>> from counterplan import batch, benchmarks
    >>> benchmarks.load("german").refused_test.head(20).to_parquet("people.parquet")
    >>> result = batch.recommend(
    ...     "german", "people.parquet", "plans", planner="exact", partition_rows=10
    ... )
    >>> result.rows, result.bad, result.parts, result.reused
    (20, 0, 2, 0)
    >>> print(result)
    20 people: 20 found. 687 queries.
    """

    folder: Path
    counts: Counts
    rows: int
    bad: int
    parts: int
    reused: int
    text: str
    notice: str = ""
    repeated_keys: int = 0

    def __str__(self) -> str:
        return " ".join(filter(None, [self.text, self.remarks]))

    @property
    def remarks(self) -> str:
        """How many rows were skipped, and how many have the key of another one; empty if none."""
        return " ".join(filter(None, [self.skipped, self.repeated]))

    @property
    def repeated(self) -> str:
        """How many rows have the key of an earlier row of their partition; empty if none."""
        if not self.repeated_keys:
            return ""
        return f"{count(self.repeated_keys, 'row has', 'rows have')} the key of an earlier row of the same partition."

    @property
    def skipped(self) -> str:
        """How many rows were skipped, and where they are; empty if none."""
        if not self.bad:
            return ""
        return f"{count(self.bad, 'bad row is', 'bad rows are')} in {self.folder / BAD_ROWS}."


class BatchRun:
    """A run of a task on all partitions of people.

    Parameters
    ----------
    task : PartitionTask
    people : str, Path or a sequence of them
        Parquet files, folders or patterns.
    out : str or Path
        The folder for the parts.
    settings : BatchSettings

    Attributes
    ----------
    loaded : LoadedTask
        The task, loaded in this process.
    partitions : list of Partition
    schema : pyarrow.Schema
        The schema of all parts.
    records : dict of int to PartRecord
        Finished parts, by number.

    Raises
    ------
    SettingError
        If a setting of the task is invalid.
    PeopleError
        If files cannot be read, or lack columns.
    """

    def __init__(
        self,
        task: PartitionTask,
        people: str | Path | Sequence[str | Path],
        out: str | Path,
        settings: BatchSettings,
    ) -> None:
        self.task, self.settings, self.folder = task, settings, Path(out).absolute()
        self.shown = Path(out)
        self.jobs = checked_jobs(settings.jobs)
        found = ParquetPeople.find(people)
        if would_read(people, self.folder / part_name(0)):
            raise SettingError(
                f"{out}: is a folder that people are read from, so that plans would be taken for people; choose an "
                "--out outside of it"
            )
        self.partition_rows = task.default_rows if settings.partition_rows is None else settings.partition_rows
        partitions_of(found, self.partition_rows)
        self.loaded: LoadedTask = task.load()
        self._require_columns(found)
        self.schema = self.loaded.schema  # of results for nobody: settings are checked before anything is written
        self.people = found.with_digests()
        self.partitions = partitions_of(self.people, self.partition_rows)
        self.provenance: Provenance = provenance_of(task, self.loaded, found, self.partition_rows, settings.key)
        self.records: dict[int, PartRecord] = {}
        self.reused = 0

    def run(self, progress: Callable[[int], None], finish: Callable[[Sequence[PartRecord]], str]) -> BatchResult:
        """Process every partition whose part is not there, and write the manifest.

        Parameters
        ----------
        progress : callable
            Called with the number of rows that are done since the last call.
        finish : callable
            Called with all records when all parts are there; returns a notice for the user.

        Returns
        -------
        BatchResult

        Raises
        ------
        CounterplanError
            If a partition fails; finished parts stay, and `resume` continues.
        """
        run, settings = run_of(self.provenance), self.settings
        files = file_records(self.people)
        require_startable(self.folder, self.provenance, files, resume=settings.resume)
        engine = open_engine(settings.cluster, self.jobs, memory=settings.memory)
        with engine, locked(self.folder):  # the address is checked before anything is written
            stored = begin(self.folder, self.provenance, files, resume=settings.resume)
            self._use_names(stored)
            found = (read_record(self.folder, one, run) for one in self.partitions)
            self.records = {record.number: record for record in found if record is not None}
            self.reused = len(self.records)
            remove_unfinished(self.folder)
            remove_stale(self.folder, self.records.values())
            remove_partless(self.folder)
            progress(sum(record.rows for record in self.records.values()))
            self._write_manifest(complete=False)
            identity = tuple(self.loaded.identity.items())
            job = BatchJob(self.task, str(self.folder), run, identity, own_version(), settings.key, settings.skip_bad)
            if isinstance(engine, InProcess):
                remember_task(run, self.loaded)
            try:
                self._process(engine, job, progress)
                notices = [_changed(files, stored), finish([self.records[one.number] for one in self.partitions])]
                remove_empty_folders(self.folder)
                self._write_manifest(complete=True)
            except BaseException:
                with suppress(StorageError):  # such as a full disk, which is what is reported
                    self._write_manifest(complete=False)
                raise
            finally:
                forget_tasks()
                remove_unfinished(self.folder)
        records = [self.records[one.number] for one in self.partitions]
        counts = total(record.counts for record in records)
        return BatchResult(
            self.shown,
            counts,
            sum(record.rows for record in records),
            sum(record.bad for record in records),
            len(records),
            self.reused,
            self.task.describe(counts),
            ". ".join(filter(None, notices)),
            sum(record.repeated_keys for record in records),
        )

    def _use_names(self, stored: Sequence[FileRecord]) -> None:
        """Name files as in the parts of a run that is resumed, perhaps from another directory."""
        names = {one.label: one.file for one in stored}
        if names:
            self.people = self.people.with_names([names[label] for label in self.people.labels])
            self.partitions = partitions_of(self.people, self.partition_rows)

    def _process(self, engine: Engine, job: BatchJob, progress: Callable[[int], None]) -> None:
        """Run the partitions whose parts are not there; after a failure, only those that are in flight."""
        failures: list[tuple[Partition, Failure]] = []
        waiting = _Stoppable(one for one in self.partitions if one.number not in self.records)
        for partition, result in run_all(engine, lambda one: (run_partition, job, one), waiting):
            if isinstance(result, Failure):
                failures.append((partition, result))
                waiting.stop()
                continue
            self.records[result.number] = result
            progress(result.rows)
        if failures:
            raise _failed(failures)

    def _write_manifest(self, complete: bool) -> None:
        files = file_records(self.people)
        write_manifest(self.folder, self.task, self.provenance, files, self.records.values(), complete=complete)

    def _require_columns(self, people: ParquetPeople) -> None:
        """Raise a PeopleError if a file lacks the columns of features or of keys."""
        needed = [*self.loaded.extra_columns, *([self.settings.key] if self.settings.key else [])]
        for file in people.files:
            try:
                require_columns(self.loaded.problem.features, file.columns)
            except PeopleError as error:
                raise PeopleError(f"{file.name}: {error}") from None
            for name in needed:
                if name not in file.columns:
                    raise PeopleError(f"{file.name}: has no column '{name}'{did_you_mean(name, file.columns)}")
        if self.settings.key is not None:
            require_one_type(people, self.settings.key)


def _changed(files: Sequence[FileRecord], stored: Sequence[FileRecord]) -> str:
    """Which files have changed since the run that is resumed, for the user; empty if none."""
    digests = {one.label: one.digest for one in stored}
    changed = [one.label for one in files if digests.get(one.label, one.digest) != one.digest]
    return f"Planned again for everybody in files that have changed: {listed(changed)}" if changed else ""


def require_one_type(people: ParquetPeople, column: str) -> None:
    """Raise a PeopleError if a column has another type in another file; that of no values goes with any."""
    first: tuple[str, str] | None = None
    for file in people.files:
        kind = file.types[file.columns.index(column)]
        kind = "text" if "string" in kind else kind
        first = first or (None if kind == "null" else (kind, file.name))
        if first is not None and kind not in ("null", first[0]):
            raise PeopleError(
                f"{file.name}: column '{column}' is {kind}, and in {first[1]} it is {first[0]}; keys need one type in "
                "all files"
            )


class _Stoppable(Generic[T]):
    """An iterable that ends early on request."""

    def __init__(self, items: Iterable[T]) -> None:
        self._items, self._stopped = iter(items), False

    def stop(self) -> None:
        self._stopped = True

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        if self._stopped:
            raise StopIteration
        return next(self._items)


def run_all(engine: Engine, call: Callable[[T], tuple[Any, ...]], items: Iterable[T]) -> Iterator[tuple[T, Any]]:
    """Run calls on an engine, a bounded number at a time.

    After the death of a process of an engine that does not repeat calls itself, those in flight are repeated one at a
    time, so that the one that kills its process is known.

    Parameters
    ----------
    engine : Engine
        The engine.
    call : callable
        Returns the function for an item, followed by its arguments.
    items : iterable
        Hashable items, which are taken when there is room for them.

    Yields
    ------
    tuple
        An item and its result, in the order in which calls end.

    Raises
    ------
    CounterplanError
        If an item has killed its process twice, or a call fails unexpectedly.
    """
    source, suspects, deaths = iter(items), deque[T](), Counter[T]()
    running: dict[Future[Any], T] = {}

    def submit(item: T) -> None:
        try:
            running[engine.submit(*call(item))] = item
        except engine.died:
            suspects.append(item)

    def fill() -> None:
        if suspects:
            if not running:
                submit(suspects.popleft())
            return
        while len(running) < _IN_FLIGHT * engine.slots:
            try:
                submit(next(source))
            except StopIteration:
                return
            if isinstance(engine, InProcess):
                return

    fill()
    while running or suspects:
        lost: list[T] = []
        for future in wait(running, timeout=_WAKE_SECONDS, return_when=FIRST_COMPLETED).done:
            item = running.pop(future)
            try:
                result = future.result()
            except engine.died:
                lost.append(item)
                continue
            except CounterplanError:
                raise
            except Exception as error:
                raise CounterplanError(f"{item}: failed: {type(error).__name__}: {error}") from error
            yield item, result
        if lost:
            lost += running.values()
            running.clear()
            deaths.update(lost)
            if not engine.restarts or (len(lost) == 1 and deaths[lost[0]] >= _MOST_DEATHS):
                raise CounterplanError(f"{engine.why_lost(str(lost[0]))}, and go on with --resume")
            engine.restart()
            suspects.extend(lost)
        fill()


def _failed(failures: list[tuple[Partition, Failure]]) -> CounterplanError:
    """The error about failed partitions: that of the first one, with its place, which errors about people have."""
    partition, failure = min(failures, key=lambda one: one[0].number)
    error = failure.error()
    return error if isinstance(error, PeopleError) else type(error)(f"{partition}: {error}")
