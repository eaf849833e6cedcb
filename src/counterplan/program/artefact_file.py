"""Files of programs and scorecards: versioned JSON with the problem inside, checked before anything is used."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from counterplan.bounded_json import parse_json
from counterplan.errors import SettingError, StorageError
from counterplan.problem import Feature, Problem
from counterplan.problem.source import Location, format_location
from counterplan.problem.values import Native, cut, did_you_mean, listed, text_of
from counterplan.storage.files import MissingFileError
from counterplan.storage.json_files import read_json

LARGEST_FILE = 50_000_000
_INFINITE = {math.inf: "\0+1e999", -math.inf: "\0-1e999"}
"""Markers of infinite numbers: JSON has none, and 1e999 is parsed as one in every language."""


@dataclass(frozen=True)
class ArtefactFormat:
    """The format of a file.

    Parameters
    ----------
    what : str
        What the file holds, for error messages.
    key : str
        The key that holds the version.
    version : int
        The version that is written; earlier ones are read.
    parts : mapping of str to type
        All other keys, each with the types of its values.
    again : str
        How to make the file again, as a sentence.
    origin : str
        Which file to give, for error messages.
    """

    what: str
    key: str
    version: int
    parts: Mapping[str, type | tuple[type, ...]]
    again: str
    origin: str

    def load(self, path: str | Path, follow_links: bool = True) -> dict[str, Any]:
        """The data of a file; a StorageError names the place of a mistake."""
        options: dict[str, Any] = {"limit": LARGEST_FILE, "follow_links": follow_links}
        return self._read(str(path), lambda **more: read_json(path, **options, **more))

    def parse(self, text: str, name: str) -> dict[str, Any]:
        """The data of a text; `name` stands for the file in messages."""
        return self._read(name, lambda **more: parse_json(text, name, **more))

    def _read(self, name: str, read: Callable[..., Any]) -> dict[str, Any]:
        def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
            """A mapping from key-value pairs; a repeated key is an error."""
            data = dict(pairs)
            if len(data) < len(pairs):
                twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
                raise StorageError(f"{name}: '{cut(twice)}' is there twice in one mapping")
            return data

        try:
            data = read(what=self.what, infinite=True, pairs_hook=once)
        except MissingFileError:
            raise
        except StorageError as error:
            raise StorageError(f"{error}. {self.again}") from None
        return self.check(data, name)

    def check(self, data: Any, name: str) -> dict[str, Any]:
        """Return `data` if it has the version and the parts of this format, and no others."""
        if not isinstance(data, dict) or self.key not in data:
            raise StorageError(
                f"{name}: this is not a {self.what} of counterplan ('{self.key}' is missing); give {self.origin}"
            )
        version = data[self.key]
        if type(version) is not int or version < 1:
            shown = f"a {type(version).__name__}" if isinstance(version, (dict, list)) else cut(json.dumps(version))
            raise StorageError(
                f"{name}: {self.key}: the version of a {self.what} is an integer from 1 on, not {shown}. {self.again}"
            )
        if version > self.version:
            raise StorageError(
                f"{name}: written by a newer counterplan (version {version}; this one reads {self.version}): "
                f"update counterplan, or distil the {self.what} again"
            )
        for key, kinds in self.parts.items():
            if key not in data:
                raise StorageError(f"{name}: '{key}' is missing")
            if not isinstance(data[key], kinds) or isinstance(data[key], bool):
                raise StorageError(f"{name}: {key}: should be {_KINDS[kinds]}")
        for key in data:
            if key not in (self.key, "$schema", *self.parts):
                hint = did_you_mean(key, self.parts) or f"; there are {listed(self.parts)}"
                raise StorageError(f"{name}: '{cut(key)}' is no part of a {self.what}{hint}")
        return data

    def dump(self, data: Mapping[str, Any]) -> str:
        """The text of a file; equal data give equal texts."""
        try:
            text = json.dumps({self.key: self.version, **data}, ensure_ascii=False, indent=1, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise SettingError(f"the model card of a {self.what} holds plain data only: {error}") from None
        for marker in _INFINITE.values():
            text = text.replace(json.dumps(marker), marker[2 if "+" in marker else 1 :])
        return text + "\n"


_KINDS: dict[Any, str] = {dict: "a mapping", list: "a list", int: "an integer", (int, float): "a number"}


def read_problem(data: Any, name: str) -> Problem:
    """The problem inside a file."""
    try:
        return Problem.from_dict(data, f"{name}: problem")
    except RecursionError:
        raise StorageError(f"{name}: problem: nested too deeply") from None


def problem_data(problem: Problem) -> Any:
    """The problem as it is written into a file."""
    return _finite(problem.to_dict())


def _finite(data: Any) -> Any:
    """`data` with a marker for each infinite number."""
    if isinstance(data, dict):
        return {key: _finite(value) for key, value in data.items()}
    if isinstance(data, list):
        return [_finite(value) for value in data]
    return _INFINITE.get(data, data) if isinstance(data, float) else data


def sorted_data(data: Any, what: str) -> Any:
    """`data` with sorted keys, so that equal data give equal texts."""
    if isinstance(data, Mapping):
        if not all(isinstance(key, str) for key in data):
            raise SettingError(f"the model card of a {what} holds plain data only: keys are strings")
        return {key: sorted_data(data[key], what) for key in sorted(data)}
    return [sorted_data(item, what) for item in data] if isinstance(data, (list, tuple)) else data


def number_data(number: float) -> int | float:
    """A finite number as it is written: an integer if it is one, and never rounded."""
    return int(number) if float(number).is_integer() and abs(number) < 2**53 else float(number)


class PlaceReader:
    """Reads parts of a file; an error names the file and the place."""

    def __init__(self, name: str, problem: Problem) -> None:
        self.name, self.problem = name, problem
        self.features = {feature.name: feature for feature in problem.features}
        self.places = {feature.name: value_places(feature.natives) for feature in problem.features}

    def wrong(self, place: Location, message: str) -> NoReturn:
        """Raise a StorageError about a place."""
        raise StorageError(f"{self.name}: {format_location(place)}: {message}")

    def number(self, data: Any, place: Location) -> float:
        """A finite number."""
        if isinstance(data, bool) or not isinstance(data, (int, float)) or not abs(data) < math.inf:
            self.wrong(place, f"'{cut(data)}' is not a number")
        try:
            return float(data)
        except OverflowError:
            self.wrong(place, f"'{cut(data)}' is too large")

    def value(self, feature: Feature, data: Any, place: Location) -> int:
        """The index of a value of a feature."""
        places = self.places[feature.name]
        if not isinstance(data, Native) or text_of(data) not in places:
            hint = did_you_mean(str(data), places) or f"; the values are {listed(places)}"
            self.wrong(place, f"'{cut(data)}' is not a value of '{feature.name}'{hint}")
        return places[text_of(data)]

    def known(self, data: Any, names: Sequence[str] | Mapping[str, Any], what: str, place: Location) -> str:
        """One of some names."""
        if not isinstance(data, str) or data not in names:
            self.wrong(place, f"there is no {what} '{cut(data)}'{did_you_mean(str(data), names)}")
        return data

    def mapping(self, data: Any, shapes: Sequence[tuple[str, ...]], place: Location) -> None:
        """Require a mapping with the keys of one of the `shapes`."""
        if not isinstance(data, dict) or not any({*data} == {*shape} for shape in shapes):
            found = f"{{{cut(', '.join(map(str, data)))}}}" if isinstance(data, dict) else f"'{cut(data)}'"
            wanted = " or ".join("{" + ", ".join(shape) + "}" for shape in shapes)
            unknown = (
                [key for key in data if not any(key in shape for shape in shapes)] if isinstance(data, dict) else []
            )
            hint = did_you_mean(str(unknown[0]), {key for shape in shapes for key in shape}) if unknown else ""
            self.wrong(place, f"should be {wanted}, not {found}{hint}")


def value_places(natives: Sequence[Native]) -> dict[str, int]:
    """The place of each value, by its text."""
    return {text_of(native): place for place, native in enumerate(natives)}
