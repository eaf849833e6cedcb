"""DiCE beside our planners: `python bench/peers.py [BENCHMARK …] [--people 100] [--out FILE]`; extras `[peers,train]`.

`--methods guided exact` measures ours only, without DiCE; `--answers 1` what DiCE takes for fewer answers.

The same model, the same refused test people, one process. DiCE is told all that it can be told of the problem: which
features actions can change (`features_to_vary`), for each person the values that these can take (`permitted_range`),
and a model that follows consequences by itself. It may give ten answers, of which the best counts.

Times are of people one by one, and for ours also of all at once. What the harness itself takes, which is translating
rows for the model and counting them, is left out of DiCE's.

An answer is a state. It counts as a success if legal actions lead to exactly that state within the limit, in the order
that costs least, and, in a column of its own, if they do once its numbers are moved to the nearest that actions reach.
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

from counterplan import BlackBox, ExactPlanner, GuidedPlanner, Planner, benchmarks
from counterplan.benchmarks import Benchmark
from counterplan.benchmarks.models import BenchmarkModel
from counterplan.problem import Problem
from counterplan.surrogate.active_learning import ActiveLearner, LearningSettings

OURS = ("guided", "exact")
DICE = ("random", "genetic", "kdtree")
ANSWERS = 10
MOST_CALLS = 5_000
"""DiCE may draw candidates for ever where it finds none that is favourable; after so many calls it has failed."""


class GaveUp(Exception):
    """DiCE has asked too often about one person."""


class Arrived(BenchmarkModel):
    """Finds one state favourable and nothing else: a plan for it is a way to that state."""

    def __init__(self, problem: Problem, goal: np.ndarray) -> None:
        super().__init__(problem)
        self.goal = goal

    def score(self, states: np.ndarray) -> np.ndarray:
        """1 for the goal, 0 elsewhere."""
        return ((states == self.goal) | (np.isnan(states) & np.isnan(self.goal))).all(axis=1).astype(float)


class Asked:
    """The benchmark's model as DiCE wants it, with a meter; like our black box it remembers what it was asked."""

    classes_ = np.array([0, 1])

    def __init__(self, benchmark: Benchmark) -> None:
        self.problem, self.model = benchmark.problem, benchmark.model
        self.known: set[bytes] = set()
        self.training: set[bytes] = set()
        """What it was asked about all training people, for everybody or again for each person."""
        self.sent = self.calls = 0
        self.seconds = 0.0
        """What translating took."""
        self._uncounted: list[np.ndarray] = []
        self._everybody = len(benchmark.train)
        self.start = np.full(len(self.problem.features), np.nan)

    def about(self, start: np.ndarray) -> None:
        """From now on, this person [F] is asked about."""
        self.start, self.calls = start, 0

    def predict_proba(self, people: pd.DataFrame) -> np.ndarray:
        """The chances [n, 2] of both outcomes."""
        self.calls += 1
        if self.calls > MOST_CALLS:
            raise GaveUp
        begun = time.process_time()
        states = self.states(people)
        self._uncounted.append(states)
        self.seconds += time.process_time() - begun
        chance = self.model.score(states)
        return np.stack([1 - chance, chance], axis=1)

    def count(self) -> None:
        """Count what was asked since the last time: not while it is asked, because that takes time."""
        for states in self._uncounted:
            self.sent += len(states)
            kept = self.training if len(states) == self._everybody else self.known
            kept.update(state.tobytes() for state in states + 0.0)
        self._uncounted.clear()

    def predict(self, people: pd.DataFrame) -> np.ndarray:
        """The outcome [n]: 1 if it is favourable."""
        return (self.predict_proba(people)[:, 1] >= 0.5).astype(int)

    def states(self, people: pd.DataFrame) -> np.ndarray:
        """DiCE's rows as states [n, F], with the consequences of what differs from the person."""
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


def reach(problem: Problem, start: np.ndarray) -> dict[int, np.ndarray]:
    """By feature that a function changes: the numbers or values that it can take, by that function alone."""
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


