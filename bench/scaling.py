"""Growth of planners: `python bench/scaling.py [--functions 5 10 …] [--boxes network …] [--seeds 1] [--out FILE]`.

The family of synthetic problems, with 30 to 250 actions. For exact, search and guided: success, cost ÷ best known cost,
queries and CPU milliseconds for each refused test person, and training. The best known cost is the optimum for needles;
for other models that of the cheapest plan of any planner, or of a wide search for change sets with access to the score
of the model. Every problem runs in a process of its own, which gives the peak memory.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

import argparse
import json
import multiprocessing
import resource
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from counterplan import BlackBox, ExactPlanner, Plans, SearchPlanner
from counterplan.agent.training import AgentTrainer
from counterplan.agent.training_settings import TrainingSettings
from counterplan.benchmarks import Benchmark
from counterplan.benchmarks.family import NeedleModel, family
from counterplan.errors import CounterplanError
from counterplan.planners.base import Planner
from counterplan.planners.guided import GuidedPlanner
from counterplan.search.change_sets import ChangeSetSettings, propose
from counterplan.surrogate.active_learning import ActiveLearner, LearningSettings

BOXES = {
    "needle-2": ("needle", 2, 6),
    "needle-4": ("needle", 4, 8),
    "needle-6": ("needle", 6, 8),
    "needle-8": ("needle", 8, 12),
    "network": ("network", 4, 8),
    "boosted": ("boosted", 4, 8),
}
"""Model, number of changes that most people need, and maximal length of a plan."""
WIDE = ChangeSetSettings(beam_width=24, branching=60, rounds=12, anchors=6)
FAR = 4.0
"""Median log odds of refused people to which scores are scaled in the wide search."""
EXACT_STEPS = 2_000_000
"""Limit of steps (states × actions) per person of the exact planner."""
EXACT_PEOPLE = 20
SEARCH_ACTIONS = 130
"""No agent is trained for more actions than this."""
PLANNERS = ("exact", "search", "guided")


def measures(planner: Planner, people: pd.DataFrame, benchmark: Benchmark) -> dict[str, Any]:
    """Measures of the plans for `people`; a plan is successful if its replay is."""
    start = time.process_time()
    plans = planner.plan(people, refused=True)
    cpu = time.process_time() - start
    cost = costs(plans, benchmark)
    return {"cost": cost, "queries": plans.queries / len(plans), "ms": cpu / len(plans) * 1000}


def costs(plans: Plans, benchmark: Benchmark) -> list[float]:
    box = BlackBox(benchmark.model)
    good = [plan.status == "found" and plan.replay(benchmark.problem, box).ok for plan in plans]
    return [plan.cost if ok else float("inf") for plan, ok in zip(plans, good, strict=True)]


def best_by_score(benchmark: Benchmark, people: pd.DataFrame) -> np.ndarray:
    """The cost [B] of the best change sets by a wide search with access to the score of the model."""
    problem, model = benchmark.problem, benchmark.model
    starts, others = (problem.read(table).states for table in (people, benchmark.train))

    def logit(states: np.ndarray, scale: float = 1.0) -> np.ndarray:
        chance = np.clip(model.score(states), 1e-9, 1 - 1e-9)
        return scale * np.log(chance / (1 - chance))

    steep = FAR / max(float(np.median(np.abs(logit(starts)))), 1e-9)  # decisions are binary, however flat the score is
    allowed = np.ones((len(starts), len(problem.transitions)), bool)
    found = propose(
        problem, starts, allowed, partial(logit, scale=steep), WIDE, anchors=others[model.favourable(others)]
    )
    good = model.favourable(found.states)
    cost = np.full(len(starts), np.inf)
    np.minimum.at(cost, found.person[good], found.cost[good])
    return cost


def one(functions: int, name: str, seed: int, options: argparse.Namespace) -> dict[str, Any]:
    """All measures of one problem."""
    box, needed, max_actions = BOXES[name]
    benchmark = family(functions, box, needed, max_actions, seed)
    problem, people = benchmark.problem, benchmark.refused_test.head(options.people)
    actions = len(problem.transitions) - 1
    row: dict[str, Any] = {"functions": functions, "actions": actions, "box": name, "seed": seed, "left_out": {}}

    start = time.process_time()
    settings = replace(LearningSettings(), budget=options.budget)
    learner = ActiveLearner(problem, problem.read(benchmark.train), BlackBox(benchmark.model), settings, seed)
    surrogate = learner.run()
    row["training"] = {"guided": {"queries": learner.queries, "cpu": time.process_time() - start}}
    row["guided"] = measures(GuidedPlanner(problem, BlackBox(benchmark.model), surrogate), people, benchmark)
    row["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    limit = EXACT_STEPS // actions
    exact = ExactPlanner(problem, BlackBox(benchmark.model, cache_size=0), state_limit=limit, batch_size=4)
    row["exact"] = measures(exact, people.head(EXACT_PEOPLE), benchmark)

    if options.no_search:
        row["left_out"]["search"] = "--no-search"
    elif actions > SEARCH_ACTIONS:
        row["left_out"]["search"] = f"no agent is trained for more than {SEARCH_ACTIONS} actions"
    else:
        start = time.process_time()
        refused = problem.read(benchmark.refused_train)
        training = AgentTrainer(problem, refused, BlackBox(benchmark.model), TrainingSettings(), seed)
        agent = training.run()
        row["training"]["search"] = {"queries": training.queries, "cpu": time.process_time() - start}
        row["search"] = measures(SearchPlanner(problem, BlackBox(benchmark.model), agent), people, benchmark)

    planners = [planner for planner in PLANNERS if planner in row]
    if isinstance(benchmark.model, NeedleModel):
        best = benchmark.model.optimum(problem.read(people).states)
    else:
        best = best_by_score(benchmark, people)
        for planner in planners:
            found = row[planner]["cost"]
            best[: len(found)] = np.minimum(best[: len(found)], found)
    row["reachable"] = float(np.isfinite(best).mean())
    for planner in planners:
        found = np.array(row[planner].pop("cost"))
        solved = np.isfinite(found)
        row[planner]["success"] = float(solved.mean())
        row[planner]["ratio"] = float((found / best[: len(found)])[solved].mean()) if solved.any() else float("nan")
    return row


def interval(values: Sequence[float], digits: int = 3) -> str:
    """Mean and, over seeds, the half-width of a 95 % interval (Student's t)."""
    wide = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78}.get(len(values), 2.0)
    mean = f"{np.mean(values):.{digits}f}"
    return mean if len(values) < 2 else f"{mean} ± {wide * np.std(values, ddof=1) / np.sqrt(len(values)):.{digits}f}"


