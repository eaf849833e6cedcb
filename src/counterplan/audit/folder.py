"""The folder of an audit: its manifest, and the parts that are finished, so that it can be continued."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from counterplan.audit.carriers import WITHOUT_COLUMNS
from counterplan.audit.outcomes import COLUMNS, AuditOutcome
from counterplan.audit.relaxation_file import RelaxationFile, parse_written
from counterplan.bounded_json import parse_json
from counterplan.errors import SettingError, StorageError
from counterplan.models.identity import digest_of
from counterplan.plans.sources import labels_of
from counterplan.problem import People
from counterplan.problem.values import is_missing, text_of
from counterplan.storage.files import MissingFileError, make_writable, read_inside, write_inside
from counterplan.storage.locks import LOCK

VERSION = 1
MANIFEST = "manifest.json"
PARTS = "parts"
FILES = ("report.html", "audit.json", "outcomes.csv", "groups.csv", "differences.csv", "functions.csv")
OPTIONAL_FILES = ("comparison.csv", "transitions.csv", "relaxations.csv")
RELAXATIONS = "relaxations.json"
MAX_PART = 50_000_000
"""Most bytes of a part."""
_PART = re.compile(r"\d{6,}\.json")
_PARTIAL = re.compile(rf"\.(\d{{6,}}\.json|{re.escape(RELAXATIONS)})\.[0-9a-f]{{16}}")
"""A file of parts that a killed process left behind, as `storage.files` names it."""
MAX_TEXT = 100_000
_TEXTS = {"outcome", "plan", "plan_holds", "function"}


@dataclass
class AuditPart:
    """The outcomes of a chunk of people.

    Parameters
    ----------
    outcomes : DataFrame
        Outcomes by the model.
    other : DataFrame or None
        Outcomes by the other model, with the column `plan_holds`; None if there is no other model.
    without : DataFrame or None
        Plans without each function; None if they were not searched for.
    planner : str
        The planner that found them, and why it was chosen.
    """

    outcomes: pd.DataFrame
    other: pd.DataFrame | None = None
    without: pd.DataFrame | None = None
    planner: str = ""


@dataclass(frozen=True)
class Manifest:
    """What an audit is about: digests of everything that its outcomes depend on.

    Parameters
    ----------
    problem, model, against, people : str
        Digests; `against` is empty without another model.
    search : dict
        Settings of the search.
    count : int
        Number of people.
    chunk : int
        People of a part.
    """

    problem: str
    model: str
    against: str
    people: str
    search: dict[str, Any]
    count: int
    chunk: int

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        return {"counterplan_audit": VERSION} | vars(self)

    def difference(self, other: dict[str, Any]) -> str:
        """Names what differs in a manifest that was read from a file; empty if nothing does."""
        texts = []
        words = {"against": "other model (--against)", "count": "number of people", "people": "people"}
        for key, value in self.to_dict().items():
            before = other.get(key)
            if key == "search":
                before = before if isinstance(before, dict) else {}
                texts += [
                    f"{name} {before.get(name)!r}, now {now!r}"
                    for name, now in value.items()
                    if before.get(name) != now
                ]
            elif before != value:
                texts.append(f"{words.get(key, key)} {before!r}, now {value!r}")
        return "; ".join(texts)


def people_fingerprint(people: People) -> str:
    """A digest of people: their states, index labels, and columns that are not features."""
    extras = people.table[people.extras]
    columns = {text_of(name): extras[name] for name in extras.columns}
    if people.outcomes is not None:
        columns["\0outcome"] = people.outcomes
    parts = [np.ascontiguousarray(people.states + 0.0).tobytes(), repr(labels_of(people.table.index)).encode()]
    for name, column in sorted(columns.items()):
        texts = ["\0" if is_missing(value) else text_of(value) for value in column.tolist()]
        parts += [name.encode(), "\1".join(texts).encode("utf-8", "surrogatepass")]
    return digest_of(parts)


class AuditFolder:
    """The folder that an audit is written to.

    Parameters
    ----------
    path : str or Path
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    @property
    def parts(self) -> Path:
        """The folder of parts."""
        return self.path / PARTS

    @property
    def has_parts(self) -> bool:
        """Whether a part is finished."""
        return any(_PART.fullmatch(path.name) for path in self._inside_parts())

    def begin(self, manifest: Manifest, *, resume: bool = False, force: bool = False) -> None:
        """Prepare the folder; one that holds something is continued or replaced only on request.

        An audit that has finished no part, because the model failed for instance, is replaced by any other.

        Raises
        ------
        StorageError
            If the folder is not empty and neither `resume` nor `force` is set, or it holds no audit to resume.
        SettingError
            If the audit to resume is of something else; the message names what changed.
        """
        folder = make_writable(self.path)
        if self.parts.is_symlink():
            raise StorageError(f"{self.parts}: is a symbolic link; remove it, or choose another folder")
        used = {path.name for path in folder.iterdir()} - {LOCK}
        if force or self._is_unfinished(used):
            self._clear()
        elif used and not resume:
            raise StorageError(
                f"{folder}: is not empty; continue the audit in it with --resume, start again with --force, or choose "
                "another folder"
            )
        elif used:
            self._require_same(manifest)
        make_writable(self.parts)
        for path in self._inside_parts():
            if _PARTIAL.fullmatch(path.name):
                path.unlink(missing_ok=True)
        write_inside(folder, MANIFEST, json.dumps(manifest.to_dict(), indent=1))

    def require_begun(self) -> None:
        """Raise a StorageError if there is nothing in the folder to resume, without creating it."""
        if not self.path.is_dir() or not {path.name for path in self.path.iterdir()} - {LOCK}:
            raise StorageError(f"{self.path}: holds no audit to resume; leave --resume out")

    def _inside_parts(self) -> Iterator[Path]:
        """What is in the folder of parts."""
        return self.parts.iterdir() if self.parts.is_dir() else iter(())

    def _is_unfinished(self, used: set[str]) -> bool:
        """Whether a folder with the files `used` holds nothing but an audit that has finished no part."""
        if not used <= {MANIFEST, PARTS} or not all(_PARTIAL.fullmatch(path.name) for path in self._inside_parts()):
            return False
        try:
            return MANIFEST not in used or bool(self._read_manifest())
        except StorageError:
            return False

    def _read_manifest(self) -> dict[str, Any]:
        """The manifest in the folder.

        Raises
        ------
        StorageError
            If there is none, or it is not that of an audit.
        """
        path = self.path / MANIFEST
        try:
            content = parse_json(read_inside(self.path, MANIFEST, MAX_TEXT), str(path))
        except MissingFileError:
            raise StorageError(
                f"{self.path}: holds no audit to resume; choose another folder, or use --force"
            ) from None
        if not isinstance(content, dict) or "counterplan_audit" not in content:
            raise StorageError(f"{path}: is not the manifest of an audit; choose another folder, or use --force")
        return content

    def _require_same(self, manifest: Manifest) -> None:
        content = self._read_manifest()
        difference = manifest.difference(content)
        if difference:
            raise SettingError(
                f"{self.path}: holds an audit of something else: {difference}; use what it was started with, start "
                "again with --force, or choose another folder"
            )

    def _clear(self) -> None:
        """Remove the files of an earlier audit, and nothing else."""
        for name in (MANIFEST, *FILES, *OPTIONAL_FILES):
            (self.path / name).unlink(missing_ok=True)
        for path in self._inside_parts():
            if _PART.fullmatch(path.name) or _PARTIAL.fullmatch(path.name) or path.name == RELAXATIONS:
                path.unlink()
        if self.parts.is_dir():
            with suppress(OSError):  # other files are in it
                self.parts.rmdir()

    def write_part(self, number: int, part: AuditPart) -> None:
        """Write a part, which contains people's data: only the owner may read it."""
        content = {
            "planner": part.planner,
            "outcomes": _plain(part.outcomes),
            "other": None if part.other is None else _plain(part.other),
            "without": None if part.without is None else _plain(part.without),
        }
        write_inside(self.parts, _name(number), json.dumps(content, allow_nan=False), private=True)

    def read_part(self, number: int, count: int) -> AuditPart | None:
        """The part `number` of `count` people; None if it does not exist.

        Raises
        ------
        StorageError
            If it is damaged.
        """
        path = self.parts / _name(number)
        try:
            written = read_inside(self.parts, _name(number), MAX_PART)
        except MissingFileError:
            return None
        content = parse_written(written, path)
        try:
            outcomes = _frame(content["outcomes"], COLUMNS, count)
            other = content["other"]
            other = None if other is None else _frame(other, COLUMNS | {"plan_holds": "object"}, count)
            without = content["without"]
            without = None if without is None else _without_frame(without, count)
            return AuditPart(outcomes, other, without, str(content["planner"]))
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            raise StorageError(f"{path}: damaged ({error!r}); remove the file, and run with --resume again") from None

    @property
    def relaxations(self) -> RelaxationFile:
        """What relaxations were found to do."""
        return RelaxationFile(self.parts, RELAXATIONS)


