"""Planners behind one interface, and their registry. Names are imported on first use: few runs need all planners.

May import: everything but causal, distillation, explanation, figures, audit, recourse, benchmarks, inputs, batch,
counterplan, experiments, cli.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from counterplan.planners.auto import AutoDecision, AutoPlanner, AutoSettings
    from counterplan.planners.base import Planner
    from counterplan.planners.card import CardPlanner
    from counterplan.planners.cascade import CascadePlanner
    from counterplan.planners.evolution import EvolutionPlanner, EvolutionSettings
    from counterplan.planners.exact import ExactPlanner
    from counterplan.planners.guided import GuidedPlanner
    from counterplan.planners.policy import PolicyPlanner
    from counterplan.planners.program import ProgramPlanner
    from counterplan.planners.search import SearchPlanner
    from counterplan.planners.targets import TargetPlanner
    from counterplan.planners.task import PlanningTask

__all__ = [
    "AutoDecision",
    "AutoPlanner",
    "AutoSettings",
    "CardPlanner",
    "CascadePlanner",
    "EvolutionPlanner",
    "EvolutionSettings",
    "ExactPlanner",
    "GuidedPlanner",
    "Planner",
    "PlanningTask",
    "PolicyPlanner",
    "ProgramPlanner",
    "SearchPlanner",
    "TargetPlanner",
]

_MODULE_OF = {
    "AutoDecision": "auto",
    "AutoPlanner": "auto",
    "AutoSettings": "auto",
    "Planner": "base",
    "CardPlanner": "card",
    "CascadePlanner": "cascade",
    "EvolutionPlanner": "evolution",
    "EvolutionSettings": "evolution",
    "ExactPlanner": "exact",
    "GuidedPlanner": "guided",
    "PolicyPlanner": "policy",
    "ProgramPlanner": "program",
    "SearchPlanner": "search",
    "TargetPlanner": "targets",
    "PlanningTask": "task",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'counterplan.planners' has no attribute '{name}'")
    value = globals()[name] = getattr(import_module(f"counterplan.planners.{_MODULE_OF[name]}"), name)
    return value
