"""Success, cost and queries of tree search: `python bench/search.py [BENCHMARK …] [--seeds 3] [--out FILE]`.

Trains an agent for each benchmark and seed on its refused training people, and plans for the first 100 refused,
feasible test people: success, cost ratio, queries per person; apart, the people without any plan and the queries
on them. The same settings for all problems. "paper" uses the
paper's preset for training and search, on the same people; `--only-paper --first 20` reports it on the seeds 20 to 22,
with success by seed, and the training queries and CPU seconds beside the published queries.
"""

import argparse
import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import common  # first: it sets the number of threads
import pandas as pd

from counterplan import BlackBox, Plans, PolicyPlanner, Recourse, SearchPlanner, benchmarks
from counterplan.agent.training import AgentTrainer
from counterplan.agent.training_settings import TrainingSettings
from counterplan.benchmarks import Benchmark
from counterplan.experiments.published import TRAINING_QUERIES

PLANNERS = ("search", "cascade", "policy", "paper", "paper_policy")


def measured(benchmark: Benchmark, refused: common.Refused, plan: Callable[[pd.DataFrame], Plans]) -> dict[str, float]:
    """Measures of a planner for people with a plan, and the queries that it spends on people without any."""
    found = common.measures(plan(refused.feasible), refused.optimum, benchmark.problem, benchmark.model)
    return found | common.infeasible_measures(refused.infeasible, plan)


def paper_preset(benchmark: Benchmark, refused: common.Refused, row: dict[str, object]) -> None:
    """Training and search with the paper's preset."""
    start = time.process_time()
    read, box = benchmark.problem.read(benchmark.refused_train), BlackBox(benchmark.model)
    training = AgentTrainer(benchmark.problem, read, box, TrainingSettings.preset("paper"), row["seed"])  # type: ignore[arg-type]
    agent = training.run()
    row |= {"paper_training_queries": training.queries, "paper_training_cpu": time.process_time() - start}
    for key, planner in (("paper", SearchPlanner), ("paper_policy", PolicyPlanner)):
        made = planner(benchmark.problem, BlackBox(benchmark.model), agent, settings="paper")
        row[key] = measured(benchmark, refused, partial(made.plan, refused=True))


def one(name: str, seed: int, default: bool, paper: bool) -> dict[str, object]:
    benchmark = benchmarks.load(name, seed)
    refused = common.by_feasibility(benchmark.problem, benchmark.model, benchmark.refused_test)
    row: dict[str, object] = {"benchmark": name, "seed": seed, "people": len(refused.feasible)}
    if default:
        default_preset(benchmark, refused, row)
    if paper:
        paper_preset(benchmark, refused, row)
    return row


def default_preset(benchmark: Benchmark, refused: common.Refused, row: dict[str, object]) -> None:
    """Training and search with the defaults, the agent alone, the cascade, and search with other budgets."""
    start = time.process_time()
    read, box = benchmark.problem.read(benchmark.refused_train), BlackBox(benchmark.model)
    training = AgentTrainer(benchmark.problem, read, box, TrainingSettings(), row["seed"])  # type: ignore[arg-type]
    agent = training.run()
    row |= {"training_cpu": time.process_time() - start, "training_queries": training.queries}
    for planner in ("search", "policy", "cascade"):
        recourse = Recourse(benchmark.problem, BlackBox(benchmark.model), agent=agent)
        row[planner] = measured(benchmark, refused, partial(recourse.recommend, planner=planner, refused=True))
    row["budgets"] = {}
    for budget in common.BUDGETS:
        recourse = Recourse(benchmark.problem, BlackBox(benchmark.model), agent=agent)
        plan = partial(recourse.recommend, planner="search", refused=True, budget=budget)
        row["budgets"][budget] = measured(benchmark, refused, plan)  # type: ignore[index]


def training(rows: list[dict[str, object]], preset: str) -> str:
    """Queries and CPU seconds of training, mean and maximum over seeds; for the paper, also the published queries."""
    parts = []
    for key, unit in (("queries", "queries"), ("cpu", "CPU s")):
        values = [float(row[f"{preset}training_{key}"]) for row in rows]  # type: ignore[arg-type]
        parts.append(f"{sum(values) / len(values):,.0f} {unit} (at most {max(values):,.0f})")
    published = TRAINING_QUERIES.get(str(rows[0]["benchmark"])) if preset else None
    return ", ".join(parts) + (f"; published: {published:,} queries" if published else "")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", default=benchmarks.NAMES)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first", type=int, default=3, help="the first seed (settings were tuned on 0 to 2)")
    parser.add_argument("--no-paper", action="store_true", help="leave the paper's preset out")
    parser.add_argument("--only-paper", action="store_true", help="the paper's preset and nothing else")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    rows = []
    seeds = range(options.first, options.first + options.seeds)
    for name in options.names or benchmarks.NAMES:
        group = [one(name, seed, not options.only_paper, not options.no_paper) for seed in seeds]
        rows += group
        for planner in [key for key in PLANNERS if key in group[0]]:
            print(f"{name:9} {planner:12} {common.summary(group, planner)}")
        for preset in ("", "paper_"):
            if f"{preset}training_queries" in group[0]:
                print(f"{name:9} {preset}training: {training(group, preset)}", flush=True)
        if "paper" in group[0]:
            by_seed = ", ".join(f"{row['seed']}: {row['paper']['success']:.2f}" for row in group)  # type: ignore[index]
            print(f"{name:9} paper success by seed: {by_seed}", flush=True)
        if options.out:
            options.out.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
