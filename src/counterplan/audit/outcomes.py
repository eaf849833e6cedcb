"""`AuditOutcome`, and the outcomes of a chunk of people as columns."""

from __future__ import annotations

from enum import StrEnum

import numpy as np
import pandas as pd

from counterplan.blackbox import BlackBox
from counterplan.planners import Planner
from counterplan.plans import Plans, Status
from counterplan.problem import People
from counterplan.problem.transitions import Bools

COLUMNS: dict[str, str] = {
    "outcome": "object",
    "cost": "float64",
    "steps": "float64",
    "optimal": "bool",
    "lower_bound": "float64",
    "queries": "int64",
    "survival": "float64",
    "plan": "object",
}
"""Columns of the outcomes of people, with their dtypes."""


class AuditOutcome(StrEnum):
    """What a person can do about the decision of the model.

    Examples
    --------
    >>> from counterplan import Audit, AuditOutcome, benchmarks
    >>> german = benchmarks.load("german")
    >>> audit = Audit(german.problem, german.model, planner="exact", relaxations=0)
    >>> result = audit.run(german.test.head(20))
    >>> result.outcomes["outcome"].tolist().count(AuditOutcome.RECOURSE)
    5
    """

    FAVOURABLE = "favourable"
    """The decision is favourable as the person is."""
    RECOURSE = "recourse"
    """Refused, with a legal plan at whose end the model decided favourably."""
    NO_RECOURSE = "none"
    """Refused, and it is proved that no legal plan within the limits of the problem changes the decision."""
    UNKNOWN = "unknown"
    """Refused; the search ended at a limit without a verified plan and without a proof."""


REFUSED = (AuditOutcome.RECOURSE, AuditOutcome.NO_RECOURSE, AuditOutcome.UNKNOWN)
"""Outcomes of refused people."""


def outcomes_of(plans: Plans) -> list[AuditOutcome]:
    """The outcomes [B] of refused people by their plans; a plan that is not verified shows nothing."""
    found = {
        Status.FOUND: AuditOutcome.RECOURSE,
        Status.INFEASIBLE: AuditOutcome.NO_RECOURSE,
        Status.NOT_FOUND: AuditOutcome.UNKNOWN,
        Status.ALREADY_FAVOURABLE: AuditOutcome.FAVOURABLE,
    }
    result = []
    for status, verified in zip(plans.columns.status, plans.verified.tolist(), strict=True):
        outcome = found[Status(status)]
        result.append(AuditOutcome.UNKNOWN if outcome is AuditOutcome.RECOURSE and not verified else outcome)
    return result


def favourable_frame(count: int) -> pd.DataFrame:
    """The outcomes of people whose decision is favourable."""
    values: dict[str, object] = {
        "outcome": AuditOutcome.FAVOURABLE.value,
        "cost": 0.0,
        "steps": 0.0,
        "optimal": True,
        "lower_bound": 0.0,
        "queries": 1,
        "survival": np.nan,
        "plan": "",
    }
    frame = pd.DataFrame({name: [value] * count for name, value in values.items()})
    return frame.astype(COLUMNS)


def planned_frame(plans: Plans) -> pd.DataFrame:
    """The outcomes of refused people, by their plans; the query about their present state counts."""
    outcomes = outcomes_of(plans)
    has_plan = np.array([outcome is AuditOutcome.RECOURSE for outcome in outcomes], bool)
    names, actions = np.array([*plans.action_names, ""], object), plans.actions
    texts = ["; ".join(name for name in row if name) for row in names[actions].tolist()]
    columns = {
        "outcome": [outcome.value for outcome in outcomes],
        "cost": np.where(has_plan, plans.costs, np.nan),
        "steps": np.where(has_plan, plans.lengths, np.nan),
        "optimal": plans.optimal & has_plan,
        "lower_bound": plans.lower_bounds,
        "queries": plans.queries_per_person + 1,
        "survival": np.where(has_plan, plans.survivals, np.nan),
        "plan": np.where(has_plan, np.array(texts, object), ""),
    }
    return pd.DataFrame(columns).astype(COLUMNS)


def decisions(box: BlackBox, planner: Planner, people: People) -> Bools:
    """Whether the decision about each person [B] is favourable."""
    session = box.session(planner.problem, people, scores=planner.uses_scores)
    return session(people.states, np.arange(len(people)))
