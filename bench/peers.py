"""Compare DiCE: `python bench/peers.py [BENCHMARK …] [--people 100] [--out FILE]`; extras `[peers,train]`.

`--methods guided exact paper` runs the planners of counterplan only, without DiCE; `--answers 1` requests fewer answers
from DiCE. "paper" is the method of recourse-fare: tree search with the paper's preset, whose agent is trained first.

The same model, the same refused test people, one process. DiCE receives the mutable features (`features_to_vary`), for
each person the values that these can take (`permitted_range`), and a model that applies consequences itself. It may
return ten answers, of which the best counts.

Times are of people one by one, and for planners also of all in one batch. The time of the harness, to convert rows for
the model and to count them, is excluded from DiCE's.

An answer is a state. It is a success if legal actions lead to exactly that state within the limit, in the cheapest
order, and, in a separate column, if they do after moving its numbers to the nearest reachable ones.
"""

import argparse
import contextlib
import io
import json
import random
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import common  # first: it sets the number of threads
import numpy as np
import pandas as pd

from counterplan import BlackBox, ExactPlanner, GuidedPlanner, Planner, SearchPlanner, benchmarks
from counterplan.agent.training import AgentTrainer
from counterplan.agent.training_settings import TrainingSettings
from counterplan.benchmarks import Benchmark
from counterplan.benchmarks.models import BenchmarkModel
from counterplan.problem import Problem
from counterplan.surrogate.active_learning import ActiveLearner, LearningSettings

PLANNERS = ("guided", "exact", "paper")
DICE = ("random", "genetic", "kdtree")
ANSWERS = 10
MAX_CALLS = 5_000
"""Limit of calls per person: DiCE may not terminate if it finds no favourable candidate."""


class CallLimitExceeded(Exception):
    """DiCE has called the model too often for one person."""


class GoalModel(BenchmarkModel):
    """A model that is favourable in one state only: a plan for it leads to that state."""

    def __init__(self, problem: Problem, goal: np.ndarray) -> None:
        super().__init__(problem)
        self.goal = goal

    def score(self, states: np.ndarray) -> np.ndarray:
        """1 for the goal, 0 elsewhere."""
        return ((states == self.goal) | (np.isnan(states) & np.isnan(self.goal))).all(axis=1).astype(float)


class MeteredModel:
    """The model of a benchmark with the interface of DiCE; it counts distinct states, as `BlackBox` does."""

    classes_ = np.array([0, 1])

    def __init__(self, benchmark: Benchmark) -> None:
        self.problem, self.model = benchmark.problem, benchmark.model
        self.known: set[bytes] = set()
        self.training: set[bytes] = set()
        """Queries about all training people."""
        self.sent = self.calls = 0
        self.seconds = 0.0
        """CPU time of conversion."""
        self._uncounted: list[np.ndarray] = []
        self._n_train = len(benchmark.train)
        self.start = np.full(len(self.problem.features), np.nan)

    def select(self, start: np.ndarray) -> None:
        """Set the person [F] of the following queries."""
        self.start, self.calls = start, 0

    def predict_proba(self, people: pd.DataFrame) -> np.ndarray:
        """Probabilities [n, 2] of both outcomes."""
        self.calls += 1
        if self.calls > MAX_CALLS:
            raise CallLimitExceeded
        start = time.process_time()
        states = self.states(people)
        self._uncounted.append(states)
        self.seconds += time.process_time() - start
        chance = self.model.score(states)
        return np.stack([1 - chance, chance], axis=1)

    def count(self) -> None:
        """Count the queries since the last call; separate from prediction, because it takes time."""
        for states in self._uncounted:
            self.sent += len(states)
            seen = self.training if len(states) == self._n_train else self.known
            seen.update(state.tobytes() for state in states + 0.0)
        self._uncounted.clear()

    def predict(self, people: pd.DataFrame) -> np.ndarray:
        """Outcomes [n]: 1 if favourable."""
        return (self.predict_proba(people)[:, 1] >= 0.5).astype(int)

    def states(self, people: pd.DataFrame) -> np.ndarray:
        """Rows of DiCE as states [n, F], with the consequences of changes."""
        states = np.empty((len(people), len(self.problem.features)))
        for feature in self.problem.features:
            column = people[feature.name]
            if feature.is_number:
                states[:, feature.index] = column.astype(float)
            else:
                states[:, feature.index] = column.astype(str).map(dict(zip(feature.values, range(99), strict=False)))
        for cause in self.problem.transitions.causes:
            if cause.sets:
                assert cause.table is not None, "the benchmarks have no formulas"
                source = states[:, cause.source]
                value = cause.table[source.astype(int)]
                follows = (source != self.start[cause.source]) & ~np.isnan(value)
                states[follows, cause.target] = value[follows]
        return states


