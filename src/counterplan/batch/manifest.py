"""The manifest of a batch run: what it was made with, its parts, and their sum."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from counterplan.batch.part_files import ANSWERS, BAD_ROWS, MANIFEST, PartRecord, part_name, part_paths
from counterplan.batch.task import LoadedTask, PartitionTask, total
from counterplan.batch.versions import versions
from counterplan.errors import StorageError
from counterplan.problem.parquet_people import ParquetPeople
from counterplan.storage.files import make_writable, write_inside
from counterplan.storage.json_files import read_json
from counterplan.storage.locks import LOCK

VERSION = 2
_MOST_NAMED = 5
"""Most differences that an error names."""

FILES = "list of files"
Provenance = dict[str, str]
"""Digests or texts, by name, of everything that results depend on, besides the content of the files of people."""


@dataclass(frozen=True)
class FileRecord:
    """What a manifest states about a file of people.

    Attributes
    ----------
    label : str
        Its path relative to the folder that all files share.
    file : str
        Its path as it was given when the run began, which is its name in parts.
    rows, bytes : int
        Its size.
    digest : str
        Digest of its content.
    """

    label: str
    file: str
    rows: int
    bytes: int
    digest: str


def file_records(people: ParquetPeople) -> list[FileRecord]:
    """What a manifest states about the files of people, in their order."""
    pairs = zip(people.labels, people.files, strict=True)
    return [FileRecord(label, file.name, file.rows, file.size, file.digest) for label, file in pairs]


def provenance_of(
    task: PartitionTask, loaded: LoadedTask, people: ParquetPeople, partition_rows: int, key: str | None
) -> Provenance:
    """Everything that the results of a run depend on, by name; a run that is resumed has to have the same.

    Files may be corrected in between: every part states the digest of its own.
    """
    settings = {name: json.dumps(value, sort_keys=True, default=sorted) for name, value in task.settings.items()}
    return {
        "task": task.kind,
        **loaded.identity,
        **{f"setting '{name}'": value for name, value in settings.items()},
        "setting 'key'": json.dumps(key),
        "setting 'partition_rows'": json.dumps(partition_rows),
        FILES: hashlib.sha256(json.dumps(people.labels).encode()).hexdigest()[:16],
    }


def run_of(provenance: Mapping[str, str]) -> str:
    """The identity of a run: a digest of its provenance."""
    return hashlib.sha256(json.dumps(provenance, sort_keys=True).encode()).hexdigest()[:24]


def require_startable(
    folder: Path, provenance: Provenance, files: Sequence[FileRecord], *, resume: bool
) -> list[FileRecord]:
    """Check, without writing anything, that a folder is empty, or holds the same run if it is resumed.

    A run that has finished no part, because the model failed for instance, may be replaced by any other.

    Returns
    -------
    list of FileRecord
        The files of the run that is resumed; empty if there is none.

    Raises
    ------
    StorageError
        If it holds anything else.
    """
    before = _read(folder)
    if before is not None and not any(part_paths(folder)):
        return []
    if resume:
        if before is None:
            raise StorageError(f"{folder}: there is no run to go on with; leave --resume out")
        stored = _stored_files(folder, before)
        _require_same(folder, before, stored, provenance, files)
        return stored
    if before is not None:
        raise StorageError(f"{folder}: holds the results of a run; go on with --resume, or choose another --out")
    if folder.is_dir() and any(path.name != LOCK for path in folder.iterdir()):
        raise StorageError(f"{folder}: is not empty; choose another --out")
    return []


def begin(folder: Path, provenance: Provenance, files: Sequence[FileRecord], *, resume: bool) -> list[FileRecord]:
    """Prepare the folder of a run; see `require_startable`, of which nothing in the folder is changed if it raises."""
    stored = require_startable(folder, provenance, files, resume=resume)
    make_writable(folder)
    for name in (ANSWERS, BAD_ROWS):
        make_writable(folder / name)
    return stored


def write_manifest(
    folder: Path,
    task: PartitionTask,
    provenance: Provenance,
    files: Sequence[FileRecord],
    parts: Iterable[PartRecord],
    *,
    complete: bool,
) -> None:
    """Write the manifest, whole or not at all.

    Raises
    ------
    StorageError
        If it cannot be written.
    """
    known = sorted(parts, key=lambda record: record.number)
    content = {
        "counterplan_batch": VERSION,
        "task": task.kind,
        "run": run_of(provenance),
        "complete": complete,
        "summary": {
            "rows": sum(record.rows for record in known),
            "bad": sum(record.bad for record in known),
            "repeated_keys": sum(record.repeated_keys for record in known),
            "answers": sum(record.answers for record in known),
            **total(record.counts for record in known),
        },
        "versions": versions(),
        "made_with": provenance,
        "files": [asdict(one) for one in files],
        "parts": [
            {"part": part_name(record.number)}
            | {name: value for name, value in asdict(record).items() if name not in ("run", "number", "digest")}
            for record in known
        ],
    }
    write_inside(folder, MANIFEST, json.dumps(content, indent=1, ensure_ascii=False), durable=True)


def _read(folder: Path) -> dict[str, Any] | None:
    """The manifest in a folder; None if there is none, a StorageError if it is damaged or of a newer version."""
    path = folder / MANIFEST
    if not path.exists():
        return None
    data = read_json(path, what="manifest", follow_links=False)
    if not isinstance(data, dict) or not isinstance(data.get("made_with"), dict):
        raise StorageError(f"{path}: damaged; choose another --out")
    if data.get("counterplan_batch") != VERSION:
        raise StorageError(f"{path}: written by another version of counterplan; choose another --out")
    return data


def _stored_files(folder: Path, before: Mapping[str, Any]) -> list[FileRecord]:
    try:
        stored = [FileRecord(**one) for one in before["files"]]
    except (KeyError, TypeError):
        stored = []
    if not stored or not all(isinstance(text, str) for one in stored for text in (one.label, one.file, one.digest)):
        raise StorageError(f"{folder / MANIFEST}: damaged; choose another --out")
    return stored


def _require_same(
    folder: Path,
    before: Mapping[str, Any],
    stored: Sequence[FileRecord],
    provenance: Provenance,
    files: Sequence[FileRecord],
) -> None:
    """Raise a StorageError if a run depends on other things, or is complete and a file has other content."""
    made_with = before["made_with"]
    names = [name for name in dict.fromkeys((*made_with, *provenance)) if made_with.get(name) != provenance.get(name)]
    then, now = {one.label: one for one in stored}, {one.label: one for one in files}
    if FILES in names and then.keys() != now.keys():
        names.remove(FILES)
        names += [f"{one.file} (no longer there)" for label, one in then.items() if label not in now]
        names += [f"{one.file} (new)" for label, one in now.items() if label not in then]
    if before.get("complete"):
        both = then.keys() & now.keys()
        names += [one.file for label, one in now.items() if label in both and one.digest != then[label].digest]
    if names:
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        shown = ", ".join(names[:_MOST_NAMED]) + more
        raise StorageError(
            f"{folder}: cannot be resumed, because these have changed since the run began: {shown}; restore them, or "
            "choose another --out"
        )
