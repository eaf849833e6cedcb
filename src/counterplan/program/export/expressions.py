"""Conditions and formulas for other languages: names become indices of a state, values of categories their ranks.

What comes out is plain data: numbers, truths, and lists of an operation and what it is applied to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from counterplan.problem.conditions import Node, literal_text
from counterplan.problem.parts import Feature, Function


class Resolver:
    """Resolves the expressions of a problem; those of a function may refer to its `argument` and base costs."""

    def __init__(
        self, features: Sequence[Feature], function: Function | None = None, bases: Mapping[str, float] | None = None
    ) -> None:
        self.features = {feature.name: feature for feature in features}
        self.target = None if function is None else features[function.target]
        self.bases = bases or {}

    def __call__(self, node: Node) -> Any:
        """`node` as plain data: `["<", ["at", 0], 25]`, `["in", ["at", 3], [0, 2]]`."""
        op, args = node.op, node.args
        if op == "number":
            return args[0]
        if op in ("true", "false"):
            return op == "true"
        if op == "name":
            return ["at", self.features[args[0]].index]
        if op == "before":
            return ["before", self.features[args[0].args[0]].index]
        if op == "rank":
            return self(args[0])
        if op == "base":
            values = self.target.values if self.target else ()
            return ["base", self(args[0]), [self.bases.get(value, 0.0) for value in values]]
        if op == "in":
            return ["in", self(args[0]), [self._beside(args[0], item) for item in args[1:]]]
        if len(args) == 2:
            left, right = args
            return [op, self._beside(right, left), self._beside(left, right)]
        return [op, *(self(arg) for arg in args)]

    def _beside(self, other: Node, node: Node) -> Any:
        """`node`, which is a value of a category if `other` is a feature with values."""
        values = self._values(other)
        text = literal_text(node)
        return float(values.index(text)) if values and text is not None else self(node)

    def _values(self, node: Node) -> tuple[str, ...]:
        if node.op == "before":
            return self._values(node.args[0])
        feature = self.features[node.args[0]] if node.op == "name" else self.target if node.op == "argument" else None
        return () if feature is None else feature.values


def python(data: Any, names: Sequence[str]) -> str:
    """Resolved `data` as Python source over the person `p`, a mapping of `names` to numbers, and the argument `x`.

    The person before the action is `b`.
    """
    if not isinstance(data, list):
        return number(data) if isinstance(data, float) else str(data)
    op, *args = data
    if op == "at":
        return f"p[{names[args[0]]!r}]"
    if op == "before":
        return f"b[{names[args[0]]!r}]"
    if op == "argument":
        return "x"
    if op == "base":
        return f"_look_up({numbers(args[1])}, {python(args[0], names)})"
    if op == "in":
        return f"({python(args[0], names)} in {numbers(args[1])})"
    first, *rest = (python(arg, names) for arg in args)
    if op == "missing":
        return f"isnan({first})"
    if op == "not":
        return f"(not {first})"
    if op == "negate":
        return f"(-{first})"
    if op == "/":
        return f"_over({first}, {rest[0]})"
    return f"({f' {op} '.join([first, *rest])})"


def number(value: float) -> str:
    """A number as short as Python can write it."""
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def numbers(values: Sequence[float]) -> str:
    """Numbers as a tuple."""
    return f"({', '.join(map(number, values))}{',' * (len(values) == 1)})"
