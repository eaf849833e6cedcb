"""The argument of `Planner.search`: people, constraints, cost weights, goal and budget."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from counterplan.errors import SettingError
from counterplan.personal.alternatives import Alternatives
from counterplan.personal.weights import MAX_WEIGHT, MIN_WEIGHT, NO_WEIGHTS
from counterplan.problem import People
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.search.orders import NO_ACTION
from counterplan.survival.goal import SurvivalGoal

_LARGEST_BUDGET = 2**62
"""Larger budgets are the same, so that sums and differences of them are integers of 64 bits."""
ProgressCallback = Callable[[int], None]
"""Called with the number of people finished since the last call."""


def no_progress(done: int) -> None:
    """Ignore progress."""


def is_whole(number: Any, least: int = 0) -> bool:
    """Whether `number` is an integer, at least `least`; Booleans are not integers."""
    return isinstance(number, (int, np.integer)) and not isinstance(number, bool) and bool(number >= least)


@dataclass(frozen=True, eq=False)
class PlanningTask:
    """People to plan for, with everything that constrains their plans.

    Parameters
    ----------
    people : People
        B people.
    allowed : bool array of shape [B, A]
        Actions that each person may take; STOP is always allowed.
    cost_weights : array of shape [B, A], optional
        Factors from 0.01 to 100 on the cost of each action. By default all are 1.
    goal : SurvivalGoal, optional
        How plans, which all end in a favourable state, weigh cost against survival; None for the least cost.
    alternatives : Alternatives, optional
        Which other plans each person gets; None for none.
    deadline : float, optional
        Longest duration of a plan, in the unit of the problem; None for any.
    pareto : bool
        Whether all plans on the front of cost and duration are searched for.
    budget : int, optional
        Most queries about each person; None for no limit.
    refused : bool
        Whether all people are known to be refused.
    progress : callable
        Called with the number of people finished since the last call.
    jobs : int
        Number of processes to plan with.

    Examples
    --------
    `Planner.plan` makes a task from a table and the arguments of the user; a new planner can be tried with one.

    >>> import numpy as np
    >>> from counterplan import BlackBox, ExactPlanner, benchmarks
    >>> from counterplan.planners import PlanningTask
    >>> german = benchmarks.load("german")
    >>> people = german.problem.read(german.refused_test.head(3))
    >>> task = PlanningTask(people, np.ones((3, len(german.problem.transitions)), bool))
    >>> columns = ExactPlanner(german.problem, BlackBox(german.model)).search(task)
    >>> [str(status) for status in columns.status]
    ['found', 'found', 'found']
    """

    people: People
    allowed: Bools
    cost_weights: Floats = field(default_factory=lambda: NO_WEIGHTS)
    goal: SurvivalGoal | None = None
    alternatives: Alternatives | None = None
    deadline: float | None = None
    pareto: bool = False
    budget: int | None = None
    refused: bool = True
    progress: ProgressCallback = no_progress
    jobs: int = 1

    def __post_init__(self) -> None:
        allowed, weights = np.asarray(self.allowed), np.asarray(self.cost_weights)
        if allowed.ndim != 2 or allowed.dtype != bool or len(allowed) != len(self.people):
            raise SettingError(
                f"'allowed' must be a bool array of shape ({len(self.people)}, A), one row per person; got "
                f"{allowed.dtype} of shape {allowed.shape}"
            )
        if weights.shape not in ((1, 1), allowed.shape):
            raise SettingError(f"'cost_weights' must be an array of shape {allowed.shape}; got {weights.shape}")
        if weights.dtype.kind not in "fiu" or not ((weights >= MIN_WEIGHT) & (weights <= MAX_WEIGHT)).all():
            raise SettingError(f"'cost_weights' must be numbers from {MIN_WEIGHT:g} to {MAX_WEIGHT:g}")
        if self.budget is not None and not is_whole(self.budget):
            raise SettingError(f"'budget' must be an integer, zero or more, or None for no limit; not {self.budget!r}")
        object.__setattr__(self, "allowed", allowed)
        object.__setattr__(self, "cost_weights", np.broadcast_to(weights.astype(float, copy=False), allowed.shape))

    def __len__(self) -> int:
        return len(self.people)

    @cached_property
    def weights(self) -> Floats | None:
        """`cost_weights` [B, A], or None if all are 1: costs are then used as they are."""
        is_constant = self.cost_weights.strides == (0, 0)
        sample = self.cost_weights[:1, :1] if is_constant else self.cost_weights
        return None if (sample == 1).all() else self.cost_weights

    def take(self, rows: npt.NDArray[np.integer]) -> PlanningTask:
        """The same task for the people `rows`."""
        weights = NO_WEIGHTS if self.weights is None else self.weights[rows]
        return replace(self, people=self.people.take(rows), allowed=self.allowed[rows], cost_weights=weights)

    def step_weights(self, actions: Ints) -> Floats | None:
        """Weights [B, T] of the steps of plans `actions` [B, T]; None if all are 1."""
        if self.weights is None:
            return None
        weights = np.where(actions == NO_ACTION, 1.0, np.take_along_axis(self.weights, actions, axis=1))
        return None if (weights == 1).all() else weights


def checked_budget(budget: Any) -> int | None:
    """Validate the most queries about a person; SettingError unless they are an integer, zero or more, or None."""
    if budget is None:
        return None
    if not is_whole(budget):
        raise SettingError(f"'budget' must be an integer, zero or more, or None for no limit; not {budget!r}")
    return min(int(budget), _LARGEST_BUDGET)
