"""Ways to find plans, behind one interface. They know problems, black boxes, plans and agents, and nothing above."""

from counterplan.planners.base import Planner
from counterplan.planners.cascade import CascadePlanner
from counterplan.planners.exact import ExactPlanner
from counterplan.planners.policy import PolicyPlanner
from counterplan.planners.search import SearchPlanner

__all__ = ["CascadePlanner", "ExactPlanner", "Planner", "PolicyPlanner", "SearchPlanner"]
