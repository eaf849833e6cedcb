"""The argument of `Planner.search`: people, constraints, cost weights, goal and budget."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property

import numpy as np
import numpy.typing as npt

from counterplan.errors import SettingError
from counterplan.problem import People, Problem
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.search.orders import NO_ACTION

ProgressCallback = Callable[[int], None]
"""Called with the number of people finished since the last call."""


class Goal(StrEnum):
    """Condition on the end of a plan."""

    FAVOURABLE = "favourable"
    """The black box decides favourably."""


_ONES: Floats = np.ones((1, 1))


def no_progress(done: int) -> None:
    """Ignore progress."""


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
        Positive, finite factors on the cost of each action. By default all are 1.
    goal : Goal
        Condition on the end of a plan.
    budget : int, optional
        Most queries about each person; None for no limit.
    refused : bool
        Whether all people are known to be refused.
    progress : callable
        Called with the number of people finished since the last call.
    """

    people: People
    allowed: Bools
    cost_weights: Floats = field(default_factory=lambda: _ONES)
    goal: Goal = Goal.FAVOURABLE
    budget: int | None = None
    refused: bool = True
    progress: ProgressCallback = no_progress

    def __post_init__(self) -> None:
        object.__setattr__(self, "cost_weights", np.broadcast_to(self.cost_weights, self.allowed.shape))

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
        weights = _ONES if self.weights is None else self.weights[rows]
        return replace(self, people=self.people.take(rows), allowed=self.allowed[rows], cost_weights=weights)

    def step_weights(self, actions: Ints) -> Floats | None:
        """Weights [B, T] of the steps of plans `actions` [B, T]; None if all are 1."""
        if self.weights is None:
            return None
        weights = np.where(actions == NO_ACTION, 1.0, np.take_along_axis(self.weights, actions, axis=1))
        return None if (weights == 1).all() else weights


def checked_weights(problem: Problem, people: People, cost_weights: npt.ArrayLike | None) -> Floats:
    """Validate cost weights.

    Returns
    -------
    array of shape [B, A], or [1, 1] if there are none

    Raises
    ------
    SettingError
        If the shape is wrong, a weight is not a positive, finite number, or a weighted cost is not finite.
    """
    if cost_weights is None:
        return _ONES
    shape = (len(people), len(problem.transitions))
    try:
        if isinstance(cost_weights, np.ma.MaskedArray):
            raise TypeError
        weights = np.asarray(cost_weights, float)
    except (TypeError, ValueError, OverflowError):
        raise SettingError(f"'cost_weights' must be an array of numbers of shape {shape}") from None
    if weights.shape != shape:
        raise SettingError(
            f"'cost_weights' must be an array of shape {shape}, one row per person and one column per action with STOP "
            f"last; got {weights.shape}"
        )
    wrong = ~(np.isfinite(weights) & (weights > 0))
    if wrong.any():
        row, column = np.argwhere(wrong)[0].tolist()
        raise SettingError(
            f"'cost_weights' must be positive and finite; got {weights[row, column]} for person "
            f"{people.table.index[row]!r} and action {problem.transitions.actions[column]}. Use 'forbid' to rule an "
            "action out"
        )
    with np.errstate(over="ignore"):
        most = weights * problem.transitions.most_costs * problem.max_actions
    if not np.isfinite(most).all():
        raise SettingError("'cost_weights' are too large: the cost of a plan would not be finite")
    return weights
