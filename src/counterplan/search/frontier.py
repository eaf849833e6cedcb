"""States of people in order of cost, each by its cheapest way; nobody is asked.

Labels — a person's state, reached at some cost in some number of steps — wait in buckets of cost that are no wider
than the cheapest action, so that everything in a bucket is settled when its turn comes. All people of a group advance
bucket by bucket together. A label is dropped if the same state was reached at no greater cost in no more steps.
Costs are whole multiples of a tiny unit: no two plans differ by rounding alone.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from counterplan.errors import PlanError
from counterplan.problem import Problem, Transitions
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.search.orders import NO_ACTION
from counterplan.search.state_keys import StateKeys

Longs = npt.NDArray[np.int64]

LARGEST = 2**61
_AT_ONCE = 2**21
"""Labels × actions looked at together: what lies in between should not need much memory."""


@dataclass
class Labels:
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

    def take(self, which: Ints | Bools | slice) -> Labels:
        """Some of the labels."""
        return Labels(*(getattr(self, name)[which] for name in self.__dataclass_fields__))

    def where(self, which: Bools) -> Labels:
        """Some of the labels; the very same, not copied, if it is all."""
        return self if which.all() else self.take(which)

    @staticmethod
    def join(labels: list[Labels]) -> Labels:
        """All labels in one."""
        if len(labels) == 1:
            return labels[0]
        names = Labels.__dataclass_fields__
        return Labels(*(np.concatenate([getattr(part, name) for part in labels]) for name in names))


@dataclass
class _Next:
    """Actions not yet taken: from which of the labels `after`, which action, at what cost in all."""

    after: Labels
    parent: Ints
    action: Ints
    cost: Longs

    def take(self, which: Bools | slice) -> _Next:
        """Some of the actions."""
        return _Next(self.after, self.parent[which], self.action[which], self.cost[which])


class Frontier:
    """Takes B people, at `starts` [B, F] with the actions `allowed` [B, A], from state to state as cost grows.

    Whoever is not `growing` [B] waits, and goes on from there when they grow again; who is `done` [B] never will.
    Nobody takes more actions at once than there is `room` [B] for, if it is set: a bucket may hold very many of equal
    cost. Who has more ahead is `cut` [B], and goes on with the rest of the bucket next.
    """

    def __init__(self, problem: Problem, starts: Floats, allowed: Bools) -> None:
        self.problem = problem
        self.transitions = problem.transitions
        self.starts = starts
        self.allowed = allowed
        self.keys = StateKeys(problem, starts)
        self.mutable = self.transitions.mutable
        self.unit = _unit(self.transitions, problem.max_actions)
        least = self.transitions.least_costs[:-1]
        self.width = max(1, math.floor(float(least.min()) / self.unit)) if len(least) else 1
        self.free = len(least) > 0 and float(least.min()) / self.unit < 1
        """Whether some action may cost nothing: then a bucket is one cost and one number of steps."""
        self.bits = max(1, (len(self.transitions) - 1).bit_length())
        self.per_word = 64 // self.bits
        self.queue: dict[tuple[int, int], list[_Next]] = {}
        self.heap: list[tuple[int, int]] = []
        self.waiting: list[tuple[tuple[int, int], _Next]] = []
        self.closed_keys = np.empty(0, np.int64)
        self.closed_depth = np.empty(0, np.int64)
        self.growing = np.ones(len(starts), bool)
        self.done = np.zeros(len(starts), bool)
        self.room: Ints | None = None
        self.cut = np.zeros(len(starts), bool)
        self._last = self.settle(self.beginning())[0]
        self._bucket = 0

    def advance(self) -> Labels | None:
        """The states that those who grow reach next, in no order; None if there is nothing more for them.

        There may be none if the next bucket is of people who wait, or if somebody was cut.
        """
        self.push(self._last.where(~self.done[self._last.person]))
        while self.heap and self.growing.any():
            self._last, is_new = self.settle(self.pop())
            if is_new.any() or self.cut.any() or not len(self._last):
                return self._last.where(is_new)
            self.push(self._last)
        self._last = self._last.take(slice(0))
        return None

    def wake(self) -> None:
        """Let those go on who waited and grow again."""
        waiting, self.waiting = self.waiting, []
        for place, ahead in waiting:
            self._wait(place, ahead)

    def _wait(self, place: tuple[int, int], ahead: _Next) -> None:
        if place not in self.queue:
            self.queue[place] = []
            heapq.heappush(self.heap, place)
        self.queue[place].append(ahead)

    def _put_aside(self, place: tuple[int, int], ahead: _Next) -> None:
        wanted = ~self.done[ahead.after.person[ahead.parent]]
        if wanted.any():
            self.waiting.append((place, ahead.take(wanted)))

    @property
    def reached(self) -> float:
        """Whatever costs less was given to all who grow; infinite if there is nothing more for them."""
        next_bucket = self.heap[0][0] if self.heap else math.inf
        if len(self._last):  # what follows these is not in the queue yet
            next_bucket = min(next_bucket, self._bucket + (0 if self.free else 1))
        return next_bucket * self.width * self.unit

    def least_waiting(self) -> Floats:
        """[B] no state that was not given yet costs less than this; infinite if there is none."""
        least = np.full(len(self.starts), np.iinfo(np.int64).max)
        np.minimum.at(least, self._last.person, self._last.cost)
        ahead = [part for parts in self.queue.values() for part in parts] + [part for _, part in self.waiting]
        for part in ahead:
            np.minimum.at(least, part.after.person[part.parent], part.cost)
        return np.where(least == np.iinfo(np.int64).max, np.inf, least * self.unit)

    def beginning(self) -> Labels:
        """Everybody as they are."""
        people = np.arange(len(self.starts))
        zeros = np.zeros(len(people), np.int64)
        words = -(-self.problem.max_actions // self.per_word)
        return Labels(
            people, self.starts[:, self.mutable], self.keys(people, self.starts), zeros, zeros.copy(),
            np.zeros((len(people), words), np.uint64),
        )  # fmt: skip

    def push(self, labels: Labels) -> None:
        """Put every legal action after `labels` into the bucket of its cost; it is taken when its turn comes."""
        labels = labels.where(labels.depth < self.problem.max_actions)
        some = max(1, _AT_ONCE // len(self.transitions))
        for first in range(0, len(labels), some):
            self._push(labels.take(slice(first, first + some)))

    def _push(self, labels: Labels) -> None:
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
            self._wait(where, _Next(labels, parent[part], action[part], cost[part]))

    def pop(self) -> Labels:
        """Take the actions whose turn it is; those of people who do not grow are put aside."""
        place = heapq.heappop(self.heap)
        self._bucket = place[0]
        turn = []
        for ahead in self.queue.pop(place):
            live = self.growing[ahead.after.person[ahead.parent]]
            if not live.all():
                self._put_aside(place, ahead.take(~live))
                ahead = ahead.take(live)
            turn.append(ahead)
        some = max(1, _AT_ONCE // len(self.transitions))
        made = [
            self.follow(ahead.take(slice(first, first + some)))
            for ahead in self.fitting(place, turn)
            for first in range(0, max(1, len(ahead.cost)), some)
        ]
        return Labels.join(made)

    def follow(self, ahead: _Next) -> Labels:
        """Where actions lead."""
        parent, action = ahead.parent, ahead.action
        before = ahead.after.take(parent)
        after = self.transitions.apply(self.full_states(before), action)
        shift = (self.bits * (self.per_word - 1 - before.depth % self.per_word)).astype(np.uint64)
        before.path[np.arange(len(parent)), before.depth // self.per_word] |= action.astype(np.uint64) << shift
        key = self.keys(before.person, after)
        return Labels(before.person, after[:, self.mutable], key, ahead.cost, before.depth + 1, before.path)

    def fitting(self, place: tuple[int, int], turn: list[_Next]) -> list[_Next]:
        """The actions of a bucket that there is room for, the preferred ones; the others go back to their `place`.

        Preferred is what costs less, then takes fewer steps, then comes first in the file: so what is settled in parts
        is settled as if it came together.
        """
        self.cut = np.zeros(len(self.starts), bool)
        if self.room is None:
            return turn
        person = np.concatenate([ahead.after.person[ahead.parent] for ahead in turn])
        count = np.bincount(person, minlength=len(self.starts))
        self.cut = count > self.room
        if not self.cut.any():
            return turn
        cost = np.concatenate([ahead.cost for ahead in turn])
        rank = self._ranks(turn)
        taken = ~self.cut[person]
        order = np.argsort(person, kind="stable")
        end = np.cumsum(count)
        for one in np.flatnonzero(self.cut).tolist():
            mine, room = order[end[one] - count[one] : end[one]], int(self.room[one])
            dearest = np.partition(cost[mine], room)[room]
            cheaper = cost[mine] < dearest
            taken[mine[cheaper]] = True
            equal, left = mine[cost[mine] == dearest], room - int(cheaper.sum())
            taken[equal[np.argpartition(rank[equal], left)[:left]]] = True
        fit = []
        for ahead, here in zip(turn, np.split(taken, np.cumsum([len(ahead.cost) for ahead in turn])[:-1]), strict=True):
            fit.append(ahead.take(here))
            if not here.all():
                self._wait(place, ahead.take(~here))
        return fit

    def _ranks(self, turn: list[_Next]) -> Longs:
        """[n] numbers that rise with the number of steps, then with the order of the file."""
        parents = {id(ahead.after): ahead.after for ahead in turn}
        path = np.concatenate([after.path for after in parents.values()])
        depth = np.concatenate([after.depth for after in parents.values()])
        rank = np.empty(len(path), np.int64)
        rank[np.lexsort((*path.T[::-1], depth))] = np.arange(len(path))
        first = dict(zip(parents, np.cumsum([0, *(len(after) for after in parents.values())]).tolist(), strict=False))
        actions = len(self.transitions)
        return np.concatenate([rank[first[id(ahead.after)] + ahead.parent] * actions + ahead.action for ahead in turn])

    def settle(self, labels: Labels) -> tuple[Labels, Bools]:
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

    def close(self, labels: Labels) -> None:
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

    def last_function(self, labels: Labels) -> Ints:
        """The function [n] of each label's last action; beyond all functions for a label without actions."""
        last = np.maximum(labels.depth - 1, 0)
        word = labels.path[np.arange(len(labels)), last // self.per_word]
        shift = (self.bits * (self.per_word - 1 - last % self.per_word)).astype(np.uint64)
        action = ((word >> shift) & np.uint64((1 << self.bits) - 1)).astype(np.intp)
        return np.where(labels.depth == 0, len(self.transitions.functions), self.transitions.function_of[action])

    def full_states(self, labels: Labels) -> Floats:
        """The states [n, F] of `labels`, with what cannot change."""
        full = self.starts[labels.person]
        full[:, self.mutable] = labels.states
        return full

    def labels(self, person: Ints, actions: Ints, states: Floats, cost: Floats) -> Labels:
        """Plans `actions` [n, T] that were found elsewhere, as labels."""
        step = np.arange(actions.shape[1])
        shift = (self.bits * (self.per_word - 1 - step % self.per_word)).astype(np.uint64)
        packed = np.where(actions == NO_ACTION, 0, actions).astype(np.uint64) << shift
        path = np.zeros((len(person), -(-self.problem.max_actions // self.per_word)), np.uint64)
        for t in step.tolist():
            path[:, t // self.per_word] |= packed[:, t]
        depth = (actions != NO_ACTION).sum(axis=1).astype(np.int64)
        whole = np.rint(cost / self.unit).astype(np.int64)
        return Labels(person, states[:, self.mutable], self.keys(person, states), whole, depth, path)

    def actions(self, labels: Labels) -> Ints:
        """The plans [n, T] that lead to `labels`, filled up with NO_ACTION."""
        step = np.arange(self.problem.max_actions)
        shift = (self.bits * (self.per_word - 1 - step % self.per_word)).astype(np.uint64)
        packed = labels.path[:, step // self.per_word] >> shift & np.uint64((1 << self.bits) - 1)
        return np.where(step < labels.depth[:, None], packed.astype(np.intp), NO_ACTION)

    def order(self, labels: Labels) -> Ints:
        """The order [n] of preference: by cost, then fewer steps, then the order of the file."""
        words = [labels.path[:, w] for w in reversed(range(labels.path.shape[1]))]
        return np.lexsort((*words, labels.depth, labels.cost))


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
