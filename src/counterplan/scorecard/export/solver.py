"""How a card plans, for modules that it is exported to: the text of this file, from the line below, goes into them.

The definition, for every interpreter of a card:

- A plan is a sequence of 1 to `max_actions` legal actions, none of which is forbidden.
- It is enough if the state after it has `needed` points or more, and more than the state at the start. If no plan is
  enough, the goal is the most points within reach instead, if these are at least `even` and more than at the start.
- Costs are whole numbers of units. The cost of an action is its cost in the problem; with weights it is multiplied by
  the weight of the action, rounded to 6 decimals, and rounded to 9. It is divided by the unit, which is 1e-9 with
  weights and the `unit` of the card without, and rounded, halves to the even neighbour. The cost of a plan is the sum.
- Of all plans that are enough, the best has the least cost, then the fewest steps, then the smallest sequence of
  action indices, compared from the first step on. Actions are numbered in the order of the file, function by function.

The search, which finds exactly that plan:

1. Functions that make no difference are left out: those that change neither a feature of the card nor a feature that
   a function which makes a difference depends on.
2. The least cost is found by A*. A label is a state with a cost and a number of steps; it is dominated if the state
   was reached at no greater cost in no more steps. The estimate of the cost to go is a lower bound, such as that of
   `bound`; any other one leads to the same plan.
3. The best plan is found by enumerating labels step by step, without those whose cost and estimate exceed the least
   cost. Of labels with one state, those with fewer steps come first, and a later one is kept only if it is cheaper; of
   those with one number of steps the cheapest is kept, then the one with the smallest sequence. The search ends with
   the first number of steps in which a state that is enough is reached at the least cost.

If the search would need more than `_MOST_LABELS` labels, it ends without an answer.

The text uses nothing but the standard library of Python 3.9, and knows nothing of counterplan.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Collection, Mapping, Sequence
from math import inf, nan
from typing import Any

from counterplan.program.export.runtime import (
    State,
    _actions_of,
    _apply,
    _exact_cost,
    _legal,
    _names,
    _read,
    _rounded,
    _step_text,
    _timed,
)
from counterplan.scorecard.export.bound import _Bound, _Card, _Node

# --- from here on

_MOST_LABELS = 200_000


def _points(card: _Card, state: State) -> dict[str, int]:
    return {name: entries.of(state[name]) for name, entries in card.entries.items()}


def _plan(
    card: _Card, person: Mapping[str, Any], cannot: Collection[str], weights: Mapping[str, float]
) -> dict[str, Any]:
    state = _read(card.world, person)
    allowed, factors = _allowed(card, cannot), _factors(card, weights)
    points = sum(_points(card, state).values())
    goal = max(card.needed, points + 1)
    result: dict[str, Any] = {"steps": [], "cost": None, "points": points, "needed": card.needed}
    try:
        actions, reached = _best(card, state, allowed, factors, min(max(card.even, points + 1), goal), goal)
    except _TooLongError:
        caution = f"The search ended after {_MOST_LABELS:,} states. There may still be a way to enough points."
        return {"status": "not_found", **result, "caution": caution}
    if actions is None:
        most = f"{card.world.longest} step{'s' * (card.world.longest > 1)}"
        return {"status": "not_found", **result, "caution": f"There is no way to enough points in at most {most}."}
    enough = "You have enough points already, and the answer was no all the same: this plan is less certain."
    most = f"No plan leads to {card.needed:,} points: {reached:,} are the most within reach."
    caution, steps = most if reached < goal else enough if points >= card.needed else "", []
    taken = []
    for name, which in actions:
        after, cost = _apply(card.world, name, which, state), _exact_cost(card.world, name, which, state)
        cost = round(cost, 9) if factors is None else _rounded(cost * factors[name][which])
        now = sum(_points(card, after).values())
        step: dict[str, Any] = {"function": name, "argument": card.world.functions[name].values[which], "cost": cost}
        step.update({"points": now - points, "text": _step_text(card.world, name, which, state, after)})
        steps.append(step)
        taken.append((name, which, state))
        state, points = after, now
    total = round(math.fsum([step["cost"] for step in steps]), 9)
    plan = {"status": "found", **result, "steps": steps, "cost": total, "caution": caution}
    return _timed(card.world, plan, taken)


def _best(
    card: _Card,
    start: State,
    allowed: Mapping[str, Sequence[int]],
    factors: Mapping[str, Sequence[float]] | None,
    least: int,
    goal: int,
) -> tuple[list[tuple[str, int]] | None, int]:
    """The actions of the best plan to `goal` points, or else to the most within reach, and that number.

    None if `least` points are out of reach; the most are found by bisection.
    """
    found = _Search(card, start, allowed, factors, goal).best()
    if found is not None:
        return found, goal
    low, high = least, goal - 1
    while low <= high:
        middle = (low + high + 1) // 2
        search = _Search(card, start, allowed, factors, middle)
        actions = search.best()
        if actions is None:
            high = middle - 1
        else:
            found, goal = actions, search.reached(actions)
            low = goal + 1
    return found, goal


def _allowed(card: _Card, cannot: Collection[str]) -> dict[str, list[int]]:
    """By function, the arguments that are not forbidden."""
    forbidden = _names(card.world, cannot)
    return {
        name: [i for i, action in enumerate(_actions_of(card.world, name)) if not {name, action} & forbidden]
        for name in card.world.functions
    }


def _factors(card: _Card, weights: Mapping[str, float]) -> dict[str, list[float]] | None:
    """By function, the weights of its actions; None if all are 1."""
    if not isinstance(weights or {}, Mapping):
        raise ValueError(f"weights are a dict from functions or actions to numbers, not {type(weights).__name__}")
    for name in _names(card.world, weights):
        weight = weights[name]
        if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not 0.01 <= weight <= 100:
            raise ValueError(f"the weight of {name} is a number from 0.01 to 100; not {weight!r}")
    found = (
        {
            name: [
                round(float(weights.get(action, weights.get(name, 1))) * 1e6) / 1e6
                for action in _actions_of(card.world, name)
            ]
            for name in card.world.functions
        }
        if weights
        else {}
    )
    return found if any(weight != 1 for some in found.values() for weight in some) else None


class _TooLongError(Exception):
    """The search needs too many labels."""


class _Search:
    """The search for one person: their state, the arguments that are allowed, and the weights of actions."""

    def __init__(
        self,
        card: _Card,
        start: State,
        allowed: Mapping[str, Sequence[int]],
        weights: Mapping[str, Sequence[float]] | None,
        goal: int,
    ) -> None:
        self.card, self.world, self.weights, self.goal = card, card.world, weights, goal
        self.unit = card.unit if weights is None else 1e-9
        relevant = _relevant(card, allowed)
        self.allowed = {name: which for name, which in allowed.items() if name in relevant}
        changed = {feature for name in self.allowed for feature in card.changes[name]}
        self.mutable = [name for name in self.world.features if name in changed]
        self.counted = [(name, entries) for name, entries in card.entries.items() if name in changed]
        self.fixed = sum([entries.of(start[name]) for name, entries in card.entries.items() if name not in changed])
        self.actions = [
            (name, i) for name, function in self.world.functions.items() for i in range(len(function.values))
        ]
        self.index = {action: i for i, action in enumerate(self.actions)}
        self.nodes: dict[tuple[float, ...], _Node] = {}
        self.start = self.node(start)
        self.bound = _Bound(card, start, self.allowed, self.mutable, self.units)

    def units(self, name: str, which: int, cost: float) -> int:
        """A cost of an action, weighted, as a whole number of units."""
        return round((cost if self.weights is None else _rounded(cost * self.weights[name][which])) / self.unit)

    def node(self, state: State) -> _Node:
        """The one node of a state. What is not known is the one NaN of the module, which a key finds again."""
        key = tuple([state[name] if state[name] == state[name] else nan for name in self.mutable])
        found = self.nodes.get(key)
        if found is None:
            points = self.fixed
            for name, entries in self.counted:
                points += entries.of(state[name])
            found = self.nodes[key] = _Node(key, state, self.goal - points)
        return found

    def steps(self, node: _Node) -> list[tuple[int, int, _Node]]:
        """The legal actions: index, cost in units, and the state after it."""
        if node.steps is None:
            world, state = self.world, node.state
            node.steps = [
                (
                    self.index[name, which],
                    self.units(name, which, _exact_cost(world, name, which, state)),
                    self.node(_apply(world, name, which, state)),
                )
                for name, allowed in self.allowed.items()
                for which in allowed
                if _legal(world, name, which, state)
            ]
        return node.steps

    def reached(self, actions: Sequence[tuple[str, int]]) -> int:
        """The points after `actions`."""
        state = self.start.state
        for name, which in actions:
            state = _apply(self.world, name, which, state)
        return self.goal - self.node(state).lacking

    def best(self) -> list[tuple[str, int]] | None:
        """The actions of the best plan; None if there is none."""
        least = self.least_cost()
        if least is None:
            return None
        layer: dict[_Node, tuple[int, tuple[int, ...]]] = {self.start: (0, ())}
        cheapest = {self.start: 0}
        while True:
            after: dict[_Node, tuple[int, tuple[int, ...]]] = {}
            for node, (cost, path) in layer.items():
                if cost + self.bound.tight(node) > least:
                    continue
                for action, more, other in self.steps(node):
                    total, way = cost + more, (*path, action)
                    if cheapest.get(other, inf) <= total or total + self.bound.quick(other) > least:
                        continue
                    if other not in after or (total, way) < after[other]:
                        after[other] = total, way
            ends = [way for node, (cost, way) in after.items() if cost == least and node.lacking <= 0]
            if ends:
                return [self.actions[action] for action in min(ends)]
            cheapest.update([(node, cost) for node, (cost, _) in after.items()])
            layer = after

    def least_cost(self) -> int | None:
        """The least cost of a plan that is enough, in units; None if there is none."""
        longest, bound, count = self.world.longest, self.bound, 0
        closed: dict[_Node, list[tuple[int, int]]] = {self.start: [(0, 0)]}
        queue: list[tuple[float, int, int, int, _Node]] = [(0, 0, 0, 0, self.start)]
        while queue:
            estimate, _, cost, depth, node = heapq.heappop(queue)
            if (cost, depth) not in closed[node]:
                continue  # dominated since
            if depth and node.lacking <= 0:
                return cost
            if depth == longest or not bound.enough(node, longest - depth):
                continue
            tight = cost + bound.tight(node)
            if tight > estimate:
                if tight < inf:
                    count += 1
                    heapq.heappush(queue, (tight, -count, cost, depth, node))
                continue
            for _, more, after in self.steps(node):
                total = cost + more
                known = closed.setdefault(after, [])
                if any(least <= total and steps <= depth + 1 for least, steps in known):
                    continue
                known[:] = [(least, steps) for least, steps in known if least < total or steps <= depth]
                known.append((total, depth + 1))
                count += 1
                if count > _MOST_LABELS:
                    raise _TooLongError
                if after.lacking <= 0 or depth + 1 < longest:
                    heapq.heappush(queue, (total + bound.quick(after), -count, total, depth + 1, after))
        return None


def _relevant(card: _Card, allowed: Mapping[str, Sequence[int]]) -> set[str]:
    """The functions that make a difference."""
    possible = {name for name, which in allowed.items() if which}
    wanted, found = set(card.entries), set[str]()
    while True:
        more = {name for name in possible - found if not wanted.isdisjoint(card.changes[name])}
        if not more:
            return found
        found |= more
        wanted.update([feature for name in more for feature in card.reads[name]])
