"""The choices that the leaves of a program may have, and the order of its nodes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from counterplan.distillation.candidate_tests import roundest
from counterplan.problem import Problem
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.program.parts import Choice
from counterplan.search.orders import NO_ACTION

Sample = Callable[[Ints, int], Ints]
"""Samples rows: called with the rows and the largest size of the sample."""

_INTERPOLATED = 33
"""Values tried between the initial one of a feature and that at the end of a plan."""
_MAX_PLANS = 1_000
"""Most plans that are tried so for each function."""
_ROUNDING = 0.03
"""How far a rounded target may be from its quantile, in standard deviations."""


class NodeOrder:
    """One order of functions, causal parents first.

    A node leads to later functions, to itself if its function adds, or to STOP.
    """

    def __init__(self, problem: Problem) -> None:
        self.transitions = problem.transitions
        count = len(self.transitions.functions)
        self.place = np.empty(count + 1, np.intp)
        """[functions + 1] the position of each function; STOP comes last."""
        self.place[self.transitions.parents_first] = np.arange(count)
        self.place[-1] = count

    @property
    def backwards(self) -> list[int]:
        """All nodes by number, the last one first."""
        return [int(function) + 1 for function in self.transitions.parents_first[::-1]] + [0]

    def open_choices(self, node: int, choices: list[Choice]) -> Bools:
        """[C] the choices that a node may have."""
        function = self.transitions.function_of[[choice.action for choice in choices]]
        if node == 0:
            return np.asarray(function < len(self.transitions.functions))
        own = node - 1
        later = self.place[function] > self.place[own]
        if self.transitions.functions[own].adds:
            later |= function == own
        return np.asarray(later)

    def sort(self, plans: Ints) -> Ints:
        """Plans [B, T] with their actions in the order of functions."""
        place = np.where(plans == NO_ACTION, len(self.place), self.place[self.transitions.function_of[plans]])
        order = np.argsort(place, axis=1, kind="stable")
        ordered: Ints = plans[np.arange(len(plans))[:, None], order]
        return ordered


def candidate_choices(
    problem: Problem, starts: Floats, plans: Ints, logit: Callable[[Floats], Floats], targets: int, sample: Sample
) -> list[Choice]:
    """Every action, and at most `targets` targets for each function that only raises, or only lowers, a number.

    Targets are values at which demonstrated plans [P, B, T] of people in `starts` [B, F] start to hold.
    """
    transitions = problem.transitions
    choices = [Choice(action) for action in range(len(transitions))]
    for index, function in enumerate(transitions.functions):
        both_ways = (function.arguments > 0).any() and (function.arguments < 0).any()
        if not function.adds or both_ways or len(function.natives) < 2:
            continue
        turns = np.concatenate([_turning_points(problem, index, starts, part, logit, sample) for part in plans])
        if len(turns):
            whole = problem.features[function.target].integer
            wide = max(_ROUNDING * float(np.std(turns)), 0.5 * whole)
            quantiles = np.quantile(turns, np.linspace(0, 1, targets))
            reached = {roundest(turn - wide, turn + wide, whole) for turn in quantiles.tolist()}
            choices += [Choice(transitions.spans[index].start, target) for target in sorted(reached)]
    return choices


def _turning_points(
    problem: Problem, index: int, starts: Floats, plans: Ints, logit: Callable[[Floats], Floats], sample: Sample
) -> Floats:
    """Values of the feature of function `index` from which on plans [B, T] that use it hold, other things being equal.

    A plan is taken to hold if its log odds are more than half of those at its end.
    """
    transitions = problem.transitions
    states, used = starts, np.zeros(len(plans), bool)
    for t in range(plans.shape[1]):
        action = np.where(plans[:, t] == NO_ACTION, transitions.stop, plans[:, t])
        states = transitions.apply(states, action)
        used |= transitions.function_of[action] == index
    rows = sample(np.flatnonzero(used), _MAX_PLANS)
    target = transitions.functions[index].target
    before, after = starts[rows, target], states[rows, target]
    tried = np.repeat(states[rows, None], _INTERPOLATED, axis=1)
    tried[:, :, target] = before[:, None] + np.linspace(1, 0, _INTERPOLATED) * (after - before)[:, None]
    odds = logit(tried.reshape(-1, states.shape[1])).reshape(len(rows), _INTERPOLATED)
    holds = odds > np.maximum(odds[:, :1], 0) / 2
    held = np.logical_and.accumulate(holds, axis=1).sum(axis=1)
    found = (held > 0) & (held < _INTERPOLATED)
    return np.asarray(tried[np.flatnonzero(found), held[found] - 1, target])