def told(problem: Problem, reached: dict[int, np.ndarray], train: pd.DataFrame) -> dict[str, list[Any]]:
    """What can be reached, as DiCE's `permitted_range`: a range of numbers, or values that its data know."""
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
    """States `goals` [n, F] with each number moved to the next that can be reached, rather too far than too near."""
    moved = goals.copy()
    for index, numbers in reached.items():
        if problem.features[index].is_number:
            for goal in moved:
                beyond = np.abs(numbers - start[index]) >= np.abs(goal[index] - start[index])
                beyond &= (numbers - start[index]) * (goal[index] - start[index]) >= 0
                choice = numbers[beyond] if beyond.any() else numbers
                goal[index] = choice[np.abs(choice - goal[index]).argmin()]
    return moved


def cheapest_way(problem: Problem, person: pd.DataFrame, start: np.ndarray, goal: np.ndarray) -> float:
    """The least cost of a legal plan from `start` [F] to exactly `goal` [F]; infinite if there is none.

    Only functions are used whose feature ends up changed: nothing is worth doing and undoing in these problems.
    """
    transitions = problem.transitions
    changes = np.array([start[function.target] != goal[function.target] for function in transitions.functions])
    allowed = np.append(changes, True)[transitions.function_of][None]
    plan = ExactPlanner(problem, BlackBox(Arrived(problem, goal))).plan(person, allowed=allowed, refused=True)[0]
    return plan.cost if plan.status == "found" else np.inf


def by_dice(
    benchmark: Benchmark, people: pd.DataFrame, optimum: np.ndarray, method: str, number: int
) -> dict[str, float]:
    """The figures of one of DiCE's methods, which may give a `number` of answers."""
    import dice_ml

    problem, outcome = benchmark.problem, benchmark.problem.outcome
    names = [feature.name for feature in problem.features]
    train = benchmark.train[names].assign(outcome=benchmark.train[outcome.column].isin(outcome.favourable).astype(int))
    numbers = [feature.name for feature in problem.features if feature.is_number]
    asked = Asked(benchmark)
    data = dice_ml.Data(dataframe=train, continuous_features=numbers, outcome_name="outcome")
    explainer = dice_ml.Dice(data, dice_ml.Model(model=asked, backend="sklearn"), method=method)
    read = problem.read(people)
    vary = list(dict.fromkeys(problem.features[function.target].name for function in problem.transitions.functions))
    seconds, gave_up = 0.0, 0
    rows: list[tuple[bool, float, float]] = []
    for row, start in enumerate(read.states):
        reached = reach(problem, start)
        ranges = told(problem, reached, train)
        asked.session(start)
        random.seed(row)
        np.random.seed(row)  # noqa: NPY002 -- what DiCE draws from
        person = people[names].iloc[[row]]
        begun, ours = time.process_time(), asked.seconds
        answers, failed = answers_of(explainer, person, number, vary, ranges)
        seconds += time.process_time() - begun - (asked.seconds - ours)
        asked.count()
        gave_up += failed
        states = np.empty((0, len(names))) if answers is None else asked.states(answers[names])
        yes = states[benchmark.model.score(states) >= 0.5]
        near = np.unique(snapped(problem, start, states, reached), axis=0)
        near = near[benchmark.model.score(near) >= 0.5]
        ways = [
            min([cheapest_way(problem, people.iloc[[row]], start, goal) for goal in goals], default=np.inf)
            for goals in (np.unique(yes, axis=0), near)
        ]
        rows.append((len(yes) > 0, *ways))
    says_yes, exactly, nearly = (np.array(column, float) for column in zip(*rows, strict=True))
    return {
        "model says yes": float(says_yes.mean()),
        "success": float(np.isfinite(exactly).mean()),
        "ratio": mean_ratio(exactly, optimum),
        "success, numbers moved": float(np.isfinite(nearly).mean()),
        "ratio, numbers moved": mean_ratio(nearly, optimum),
        "rows": len(asked.known - asked.training) / len(people),
        "milliseconds alone": seconds * 1000 / len(people),
        "milliseconds of the harness": asked.seconds * 1000 / len(people),
        "rows to learn": len(asked.training),
        "rows without memory": asked.sent / len(people),
        "gave up": gave_up / len(people),
    }


