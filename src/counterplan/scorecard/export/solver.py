"""How a card plans, for modules that it is exported to: the text of this file, from the line below, goes into them.

The definition, for every interpreter of a card:

- A plan is a sequence of 1 to `max_actions` legal actions, none of which is forbidden.
- It is enough if the state after it has `needed` points or more and is not the state at the start.
- Costs are whole numbers of units. The cost of an action is its cost in the problem; with weights it is multiplied by
  the weight of the action and rounded to 9 decimals. It is divided by the unit, which is 1e-9 with weights and the
  `unit` of the card without, and rounded, halves to the even neighbour. The cost of a plan is the sum.
- Of all plans that are enough, the best has the least cost, then the fewest steps, then the smallest sequence of
  action indices, compared from the first step on. Actions are numbered in the order of the file, function by function.

The search, which finds exactly that plan:

1. Functions that make no difference are left out: those that change neither a feature of the card nor a feature that
   a function which makes a difference depends on.
2. The least cost is found by A*. A label is a state with a cost and a number of steps; it is dominated if the state
   was reached at no greater cost in no more steps. The estimate of the cost to go is a lower bound: see `_Bound`.
3. The best plan is found by enumerating labels step by step, without those whose cost and estimate exceed the least
   cost. Of labels with one state, those with fewer steps come first, and a later one is kept only if it is cheaper; of
   those with one number of steps the cheapest is kept, then the one with the smallest sequence. The search ends with
   the first number of steps in which a state that is enough is reached at the least cost.

If the search would need more than `_MOST_LABELS` labels, it ends without an answer.

The text uses nothing but the standard library of Python 3.9, and knows nothing of counterplan.
"""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from math import inf, isnan, nan
from typing import NamedTuple

from counterplan.program.export.runtime import State, _apply, _exact_cost, _legal, _rounded, _World

# --- from here on

_MOST_LABELS = 200_000


class _Entries(NamedTuple):
    """The points of a feature, by bin of a number or by rank of a value."""

    edges: Sequence[float]
    points: Sequence[int]
    missing: int = 0

    def of(self, number: float) -> int:
        """The points of a number of a state."""
        if isnan(number):
            return self.missing
        return self.points[bisect_right(self.edges, number) if self.edges or len(self.points) == 1 else int(number)]


class _Card(NamedTuple):
    world: _World
    needed: int
    unit: float
    entries: Mapping[str, _Entries]
    changes: Mapping[str, Sequence[str]]
    """By function, the features that it changes, consequences included."""
    reads: Mapping[str, Sequence[str]]
    """By function, the features that its legality, costs and effects depend on."""
    closed: Mapping[str, bool]
    """By function, whether its legality depends on no feature that can be changed but its own."""
    factors: Sequence[Sequence[float]]
    """By cause, numbers of its source that stand for all: each factor on costs is that of one of them."""


class _Step(NamedTuple):
    """An action in a state: the index of the action, its cost in units, and the state after it with its key."""

    action: int
    cost: int
    key: tuple[float, ...]
    state: State


