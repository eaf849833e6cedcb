"""Enumeration of states in order of cost, each by its cheapest path, without model queries.

Uniform-cost search over labels: a person's state, reached at some cost in some number of steps. Labels are kept in
buckets of cost no wider than the person's cheapest action, so that every label of a bucket is final when the bucket is
expanded. All people of a batch advance bucket by bucket together. A label is dominated if the same state was reached
at no greater cost in no more steps; on request, only if by the same set of functions. Costs are integer multiples of a
small unit, and weights have few decimals, so that no two plans differ by rounding alone.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from counterplan.errors import ProblemError, SettingError
from counterplan.problem import Problem
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.search.costs import ActionCosts
from counterplan.search.orders import NO_ACTION, rollout
from counterplan.search.state_keys import FunctionSetKeys, StateKeys

Longs = npt.NDArray[np.int64]

LARGEST = 2**61
_BATCH_SIZE = 2**21
"""Labels × actions expanded together, which bounds the memory of intermediate arrays."""


@dataclass
class Labels:
    """Partial plans: person [n], mutable features [n, M], state key [n], cost [n] in units, depth [n], path [n, W]."""

    person: Ints
    states: Floats
    key: Longs
    cost: Longs
    depth: Longs
    path: npt.NDArray[np.uint64]
    """[n, W] the packed actions, first action in the highest bits: smaller means earlier in the file."""

    def __len__(self) -> int:
        return len(self.person)

    def take(self, rows: Ints | Bools | slice) -> Self:
        """The labels at `rows`."""
        return type(self)(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))

    def where(self, mask: Bools) -> Self:
        """The labels where `mask` [n] is true; the same object, not a copy, if it is true everywhere."""
        return self if mask.all() else self.take(mask)

    @staticmethod
    def join(labels: list[Labels]) -> Labels:
        """Concatenate labels."""
        if len(labels) == 1:
            return labels[0]
        kind = type(labels[0])
        names = kind.__dataclass_fields__
        return kind(*(np.concatenate([getattr(part, name) for part in labels]) for name in names))


@dataclass
class _Expansions:
    """Actions to be applied: indices into the labels `after`, actions, and total costs, all [n]."""

    after: Labels
    parent: Ints
    action: Ints
    cost: Longs

    def take(self, rows: Bools | slice) -> _Expansions:
        """The actions at `rows`."""
        return _Expansions(self.after, self.parent[rows], self.action[rows], self.cost[rows])

    @property
    def person(self) -> Ints:
        """[n] whose action it is."""
        return self.after.person[self.parent]


class Frontier:
    """Uniform-cost enumeration for B people at `starts` [B, F], with the actions `allowed` [B, A].

    `cost_weights` [B, A] multiply the costs of actions. Only `active` [B] people are expanded; the others are paused
    until `resume`, unless they are `finished` [B]. If `limit` [B] is set, at most that many actions of a person are
    applied at once, since a bucket may hold very many of equal cost; `truncated` [B] people have more in the bucket,
    which is continued next. `by_functions` returns a state once for each set of functions that leads to it, instead of
    once.
    """

    def __init__(
        self,
        problem: Problem,
        starts: Floats,
        allowed: Bools,
        cost_weights: Floats | None = None,
        *,
        by_functions: bool = False,
    ) -> None:
        self.problem = problem
        self.transitions = problem.transitions
        self.starts = starts
        self.allowed = allowed
        self.state_keys = StateKeys(problem, starts)
        self.function_sets = FunctionSetKeys(problem.transitions) if by_functions else None
        self.mutable = self.transitions.mutable
        self.in_order = self.transitions.in_order
        self.costs = ActionCosts(self.transitions, cost_weights)
        self.unit = cost_unit(self.costs, problem.max_actions)
        least = self.costs.least()[:, :-1].min(axis=1, initial=np.inf) / self.unit
        widths = np.where(np.isfinite(least), np.maximum(1, np.floor(least)), 1).astype(np.int64)
        self.width: Longs = np.broadcast_to(widths, len(starts))
        """[B] the width of each person's buckets in units: no more than their cheapest action costs."""
        self.free: Bools = np.broadcast_to(least < 1, len(starts))
        """[B] whether some action may cost nothing: then a bucket is one cost and one number of steps."""
        self.bits = max(1, (len(self.transitions) - 1).bit_length())
        self.per_word = 64 // self.bits
        self.queue: dict[tuple[int, int], list[_Expansions]] = {}
        self.heap: list[tuple[int, int]] = []
        self.paused: list[tuple[tuple[int, int], _Expansions]] = []
        self.closed_keys = np.empty(0, np.int64)
        self.closed_depth = np.empty(0, np.int64)
        self.active = np.ones(len(starts), bool)
        self.finished = np.zeros(len(starts), bool)
        self.limit: Ints | None = None
        self.truncated = np.zeros(len(starts), bool)
        self._last = self.settle(self.initial())[0]
        self._bucket = 0

    def advance(self) -> Labels | None:
        """States that active people reach next, in no particular order; None if they have no more.

        May be empty if the next bucket belongs to paused people, or if somebody was truncated.
        """
        self.push(self._last.where(~self.finished[self._last.person]))
        while self.heap and self.active.any():
            self._last, is_new = self.settle(self.pop())
            if is_new.any() or self.truncated.any() or not len(self._last):
                return self._last.where(is_new)
            self.push(self._last)
        self._last = self._last.take(slice(0))
        return None

    def resume(self) -> None:
        """Queue the expansions of paused people again."""
        paused, self.paused = self.paused, []
        for bucket, expansions in paused:
            self._enqueue(bucket, expansions)

    def _enqueue(self, bucket: tuple[int, int], expansions: _Expansions) -> None:
        if bucket not in self.queue:
            self.queue[bucket] = []
            heapq.heappush(self.heap, bucket)
        self.queue[bucket].append(expansions)

    def _pause(self, bucket: tuple[int, int], expansions: _Expansions) -> None:
        unfinished = ~self.finished[expansions.person]
        if unfinished.any():
            self.paused.append((bucket, expansions.take(unfinished)))

    @property
    def lower_bound(self) -> Floats:
        """[B] all cheaper states were returned to active people; infinite if they have no more."""
        buckets = [np.asarray(bucket) for bucket, _ in self.heap[:1]]
        if len(self._last):  # their successors are not in the queue yet
            buckets.append(self._bucket + np.where(self.free, 0, 1))
        if not buckets:
            return np.full(len(self.starts), np.inf)
        return np.asarray(np.minimum(buckets[0], buckets[-1]) * self.width * self.unit, float)

    def cheapest_open(self) -> Floats:
        """[B] lower bound on the cost of states not returned yet; infinite if there are none."""
        least = np.full(len(self.starts), np.iinfo(np.int64).max)
        np.minimum.at(least, self._last.person, self._last.cost)
        queued = [part for parts in self.queue.values() for part in parts] + [part for _, part in self.paused]
        for part in queued:
            np.minimum.at(least, part.person, part.cost)
        return np.where(least == np.iinfo(np.int64).max, np.inf, least * self.unit)

    def initial(self) -> Labels:
        """The empty plan of everybody."""
        people = np.arange(len(self.starts))
        zeros = np.zeros(len(people), np.int64)
        words = -(-self.problem.max_actions // self.per_word)
        path = np.zeros((len(people), words), np.uint64)
        keys = self._keys(people, self.starts, path, zeros)
        return Labels(people, self.starts[:, self.mutable], keys, zeros, zeros.copy(), path)

    def _keys(self, person: Ints, states: Floats, path: npt.NDArray[np.uint64], depth: Longs) -> Longs:
        """Keys [n] of the `states` [n, F] of people; on request, also of the functions of the paths to them."""
        key = self.state_keys(person, states)
        return key if self.function_sets is None else self.function_sets(key, self._unpack(path, depth))

    def push(self, labels: Labels) -> None:
        """Put every legal action after `labels` into the bucket of its total cost."""
        labels = labels.where(labels.depth < self.problem.max_actions)
        size = max(1, _BATCH_SIZE // len(self.transitions))
        for first in range(0, len(labels), size):
            self._push(labels.take(slice(first, first + size)))

    def _push(self, labels: Labels) -> None:
        full = self.full_states(labels)
        legal = self.transitions.legal(full) & self.allowed[labels.person] & self.in_order[self.last_function(labels)]
        parent, action = np.nonzero(legal[:, :-1])
        if (admissible := self.admissible(labels, full, parent, action)) is not None:
            parent, action = parent[admissible], action[admissible]
        if not len(parent):
            return
        person = labels.person[parent]
        action_cost = self.costs.weigh(self.transitions.cost_of(full, parent, action), person, action)
        cost = labels.cost[parent] + np.rint(action_cost / self.unit).astype(np.int64)
        at = slice(1) if self.costs.weights is None else person
        bucket = cost // self.width[at]
        step = np.where(self.free[at], labels.depth[parent] + 1, 0)
        place = bucket * (self.problem.max_actions + 1) + step
        place -= place.min()
        if place.max() < 2**16:
            place = place.astype(np.uint16)  # numpy sorts these in linear time
        order = np.argsort(place, kind="stable")
        for part in np.split(order, np.flatnonzero(np.diff(place[order])) + 1):
            where = (int(bucket[part[0]]), int(step[part[0]]))
            self._enqueue(where, _Expansions(labels, parent[part], action[part], cost[part]))

    def admissible(self, labels: Labels, full: Floats, parent: Ints, action: Ints) -> Bools | None:
        """Which legal actions [n] after the labels at `parent` [n], with states `full`, to consider; None for all."""
        return None

    def within(self, labels: Labels) -> Bools:
        """Which labels [n] are within the limits of this enumeration, apart from the number of steps: all."""
        return np.ones(len(labels), bool)

    def pop(self) -> Labels:
        """Labels reached by the cheapest bucket; actions of inactive people are paused."""
        bucket = heapq.heappop(self.heap)
        self._bucket = bucket[0]
        parts = []
        for expansions in self.queue.pop(bucket):
            active = self.active[expansions.person]
            if not active.all():
                self._pause(bucket, expansions.take(~active))
                expansions = expansions.take(active)
            parts.append(expansions)
        parts = self.within_limit(bucket, parts)
        before = Labels.join([part.after.take(part.parent) for part in parts])
        action, cost = (np.concatenate([getattr(part, name) for part in parts]) for name in ("action", "cost"))
        size = max(1, _BATCH_SIZE // len(self.transitions))
        chunks = [slice(first, first + size) for first in range(0, max(1, len(action)), size)]
        return Labels.join([self.apply(before.take(rows), action[rows], cost[rows]) for rows in chunks])

    def apply(self, before: Labels, action: Ints, cost: Longs) -> Labels:
        """Labels after one `action` [n] each, at the total `cost` [n]; the paths of `before` are overwritten."""
        after = self.transitions.apply(self.full_states(before), action)
        shift = (self.bits * (self.per_word - 1 - before.depth % self.per_word)).astype(np.uint64)
        before.path[np.arange(len(action)), before.depth // self.per_word] |= action.astype(np.uint64) << shift
        depth = before.depth + 1
        key = self._keys(before.person, after, before.path, depth)
        return Labels(before.person, after[:, self.mutable], key, cost, depth, before.path)

    def within_limit(self, bucket: tuple[int, int], parts: list[_Expansions]) -> list[_Expansions]:
        """The preferred actions of a bucket up to each person's limit; the others return to the `bucket`.

        Preferred are lower cost, then fewer steps, then file order, so that a bucket expanded in parts gives the same
        labels as one expanded at once.
        """
        self.truncated = np.zeros(len(self.starts), bool)
        if self.limit is None:
            return parts
        person = np.concatenate([part.person for part in parts])
        count = np.bincount(person, minlength=len(self.starts))
        self.truncated = count > self.limit
        if not self.truncated.any():
            return parts
        cost = np.concatenate([part.cost for part in parts])
        rank = self._ranks(parts, self.truncated)
        taken = ~self.truncated[person]
        order = np.argsort(person, kind="stable")
        end = np.cumsum(count)
        for row in np.flatnonzero(self.truncated).tolist():
            own, limit = order[end[row] - count[row] : end[row]], int(self.limit[row])
            largest = np.partition(cost[own], limit)[limit]
            cheaper = cost[own] < largest
            taken[own[cheaper]] = True
            equal, left = own[cost[own] == largest], limit - int(cheaper.sum())
            taken[equal[np.argpartition(rank[equal], left)[:left]]] = True
        chosen = []
        ends = np.cumsum([len(part.cost) for part in parts])[:-1]
        for part, mask in zip(parts, np.split(taken, ends), strict=True):
            chosen.append(part.take(mask))
            if not mask.all():
                self._enqueue(bucket, part.take(~mask))
        return chosen

    def _ranks(self, parts: list[_Expansions], people: Bools) -> Longs:
        """[n] ranks by number of steps, then by file order, within each of the `people` [B]; others have none."""
        parents = {id(part.after): part.after for part in parts}
        path = np.concatenate([after.path for after in parents.values()])
        depth = np.concatenate([after.depth for after in parents.values()])
        rows = np.flatnonzero(people[np.concatenate([after.person for after in parents.values()])])
        rank = np.zeros(len(path), np.int64)
        rank[rows[np.lexsort((*path[rows].T[::-1], depth[rows]))]] = np.arange(len(rows))
        first = dict(zip(parents, np.cumsum([0, *(len(after) for after in parents.values())]).tolist(), strict=False))
        actions = len(self.transitions)
        return np.concatenate([rank[first[id(part.after)] + part.parent] * actions + part.action for part in parts])

    def settle(self, labels: Labels) -> tuple[Labels, Bools]:
        """Drop dominated labels and close the rest; also returns which [n] reach a state for the first time."""
        order = self._by_key(labels)
        key, depth = labels.key[order], labels.depth[order]
        first = np.ones(len(key), bool)
        first[1:] = key[1:] != key[:-1]
        # Within one key, in order of cost, a label is undominated only if it takes fewer steps than all before it.
        rank = depth - np.cumsum(first) * (self.problem.max_actions + 1)
        better = first.copy()
        better[1:] |= rank[1:] < np.minimum.accumulate(rank)[:-1]
        is_closed, at = self.look_up(key)
        better[is_closed] &= depth[is_closed] < self.closed_depth[at[is_closed]]
        kept = labels.take(order[better])
        is_new = (first & ~is_closed)[better]
        self.close(kept)
        return kept, is_new

    def _by_key(self, labels: Labels) -> Ints:
        """Order [n] by key; equal keys in order of preference."""
        order = np.argsort(labels.key, kind="stable")
        key = labels.key[order]
        same = np.zeros(len(key) + 1, bool)
        same[1:-1] = key[1:] == key[:-1]
        shared = np.flatnonzero(same[1:] | same[:-1])
        rows = order[shared]
        repeated = labels.take(rows)
        order[shared] = rows[np.lexsort((*self._preferences(repeated), repeated.key))]
        return order

    def look_up(self, key: Longs) -> tuple[Bools, Ints]:
        """Whether each key [n] is closed, and its index in the closed table."""
        at = np.searchsorted(self.closed_keys, key)
        at[at == len(self.closed_keys)] = 0
        if not len(self.closed_keys):
            return np.zeros(len(key), bool), at
        return self.closed_keys[at] == key, at

    def close(self, labels: Labels) -> None:
        """Record the fewest steps to each state; labels are sorted by key, with decreasing numbers of steps."""
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
        """States [n, F] of `labels`, immutable features included."""
        full = self.starts[labels.person]
        full[:, self.mutable] = labels.states
        return full

    def labels(self, person: Ints, actions: Ints, states: Floats, cost: Floats) -> Labels:
        """Labels of plans `actions` [n, T] from elsewhere, with their final `states` [n, F] and `cost` [n]."""
        step = np.arange(actions.shape[1])
        shift = (self.bits * (self.per_word - 1 - step % self.per_word)).astype(np.uint64)
        packed = np.where(actions == NO_ACTION, 0, actions).astype(np.uint64) << shift
        path = np.zeros((len(person), -(-self.problem.max_actions // self.per_word)), np.uint64)
        for t in step.tolist():
            path[:, t // self.per_word] |= packed[:, t]
        depth = (actions != NO_ACTION).sum(axis=1).astype(np.int64)
        whole = np.rint(cost / self.unit).astype(np.int64)
        return Labels(person, states[:, self.mutable], self._keys(person, states, path, depth), whole, depth, path)

    def cost_of_plans(self, person: Ints, actions: Ints) -> Floats:
        """Costs [n] of plans `actions` [n, T] from elsewhere of the people `person` [n]."""
        weights = None if self.costs.weights is None else self.costs.weights[person]
        return rollout(self.transitions, self.starts[person], actions, weights)[1]

    def actions(self, labels: Labels) -> Ints:
        """Plans [n, T] that lead to `labels`, padded with NO_ACTION."""
        return self._unpack(labels.path, labels.depth)

    def _unpack(self, path: npt.NDArray[np.uint64], depth: Longs) -> Ints:
        """Plans [n, T] from packed paths [n, W] of so many steps [n]."""
        step = np.arange(self.problem.max_actions)
        shift = (self.bits * (self.per_word - 1 - step % self.per_word)).astype(np.uint64)
        packed = path[:, step // self.per_word] >> shift & np.uint64((1 << self.bits) - 1)
        return np.where(step < depth[:, None], packed.astype(np.intp), NO_ACTION)

    def order(self, labels: Labels) -> Ints:
        """Order [n] of preference: lower cost, then fewer steps, then file order."""
        return np.lexsort(self._preferences(labels))

    def _preferences(self, labels: Labels) -> tuple[npt.NDArray[np.integer], ...]:
        """Keys of sorting by preference, the most important one last."""
        words = [labels.path[:, w] for w in reversed(range(labels.path.shape[1]))]
        return (*words, labels.depth, labels.cost)


_LEAST_WEIGHTED = 1e-6
"""Least weighted cost of an action: weighted costs are rounded to 9 decimals."""


def cost_unit(costs: ActionCosts, max_actions: int) -> float:
    """The unit of integer costs: 1e-9, smaller if some unweighted action costs less, larger if costs are very large."""
    least = costs.least()
    positive = least[least > 0]
    unit = 1e-9
    if costs.weights is not None and len(positive) and positive.min() < _LEAST_WEIGHTED:
        raise SettingError(
            f"weights make costs as small as {positive.min():g}; costs below {_LEAST_WEIGHTED:g} cannot be compared: "
            "use larger weights, or larger costs in the problem file"
        )
    if len(positive) and costs.weights is None:
        unit = 10.0 ** math.floor(math.log10(min(1e-9, float(positive.min()) * 1e-6)))
    most = float(costs.most().max(initial=0.0)) * max_actions
    if most / unit > LARGEST:
        unit = 10.0 ** math.ceil(math.log10(most / LARGEST))
        if len(positive) and positive.min() / unit < 1e3:
            spread = f"reach from {positive.min():g} to {most / max_actions:g}, too far apart to be added up exactly"
            if costs.weights is not None:
                raise SettingError(f"weighted costs {spread}; use weights that differ less")
            raise ProblemError(
                f"the costs {spread}; bring the most expensive actions nearer to the others, or leave them out of the "
                "file"
            )
    return unit
