"""State the survival of plans."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from counterplan.plans import Coded, PlanColumns, RobustnessColumns, Status, SurvivalBasis
from counterplan.plans.coded import NO_CODE
from counterplan.problem import People, Problem
from counterplan.search.orders import rollout
from counterplan.survival.goal import SurvivalGoal


def state_survival(
    problem: Problem,
    people: People,
    columns: PlanColumns,
    goal: SurvivalGoal,
    *,
    ignored: bool = False,
    members: tuple[str, ...] = (),
) -> None:
    """Add the survival of every plan to its columns.

    Parameters
    ----------
    problem : Problem
    people : People
        B people.
    columns : PlanColumns
        Their plans, which are changed in place.
    goal : SurvivalGoal
        The estimator, and what was planned for.
    ignored : bool, default=False
        Whether the planner could not plan for it.
    members : tuple of str, optional
        Fingerprints of the models that the black box is made of, which planning used like refits.
    """
    rows = np.flatnonzero([status is Status.FOUND for status in columns.status])
    if not len(rows):
        return
    estimator = goal.estimator
    robustness = columns.robustness or RobustnessColumns.empty(len(columns))
    ends = rollout(problem.transitions, people.states[rows], columns.actions[rows])[0]
    chance = estimator.chance(problem, people, ends, rows)
    robustness.survival[rows] = chance
    if goal.at_least is not None:
        robustness.met[rows] = goal.objective(problem, people).is_met(chance)
    basis = SurvivalBasis(
        estimator.source,
        reason=estimator.reason,
        weight=goal.weight,
        at_least=goal.at_least,
        refits=(*estimator.refits, *members),
        ignored=ignored,
    )
    codes = np.full(len(columns), NO_CODE)
    codes[rows] = estimator.falls_short(problem, people, ends, rows)
    robustness.basis = Coded(codes, [basis, replace(basis, execution=True)])
    columns.robustness = robustness
