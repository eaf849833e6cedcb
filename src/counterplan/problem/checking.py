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
from counterplan.problem.source import Place, Source, as_number
from counterplan.problem.values import Native, cut, did_you_mean, listed, text_of

T = TypeVar("T")


class Checker:
    """Notes what is wrong with a source, and knows the features found so far."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.features: dict[str, parts.Feature] = {}
        self.broken: set[str] = set()
        """Features with mistakes of their own: what refers to them is passed over in silence."""

    def found(self, message: str, place: Place, severity: str = "error") -> None:
        """Note a finding."""
        self.source.found(message, place, severity)

    def validated(self, adapter: TypeAdapter[T], data: Any, place: Place) -> T | None:
        """`data` as the adapter's type, or None with a finding for each thing wrong with it."""
        try:
            return adapter.validate_python(data)
        except ValidationError as error:
            for wrong in error.errors():
                inner, message = _say(wrong, data)
                self.found(message, place + inner)
            return None
        except UnicodeEncodeError:
            self.found("has half a character (a lone surrogate) in it", place)
            return None

    def distinct(self, values: Sequence[Native], place: Place) -> tuple[Native, ...]:
        """The values, with a finding for each that is listed twice."""
        seen: set[str] = set()
        for i, value in enumerate(values):
            if text_of(value) in seen:
                self.found(f"'{text_of(value)}' is listed twice", (*place, i))
            seen.add(text_of(value))
        return tuple(values)

    def known(self, name: str, place: Place) -> parts.Feature | None:
        """A feature by name; None, with a finding unless the feature itself is broken."""
        feature = self.features.get(name)
        if feature is None and name not in self.broken:
            self.found(f"there is no feature '{name}'{did_you_mean(name, self.features)}", place)
        return feature

    def of_feature(self, feature: parts.Feature, item: Any, place: Place, change: bool = False) -> Native | None:
        """`item` as a value of `feature` (or, for numbers, a change of it), or None with a finding."""
        if not feature.is_number:
            text = text_of(item)
            if text not in feature.values:
                hint = did_you_mean(text, feature.values) or f"; the values are {listed(feature.values)}"
                self.found(f"'{text}' is not a value of '{feature.name}'{hint}", place)
                return None
            return feature.natives[feature.values.index(text)]
        number = as_number(item)
        if isinstance(number, (bool, str)) or not math.isfinite(number):
            self.found(f"'{item}' is not a number, but {feature.name} is", place)
            return None
        if feature.integer and number != int(number):
            self.found(f"{number} is not a whole number, but {feature.name} is", place)
            return None
        if change and number == 0:
            self.found("adding 0 changes nothing", place)
            return None
        if not change and not feature.low <= number <= feature.high:
            self.found(f"{parts.say_number(number)} is outside the bounds of {feature.name}", place)
            return None
        if change and abs(number) > feature.high - feature.low:
            self.found(
                f"{parts.say_number(number)} is more than the bounds of {feature.name} are apart", place, "warning"
            )
        return int(number) if number == int(number) else float(number)

    def columns(self) -> dict[str, Column]:
        """The features as conditions see them."""
        return {name: feature.column() for name, feature in self.features.items()}

    def expression(self, text: str, scope: Scope, want: str, place: Place) -> Expression | None:
        """A condition or formula, bound; None, with a finding, if it makes no sense."""
        text = text.strip()
        try:
            tree = parse(text)
            if tree.names() & self.broken:
                return None
            bound = bind(tree, scope, want)
        except ConditionError as error:
            self.found(f"{error} (at character {error.position + 1} of: {_around(text, error.position)})", place)
            return None
        for warning in bound.warnings:
            self.found(warning, place, "warning")
        return bound


def _around(text: str, position: int) -> str:
    """`text`, or if it is long no more than what stands around `position`."""
    start = max(0, min(position - 30, len(text) - 80))
    return ("…" if start else "") + cut(text[start:])


def _say(error: Any, data: Any) -> tuple[Place, str]:
    """A pydantic error as a place that exists in `data` and a message in plain words."""
    place: list[str | int] = []
    here = data
    for part in error["loc"]:
        if (isinstance(here, Mapping) and part in here) or (
            isinstance(here, Sequence) and not isinstance(here, str) and isinstance(part, int) and part < len(here)
        ):
            here = here[part]
        else:
            continue
        place.append(part)
    last, kind, context = error["loc"][-1] if error["loc"] else "", error["type"], error.get("ctx", {})
    if kind == "missing":
        return tuple(place), f"'{last}' is missing"
    if kind == "extra_forbidden":
        return tuple(place), f"unknown key{did_you_mean(text_of(last), KEYS)}"
    if kind == "union_tag_not_found":
        return tuple(place), "'kind' is missing: number, category or ordered"
    if kind == "union_tag_invalid":
        if "kind" not in str(context.get("discriminator")):
            return tuple(place), "is not written in a way that is understood here"
        return (*place, "kind"), f"unknown kind '{context.get('tag')}': it is number, category or ordered"
    if kind in ("model_type", "model_attributes_type", "dict_type"):
        return tuple(place), "should be a mapping of keys and values"
    if kind == "list_type":
        return tuple(place), "should be a list"
    if kind == "too_short":
        least = context["min_length"]
        return tuple(place), f"should have at least {'one value' if least == 1 else f'{least} values'}"
    if kind == "value_error":
        return tuple(place), str(context.get("error", error["msg"]))
    if kind == "literal_error":
        return tuple(place), f"should be {context['expected']} or a list"
    message = error["msg"].removeprefix("Input ")
    return tuple(place), message[0].lower() + message[1:]