def reachable_values(problem: Problem, start: np.ndarray) -> dict[int, np.ndarray]:
    """The values of each mutable feature that its functions alone can reach, by index of the feature."""
    transitions = problem.transitions
    found: dict[int, np.ndarray] = {}
    for function, span in zip(transitions.functions, transitions.spans, strict=True):
        states = start[None]
        for _ in range(problem.max_actions):
            row, action = np.nonzero(transitions.legal(states)[:, span])
            after = transitions.apply(states[row], action + span.start)
            states = np.unique(np.concatenate([states, after]), axis=0)
        known = found.get(function.target, np.empty(0))
        found[function.target] = np.union1d(known, states[:, function.target])
    return found


def permitted_range(problem: Problem, reached: dict[int, np.ndarray], train: pd.DataFrame) -> dict[str, list[Any]]:
    """Reachable values as DiCE's `permitted_range`: a range of numbers, or values in its data."""
    ranges: dict[str, list[Any]] = {}
    for index, numbers in reached.items():
        feature = problem.features[index]
        if feature.is_number:
            ranges[feature.name] = [int(numbers.min()), int(numbers.max())]
        else:
            seen = set(train[feature.name])
            ranges[feature.name] = [feature.values[int(n)] for n in numbers if feature.values[int(n)] in seen]
    return ranges


def snapped(problem: Problem, start: np.ndarray, goals: np.ndarray, reached: dict[int, np.ndarray]) -> np.ndarray:
    """States `goals` [n, F] with each number moved to the next reachable one, away from `start` if possible."""
    moved = goals.copy()
    for index, numbers in reached.items():
        if problem.features[index].is_number:
            for goal in moved:
                beyond = np.abs(numbers - start[index]) >= np.abs(goal[index] - start[index])
                beyond &= (numbers - start[index]) * (goal[index] - start[index]) >= 0
                choice = numbers[beyond] if beyond.any() else numbers
                goal[index] = choice[np.abs(choice - goal[index]).argmin()]
    return moved


def cheapest_plan_cost(problem: Problem, person: pd.DataFrame, start: np.ndarray, goal: np.ndarray) -> float:
    """The cost of the cheapest legal plan from `start` [F] to exactly `goal` [F]; infinite if there is none.

    Only functions of changed features are used: in these problems no change is worth undoing.
    """
    transitions = problem.transitions
    changes = np.array([start[function.target] != goal[function.target] for function in transitions.functions])
    allowed = np.append(changes, True)[transitions.function_of][None]
    plan = ExactPlanner(problem, BlackBox(GoalModel(problem, goal))).plan(person, allowed=allowed, refused=True)[0]
    return plan.cost if plan.status == "found" else np.inf


def by_dice(
    benchmark: Benchmark, people: pd.DataFrame, optimum: np.ndarray, method: str, number: int
) -> dict[str, float]:
    """Measures of one of DiCE's methods, with `number` answers per person."""
    import dice_ml

    problem, outcome = benchmark.problem, benchmark.problem.outcome
    names = [feature.name for feature in problem.features]
    train = benchmark.train[names].assign(outcome=benchmark.train[outcome.column].isin(outcome.favourable).astype(int))
    numbers = [feature.name for feature in problem.features if feature.is_number]
    model = MeteredModel(benchmark)
    data = dice_ml.Data(dataframe=train, continuous_features=numbers, outcome_name="outcome")
    explainer = dice_ml.Dice(data, dice_ml.Model(model=model, backend="sklearn"), method=method)
    read = problem.read(people)
    vary = list(dict.fromkeys(problem.features[function.target].name for function in problem.transitions.functions))
    seconds, stopped = 0.0, 0
    rows: list[tuple[bool, float, float]] = []
    for row, start in enumerate(read.states):
        reached = reachable_values(problem, start)
        ranges = permitted_range(problem, reached, train)
        model.select(start)
        random.seed(row)
        np.random.seed(row)  # noqa: NPY002 -- the generator of DiCE
        person = people[names].iloc[[row]]
        begun, harness = time.process_time(), model.seconds
        answers, failed = answers_of(explainer, person, number, vary, ranges)
        seconds += time.process_time() - begun - (model.seconds - harness)
        model.count()
        stopped += failed
        states = np.empty((0, len(names))) if answers is None else model.states(answers[names])
        valid = states[benchmark.model.favourable(states)]
        near = np.unique(snapped(problem, start, states, reached), axis=0)
        near = near[benchmark.model.favourable(near)]
        costs = [
            min([cheapest_plan_cost(problem, people.iloc[[row]], start, goal) for goal in goals], default=np.inf)
            for goals in (np.unique(valid, axis=0), near)
        ]
        rows.append((len(valid) > 0, *costs))
    valid_any, exactly, nearly = (np.array(column, float) for column in zip(*rows, strict=True))
    return {
        "valid": float(valid_any.mean()),
        "success": float(np.isfinite(exactly).mean()),
        "ratio": mean_ratio(exactly, optimum),
        "success, numbers moved": float(np.isfinite(nearly).mean()),
        "ratio, numbers moved": mean_ratio(nearly, optimum),
        "queries": len(model.known - model.training) / len(people),
        "milliseconds alone": seconds * 1000 / len(people),
        "milliseconds of the harness": model.seconds * 1000 / len(people),
        "queries to learn": len(model.training),
        "queries without a cache": model.sent / len(people),
        "stopped": stopped / len(people),
    }


