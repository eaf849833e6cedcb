"""Time of the exact planner, and its growth: `python bench/exact.py` (CPU time of one core)."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import time

import numpy as np
import pandas as pd

from counterplan import BlackBox, ExactPlanner, Plans, Problem, benchmarks
from counterplan.benchmarks import Benchmark

TARGETS = {"german": 20, "adult": 20, "syn": 20, "syn_long": 150, "taiwan": 100}
"""CPU milliseconds for each feasible person, over the first 100 refused test people."""


def measured(problem: Problem, benchmark: Benchmark, people: pd.DataFrame) -> tuple[Plans, float]:
    """The plans, and CPU milliseconds for each person."""
    planner = ExactPlanner(problem, BlackBox(benchmark.model, cache_size=0))
    start = time.process_time()
    plans = planner.plan(people)
    return plans, (time.process_time() - start) * 1000 / len(people)


def by_feasibility(benchmark: Benchmark, limit: int) -> tuple[pd.DataFrame, list[int]]:
    """The feasible people among the first refused ones, and the queries on each of the others."""
    people = benchmark.refused_test.head(limit)
    plans, _ = measured(benchmark.problem, benchmark, people)
    return people[plans.statuses == "found"], [plan.queries for plan in plans if plan.status != "found"]


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    print("The first 100 refused, feasible test people")
    heads = f"{'':9} {'people':>6} {'ms each':>8} {'target':>7} {'queries':>10} {'median':>7}"
    print(f"{heads} {'infeasible':>11} {'queries':>8}")
    for name, target in TARGETS.items():
        benchmark = benchmarks.load(name)
        people, others = by_feasibility(benchmark, 100)
        plans, each = measured(benchmark.problem, benchmark, people)
        queries = [plan.queries for plan in plans]
        line = f"{name:9} {len(plans):6} {each:8.1f} {target:7} {np.mean(queries):10,.0f} {np.median(queries):7,.0f}"
        print(f"{line} {len(others):11} {np.mean(others) if others else 0:8,.0f}")

    print("\nGrowth with people: CPU ms for each of 1, 100, 10,000 refused people (or all)")
    for name in benchmarks.NAMES:
        benchmark = benchmarks.load(name)
        refused = pd.concat([benchmark.refused_test, benchmark.refused_train], ignore_index=True)
        row = []
        for count in (1, 100, 10_000):
            people = refused.head(min(count, 1_000) if name == "syn_long" else count)
            repeat = 20 if count == 1 else 1
            times = [
                measured(benchmark.problem, benchmark, refused.iloc[[i]] if count == 1 else people)[1]
                for i in range(repeat)
            ]
            row.append(f"{len(people):6,}: {np.mean(times):6.1f}")
        print(f"{name:9} {'   '.join(row)}")

    print("\nGrowth with max_actions: CPU ms for each of 50 refused people (and the number of feasible ones)")
    for name in benchmarks.NAMES:
        benchmark = benchmarks.load(name)
        row = []
        for longest in (1, 2, 3, 4, 6, 8):
            if longest > 4 and name == "adult":
                break
            problem = Problem.from_dict(benchmark.problem.to_dict() | {"max_actions": longest})
            plans, each = measured(problem, benchmark, benchmark.refused_test.head(50))
            row.append(f"{longest}: {each:6.1f} ({plans.counts['found']})")
        print(f"{name:9} {'   '.join(row)}")


if __name__ == "__main__":
    main()
