"""Explainable algorithmic recourse: which actions, in which order, overturn a decision at the least effort."""

from counterplan import benchmarks
from counterplan.blackbox import BlackBox, BudgetSpent
from counterplan.errors import CounterplanError, ModelError, PeopleError, PlanError, ProblemError
from counterplan.plan import Plan, Plans, Replay, Status, Step
from counterplan.planners import ExactPlanner, Planner
from counterplan.problem import People, Problem

__version__ = "0.1.0"

__all__ = [
    "BlackBox",
    "BudgetSpent",
    "CounterplanError",
    "ExactPlanner",
    "ModelError",
    "People",
    "PeopleError",
    "Plan",
    "PlanError",
    "Planner",
    "Plans",
    "Problem",
    "ProblemError",
    "Replay",
    "Status",
    "Step",
    "benchmarks",
]
