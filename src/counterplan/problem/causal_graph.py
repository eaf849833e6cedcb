"""Build the causal graph of a problem: edges with their scales and consequences, in topological order."""

from __future__ import annotations

import itertools
import math
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from counterplan.problem import limits, parts
from counterplan.problem.binding import Array, Column, Expression, Scope
from counterplan.problem.checker import Checker
from counterplan.problem.schema import CauseSpec, IntervalSpec
from counterplan.problem.source import Location, Source, format_location
from counterplan.problem.values import Native, did_you_mean, listed, text_of


class CauseBuilder(Checker):
    """Builds the edges of the causal graph."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.edges: dict[tuple[str, str], Location] = {}
        """The location of the first definition of each edge."""
        self._changers: dict[str, list[tuple[str, str]]] = {}
        """By feature: the functions that can change it, each with the feature that it sets or adds to."""
        self._ranges: dict[str, tuple[float, float]] = {}
        """By function: its smallest and largest argument."""

    def cause(self, spec: CauseSpec, location: Location) -> tuple[parts.Cause, CauseSpec] | None:
        """Build one edge; returns it with its normalised specification."""
        first = self.edges.setdefault((spec.from_, spec.to), location)
        if first != location:
            self.report(f"there is already a cause from {spec.from_} to {spec.to}: {format_location(first)}", location)
        source, target = self.known(spec.from_, (*location, "from")), self.known(spec.to, (*location, "to"))
        if source is None or target is None:
            return None
        if spec.table is not None and spec.formula is not None:
            self.report("has both 'table' and 'formula'; one of them sets the feature", location)
        before = len(self.source.findings)
        scale = None if spec.scale is None else self.scale(spec.scale, source, (*location, "scale"))
        table, natives = self.table(spec.table, source, target, (*location, "table"))
        formula = None
        if spec.formula is not None:
            if not target.is_number:
                self.report(f"a formula gives a number, and {target.name} is not one", (*location, "formula"))
            formula = self.formula(spec.formula, source, (*location, "formula"))
        if any(finding.severity == "error" for finding in self.source.findings[before:]):
            return None
        cause = parts.Cause(source.index, target.index, scale, table, formula, int(location[-1]))
        return cause, spec.model_copy(update={"table": natives})

    def trace(self, built: Sequence[parts.Function], functions: Any, causes: Any) -> None:
        """Find the functions that change each feature, directly or through consequences, for `argument` in formulas.

        `functions` and `causes` are as in the file: those with mistakes of their own count, too.
        """
        if not isinstance(functions, Mapping) or not isinstance(causes, Sequence) or isinstance(causes, str):
            return
        if len(functions) > limits.MAX_FUNCTIONS or len(causes) > limits.MAX_CAUSES:
            return
        follows: dict[str, list[str]] = {}
        for item in causes:
            if isinstance(item, Mapping) and (item.get("table") is not None or item.get("formula") is not None):
                follows.setdefault(text_of(item.get("from")), []).append(text_of(item.get("to")))
        self._ranges = {function.name: (function.arguments.min(), function.arguments.max()) for function in built}
        for name, item in functions.items():
            target = text_of(item.get("set", item.get("add"))) if isinstance(item, Mapping) else ""
            waiting, reached = [target], {target}
            while waiting and target in self.features:
                feature = waiting.pop()
                self._changers.setdefault(feature, []).append((text_of(name), target))
                new = [other for other in dict.fromkeys(follows.get(feature, ())) if other not in reached]
                waiting += new
                reached.update(new)

    def formula(self, text: str, source: parts.Feature, location: Location) -> Expression | None:
        """Build the formula of a cause from `source`; its `argument` is that of the functions that trigger it."""
        changers = self._changers.get(source.name, [])
        ends = [end for name, _ in changers for end in self._ranges.get(name, ())]
        argument = Column(-1, low=min(ends), high=max(ends)) if ends else Column(-1)
        bound = self.expression(text, Scope(self.columns(), argument, formula=True), "number", location)
        if bound is None or not bound.tree.uses("argument"):
            return bound
        setting = [f"{name} (sets {target})" for name, target in changers if not self.features[target].is_number]
        if setting:
            self.report(
                f"'argument' has to be a number, but the arguments of {listed(setting)}, which can change "
                f"{source.name}, are categories; use a table, rank(…) of an ordered feature, or a cause from a feature "
                "that only functions with numbers change",
                location,
            )
        return bound

    def scale(self, scale: Any, source: parts.Feature, location: Location) -> parts.Scale | None:
        """Build the factors on costs."""
        if isinstance(scale, list) and scale and isinstance(scale[0], IntervalSpec):
            return self.intervals(scale, source, location)
        if source.is_number:
            self.report(
                f"{source.name} is a number: its scale is a list of intervals like {{below: 25, scale: 0.5}}", location
            )
            return None
        if isinstance(scale, list):
            if len(scale) != len(source.natives):
                self.report(f"has {len(scale)} numbers for the {len(source.natives)} values of {source.name}", location)
                return None
            return parts.Scale(np.array([*scale, 1.0]))
        for text in scale:
            if text not in source.value_index:
                self.report(
                    f"'{text}' is not a value of '{source.name}'{did_you_mean(text, source.values)}", (*location, text)
                )
        return parts.Scale(np.array([*(scale.get(text, 1.0) for text in source.values), 1.0]))

    def intervals(self, items: list[IntervalSpec], source: parts.Feature, location: Location) -> parts.Scale | None:
        """Build factors by intervals of a number."""
        if not source.is_number:
            self.report(f"{source.name} is no number: its scale is a list by rank or a mapping by value", location)
            return None
        intervals = []
        for i, item in enumerate(items):
            if item.above is not None and item.at_least is not None:
                self.report("has both 'above' and 'at_least'", (*location, i))
            if item.below is not None and item.at_most is not None:
                self.report("has both 'below' and 'at_most'", (*location, i))
            lows = [bound for bound in (item.above, item.at_least) if bound is not None]
            highs = [bound for bound in (item.below, item.at_most) if bound is not None]
            low, high = lows[0] if lows else -math.inf, highs[0] if highs else math.inf
            if low > high or (low == high and (item.above is not None or item.below is not None)):
                self.report("no number lies in this interval", (*location, i))
            if not lows and not highs and i < len(items) - 1:
                self.report("holds for every number, so what follows never counts", (*location, i))
            intervals.append((low, item.above is None, high, item.below is None, item.scale))
        return parts.Scale(intervals=tuple(intervals))

    def table(
        self, table: Mapping[str, Any] | None, source: parts.Feature, target: parts.Feature, location: Location
    ) -> tuple[Array | None, dict[str, Native] | None]:
        """The target's value for each value of the source: as numbers [V], and as in the file."""
        if table is None:
            return None, None
        if source.is_number:
            self.report(f"{source.name} is a number: write a formula instead of a table", location)
            return None, None
        numbers = np.full(len(source.natives), math.nan)
        natives: dict[str, Native] = {}
        for text, item in table.items():
            if text not in source.value_index:
                self.report(
                    f"'{text}' is not a value of '{source.name}'{did_you_mean(text, source.values)}", (*location, text)
                )
                continue
            native = self.of_feature(target, item, (*location, text))
            if native is not None:
                natives[text] = native
                number = float(native) if target.is_number else target.value_index[text_of(native)]
                numbers[source.value_index[text]] = number
        return numbers, natives

    def causal_order(self, causes: Sequence[tuple[parts.Cause, CauseSpec]]) -> dict[int, int]:
        """A topological rank for each feature; features that a formula reads count as parents, unless it reads
        their values before the action. Cycles are errors."""
        names = {feature.index: name for name, feature in self.features.items()}
        children: dict[int, list[int]] = {index: [] for index in names}
        waiting = dict.fromkeys(names, 0)
        positions: dict[tuple[int, int], int] = {}
        for cause, _ in causes:
            mentioned = set() if cause.formula is None else cause.formula.tree.current_names()
            parents = {cause.source, *(self.features[name].index for name in mentioned)}
            for parent in parents - ({cause.target} - {cause.source}):
                children[parent].append(cause.target)
                waiting[cause.target] += 1
                positions.setdefault((parent, cause.target), cause.position)
        order: dict[int, int] = {}
        free = deque(index for index in names if not waiting[index])
        while free:
            index = free.popleft()
            order[index] = len(order)
            for child in children[index]:
                waiting[child] -= 1
                if not waiting[child]:
                    free.append(child)
        left = [index for index in names if index not in order]
        if left:
            cycle = _cycle(left, children)
            position = max(positions[edge] for edge in itertools.pairwise(cycle))
            text = " → ".join(names[index] for index in cycle)
            self.report(f"the causes run in a circle: {text}", ("causes", position))
        return order


def _cycle(left: list[int], children: Mapping[int, list[int]]) -> list[int]:
    """One cycle among the features `left` over when all others are ordered."""
    members = set(left)
    parents = {child: index for index in left for child in children[index] if child in members}
    path = [left[0]]
    visited = set(path)
    while parents[path[-1]] not in visited:
        path.append(parents[path[-1]])
        visited.add(path[-1])
    path.append(parents[path[-1]])
    return path[path.index(path[-1]) :][::-1]
