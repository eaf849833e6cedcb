"""Synthetic states to learn from: recombined from real people, or reached by random plans."""

from __future__ import annotations

import numpy as np

from counterplan.problem import People, Problem
from counterplan.problem.transitions import Floats, Ints

_DONATED = 0.6
"""Share of a synthetic person's features that come from donors."""
_JITTER = 0.2
"""Standard deviation of the noise on numeric features, in standard deviations of the feature."""


def crossover(
    problem: Problem, people: People, count: int, random: np.random.Generator, share: float = 0.3
) -> tuple[Floats, Ints]:
    """Synthetic states [n, F] and their source rows [n]: people with a `share` of features from one donor each.

    A feature that is a consequence of another one is taken from the same person.
    """
    rows = random.integers(len(people), size=count)
    others = random.integers(len(people), size=count)
    taken = random.random((count, len(problem.features))) < share
    for cause in problem.transitions.causes:
        if cause.sets:
            taken[:, cause.target] = taken[:, cause.source]
    return np.where(taken, people.states[others], people.states[rows]), rows


def synthesize(problem: Problem, people: People, count: int, random: np.random.Generator) -> tuple[Floats, Ints]:
    """Synthetic states [n, F] and their source rows [n].

    Most features are taken from donors, a different one each, and numbers get noise.

    They are further from real people than those of `crossover`, to generalize to unseen people.
    """
    rows = random.integers(len(people), size=count)
    donors = random.integers(len(people), size=(count, len(problem.features)))
    donors = np.where(random.random(donors.shape) < _DONATED, donors, rows[:, None])
    for cause in problem.transitions.causes:
        if cause.sets:
            donors[:, cause.target] = donors[:, cause.source]
    states = people.states[donors, np.arange(len(problem.features))]
    for feature in problem.features:
        if feature.is_number:
            known = people.states[:, feature.index]
            known = known[~np.isnan(known)]
            if len(known):
                moved = states[:, feature.index] + _JITTER * known.std() * random.standard_normal(count)
                moved = np.round(moved) if feature.integer else moved
                states[:, feature.index] = np.clip(moved, known.min(), known.max())
    return states, rows


def random_walk(problem: Problem, states: Floats, random: np.random.Generator) -> Floats:
    """Final states [n, F] of random legal plans of random length from `states` [n, F]; each function at most once."""
    transitions = problem.transitions
    length = random.integers(1, problem.max_actions + 1, size=len(states))
    used = np.zeros((len(states), len(transitions.functions) + 1), bool)
    used[:, -1] = True  # STOP is no step
    for t in range(problem.max_actions):
        odds = random.random((len(states), len(transitions)))
        odds *= transitions.legal(states) & ~used[:, transitions.function_of]
        odds[:, transitions.stop] = 1e-12
        chosen = np.where(t < length, odds.argmax(axis=1), transitions.stop)
        used[np.arange(len(states)), transitions.function_of[chosen]] = True
        states = transitions.apply(states, chosen)
    return states
