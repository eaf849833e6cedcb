"""Ways to find plans, behind one interface. They know problems, black boxes and plans, and nothing above."""

from counterplan.planners.base import Planner
from counterplan.planners.exact import ExactPlanner

__all__ = ["ExactPlanner", "Planner"]
