"""The lower bound of a card's search, for modules that it is exported to: the text of this file, from the line below.

See `solver` for the definition of the search. Any lower bound leads to the same plan; this one is fast.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from math import inf, isnan, nan
from typing import NamedTuple

from counterplan.program.export.runtime import State, _computed, _Function, _legal, _rounded, _World

# --- from here on

_MOST_AMOUNTS = 1_000


class _Entries(NamedTuple):
    """The points of a feature, by bin of a number or by rank of a value."""

    edges: Sequence[float]
    points: Sequence[int]
    missing: int = 0

    def of(self, number: float) -> int:
        """The points of a number of a state."""
        if number != number:
            return self.missing
        return self.points[bisect_right(self.edges, number) if self.edges or len(self.points) == 1 else int(number)]


class _Card(NamedTuple):
    world: _World
    needed: int
    even: int
    """Points with which a favourable decision is as likely as not, `needed` at most."""
    unit: float
    """The unit of costs that are not weighted."""
    entries: Mapping[str, _Entries]
    changes: Mapping[str, Collection[str]]
    """By function, the features that it changes, consequences included."""
    reads: Mapping[str, Collection[str]]
    """By function, the features that its legality, its costs and its effects depend on."""
    closed: Collection[str]
    """The functions whose legality depends on no feature that can be changed but their own."""
    derived: Mapping[str, Collection[str]]
    """By feature that follows from others by a formula, in every state that an action leads to: those."""
    factors: Sequence[Sequence[float]]
    """By cause, numbers of its source that stand for all others: each factor on costs is that of one of them."""


class _Node:
    """A state, the points that it lacks, and what else is known about it as far as it was needed."""

    __slots__ = ("gains", "key", "lacking", "quick", "state", "steps", "tight")

    def __init__(self, key: tuple[float, ...], state: State, lacking: int) -> None:
        self.key, self.state, self.lacking = key, state, lacking
        self.quick: float | None = None
        self.tight: float | None = None
        self.gains: list[int] = []
        self.steps: list[tuple[int, int, _Node]] | None = None


class _Ways(NamedTuple):
    """The ways of a function to gain points in a state: the cheapest way, and the pieces of their convex hull.

    A piece has the cost of one point, its points and its cost. `forced` begins with the cheapest way, `free` with
    nothing.
    """

    cost: float
    gain: int
    forced: Sequence[tuple[float, int, int]]
    free: Sequence[tuple[float, int, int]]
    most: int


class _Bound:
    """Lower bounds on the cost, in units, of the points that a state lacks.

    Each function has ways to gain points: those that the features it changes may gain, at its least possible cost. A
    plan gains no more than one way of each of its functions does. The bound is that of the linear relaxation: ways may
    be taken in part, the cheapest points first. The tight bound is the least over the sets of features with factors on
    costs that a plan may change; the factors of the others stay as they are.
    """

    def __init__(
        self,
        card: _Card,
        start: State,
        allowed: Mapping[str, Sequence[int]],
        mutable: Sequence[str],
        units: Callable[[str, int, float], int],
    ) -> None:
        self.card, self.world, self.start, self.allowed, self.units = card, card.world, start, allowed, units
        self.changers = {feature: [name for name in allowed if feature in card.changes[name]] for feature in mutable}
        self.scales = {
            name: [
                (cause.source, cause.scale, card.factors[i])
                for i, cause in enumerate(self.world.causes)
                if cause.scale is not None and cause.target == self.world.functions[name].target
            ]
            for name in allowed
        }
        scaling = [source for scales in self.scales.values() for source, _, _ in scales if source in self.changers]
        self.sources = list(dict.fromkeys(scaling))[:4]
        """Features that can be changed, with factors on costs; if there are more, the others may always change."""
        self.masks = {
            name: sum([1 << i for i, one in enumerate(self.sources) if one in [source for source, _, _ in scales]])
            for name, scales in self.scales.items()
        }
        self.readings = {
            name: [
                i
                for i, feature in enumerate(mutable)
                if feature in card.changes[name] or feature in [source for source, _, _ in self.scales[name]]
            ]
            for name in allowed
        }
        self.patterns = [(mask, self._usable(mask)) for mask in range(1 << len(self.sources))]
        self.every = (1 << len(self.sources)) - 1, [(name, False) for name in allowed]
        self.exact = {name: self._exact(name) for name in allowed if self.world.functions[name].adds}
        """By function that adds: the features whose points follow from what it adds, if no other one changes them."""
        self.covered = {feature for features in self.exact.values() for feature in features}
        self.known: dict[tuple[str, int, tuple[float, ...]], _Ways] = {}
        self.values: dict[tuple[str, float], set[float] | None] = {}
        self.sums: dict[tuple[str, float], list[tuple[float, int]] | None] = {}

    def _usable(self, mask: int) -> list[tuple[str, bool]]:
        """The functions of plans that change just the sources in `mask`, and whether such a plan needs them."""
        changed = [source for i, source in enumerate(self.sources) if mask >> i & 1]
        others = [source for source in self.sources if source not in changed]
        return [
            (name, any(self.changers[source] == [name] for source in changed))
            for name in self.allowed
            if not any(source in self.card.changes[name] for source in others)
        ]

    def _exact(self, name: str) -> list[str]:
        """The features of the card whose points follow from what a function adds, unless others are used, too.

        There is one such function for each feature. All others gain the most points that the feature may gain, so that
        the bound holds if they are used.
        """
        own, arguments = self.world.functions[name].target, self.world.functions[name].arguments
        if any(_rounded(argument * 1e6) % 1 for argument in arguments):  # sums may depend on their order
            return []
        return [
            feature
            for feature in self.card.changes[name]
            if feature in self.card.entries
            and name == self._cheapest(feature)
            and (feature == own or self._follows(feature, own, name))
        ]

    def _cheapest(self, feature: str) -> str | None:
        """The cheapest of the functions that change a feature by adding."""
        adding = [name for name in self.changers[feature] if self.world.functions[name].adds]
        functions = self.world.functions
        least = {
            name: min([self.units(name, i, functions[name].base[i] + functions[name].surcharge[i]) for i in which])
            for name, which in self.allowed.items()
            if name in adding
        }
        return min(adding, key=least.__getitem__, default=None)

    def _follows(self, feature: str, own: str, name: str) -> bool:
        """Whether a feature follows by its formula from `own`, and did so at the start."""
        inputs = self.card.derived.get(feature, ())
        if own not in inputs or [other for other in inputs if other in self.card.changes[name]] != [own]:
            return False
        value, now = self._derived(feature, self.start), self.start[feature]
        return value == now or (isnan(value) and isnan(now))

    def _derived(self, feature: str, state: State) -> float:
        return next(
            _computed(self.world, cause, state, nan, state)
            for cause in self.world.causes
            if cause.target == feature and cause.formula is not None
        )

    def enough(self, node: _Node, steps: int) -> bool:
        """Whether so many steps may gain the points that a state lacks."""
        if not node.gains:
            total, node.gains = 0, [0]
            for gain in sorted([self.ways(name, node, self.every[0]).most for name in self.allowed], reverse=True):
                total += gain
                node.gains.append(total)
        return node.gains[min(steps, len(node.gains) - 1)] >= node.lacking

    def quick(self, node: _Node) -> float:
        """A lower bound on the cost to go; infinite if no plan gains enough."""
        if node.quick is None:
            node.quick = self._cost(node, *self.every, inf)
        return node.quick

    def tight(self, node: _Node) -> float:
        """A higher one, which takes longer to compute."""
        if node.tight is None:
            node.tight = inf
            for mask, functions in self.patterns:
                node.tight = min(node.tight, self._cost(node, mask, functions, node.tight))
        return node.tight

    def _cost(self, node: _Node, mask: int, functions: Sequence[tuple[str, bool]], limit: float) -> float:
        lacking, total = node.lacking, 0
        pieces: list[tuple[float, int, int]] = []
        for name, needed in functions:
            ways = self.ways(name, node, mask)
            if needed:
                if total + ways.cost >= limit:
                    return inf
                lacking, total = lacking - ways.gain, total + int(ways.cost)
            pieces += ways.forced if needed else ways.free
        pieces.sort()
        for _, gain, cost in pieces:
            if gain >= lacking:
                break
            lacking, total = lacking - gain, total + cost
        else:
            return total if lacking <= 0 else inf
        return total + max(0, cost * lacking // gain)

    def ways(self, name: str, node: _Node, mask: int) -> _Ways:
        """The ways of a function, if a plan changes just the sources in `mask`."""
        mask &= self.masks[name]
        place = name, mask, tuple([node.key[i] for i in self.readings[name]])
        found = self.known.get(place)
        if found is None:
            found = self.known[place] = _hull(list(self._ways(name, node.state, mask)))
        return found

    def _ways(self, name: str, state: State, mask: int) -> Iterator[tuple[int, int]]:
        """What a function may gain, in points, and at which cost."""
        function, scale = self.world.functions[name], 1.0
        for source, factor, numbers in self.scales[name]:
            assert factor is not None
            later: Sequence[float] = ()
            if source not in self.sources or mask >> self.sources.index(source) & 1:
                later = self.reachable(source, state[source], numbers)
            scale *= min([factor(state[source]), *map(factor, later)])
        costs = {i: self.units(name, i, function.surcharge[i] + function.base[i] * scale) for i in self.allowed[name]}
        counted = [feature for feature in self.card.changes[name] if feature in self.card.entries]
        if function.adds:
            yield from self._adding(name, state, scale, costs, counted)
            return
        gains = [self._gains(name, feature, state) for feature in counted]
        reachable = self.closure(function.target, state[function.target])
        for i, cost in costs.items():
            if reachable is None or function.arguments[i] in reachable:
                yield sum([gain[i] for gain in gains]), cost

    def _adding(
        self, name: str, state: State, scale: float, costs: Mapping[int, int], counted: Sequence[str]
    ) -> Iterator[tuple[int, int]]:
        """The ways of a function that adds."""
        own, exact = self.world.functions[name].target, self.exact[name]
        if isnan(state[own]):
            if self.changers[own] != [name]:
                yield sum([self._most(feature, state) for feature in counted]), min(costs.values())
            return
        others = sum([self._most(feature, state) for feature in counted if feature not in exact])
        amounts = self._amounts(name, scale, costs) if exact else []
        if amounts is None:
            others, amounts = sum([self._most(feature, state) for feature in counted]), []
        yield others, min(costs.values())
        feature, after = self.world.features[own], dict(state)
        now = [(one, self.card.entries[one], self.card.entries[one].of(state[one])) for one in exact]
        for amount, cost in amounts:
            after[own] = _rounded(state[own] + amount)
            if feature.low <= after[own] <= feature.high:
                gain = others
                for one, entries, points in now:
                    value = after[own] if one == own else self._derived(one, after)
                    gain += max(0, entries.of(value) - points)
                yield gain, cost

    def _most(self, feature: str, state: State) -> int:
        """The most points that a feature may gain."""
        entries = self.card.entries[feature]
        return max(*entries.points, entries.missing) - entries.of(state[feature])

    def _gains(self, name: str, feature: str, state: State) -> dict[int, int]:
        """The most points that a feature may gain by a function that sets one, by argument."""
        function, entries, which = self.world.functions[name], self.card.entries[feature], self.allowed[name]
        now = entries.of(state[feature])
        if feature in self.covered:
            return dict.fromkeys(which, self._most(feature, state))
        if feature == function.target:
            return {i: max(0, entries.of(function.arguments[i]) - now) for i in which}
        setting = [
            cause
            for cause in self.world.causes
            if cause.target == feature and (cause.table or cause.formula) and cause.source in self.card.changes[name]
        ]
        table = setting[0].table
        if len(setting) != 1 or table is None or setting[0].source != function.target:
            return dict.fromkeys(which, self._most(feature, state))
        after = {i: table[int(function.arguments[i])] for i in which}
        known = {i: max(0, entries.of(number) - now) for i, number in after.items() if not isnan(number)}
        return {i: known.get(i, max([0, *known.values()])) for i in which}  # else it stays as an earlier step set it

    def _amounts(self, name: str, scale: float, costs: Mapping[int, int]) -> list[tuple[float, int]] | None:
        """The amounts that a plan can add, each with its least cost; None if there are too many."""
        if (name, scale) not in self.sums:
            arguments = self.world.functions[name].arguments
            least: dict[float, int] = {0.0: 0}
            layer = dict(least)
            for _ in range(self.world.longest):
                after: dict[float, int] = {}
                for amount, cost in layer.items():
                    for i, more in costs.items():
                        place = _rounded(amount + arguments[i])
                        if cost + more < least.get(place, inf):
                            after[place] = least[place] = cost + more
                layer = after if len(least) <= _MOST_AMOUNTS else {}
            self.sums[name, scale] = list(least.items())[1:] if len(least) <= _MOST_AMOUNTS else None
        return self.sums[name, scale]

    def reachable(self, feature: str, now: float, numbers: Sequence[float]) -> Sequence[float]:
        """Those of some numbers that a feature may have later on."""
        if feature not in self.changers:
            return ()
        closure = self.closure(feature, now)
        if closure is not None:
            return [number for number in numbers if number in closure]
        functions = self._functions(feature)
        if all(function.adds and function.target == feature for function in functions.values()):
            amounts = [function.arguments[i] for name, function in functions.items() for i in self.allowed[name]]
            return [
                number
                for number in numbers
                if (number >= now or min(amounts) < 0) and (number <= now or max(amounts) > 0)
            ]
        return numbers

    def closure(self, feature: str, now: float) -> set[float] | None:
        """The values that a feature may have later on, if that depends on nothing but its own."""
        if (feature, now) not in self.values:
            functions = self._functions(feature)
            closed = [
                function.target == feature and not function.adds and name in self.card.closed and not function.bounded
                for name, function in functions.items()
            ]
            self.values[feature, now] = self._closure(feature, now) if all(closed) else None
        return self.values[feature, now]

    def _closure(self, feature: str, now: float) -> set[float]:
        found: set[float] = set()
        waiting, state = [now], dict(self.start)
        while waiting:
            state[feature] = waiting.pop()
            for name, function in self._functions(feature).items():
                for i in self.allowed[name]:
                    value = function.arguments[i]
                    if value not in found and _legal(self.world, name, i, state):
                        found.add(value)
                        waiting.append(value)
        return found

    def _functions(self, feature: str) -> dict[str, _Function]:
        """The functions that change a feature."""
        return {name: self.world.functions[name] for name in self.changers[feature]}


def _hull(ways: Sequence[tuple[int, int]]) -> _Ways:
    """The convex hull of ways to gain points, from below."""
    if not ways:
        return _Ways(inf, 0, (), (), 0)
    cost, loss = min([(cost, -gain) for gain, cost in ways])
    return _Ways(cost, -loss, _pieces(ways, (-loss, cost)), _pieces(ways, (0, 0)), max([gain for gain, _ in ways]))


def _pieces(ways: Sequence[tuple[int, int]], start: tuple[int, int]) -> list[tuple[float, int, int]]:
    hull = [start]
    for gain, cost in sorted(ways, key=lambda way: (way[0], -way[1])):
        if gain <= start[0]:
            continue
        while len(hull) > 1 and hull[-1][1] >= cost:
            hull.pop()
        while len(hull) > 1 and _slope(hull[-2], hull[-1]) >= _slope(hull[-1], (gain, cost)):
            hull.pop()
        hull.append((gain, cost))
    pairs = zip(hull, hull[1:])  # noqa: B905, RUF007 -- Python 3.9 has neither
    return [(_slope(one, other), other[0] - one[0], other[1] - one[1]) for one, other in pairs]


def _slope(one: tuple[int, int], other: tuple[int, int]) -> float:
    return (other[1] - one[1]) / (other[0] - one[0])
