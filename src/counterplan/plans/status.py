"""`Status`: how the search for a plan ended."""

from enum import StrEnum


class Status(StrEnum):
    """Outcome of the search for a plan."""

    FOUND = "found"
    ALREADY_FAVOURABLE = "already_favourable"
    INFEASIBLE = "infeasible"
    """Proved: no legal plan within the limits changes the decision."""
    NOT_FOUND = "not_found"
    """The search ended without a plan and without a proof that none exists."""
