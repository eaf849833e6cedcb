"""A family of synthetic problems of any size, for scaling experiments: 5 to 40 functions, 30 to 250 actions.

Ordered features and a few numbers form a causal forest: higher parents make changes of their children cheaper and
enable their highest values. There are three kinds of black box: a needle requires certain values of `needed` features;
a network and boosted trees weigh all features, and most people need about as many changes.
"""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np
import pandas as pd

from counterplan.benchmarks.boosting import BoostedModel, BoostedTrees
from counterplan.benchmarks.models import BenchmarkModel, NetworkModel, NetworkWeights, RuleModel
from counterplan.benchmarks.suite import TEST_SHARE, Benchmark
from counterplan.errors import SettingError
from counterplan.problem import Problem
from counterplan.problem.transitions import Bools, Floats

ModelKind = Literal["needle", "network", "boosted"]
PEOPLE = 3_000
GRANTED = 0.15
"""The share of people with a favourable decision."""
POSSIBLE = 0.99
"""The least share of people who can reach a favourable decision of a network or trees."""
TRIED = 150
HIDDEN = 16
CAREERS = (0.15, 0.4)
"""The range of people's average relative rank: nobody starts near the top."""


class NeedleModel(RuleModel):
    """Requires certain values, or higher ones, of some ordered features; the optimal costs are known."""

    def __init__(self, problem: Problem, goals: dict[str, str]) -> None:
        super().__init__(problem, " and ".join(f"{name} >= '{value}'" for name, value in goals.items()))
        ordered = [feature for feature in problem.features if feature.kind == "ordered"]
        self.goals = {f.index: f.values.index(goals[f.name]) for f in ordered if f.name in goals}
        self._parent = {cause.target: cause.source for cause in problem.transitions.causes}

    def optimum(self, states: Floats) -> Floats:
        """The cost [B] of the cheapest plan from `states` [B, F], by dynamic programming over the causal forest.

        Changing parents first is optimal, because a higher parent makes changes of its children cheaper and never
        fewer of them legal.
        """
        functions, features = self.problem.transitions.functions, self.problem.features
        touched = set(self.goals)
        for index in self.goals:
            while index in self._parent:
                touched.add(index := self._parent[index])
        below = {index: np.zeros((len(states), len(features[index].natives))) for index in touched}
        total = np.zeros(len(states))
        number = {function.target: i for i, function in enumerate(functions)}
        for index in sorted(touched, reverse=True):  # children come after their parents
            value = np.arange(len(features[index].natives))
            below[index][:, value < self.goals.get(index, 0)] = np.inf
            parent = self._parent.get(index)
            if parent is None:
                total += (self._costs(states, number[index]) + below[index]).min(axis=1)
                continue
            for level in range(len(features[parent].natives)):
                raised = states.copy()
                raised[:, parent] = level
                below[parent][:, level] += (self._costs(raised, number[index]) + below[index]).min(axis=1)
        return total

    def _costs(self, states: Floats, function: int) -> Floats:
        """The cost [B, n] in `states` [B, F] of changing a function's feature to each of its values; 0 if unchanged."""
        transitions = self.problem.transitions
        span, target = transitions.spans[function], transitions.functions[function].target
        steps = [transitions.step(states, np.full(len(states), action)) for action in range(span.start, span.stop)]
        costs = np.stack([np.where(legal, cost, np.inf) for _, cost, legal in steps], axis=1)
        costs[np.arange(len(states)), states[:, target].astype(np.intp)] = 0.0
        return costs


def family(
    functions: int = 10, box: ModelKind = "needle", needed: int = 4, max_actions: int = 8, seed: int = 0
) -> Benchmark:
    """Generate a member of the family; the same arguments give the same benchmark.

    Parameters
    ----------
    functions : int, default=10
        The number of functions.
    box : {"needle", "network", "boosted"}, default="needle"
        The kind of black box.
    needed : int, default=4
        The number of changes that most people need.
    max_actions : int, default=8
        The longest plan.
    seed : int, default=0

    Returns
    -------
    Benchmark

    Raises
    ------
    SettingError
        If a number is too small, or `needed` changes do not fit into a plan.
    """
    if functions < 1 or max_actions < 1 or not 1 <= needed <= functions:
        raise SettingError("'functions', 'max_actions' and 'needed' are one or more, and 'needed' <= 'functions'")
    random = np.random.default_rng([seed, functions, max_actions])
    data, parents = _problem(functions, max_actions, random)
    problem = Problem.from_dict(data)
    people = _people(problem, PEOPLE, random)
    model: BenchmarkModel
    if box == "needle":
        goals = _goals(problem, parents, needed, random)
        model = NeedleModel(problem, goals)
        _grant(problem, people, goals, random)
    elif box == "network":
        model = _network(problem, problem.read(people).states, needed, random)
    elif box == "boosted":
        model = _boosted(problem, problem.read(people).states, needed, random)
    else:
        raise SettingError(f"there is no box '{box}'; there are needle, network, boosted")
    people[problem.outcome.column] = model.labels(people)
    test = round(len(people) * TEST_SHARE)
    return Benchmark(problem.name, seed, problem, model, people[test:].reset_index(drop=True), people[:test])


