"""Planners behind one interface, and their registry.

May import: everything but distillation, explanation, figures, recourse, benchmarks, inputs, counterplan, experiments,
cli.
"""

from counterplan.planners.auto import AutoDecision, AutoPlanner, AutoSettings
from counterplan.planners.base import Planner
from counterplan.planners.cascade import CascadePlanner
from counterplan.planners.evolution import EvolutionPlanner, EvolutionSettings
from counterplan.planners.exact import ExactPlanner
from counterplan.planners.guided import GuidedPlanner
from counterplan.planners.policy import PolicyPlanner
from counterplan.planners.program import ProgramPlanner
from counterplan.planners.search import SearchPlanner
from counterplan.planners.task import Goal, PlanningTask

__all__ = [
    "AutoDecision",
    "AutoPlanner",
    "AutoSettings",
    "CascadePlanner",
    "EvolutionPlanner",
    "EvolutionSettings",
    "ExactPlanner",
    "Goal",
    "GuidedPlanner",
    "Planner",
    "PlanningTask",
    "PolicyPlanner",
    "ProgramPlanner",
    "SearchPlanner",
]
