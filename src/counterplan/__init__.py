"""Explainable algorithmic recourse: which actions, in which order, overturn a decision at the least effort.

Each name is imported when it is first used, so that a program runs without what made it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from counterplan import benchmarks
    from counterplan.agent.training import TrainingSettings
    from counterplan.blackbox import BlackBox, BudgetSpent
    from counterplan.errors import (
        CounterplanError,
        ModelError,
        NotFittedError,
        PeopleError,
        PlanError,
        ProblemError,
        SettingError,
        StorageError,
    )
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
    from counterplan.plans import Plan, Plans, Reason, Replay, Status, Step
    from counterplan.problem import People, Problem
    from counterplan.program import Program
    from counterplan.recourse import Recourse
    from counterplan.storage.answer_cache import LabelledStates
    from counterplan.surrogate import Surrogate
    from counterplan.surrogate.acquisition import GuideSettings
    from counterplan.surrogate.active_learning import LearningSettings

__version__ = "0.2.0"

__all__ = [
    "BlackBox",
    "BudgetSpent",
    "CascadePlanner",
    "CounterplanError",
    "EvolutionPlanner",
    "EvolutionSettings",
    "ExactPlanner",
    "GuideSettings",
    "GuidedPlanner",
    "LabelledStates",
    "LearningSettings",
    "ModelError",
    "NotFittedError",
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
    "Reason",
    "Recourse",
    "Replay",
    "SearchPlanner",
    "SettingError",
    "Status",
    "Step",
    "StorageError",
    "Surrogate",
    "TrainingSettings",
    "benchmarks",
]

_ROOMS = {
    "agent.training": ("TrainingSettings",),
    "storage.answer_cache": ("LabelledStates",),
    "blackbox": ("BlackBox", "BudgetSpent"),
    "errors": (
        "CounterplanError",
        "ModelError",
        "NotFittedError",
        "PeopleError",
        "PlanError",
        "ProblemError",
        "SettingError",
        "StorageError",
    ),
    "plans": ("Reason", "Plan", "Plans", "Replay", "Status", "Step"),
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
    "surrogate.acquisition": ("GuideSettings",),
    "surrogate.active_learning": ("LearningSettings",),
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
