"""Guided planning for models that nothing was tuned on: `python bench/strangers.py [CASE …] [--seeds 3] [--out FILE]`.

A case is a benchmark and a kind of model, such as `adult/forest`; `own` is the benchmark's model. The case `hmda` is a
table and a model that no setting was tuned on; see `hmda/table.py` for the packages that it needs. For each seed, a
surrogate is learned from the training people, once from scores and once from decisions only, within a query budget.
Plans are made for the first 200 refused test people by the guided planner, and by `auto` with its defaults. Everybody
is queried as they are first, and that query counts. People with a plan according to exact search are reported apart
from people without one. Every plan is replayed.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import common  # first: it sets the number of threads
import guided
import numpy as np
import pandas as pd
from hmda import table

from counterplan import AutoPlanner, BlackBox, ExactPlanner, GuidedPlanner, Plans, Problem, benchmarks
from counterplan.surrogate.active_learning import ActiveLearner, LearningSettings

PEOPLE = 200
BUDGETS = {
    "scores": {
        "taiwan/own": 1_000,
        "german/own": 2_000,
        "adult/own": 5_000,
        "syn/own": 5_000,
        "syn_long/own": 10_000,
        "hmda": 2_000,
    },
    "labels": {"taiwan/own": 5_000, "hmda": 5_000},
}
"""Query budgets of learning by mode and case; others have `DEFAULT_BUDGET`."""
DEFAULT_BUDGET = {"scores": 3_000, "labels": 10_000}
CASES = (
    "taiwan/own",
    "german/own",
    "adult/own",
    "german/boosting",
    "german/forest",
    "adult/boosting",
    "adult/forest",
    "syn/own",
    "syn_long/own",
)
KNOWN = (*CASES, "hmda")


def known_case(text: str) -> str:
    """A case on the command line."""
    if text not in KNOWN:
        raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(KNOWN)}")
    return text


def load(case: str, seed: int) -> tuple[Problem, object, pd.DataFrame, pd.DataFrame]:
    """The problem, the model, and the training and test people of a case."""
    if case == "hmda":
        return table.load(seed)
    name, kind = case.split("/")
    benchmark = benchmarks.load(name, seed)
    model = benchmark.model if kind == "own" else guided.another_model(benchmark, kind)
    return benchmark.problem, model, benchmark.train, benchmark.test


def one(case: str, mode: str, seed: int, budget: int | None) -> dict[str, Any]:
    """All measures of one case, mode and seed."""
    problem, model, train, test = load(case, seed)
    refused = _refused(problem, model, test)
    optimum = np.array([plan.cost for plan in ExactPlanner(problem, BlackBox(model)).plan(refused, refused=True)])
    feasible = np.isfinite(optimum)
    budget = budget or BUDGETS[mode].get(case, DEFAULT_BUDGET[mode])
    settings = LearningSettings(budget=budget, scores=mode == "scores")
    started = time.process_time()
    learner = ActiveLearner(problem, problem.read(train), BlackBox(model), settings, seed)
    surrogate = learner.run()
    learning = time.process_time() - started
    started = time.process_time()
    plans = GuidedPlanner(problem, BlackBox(model), surrogate).plan(refused)
    planning = time.process_time() - started
    auto = AutoPlanner(problem, BlackBox(model), learned={"surrogate": lambda: surrogate}).plan(refused)
    return {
        "case": case,
        "mode": mode,
        "seed": seed,
        "scored": surrogate.link is not None,
        "feasible": int(feasible.sum()),
        "infeasible": int((~feasible).sum()),
        **_measures(plans, problem, model, optimum),
        "auto": _measures(auto, problem, model, optimum),
        "training_queries": learner.queries,
        "training_cpu": learning,
        "milliseconds": 1000 * planning / len(refused),
    }


def _measures(plans: Plans, problem: Problem, model: object, optimum: np.ndarray) -> dict[str, float]:
    """Success, cost ratio and queries for people with a plan, queries for people without one, and replayed plans."""
    cost, queries = np.array([plan.cost for plan in plans]), np.array([plan.queries for plan in plans])
    held = np.array([plan.status == "found" and plan.replay(problem, BlackBox(model)).ok for plan in plans])
    feasible = np.isfinite(optimum)
    solved = held & feasible
    return {
        "success": float(solved.sum() / max(1, feasible.sum())),
        "ratio": float((cost[solved] / optimum[solved]).mean()),
        "queries": float(queries[feasible].mean()),
        "infeasible_queries": float(queries[~feasible].mean()) if (~feasible).any() else float("nan"),
        "replayed": float(held[np.isfinite(cost)].mean()),
    }


def _refused(problem: Problem, model: object, people: pd.DataFrame) -> pd.DataFrame:
    """The first refused people."""
    return people[~BlackBox(model).favourable(problem, people)].head(PEOPLE)


def summary(rows: list[dict[str, Any]]) -> str:
    """Means over seeds, with intervals for the first three."""
    success, ratio, queries = (common.interval([row[key] for row in rows]) for key in ("success", "ratio", "queries"))
    known = [row["infeasible_queries"] for row in rows if row["infeasible"]]
    stuck = f"{np.mean(known):.1f}" if known else "–"
    rest = {key: np.mean([row[key] for row in rows]) for key in ("training_queries", "training_cpu", "milliseconds")}
    return (
        f"{success} / {ratio} / {queries}; without a plan {stuck} "
        f"@ {rest['training_queries']:,.0f} queries, {rest['training_cpu']:.0f} s; {rest['milliseconds']:.0f} ms; "
        f"replayed {np.mean([row['replayed'] for row in rows]):.3f}; "
        f"auto {np.mean([row['auto']['success'] for row in rows]):.3f} / "
        f"{np.mean([row['auto']['ratio'] for row in rows]):.3f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    text = f"any of {', '.join(KNOWN)}; all but the last by default"
    parser.add_argument("cases", nargs="*", default=CASES, type=known_case, metavar="CASE", help=text)
    parser.add_argument("--seeds", type=int, default=3, help="number of seeds (3)")
    parser.add_argument("--first", type=int, default=30, help="the first seed (settings were tuned on others)")
    parser.add_argument("--mode", choices=("scores", "labels"), help="only one of the two")
    parser.add_argument("--budget", type=int, help="query budget of learning, for all cases")
    parser.add_argument("--out", type=Path, help="a JSON file for all measures of each seed")
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for case in options.cases:
        for mode in (options.mode,) if options.mode else ("scores", "labels"):
            seeds = range(options.first, options.first + options.seeds)
            group = [one(case, mode, seed, options.budget) for seed in seeds]
            rows += group
            print(f"{case:16} {mode:6} {summary(group)}", flush=True)
            if options.out:
                options.out.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
