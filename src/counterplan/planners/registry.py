"""Planners by name: built-in ones and those of other packages, through the same entry-point group.

A planner class names the learned objects that it needs in `requires`, and gets them as keyword arguments.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from counterplan.blackbox import BlackBox
from counterplan.errors import NotFittedError, SettingError
from counterplan.planners.base import Planner
from counterplan.planners.cascade import CascadePlanner
from counterplan.plugins import PLANNERS
from counterplan.problem import Problem
from counterplan.problem.values import did_you_mean

if TYPE_CHECKING:
    from counterplan.surrogate.acquisition import GuideSettings

BUILT_IN = ("auto", "guided", "program", "card", "search", "policy", "exact", "evolution")
"""Classes that counterplan itself declares as entry points."""
NAMES = ("auto", "guided", "program", "card", "cascade", "search", "policy", "exact", "evolution")
"""Planners to choose from; the first is the default."""
RESERVED = (*NAMES, "cascade+exact", "paper")
"""All names that other packages cannot use: built-in classes, and configurations of them."""

HOW_TO_FIT = "call fit(people, method='guided') or run 'counterplan fit --method guided' first"
"""How to get a surrogate."""
_SOURCES = {
    "surrogate": ("a surrogate", HOW_TO_FIT),
    "agent": ("an agent", "call fit(people, method='search') or run 'counterplan fit --method search' first"),
    "program": ("a program", "call distil(people) or run 'counterplan distil DIR' first"),
    "card": ("a card", "call distil(people, form='card') or run 'counterplan distil DIR --form card' first"),
}
"""What a planner may require, and how to get it."""

Learned = Mapping[str, Callable[[], Any]]
"""By name: functions that return the surrogate, agent, program or card, or None; called only if a planner uses it."""


def create_planner(
    name: str | type[Planner] | None,
    problem: Problem,
    box: BlackBox | object,
    learned: Learned | None = None,
    *,
    guide: GuideSettings | None = None,
) -> Planner:
    """Create a planner.

    Parameters
    ----------
    name : str, Planner class or None
        A built-in planner, "paper" (search with the settings of the paper), "cascade" (program or else policy, guided
        and search, as far as they are available), "cascade+exact" (with exact search at the end), the entry point of
        another package, or a class. None: "auto", which chooses among them.
    problem : Problem
    box : BlackBox or model
    learned : mapping of str to callable, optional
        Functions that return the "surrogate", the "agent", the "program" or the "card", or None. Each is called only
        if the planner uses it.
    guide : GuideSettings, optional
        Settings of the guided planner, also in a cascade or chosen by "auto".

    Returns
    -------
    Planner

    Raises
    ------
    SettingError
        If there is no such planner, or `guide` does not apply to it.
    NotFittedError
        If the planner requires something that was not learned yet.

    Examples
    --------
    >>> from counterplan import benchmarks
    >>> syn = benchmarks.load("syn")
    >>> create_planner("exact", syn.problem, syn.model).name
    'exact'
    """
    learned = learned or {}
    box = box if isinstance(box, BlackBox) else BlackBox(box)
    if name is None:
        name = NAMES[0]
    if guide is not None and name not in ("auto", "guided", "cascade", "cascade+exact"):
        raise SettingError(f"'price' applies to the planners 'auto' and 'guided' and to cascades, not to {name!r}")
    if name in ("cascade", "cascade+exact"):
        parts = _cascade_parts(problem, box, learned, guide)
        if not parts:
            raise NotFittedError(f"planner '{name}' requires an agent or a surrogate: {HOW_TO_FIT}")
        last = [create_planner("exact", problem, box)] if name == "cascade+exact" else []
        return CascadePlanner(problem, box, [*parts, *last])
    if name == "paper":
        return _create(planner_class("search"), "paper", problem, box, learned, settings="paper")
    options: dict[str, Any] = {} if guide is None else {"settings": guide}
    if isinstance(name, type) and issubclass(name, Planner):
        return _create(name, getattr(name, "name", name.__name__), problem, box, learned, **options)
    if not isinstance(name, str):
        raise SettingError(_unknown(name))
    return _create(planner_class(name), name, problem, box, learned, **options)


def planner_class(name: str) -> type[Planner]:
    """The class of a built-in planner, or of one that another package offers under this name.

    Raises
    ------
    SettingError
        If there is none, or it is unusable.
    """
    points = PLANNERS.points(name)
    if name not in BUILT_IN:
        if name in RESERVED or not points:
            raise SettingError(_unknown(name))
        return _checked(PLANNERS.load(points), name)
    own = [point for point in points if point.module.split(".")[0] == "counterplan"]
    foreign = sorted({point.value for point in points} - {point.value for point in own})
    if foreign:
        warnings.warn(
            f"{' and '.join(foreign)} cannot be used as planner '{name}': the name of a built-in planner is reserved",
            stacklevel=2,
        )
    outdated = (
        f"the built-in planner '{name}' is not in the metadata of the installed counterplan, which is of another "
        "version than its code: install counterplan again"
    )
    if not own:
        raise SettingError(outdated)
    try:
        return _checked(PLANNERS.load(own), name)
    except SettingError as error:
        raise SettingError(f"{outdated} ({error})") from error


def foreign_class(word: str) -> type[Planner] | None:
    """The planner of another package that a word names, by entry point or as MODULE:CLASS; None if there is none.

    Raises
    ------
    SettingError
        If it is unusable.
    """
    found = PLANNERS.find(word)
    return None if found is None else _checked(found, word)


def foreign_names() -> list[str]:
    """Names of the planners that other packages offer, sorted."""
    return [name for name in PLANNERS.names() if name not in RESERVED]


def _checked(found: Any, word: str) -> type[Planner]:
    if not (isinstance(found, type) and issubclass(found, Planner)):
        raise SettingError(f"the planner '{word}' is not a subclass of counterplan.Planner")
    return found


def _create(
    planner: type[Planner], name: str, problem: Problem, box: BlackBox, learned: Learned, **options: Any
) -> Planner:
    """An instance with everything that it requires."""
    required = {}
    for resource in planner.requires:
        if resource not in _SOURCES:
            raise SettingError(
                f"planner '{name}' requires '{resource}', which does not exist; there are {', '.join(_SOURCES)}"
            )
        required[resource] = _get(learned, resource)
        if required[resource] is None:
            what, way_out = _SOURCES[resource]
            raise NotFittedError(f"planner '{name}' requires {what}: {way_out}")
    options |= {resource: _get(learned, resource) for resource in planner.uses}
    if planner.chooses:
        options = {"learned": learned, "guide": options.get("settings")}
    return planner(problem, box, **required, **options)


def _get(learned: Learned, resource: str) -> Any | None:
    return learned[resource]() if resource in learned else None


def _cascade_parts(problem: Problem, box: BlackBox, learned: Learned, guide: GuideSettings | None) -> list[Planner]:
    """The planners of a cascade for which everything was learned, those with the fewest queries first."""
    has_program, has_agent, has_surrogate = (
        _get(learned, resource) is not None for resource in ("program", "agent", "surrogate")
    )
    available = {
        "program": has_program,
        "policy": has_agent and not has_program,
        "guided": has_surrogate,
        "search": has_agent,
    }
    return [
        create_planner(name, problem, box, learned, guide=guide if name == "guided" else None)
        for name, is_available in available.items()
        if is_available
    ]


def _unknown(name: object) -> str:
    known = (*RESERVED, *foreign_names())
    return f"there is no planner '{name}'{did_you_mean(str(name), known)}; there are {', '.join(known)}"
