"""Random scorecards for a problem."""

from __future__ import annotations

from random import Random

import numpy as np

import worlds
from counterplan import Problem
from counterplan.scorecard import CardFeature, Scorecard


def random_card(problem: Problem, seed: int) -> Scorecard:
    """Entries for most features; about a third of random states have enough points."""
    random = Random(seed)
    features = []
    for feature in problem.features:
        edges = tuple(sorted(random.sample([-1.0, 0.0, 1.0, 2.5, 4.0, 7.0], random.randint(1, 4))))
        count = len(edges) + 1 if feature.is_number else len(feature.natives)
        entries = [random.randint(0, 20) for _ in range(count + feature.missing)]
        entries = [entry - min(entries) for entry in entries]
        if random.random() < 0.8 and any(entries):
            missing = entries.pop() if feature.missing else None
            features.append(CardFeature(feature.index, edges if feature.is_number else (), tuple(entries), missing))
    card = Scorecard(problem, tuple(features), needed=0, slope=0.3, shift=6.0)
    points = card.points(problem.read(worlds.random_people(problem, seed, 60)).states)
    return Scorecard(problem, tuple(features), needed=int(np.quantile(points, 0.67)) + 1, slope=0.3, shift=6.0)