def _problem(functions: int, max_actions: int, random: np.random.Generator) -> tuple[dict[str, Any], dict[str, str]]:
    """The data of the problem, and the parent of each feature that has one."""
    features: dict[str, Any] = {
        "age": {"kind": "number", "integer": True, "minimum": 18, "maximum": 90, "bins": [18, 30, 45, 60]},
        "region": {"kind": "category", "values": ["north", "east", "south", "west"]},
    }
    actions: dict[str, Any] = {}
    causes: list[dict[str, Any]] = []
    parents: dict[str, str] = {}
    for i in range(functions):
        name, size = f"x{i}", int(random.integers(4, 9))
        base = random.uniform(1, 6) * (1 + np.arange(size) * random.uniform(0.1, 0.5))
        cost = {"base": [round(float(cost), 1) for cost in base]}
        if i % 8 == 7:  # a number
            features[name] = {"kind": "number", "integer": True, "minimum": 0, "maximum": 40, "bins": [0, 10, 20, 30]}
            steps = [int(step) for step in np.arange(1, size + 1) * random.integers(1, 5)]
            actions[f"RAISE_{name}"] = {"add": name, "arguments": steps, "cost": cost}
            continue
        features[name] = {"kind": "ordered", "values": [f"v{level}" for level in range(size)]}
        action: dict[str, Any] = {"set": name, "arguments": "all", "when": f"argument > {name}", "cost": cost}
        earlier = [other for other in features if features[other]["kind"] == "ordered" and other != name]
        if earlier and random.random() < 0.6:
            parent = parents[name] = earlier[int(random.integers(len(earlier)))]
            levels = len(features[parent]["values"])
            scales = np.linspace(random.uniform(1, 1.3), random.uniform(0.5, 0.9), levels)
            causes.append({"from": parent, "to": name, "scale": [round(float(scale), 2) for scale in scales]})
            if random.random() < 0.6:
                high, wanted = int(random.integers(size // 2, size)), int(random.integers(1, levels - 1))
                action["when"] += f" and (argument < 'v{high}' or {parent} >= 'v{wanted}')"
        actions[f"RAISE_{name}"] = action
    return {
        "counterplan": 1,
        "name": f"family-{functions}",
        "outcome": {"column": "outcome", "values": ["refused", "granted"], "favourable": "granted"},
        "max_actions": max_actions,
        "features": features,
        "functions": actions,
        "causes": causes,
    }, parents


def _people(problem: Problem, count: int, random: np.random.Generator) -> pd.DataFrame:
    """Sample people of a problem with correlated ranks, all below the top."""
    career = random.uniform(*CAREERS, count)
    table: dict[str, Any] = {}
    for feature in problem.features:
        if feature.name == "age":
            table["age"] = random.integers(18, 80, count)
        elif feature.is_number:
            table[feature.name] = random.binomial(int(feature.high), career * 0.7)
        elif feature.kind == "ordered":
            table[feature.name] = np.array(feature.natives)[random.binomial(len(feature.natives) - 1, career)]
        else:
            table[feature.name] = random.choice(np.array(feature.natives), count)
    return pd.DataFrame(table)


def _goals(problem: Problem, parents: dict[str, str], needed: int, random: np.random.Generator) -> dict[str, str]:
    """The values that a needle requires: high ones, of features that fit with their ancestors into the longest plan."""
    ordered = [feature for feature in problem.features if feature.kind == "ordered"]
    for _ in range(1_000):
        chosen = [ordered[i] for i in sorted(random.permutation(len(ordered))[:needed])]
        touched = {feature.name for feature in chosen}
        for name in tuple(touched):
            while name in parents:
                name = parents[name]
                touched.add(name)
        if len(chosen) == needed and len(touched) <= problem.max_actions:
            return {
                feature.name: feature.values[int(random.integers(len(feature.values) - 2, len(feature.values)))]
                for feature in chosen
            }
    raise SettingError(f"{needed} needed changes do not fit into {problem.max_actions} actions; allow more actions")


def _grant(problem: Problem, people: pd.DataFrame, goals: dict[str, str], random: np.random.Generator) -> None:
    """Give some of the people the values that a needle requires."""
    granted = random.random(len(people)) < GRANTED
    for name, value in goals.items():
        feature = next(feature for feature in problem.features if feature.name == name)
        ranks = people[name].map({text: rank for rank, text in enumerate(feature.values)})
        people.loc[granted & (ranks < feature.values.index(value)), name] = value


def _network(problem: Problem, states: Floats, needed: int, random: np.random.Generator) -> NetworkModel:
    """A network fitted to a random score, favourable for few of `states` [B, F]."""
    from sklearn.neural_network import MLPClassifier

    sample, good = _scored(problem, random)
    numbers = [feature for feature in problem.features if feature.is_number]
    low, width = np.array([(feature.low, feature.high - feature.low) for feature in numbers]).reshape(-1, 2).T
    columns = [(sample[:, [feature.index for feature in numbers]] - low) / width]
    columns += [np.eye(len(f.natives))[sample[:, f.index].astype(int)] for f in problem.features if not f.is_number]
    network = MLPClassifier((HIDDEN, HIDDEN), alpha=0.01, max_iter=15, random_state=0, tol=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it need not converge
        network.fit(np.concatenate(columns, axis=1), good)
    layers = list(zip(network.coefs_, network.intercepts_, strict=True))

    def with_bias(bias: float) -> NetworkModel:
        return NetworkModel(problem, NetworkWeights(low, width, (*layers[:-1], (layers[-1][0], layers[-1][1] + bias))))

    return with_bias(_bias(with_bias(0.0), states, needed))


def _boosted(problem: Problem, states: Floats, needed: int, random: np.random.Generator) -> BoostedModel:
    """Trees fitted to a random score, favourable for few of `states` [B, F]."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    sample, good = _scored(problem, random)
    estimator = HistGradientBoostingClassifier(max_iter=120, max_leaf_nodes=8, random_state=0)
    trees = BoostedTrees.from_estimator(estimator.fit(sample, good), problem.features)
    return BoostedModel(problem, trees, bias=_bias(BoostedModel(problem, trees), states, needed))


def _scored(problem: Problem, random: np.random.Generator) -> tuple[Floats, Bools]:
    """Random states [n, F], and whether their random score is high [n]; it has linear, step and pairwise terms."""
    tops = np.array([feature.high if feature.is_number else len(feature.natives) - 1 for feature in problem.features])
    count = len(tops)
    share = random.random((4 * PEOPLE, count))
    slope = random.gamma(1.0, 1.0, count) * random.choice([1.0, 1.0, 1.0, -0.3], count)
    step, height = random.uniform(0.3, 0.9, count), random.gamma(1.0, 1.0, count)
    first, second = random.integers(0, count, (2, count))
    score = share @ slope + (share > step) @ height + 2 * (share[:, first] * share[:, second]).sum(axis=1)
    return np.round(share * tops), score >= np.median(score)


def _bias(model: BenchmarkModel, states: Floats, needed: int) -> float:
    """The bias of the logit for which few of `states` [B, F] are favourable, and most can become favourable.

    The median person needs `needed` actions if they are chosen greedily.
    """
    few = np.quantile(_logit(model, states), 1 - GRANTED / 3)
    climbed = _climbed(model, states[:TRIED])
    middle, possible = np.median(climbed[min(needed, len(climbed)) - 1]), np.quantile(climbed[-1], 1 - POSSIBLE)
    return -float(min(few, middle, possible))


def _logit(model: BenchmarkModel, states: Floats) -> Floats:
    chance = np.clip(model.score(states), 1e-12, 1 - 1e-12)
    return np.asarray(np.log(chance / (1 - chance)), np.float64)


def _climbed(model: BenchmarkModel, states: Floats) -> Floats:
    """[T, B] the logit of people in `states` [B, F] after each greedy step."""
    transitions, reached = model.problem.transitions, []
    for _ in range(model.problem.max_actions):
        person, action = np.nonzero(transitions.legal(states))
        logit = np.full((len(states), len(transitions)), -np.inf)
        logit[person, action] = _logit(model, transitions.apply(states[person], action))
        reached.append(logit.max(axis=1))
        states = transitions.apply(states, logit.argmax(axis=1))
    return np.stack(reached)
