"""Scorecards for tests, fitted quickly to the models of the benchmarks, or random."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from random import Random
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

from counterplan.benchmarks import suite
from counterplan.blackbox import BlackBox
from counterplan.planners import CardPlanner
from counterplan.plans import Plans
from counterplan.problem import Feature, Problem
from counterplan.program import ModelCard
from counterplan.scorecard import CardFeature, Scorecard
from counterplan.search.synthetic import random_walk

_UNIT = 25.0
"""Points for one unit of log odds."""


@cache
def fitted(name: str, people: int = 1500) -> Scorecard:
    """A card of a benchmark: a logistic regression of its model's decisions on the values of unprotected features."""
    world, rng = suite.load(name), np.random.default_rng(0)
    problem = world.problem
    read = problem.read(world.refused_train.head(people))
    states = np.concatenate(
        [read.states, random_walk(problem, read.states, rng), random_walk(problem, read.states, rng)]
    )
    rows = np.tile(np.arange(len(read)), 3)
    favourable = BlackBox(world.model).session(problem, read)(states, rows)
    features = [feature for feature in problem.features if not feature.protected]
    edges = {feature.index: _edges(feature, states[:, feature.index]) for feature in features}
    places = [_places(states[:, feature.index], edges[feature.index]) for feature in features]
    sizes = [len(edges[f.index]) + 1 if f.is_number else len(f.natives) for f in features]
    table = np.concatenate(
        [place[:, None] == np.arange(size) for place, size in zip(places, sizes, strict=True)], axis=1
    )
    model = LogisticRegression(C=1.0, max_iter=400).fit(table, favourable)
    parts, total = [], float(model.intercept_[0])
    for feature, weights in zip(features, np.split(model.coef_[0], np.cumsum(sizes)[:-1]), strict=True):
        total += weights.min()
        points = tuple(round(_UNIT * float(weight - weights.min())) for weight in weights)
        missing = 0 if feature.missing else None
        if any(points):
            parts.append(CardFeature(feature.index, edges[feature.index], points, missing))
    examples = [problem.describe(state) for state in read.states[:5]]
    card = ModelCard.from_data({"examples": examples, "success": 0.95, "cost_ratio": 1.5, "people": len(read)})
    return Scorecard(problem, tuple(parts), round(_UNIT * (0.8 - total)), 1 / _UNIT, -total, card)


def refused(name: str) -> pd.DataFrame:
    """People of a benchmark, not those of its card, with fewer points than needed."""
    card, table = fitted(name), suite.load(name).refused_train.iloc[::-1].head(400)
    return table[card.points(card.problem.read(table).states) < card.needed]


def _edges(feature: Feature, column: np.ndarray) -> tuple[float, ...]:
    if not feature.is_number:
        return ()
    edges = np.unique(np.nanquantile(column, np.linspace(0.1, 0.9, 5)))
    return tuple(float(edge) for edge in np.unique(np.ceil(edges) if feature.integer else np.round(edges, 3)))


def _places(column: np.ndarray, edges: tuple[float, ...]) -> np.ndarray:
    place = np.searchsorted(edges, column, side="right") if edges else np.where(np.isnan(column), -1, column)
    return np.where(np.isnan(column), -1, place)


def planned(
    card: Scorecard, people: Any, forbid: Sequence[str] = (), weights: Mapping[str, float] | None = None
) -> Plans:
    """The plans of the card planner without queries, with weights by function."""
    transitions = card.problem.transitions
    by_function = [(weights or {}).get(function.name, 1.0) for function in transitions.functions]
    costs = np.tile(np.array([*by_function, 1.0])[transitions.function_of], (len(people), 1))
    return CardPlanner(card.problem, None, card, queries=0).plan(people, forbid=list(forbid), weights=costs, budget=0)


def random_card(problem: Problem, seed: int) -> Scorecard:
    """A card of random entries and edges, for a problem of any kind."""
    random = Random(seed)
    parts = []
    for feature in problem.features:
        edges = tuple(sorted(random.sample([-2.0, 0.0, 0.5, 1.0, 2.5, 3.0, 4.0, 6.0, 9.0], random.randint(1, 4))))
        size = len(edges) + 1 if feature.is_number else len(feature.natives)
        points = [random.choice([0, 0, 1, 2, 5, 9]) for _ in range(size + feature.missing)]
        points = [point - min(points) for point in points]
        if any(points) and random.random() < 0.8:
            missing = points.pop() if feature.missing else None
            parts.append(CardFeature(feature.index, edges if feature.is_number else (), tuple(points), missing))
    most = sum(max(part.all_points) for part in parts)
    return Scorecard(problem, tuple(parts), random.randint(0, most + 1), 0.5, 1.0)
