"""The exact planner: uniform-cost search, which finds the cheapest plan there is or proves that there is none.

Labels — a person's state, reached at some cost in some number of steps — wait in buckets of cost that are no wider
than the cheapest action, so that everything in a bucket is settled when its turn comes. All people of a group advance
bucket by bucket together. A label is dropped if the same state was reached at no greater cost in no more steps.
Costs are whole multiples of a tiny unit: no two plans differ by rounding alone.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from counterplan.blackbox import BlackBox, BudgetSpent
from counterplan.errors import PlanError
from counterplan.paths.keys import StateKeys
from counterplan.plan import Status
from counterplan.planners.base import Planner, Progress, Result
from counterplan.problem import People, Problem, Transitions
from counterplan.problem.transitions import Bools, Floats, Ints

Longs = npt.NDArray[np.int64]

LARGEST = 2**61
STATE_LIMIT = 1_000_000
TOGETHER = 64
"""People searched at the same time: enough to make arrays long, few enough to keep memory small."""


class ExactPlanner(Planner):
    """The cheapest legal plan within `max_actions`, or a proof that none exists.

    Ties go to the plan with fewer steps, then to the one whose actions come first in the file. `state_limit` bounds
    the states examined for one person; beyond it, or when the budget is spent, the plan is `not_found`, with the
    lower bound on cost that was proved so far.
    """

    name: ClassVar[str] = "exact"

    def __init__(
        self,
        problem: Problem,
        box: BlackBox | object,
        *,
        state_limit: int = STATE_LIMIT,
        together: int = TOGETHER,
    ) -> None:
        super().__init__(problem, box)
        if state_limit < 1 or together < 1:
            raise PlanError("'state_limit' and 'together' are one or more")
        self.state_limit = state_limit
        self.together = together

    def search(self, people: People, allowed: Bools, budget: int | None, progress: Progress) -> Result:
        """See `Planner.search`."""
        result = Result.empty(len(people), self.problem.max_actions)
        for first in range(0, len(people), self.together):
            rows = np.arange(first, min(first + self.together, len(people)))
            _Group(self, people, allowed, rows, budget, result, progress).run()
        return result


@dataclass
class _Labels:
    """Partial plans: whose, where they lead (what can change [n, M]), at what cost, in how many steps, by which."""

    person: Ints
    states: Floats
    key: Longs
    cost: Longs
    depth: Longs
    path: npt.NDArray[np.uint64]
    """[n, W] the actions packed, first action highest: smaller means earlier in the file."""

    def __len__(self) -> int:
        return len(self.person)

    def take(self, which: Ints | Bools) -> _Labels:
        """Some of the labels."""
        return _Labels(*(getattr(self, name)[which] for name in self.__dataclass_fields__))

    @staticmethod
    def join(labels: list[_Labels]) -> _Labels:
        """All labels in one."""
        if len(labels) == 1:
            return labels[0]
        names = _Labels.__dataclass_fields__
        return _Labels(*(np.concatenate([getattr(part, name) for part in labels]) for name in names))


@dataclass
class _Next:
    """Actions not yet taken: from which of the labels `after`, which action, at what cost in all."""

    after: _Labels
    parent: Ints
    action: Ints
    cost: Longs


class _Group:
    """The search for some people at once."""

    def __init__(
        self, planner: ExactPlanner, people: People, allowed: Bools, rows: Ints, budget: int | None, result: Result,
        progress: Progress,
    ) -> None:  # fmt: skip
        self.planner = planner
        self.problem = planner.problem
        self.transitions = planner.problem.transitions
        self.starts = people.states[rows]
        self.allowed = allowed[rows]
        self.rows = rows
        self.most = planner.state_limit if budget is None else min(budget, planner.state_limit)
        self.result = result
        self.progress = progress
        self.ask = planner.box.about(planner.problem, people)
        self.keys = StateKeys(planner.problem, self.starts)
        self.mutable = self.transitions.mutable
        self.unit = _unit(self.transitions, self.problem.max_actions)
        usable = self.allowed[:, :-1].any(axis=0)
        least = self.transitions.least_costs[:-1][usable]
        self.width = max(1, math.floor(float(least.min()) / self.unit)) if len(least) else 1
        self.free = len(least) > 0 and float(least.min()) / self.unit < 1
        """Whether some action may cost nothing: then a bucket is one cost and one number of steps."""
        self.bits = max(1, (len(self.transitions) - 1).bit_length())
        self.per_word = 64 // self.bits
        self.queue: dict[tuple[int, int], list[_Next]] = {}
        self.heap: list[tuple[int, int]] = []
        self.closed_keys = np.empty(0, np.int64)
        self.closed_depth = np.empty(0, np.int64)
        self.active = np.ones(len(rows), bool)

    def run(self) -> None:
        """Advance bucket by bucket until everybody has a plan, a proof, or no budget left."""
        labels = self.beginning()
        while True:
            labels, is_new = self.settle(labels)
            if not self.question(labels.take(is_new & (labels.depth > 0))):
                return
            self.push(labels.take(self.active[labels.person]))
            if not self.heap or not self.active.any():
                break
            labels = self.pop()
        self.finish(np.flatnonzero(self.active), Status.INFEASIBLE, math.inf)

    def beginning(self) -> _Labels:
        """Everybody as they are."""
        people = np.arange(len(self.rows))
        zeros = np.zeros(len(people), np.int64)
        words = -(-self.problem.max_actions // self.per_word)
        return _Labels(
            people, self.starts[:, self.mutable], self.keys(people, self.starts), zeros, zeros.copy(),
            np.zeros((len(people), words), np.uint64),
        )  # fmt: skip

    def push(self, labels: _Labels) -> None:
        """Put every legal action after `labels` into the bucket of its cost; it is taken when its turn comes."""
        labels = labels.take(labels.depth < self.problem.max_actions)
        full = self.full_states(labels)
        legal = (
            self.transitions.legal(full)
            & self.allowed[labels.person]
            & self.transitions.in_order[self.last_function(labels)]
        )
        parent, action = np.nonzero(legal[:, :-1])
        if not len(parent):
            return
        price = np.rint(self.transitions.cost(full)[parent, action] / self.unit).astype(np.int64)
        cost = labels.cost[parent] + price
        bucket = cost // self.width
        step = labels.depth[parent] + 1 if self.free else np.zeros(len(parent), np.int64)
        place = bucket * (self.problem.max_actions + 1) + step
        place -= place.min()
        if place.max() < 2**16:
            place = place.astype(np.uint16)  # numpy sorts these in linear time
        order = np.argsort(place, kind="stable")
        for part in np.split(order, np.flatnonzero(np.diff(place[order])) + 1):
            where = (int(bucket[part[0]]), int(step[part[0]]))
            if where not in self.queue:
                self.queue[where] = []
                heapq.heappush(self.heap, where)
            self.queue[where].append(_Next(labels, parent[part], action[part], cost[part]))

    def pop(self) -> _Labels:
        """Take the actions whose turn it is."""
        made = []
        for ahead in self.queue.pop(heapq.heappop(self.heap)):
            live = self.active[ahead.after.person[ahead.parent]]
            parent, action = ahead.parent[live], ahead.action[live]
            before = ahead.after.take(parent)
            after = self.transitions.apply(self.full_states(before), action)
            shift = (self.bits * (self.per_word - 1 - before.depth % self.per_word)).astype(np.uint64)
            before.path[np.arange(len(parent)), before.depth // self.per_word] |= action.astype(np.uint64) << shift
            key = self.keys(before.person, after)
            made.append(
                _Labels(before.person, after[:, self.mutable], key, ahead.cost[live], before.depth + 1, before.path)
            )
        return _Labels.join(made)

    def settle(self, labels: _Labels) -> tuple[_Labels, Bools]:
        """Drop dominated labels and close the rest; also says which [n] reach a state for the first time."""
        words = [labels.path[:, w] for w in reversed(range(labels.path.shape[1]))]
        order = np.lexsort((*words, labels.depth, labels.cost, labels.key))
        key, depth = labels.key[order], labels.depth[order]
        first = np.ones(len(key), bool)
        first[1:] = key[1:] != key[:-1]
        # Within one key, in order of cost, a label is of use only if it takes fewer steps than all before it.
        rank = depth - np.cumsum(first) * (self.problem.max_actions + 1)
        better = first.copy()
        better[1:] |= rank[1:] < np.minimum.accumulate(rank)[:-1]
        is_closed, at = self.look_up(key)
        better[is_closed] &= depth[is_closed] < self.closed_depth[at[is_closed]]
        kept = labels.take(order[better])
        is_new = (first & ~is_closed)[better]
        self.close(kept)
        return kept, is_new

    def look_up(self, key: Longs) -> tuple[Bools, Ints]:
        """Whether each key [n] is closed, and where it stands in the closed table."""
        at = np.searchsorted(self.closed_keys, key)
        at[at == len(self.closed_keys)] = 0
        if not len(self.closed_keys):
            return np.zeros(len(key), bool), at
        return self.closed_keys[at] == key, at

    def close(self, labels: _Labels) -> None:
        """Note the fewest steps in which each state was reached; labels come sorted by key, steps falling."""
        last = np.ones(len(labels), bool)
        last[:-1] = labels.key[1:] != labels.key[:-1]
        key, depth = labels.key[last], labels.depth[last]
        is_closed, at = self.look_up(key)
        self.closed_depth[at[is_closed]] = depth[is_closed]
        fresh = ~is_closed
        keys = np.concatenate([self.closed_keys, key[fresh]])
        order = np.argsort(keys, kind="stable")
        self.closed_keys = keys[order]
        self.closed_depth = np.concatenate([self.closed_depth, depth[fresh]])[order]

    def last_function(self, labels: _Labels) -> Ints:
        """The function [n] of each label's last action; beyond all functions for a label without actions."""
        last = np.maximum(labels.depth - 1, 0)
        word = labels.path[np.arange(len(labels)), last // self.per_word]
        shift = (self.bits * (self.per_word - 1 - last % self.per_word)).astype(np.uint64)
        action = ((word >> shift) & np.uint64((1 << self.bits) - 1)).astype(np.intp)
        return np.where(labels.depth == 0, len(self.transitions.functions), self.transitions.function_of[action])

    def full_states(self, labels: _Labels) -> Floats:
        full = self.starts[labels.person]
        full[:, self.mutable] = labels.states
        return full

    def question(self, labels: _Labels) -> bool:
        """Ask about new states, cheapest first; whoever has a favourable one is done. False if the budget is spent."""
        words = [labels.path[:, w] for w in reversed(range(labels.path.shape[1]))]
        labels = labels.take(np.lexsort((*words, labels.depth, labels.cost)))
        wave = _waves(labels.person, labels.cost)
        for number in range(int(wave.max(initial=-1)) + 1):
            asked = labels.take((wave == number) & self.active[labels.person])
            beyond = self.beyond_budget(asked)
            given_up = np.unique(asked.person[beyond])
            asked = asked.take(~beyond)
            spent = False
            try:
                favourable = self.ask(self.full_states(asked), self.rows[asked.person])
            except BudgetSpent as stop:
                spent = True
                asked, favourable = asked.take(stop.known), stop.answers[stop.known]
                given_up = np.arange(len(self.rows))
            self.answered(asked, favourable)
            given_up = given_up[self.active[given_up]]
            if len(given_up):
                self.finish(given_up, Status.NOT_FOUND, self.cheapest_open(given_up, labels.take(wave >= number)))
            if spent:
                return False
        return True

    def beyond_budget(self, labels: _Labels) -> Bools:
        """Which questions [n] exceed what may be asked about, or examined for, their person."""
        room = self.most - self.result.questions[self.rows[labels.person]]
        beyond: Bools = _nth_of_person(labels.person) >= room
        return beyond

    def cheapest_open(self, people: Ints, labels: _Labels) -> Floats:
        """[n] the cheapest unanswered cost of each of `people`."""
        least = np.full(len(self.rows), np.iinfo(np.int64).max)
        np.minimum.at(least, labels.person, labels.cost)
        for ahead in (part for parts in self.queue.values() for part in parts):
            np.minimum.at(least, ahead.after.person[ahead.parent], ahead.cost)
        return least[people] * self.unit

    def answered(self, labels: _Labels, favourable: Bools) -> None:
        """Count the questions, and settle whoever got a favourable answer; labels come in order of preference."""
        self.result.questions[self.rows] += np.bincount(labels.person, minlength=len(self.rows))
        winners = labels.take(favourable)
        people, first = np.unique(winners.person, return_index=True)
        for person, at in zip(people.tolist(), first.tolist(), strict=True):
            row, depth = self.rows[person], int(winners.depth[at])
            self.result.actions[row, :depth] = self.unpack(winners.path[at], depth)
            self.result.verified[row] = True
            self.result.optimal[row] = True
        self.finish(people, Status.FOUND, np.asarray(winners.cost[first] * self.unit, float))

    def unpack(self, path: npt.NDArray[np.uint64], depth: int) -> list[int]:
        """The actions of a packed path."""
        mask = (1 << self.bits) - 1
        return [
            int(path[t // self.per_word]) >> (self.bits * (self.per_word - 1 - t % self.per_word)) & mask
            for t in range(depth)
        ]

    def finish(self, people: Ints, status: Status, bound: float | Floats) -> None:
        """Nothing more is to be done for `people`."""
        rows = self.rows[people]
        self.result.lower_bound[rows] = bound
        for row in rows.tolist():
            self.result.status[row] = status
        self.active[people] = False
        if len(people):
            self.progress(len(people))


def _unit(transitions: Transitions, longest: int) -> float:
    """The unit of which all costs are counted as whole multiples: a billionth, or less if some action costs less."""
    costs = transitions.least_costs[transitions.least_costs > 0]
    unit = 1e-9 if not len(costs) else 10.0 ** math.floor(math.log10(min(1e-9, float(costs.min()) * 1e-6)))
    most = float(transitions.most_costs.max()) * longest
    if most / unit > LARGEST:
        unit = 10.0 ** math.ceil(math.log10(most / LARGEST))
        if len(costs) and costs.min() / unit < 1e3:
            raise PlanError(
                f"the costs reach from {costs.min():g} to {transitions.most_costs.max():g}, too far apart to be added "
                "up exactly; bring the dearest actions nearer to the others, or leave them out of the file"
            )
    return unit


def _waves(person: Ints, cost: Longs) -> Ints:
    """[n] for labels in order of cost: the how-maniest distinct cost of its person each one has."""
    order = np.argsort(person, kind="stable")
    p, c = person[order], cost[order]
    step = np.zeros(len(p), np.intp)
    step[1:] = (p[1:] == p[:-1]) & (c[1:] != c[:-1])
    total = np.cumsum(step)
    start = np.ones(len(p), bool)
    start[1:] = p[1:] != p[:-1]
    wave = np.empty(len(p), np.intp)
    wave[order] = total - np.maximum.accumulate(np.where(start, total, 0))
    return wave


def _nth_of_person(person: Ints) -> Ints:
    """[n] how many earlier entries have the same person."""
    return _waves(person, np.arange(len(person)))
