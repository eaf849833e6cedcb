"""Bind expressions to features: check names and types, then evaluate on arrays of states.

A missing value makes every comparison false, except `!=` and `not in`, which are the negations of `==` and `in`.
A division by zero gives a missing value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from counterplan.errors import ConditionError
from counterplan.problem.conditions import COMPARISONS, Node, literal_text, parse
from counterplan.problem.values import cut, did_you_mean, listed

Array = npt.NDArray[Any]


class Operands(NamedTuple):
    """The arrays that an expression reads, which broadcast against each other."""

    states: Array
    """[..., F]"""
    argument: Array | None = None
    """[...] the arguments of actions."""
    before: Array | None = None
    """[..., F] the states before the actions, for `before(…)`."""


Evaluate = Callable[[Operands], Array]


@dataclass(frozen=True)
class Column:
    """A feature as expressions see it: its index in a state and its possible values."""

    index: int
    values: tuple[str, ...] | None = None
    ordered: bool = False
    low: float = -math.inf
    high: float = math.inf

    @cached_property
    def value_index(self) -> Mapping[str, int]:
        """The index of each value of a category."""
        return {text: index for index, text in enumerate(self.values or ())}


@dataclass(frozen=True)
class Scope:
    """The names that an expression may use: the features, and `argument` in conditions of functions and formulas."""

    columns: Mapping[str, Column]
    argument: Column | None = None
    bases: Mapping[str, float] | None = None
    """The function's own base cost by value (text), for `base(…)`; values that are not named have base 0."""
    formula: bool = False
    """Whether it is the formula of a cause, which may use `before(…)`."""


@dataclass(frozen=True)
class _Bound:
    """A checked sub-expression. Categories are their indices, so everything runs on floats and bools."""

    kind: str  # number, boolean, category, text
    run: Evaluate
    column: Column | None = None
    low: float = -math.inf
    high: float = math.inf


@dataclass(frozen=True)
class Expression:
    """A condition or a formula with checked names and types."""

    tree: Node
    run: Evaluate = field(compare=False, repr=False)
    warnings: tuple[str, ...] = field(default=(), compare=False)

    def __call__(self, states: Array, argument: Array | None = None, before: Array | None = None) -> Array:
        """Evaluate on `states` [..., F], with `argument` and the states `before` the action broadcast against them."""
        with np.errstate(all="ignore"):  # overflows are infinite and compare as such
            return self.run(Operands(states, argument, before))

    @cached_property
    def path_dependent(self) -> bool:
        """Whether the value depends on the action, and not on the state after it alone."""
        return self.tree.uses("argument") or self.tree.uses("before")

    def __str__(self) -> str:
        return str(self.tree)


def bind(source: str | Node, scope: Scope, want: str = "boolean") -> Expression:
    """Check `source` against `scope` and compile it; `want` is "boolean" or "number"."""
    tree = parse(source) if isinstance(source, str) else source
    binder = _Binder(scope)
    bound = binder.bind(tree)
    if bound.kind != want:
        wanted = "a condition that is true or false" if want == "boolean" else "a formula that gives a number"
        raise ConditionError(f"expected {wanted}, but '{cut(tree)}' is {_a_kind(bound.kind)}", tree.position)
    return Expression(tree, bound.run, tuple(binder.warnings))


def _a_kind(kind: str) -> str:
    return {"number": "a number", "boolean": "a condition", "category": "a category", "text": "a text"}[kind]


_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": np.equal,
    "!=": lambda a, b: ~np.equal(a, b),
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


