"""Explainable algorithmic recourse: which actions, in which order, overturn a decision at the least effort."""

from counterplan import benchmarks
from counterplan.answers import Answers
from counterplan.blackbox import BlackBox, BudgetSpent
from counterplan.errors import CounterplanError, ModelError, PeopleError, PlanError, ProblemError
from counterplan.plan import Plan, Plans, Replay, Status, Step
from counterplan.planners import CascadePlanner, ExactPlanner, GuidedPlanner, Planner, PolicyPlanner, SearchPlanner
from counterplan.problem import People, Problem
from counterplan.recourse import Recourse
from counterplan.surrogate import Surrogate
from counterplan.surrogate.asking import GuideSettings

__version__ = "0.1.0"

__all__ = [
    "Answers",
    "BlackBox",
    "BudgetSpent",
    "CascadePlanner",
    "CounterplanError",
    "ExactPlanner",
    "GuideSettings",
    "GuidedPlanner",
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
    "Recourse",
    "Replay",
    "SearchPlanner",
    "Status",
    "Step",
    "Surrogate",
    "benchmarks",
]