def mean_ratio(cost: np.ndarray, optimum: np.ndarray) -> float:
    good = np.isfinite(cost)
    return float((cost[good] / optimum[good]).mean()) if good.any() else float("nan")


def answers_of(
    explainer: Any, person: pd.DataFrame, number: int, vary: list[str], ranges: dict[str, list[Any]]
) -> tuple[pd.DataFrame | None, bool]:
    """DiCE's answers for one person, or None, and whether it was stopped."""
    from raiutils.exceptions import UserConfigValidationException

    try:
        with quiet():
            found = explainer.generate_counterfactuals(
                person, total_CFs=number, desired_class=1, features_to_vary=vary, permitted_range=ranges
            ).cf_examples_list[0]
    except UserConfigValidationException as error:
        if "No counterfactuals found" not in str(error):
            raise
        return None, False
    except CallLimitExceeded:
        return None, True
    return found.final_cfs_df if found.final_cfs_df_sparse is None else found.final_cfs_df_sparse, False


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Suppress progress bars and warnings."""
    with (
        warnings.catch_warnings(),
        contextlib.redirect_stderr(io.StringIO()),
        contextlib.redirect_stdout(io.StringIO()),
    ):
        warnings.simplefilter("ignore")
        yield


def by_planner(benchmark: Benchmark, people: pd.DataFrame, optimum: np.ndarray, method: str) -> dict[str, float]:
    """Measures of a planner of counterplan, and of its learning if it learns."""
    problem, model = benchmark.problem, benchmark.model
    fit: dict[str, float] = {}
    make: Callable[..., Planner] = partial(ExactPlanner, problem)
    begun = time.process_time()
    if method == "guided":
        read = problem.read(benchmark.train)
        learner = ActiveLearner(problem, read, BlackBox(model), LearningSettings(), benchmark.seed)
        make = partial(GuidedPlanner, problem, surrogate=learner.run())
        fit = {"queries to learn": learner.queries, "seconds to learn": time.process_time() - begun}
    elif method == "paper":
        read, settings = problem.read(benchmark.refused_train), TrainingSettings.preset("paper")
        trainer = AgentTrainer(problem, read, BlackBox(model), settings, benchmark.seed)
        make = partial(SearchPlanner, problem, agent=trainer.run(), settings="paper")
        fit = {"queries to learn": trainer.queries, "seconds to learn": time.process_time() - begun}
    planner = make(box=BlackBox(model))
    plans, batch = timed(lambda: planner.plan(people, refused=True))
    found = common.measures(plans, optimum, problem, model)
    planner = make(box=BlackBox(model))
    _, alone = timed(lambda: [planner.plan(people.iloc[[row]], refused=True) for row in range(len(people))])
    return {
        "valid": found["success"],
        "success": found["success"],
        "ratio": found["ratio"],
        "queries": found["queries"],
        "milliseconds in a batch": batch * 1000 / len(people),
        "milliseconds alone": alone * 1000 / len(people),
    } | fit


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """The result of `work`, and its CPU seconds."""
    start = time.process_time()
    return work(), time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", default=["german", "adult"])
    parser.add_argument("--people", type=int, default=common.PEOPLE)
    parser.add_argument("--methods", nargs="*", default=[*PLANNERS, *DICE], choices=[*PLANNERS, *DICE])
    parser.add_argument("--answers", type=int, default=ANSWERS, help="answers per person of DiCE")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if set(options.methods) & set(DICE):
        try:
            import dice_ml
        except ImportError:
            parser.error(
                "DiCE is not installed; pip install 'counterplan[peers,train]', or choose --methods guided exact paper"
            )
        print("dice_ml", version(dice_ml.__name__))
    print("  ".join(f"{name} {version(name)}" for name in ("numpy", "pandas", "scikit-learn")))
    results = []
    for name in options.names:
        benchmark = benchmarks.load(name, options.seed)
        refused = common.by_feasibility(benchmark.problem, benchmark.model, benchmark.refused_test)
        people, optimum = refused.feasible.head(options.people), refused.optimum[: options.people]
        print(f"{name}: {len(people)} people; {len(refused.infeasible)} more without any plan", flush=True)
        for method in options.methods:
            if method in PLANNERS:
                label, row = method, by_planner(benchmark, people, optimum, method)
            else:
                label, row = f"DiCE {method}", by_dice(benchmark, people, optimum, method, options.answers)
            results.append({"benchmark": name, "method": label, "people": len(people)} | row)
            print(line(label, row), flush=True)
        if options.out:
            options.out.write_text(json.dumps(results, indent=1))


def line(method: str, row: dict[str, float]) -> str:
    return f"  {method:13}" + "  ".join(f"{name} {value:.5g}" for name, value in row.items())


if __name__ == "__main__":
    main()