class _Task:
    """The search for one person: their state, the actions that they may take, and the weights of these."""

    def __init__(self, card: _Card, start: State, allowed: Mapping[str, Sequence[int]], weights: Mapping[str, Sequence[float]] | None) -> None:
        self.card, self.start, self.weights = card, start, weights
        self.unit = card.unit if weights is None else 1e-9
        relevant = _relevant(card, allowed)
        self.functions = [(name, first, allowed[name]) for name, first in _first_actions(card.world) if name in relevant]
        self.mutable = [name for name in card.world.features if any(name in card.changes[f] for f, _, _ in self.functions)]
        self.bound = _Bound(self)
        self.steps_from: dict[tuple[float, ...], list[_Step]] = {}

    def units(self, name: str, which: int, cost: float) -> int:
        """A cost of an action, weighted, as a whole number of units."""
        return round((cost if self.weights is None else _rounded(cost * self.weights[name][which])) / self.unit)

    def key(self, state: State) -> tuple[float, ...]:
        """What tells states apart; an unknown value is the one NaN of the module, which equals itself in a key."""
        return tuple([nan if state[name] != state[name] else state[name] for name in self.mutable])

    def points(self, state: State) -> int:
        return sum([entries.of(state[name]) for name, entries in self.card.entries.items()])

    def steps(self, key: tuple[float, ...], state: State) -> list[_Step]:
        """The actions that are legal in a state."""
        known = self.steps_from.get(key)
        if known is None:
            world, known = self.card.world, []
            for name, first, allowed in self.functions:
                for which in allowed:
                    if _legal(world, name, which, state):
                        after = _apply(world, name, which, state)
                        cost = self.units(name, which, _exact_cost(world, name, which, state))
                        known.append(_Step(first + which, cost, self.key(after), after))
            self.steps_from[key] = known
        return known


def _first_actions(world: _World) -> Iterator[tuple[str, int]]:
    """The functions, each with the index of its first action."""
    first = 0
    for name, function in world.functions.items():
        yield name, first
        first += len(function.values)


def _relevant(card: _Card, allowed: Mapping[str, Sequence[int]]) -> set[str]:
    """The functions that make a difference."""
    wanted, found = set(card.entries), set()
    while True:
        more = {name for name in allowed if allowed[name] and name not in found and wanted & set(card.changes[name])}
        if not more:
            return found
        found |= more
        wanted |= {feature for name in more for feature in card.reads[name]}


