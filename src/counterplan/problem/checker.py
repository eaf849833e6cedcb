"""What every part of a file is checked with: findings, shapes in plain words, values, names, expressions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from counterplan.errors import ConditionError
from counterplan.problem import parts
from counterplan.problem.binding import Column, Expression, Scope, bind
from counterplan.problem.conditions import parse
from counterplan.problem.schema import KEYS
from counterplan.problem.source import Location, Source, as_number
from counterplan.problem.values import Native, cut, did_you_mean, listed, text_of

T = TypeVar("T")


class Checker:
    """Notes what is wrong with a source, and knows the features found so far."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.features: dict[str, parts.Feature] = {}
        self.broken: set[str] = set()
        """Features with mistakes of their own: what refers to them is passed over in silence."""

    def report(self, message: str, location: Location, severity: str = "error") -> None:
        """Note a finding."""
        self.source.report(message, location, severity)

    def validated(self, adapter: TypeAdapter[T], data: Any, location: Location) -> T | None:
        """`data` as the adapter's type, or None with a finding for each thing wrong with it."""
        try:
            return adapter.validate_python(data)
        except ValidationError as error:
            for wrong in error.errors():
                inner, message = _say(wrong, data)
                self.report(message, location + inner)
            return None
        except UnicodeEncodeError:
            self.report("has half a character (a lone surrogate) in it", location)
            return None

    def distinct(self, values: Sequence[Native], location: Location) -> tuple[Native, ...]:
        """The values, with a finding for each that is listed twice."""
        seen: set[str] = set()
        for i, value in enumerate(values):
            if text_of(value) in seen:
                self.report(f"'{text_of(value)}' is listed twice", (*location, i))
            seen.add(text_of(value))
        return tuple(values)

    def known(self, name: str, location: Location) -> parts.Feature | None:
        """A feature by name; None, with a finding unless the feature itself is broken."""
        feature = self.features.get(name)
        if feature is None and name not in self.broken:
            self.report(f"there is no feature '{name}'{did_you_mean(name, self.features)}", location)
        return feature

    def of_feature(self, feature: parts.Feature, item: Any, location: Location, change: bool = False) -> Native | None:
        """`item` as a value of `feature` (or, for numbers, a change of it), or None with a finding."""
        if not feature.is_number:
            text = text_of(item)
            if text not in feature.values:
                hint = did_you_mean(text, feature.values) or f"; the values are {listed(feature.values)}"
                self.report(f"'{text}' is not a value of '{feature.name}'{hint}", location)
                return None
            return feature.natives[feature.values.index(text)]
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

    def columns(self) -> dict[str, Column]:
        """The features as conditions see them."""
        return {name: feature.column() for name, feature in self.features.items()}

    def expression(self, text: str, scope: Scope, want: str, location: Location) -> Expression | None:
        """A condition or formula, bound; None, with a finding, if it makes no sense."""
        text = text.strip()
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
    """`text`, or if it is long no more than what stands around `position`."""
    start = max(0, min(position - 30, len(text) - 80))
    return ("…" if start else "") + cut(text[start:])


def _say(error: Any, data: Any) -> tuple[Location, str]:
    """A pydantic error as a location that exists in `data` and a message in plain words."""
    location: list[str | int] = []
    here = data
    for part in error["loc"]:
        if (isinstance(here, Mapping) and part in here) or (
            isinstance(here, Sequence) and not isinstance(here, str) and isinstance(part, int) and part < len(here)
        ):
            here = here[part]
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
