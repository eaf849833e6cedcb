"""Planners that other packages offer by name: entry points of the group `counterplan.planners`."""

from __future__ import annotations

from importlib.metadata import entry_points

from counterplan.errors import PlanError
from counterplan.planners.base import Planner

GROUP = "counterplan.planners"


def offered() -> list[str]:
    """The names under which installed packages offer planners; nothing is imported for that."""
    return sorted({point.name for point in entry_points(group=GROUP)})


def offered_planner(name: str) -> type[Planner] | None:
    """The planner that an installed package offers as `name`, if one does; a PlanError says so if it is of no use."""
    points = list(entry_points(group=GROUP, name=name))
    if not points:
        return None
    if len({point.value for point in points}) > 1:
        both = " and ".join(sorted(point.value for point in points))
        raise PlanError(f"the planner '{name}' is offered by more than one package, as {both}: uninstall one of them")
    try:
        planner = points[0].load()
    except Exception as error:  # whatever goes wrong in another package
        raise PlanError(f"the planner '{name}' is offered as {points[0].value}, which fails: {error}") from error
    if not (isinstance(planner, type) and issubclass(planner, Planner)):
        raise PlanError(f"the planner '{name}' is offered as {points[0].value}, which is no counterplan.Planner")
    return planner