class _Bound:
    """A lower bound on the cost of the points that a state lacks.

    Each function has ways to gain points: those that the features it changes may gain, at its least possible cost. A
    plan gains at most what the ways of its functions gain, one way each. The bound is that of the linear relaxation:
    ways may be taken in part, the cheapest points first.
    """

    def __init__(self, task: _Task) -> None:
        card, names = task.card, [name for name, _, _ in task.functions]
        self.task, self.card, self.world = task, card, card.world
        self.changers = {feature: [name for name in names if feature in card.changes[name]] for feature in task.mutable}
        self.scales = {
            name: [
                (cause.source, cause.scale, card.factors[i])
                for i, cause in enumerate(self.world.causes)
                if cause.scale is not None and cause.target == self.world.functions[name].target
            ]
            for name in names
        }
        self.reading = {
            name: [f for f in task.mutable if f in card.changes[name] or any(f == source for source, *_ in self.scales[name])]
            for name in names
        }
        """By function, the features that its ways depend on."""
        self.hulls: dict[tuple[str, tuple[float, ...]], list[tuple[float, int, int]]] = {}
        self.values: dict[tuple[str, float], set[float] | None] = {}
        self.known: dict[tuple[float, ...], float] = {}

    def __call__(self, key: tuple[float, ...], state: State, lacking: int) -> float:
        """The least cost, in units, of so many points; infinite if there are not so many to gain."""
        if lacking <= 0:
            return 0
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = self._cost(state, lacking)
        return found

    def _cost(self, state: State, lacking: int) -> float:
        pieces: list[tuple[float, int, int]] = []
        for name, _, _ in self.task.functions:
            place = name, tuple([state[feature] for feature in self.reading[name]])
            hull = self.hulls.get(place)
            if hull is None:
                hull = self.hulls[place] = _hull(self.ways(name, state))
            pieces += hull
        pieces.sort()
        total = 0
        for _, gain, cost in pieces:
            if gain >= lacking:
                return total - (-cost * lacking // gain)  # rounded up: costs are whole
            lacking, total = lacking - gain, total + cost
        return inf

    def ways(self, name: str, state: State) -> Iterator[tuple[int, int]]:
        """What a function may gain, in points, and for which cost, in units."""
        function, allowed = self.world.functions[name], next(a for n, _, a in self.task.functions if n == name)
        scale = 1.0
        for source, factor, numbers in self.scales[name]:
            scale *= min([factor(state[source]), *map(factor, self.reachable(source, state, numbers))])
        cost = {i: self.task.units(name, i, function.surcharge[i] + function.base[i] * scale) for i in allowed}
        own = function.target
        gains = {feature: self.gains(name, feature, state, allowed) for feature in self.card.changes[name] if feature in self.card.entries}
        if function.adds and self.changers[own] == [name] and own in gains:
            if isnan(state[own]):
                return
            others = sum(max(of.values()) for feature, of in gains.items() if feature != own)
            yield others, min(cost.values())
            yield from ((gain + others, least) for gain, least in self.moves(name, state, cost))
            return
        reachable = None if function.adds else self.closure(own, state[own])
        for i in allowed:
            if reachable is None or function.arguments[i] in reachable:
                yield sum(of[i] for of in gains.values()), cost[i]

    def gains(self, name: str, feature: str, state: State, allowed: Sequence[int]) -> dict[int, int]:
        """The most points that a feature may gain by a function, by argument."""
        function, entries = self.world.functions[name], self.card.entries[feature]
        now, most = entries.of(state[feature]), max(*entries.points, entries.missing)
        if not function.adds and feature == function.target:
            return {i: max(0, entries.of(function.arguments[i]) - now) for i in allowed}
        setting = [c for c in self.world.causes if c.target == feature and (c.table or c.formula) and c.source in self.card.changes[name]]
        if function.adds or len(setting) != 1 or setting[0].table is None or setting[0].source != function.target:
            return dict.fromkeys(allowed, max(0, most - now))
        after = {i: setting[0].table[int(function.arguments[i])] for i in allowed}
        known = {i: max(0, entries.of(number) - now) for i, number in after.items() if not isnan(number)}
        return {i: known.get(i, max([0, *known.values()])) for i in allowed}

    def moves(self, name: str, state: State, cost: Mapping[int, int]) -> Iterator[tuple[int, int]]:
        """The points of a number's bins beyond those of its own, and the least cost to move there by adding alone."""
        function = self.world.functions[name]
        feature, entries, now = self.world.features[function.target], self.card.entries[function.target], state[function.target]
        own, place = entries.of(now), bisect_right(entries.edges, now)
        for sign in (1, -1):
            steps = [(sign * function.arguments[i], least) for i, least in cost.items() if sign * function.arguments[i] > 0]
            if not steps:
                continue
            for bin_ in range(place + sign, len(entries.points) if sign > 0 else -1, sign):
                edge = entries.edges[bin_ - 1 if sign > 0 else bin_]
                if edge > feature.high if sign > 0 else edge <= feature.low:
                    break
                if entries.points[bin_] > own:
                    distance = sign * (edge - now) * (1 - 1e-9)
                    rate = min(least / step for step, least in steps)
                    yield entries.points[bin_] - own, max(min(least for _, least in steps), int(distance * rate * (1 - 1e-9)))

    def reachable(self, feature: str, state: State, numbers: Sequence[float]) -> list[float]:
        """Those of some numbers that a feature may have later on."""
        changers = self.changers.get(feature, [])
        if not changers:
            return []
        closure = self.closure(feature, state[feature])
        if closure is not None:
            return [number for number in numbers if number in closure]
        return list(numbers)

    def closure(self, feature: str, now: float) -> set[float] | None:
        """The values that a feature may have later on, if that depends on nothing but its own."""
        place = feature, now
        if place not in self.values:
            self.values[place] = self._closure(feature, now)
        return self.values[place]

    def _closure(self, feature: str, now: float) -> set[float] | None:
        changers = self.changers[feature]
        for name in changers:
            function = self.world.functions[name]
            if function.target != feature or function.adds or not self.card.closed[name] or function.bounded:
                return None
        found, waiting, state = set(), [now], dict(self.task.start)
        while waiting:
            state[feature] = waiting.pop()
            for name, _, allowed in self.task.functions:
                if name in changers:
                    for i in allowed:
                        value = self.world.functions[name].arguments[i]
                        if value not in found and _legal(self.world, name, i, state):
                            found.add(value)
                            waiting.append(value)
        return found


def _hull(ways: Iterator[tuple[int, int]]) -> list[tuple[float, int, int]]:
    """The convex hull of ways to gain points, from below: its pieces, with the cost of one point, gain and cost."""
    hull = [(0, 0)]
    least: dict[int, int] = {}
    for gain, cost in ways:
        least[gain] = min(cost, least.get(gain, cost))
    for gain in sorted(least, reverse=True):  # more points for no more cost
        pass
    for gain, cost in sorted(least.items()):
        if gain <= 0:
            continue
        while hull[-1][0] > 0 and hull[-1][1] >= cost:
            hull.pop()
        while len(hull) > 1 and (hull[-1][1] - hull[-2][1]) * (gain - hull[-1][0]) >= (cost - hull[-1][1]) * (hull[-1][0] - hull[-2][0]):
            hull.pop()
        hull.append((gain, cost))
    pieces = [(g - a, c - b) for (a, b), (g, c) in zip(hull, hull[1:])]
    return [(cost / gain, gain, cost) for gain, cost in pieces]


def _solve(task: _Task) -> tuple[str, list[int]]:
    """A status and the indices of the actions of the best plan."""
    needed, longest = task.card.needed, task.card.world.longest
    root = task.key(task.start)
    stats = task.stats = {"expanded": 0, "labels": 0, "second": 0}
    least = None
    queue = [(task.bound(root, task.start, needed - task.points(task.start)), 0, 0, root, task.start)]
    if queue[0][0] == inf: return "infeasible", []
    closed: dict[tuple[float, ...], list[tuple[int, int]]] = {root: [(0, 0)]}
    number = 0
    heap = [(queue[0][0], 0, 0, 0, root, task.start)]
    goals: dict = {}
    while heap:
        estimate, _, cost, depth, key, state = heapq.heappop(heap)
        if depth and task.points(state) >= needed:
            least = cost
            break
        if depth == longest: continue
        if any(c <= cost and d <= depth and (c, d) != (cost, depth) for c, d in closed[key]): continue
        stats["expanded"] += 1
        for step in task.steps(key, state):
            total = cost + step.cost
            seen = closed.setdefault(step.key, [])
            if any(c <= total and d <= depth + 1 for c, d in seen): continue
            seen[:] = [(c, d) for c, d in seen if c < total or d < depth + 1] + [(total, depth + 1)]
            h = task.bound(step.key, step.state, needed - task.points(step.state))
            if h == inf or (depth + 1 == longest and h > 0): continue
            number += 1
            if number > _MOST_LABELS: return "gave_up", []
            heapq.heappush(heap, (total + h, -(depth+1), total, depth + 1, step.key, step.state)) if False else heapq.heappush(heap, (total + h, number, total, depth + 1, step.key, step.state))
    stats["labels"] = number
    if least is None:
        return "infeasible", []
    layer = {root: (0, (), task.start)}
    cheapest = {root: 0}
    for depth in range(1, longest + 1):
        after: dict = {}
        for key, (cost, path, state) in layer.items():
            stats["second"] += 1
            for step in task.steps(key, state):
                total = cost + step.cost
                if step.key in cheapest and cheapest[step.key] <= total: continue
                h = task.bound(step.key, step.state, needed - task.points(step.state))
                if total + h > least: continue
                way = (*path, step.action)
                other = after.get(step.key)
                if other is None or (total, way) < other[:2]:
                    after[step.key] = (total, way, step.state)
        ends = [way for cost, way, state in after.values() if cost == least and task.points(state) >= needed]
        if ends:
            return "found", list(min(ends))
        for key, (cost, _, _) in after.items():
            cheapest[key] = cost
        layer = after
    raise AssertionError