class _Binder:
    """Compiles a tree, from the leaves up, into functions over arrays."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.warnings: list[str] = []

    def bind(self, node: Node) -> _Bound:
        if node.op in ("and", "or", "not"):
            return self.logic(node)
        if node.op in COMPARISONS:
            return self.comparison(node)
        if node.op in ("+", "-", "*", "/", "negate"):
            return self.arithmetic(node)
        return getattr(self, {"in": "membership"}.get(node.op, node.op))(node)  # type: ignore[no-any-return]

    def number(self, node: Node) -> _Bound:
        value = node.args[0]
        if not math.isfinite(value):
            raise ConditionError("numbers must be finite", node.position)
        return _Bound("number", lambda operands: np.asarray(value), low=value, high=value)

    def text(self, node: Node) -> _Bound:
        def unresolved(operands: Operands) -> Array:
            raise AssertionError("texts are resolved to categories before evaluation")

        return _Bound("text", unresolved)

    def true(self, node: Node) -> _Bound:
        return _Bound("boolean", lambda operands: np.asarray(node.op == "true"))

    false = true

    def name(self, node: Node) -> _Bound:
        name = node.args[0]
        column = self.scope.columns.get(name)
        if column is None:
            value_of = [feature for feature, c in self.scope.columns.items() if c.values and name in c.values]
            hint = f"; write '{name}' in quotes if you mean the value of {value_of[0]}" if value_of else ""
            hint = hint or did_you_mean(name, [*self.scope.columns, "argument"])
            raise ConditionError(f"unknown name '{cut(name)}'{hint}", node.position)
        index = column.index
        kind = "number" if column.values is None else "category"
        return _Bound(kind, lambda operands: operands.states[..., index], column, column.low, column.high)

    def argument(self, node: Node) -> _Bound:
        column = self.scope.argument
        if column is None:
            raise ConditionError("there is no 'argument' here: it belongs to functions and formulas", node.position)
        kind = "number" if column.values is None else "category"

        def value(operands: Operands) -> Array:
            assert operands.argument is not None
            return operands.argument

        return _Bound(kind, value, column, column.low, column.high)

    def before(self, node: Node) -> _Bound:
        inner = self.bind(node.args[0])
        if node.args[0].op != "name" or inner.column is None:
            raise ConditionError("before(…) takes the name of a feature", node.position)
        if not self.scope.formula:
            message = (
                f"before(…) belongs to formulas of causes: nothing has changed yet here, so write '{cut(node.args[0])}'"
            )
            raise ConditionError(message, node.position)
        index = inner.column.index

        def value(operands: Operands) -> Array:
            assert operands.before is not None
            earlier: Array = operands.before[..., index]
            return earlier

        return _Bound(inner.kind, value, inner.column, inner.low, inner.high)

    def missing(self, node: Node) -> _Bound:
        inner = self.bind(node.args[0])
        if inner.column is None:
            raise ConditionError("missing(…) takes the name of a feature", node.position)
        return _Bound("boolean", lambda operands: np.isnan(inner.run(operands)))

    def rank(self, node: Node) -> _Bound:
        inner = self.bind(node.args[0])
        if inner.kind != "category" or inner.column is None or not inner.column.ordered:
            raise ConditionError("rank(…) takes an ordered feature or its argument", node.position)
        return _Bound("number", inner.run, low=0, high=len(inner.column.values or ()) - 1)

    def base(self, node: Node) -> _Bound:
        inner = self.bind(node.args[0])
        bases, target = self.scope.bases, self.scope.argument
        if bases is None or target is None or target.values is None:
            raise ConditionError("base(…) needs a function that sets a category and has a base for each", node.position)
        if inner.column is None or inner.column.values != target.values:
            raise ConditionError("base(…) takes 'argument' or the feature that the function sets", node.position)
        table = np.array([bases.get(value, 0.0) for value in target.values] + [0.0])

        def look_up(operands: Operands) -> Array:
            index = inner.run(operands)
            return table[np.where(np.isnan(index), -1, index).astype(np.intp)]

        return _Bound("number", look_up, low=float(table.min()), high=float(table.max()))

    def logic(self, node: Node) -> _Bound:
        parts = []
        for arg in node.args:
            part = self.bind(arg)
            if part.kind != "boolean":
                message = f"'{node.op}' joins conditions, but '{cut(arg)}' is {_a_kind(part.kind)}"
                raise ConditionError(message, arg.position)
            parts.append(part.run)
        if node.op == "not":
            return _Bound("boolean", lambda operands: ~parts[0](operands))
        join = np.logical_and if node.op == "and" else np.logical_or

        def run(operands: Operands) -> Array:
            result = parts[0](operands)
            for part in parts[1:]:
                result = join(result, part(operands))
            return result

        return _Bound("boolean", run)

    def comparison(self, node: Node) -> _Bound:
        left, right = self.unify(node, *(self.bind(arg) for arg in node.args))
        if left.kind == "boolean":
            raise ConditionError(f"'{node.op}' compares values, not conditions", node.position)
        if left.kind == "category" and node.op not in ("==", "!="):
            for side, arg in zip((left, right), node.args, strict=True):
                if not (side.column and side.column.ordered):
                    message = (
                        f"'{cut(arg)}' is a category without order and cannot be compared by '{node.op}'; "
                        "use == or 'in', or make the feature 'ordered'"
                    )
                    raise ConditionError(message, node.position)
        compare = _COMPARE[node.op]
        return _Bound("boolean", lambda operands: compare(left.run(operands), right.run(operands)))

    def membership(self, node: Node) -> _Bound:
        left = self.bind(node.args[0])
        chosen = []
        for arg in node.args[1:]:
            if literal_text(arg) is None:
                raise ConditionError(f"a list after 'in' holds plain values, not '{cut(arg)}'", arg.position)
            _, right = self.unify(Node("in", (node.args[0], arg), arg.position), left, self.bind(arg))
            chosen.append(float(right.run(Operands(np.empty((0, 0))))))
        if left.kind not in ("number", "category"):
            raise ConditionError(f"'in' looks for a value, but '{cut(node.args[0])}' is not one", node.position)
        options = np.array(chosen)
        return _Bound("boolean", lambda operands: np.isin(left.run(operands), options))

    def unify(self, node: Node, left: _Bound, right: _Bound) -> tuple[_Bound, _Bound]:
        """Convert both sides of a comparison to one kind: a literal beside a category becomes its index."""
        if left.kind == "category" and right.column is None:
            return left, self.literal(node.args[1], left)
        if right.kind == "category" and left.column is None:
            return self.literal(node.args[0], right), right
        if "text" in (left.kind, right.kind):
            text, other = (left, right) if left.kind == "text" else (right, left)
            which = node.args[0] if text is left else node.args[1]
            against = "another text" if other.kind == "text" else _a_kind(other.kind)
            raise ConditionError(f"{cut(which)} is a text and is compared with {against}", which.position)
        if left.kind != right.kind:
            message = f"cannot compare {_a_kind(left.kind)} with {_a_kind(right.kind)} in '{cut(node)}'"
            raise ConditionError(message, node.position)
        if left.kind == "category" and left.column and right.column and _differ(left.column, right.column):
            raise ConditionError(f"the two sides of '{cut(node)}' have different values", node.position)
        return left, right

    def literal(self, node: Node, beside: _Bound) -> _Bound:
        assert beside.column is not None
        values, index = beside.column.values or (), beside.column.value_index
        text = literal_text(node)
        if text is None or (node.op in ("true", "false") and text not in index):
            raise ConditionError(f"'{cut(node)}' cannot be compared with a category", node.position)
        if text not in index:
            hint = did_you_mean(text, values) or f"; the values are {listed(values)}"
            raise ConditionError(
                f"'{cut(text)}' is not one of the values that it is compared with{hint}", node.position
            )
        number = np.asarray(float(index[text]))
        return _Bound("category", lambda operands: number, beside.column)

    def arithmetic(self, node: Node) -> _Bound:
        sides = [self.bind(arg) for arg in node.args]
        for side, arg in zip(sides, node.args, strict=True):
            if side.kind != "number":
                hint = "; use rank(…) for the rank of an ordered value" if side.kind == "category" else ""
                message = (
                    f"'{_SIGN.get(node.op, node.op)}' works on numbers, but '{cut(arg)}' is {_a_kind(side.kind)}{hint}"
                )
                raise ConditionError(message, arg.position)
        if node.op == "negate":
            inner = sides[0]
            return _Bound("number", lambda operands: -inner.run(operands), low=-inner.high, high=-inner.low)
        left, right = sides
        if node.op == "/":
            return self.division(node, left, right)
        apply = {"+": np.add, "-": np.subtract, "*": np.multiply}[node.op]
        low, high = _range(node.op, left, right)
        bounded = all(math.isfinite(end) for side in sides for end in (side.low, side.high))
        if bounded and not (math.isfinite(low) and math.isfinite(high)):
            message = f"'{cut(node)}' can be larger than any number that can be stored; use smaller numbers"
            raise ConditionError(message, node.position)
        return _Bound(
            "number",
            lambda operands: apply(left.run(operands), right.run(operands)),
            low=low,
            high=high,
        )

    def division(self, node: Node, left: _Bound, right: _Bound) -> _Bound:
        divisor = node.args[1]
        if right.low == right.high == 0:
            raise ConditionError(f"'{cut(node)}' divides by zero", divisor.position)
        if right.low <= 0 <= right.high:
            self.warnings.append(
                f"'{cut(divisor)}' may be zero in '{cut(node)}'; the result then counts as missing "
                "(give the feature a minimum above zero if that cannot be)"
            )

        def run(operands: Operands) -> Array:
            below = right.run(operands)
            safe = np.where(below == 0, np.nan, below)
            result: Array = left.run(operands) / safe
            return result

        return _Bound("number", run)


_SIGN = {"negate": "-"}


def _differ(left: Column, right: Column) -> bool:
    return left.values is not right.values and left.values != right.values


def _range(op: str, left: _Bound, right: _Bound) -> tuple[float, float]:
    """Bounds of a sum, difference or product, in Python's floats, which overflow without a warning."""
    (a, b), (c, d) = ((float(side.low), float(side.high)) for side in (left, right))
    if op == "+":
        return a + c, b + d
    if op == "-":
        return a - d, b - c
    corners = [0.0 if 0 in (x, y) else x * y for x in (a, b) for y in (c, d)]
    return min(corners), max(corners)
