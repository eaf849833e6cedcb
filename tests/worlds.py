"""Random small worlds for tests that must hold in every one of them: problems, people, black boxes, plans.

Each thing comes twice: as a hypothesis strategy (`problems`, `people`, `black_boxes`), which shrinks, and as a plain
function of a seed (`random_problem`, `random_people`, `random_black_box`), for tests in bulk. Both draw from one
grammar, written over `random.Random`.

A feature is set by one cause at most: of two, the one that is drawn last would win.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from hypothesis import strategies as st

import counterplan.problem
from counterplan.problem import Feature, Problem

BENCHMARKS = ("syn", "syn_long", "german", "adult", "taiwan")
_FILES = Path(counterplan.problem.__file__).parents[1] / "benchmarks"


def benchmark_file(name: str) -> Path:
    return _FILES / name / "problem.yaml"


@cache
def benchmark(name: str) -> Problem:
    return Problem.load(benchmark_file(name))


# Problems

_NAMES = [
    "age",
    "income",
    "job",
    "marital-status",
    "hours per week",
    "größe",
    "base",
    "before",
    "in",
    "true",
    "x1",
    "Debt",
]
_TEXTS = ["red", "o'clock", "a b", "007", "no", "NA", "?", "1.5", 'say "so"', "back\\slash", "über", "None", "7"]
_EFFORTS = [0, 0, 0.5, 1, 1, 2, 2.5, 3, 5, 10]
_SCALES = [0, 0.25, 0.5, 0.7, 1, 1.5, 2]


def random_problem(seed: int | Random) -> dict[str, Any]:
    """A problem as `Problem.from_dict` reads it: 2–5 features, 1–4 functions, a causal graph, 1–4 actions."""
    random = Random(seed) if isinstance(seed, int) else seed
    names = random.sample(_NAMES, random.randint(2, 5))
    features = {name: _feature(random) for name in names}
    order = random.sample(names, len(names))
    causes = _causes(random, features, order)
    functions = {f"DO_{i}": _function(random, features) for i in range(random.randint(1, 4))}
    _accumulate(random, features, functions, causes, order)
    problem = {
        "counterplan": 1,
        "name": "random",
        "outcome": _outcome(random),
        "max_actions": random.randint(1, 4),
        "features": features,
        "functions": functions,
        "causes": causes,
    }
    return _with_durations(random, problem) if random.random() < 0.5 else problem


def _with_durations(random: Random, problem: dict[str, Any]) -> dict[str, Any]:
    for spec in problem["functions"].values():
        values = problem["features"][spec.get("set", spec.get("add"))].get("values", [])
        arguments = values if spec["arguments"] == "all" else spec["arguments"]
        if random.random() < 0.9:
            scaled = random.random() < 0.4
            spec["duration"] = _per_argument(random, arguments, values)
            if scaled:
                spec["duration"] = {"base": spec["duration"], "surcharge": random.choice(_EFFORTS)}
        if random.random() < 0.3:
            spec["overlaps"] = random.random() < 0.3
    return problem | {"time_unit": random.choice(["months", "weeks"])}


def problem_dicts() -> st.SearchStrategy[dict[str, Any]]:
    """Problems as dicts."""
    return st.randoms(use_true_random=False).map(random_problem)


def problems() -> st.SearchStrategy[Problem]:
    """Problems, read."""
    return problem_dicts().map(Problem.from_dict)


def timed_problems() -> st.SearchStrategy[Problem]:
    """Problems in which some action takes time."""
    drawn = st.randoms(use_true_random=False).map(lambda random: _with_durations(random, random_problem(random)))
    return drawn.map(Problem.from_dict).filter(lambda problem: bool(problem.time_unit))


def _outcome(random: Random) -> dict[str, Any]:
    values = random.choice([["refused", "granted"], [0, 1], [False, True], ["bad", "fair", "good"]])
    favourable = values[-1] if random.random() < 0.7 else values[1:]
    return {"column": "outcome", "values": values, "favourable": favourable}


def _feature(random: Random) -> dict[str, Any]:
    spec = _number(random) if random.random() < 0.45 else _category(random)
    if random.random() < 0.25:
        spec["missing"] = True
    if random.random() < 0.2:
        spec["label"] = "what one calls it"
    if random.random() < 0.1:
        spec["protected"] = True
    return spec


def _number(random: Random) -> dict[str, Any]:
    spec: dict[str, Any] = {"kind": "number"}
    if random.random() < 0.6:
        spec["integer"] = True
    if random.random() < 0.4:
        spec["minimum"] = random.choice([0, -4, 1, 2.5])
    if random.random() < 0.4:
        spec["maximum"] = random.choice([5, 8, 12, 10.5])
    if random.random() < 0.7:
        cuts = sorted(random.sample([-2, 0, 1, 2.5, 3, 4, 6, 9], random.randint(0, 4)))
        spec["bins"] = [-math.inf, *cuts] if random.random() < 0.5 else cuts
    if random.random() < 0.2:
        spec["unit"] = "€"
    return spec


def _category(random: Random) -> dict[str, Any]:
    size = random.choice([1, 2, 2, 3, 3, 4, 5])
    style = random.choice(["text", "text", "text", "whole", "truth"])
    values: list[Any]
    if style == "truth":
        values = random.choice([[True, False], [False, True]])
    elif style == "whole":
        values = random.sample([-1, 0, 1, 2, 3, 10, 2024], size)
    else:
        values = random.sample(_TEXTS, size)
    spec: dict[str, Any] = {"kind": random.choice(["category", "ordered"]), "values": values}
    if random.random() < 0.2:
        spec["labels"] = {_text(values[0]): "the first"}
    return spec


def _text(native: Any) -> str:
    """The text of a value, as the file format defines it."""
    if isinstance(native, bool):
        return "true" if native else "false"
    return str(int(native)) if isinstance(native, float) and native.is_integer() else str(native)


def _whole(spec: dict[str, Any]) -> bool:
    return bool(spec.get("integer"))


def _is_number(spec: dict[str, Any]) -> bool:
    return spec["kind"] == "number"


def _bounds(spec: dict[str, Any]) -> tuple[float, float]:
    return spec.get("minimum", -math.inf), spec.get("maximum", math.inf)


def _some_number(random: Random, spec: dict[str, Any]) -> float:
    """A number that the feature may take, near those that conditions and bins speak of."""
    low, high = _bounds(spec)
    low, high = max(low, -4), min(high, 12)
    if _whole(spec):
        return random.randint(math.ceil(low), math.floor(high))
    return random.randint(math.ceil(low * 4), math.floor(high * 4)) / 4


def _per_argument(random: Random, arguments: Sequence[Any], values: Sequence[Any]) -> Any:
    """Efforts in one of the three ways to write them."""
    form = random.choice(["one", "list", "mapping", "mapping"])
    if form == "one":
        return random.choice(_EFFORTS)
    if form == "list":
        return [random.choice(_EFFORTS) for _ in arguments]
    named = [*arguments, *(value for value in values if random.random() < 0.5)]
    written: Callable[[Any], Any] = random.choice([_text, lambda native: native])
    return {written(native): random.choice(_EFFORTS) for native in named}


def _cost(random: Random, arguments: Sequence[Any], values: Sequence[Any]) -> Any:
    if random.random() < 0.2:
        return random.choice(_EFFORTS)
    cost = {"base": _per_argument(random, arguments, values)}
    if random.random() < 0.5:
        cost["surcharge"] = _per_argument(random, arguments, values)
    return cost


def _function(random: Random, features: dict[str, Any]) -> dict[str, Any]:
    name = random.choice(list(features))
    target = features[name]
    values = target.get("values", [])
    spec: dict[str, Any] = {}
    adds = _is_number(target) and random.random() < 0.7
    arguments: Any
    if adds:
        spec["add"] = name
        steps = [-5, -2, -1, 1, 2, 5] if _whole(target) else [-2.5, -1, -0.1, 0.1, 0.5, 3]
        arguments = random.sample(steps, random.randint(1, 3))
    elif _is_number(target):
        spec["set"] = name
        arguments = sorted({_some_number(random, target) for _ in range(random.randint(1, 3))})
    else:
        spec["set"] = name
        arguments = "all" if random.random() < 0.5 else random.sample(values, random.randint(1, len(values)))
    spec["arguments"] = arguments
    spec["cost"] = _cost(random, values if arguments == "all" else arguments, values)
    when = _when(random, features, name, adds)
    if when is not None:
        spec["when"] = when
    if random.random() < 0.3:
        spec["phrase"] = "From {before} to {after} by {amount} ({argument})"
    return spec


def _when(random: Random, features: dict[str, Any], name: str, adds: bool) -> str | None:
    chance = random.random()
    if chance < 0.3:
        return None
    if chance < 0.5 and features[name]["kind"] == "ordered":
        return f"argument > {_quoted(name)}"
    return _Grammar(random, features, name, adds).condition(random.choice([0, 1, 1, 2]))


def _causes(random: Random, features: dict[str, Any], order: list[str]) -> list[dict[str, Any]]:
    pairs = [(a, b) for i, a in enumerate(order) for b in order[i + 1 :]]
    edges = random.sample(pairs, random.randint(0, min(4, len(pairs))))
    setting: dict[str, str] = {}
    for source, target in edges:
        if target not in setting and random.random() < 0.4:
            table = not _is_number(features[source]) and (not _is_number(features[target]) or random.random() < 0.5)
            if table or _is_number(features[target]):
                setting[target] = source
    causes = []
    for source, target in edges:
        cause: dict[str, Any] = {"from": source, "to": target}
        if random.random() < 0.6:
            cause["scale"] = _scale(random, features[source])
        if setting.get(target) == source:
            cause |= _consequence(random, features, source, target, order[: order.index(target)])
        causes.append(cause)
    return causes


def _scale(random: Random, spec: dict[str, Any]) -> Any:
    if not _is_number(spec):
        if random.random() < 0.5:
            return [random.choice(_SCALES) for _ in spec["values"]]
        return {_text(value): random.choice(_SCALES) for value in spec["values"] if random.random() < 0.7}
    marks = sorted(random.sample(range(-3, 12), random.randint(1, 3)))
    up = random.random() < 0.5
    bounds = ["below", "at_most"] if up else ["above", "at_least"]
    intervals: list[dict[str, Any]] = [
        {random.choice(bounds): mark, "scale": random.choice(_SCALES)} for mark in (marks if up else marks[::-1])
    ]
    if random.random() < 0.3:
        intervals.insert(0, {"at_least": 1, "below": 2, "scale": 0.3})
    if random.random() < 0.5:
        intervals.append({"scale": random.choice(_SCALES)})
    return intervals


def _consequence(
    random: Random, features: dict[str, Any], source: str, target: str, earlier: list[str]
) -> dict[str, Any]:
    goal = features[target]
    if not _is_number(features[source]) and (not _is_number(goal) or random.random() < 0.5):
        chosen = [value for value in features[source]["values"] if random.random() < 0.7]
        some = (lambda: _some_number(random, goal)) if _is_number(goal) else lambda: random.choice(goal["values"])
        return {"table": {_text(value): some() for value in chosen}}
    names = {source, target, random.choice(earlier)}
    grammar = _Grammar(random, {name: spec for name, spec in features.items() if name in names})
    return {"formula": grammar.number(random.choice([0, 1, 2]))}


def _accumulate(
    random: Random,
    features: dict[str, Any],
    functions: dict[str, Any],
    causes: list[dict[str, Any]],
    order: list[str],
) -> None:
    """Let some formulas use values before the action and, if functions with numbers alone trigger them, `argument`."""
    free = {name for name, spec in features.items() if _is_number(spec)}
    free -= {cause["to"] for cause in causes if _sets(cause)}
    added = [spec["add"] for spec in functions.values() if "add" in spec]
    pairs = [(a, b) for a in added for b in sorted(free) if order.index(a) < order.index(b)]
    if pairs and random.random() < 0.6:
        source, target = random.choice(pairs)
        found = [cause for cause in causes if (cause["from"], cause["to"]) == (source, target)]
        causes += [] if found else [{"from": source, "to": target}]
        (found or causes)[-1]["formula"] = _quoted(random.choice([source, target]))
    for cause in causes:
        if "formula" not in cause or random.random() < 0.3:
            continue
        sources = {cause["from"]}  # and all that it follows from
        for _ in causes:
            sources |= {one["from"] for one in causes if one["to"] in sources and _sets(one)}
        targets = [spec.get("set", spec.get("add")) for spec in functions.values()]
        numeric = all(_is_number(features[target]) for target in targets if target in sources)
        grammar = _Grammar(random, {})
        grammar.names = {f"before({_quoted(name)})": features[name] for name in random.sample(list(features), 2)}
        grammar.names |= {"argument": {"kind": "number"}} if numeric else {}
        own = random.choice([_quoted(cause["to"]), f"before({_quoted(cause['to'])})", cause["formula"]])
        more = "argument" if numeric and random.random() < 0.5 else grammar.number(1)
        cause["formula"] = f"{own} {random.choice(['+', '+', '-', '*'])} {more}"


def _sets(cause: dict[str, Any]) -> bool:
    return "table" in cause or "formula" in cause


def _quoted(name: str) -> str:
    return name if name.isidentifier() and name not in ("in", "true", "base") else f"`{name}`"


class _Grammar:
    """Random texts of the condition language that make sense for `features` and, in a function, its `argument`."""

    def __init__(self, random: Random, features: dict[str, Any], target: str | None = None, adds: bool = False):
        self.random = random
        self.names = {_quoted(name): spec for name, spec in features.items()}
        self.bases = target is not None and not _is_number(features[target])
        self.target = target if target is None else _quoted(target)
        if target is not None:
            self.names["argument"] = features[target] if not adds else {"kind": "number"}

    def one_of(self, *kinds: str) -> str | None:
        fitting = [name for name, spec in self.names.items() if spec["kind"] in kinds]
        return self.random.choice(fitting) if fitting else None

    def condition(self, depth: int) -> str:
        random = self.random
        if depth > 0 and random.random() < 0.7:
            inner = [self.condition(depth - 1) for _ in range(random.randint(2, 3))]
            form = random.choice(["and", "or", "not", "brackets"])
            if form == "not":
                return f"not ({inner[0]})"
            return f"({inner[0]})" if form == "brackets" else f" {form} ".join(f"({part})" for part in inner)
        way = random.choice([self.numbers, self.numbers, self.categories, self.categories, self.known, self.among])
        return way(depth) or "true"

    def numbers(self, depth: int) -> str:
        signs = ["<", "<=", ">", ">=", "==", "!=", "≤", "≥", "≠"]
        sides = [self.number(depth) for _ in range(self.random.choice([2, 2, 2, 3]))]
        return "".join(f" {self.random.choice(signs)} {side}" for side in sides).split(" ", 2)[2]

    def categories(self, depth: int) -> str | None:
        name = self.one_of("category", "ordered")
        if name is None:
            return None
        alike = [other for other, spec in self.names.items() if spec is self.names[name]]
        right = self.random.choice(alike) if self.random.random() < 0.4 else self.literal(self.names[name])
        signs = ["==", "!="] if self.names[name]["kind"] == "category" else ["==", "!=", "<", "<=", ">", ">="]
        sides = [name, right]
        if self.random.random() < 0.3:
            sides.reverse()
        return f" {self.random.choice(signs)} ".join(sides)

    def known(self, depth: int) -> str:
        return f"missing({self.random.choice(list(self.names))})"

    def among(self, depth: int) -> str:
        word = self.random.choice(["in", "not in"])
        name = self.one_of("category", "ordered")
        if name is None or self.random.random() < 0.3:
            items = [str(self.random.choice([-1, 0, 1, 2, 2.5, 4])) for _ in range(2)]
            return f"{self.number(depth)} {word} [{', '.join(items)}]"
        items = [self.literal(self.names[name]) for _ in range(self.random.randint(1, 3))]
        return f"{name} {word} [{', '.join(items)}]"

    def literal(self, spec: dict[str, Any]) -> str:
        native = self.random.choice(spec["values"])
        if type(native) is int and self.random.random() < 0.5:
            return str(native)
        text = _text(native).replace("\\", "\\\\")
        return (
            "'" + text.replace("'", "\\'") + "'" if self.random.random() < 0.7 else '"' + text.replace('"', '\\"') + '"'
        )

    def number(self, depth: int) -> str:
        random = self.random
        if depth > 0 and random.random() < 0.6:
            sign = random.choice(["+", "-", "*", "/", "negate", "−", "×"])
            if sign == "negate":
                return f"-({self.number(depth - 1)})"
            right = self.divisor() if sign == "/" else self.number(depth - 1)
            return f"({self.number(depth - 1)} {sign} {right})"
        ranked = self.one_of("ordered")
        named = self.one_of("number")
        ways = [str(random.choice([-2, 0, 1, 2, 2.5, 3, 5, 8, 0.1]))]
        ways += [named] * 3 if named else []
        ways += [f"rank({ranked})"] if ranked else []
        ways += [f"base({random.choice(['argument', self.target])})"] if self.bases else []
        return random.choice(ways)

    def divisor(self) -> str:
        named = self.one_of("number")
        return named if named and self.random.random() < 0.5 else str(self.random.choice([2, 4, 0.5, -3]))


# People


def random_people(problem: Problem, random: int | Random, count: int) -> pd.DataFrame:
    """A table of people who fit the problem, with natives as a user would write them."""
    random = Random(random) if isinstance(random, int) else random
    columns = {feature.name: [_some_value(random, feature) for _ in range(count)] for feature in problem.features}
    names = random.sample(list(columns), len(columns))
    return pd.DataFrame({name: columns[name] for name in names})


def people(problem: Problem, most: int = 6) -> st.SearchStrategy[pd.DataFrame]:
    """Tables of 1–6 people."""
    return st.builds(
        lambda random, count: random_people(problem, random, count),
        st.randoms(use_true_random=False),
        st.integers(1, most),
    )


def _some_value(random: Random, feature: Feature) -> Any:
    if feature.missing and random.random() < 0.2:
        return None
    if not feature.is_number:
        return random.choice(feature.natives)
    marks = [cut for cut in feature.bins or () if math.isfinite(cut)]
    if marks and max(marks) > 20:  # a benchmark's
        return random.randint(int(max(feature.low, min(marks) - 1)), int(min(feature.high, max(marks) * 1.2)))
    bounds = {"minimum": feature.low, "maximum": feature.high, "integer": feature.integer}
    return _some_number(random, bounds)


# Black boxes


class BlackBox:
    """A decision that depends on nothing but a person's features: a score and a threshold.

    `queries` counts the rows that it was asked about.
    """

    def __init__(self, problem: Problem, weights: dict[str, Callable[[float], float]], threshold: float) -> None:
        self.outcome = problem.outcome
        self.weights = weights
        self.threshold = threshold
        self.queries = 0
        good = [native for native in problem.outcome.natives if _text(native) in problem.outcome.favourable]
        bad = [native for native in problem.outcome.natives if _text(native) not in problem.outcome.favourable]
        self.answers = (bad[0], good[0])

    def score(self, frame: pd.DataFrame) -> np.ndarray:
        total = np.zeros(len(frame))
        for name, weight in self.weights.items():
            total += [weight(None if pd.isna(value) else value) for value in frame[name].tolist()]
        return total

    def favourable(self, frame: pd.DataFrame) -> np.ndarray:
        self.queries += len(frame)
        return np.round(self.score(frame), 6) >= self.threshold

    def __call__(self, frame: pd.DataFrame) -> np.ndarray:
        """An outcome for each row of `frame`."""
        answers = np.empty(2, object)
        answers[:] = self.answers
        return answers[self.favourable(frame).astype(int)]


def random_black_box(problem: Problem, seed: int) -> BlackBox:
    """A rule that 10–30 % of all states satisfy, now and then very few of them, or none."""
    random = Random(seed)
    needle = random.random() < 0.2
    weights = {feature.name: _weight(random, feature, needle) for feature in problem.features}
    if random.random() < 0.1:
        return BlackBox(problem, weights, math.inf)
    box = BlackBox(problem, weights, math.inf)
    scores = np.sort(np.round(box.score(random_people(problem, random, 300)), 6))
    box.threshold = float(scores[-1] if needle else scores[int(len(scores) * random.uniform(0.7, 0.9))])
    if not needle and (scores >= box.threshold).mean() > 0.35:  # many share one score: ask for more than that
        above = scores[scores > box.threshold]
        box.threshold = float(above[0]) if len(above) else math.inf
    return box


def black_boxes(problem: Problem) -> st.SearchStrategy[BlackBox]:
    """Rules that decide about people of `problem`."""
    return st.integers(0, 10**6).map(lambda seed: random_black_box(problem, seed))


def _weight(random: Random, feature: Feature, needle: bool) -> Callable[[Any], float]:
    """What a value adds to the score; of a needle, only one value counts."""
    unknown = 0.0 if needle else random.uniform(-1, 1)
    if not feature.is_number:
        chosen = random.choice(feature.natives)
        points = {native: float(native == chosen) if needle else random.uniform(-2, 2) for native in feature.natives}
        return lambda value: unknown if value is None else points[value]
    if needle:
        place = random.randint(0, 6)
        return lambda value: unknown if value is None else float(abs(value - place) <= 1)
    slope = random.uniform(-0.5, 0.5)
    return lambda value: unknown if value is None else slope * min(max(float(value), -20.0), 30.0)


# Plans


class Plans(NamedTuple):
    """What B people did in T steps: `actions` [B, T] padded with STOP, `states` [B, T + 1, F], `costs` [B, T]."""

    actions: np.ndarray
    states: np.ndarray
    costs: np.ndarray


def random_plan_actions(problem: Problem, states: np.ndarray, rng: np.random.Generator, stop: float = 0.05) -> Plans:
    """Random legal plans from `states` [B, F], each step drawn from the legal actions; `stop` is STOP's chance."""
    transitions = problem.transitions
    rows = np.arange(len(states))
    done = np.zeros(len(states), bool)
    actions, costs, seen = [], [], [states]
    for _ in range(problem.max_actions):
        odds = rng.random((len(states), len(transitions))) * transitions.legal(seen[-1])
        odds[:, transitions.stop] = 1e-12
        chosen = odds.argmax(axis=1)
        done |= (chosen == transitions.stop) | (rng.random(len(states)) < stop)
        chosen = np.where(done, transitions.stop, chosen)
        costs.append(transitions.cost(seen[-1])[rows, chosen])
        seen.append(transitions.apply(seen[-1], chosen))
        actions.append(chosen)
    return Plans(np.stack(actions, axis=1), np.stack(seen, axis=1), np.stack(costs, axis=1))
