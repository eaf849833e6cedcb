"""How well the guided planner does, over seeds: `python bench/guided.py [BENCHMARK …] [--seeds 3] [--out FILE]`.

Learns a surrogate for each benchmark and seed from its training people, and plans for the first 100 refused test people
who are reachable, at five questions each at most. One setting for all. `--others` puts other models in the place of the
benchmarks' own: gradient boosting, a random forest and a logistic regression, on german and adult.
"""

import argparse
import json
import time
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
    return lambda people: model.predict(people[numbers + categories])


def one(benchmark: Benchmark, model: object, curves: bool) -> dict[str, object]:
    """All figures of one benchmark and seed; with `curves` also those for other budgets, and of exact search."""
    problem = benchmark.problem
    refused = benchmark.test[~BlackBox(model).favourable(problem, benchmark.test)].reset_index(drop=True)
    people, optimum = common.reachable(problem, model, refused)
    start = time.process_time()
    learning = ActiveLearner(
        problem, problem.read(benchmark.train), BlackBox(model), LearningSettings(), benchmark.seed
    )
    surrogate = learning.run()
    row: dict[str, object] = {"benchmark": benchmark.name, "seed": benchmark.seed, "people": len(people)}
    row |= {"training_cpu": time.process_time() - start, "training_queries": learning.queries, "parts": surrogate.parts}
    planner = GuidedPlanner(problem, BlackBox(model), surrogate)
    start = time.process_time()
    plans = planner.plan(people, refused=True, budget=5)
    row["milliseconds"] = (time.process_time() - start) * 1000 / len(people)
    row["guided"] = common.figures(plans, optimum, problem, model)
    row["proved"] = float(np.mean([plan.optimal for plan in plans]))
    unasked = GuidedPlanner(problem, BlackBox(model), surrogate).plan(people, refused=True, budget=0)
    row["unasked"] = common.figures(unasked, optimum, problem, model)
    if not curves:
        return row
    row["budgets"] = {
        budget: common.figures(
            GuidedPlanner(problem, BlackBox(model), surrogate, settings=GuideSettings(min_relative_gain=share)).plan(
                people, refused=True, budget=budget
            ),
            optimum, problem, model,
        )
        for budget, share in zip(common.BUDGETS, (0.015, 0.015, 0.015, 0.015, 0.005, 0.002, 0.0), strict=True)
    }  # fmt: skip
    row["exact"] = {budget: by_exact(problem, model, people, optimum, budget) for budget in EXACT_BUDGETS}
    return row


def by_exact(
    problem: Problem, model: object, people: pd.DataFrame, optimum: np.ndarray, budget: int
) -> dict[str, float]:
    plans = ExactPlanner(problem, BlackBox(model)).plan(people, refused=True, budget=budget)
    return common.figures(plans, optimum, problem, model)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first", type=int, default=20, help="the first seed (choices were made looking at others)")
    parser.add_argument("--others", action="store_true", help="other models than the benchmarks' own")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    names = options.names or (("german", "adult") if options.others else benchmarks.NAMES)
    rows = []
    for name in names:
        for kind in OTHERS if options.others else ("own",):
            mine = []
            for seed in range(options.first, options.first + options.seeds):
                benchmark = benchmarks.load(name, seed)
                model = benchmark.model if kind == "own" else another_model(benchmark, kind)
                mine.append(one(benchmark, model, curves=not options.others) | {"model": kind})
            rows += mine
            label = f"{name:9} {kind:9}"
            print(f"{label} guided    {common.told(mine, 'guided')}")
            print(f"{label} unasked   {common.told(mine, 'unasked')}")
            paid, cost, each = (
                common.interval([row[key] for row in mine])
                for key in ("training_queries", "training_cpu", "milliseconds")
            )
            print(f"{label} training: {paid} rows, {cost} CPU s; {each} ms a person", flush=True)
            if options.out:
                options.out.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
