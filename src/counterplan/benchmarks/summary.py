"""Statistics of the benchmarks: sizes, accuracy, and the optimal plans of refused people."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterplan.benchmarks.suite import Benchmark
from counterplan.blackbox import BlackBox
from counterplan.planners import ExactPlanner
from counterplan.plans import Status

COLUMNS = (
    ("rows", "people", ","),
    ("favourable", "favourable by the model", ","),
    ("unfavourable", "unfavourable by the model", ","),
    ("features", "features", ","),
    ("binary_features", "binary features", ","),
    ("functions", "functions, STOP included", ","),
    ("accuracy", "accuracy of the model on test people", ".3f"),
    ("refused", "refused test people looked at", ","),
    ("reachable", "of these reachable", ".1%"),
    ("optimal_cost", "mean least effort", ".2f"),
    ("optimal_length", "mean steps of the best plan", ".2f"),
    ("shortest", "fewest steps", ","),
    ("longest", "most steps", ","),
)
"""Key, label and format of each statistic."""


def describe(benchmark: Benchmark, people: int) -> dict[str, Any]:
    """The statistics of one benchmark; those on plans are over its first `people` refused test people (german: all)."""
    problem = benchmark.problem
    splits = [problem.read(benchmark.train), problem.read(benchmark.test)]
    favourable = sum(int(benchmark.model.favourable(part.states).sum()) for part in splits)
    refused = benchmark.refused_test if benchmark.name == "german" else benchmark.refused_test.head(people)
    plans = ExactPlanner(problem, BlackBox(benchmark.model)).plan(refused)
    successes = [plan for plan in plans if plan.status is Status.FOUND]
    rows = sum(map(len, splits))
    lengths = [len(plan.steps) for plan in successes]
    return {
        "name": benchmark.name,
        "seed": benchmark.seed,
        "rows": rows,
        "favourable": favourable,
        "unfavourable": rows - favourable,
        "features": len(problem.features),
        "binary_features": len(problem.encoding(splits[0])),
        "functions": len(problem.transitions.functions) + 1,
        "accuracy": benchmark.accuracy(),
        "refused": len(plans),
        "reachable": len(successes) / len(plans) if len(plans) else None,
        "optimal_cost": float(np.mean([plan.cost for plan in successes])) if successes else None,
        "optimal_length": float(np.mean(lengths)) if successes else None,
        "shortest": min(lengths, default=None),
        "longest": max(lengths, default=None),
    }
