"""When the steps of plans start and end, so that the plan is finished as early as its dependences permit.

Two steps conflict, and do not run at the same time, if one changes what the other depends on, or one of their functions
does not overlap. Of two that depend on each other, the one that is earlier in the plan comes first; otherwise either
may. The duration of a plan is then the longest chain of steps that conflict. Times are integer multiples of a small
unit, so that no two plans differ by rounding alone. G functions, C classes of functions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from counterplan.problem.transitions import TIME_DECIMALS, Floats, Ints, Transitions
from counterplan.search.orders import NO_ACTION

Longs = npt.NDArray[np.int64]
_PER_UNIT = 10**TIME_DECIMALS
MAX_REORDERED = 8
"""Longest plan whose steps are reordered to finish earlier."""
_LATEST = 2.0**62
"""Longest time in units; longer ones are the same, so that sums of them are integers of 64 bits."""


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
    """Schedule plans `actions` [n, T], padded with NO_ACTION, from `starts` [n, F].

    Steps that do not depend on each other run in the order that takes the least time; of several, in that of the plan.
    Plans of more than 8 steps run in their own order.
    """
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
    _reorder(transitions, actions, begin, duration)
    return StepSchedule(begin / _PER_UNIT, duration / _PER_UNIT)


def _reorder(transitions: Transitions, actions: Ints, begin: Longs, duration: Longs) -> None:
    """Lower the starts `begin` [n, T] of steps, in place, where another order of them takes less time."""
    exchangeable = transitions.conflicts & transitions.independent
    lengths = (actions != NO_ACTION).sum(axis=1)
    if not exchangeable.any():
        return
    functions = transitions.function_of[actions]
    rows = np.flatnonzero((lengths > 2) & (lengths <= MAX_REORDERED))
    taken = actions[rows] != NO_ACTION
    pairs = exchangeable[np.where(taken, functions[rows], 0)[:, :, None], np.where(taken, functions[rows], 0)[:, None]]
    rows = rows[(pairs & taken[:, :, None] & taken[:, None]).any(axis=(1, 2))]
    keys = np.hstack([functions[rows], duration[rows]])
    _, first, which = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    for place, row in enumerate(rows[first].tolist()):
        steps = functions[row, : lengths[row]]
        pair = np.ix_(steps, steps)
        found = earliest_starts(
            duration[row, : lengths[row]].tolist(),
            transitions.conflicts[pair].tolist(),
            (~transitions.independent[pair]).tolist(),
        )
        begin[rows[which == place], : lengths[row]] = found


def earliest_starts(durations: list[int], conflicts: list[list[bool]], dependent: list[list[bool]]) -> list[int]:
    """When the steps of a plan start if it takes the least time.

    Parameters
    ----------
    durations : list of int, of length T
    conflicts : list of list of bool, of shape [T, T]
        Whether two steps cannot run at the same time.
    dependent : list of list of bool, of shape [T, T]
        Whether the order of two steps matters; such steps conflict.

    Returns
    -------
    list of int
        [T] the starts in the order of the plan.
    """
    steps = range(len(durations))
    alone = [all(conflicts[step][other] for other in steps if other != step) for step in steps]
    best: list[int] = []
    least = sum(durations) + 1
    pending: list[dict[int, int]] = [{}]
    """Starts by step, in the order in which the steps run."""
    while pending:
        starts = pending.pop()
        end = max((start + durations[step] for step, start in starts.items()), default=0)
        if end + sum(durations[step] for step in steps if alone[step] and step not in starts) >= least:
            continue
        if len(starts) == len(durations):
            best, least = [starts[step] for step in steps], end
            continue
        for step in reversed(list(_next_steps(list(starts), conflicts, dependent))):
            ends = [start + durations[other] for other, start in starts.items() if conflicts[other][step]]
            pending.append({**starts, step: max(ends, default=0)})
    return best


def _next_steps(order: list[int], conflicts: list[list[bool]], dependent: list[list[bool]]) -> Iterator[int]:
    """Steps that may come after those of `order`, in the order of the plan; redundant orders are left out."""
    left = [step for step in range(len(conflicts)) if step not in order]
    for step in left:
        follows = not order or order[-1] < step or conflicts[order[-1]][step]
        if follows and not any(dependent[other][step] for other in left if other < step):
            yield step


def from_units(time: int | np.int64) -> float:
    """A time in integer multiples of the unit of times as a duration."""
    return float(int(time) / _PER_UNIT)


def to_units(durations: Floats | float) -> Longs:
    """Durations as integer multiples of the unit of times; infinite ones as the longest."""
    units = np.minimum(np.asarray(durations, float), _LATEST / _PER_UNIT) * _PER_UNIT
    return np.asarray(np.rint(units), np.int64)
