"""The posterior over weights: direction of updates, invariance, determinism."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterplan.errors import SettingError
from counterplan.personal.preferences import ChoiceModel, Preferences

MODEL = ChoiceModel(particles=400)


def chosen_chance(preferences: Preferences, options: np.ndarray, choice: int) -> float:
    """Mean probability of a choice over the particles."""
    costs = preferences.costs(options)
    utility = -preferences.model.sharpness * costs / costs.min(axis=1, keepdims=True)
    chances = np.exp(utility - utility.max(axis=1, keepdims=True))
    return float((chances / chances.sum(axis=1, keepdims=True))[:, choice].mean())


@st.composite
def questions(draw: st.DrawFn) -> tuple[np.ndarray, int]:
    """Costs of options by function, and a choice."""
    functions, count = draw(st.integers(1, 6)), draw(st.integers(2, 4))
    cells = st.sampled_from([0.0, 0.0, 1.0, 2.0, 5.0])
    rows = st.lists(cells, min_size=functions, max_size=functions).filter(any)
    options = draw(st.lists(rows, min_size=count, max_size=count))
    return np.array(options), draw(st.integers(0, count - 1))


@given(questions(), st.integers(0, 5))
def test_a_choice_becomes_more_likely(question: tuple[np.ndarray, int], seed: int) -> None:
    options, choice = question
    preferences = Preferences(options.shape[1], MODEL, seed)
    before = chosen_chance(preferences, options, choice)
    preferences.observe(options, choice)
    assert chosen_chance(preferences, options, choice) >= before - 0.03


@given(questions(), st.sampled_from([0.125, 4.0, 2.0**40]))
def test_the_unit_of_costs_does_not_matter(question: tuple[np.ndarray, int], unit: float) -> None:
    options, choice = question
    one, other = Preferences(options.shape[1], MODEL), Preferences(options.shape[1], MODEL)
    one.observe(options, choice)
    other.observe(options * unit, choice)
    assert np.array_equal(one.weights, other.weights)


@given(questions(), st.integers(0, 3))
def test_the_same_choices_give_the_same_particles(question: tuple[np.ndarray, int], seed: int) -> None:
    options, choice = question
    found = []
    for _ in range(2):
        preferences = Preferences(options.shape[1], MODEL, seed)
        for answer in (choice, None, choice):
            preferences.observe(options, answer)
        found.append(preferences.weights)
    assert np.array_equal(found[0], found[1])
    assert np.isfinite(found[0]).all()
    assert (found[0] > 0).all()


def test_weights_are_relative_and_one_on_average() -> None:
    preferences = Preferences(5, ChoiceModel(particles=4000))
    assert preferences.mean.tolist() == [1.0] * 5
    assert preferences.weights.mean(axis=0) == pytest.approx([1.0] * 5, abs=0.1)
    for _ in range(3):
        preferences.observe(np.diag([1.0, 1, 1, 1, 1])[:3], 0)
    product = np.log(preferences.weights).sum(axis=1)
    assert product == pytest.approx(product[0])
    assert preferences.mean[0] < min(preferences.mean[1:])
    low, high = preferences.interval()
    assert (low < preferences.mean).all()
    assert (preferences.mean < high).all()


def test_no_difference_means_similar_costs() -> None:
    options = np.array([[4.0, 0.0], [0.0, 1.0]])
    preferences = Preferences(2, MODEL)

    def distance() -> float:
        costs = preferences.costs(options)
        return float(np.abs(np.log(costs[:, 0] / costs[:, 1])).mean())

    before = distance()
    preferences.observe(options, None)
    assert distance() < before / 2


def test_consistent_choices_find_the_weights() -> None:
    """A noiseless user with known weights, and random questions."""
    rng = np.random.default_rng(0)
    truth = np.array([0.3, 0.6, 1.5, 4.0])
    preferences = Preferences(4, MODEL)
    for _ in range(15):
        options = rng.uniform(0, 3, (3, 4)) * (rng.random((3, 4)) < 0.6) + 0.01
        preferences.observe(options, int((options @ truth).argmin()))
    assert np.argsort(preferences.mean).tolist() == [0, 1, 2, 3]
    low, high = preferences.interval(0.98)
    ratio = truth / np.exp(np.log(truth).mean()) * np.exp(np.log(preferences.weights).mean())
    assert ((low < ratio) & (ratio < high)).all()


def test_a_mistake_is_never_impossible() -> None:
    preferences = Preferences(2, MODEL)
    preferences.observe(np.array([[0.0, 0.0], [1e6, 1e6]]), 1)
    assert np.isfinite(preferences.weights).all()


@pytest.mark.parametrize(
    "setting",
    [
        {"spread": 0},
        {"spread": float("nan")},
        {"sharpness": -1},
        {"sharpness": "8"},
        {"particles": 10},
        {"particles": 10**9},
        {"moves": 0},
        {"moves": True},
    ],
)
def test_invalid_settings_are_refused(setting: dict[str, Any]) -> None:
    with pytest.raises(SettingError, match=next(iter(setting))):
        ChoiceModel(**setting)
