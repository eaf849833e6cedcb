"""Domains of features: their possible values at a node, after a test, and where an action is legal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product

import numpy as np

from counterplan.problem import Feature, Problem
from counterplan.problem.binding import Expression
from counterplan.problem.conditions import Node
from counterplan.program.parts import Choice, Test

MAX_COMBINATIONS = 5_000
"""Most combinations of values for which a precondition is evaluated."""
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "=="}


@dataclass(frozen=True)
class Values:
    """Values of a feature: numbers from `low` to below `high`, or values `among` a category, by index; or `missing`."""

    low: float = -math.inf
    high: float = math.inf
    among: frozenset[int] = frozenset()
    missing: bool = False

    def __and__(self, other: Values) -> Values:
        low, high = max(self.low, other.low), min(self.high, other.high)
        return Values(low, high, self.among & other.among, self.missing and other.missing)

    def __or__(self, other: Values) -> Values:
        """The union; for numbers, the smallest interval around it."""
        low, high = min(self.low, other.low), max(self.high, other.high)
        return Values(low, high, self.among | other.among, self.missing or other.missing)

    def some(self, feature: Feature) -> bool:
        """Whether they are not empty."""
        return self.missing or bool(self.low < self.high if feature.is_number else self.among)


def possible(feature: Feature) -> Values:
    """Every value that a feature can have."""
    if not feature.is_number:
        return Values(among=frozenset(range(len(feature.natives))), missing=feature.missing)
    return Values(_from(feature, feature.low), _after(feature, feature.high), missing=feature.missing)


def passing(feature: Feature, test: Test, passed: bool) -> Values:
    """The values that pass a test, or fail it."""
    every = frozenset(range(len(feature.natives)))
    if test.among is not None:
        chosen = frozenset(test.among) & every
    elif test.at_least is None:
        return Values(math.inf, -math.inf, missing=True) if passed else Values(among=every)
    elif feature.is_number:
        bound = _from(feature, test.at_least)
        return Values(low=bound) if passed else Values(high=bound, missing=True)
    else:
        chosen = frozenset(place for place in every if place >= test.at_least)
    return Values(among=chosen if passed else every - chosen, missing=not passed)


def _from(feature: Feature, number: float) -> float:
    """The least value of a feature that is at least `number`."""
    return float(math.ceil(number) if feature.integer and math.isfinite(number) else number)


def _after(feature: Feature, number: float) -> float:
    """The least value of a feature above `number`."""
    if not math.isfinite(number):
        return number
    return float(math.floor(number) + 1) if feature.integer else math.nextafter(number, math.inf)


def after_values(problem: Problem, node: str, choices: Iterable[Choice]) -> list[Values]:
    """The possible values of each feature at `node` of a program with these `choices`.

    After a function that sets its feature, it has one of the chosen values; after one that adds, it is not missing.
    """
    values = [possible(feature) for feature in problem.features]
    for function, span in zip(problem.transitions.functions, problem.transitions.spans, strict=True):
        if function.name == node:
            feature = problem.features[function.target]
            chosen = [choice.action for choice in choices if span.start <= choice.action < span.stop]
            reached = [float(function.arguments[action - span.start]) for action in chosen]
            if function.adds or not reached:
                values[feature.index] &= Values(among=values[feature.index].among)
            elif feature.is_number:
                values[feature.index] = Values(min(reached), _after(feature, max(reached)))
            else:
                values[feature.index] = Values(among=frozenset(int(place) for place in reached))
    return values


def needs(problem: Problem, choice: Choice) -> dict[int, Values]:
    """By feature that matters: a superset of the values with which a choice is legal."""
    transitions = problem.transitions
    if choice.action == transitions.stop:
        return {}
    span = transitions.spans[int(transitions.function_of[choice.action])]
    actions = [choice.action] if choice.reach is None else range(span.start, span.stop)
    each = [_needs(problem, action) for action in actions]
    found = {index: reduce(Values.__or__, [one[index] for one in each]) for index in each[0]}
    return {index: values for index, values in found.items() if values != possible(problem.features[index])}


def _needs(problem: Problem, action: int) -> dict[int, Values]:
    transitions, features = problem.transitions, problem.features
    number = int(transitions.function_of[action])
    function = transitions.functions[number]
    argument = float(function.arguments[action - transitions.spans[number].start])
    target, found = features[function.target], {feature.index: possible(feature) for feature in features}
    if not target.is_number:
        found[target.index] &= Values(among=found[target.index].among - {int(argument)}, missing=True)
    elif function.adds:
        exact = target.integer and argument.is_integer()
        low, high = _wide(target.low - argument, exact, -1), _wide(target.high - argument, exact, 1)
        found[target.index] &= Values(_from(target, low), _after(target, high))
    named = [feature for feature in features if feature.name in function.when.tree.names()]
    if not any(feature.is_number for feature in named):
        for feature, values in _satisfying(problem, function.when, named, argument):
            found[feature.index] &= values
    for part in _conjuncts(function.when.tree):
        for feature, values in _bounds(named, part, argument if target.is_number else None):
            found[feature.index] &= values
    return found


def _satisfying(
    problem: Problem, when: Expression, named: Sequence[Feature], argument: float
) -> Iterator[tuple[Feature, Values]]:
    """The values with which a precondition on categories alone can be true; all combinations are evaluated."""
    options = [[*range(len(feature.natives)), *([math.nan] if feature.missing else [])] for feature in named]
    if not named or math.prod(map(len, options)) > MAX_COMBINATIONS:
        return
    rows = np.array(list(product(*options)), float)
    states = np.zeros((len(rows), len(problem.features)))
    states[:, [feature.index for feature in named]] = rows
    satisfied = np.broadcast_to(when(states, np.full(len(rows), argument)), len(rows))
    for column, feature in enumerate(named):
        seen = rows[satisfied, column]
        known = frozenset(seen[~np.isnan(seen)].astype(int).tolist())
        yield feature, Values(among=known, missing=bool(np.isnan(seen).any()))


def _conjuncts(node: Node) -> Iterator[Node]:
    if node.op == "and":
        for part in node.args:
            yield from _conjuncts(part)
    else:
        yield node


def _bounds(named: Sequence[Feature], node: Node, argument: float | None) -> Iterator[tuple[Feature, Values]]:
    """The bounds that a comparison such as `income + argument >= 250` sets on the one number in it."""
    if node.op not in _MIRRORED:
        return
    sides = [_linear(side, argument) for side in node.args]
    names = {name for side in sides if side is not None for name in side[1]}
    if None in sides or len(names) != 1:
        return
    left, right = (side for side in sides if side is not None)
    feature = next(feature for feature in named if feature.name in names)
    slope, rest = left[1].get(feature.name, 0.0) - right[1].get(feature.name, 0.0), right[0] - left[0]
    if not feature.is_number or slope == 0 or not math.isfinite(rest / slope):
        return
    op, low, high = node.op if slope > 0 else _MIRRORED[node.op], rest / slope, rest / slope
    bare = any(side.op == "name" and not other.names() for side, other in (node.args, node.args[::-1]))
    exact = bare or (feature.integer and _whole(node) and (argument or 0.0).is_integer())
    low, high = _wide(low, exact, -1), _wide(high, exact, 1)
    least = {">=": _from(feature, low), "==": _from(feature, low), ">": _after(feature, low)}.get(op, -math.inf)
    end = {"<": _from(feature, high), "<=": _after(feature, high), "==": _after(feature, high)}.get(op, math.inf)
    yield feature, Values(least, end)


def _wide(bound: float, exact: bool, direction: int) -> float:
    """A computed bound, widened by more than its rounding error unless it is `exact`."""
    return bound if exact or not math.isfinite(bound) else bound + direction * 1e-6 * (1 + abs(bound))


def _whole(node: Node) -> bool:
    """Whether all numbers in an expression are integers."""
    if node.op == "number":
        return float(node.args[0]).is_integer()
    return all(_whole(arg) for arg in node.args if isinstance(arg, Node))


def _linear(node: Node, argument: float | None) -> tuple[float, dict[str, float]] | None:
    """A linear expression as its constant and the factors of its names; None if it is not linear."""
    if node.op == "number":
        return float(node.args[0]), {}
    if node.op == "argument":
        return None if argument is None else (argument, {})
    if node.op == "name":
        return 0.0, {node.args[0]: 1.0}
    if node.op not in ("+", "-", "negate"):
        return None
    parts = [_linear(part, argument) for part in node.args]
    total: dict[str, float] = {}
    constant = 0.0
    for place, part in enumerate(parts):
        if part is None:
            return None
        sign = -1.0 if node.op == "negate" or (node.op == "-" and place) else 1.0
        constant += sign * part[0]
        for name, factor in part[1].items():
            total[name] = total.get(name, 0.0) + sign * factor
    return constant, total
