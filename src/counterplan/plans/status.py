"""`Status`: how the search for a plan ended."""

from enum import StrEnum


class Status(StrEnum):
    """Outcome of the search for a plan.

    Examples
    --------
    >>> from counterplan import ExactPlanner, Status, benchmarks
    >>> german = benchmarks.load("german")
    >>> planner = ExactPlanner(german.problem, german.model)
    >>> plans = planner.plan(german.test.head(5))
    >>> plans.statuses[0] is Status.ALREADY_FAVOURABLE
    True
    >>> plans[4].status.value
    'found'
    """

    FOUND = "found"
    ALREADY_FAVOURABLE = "already_favourable"
    INFEASIBLE = "infeasible"
    """Proved: no legal plan within the limits changes the decision."""
    NOT_FOUND = "not_found"
    """The search ended without a plan and without a proof that none exists."""
