"""Shared by the benchmarks of planners: people to plan for, and measures of plans."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from counterplan import BlackBox, ExactPlanner, Plans, Problem
from counterplan.experiments.statistics import Interval

PEOPLE = 100
BENCHMARKS = ("german", "adult", "syn", "syn_long", "taiwan")
BUDGETS = (1, 2, 3, 5, 10, 20, 50)


def seeded_parser(seeds: Sequence[int], benchmarks: Sequence[str] = BENCHMARKS) -> argparse.ArgumentParser:
    """Options of a benchmark of planners that are fitted first, with fresh `seeds` by default."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--benchmarks", nargs="+", default=list(benchmarks))
    parser.add_argument("--seeds", nargs="+", type=int, default=list(seeds), help="settings were tuned on 3 to 5")
    parser.add_argument("--surrogates", type=Path, help="a folder for fitted surrogates")
    parser.add_argument("--out", type=Path)
    return parser


class Refused(NamedTuple):
    """Refused people, by whether a plan exists for them."""

    feasible: pd.DataFrame
    """The first 100 people who have a plan."""
    optimum: np.ndarray
    """The optimal cost of each of these."""
    infeasible: pd.DataFrame
    """The people among the first 130 without a plan, as exact search proves."""

    def __str__(self) -> str:
        return f"{len(self.feasible)} people with a plan, {len(self.infeasible)} without any"


def by_feasibility(problem: Problem, model: object, refused: pd.DataFrame) -> Refused:
    """Split the first refused people by exact search."""
    people = refused.head(PEOPLE + 30)
    exact = ExactPlanner(problem, BlackBox(model)).plan(people, refused=True)
    status, cost = np.array([str(plan.status) for plan in exact]), np.array([plan.cost for plan in exact])
    found = status == "found"
    return Refused(people[found].head(PEOPLE), cost[found][:PEOPLE], people[status == "infeasible"])


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


def infeasible_measures(people: pd.DataFrame, plan: Callable[[pd.DataFrame], Plans]) -> dict[str, float]:
    """The number of `people` without any plan, and the queries per person that `plan` spends on them."""
    spent = plan(people).queries / len(people) if len(people) else float("nan")
    return {"infeasible": len(people), "infeasible_queries": spent}


def interval(values: Sequence[float]) -> str:
    """Mean over seeds, and half the width of its 95 % interval (Student's t)."""
    mean, half, _ = Interval.of(values)
    return f"{mean:.3f} ± {half:.3f}"


def summary(rows: Sequence[dict[str, Any]], key: str) -> str:
    """Success, cost ratio and queries of one planner, over seeds; apart, people without a plan and queries on them."""
    names = ("success", "ratio", "queries")
    text = "  ".join(f"{name} {interval([row[key][name] for row in rows])}" for name in names)
    counts = [row[key].get("infeasible", 0) for row in rows]
    if not any(counts):
        return text
    spent = sum(row[key]["infeasible_queries"] * count for row, count in zip(rows, counts, strict=True) if count)
    return f"{text}  infeasible {sum(counts)} people, queries {spent / sum(counts):.1f}"
