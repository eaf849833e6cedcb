"""Process one partition: read people, run the task, write the part. It runs in worker processes, on any machine."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from counterplan import errors
from counterplan.batch.part_files import (
    ANSWERS,
    BAD_ROWS,
    PartRecord,
    answers_name,
    parquet_bytes,
    part_name,
    write_part,
)
from counterplan.batch.partitions import Partition
from counterplan.batch.task import PERSON, LoadedTask, PartitionTask
from counterplan.batch.versions import own_version
from counterplan.errors import CounterplanError, PeopleError
from counterplan.problem import People
from counterplan.problem.frames import BadCell, describe_bad_cells
from counterplan.storage.files import write_inside

if TYPE_CHECKING:
    import pyarrow as pa

FILE, ROW = "file", "row"
"""Columns of parts with the file of each person, and the row there."""
_REMEDY = (
    "correct these rows, or skip them with --skip-bad (skip_bad=True); a run that is resumed plans again for "
    "everybody in a file that has changed"
)
_PREFIX = "counterplan_"
"""Of the columns that are added to skipped rows."""


@dataclass(frozen=True)
class BatchJob:
    """What a worker process needs to know about a run.

    Attributes
    ----------
    task : PartitionTask
        The task.
    folder : str
        The folder that parts are written to.
    run : str
        Identity of the run.
    identity : tuple of (str, str)
        What `LoadedTask.identity` has to be in every process.
    version : str
        Version of counterplan.
    key : str or None
        Column with the key of each person; None: the row in the file.
    skip_bad : bool
        Whether rows that do not match the problem are skipped.
    """

    task: PartitionTask
    folder: str
    run: str
    identity: tuple[tuple[str, str], ...]
    version: str
    key: str | None = None
    skip_bad: bool = False


@dataclass(frozen=True)
class Failure:
    """An error that the user can fix, as plain data: repeating the partition would not help."""

    kind: str
    message: str

    def error(self) -> CounterplanError:
        """The error."""
        kind = getattr(errors, self.kind, CounterplanError)
        return kind(self.message) if issubclass(kind, CounterplanError) else CounterplanError(self.message)


_loaded: dict[str, LoadedTask] = {}
"""The task of the present run, loaded once in each process."""
_lock = threading.Lock()
"""Planners and black boxes serve one thread at a time."""


def run_partition(job: BatchJob, partition: Partition) -> PartRecord | Failure:
    """Process a partition, and write its part, whole or not at all.

    Parameters
    ----------
    job : BatchJob
        The run.
    partition : Partition
        The partition.

    Returns
    -------
    PartRecord or Failure
        The record of the part; or the error, if it is one that the user can fix.
    """
    with _lock:
        try:
            return process(job, loaded_task(job), partition)
        except CounterplanError as error:
            return Failure(type(error).__name__, str(error))


def loaded_task(job: BatchJob) -> LoadedTask:
    """The task of a run, loaded at most once in this process.

    Raises
    ------
    CounterplanError
        If it cannot be loaded, or differs from that of the process which started the run.
    """
    if job.run not in _loaded:
        require_same_version(job.version)
        loaded = job.task.load()
        wrong = [name for name, digest in job.identity if loaded.identity.get(name) != digest]
        if wrong:
            raise CounterplanError(
                f"a worker has loaded another {' and '.join(wrong)} than the process that started the run; install the "
                "same files and packages there"
            )
        _loaded.clear()
        _loaded[job.run] = loaded
    return _loaded[job.run]


def remember_task(run: str, task: LoadedTask) -> None:
    """Use a task that was loaded already in this process."""
    _loaded.clear()
    _loaded[run] = task


def forget_tasks() -> None:
    """Release loaded tasks."""
    _loaded.clear()


def require_same_version(version: str) -> None:
    """Raise a CounterplanError if this process has another version of counterplan."""
    if version != own_version():
        raise CounterplanError(
            f"a worker has counterplan {own_version()}, and the process that started the run {version}: install the "
            "same version there"
        )


def process(job: BatchJob, task: LoadedTask, partition: Partition) -> PartRecord:
    """Process a partition with a loaded task; errors are raised."""
    folder = Path(job.folder)
    if not folder.is_dir():
        raise errors.StorageError(f"{folder}: a worker cannot see this folder; use one that all machines share")
    raw = _read(job, task, partition)
    keys, own = _split_key(raw, job, task)
    people, bad = task.problem.read_valid(own.to_pandas().reset_index(drop=True))
    if keys is not None and keys.null_count:
        empty = np.flatnonzero(keys.is_null().to_numpy(zero_copy_only=False)).tolist()
        bad = [*bad, *(BadCell(row, str(job.key), "the key is missing") for row in empty)]
        kept = ~np.isin(people.table.index.to_numpy(), empty)
        people = people.take(np.flatnonzero(kept))
    rows = people.table.index.to_numpy()
    outcomes = None if people.outcomes is None else people.outcomes.reset_index(drop=True)
    people = People(people.features, people.states, people.table.reset_index(drop=True), outcomes=outcomes)
    skipped = _skip(job, raw, partition, bad) if bad else 0
    output = task.run(people)
    answers = 0 if output.answers is None else len(output.answers)
    if output.answers is not None and answers:
        output.answers.save(folder / ANSWERS / answers_name(partition.number), task.problem)
    table = _with_keys(output.table, keys, rows, partition)
    record = PartRecord(
        run=job.run,
        number=partition.number,
        file=partition.file.name,
        digest=partition.file.digest,
        first=partition.first,
        rows=partition.rows,
        bad=skipped,
        repeated_keys=0 if keys is None else _repeated(keys),
        answers=answers,
        counts=output.counts,
    )
    write_part(folder, table, record)
    return record


def _read(job: BatchJob, task: LoadedTask, partition: Partition) -> pa.Table:
    """The rows of a partition: all columns as they are if a model gets them, otherwise those that are needed."""
    if task.as_stored or job.skip_bad:
        return partition.file.read(partition.first, partition.rows)
    features = task.problem.features
    categories = [feature.name for feature in features if not feature.is_number]
    wanted = [feature.name for feature in features] + [*task.extra_columns] + ([job.key] if job.key else [])
    columns = [name for name in dict.fromkeys(wanted) if name in partition.file.columns]
    return partition.file.read(partition.first, partition.rows, columns, categories)


def _split_key(table: pa.Table, job: BatchJob, task: LoadedTask) -> tuple[Any, pa.Table]:
    """The keys of people, and the table without them, unless they are a feature; models get no keys."""
    if job.key is None:
        return None, table
    keys = table.column(job.key).combine_chunks()
    is_feature = any(feature.name == job.key for feature in task.problem.features)
    return keys, table if is_feature else table.drop_columns([job.key])


def _repeated(keys: Any) -> int:
    """Number of keys that are those of earlier rows."""
    return len(keys) - int(keys.null_count) - len(keys.drop_null().unique())


def _with_keys(table: pa.Table, keys: Any, rows: Any, partition: Partition) -> pa.Table:
    """`table` with the key, the file and the row of each person in place of their position in the partition."""
    import pyarrow as pa

    if PERSON not in table.column_names:
        return table
    position = table.column(PERSON).to_numpy()
    row = pa.array(rows[position] + partition.first, pa.int64())
    key = row if keys is None else keys.take(pa.array(rows[position]))
    none = pa.array(np.zeros(len(position), np.int32))
    file = pa.DictionaryArray.from_arrays(none, pa.array([partition.file.name], pa.string()))
    rest = table.drop_columns([PERSON])
    names = [PERSON, FILE, ROW, *rest.column_names]
    return pa.table([key, file, row, *rest.columns], names=names)


def _skip(job: BatchJob, raw: pa.Table, partition: Partition, bad: list[BadCell]) -> int:
    """Write bad rows to a side file, and return their number; a PeopleError if they are not to be skipped."""
    import pyarrow as pa

    if not job.skip_bad:
        placed = [cell._replace(row=cell.row + partition.first) for cell in sorted(bad)]
        lines = [f"{partition.file.name}: {line}" for line in _lines(placed)]
        raise PeopleError("\n".join([*lines, _REMEDY]))
    messages: dict[int, list[str]] = {}
    for cell in bad:
        messages.setdefault(cell.row, []).append(f"column '{cell.column}': {cell.message}")
    rows = sorted(messages)
    side = raw.take(pa.array(rows))
    side = side.append_column(f"{_PREFIX}file", pa.array([partition.file.name] * len(rows), pa.string()))
    side = side.append_column(f"{_PREFIX}row", pa.array([row + partition.first for row in rows], pa.int64()))
    texts = ["\n".join(messages[row]) for row in rows]
    side = side.append_column(f"{_PREFIX}mistakes", pa.array(texts, pa.string()))
    write_inside(Path(job.folder) / BAD_ROWS, part_name(partition.number), parquet_bytes(side), private=True)
    return len(rows)


def _lines(bad: list[BadCell]) -> list[str]:
    return describe_bad_cells(bad).split("\n")
