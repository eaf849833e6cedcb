"""What other packages offer by name: planners are entry points of the group `counterplan.planners`."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

from counterplan.errors import PlanError
from counterplan.planners.base import Planner

GROUP = "counterplan.planners"


def plugin_names(group: str = GROUP) -> list[str]:
    """The names under which installed packages offer something; nothing is imported for that."""
    return sorted({point.name for point in entry_points(group=group)})


def load_plugin(what: str, name: str, group: str) -> tuple[Any, str] | None:
    """What an installed package offers as `name`, and where it is from; a PlanError says so if it is of no use."""
    points = list(entry_points(group=group, name=name))
    if not points:
        return None
    if len({point.value for point in points}) > 1:
        both = " and ".join(sorted(point.value for point in points))
        raise PlanError(f"the {what} '{name}' is offered by more than one package, as {both}: uninstall one of them")
    try:
        return points[0].load(), points[0].value
    except Exception as error:  # whatever goes wrong in another package
        raise PlanError(f"the {what} '{name}' is offered as {points[0].value}, which fails: {error}") from error


def planner_plugin(name: str) -> type[Planner] | None:
    """The planner that an installed package offers as `name`, if one does; a PlanError says so if it is of no use."""
    found = load_plugin("planner", name, GROUP)
    if found is None:
        return None
    planner, where = found
    if not (isinstance(planner, type) and issubclass(planner, Planner)):
        raise PlanError(f"the planner '{name}' is offered as {where}, which is no counterplan.Planner")
    return planner
