"""Explainable algorithmic recourse: which actions, in which order, overturn a decision at the least effort.

Each name is imported when it is first used, so that a program runs without what made it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from counterplan import benchmarks
    from counterplan.agent.training import TrainingSettings
    from counterplan.answers import Answers
    from counterplan.blackbox import BlackBox, BudgetSpent
    from counterplan.errors import CounterplanError, ModelError, PeopleError, PlanError, ProblemError
    from counterplan.plan import Because, Plan, Plans, Replay, Status, Step
    from counterplan.planners import (
        CascadePlanner,
        EvolutionPlanner,
        EvolutionSettings,
        ExactPlanner,
        GuidedPlanner,
        Planner,
        PolicyPlanner,
        ProgramPlanner,
        SearchPlanner,
    )
    from counterplan.problem import People, Problem
    from counterplan.program import Program
    from counterplan.recourse import Recourse
    from counterplan.surrogate import Surrogate
    from counterplan.surrogate.asking import GuideSettings
    from counterplan.surrogate.training import LearningSettings

__version__ = "0.1.0"

__all__ = [
    "Answers",
    "Because",
    "BlackBox",
    "BudgetSpent",
    "CascadePlanner",
    "CounterplanError",
    "EvolutionPlanner",
    "EvolutionSettings",
    "ExactPlanner",
    "GuideSettings",
    "GuidedPlanner",
    "LearningSettings",
    "ModelError",
    "People",
    "PeopleError",
    "Plan",
    "PlanError",
    "Planner",
    "Plans",
    "PolicyPlanner",
    "Problem",
    "ProblemError",
    "Program",
    "ProgramPlanner",
    "Recourse",
    "Replay",
    "SearchPlanner",
    "Status",
    "Step",
    "Surrogate",
    "TrainingSettings",
    "benchmarks",
]

_ROOMS = {
    "agent.training": ("TrainingSettings",),
    "answers": ("Answers",),
    "blackbox": ("BlackBox", "BudgetSpent"),
    "errors": ("CounterplanError", "ModelError", "PeopleError", "PlanError", "ProblemError"),
    "plan": ("Because", "Plan", "Plans", "Replay", "Status", "Step"),
    "planners": (
        "CascadePlanner",
        "EvolutionPlanner",
        "EvolutionSettings",
        "ExactPlanner",
        "GuidedPlanner",
        "Planner",
        "PolicyPlanner",
        "ProgramPlanner",
        "SearchPlanner",
    ),
    "problem": ("People", "Problem"),
    "program": ("Program",),
    "recourse": ("Recourse",),
    "surrogate": ("Surrogate",),
    "surrogate.asking": ("GuideSettings",),
    "surrogate.training": ("LearningSettings",),
}
_ROOM_OF = {name: room for room, names in _ROOMS.items() for name in names}


def __getattr__(name: str) -> Any:
    if name == "benchmarks":
        return import_module("counterplan.benchmarks")
    if name not in _ROOM_OF:
        raise AttributeError(f"module 'counterplan' has no attribute '{name}'")
    value = globals()[name] = getattr(import_module(f"counterplan.{_ROOM_OF[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
