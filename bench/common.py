"""What the benchmarks of planners share: whom to plan for, and how a planner did."""

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


def reachable(problem: Problem, model: object, refused: pd.DataFrame) -> tuple[pd.DataFrame, np.ndarray]:
    """The first 100 refused people who are reachable, and the least effort of each."""
    people = refused.head(PEOPLE + 30)
    exact = ExactPlanner(problem, BlackBox(model)).plan(people, refused=True)
    found = [plan.status == "found" for plan in exact]
    return people[found].head(PEOPLE), np.array([plan.cost for plan in exact if plan.status == "found"])[:PEOPLE]


def figures(plans: Plans, optimum: np.ndarray, problem: Problem, model: object) -> dict[str, float]:
    """Success by what the model really says, mean cost ratio of the successes, rows asked per person."""
    good = np.array([plan.status == "found" and plan.replay(problem, BlackBox(model)).ok for plan in plans])
    ratio = np.array([plan.cost for plan in plans])[good] / optimum[good]
    length = [len(plan.steps) for plan, ok in zip(plans, good, strict=True) if ok]
    return {
        "success": float(good.mean()),
        "ratio": float(ratio.mean()) if good.any() else float("nan"),
        "asked": plans.queries / len(plans),
        "length": float(np.mean(length)) if length else float("nan"),
    }


def interval(values: Sequence[float]) -> str:
    """Mean and, over seeds, the half-width of a 95 % interval (Student's t)."""
    found = Interval.of(values)
    return f"{found.mean:.3f} ± {found.half:.3f}"


def told(rows: Sequence[dict[str, Any]], key: str) -> str:
    """Success, ratio and questions of one planner, over seeds."""
    return "  ".join(f"{what} {interval([row[key][what] for row in rows])}" for what in ("success", "ratio", "asked"))
