"""Conditions of rules: the values of one feature that a rule requires, in words and as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from counterplan.problem import Feature
from counterplan.problem.conditions import Node
from counterplan.problem.parts import format_number
from counterplan.problem.transitions import Bools, Floats
from counterplan.program.domains import Values
from counterplan.program.wording import joined, plain_number, quoted, verb


@dataclass(frozen=True)
class Condition:
    """A condition on one feature: its value is in `values`; it is known to be in `domain`."""

    feature: Feature
    values: Values
    domain: Values

    @cached_property
    def _both(self) -> Values:
        return self.values & self.domain

    @property
    def always(self) -> bool:
        """Whether every value of the domain meets it."""
        return self._both == self.domain

    @property
    def never(self) -> bool:
        """Whether no value of the domain meets it."""
        return not self._known and not self._both.missing

    @property
    def _known(self) -> bool:
        """Whether some value that is not missing meets it."""
        return bool(self._both.low < self._both.high if self.feature.is_number else self._both.among)

    @property
    def _any_known(self) -> bool:
        """Whether every value that is not missing meets it."""
        domain, both = self.domain, self._both
        return (both.low, both.high, both.among) == (domain.low, domain.high, domain.among)

    def __call__(self, states: Floats) -> Bools:
        """Where it holds in `states` [n, F]."""
        column, values = states[:, self.feature.index], self._both
        if self.feature.is_number:
            known = (column >= values.low) & (column < values.high)
        else:
            known = np.isin(column, sorted(values.among))
        return known | (np.isnan(column) & values.missing)

    @property
    def text(self) -> str:
        """`your income is below 50,000 €`"""
        label, is_ = self.feature.label, verb(self.feature.label)
        if not self._known:
            return f"{label} {is_} unknown"
        if self._any_known:
            return f"{label} {is_} known"
        text = self._number_text() if self.feature.is_number else self._category_text()
        return f"{label} {is_} {text}{' or unknown' if self._both.missing else ''}"

    def _number_text(self) -> str:
        feature, both = self.feature, self._both
        below, above = both.high < self.domain.high, both.low > self.domain.low
        unit = f" {feature.unit}" if feature.unit else ""
        if feature.integer and both.high - both.low == 1:
            return feature.format_value(both.low)
        if below and above and feature.integer:
            return f"between {format_number(both.low)} and {format_number(both.high - 1)}{unit}"
        if below and above:
            return f"at least {format_number(both.low)} and below {format_number(both.high)}{unit}"
        return f"below {format_number(both.high)}{unit}" if below else f"at least {format_number(both.low)}{unit}"

    def _category_text(self) -> str:
        shape, places = self._shape
        labels = [quoted(self.feature, place) for place in places]
        if shape in ("at least", "at most"):
            return f"{shape} {labels[0]}"
        if shape == "between":
            return f"between {labels[0]} and {labels[1]}"
        if shape == "in":
            return joined(labels, "or")
        if len(labels) > 2:
            return f"none of {joined(labels, 'or')}"
        return f"not {labels[0]}" if len(labels) == 1 else f"neither {labels[0]} nor {labels[1]}"

    @property
    def _shape(self) -> tuple[str, list[int]]:
        """The shortest way to name the values of a category."""
        inside, outside = sorted(self._both.among), sorted(self.domain.among - self._both.among)
        if self.feature.kind == "ordered" and len(inside) > 2:
            if inside[0] > outside[-1]:
                return "at least", inside[:1]
            if inside[-1] < outside[0]:
                return "at most", inside[-1:]
            if not any(inside[0] < place < inside[-1] for place in outside):
                return "between", [inside[0], inside[-1]]
        return ("in", inside) if len(inside) <= max(len(outside), 2) else ("not in", outside)

    @property
    def formal(self) -> Node:
        """The condition in the language of problem files."""
        name = Node("name", (self.feature.name,))
        missing = Node("missing", (name,))
        if not self._known:
            return missing
        if self._any_known:
            return Node("not", (missing,))
        parts = self._number_parts(name) if self.feature.is_number else self._category_parts(name)
        unsure = self.domain.missing and parts[0].op in ("not", "!=")  # which hold for what is missing
        if unsure and not self._both.missing:
            parts.append(Node("not", (missing,)))
        known = parts[0] if len(parts) == 1 else Node("and", tuple(parts))
        return Node("or", (known, missing)) if self._both.missing and not unsure else known

    def _number_parts(self, name: Node) -> list[Node]:
        both = self._both
        low, high = Node("number", (both.low,)), Node("number", (both.high,))
        if self.feature.integer and both.high - both.low == 1:
            return [Node("==", (name, low))]
        above = [Node(">=", (name, low))] if both.low > self.domain.low else []
        return above + ([Node("<", (name, high))] if both.high < self.domain.high else [])

    def _category_parts(self, name: Node) -> list[Node]:
        shape, places = self._shape
        texts = [Node("text", (self.feature.values[place],)) for place in places]
        if shape == "at least":
            return [Node(">=", (name, texts[0]))]
        if shape == "at most":
            return [Node("<=", (name, texts[0]))]
        if shape == "between":
            return [Node(">=", (name, texts[0])), Node("<=", (name, texts[1]))]
        if len(texts) == 1:
            return [Node("==" if shape == "in" else "!=", (name, texts[0]))]
        among = Node("in", (name, *texts))
        return [among] if shape == "in" else [Node("not", (among,))]

    def to_data(self) -> dict[str, Any]:
        """As plain data: `{"feature": "income", "at_least": 30000, "below": 50000}`; `missing` if values can be."""
        feature, both = self.feature, self._both
        data: dict[str, Any] = {"feature": feature.name}
        if not feature.is_number or not self._known:
            data["in"] = [feature.natives[place] for place in sorted(both.among)]
        else:
            data |= {"at_least": plain_number(both.low)} if both.low > self.domain.low else {}
            data |= {"below": plain_number(both.high)} if both.high < self.domain.high else {}
        return data | ({"missing": both.missing} if self.domain.missing else {})