def mean_ratio(cost: np.ndarray, optimum: np.ndarray) -> float:
    good = np.isfinite(cost)
    return float((cost[good] / optimum[good]).mean()) if good.any() else float("nan")


def answers_of(
    explainer: Any, person: pd.DataFrame, number: int, vary: list[str], ranges: dict[str, list[Any]]
) -> tuple[pd.DataFrame | None, bool]:
    """DiCE's answers for one person, if it has any, and whether it was stopped."""
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
    except GaveUp:
        return None, True
    return found.final_cfs_df if found.final_cfs_df_sparse is None else found.final_cfs_df_sparse, False


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """No progress bars and no warnings of others' code."""
    with (
        warnings.catch_warnings(),
        contextlib.redirect_stderr(io.StringIO()),
        contextlib.redirect_stdout(io.StringIO()),
    ):
        warnings.simplefilter("ignore")
        yield


def by_us(benchmark: Benchmark, people: pd.DataFrame, optimum: np.ndarray, method: str) -> dict[str, float]:
    """The figures of the guided planner, with what learning took, or of the exact one."""
    problem, model = benchmark.problem, benchmark.model
    fit: dict[str, float] = {}
    make: Callable[..., Planner] = partial(ExactPlanner, problem)
    if method == "guided":
        begun = time.process_time()
        learning = ActiveLearner(
            problem, problem.read(benchmark.train), BlackBox(model), LearningSettings(), benchmark.seed
        )
        make = partial(GuidedPlanner, problem, surrogate=learning.run())
        fit = {"rows to learn": learning.queries, "seconds to learn": time.process_time() - begun}
    planner = make(box=BlackBox(model))
    plans, together = timed(lambda: planner.plan(people, refused=True))
    found = common.figures(plans, optimum, problem, model)
    planner = make(box=BlackBox(model))
    _, alone = timed(lambda: [planner.plan(people.iloc[[row]], refused=True) for row in range(len(people))])
    return {
        "model says yes": found["success"],
        "success": found["success"],
        "ratio": found["ratio"],
        "rows": found["asked"],
        "milliseconds together": together * 1000 / len(people),
        "milliseconds alone": alone * 1000 / len(people),
    } | fit


def timed(do: Callable[[], Any]) -> tuple[Any, float]:
    """What comes of it, and the CPU seconds that it took."""
    begun = time.process_time()
    return do(), time.process_time() - begun


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", default=["german", "adult"])
    parser.add_argument("--people", type=int, default=common.PEOPLE)
    parser.add_argument("--methods", nargs="*", default=[*OURS, *DICE], choices=[*OURS, *DICE])
    parser.add_argument("--answers", type=int, default=ANSWERS, help="how many DiCE may give")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if set(options.methods) & set(DICE):
        try:
            import dice_ml
        except ImportError:
            parser.error(
                "DiCE is not installed; pip install 'counterplan[peers,train]', or choose --methods guided exact"
            )
        print("dice_ml", version(dice_ml.__name__))
    print("  ".join(f"{name} {version(name)}" for name in ("numpy", "pandas", "scikit-learn")))
    results = []
    for name in options.names:
        benchmark = benchmarks.load(name, options.seed)
        people, optimum = common.reachable(benchmark.problem, benchmark.model, benchmark.refused_test)
        people, optimum = people.head(options.people), optimum[: options.people]
        print(f"{name}: {len(people)} people", flush=True)
        for method in options.methods:
            if method in OURS:
                label, row = method, by_us(benchmark, people, optimum, method)
            else:
                label, row = f"DiCE {method}", by_dice(benchmark, people, optimum, method, options.answers)
            results.append({"benchmark": name, "method": label, "people": len(people)} | row)
            print(say(label, row), flush=True)
        if options.out:
            options.out.write_text(json.dumps(results, indent=1))


def say(method: str, row: dict[str, float]) -> str:
    return f"  {method:13}" + "  ".join(f"{what} {value:.5g}" for what, value in row.items())


if __name__ == "__main__":
    main()
