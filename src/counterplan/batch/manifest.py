"""The manifest of a batch run: what it was made with, its parts, and their sum."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from counterplan.batch.part_files import ANSWERS, BAD_ROWS, MANIFEST, PartRecord, part_name, part_paths
from counterplan.batch.partitions import Partition
from counterplan.batch.task import LoadedTask, PartitionTask, total
from counterplan.batch.versions import versions
from counterplan.errors import StorageError
from counterplan.problem.parquet_people import ParquetPeople
from counterplan.storage.files import make_writable, write_inside
from counterplan.storage.json_files import read_json
from counterplan.storage.locks import LOCK

VERSION = 1
_MOST_NAMED = 5
"""Most differences that an error names."""

Provenance = dict[str, str]
"""Digests or texts, by name, of everything that results depend on."""


def provenance_of(
    task: PartitionTask, loaded: LoadedTask, people: ParquetPeople, partitions: list[Partition], key: str | None
) -> Provenance:
    """Everything that the results of a run depend on, by name; a run that is resumed has to have the same."""
    settings = {name: json.dumps(value, sort_keys=True, default=sorted) for name, value in task.settings.items()}
    spans = json.dumps([(one.file.name, one.first, one.rows) for one in partitions])
    return {
        "task": task.kind,
        **loaded.identity,
        **{f"setting '{name}'": value for name, value in settings.items()},
        "setting 'key'": json.dumps(key),
        **{file.name: f"{file.size} bytes, footer {file.footer}" for file in people.files},
        "partitions": hashlib.sha256(spans.encode()).hexdigest()[:16],
    }


def run_of(provenance: Mapping[str, str]) -> str:
    """The identity of a run: a digest of its provenance."""
    return hashlib.sha256(json.dumps(provenance, sort_keys=True).encode()).hexdigest()[:24]


def begin(folder: Path, provenance: Provenance, *, resume: bool) -> None:
    """Prepare the folder of a run, which has to be empty, or to hold the same run if it is resumed.

    A run that has finished no part, because the model failed for instance, is replaced by any other.

    Raises
    ------
    StorageError
        If it holds anything else; nothing in it is changed then.
    """
    make_writable(folder)
    before = _read(folder)
    if before is not None and not any(part_paths(folder)):
        pass
    elif resume:
        if before is None:
            raise StorageError(f"{folder}: there is no run to go on with; leave --resume out")
        _require_same(folder, before, provenance)
    elif before is not None:
        raise StorageError(f"{folder}: holds the results of a run; go on with --resume, or choose another --out")
    elif any(path.name != LOCK for path in folder.iterdir()):
        raise StorageError(f"{folder}: is not empty; choose another --out")
    for name in (ANSWERS, BAD_ROWS):
        make_writable(folder / name)


def write_manifest(
    folder: Path, task: PartitionTask, provenance: Provenance, parts: Iterable[PartRecord], *, complete: bool
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
            "answers": sum(record.answers for record in known),
            **total(record.counts for record in known),
        },
        "versions": versions(),
        "made_with": provenance,
        "parts": [
            {"part": part_name(record.number)}
            | {name: value for name, value in asdict(record).items() if name not in ("run", "number")}
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


def _require_same(folder: Path, before: Mapping[str, Any], provenance: Provenance) -> None:
    stored = before["made_with"]
    names = [name for name in dict.fromkeys((*stored, *provenance)) if stored.get(name) != provenance.get(name)]
    if names:
        causes = [name for name in names if name != "partitions"] or names  # which follow from files and settings
        shown = ", ".join(causes[:_MOST_NAMED]) + (
            f" and {len(causes) - _MOST_NAMED} more" if len(causes) > _MOST_NAMED else ""
        )
        raise StorageError(
            f"{folder}: cannot be resumed, because these have changed since the run began: {shown}; restore them, or "
            "choose another --out"
        )
