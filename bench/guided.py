"""Success, cost and queries of the guided planner: `python bench/guided.py [BENCHMARK …] [--seeds 3] [--out FILE]`.

Fits a surrogate for each benchmark and seed on its training people, and plans for the first 100 refused, feasible test
people with at most five queries each; people who are infeasible, as exact search proves, are reported apart. The same
settings for all. `--others` replaces the models of the benchmarks by gradient boosting, a random forest and a logistic
regression, on german and adult.
"""

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path

import common  # first: it sets the number of threads
import numpy as np
import pandas as pd

from counterplan import BlackBox, ExactPlanner, GuidedPlanner, GuideSettings, Problem, benchmarks
from counterplan.benchmarks import Benchmark
from counterplan.surrogate.active_learning import ActiveLearner, LearningSettings

EXACT_BUDGETS = (1, 3, 10, 30, 100, 300, 1_000)
OTHERS = ("boosting", "forest", "logistic")


def another_model(benchmark: Benchmark, kind: str) -> object:
    """A model of another kind, trained on the benchmark's training people."""
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    features = benchmark.problem.features
    numbers = [feature.name for feature in features if feature.is_number]
    categories = [feature.name for feature in features if not feature.is_number]
    columns = make_column_transformer(
        (StandardScaler(), numbers), (OneHotEncoder(handle_unknown="ignore", sparse_output=False), categories)
    )
    estimator = {
        "boosting": GradientBoostingClassifier(random_state=benchmark.seed),
        "forest": RandomForestClassifier(100, min_samples_leaf=3, random_state=benchmark.seed, class_weight="balanced"),
        "logistic": LogisticRegression(max_iter=1_000, class_weight="balanced"),
    }[kind]
    model = make_pipeline(columns, estimator)
    model.fit(benchmark.train[numbers + categories], benchmark.train[benchmark.problem.outcome.column])
    return model


def one(benchmark: Benchmark, model: object, curves: bool) -> dict[str, object]:
    """All measures of one benchmark and seed; with `curves` also those for other budgets, and of exact search."""
    problem = benchmark.problem
    refused = benchmark.test[~BlackBox(model).favourable(problem, benchmark.test)].reset_index(drop=True)
    people, optimum, infeasible = common.by_feasibility(problem, model, refused)
    start = time.process_time()
    learner = ActiveLearner(problem, problem.read(benchmark.train), BlackBox(model), LearningSettings(), benchmark.seed)
    surrogate = learner.run()
    row: dict[str, object] = {"benchmark": benchmark.name, "seed": benchmark.seed, "people": len(people)}
    row |= {"training_cpu": time.process_time() - start, "training_queries": learner.queries, "parts": surrogate.parts}
    planner = GuidedPlanner(problem, BlackBox(model), surrogate)
    start = time.process_time()
    plans = planner.plan(people, refused=True, budget=5)
    row["milliseconds"] = (time.process_time() - start) * 1000 / len(people)
    row["guided"] = common.measures(plans, optimum, problem, model)
    row["guided"] |= common.infeasible_measures(infeasible, lambda some: planner.plan(some, refused=True, budget=5))
    row["proved"] = float(np.mean([plan.optimal for plan in plans]))
    unverified = GuidedPlanner(problem, BlackBox(model), surrogate).plan(people, refused=True, budget=0)
    row["unverified"] = common.measures(unverified, optimum, problem, model)
    if not curves:
        return row
    row["budgets"] = budgets = {}
    for budget, share in zip(common.BUDGETS, (0.015, 0.015, 0.015, 0.015, 0.005, 0.002, 0.0), strict=True):
        settings = replace(GuideSettings(), min_relative_gain=share)
        planner = GuidedPlanner(problem, BlackBox(model), surrogate, settings=settings)
        plans = planner.plan(people, refused=True, budget=budget)
        budgets[budget] = common.measures(plans, optimum, problem, model)
    row["exact"] = {budget: by_exact(problem, model, people, optimum, budget) for budget in EXACT_BUDGETS}
    return row


def by_exact(
    problem: Problem, model: object, people: pd.DataFrame, optimum: np.ndarray, budget: int
) -> dict[str, float]:
    plans = ExactPlanner(problem, BlackBox(model)).plan(people, refused=True, budget=budget)
    return common.measures(plans, optimum, problem, model)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first", type=int, default=20, help="the first seed (settings were tuned on others)")
    parser.add_argument("--others", action="store_true", help="replace the models of the benchmarks")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    names = options.names or (("german", "adult") if options.others else benchmarks.NAMES)
    rows = []
    for name in names:
        for kind in OTHERS if options.others else ("own",):
            group = []
            for seed in range(options.first, options.first + options.seeds):
                benchmark = benchmarks.load(name, seed)
                model = benchmark.model if kind == "own" else another_model(benchmark, kind)
                group.append(one(benchmark, model, curves=not options.others) | {"model": kind})
            rows += group
            label = f"{name:9} {kind:9}"
            print(f"{label} guided    {common.summary(group, 'guided')}")
            print(f"{label} unverified {common.summary(group, 'unverified')}")
            queries, cpu, each = (
                common.interval([row[key] for row in group])
                for key in ("training_queries", "training_cpu", "milliseconds")
            )
            print(f"{label} training: {queries} queries, {cpu} CPU s; {each} ms per person", flush=True)
            if options.out:
                options.out.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