def _name(number: int) -> str:
    return f"{number:06d}.json"


def _plain(frame: pd.DataFrame) -> dict[str, list[Any]]:
    """Columns as JSON: NaN is null, infinity a text."""
    return {str(name): [_value(value) for value in frame[name].tolist()] for name in frame.columns}


def _value(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else "inf"
    return value


def _frame(data: Any, columns: dict[str, str], count: int) -> pd.DataFrame:
    """Columns of `count` rows; ValueError if something else was read."""
    frame = pd.DataFrame({name: _column(name, data[name]) for name in columns})
    if len(frame) != count:
        raise ValueError(f"{len(frame)} people instead of {count}")
    if not set(frame["outcome"]) <= {*AuditOutcome}:
        raise ValueError("unknown outcomes")
    return frame.astype(columns)


def _without_frame(data: Any, count: int) -> pd.DataFrame:
    frame = pd.DataFrame({name: _column(name, data[name]) for name in WITHOUT_COLUMNS})
    if not frame["row"].between(0, count - 1).all() or not set(frame["outcome"]) <= {*AuditOutcome}:
        raise ValueError("rows or outcomes that do not exist")
    return frame.astype({"row": np.intp, "cost": float})


def _column(name: str, values: Any) -> list[Any]:
    if not isinstance(values, list):
        raise ValueError(f"no column {name}")
    if name in _TEXTS:
        if not all(isinstance(value, str) for value in values):
            raise ValueError(f"texts expected in {name}")
        return values
    numbers = {None: np.nan, "inf": np.inf}
    converted = [numbers[value] if value is None or value == "inf" else value for value in values]
    if not all(isinstance(value, (bool, int, float)) for value in converted):
        raise ValueError(f"numbers expected in {name}")
    return converted
