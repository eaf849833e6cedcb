"""How well the agent's search does, over seeds: `python bench/search.py [BENCHMARK …] [--seeds 3] [--out FILE]`.

Trains an agent for each benchmark and seed on its refused training people, and plans for the first 100 refused test
people who are reachable: success, cost ÷ exact optimum, rows asked per person. One setting for all problems. "paper" is
an agent trained and searched with by the paper's preset, on the same people.
"""

import argparse
import json
import time
from pathlib import Path

import common  # first: it sets the number of threads
import numpy as np
import pandas as pd

from counterplan import BlackBox, Recourse, SearchPlanner, benchmarks
from counterplan.agent.training import AgentTrainer, TrainingSettings
from counterplan.benchmarks import Benchmark

PLANNERS = ("search", "cascade", "policy", "paper", "paper_policy")


def the_papers_way(benchmark: Benchmark, people: pd.DataFrame, optimum: np.ndarray, row: dict[str, object]) -> None:
    """Training and search by the paper's preset."""
    start = time.process_time()
    read, box = benchmark.problem.read(benchmark.refused_train), BlackBox(benchmark.model)
    training = AgentTrainer(benchmark.problem, read, box, TrainingSettings.preset("paper"), row["seed"])  # type: ignore[arg-type]
    published = training.run()
    row |= {"paper_training_queries": training.queries, "paper_training_cpu": time.process_time() - start}
    planner = SearchPlanner(benchmark.problem, BlackBox(benchmark.model), published, settings="paper")
    row["paper"] = common.figures(planner.plan(people, refused=True), optimum, benchmark.problem, benchmark.model)
    alone = Recourse(benchmark.problem, BlackBox(benchmark.model), agent=published)
    row["paper_policy"] = common.figures(
        alone.recommend(people, "policy", refused=True), optimum, benchmark.problem, benchmark.model
    )


def one(name: str, seed: int, ours: bool, paper: bool) -> dict[str, object]:
    benchmark = benchmarks.load(name, seed)
    people, optimum = common.reachable(benchmark.problem, benchmark.model, benchmark.refused_test)
    row: dict[str, object] = {"benchmark": name, "seed": seed, "people": len(people)}
    if ours:
        our_way(benchmark, people, optimum, row)
    if paper:
        the_papers_way(benchmark, people, optimum, row)
    return row


def our_way(benchmark: Benchmark, people: pd.DataFrame, optimum: np.ndarray, row: dict[str, object]) -> None:
    """Training and search by default, the agent alone, the cascade, and search with other budgets."""
    start = time.process_time()
    read, box = benchmark.problem.read(benchmark.refused_train), BlackBox(benchmark.model)
    training = AgentTrainer(benchmark.problem, read, box, TrainingSettings(), row["seed"])  # type: ignore[arg-type]
    agent = training.run()
    row |= {"training_cpu": time.process_time() - start, "training_queries": training.queries}
    for planner in ("search", "policy", "cascade"):
        recourse = Recourse(benchmark.problem, BlackBox(benchmark.model), agent=agent)
        row[planner] = common.figures(
            recourse.recommend(people, planner, refused=True), optimum, benchmark.problem, benchmark.model
        )
    row["budgets"] = {}
    for budget in common.BUDGETS:
        recourse = Recourse(benchmark.problem, BlackBox(benchmark.model), agent=agent)
        plans = recourse.recommend(people, "search", refused=True, budget=budget)
        row["budgets"][budget] = common.figures(plans, optimum, benchmark.problem, benchmark.model)  # type: ignore[index]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", default=benchmarks.NAMES)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first", type=int, default=3, help="the first seed (choices were made looking at 0 to 2)")
    parser.add_argument("--no-paper", action="store_true", help="leave the paper's preset out")
    parser.add_argument("--only-paper", action="store_true", help="the paper's preset and nothing else")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    rows = []
    seeds = range(options.first, options.first + options.seeds)
    for name in options.names or benchmarks.NAMES:
        mine = [one(name, seed, not options.only_paper, not options.no_paper) for seed in seeds]
        rows += mine
        for planner in [key for key in PLANNERS if key in mine[0]]:
            print(f"{name:9} {planner:12} {common.told(mine, planner)}")
        for way in ("", "paper_"):
            if f"{way}training_queries" in mine[0]:
                paid, cost = (
                    common.interval([row[f"{way}training_{what}"] for row in mine]) for what in ("queries", "cpu")
                )
                print(f"{name:9} {way}training: {paid} rows, {cost} CPU s", flush=True)
        if options.out:
            options.out.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
