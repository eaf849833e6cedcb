"""Shared by the benchmarks of planners: people to plan for, and measures of plans."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from counterplan import BlackBox, ExactPlanner, Plans, Problem
from counterplan.experiments.statistics import Interval

PEOPLE = 100
BUDGETS = (1, 2, 3, 5, 10, 20, 50)


def feasible(problem: Problem, model: object, refused: pd.DataFrame) -> tuple[pd.DataFrame, np.ndarray]:
    """The first 100 refused people for whom a plan exists, and the optimal cost of each."""
    people = refused.head(PEOPLE + 30)
    exact = ExactPlanner(problem, BlackBox(model)).plan(people, refused=True)
    found = [plan.status == "found" for plan in exact]
    return people[found].head(PEOPLE), np.array([plan.cost for plan in exact if plan.status == "found"])[:PEOPLE]


def measures(plans: Plans, optimum: np.ndarray, problem: Problem, model: object) -> dict[str, float]:
    """Success by the model itself, mean cost ratio of the successes, queries per person."""
    success = np.array([plan.status == "found" and plan.replay(problem, BlackBox(model)).ok for plan in plans])
    ratio = np.array([plan.cost for plan in plans])[success] / optimum[success]
    length = [len(plan.steps) for plan, ok in zip(plans, success, strict=True) if ok]
    return {
        "success": float(success.mean()),
        "ratio": float(ratio.mean()) if success.any() else float("nan"),
        "queries": plans.queries / len(plans),
        "length": float(np.mean(length)) if length else float("nan"),
    }


def interval(values: Sequence[float]) -> str:
    """Mean over seeds, and half the width of its 95 % interval (Student's t)."""
    mean, half, _ = Interval.of(values)
    return f"{mean:.3f} ± {half:.3f}"


def summary(rows: Sequence[dict[str, Any]], key: str) -> str:
    """Success, cost ratio and queries of one planner, over seeds."""
    names = ("success", "ratio", "queries")
    return "  ".join(f"{name} {interval([row[key][name] for row in rows])}" for name in names)