def report(rows: list[dict[str, Any]]) -> None:
    """Print the lines of one kind of problem, over its seeds."""
    first = rows[0]
    actions = np.mean([row["actions"] for row in rows])
    size = f"{first['functions']:3} functions {actions:4.0f} actions  {first['box']:8}"
    for planner in PLANNERS:
        if planner not in first:
            print(f"{size} {planner:6} left out: {first['left_out'][planner]}")
            continue
        values = {key: [row[planner][key] for row in rows] for key in ("success", "ratio", "queries", "ms")}
        line = f"{size} {planner:6} success {interval(values['success'])}  ratio {interval(values['ratio'])}"
        line += f"  queries {interval(values['queries'], 2)}  {interval(values['ms'], 0)} ms"
        if planner in first["training"]:
            queries, cpu = ([row["training"][planner][key] for row in rows] for key in ("queries", "cpu"))
            line += f"; trained with {interval(queries, 0)} queries, {interval(cpu, 0)} CPU s"
        if planner == "guided":
            line += f"; {np.max([row['memory'] for row in rows]):.0f} MB"
        print(line)
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--functions", type=int, nargs="+", default=[5, 10, 20, 40])
    parser.add_argument("--boxes", nargs="+", default=list(BOXES), choices=list(BOXES))
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first", type=int, default=10, help="the first seed (settings were tuned on 0 to 2)")
    parser.add_argument("--people", type=int, default=50, help="refused test people to plan for")
    parser.add_argument("--budget", type=int, default=5_000, help="queries to learn a surrogate with")
    parser.add_argument("--no-search", action="store_true", help="leave out the agent")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    everything = []
    spawn = multiprocessing.get_context("spawn")
    for functions in options.functions:
        for name in options.boxes:
            rows = []
            for seed in range(options.first, options.first + options.seeds):
                print(f"{functions} functions, {name}, seed {seed} …", file=sys.stderr, flush=True)
                try:
                    with spawn.Pool(1) as pool:
                        rows.append(pool.apply(one, (functions, name, seed, options)))
                except CounterplanError as error:
                    print(f"{functions:3} functions {name}: {error}")
            if rows:
                report(rows)
            everything += rows
            if options.out:
                options.out.write_text(json.dumps(everything, indent=1))


if __name__ == "__main__":
    main()
