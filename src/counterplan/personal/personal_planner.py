"""Planners that an elicitation can ask with: those that find several plans for a person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from counterplan.errors import SettingError
from counterplan.personal.alternatives import Alternatives
from counterplan.plans import Plans
from counterplan.problem import People, Problem
from counterplan.problem.values import cut

ONE_PLAN = ("program", "policy", "search", "paper", "evolution")
"""Built-in planners that find one plan for each person; refused before they ask for something to be learned first."""


class PersonalPlanner(Protocol):
    """A planner that plans with weights and alternatives, such as any `Planner` that `uses_alternatives`."""

    def plan(
        self,
        people: People,
        *,
        forbid: list[str],
        weights: Mapping[str, float],
        alternatives: Alternatives | None = None,
        deadline: float | None = None,
    ) -> Plans:
        """See `Planner.plan`."""


class PlannerSource(Protocol):
    """Creates planners for a problem, such as `Recourse`."""

    problem: Problem

    def planner(self, name: str | None = None, /) -> PersonalPlanner:
        """See `Recourse.planner`."""


def personal_planner(source: PlannerSource, planner: str | PersonalPlanner | None) -> PersonalPlanner:
    """The planner of a name, or the one that was passed.

    Parameters
    ----------
    source : Recourse
    planner : str, Planner or None
        None for the default of `source`.

    Returns
    -------
    Planner

    Raises
    ------
    SettingError
        If there is no such planner, or it finds one plan for each person only.
    NotFittedError
        If the planner needs something that was not learned yet.
    """
    if isinstance(planner, type):
        raise SettingError(
            f"'planner' must be a name or a planner, not the class {planner.__name__}: pass "
            f"recourse.planner({planner.__name__})"
        )
    if planner in ONE_PLAN:
        raise _one_plan(str(planner))
    found = source.planner(planner) if planner is None or isinstance(planner, str) else planner
    if not callable(getattr(found, "plan", None)):
        raise SettingError(f"'planner' must be a name, such as 'exact', or a planner; not {planner!r}")
    parts = getattr(found, "planners", (found,))  # a cascade has several
    if not any(getattr(part, "uses_alternatives", True) for part in parts):
        name = planner if isinstance(planner, str) else getattr(found, "name", type(found).__name__)
        raise _one_plan(name)
    return found


def require_source(source: object) -> None:
    """Raise a SettingError if `source` cannot plan."""
    if not callable(getattr(source, "planner", None)):
        raise SettingError(f"'recourse' must be a Recourse, which plans and has the model; not {cut(repr(source))}")


def _one_plan(name: str) -> SettingError:
    return SettingError(
        f"planner '{name}' finds one plan for each person, and a question compares several: plan with auto, exact, "
        "guided or card"
    )
