"""A committee of learners of the outcome: what it learns, and how it is stored."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import worlds
from counterplan import Problem, SettingError
from counterplan.survival.committee import MIN_OUTCOMES, Committee, CommitteeSettings

SMALL = CommitteeSettings(trees=8, forests=2, boosted_trees=6, networks=2, steps=60)


def world(seed: int, count: int = 200) -> tuple[Problem, np.ndarray, np.ndarray]:
    """A problem, people, and outcomes that depend on the first feature, with noise."""
    problem = Problem.from_dict(worlds.random_problem(seed))
    states = problem.read(worlds.random_people(problem, seed, count)).states
    first = np.nan_to_num(states[:, 0])
    favourable = (first > np.median(first)) ^ (np.random.default_rng(seed).random(count) < 0.1)
    favourable[:MIN_OUTCOMES], favourable[MIN_OUTCOMES : 2 * MIN_OUTCOMES] = True, False
    return problem, states, favourable


@pytest.mark.parametrize("seed", range(8))
def test_arrays_restore_the_committee(seed: int) -> None:
    problem, states, favourable = world(seed)
    committee = Committee.fit(problem, states, favourable, seed, SMALL)
    assert np.isfinite(committee.logit(states)).all()
    again = Committee.from_arrays(problem, *committee.to_arrays())
    np.testing.assert_array_equal(again.logit(states), committee.logit(states))


def test_the_same_seed_gives_the_same_committee() -> None:
    problem, states, favourable = world(1)
    first, same, other = (Committee.fit(problem, states, favourable, seed, SMALL) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first.logit(states), same.logit(states))
    assert (first.logit(states) != other.logit(states)).any()


def test_outcomes_of_others_are_predicted_by_every_kind() -> None:
    problem = worlds.benchmark("syn")
    random = np.random.default_rng(0)
    states = problem.read(worlds.random_people(problem, 5, 1_200)).states
    numbers = [feature.index for feature in problem.features if feature.is_number]
    score = sum((states[:, i] - states[:, i].mean()) / states[:, i].std() for i in numbers)
    favourable = random.random(len(states)) < 1 / (1 + np.exp(-2 * score))
    committee = Committee.fit(problem, states[:800], favourable[:800])
    kinds = committee.by_kind(states[800:])
    assert kinds.shape == (4, 400)
    base = max(favourable[800:].mean(), 1 - favourable[800:].mean())
    for logits in [*kinds, committee.logit(states[800:])]:
        assert ((logits > 0) == favourable[800:]).mean() > base + 0.1


def test_no_states_have_no_logits() -> None:
    problem, states, favourable = world(2)
    committee = Committee.fit(problem, states, favourable, 0, SMALL)
    assert committee.logit(states[:0]).shape == (0,)


def test_many_states_in_batches() -> None:
    problem, states, favourable = world(2)
    committee = Committee.fit(problem, states, favourable, 0, SMALL)
    many = np.tile(states, (50, 1))
    np.testing.assert_allclose(committee.logit(many), np.tile(committee.logit(states), 50), atol=1e-5)


def test_each_learner_draws_its_sample_of_many_people() -> None:
    problem, states, _ = world(3, 400)
    rare = np.zeros(len(states), bool)
    rare[:MIN_OUTCOMES] = True
    settings = CommitteeSettings(max_rows=60, trees=4, forests=2, boosted_trees=4, networks=2, steps=20)
    assert np.isfinite(Committee.fit(problem, states, rare, 0, settings).logit(states)).all()


@pytest.mark.parametrize("good", [0, MIN_OUTCOMES - 1, 200 - MIN_OUTCOMES + 1, 200])
def test_too_few_people_with_one_outcome(good: int) -> None:
    problem, states, _ = world(4)
    with pytest.raises(SettingError, match="at least 10 people with each outcome"):
        Committee.fit(problem, states, np.arange(len(states)) < good, 0, SMALL)


def test_one_outcome_for_each_person() -> None:
    problem, states, favourable = world(4)
    with pytest.raises(SettingError, match="one outcome for each person"):
        Committee.fit(problem, states, favourable[:-1], 0, SMALL)


def _without(name: str) -> Any:
    return lambda arrays, facts: arrays.pop(name)


def _put(name: str, value: Any) -> Any:
    return lambda arrays, facts: arrays.update({name: value})


@pytest.mark.parametrize(
    "damage",
    [
        _without("linear.0.weight"),
        _without("forest.values"),
        _put("other", np.zeros(3)),
        _put("boosted.values", np.full((12, 16), np.nan, np.float32)),
        _put("networks.0.weight", np.zeros((1, 2, 3), np.float32)),
        _put("linear.0.bias", np.zeros((1, 1, 1))),
        lambda arrays, facts: facts.pop("features"),
        lambda arrays, facts: facts["features"].update(mean=[]),
    ],
)
def test_damaged_arrays_are_rejected(damage: Any) -> None:
    problem, states, favourable = world(5)
    arrays, facts = Committee.fit(problem, states, favourable, 0, SMALL).to_arrays()
    damage(arrays, facts)
    with pytest.raises((ValueError, KeyError, TypeError)):
        Committee.from_arrays(problem, arrays, facts)


def test_the_share_of_the_forest_is_smoothed() -> None:
    """A pure leaf of n people has the share (n + 1) / (n + 2), not 1."""
    problem, states, _ = world(6)
    favourable = np.arange(len(states)) % 2 == 0
    committee = Committee.fit(problem, states, favourable, 0, SMALL)
    shares = committee.forest(states)
    assert shares.min() > 0
    assert shares.max() < 1
