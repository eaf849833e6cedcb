"""Cached predictions are those of the surrogate, and states are evaluated once."""

from __future__ import annotations

import numpy as np
import pytest

import worlds
from counterplan.distillation.prediction_cache import PredictionCache
from counterplan.problem import Problem


class CountingLogit:
    """A different number for every state, and the number of states evaluated."""

    def __init__(self, features: int) -> None:
        self.weights = np.random.default_rng(0).standard_normal(features)
        self.evaluated = 0

    def __call__(self, states: np.ndarray) -> np.ndarray:
        self.evaluated += len(states)
        return (np.nan_to_num(states, nan=-7.5) * self.weights).sum(axis=1)


def reached(seed: int) -> tuple[Problem, np.ndarray, np.ndarray, np.ndarray]:
    """A random problem, starts [B, F], and people [n] with states [n, F] that they reach in a step or none."""
    problem = Problem.from_dict(worlds.random_problem(seed))
    starts = problem.read(worlds.random_people(problem, seed, 20)).states
    person, action = np.nonzero(problem.transitions.legal(starts))
    return problem, starts, person, problem.transitions.apply(starts[person], action)


@pytest.mark.parametrize("bits", [1, 4, 20])
@pytest.mark.parametrize("seed", range(8))
def test_predictions_are_those_of_the_surrogate(seed: int, bits: int) -> None:
    problem, starts, person, states = reached(seed)
    cache, logit = (
        PredictionCache(problem, starts, CountingLogit(starts.shape[1]), bits),
        CountingLogit(starts.shape[1]),
    )
    random = np.random.default_rng(seed)
    for _ in range(5):
        rows = random.integers(len(person), size=2 * len(person))  # with repetitions, many of them in one place
        np.testing.assert_array_equal(cache(person[rows], states[rows]), logit(states[rows]))
    assert cache(person[:0], states[:0]).shape == (0,)


@pytest.mark.parametrize("seed", range(8))
def test_a_state_is_evaluated_once(seed: int) -> None:
    problem, starts, person, states = reached(seed)
    logit = CountingLogit(starts.shape[1])
    cache = PredictionCache(problem, starts, logit, bits=20)
    distinct = len({(p, s.tobytes()) for p, s in zip(person.tolist(), states + 0.0, strict=True)})
    twice = np.tile(np.arange(len(person)), 2)
    cache(person[twice], states[twice])
    assert logit.evaluated == distinct
    cache(person[::-1], states[::-1])
    assert logit.evaluated == distinct
