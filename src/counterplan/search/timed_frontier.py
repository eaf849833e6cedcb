"""Enumeration of states in order of cost by plans within a deadline, without model queries.

Labels have the times at which next steps can start, besides cost and steps: a label is dominated if the same state was
reached at no greater cost, in no more steps, and with no later times. Labels beyond the deadline are dropped.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from counterplan.problem import Problem
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.search.frontier import Frontier, Labels, Longs
from counterplan.search.schedule import StepTimes, schedule, to_units

_LATEST = np.iinfo(np.int64).max


@dataclass
class TimedLabels(Labels):
    """Partial plans with their times [n, C + 1], see `StepTimes`."""

    times: Longs

    @property
    def makespan(self) -> Longs:
        """[n] the durations of the plans, in units."""
        return self.times[:, -1]


class TimedFrontier(Frontier):
    """Uniform-cost enumeration by plans within a deadline; see `Frontier`.

    Parameters
    ----------
    problem : Problem
        With durations.
    starts : array of shape [B, F]
    allowed : bool array of shape [B, A]
    cost_weights : array of shape [B, A], optional
    deadline : float
        Longest duration of a plan, in the unit of the problem; infinite for none.
    every_duration : bool, default=False
        Whether a state is returned again whenever a shorter plan leads to it.
    by_functions : bool, default=False
        Whether a state is returned for each set of functions that leads to it.

    Attributes
    ----------
    deadline : int array of shape [B]
        Longest duration of the plans of each person, in units; it may be lowered between calls of `advance`.
    """

    def __init__(
        self,
        problem: Problem,
        starts: Floats,
        allowed: Bools,
        cost_weights: Floats | None = None,
        *,
        deadline: float,
        every_duration: bool = False,
        by_functions: bool = False,
    ) -> None:
        self.step_times = StepTimes(problem.transitions)
        self.deadline: Longs = np.full(len(starts), to_units(deadline), np.int64)
        self.every_duration = every_duration
        self.closed_times = self.step_times.initial(0)
        super().__init__(problem, starts, allowed, cost_weights, by_functions=by_functions)
        self.in_order = self.transitions.in_time_order

    def initial(self) -> TimedLabels:
        """The empty plan of everybody."""
        return self._timed(super().initial(), self.step_times.initial(len(self.starts)))

    @staticmethod
    def _timed(labels: Labels, times: Longs) -> TimedLabels:
        return TimedLabels(
            labels.person, labels.states, labels.key, labels.cost, labels.depth, labels.path, np.asarray(times)
        )

    def admissible(self, labels: Labels, full: Floats, parent: Ints, action: Ints) -> Bools:
        """See `Frontier.admissible`: which actions end before the deadline."""
        assert isinstance(labels, TimedLabels)
        durations = self.step_times.durations(full, parent, action)
        ends = self.step_times.ends(labels.times, parent, action, durations)
        return np.asarray(ends <= self.deadline[labels.person[parent]])

    def pop(self) -> Labels:
        """See `Frontier.pop`; the deadline may have been lowered since these actions were queued."""
        labels = super().pop()
        return labels.where(self.within(labels))

    def within(self, labels: Labels) -> Bools:
        """See `Frontier.within`: which of the plans end before the deadline."""
        assert isinstance(labels, TimedLabels)
        return np.asarray(labels.makespan <= self.deadline[labels.person])

    def apply(self, before: Labels, action: Ints, cost: Longs) -> Labels:
        """See `Frontier.apply`."""
        assert isinstance(before, TimedLabels)
        rows = np.arange(len(before))
        durations = self.step_times.durations(self.full_states(before), rows, action)
        ends = self.step_times.ends(before.times, rows, action, durations)
        times = self.step_times.after(before.times, action, ends)
        return self._timed(super().apply(before, action, cost), times)

    def settle(self, labels: Labels) -> tuple[Labels, Bools]:
        """Drop dominated labels and close the rest; also returns which [n] are to be returned by `advance`."""
        assert isinstance(labels, TimedLabels)
        labels = labels.take(self._by_key(labels))
        undominated, known = self._compare_with_closed(labels)
        undominated[undominated] = _undominated(labels.take(undominated))
        kept, known = labels.take(undominated), known[undominated]
        first = np.ones(len(kept), bool)
        first[1:] = kept.key[1:] != kept.key[:-1]
        is_new = first & (known == _LATEST)
        if self.every_duration:
            is_new = _is_shorter(kept, first, known)
        self.close(kept)
        return kept, is_new

    def _compare_with_closed(self, labels: TimedLabels) -> tuple[Bools, Longs]:
        """Which labels [n] no closed one dominates, and the shortest closed duration [n] of the same state."""
        low = np.searchsorted(self.closed_keys, labels.key, "left")
        high = np.searchsorted(self.closed_keys, labels.key, "right")
        undominated, shortest = np.ones(len(labels), bool), np.full(len(labels), _LATEST)
        for nth in range(int((high - low).max(initial=0))):
            rows = np.flatnonzero(low + nth < high)
            at = low[rows] + nth
            times = self.closed_times[at]
            dominated = self.closed_depth[at] <= labels.depth[rows]
            dominated &= (times <= labels.times[rows]).all(axis=1)
            undominated[rows[dominated]] = False
            shortest[rows] = np.minimum(shortest[rows], times[:, -1])
        return undominated, shortest

    def close(self, labels: Labels) -> None:
        """Record steps and times of all labels."""
        assert isinstance(labels, TimedLabels)
        keys = np.concatenate([self.closed_keys, labels.key])
        order = np.argsort(keys, kind="stable")
        self.closed_keys = keys[order]
        self.closed_depth = np.concatenate([self.closed_depth, labels.depth])[order]
        self.closed_times = np.concatenate([self.closed_times, labels.times])[order]

    def labels(self, person: Ints, actions: Ints, states: Floats, cost: Floats) -> Labels:
        """See `Frontier.labels`; the times of next steps are not known, only the durations."""
        labels = super().labels(person, actions, states, cost)
        makespan = schedule(self.transitions, self.starts[person], actions).makespan
        times = np.broadcast_to(to_units(makespan)[:, None], (len(person), self.closed_times.shape[1]))
        return self._timed(labels, times)

    def _preferences(self, labels: Labels) -> tuple[npt.NDArray[np.integer], ...]:
        """See `Frontier`: lower cost, then fewer steps, then shorter plans, then file order.

        Where states are returned again for shorter plans, these come before those with fewer steps.
        """
        assert isinstance(labels, TimedLabels)
        words = [labels.path[:, w] for w in reversed(range(labels.path.shape[1]))]
        first = (labels.makespan, labels.depth) if not self.every_duration else (labels.depth, labels.makespan)
        return (*words, labels.times.sum(axis=1), *first, labels.cost)


def _undominated(labels: TimedLabels) -> Bools:
    """Which labels [n], sorted by key and then by preference, no earlier one of the same key dominates."""
    kept = np.zeros(len(labels), bool)
    rows = np.arange(len(labels))
    while len(rows):
        key = labels.key[rows]
        first = np.ones(len(rows), bool)
        first[1:] = key[1:] != key[:-1]
        kept[rows[first]] = True
        by = rows[first][np.cumsum(first) - 1]
        """[n] the first label of the same key."""
        dominated = (labels.depth[by] <= labels.depth[rows]) & (labels.cost[by] <= labels.cost[rows])
        dominated &= (labels.times[by] <= labels.times[rows]).all(axis=1)
        rows = rows[~dominated]
    return kept


def _is_shorter(labels: TimedLabels, first: Bools, known: Longs) -> Bools:
    """Which labels [n], sorted by key and cost, are shorter than those before them and than `known` [n]."""
    shorter = labels.makespan < known
    group = np.cumsum(first) - 1
    least = np.full(group[-1] + 1 if len(group) else 0, _LATEST)
    nth = np.arange(len(group)) - np.searchsorted(group, group)
    for place in range(int(nth.max(initial=-1)) + 1):
        rows = np.flatnonzero(nth == place)
        shorter[rows] &= labels.makespan[rows] < least[group[rows]]
        least[group[rows]] = np.minimum(least[group[rows]], labels.makespan[rows])
    return shorter


def open_frontier(
    problem: Problem,
    starts: Floats,
    allowed: Bools,
    cost_weights: Floats | None = None,
    deadline: float | None = None,
) -> Frontier:
    """A `Frontier`, or, if there is a deadline, a `TimedFrontier`."""
    if deadline is None:
        return Frontier(problem, starts, allowed, cost_weights)
    return TimedFrontier(problem, starts, allowed, cost_weights, deadline=deadline)
