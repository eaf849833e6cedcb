"""The folder of a batch run: names of its files, parts that describe themselves, and side files.

Names other than those of parts begin with "_" or ".", so that readers of Parquet folders ignore them.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from counterplan.batch.partitions import Partition
from counterplan.batch.task import Counts
from counterplan.bounded_json import parse_json
from counterplan.errors import CounterplanError
from counterplan.storage.files import write_inside

if TYPE_CHECKING:
    import pyarrow as pa

MANIFEST = "_manifest.json"
ANSWERS = "_answers"
"""Folder of answers of the model that are yet to be merged with those of the workspace."""
BAD_ROWS = "_bad_rows"
"""Folder of the rows that were skipped."""
_KEY = b"counterplan_part"
"""Key of a part's metadata: JSON of its `PartRecord`."""


@dataclass(frozen=True)
class PartRecord:
    """What a part states about itself.

    Attributes
    ----------
    run : str
        Identity of the run: a digest of everything that results depend on besides the content of files.
    number : int
        Number of the partition.
    file, digest : str
        Name of the file of people, and the digest of its content.
    first, rows : int
        First row, and number of rows, of the partition.
    bad : int
        Rows that were skipped.
    repeated_keys : int
        Rows with the key of an earlier row of the partition.
    answers : int
        Recorded answers of the model.
    counts : dict of str to number
        Counts of the task.
    """

    run: str
    number: int
    file: str
    digest: str
    first: int
    rows: int
    bad: int
    repeated_keys: int
    answers: int
    counts: Counts

    @classmethod
    def from_json(cls, text: bytes, name: str) -> PartRecord:
        """Read a record; CounterplanError if it is damaged."""
        data = parse_json(text, name)
        kinds = {"run": str, "file": str, "digest": str, "counts": dict}
        if not isinstance(data, dict) or {*data} != {field.name for field in fields(cls)}:
            raise CounterplanError(f"{name}: damaged")
        for field, value in data.items():
            if not isinstance(value, kinds.get(field, int)):
                raise CounterplanError(f"{name}: damaged: {field}")
        if not all(isinstance(value, (int, float)) for value in data["counts"].values()):
            raise CounterplanError(f"{name}: damaged: counts")
        return cls(**data)


def part_name(number: int) -> str:
    """File name of a part; sorted by name, parts are in the order of the partitions."""
    return f"part-{number:06}.parquet"


def part_paths(folder: Path) -> Iterator[Path]:
    """The files of a folder that are named as parts."""
    return folder.glob("part-*.parquet")


def answers_name(number: int) -> str:
    """File name of the answers of a partition."""
    return f"part-{number:06}.csv.gz"


def write_part(folder: Path, table: pa.Table, record: PartRecord) -> None:
    """Write a part, whole or not at all.

    Raises
    ------
    StorageError
        If it cannot be written.
    """
    labelled = table.replace_schema_metadata({_KEY: json.dumps(asdict(record)).encode()})
    write_inside(folder, part_name(record.number), parquet_bytes(labelled), durable=True)


def parquet_bytes(table: pa.Table) -> bytes:
    """A table as the content of a Parquet file."""
    import pyarrow.parquet as pq

    file = io.BytesIO()
    pq.write_table(table, file)
    return file.getvalue()


def read_record(folder: Path, partition: Partition, run: str) -> PartRecord | None:
    """The record of a finished part; None if there is no such part, or it is of another run, file or content."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / part_name(partition.number)
    if path.is_symlink() or not path.is_file():
        return None
    try:
        metadata: dict[bytes, Any] = pq.read_metadata(path).metadata or {}
        record = PartRecord.from_json(metadata.get(_KEY, b""), str(path))
    except (pa.ArrowException, OSError, CounterplanError):
        return None
    file = partition.file
    own = (run, partition.number, file.name, file.digest, partition.first, partition.rows)
    stated = (record.run, record.number, record.file, record.digest, record.first, record.rows)
    return record if stated == own else None


def remove_unfinished(folder: Path) -> None:
    """Remove the files that killed processes did not finish."""
    for place in (folder, folder / ANSWERS, folder / BAD_ROWS):
        for path in place.glob(".part-*"):
            path.unlink(missing_ok=True)
    for path in folder.glob(f".{MANIFEST}.*"):
        path.unlink(missing_ok=True)


def remove_stale(folder: Path, records: Iterable[PartRecord]) -> None:
    """Remove the parts that have none of these records; no process may be working on a part."""
    finished = {part_name(record.number) for record in records}
    for path in part_paths(folder):
        if path.name not in finished:
            path.unlink(missing_ok=True)


def remove_partless(folder: Path) -> None:
    """Remove side files whose part is not there; no process may be working on a part."""
    finished = {path.stem for path in part_paths(folder)}
    for path in (*(folder / ANSWERS).glob("part-*"), *(folder / BAD_ROWS).glob("part-*")):
        if path.name.partition(".")[0] not in finished:
            path.unlink(missing_ok=True)


def remove_empty_folders(folder: Path) -> None:
    """Remove the folders of side files if there are none."""
    for name in (ANSWERS, BAD_ROWS):
        with suppress(OSError):  # not empty
            (folder / name).rmdir()
