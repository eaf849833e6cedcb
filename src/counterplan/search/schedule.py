"""When the steps of plans start and end: as early as the steps before them that they conflict with permit.

Two steps conflict if one changes what the other depends on, or one of their functions does not overlap. The duration of
a plan is then the longest chain of steps that conflict. Times are integer multiples of a small unit, so that no two
plans differ by rounding alone. G functions, C classes of functions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from counterplan.problem.transitions import TIME_DECIMALS, Floats, Ints, Transitions
from counterplan.search.orders import NO_ACTION

Longs = npt.NDArray[np.int64]
_PER_UNIT = 10**TIME_DECIMALS


class StepSchedule(NamedTuple):
    """Start and duration of each step of n plans, in the unit of the problem; 0 where there is no step."""

    start: Floats
    """[n, T]"""
    duration: Floats
    """[n, T]"""

    @property
    def makespan(self) -> Floats:
        """[n] the durations of the plans."""
        ends = np.round(self.start + self.duration, TIME_DECIMALS)
        return np.asarray(ends.max(axis=1, initial=0.0))


class StepTimes:
    """The earliest times of next steps.

    Times [n, C + 1] of partial plans have, for each class of functions, the earliest start of a next step, and last the
    end of the plan so far. Functions that conflict with the same ones are in one class.
    """

    def __init__(self, transitions: Transitions) -> None:
        self.transitions = transitions
        conflicts, classes = np.unique(transitions.conflicts, axis=1, return_inverse=True)
        self.class_of: Ints = np.asarray(classes, np.intp).reshape(-1)
        """[G]"""
        always = np.ones((len(conflicts), 1), bool)
        self._delays = np.concatenate([np.asarray(conflicts, bool), always], axis=1)
        """[G, C + 1] the times that the end of a step of each function delays."""

    def initial(self, count: int) -> Longs:
        """Times [n, C + 1] of empty plans."""
        return np.zeros((count, self._delays.shape[1]), np.int64)

    def durations(self, states: Floats, rows: Ints, actions: Ints) -> Longs:
        """Durations [n] of `actions` [n] in the states at `rows` [n] of `states` [B, F]."""
        return to_units(self.transitions.duration_of(states, rows, actions))

    def ends(self, times: Longs, rows: Ints, actions: Ints, durations: Longs) -> Longs:
        """The ends [n] of `actions` [n] after the partial plans at `rows` [n] of `times` [B, C + 1]."""
        return np.asarray(times[rows, self.class_of[self.transitions.function_of[actions]]] + durations)

    def after(self, times: Longs, actions: Ints, ends: Longs) -> Longs:
        """Times [n, C + 1] after one more action [n] each, which ends at `ends` [n]."""
        delays = self._delays[self.transitions.function_of[actions]]
        return np.asarray(np.maximum(times, np.where(delays, ends[:, None], 0)))


def schedule(transitions: Transitions, starts: Floats, actions: Ints) -> StepSchedule:
    """Schedule plans `actions` [n, T], padded with NO_ACTION, from `starts` [n, F]."""
    step_times = StepTimes(transitions)
    states, times = starts.copy(), step_times.initial(len(starts))
    begin, duration = np.zeros((2, *actions.shape), np.int64)
    for t in range(actions.shape[1]):
        rows = np.flatnonzero(actions[:, t] != NO_ACTION)
        if not len(rows):
            break
        chosen, before, own = actions[rows, t], states[rows], times[rows]
        everyone = np.arange(len(rows))
        taken = step_times.durations(before, everyone, chosen)
        ends = step_times.ends(own, everyone, chosen, taken)
        begin[rows, t], duration[rows, t] = ends - taken, taken
        times[rows] = step_times.after(own, chosen, ends)
        states[rows] = transitions.apply(before, chosen)
    return StepSchedule(begin / _PER_UNIT, duration / _PER_UNIT)


def from_units(time: int | np.int64) -> float:
    """A time in integer multiples of the unit of times as a duration."""
    return float(int(time) / _PER_UNIT)


def to_units(durations: Floats | float) -> Longs:
    """Durations as integer multiples of the unit of times."""
    return np.asarray(np.rint(np.asarray(durations, float) * _PER_UNIT), np.int64)
