"""What a plan is to do about survival: nothing, weigh it against cost, or reach a given chance."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from numbers import Real

from counterplan.errors import SettingError
from counterplan.problem import People, Problem
from counterplan.problem.values import did_you_mean
from counterplan.search.objective import Objective
from counterplan.survival.estimator import SurvivalEstimator

WEIGHTS = {"none": 0.0, "balanced": 4.0, "high": 8.0}
"""Weights of survival by name."""
SurvivalLike = str | float
"""The name of a weight, or a weight."""
MAX_WEIGHT = 1_000.0


@dataclass(frozen=True, eq=False)
class SurvivalGoal:
    """How plans take survival into account.

    Parameters
    ----------
    estimator : SurvivalEstimator
        Estimates the chance of an end.
    weight : float, default=0
        λ of the objective cost / least cost + λ · (1 − survival).
    at_least : float, optional
        Least chance of a plan; the cheapest plan with it is sought, or else the one with the best chance.
    """

    estimator: SurvivalEstimator
    weight: float = 0.0
    at_least: float | None = None

    @property
    def changes_plans(self) -> bool:
        """Whether plans differ from the cheapest ones."""
        return self.weight > 0 or self.at_least is not None

    def objective(self, problem: Problem, people: People) -> Objective:
        """The objective for `people`, by chances that are predicted without queries."""
        estimator = self.estimator
        of_states = estimator.of_states if estimator.of_states(people.states[:0]) is not None else None
        chance = partial(estimator.predicted, problem, people)
        return Objective(chance, self.weight, self.at_least, of_states)  # type: ignore[arg-type]


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def read_weight(survival: SurvivalLike | None) -> float:
    """The weight of survival that a name or a number stands for.

    Raises
    ------
    SettingError
        If it is neither.
    """
    if survival is None:
        return 0.0
    if isinstance(survival, str):
        if survival not in WEIGHTS:
            hint = did_you_mean(survival, WEIGHTS)
            raise SettingError(f"'survival' must be {', '.join(WEIGHTS)} or a number, not '{survival}'{hint}")
        return WEIGHTS[survival]
    if not _is_number(survival) or not 0 <= survival <= MAX_WEIGHT:
        raise SettingError(
            f"'survival' must be {', '.join(WEIGHTS)} or a number from 0 to {MAX_WEIGHT:g}, not {survival!r}"
        )
    return float(survival)


def read_chance(at_least: float | None) -> float | None:
    """Validate the least chance of a plan."""
    if at_least is None:
        return None
    if not _is_number(at_least) or not 0 < at_least <= 1:
        raise SettingError(f"'survival_at_least' must be a chance, above 0 and at most 1, not {at_least!r}")
    return float(at_least)


def survival_goal(
    estimator: SurvivalEstimator, survival: SurvivalLike | None = None, at_least: float | None = None
) -> SurvivalGoal:
    """Create a goal from the parameters `survival` and `survival_at_least` of `Planner.plan`.

    Raises
    ------
    SettingError
        If a parameter is invalid, or both are given.
    """
    weight, chance = read_weight(survival), read_chance(at_least)
    if weight and chance is not None:
        raise SettingError("pass 'survival', the weight of survival, or 'survival_at_least', not both")
    return SurvivalGoal(estimator, weight, chance)
