"""Checks that all parts of a problem file share: types, values, names and expressions, reported as findings."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from counterplan.errors import ConditionError
from counterplan.problem import limits, parts
from counterplan.problem.binding import Column, Expression, Scope, bind
from counterplan.problem.conditions import parse
from counterplan.problem.scalars import as_number
from counterplan.problem.schema import KEYS
from counterplan.problem.source import Location, Source
from counterplan.problem.values import Native, cut, did_you_mean, listed, text_of

T = TypeVar("T")


class Checker:
    """Reports the mistakes in a source; holds the features read so far."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.features: dict[str, parts.Feature] = {}
        self._length = 0
        self._columns: dict[str, Column] = {}
        self.broken: set[str] = set()
        """Features with mistakes of their own; references to them are not reported."""

    def report(self, message: str, location: Location, severity: str = "error") -> None:
        """Add a finding."""
        self.source.report(message, location, severity)

    def validated(self, adapter: TypeAdapter[T], data: Any, location: Location) -> T | None:
        """Validate `data` by `adapter`; None with a finding for each mistake."""
        try:
            return adapter.validate_python(data)
        except ValidationError as error:
            for wrong in error.errors():
                inner, message = _explain(wrong, data)
                self.report(message, location + inner)
            return None
        except UnicodeEncodeError:
            self.report("has half a character (a lone surrogate) in it", location)
            return None

    def distinct(self, values: Sequence[Native], location: Location) -> tuple[Native, ...]:
        """Return the values; report each that is listed twice."""
        seen: set[str] = set()
        for i, value in enumerate(values):
            if text_of(value) in seen:
                self.report(f"'{text_of(value)}' is listed twice", (*location, i))
            seen.add(text_of(value))
        return tuple(values)

    def known(self, name: str, location: Location) -> parts.Feature | None:
        """Look up a feature by name; None, with a finding unless the feature itself is broken."""
        feature = self.features.get(name)
        if feature is None and name not in self.broken:
            self.report(f"there is no feature '{name}'{did_you_mean(name, self.features)}", location)
        return feature

    def of_feature(self, feature: parts.Feature, item: Any, location: Location, change: bool = False) -> Native | None:
        """Convert `item` to a value of `feature` (or, for numbers, a change of it); None with a finding."""
        if not feature.is_number:
            text = text_of(item)
            if text not in feature.value_index:
                hint = did_you_mean(text, feature.values) or f"; the values are {listed(feature.values)}"
                self.report(f"'{text}' is not a value of '{feature.name}'{hint}", location)
                return None
            return feature.natives[feature.value_index[text]]
        number = as_number(item)
        if isinstance(number, (bool, str)) or not math.isfinite(number):
            self.report(f"'{item}' is not a number, but {feature.name} is", location)
            return None
        if feature.integer and number != int(number):
            self.report(f"{number} is not a whole number, but {feature.name} is", location)
            return None
        if change and number == 0:
            self.report("adding 0 changes nothing", location)
            return None
        if not change and not feature.low <= number <= feature.high:
            self.report(f"{parts.format_number(number)} is outside the bounds of {feature.name}", location)
            return None
        if change and abs(number) > feature.high - feature.low:
            self.report(
                f"{parts.format_number(number)} is more than the bounds of {feature.name} are apart",
                location,
                "warning",
            )
        return int(number) if number == int(number) else float(number)

    def within(self, count: int, most: int, what: str, location: Location) -> bool:
        """Whether `count` is at most `most`; reports a finding otherwise."""
        if count > most:
            self.report(f"there are {count:,} {what}; a problem has at most {most:,}", location)
        return count <= most

    def _within_length(self, length: int, location: Location) -> bool:
        """Count the characters of all expressions; reports when they exceed the limit, once."""
        before, most = self._length, limits.MAX_CONDITIONS_LENGTH
        self._length += length
        if before <= most < self._length:
            self.report(f"the conditions and formulas of a problem have at most {most:,} characters in all", location)
        return self._length <= most

    def columns(self) -> dict[str, Column]:
        """The features as conditions see them."""
        if len(self._columns) != len(self.features):
            self._columns = {name: feature.column() for name, feature in self.features.items()}
        return self._columns

    def expression(self, text: str, scope: Scope, want: str, location: Location) -> Expression | None:
        """Parse and bind a condition or formula; None, with a finding, if it is invalid."""
        text = text.strip()
        if not self._within_length(len(text), location):
            return None
        try:
            tree = parse(text)
            if tree.names() & self.broken:
                return None
            bound = bind(tree, scope, want)
        except ConditionError as error:
            self.report(f"{error} (at character {error.position + 1} of: {_around(text, error.position)})", location)
            return None
        for warning in bound.warnings:
            self.report(warning, location, "warning")
        return bound


def _around(text: str, position: int) -> str:
    """At most 80 characters of `text`, around `position`."""
    start = max(0, min(position - 30, len(text) - 80))
    return ("…" if start else "") + cut(text[start:])


def _explain(error: Any, data: Any) -> tuple[Location, str]:
    """Translate a pydantic error to a location that exists in `data` and a message in plain words."""
    location: list[str | int] = []
    value = data
    for part in error["loc"]:
        if (isinstance(value, Mapping) and part in value) or (
            isinstance(value, Sequence) and not isinstance(value, str) and isinstance(part, int) and part < len(value)
        ):
            value = value[part]
        else:
            continue
        location.append(part)
    last, kind, context = error["loc"][-1] if error["loc"] else "", error["type"], error.get("ctx", {})
    if kind == "missing":
        return tuple(location), f"'{last}' is missing"
    if kind == "extra_forbidden":
        return tuple(location), f"unknown key{did_you_mean(text_of(last), KEYS)}"
    if kind == "union_tag_not_found":
        return tuple(location), "'kind' is missing: number, category or ordered"
    if kind == "union_tag_invalid":
        if "kind" not in str(context.get("discriminator")):
            return tuple(location), "is not written in a way that is understood here"
        return (*location, "kind"), f"unknown kind '{context.get('tag')}': it is number, category or ordered"
    if kind in ("model_type", "model_attributes_type", "dict_type"):
        return tuple(location), "should be a mapping of keys and values"
    if kind == "list_type":
        return tuple(location), "should be a list"
    if kind == "too_short":
        least = context["min_length"]
        return tuple(location), f"should have at least {'one value' if least == 1 else f'{least} values'}"
    if kind == "value_error":
        return tuple(location), str(context.get("error", error["msg"]))
    if kind == "literal_error":
        return tuple(location), f"should be {context['expected']} or a list"
    message = error["msg"].removeprefix("Input ")
    return tuple(location), message[0].lower() + message[1:]
