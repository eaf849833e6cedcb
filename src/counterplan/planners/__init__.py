"""Ways to find plans, behind one interface. They know problems, black boxes, plans, agents, surrogates."""

from counterplan.planners.base import Planner
from counterplan.planners.cascade import CascadePlanner
from counterplan.planners.evolution import EvolutionPlanner, EvolutionSettings
from counterplan.planners.exact import ExactPlanner
from counterplan.planners.guided import GuidedPlanner
from counterplan.planners.policy import PolicyPlanner
from counterplan.planners.program import ProgramPlanner
from counterplan.planners.search import SearchPlanner

__all__ = [
    "CascadePlanner",
    "EvolutionPlanner",
    "EvolutionSettings",
    "ExactPlanner",
    "GuidedPlanner",
    "Planner",
    "PolicyPlanner",
    "ProgramPlanner",
    "SearchPlanner",
]
