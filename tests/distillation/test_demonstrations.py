"""Demonstrations at several confidences: the plans of separate searches, with less work."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import worlds
from counterplan.search.change_sets import ChangeSetSettings
from counterplan.surrogate.acquisition import GuideSettings, guide, guide_unverified

CONFIDENCES = (0.5, 0.9, 0.97)


def random_logit(problem: Any, seed: int, calls: list[int] | None = None) -> Any:
    """Log odds that grow with a random direction of the state; few people are favourable to begin with."""
    random = np.random.default_rng(seed)
    states = problem.read(worlds.random_people(problem, seed, 200)).states
    mean, scale = np.nanmean(states, axis=0), np.nanstd(states, axis=0) + 1e-9
    direction = random.normal(size=states.shape[1])

    def logit(states: np.ndarray) -> np.ndarray:
        if calls is not None:
            calls.append(len(states))
        return np.nan_to_num((states - mean) / scale) @ direction - 4.0

    return logit


@pytest.mark.parametrize("name", ["german", "syn", "adult"])
@pytest.mark.parametrize("max_expansions", [2_000, 20_000])
def test_each_confidence_has_the_plans_of_its_own_search(name: str, max_expansions: int) -> None:
    problem = worlds.benchmark(name)
    logit = random_logit(problem, 1)
    starts = problem.read(worlds.random_people(problem, 2, 60)).states
    starts = starts[logit(starts) < 0]
    groups = [np.arange(len(starts)), np.arange(0, len(starts), 3), np.arange(0, len(starts), 6)]
    quick = ChangeSetSettings(rounds=2)
    settings = GuideSettings(max_expansions=max_expansions, batch_size=1_000, change_sets=quick)
    outcomes = guide_unverified(problem, starts, logit, settings, list(zip(CONFIDENCES, groups, strict=True)))
    oracle: Any = None
    lengths = set()
    for confidence, rows, outcome in zip(CONFIDENCES, groups, outcomes, strict=True):
        alone = GuideSettings(confidence=confidence, max_expansions=max_expansions, change_sets=quick)
        allowed = np.ones((len(rows), len(problem.transitions)), bool)
        expected = guide(problem, starts[rows], allowed, logit, oracle, alone, budget=0)
        assert (outcome.actions[rows] == expected.actions).all()
        assert (outcome.cost[rows] == expected.cost).all()
        others = np.setdiff1d(np.arange(len(starts)), rows)
        assert np.isinf(outcome.cost[others]).all()
        lengths |= set((expected.actions >= 0).sum(axis=1).tolist())
    assert len(lengths) > 1, "the searches are not trivial"


def test_no_state_is_evaluated_beyond_the_first_confident_one_or_twice() -> None:
    problem = worlds.benchmark("german")
    together: list[int] = []
    alone: list[int] = []
    starts = problem.read(worlds.random_people(problem, 2, 40)).states
    rows = np.arange(len(starts))
    oracle: Any = None
    levels = [(confidence, rows) for confidence in CONFIDENCES]
    guide_unverified(problem, starts, random_logit(problem, 1, together), GuideSettings(), levels)
    allowed = np.ones((len(rows), len(problem.transitions)), bool)
    for confidence in CONFIDENCES:
        settings = GuideSettings(confidence=confidence)
        guide(problem, starts, allowed, random_logit(problem, 1, alone), oracle, settings, budget=0)
    assert 2 * sum(together) < sum(alone)
