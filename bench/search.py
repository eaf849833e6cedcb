"""How well the agent's search does, over seeds: `python bench/search.py [BENCHMARK …] [--seeds 3] [--first 3] [--out FILE]`.

Trains an agent for each benchmark and seed on its refused training people, and plans for the first 100 refused test
people who are reachable: success, cost ÷ exact optimum, rows asked per person. One setting for all problems. "paper" is
an agent trained and searched with by the paper's preset, on the same people.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

import argparse
import json
import time
from pathlib import Path

import numpy as np
import pandas as pd

from counterplan import BlackBox, ExactPlanner, Plans, Recourse, SearchPlanner, benchmarks
from counterplan.agent.training import Training, TrainingSettings
from counterplan.benchmarks import Benchmark

BUDGETS = (1, 2, 3, 5, 10, 20, 50)
PLANNERS = ("search", "cascade", "policy", "paper", "paper_policy")


def figures(plans: Plans, optimum: np.ndarray, benchmark: Benchmark) -> dict[str, float]:
    """Success by what the model really says, mean cost ratio of the successes, rows asked per person."""
    good = np.array([plan.status == "found" and replayed(plan, benchmark) for plan in plans])
    ratio = np.array([plan.cost for plan in plans])[good] / optimum[good]
    length = [len(plan.steps) for plan, ok in zip(plans, good, strict=True) if ok]
    return {
        "success": float(good.mean()),
        "ratio": float(ratio.mean()) if good.any() else float("nan"),
        "asked": plans.queries / len(plans),
        "length": float(np.mean(length)) if length else float("nan"),
    }


def replayed(plan: object, benchmark: Benchmark) -> bool:
    return plan.replay(benchmark.problem, BlackBox(benchmark.model)).ok  # type: ignore[attr-defined]


def the_papers_way(benchmark: Benchmark, people: pd.DataFrame, optimum: np.ndarray, row: dict[str, object]) -> None:
    """Training and search by the paper's preset."""
    training = Training(
        benchmark.problem,
        benchmark.problem.read(benchmark.refused_train),
        BlackBox(benchmark.model),
        TrainingSettings.preset("paper"),
        row["seed"],  # type: ignore[arg-type]
    )
    published = training.run()
    row["paper_training_queries"] = training.queries
    planner = SearchPlanner(benchmark.problem, BlackBox(benchmark.model), published, settings="paper")
    row["paper"] = figures(planner.plan(people, refused=True), optimum, benchmark)
    alone = Recourse(benchmark.problem, BlackBox(benchmark.model), agent=published)
    row["paper_policy"] = figures(alone.recommend(people, "policy", refused=True), optimum, benchmark)


def one(name: str, seed: int, paper: bool) -> dict[str, object]:
    benchmark = benchmarks.load(name, seed)
    people = benchmark.refused_test.head(130)
    exact = ExactPlanner(benchmark.problem, BlackBox(benchmark.model)).plan(people, refused=True)
    reachable = [plan.status == "found" for plan in exact]
    people = people[reachable].head(100)
    optimum = np.array([plan.cost for plan in exact if plan.status == "found"])[:100]
    box = BlackBox(benchmark.model)
    start = time.process_time()
    training = Training(
        benchmark.problem, benchmark.problem.read(benchmark.refused_train), box, TrainingSettings(), seed
    )
    agent = training.run()
    row: dict[str, object] = {"benchmark": name, "seed": seed, "training_cpu": time.process_time() - start}
    row |= {"training_queries": training.queries, "people": len(people)}
    for planner in ("search", "policy", "cascade"):
        recourse = Recourse(benchmark.problem, BlackBox(benchmark.model), agent=agent)
        row[planner] = figures(recourse.recommend(people, planner, refused=True), optimum, benchmark)
    if paper:
        the_papers_way(benchmark, people, optimum, row)
    row["budgets"] = {}
    for budget in BUDGETS:
        recourse = Recourse(benchmark.problem, BlackBox(benchmark.model), agent=agent)
        plans = recourse.recommend(people, "search", refused=True, budget=budget)
        row["budgets"][budget] = figures(plans, optimum, benchmark)  # type: ignore[index]
    return row


def interval(values: list[float]) -> str:
    """Mean and, over seeds, the half-width of a 95 % interval (Student's t)."""
    wide = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78}.get(len(values), 2.0)
    half = wide * np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else float("nan")
    return f"{np.mean(values):.3f} ± {half:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", default=benchmarks.NAMES)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first", type=int, default=3, help="the first seed (choices were made looking at 0 to 2)")
    parser.add_argument("--no-paper", action="store_true", help="leave the paper's preset out")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    rows = []
    seeds = range(options.first, options.first + options.seeds)
    for name in options.names or benchmarks.NAMES:
        mine = [one(name, seed, not options.no_paper) for seed in seeds]
        rows += mine
        for planner in [key for key in PLANNERS if key in mine[0]]:
            told = {key: interval([row[planner][key] for row in mine]) for key in ("success", "ratio", "asked")}
            print(f"{name:9} {planner:12} success {told['success']}  ratio {told['ratio']}  asked {told['asked']}")
        cost = interval([row["training_cpu"] for row in mine])
        paid = interval([row["training_queries"] for row in mine])
        print(f"{name:9} training: {paid} rows, {cost} CPU s", end="")
        if not options.no_paper:
            print(f"; the paper's way: {interval([row['paper_training_queries'] for row in mine])} rows", end="")
        print(flush=True)
        if options.out:
            options.out.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
