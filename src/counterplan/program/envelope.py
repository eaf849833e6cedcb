"""The outer form of the files of programs and cards: a version, the problem, plain data, and nothing executable."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from counterplan.bounded_json import parse_json
from counterplan.errors import SettingError, StorageError
from counterplan.problem import Problem
from counterplan.problem.values import cut, did_you_mean, listed
from counterplan.storage.files import MissingFileError
from counterplan.storage.json_files import read_json

LARGEST_FILE = 50_000_000
_INFINITE = {math.inf: "\0+1e999", -math.inf: "\0-1e999"}
"""Markers of infinite numbers: JSON has none, and 1e999 is parsed as one in every language."""


@dataclass(frozen=True)
class Envelope:
    """A kind of file.

    Parameters
    ----------
    what : str
        What it holds: "program"; the key of the version is "counterplan_program".
    version : int
        The newest version.
    parts : tuple of str
        The mappings that a file has besides the problem.
    values : tuple of str
        Its other keys.
    again : str
        The command that makes such a file.
    """

    what: str
    version: int
    parts: tuple[str, ...]
    values: tuple[str, ...]
    again: str

    @property
    def key(self) -> str:
        """The key of the version."""
        return f"counterplan_{self.what}"

    @property
    def remedy(self) -> str:
        """The way out for a damaged file, as a sentence."""
        return f"If the file is damaged, make it again with '{self.again}'."

    def read(self, path: str | Path, *, follow_links: bool = True) -> Any:
        """Read the data of a file; a StorageError names the place of a mistake."""
        try:
            return read_json(
                path,
                limit=LARGEST_FILE,
                what=self.what,
                follow_links=follow_links,
                infinite=True,
                pairs_hook=lambda pairs: self._once(str(path), pairs),
            )
        except MissingFileError:
            raise
        except StorageError as error:
            raise StorageError(f"{error}. {self.remedy}") from None

    def parse(self, text: str, name: str) -> Any:
        """Read the data of a text; `name` stands for the file in messages."""
        try:
            return parse_json(
                text, name, what=self.what, infinite=True, pairs_hook=lambda pairs: self._once(name, pairs)
            )
        except StorageError as error:
            raise StorageError(f"{error}. {self.remedy}") from None

    def to_json(self, problem: Problem, data: Mapping[str, Any]) -> str:
        """Serialize a problem and further data; equal data give equal texts."""
        try:
            whole = {self.key: self.version, "problem": _finite(problem.to_dict()), **data}
            text = json.dumps(whole, ensure_ascii=False, indent=1, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise SettingError(f"the model card of a {self.what} holds plain data only: {error}") from None
        for marker in _INFINITE.values():
            text = text.replace(json.dumps(marker), marker[2 if "+" in marker else 1 :])
        return text + "\n"

    def model_card_data(self, data: Any) -> Any:
        """The data of a model card with sorted keys."""
        if isinstance(data, Mapping):
            if not all(isinstance(key, str) for key in data):
                raise SettingError(f"the model card of a {self.what} holds plain data only: keys are strings")
            return {key: self.model_card_data(data[key]) for key in sorted(data)}
        return [self.model_card_data(item) for item in data] if isinstance(data, (list, tuple)) else data

    def problem(self, data: Any, name: str) -> Problem:
        """Check the version and the keys of `data`, and return its problem."""
        if not isinstance(data, dict) or self.key not in data:
            raise StorageError(
                f"{name}: this is not a {self.what} of counterplan ('{self.key}' is missing); give the "
                f"{self.what}.json that '{self.again}' made"
            )
        version = data[self.key]
        if type(version) is not int or version < 1:
            shown = f"a {type(version).__name__}" if isinstance(version, (dict, list)) else cut(json.dumps(version))
            raise StorageError(
                f"{name}: {self.key}: the version of a {self.what} is an integer from 1 on, not {shown}. {self.remedy}"
            )
        if version > self.version:
            raise StorageError(
                f"{name}: written by a newer counterplan (version {version}; this one reads {self.version}): "
                f"update counterplan, or distil the {self.what} again"
            )
        parts = ("problem", *self.parts)
        for key in parts:
            if not isinstance(data.get(key), dict):
                raise StorageError(
                    f"{name}: {key}: should be a mapping" if key in data else f"{name}: '{key}' is missing"
                )
        for key in self.values:
            if key not in data:
                raise StorageError(f"{name}: '{key}' is missing")
        known = (*parts, *self.values)
        for key in data:
            if key not in (self.key, "$schema", *known):
                hint = did_you_mean(key, known) or f"; there are {listed(known)}"
                raise StorageError(f"{name}: '{cut(key)}' is no part of a {self.what}{hint}")
        try:
            return Problem.from_dict(data["problem"], f"{name}: problem")
        except RecursionError:
            raise StorageError(f"{name}: problem: nested too deeply") from None

    def _once(self, name: str, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        """A mapping from key-value pairs; a repeated key is an error."""
        data = dict(pairs)
        if len(data) < len(pairs):
            twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
            raise StorageError(f"{name}: '{cut(twice)}' is there twice in one mapping. {self.remedy}")
        return data


def number_data(number: float) -> int | float:
    """A number as it is written: an integer if it is one, and never rounded."""
    if not math.isfinite(number):
        raise SettingError(f"{number} cannot be written")
    return int(number) if float(number).is_integer() and abs(number) < 2**53 else float(number)


def _finite(data: Any) -> Any:
    """`data` with a marker for each infinite number."""
    if isinstance(data, dict):
        return {key: _finite(value) for key, value in data.items()}
    if isinstance(data, list):
        return [_finite(value) for value in data]
    return _INFINITE.get(data, data) if isinstance(data, float) else data
