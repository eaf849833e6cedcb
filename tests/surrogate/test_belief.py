"""Beliefs about the states of one person, conditioned on the answers about that person."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterplan import SettingError
from counterplan.surrogate.belief import PROBIT, Answers, Belief, ErrorModel

ERRORS = ErrorModel(shared=0.4, additive=0.3, local=0.2, scale=(2.0, 0.0))


def random_states(random: np.random.Generator, count: int) -> np.ndarray:
    """States with a number and a category, some of them missing."""
    states = np.stack([random.normal(size=count), random.integers(3, size=count)], axis=1).astype(float)
    states[random.random(states.shape) < 0.1] = np.nan
    return states


def covariance(errors: ErrorModel, states: np.ndarray, others: np.ndarray) -> np.ndarray:
    rows, columns = np.meshgrid(np.arange(len(states)), np.arange(len(others)), indexing="ij")
    flat = errors.covariance(states[rows.ravel()], others[columns.ravel()])
    return flat.reshape(len(states), len(others))


@given(st.integers(0, 10_000), st.integers(1, 5))
def test_margins_condition_like_a_gaussian_process(seed: int, answers: int) -> None:
    """Exact observations, one after the other, give the same posterior as all of them at once."""
    random = np.random.default_rng(seed)
    pool, queried = random_states(random, 6), random_states(random, answers)
    logit, queried_logit, margins = random.normal(size=6), random.normal(size=answers), random.normal(size=answers)
    belief, person = Belief(ERRORS, 1), np.zeros(1, np.intp)
    for at in range(answers):
        prior = belief.prior(queried[at : at + 1], person, queried_logit[at : at + 1])
        belief.observe(person, queried[at : at + 1], prior, Answers(np.array([margins[at] > 0]), margins[at : at + 1]))
    mean, variance, _ = belief.prior(pool, np.zeros(6, np.intp), logit)
    noise = 1e-3 * PROBIT**2
    among = covariance(ERRORS, queried, queried)
    np.fill_diagonal(among, PROBIT**2)  # the rest of the variance is independent
    gain = covariance(ERRORS, pool, queried) @ np.linalg.inv(among + noise * np.eye(answers))
    expected = logit + gain @ (margins - queried_logit)
    np.testing.assert_allclose(mean, expected, atol=0.05)
    spread = PROBIT**2 - np.einsum("ij,ij->i", gain, covariance(ERRORS, pool, queried))
    np.testing.assert_allclose(variance, np.maximum(spread, noise), atol=0.05)


@given(st.integers(0, 10_000))
def test_updating_known_states_equals_conditioning_new_ones(seed: int) -> None:
    random = np.random.default_rng(seed)
    people = 3
    states, person, logit = random_states(random, 12), random.integers(people, size=12), random.normal(size=12)
    belief = Belief(ERRORS, people)
    mean, variance, loadings = belief.prior(states, person, logit)
    for _ in range(3):
        at = np.array([np.flatnonzero(person == p)[0] for p in np.unique(person)])
        answers = Answers(random.random(len(at)) < 0.5, np.where(random.random(len(at)) < 0.5, np.nan, 0.3))
        belief.observe(person[at], states[at], (mean[at], variance[at], loadings[at]), answers)
        loadings = np.pad(loadings, ((0, 0), (0, len(belief) - loadings.shape[1])))
        belief.update(states, person, mean, variance, loadings, belief.count[person] - 1)
    again = belief.prior(states, person, logit)
    for updated, conditioned in zip((mean, variance, loadings), again, strict=True):
        np.testing.assert_allclose(updated, conditioned, atol=1e-9)


@given(st.floats(-40, 40), st.booleans())
def test_a_decision_moves_all_states_of_a_person_its_way(logit: float, favourable: bool) -> None:
    belief, person = Belief(ERRORS, 2), np.zeros(1, np.intp)
    state = np.array([[0.0, 1.0]])
    prior = belief.prior(state, person, np.array([logit]))
    belief.observe(person, state, prior, Answers(np.array([favourable]), np.array([np.nan])))
    mean, variance, _ = belief.prior(np.array([[3.0, 1.0], [3.0, 1.0]]), np.array([0, 1]), np.zeros(2))
    assert np.isfinite([*mean, *variance]).all()
    assert mean[0] >= 0 if favourable else mean[0] <= 0
    assert 0 < variance[0] <= PROBIT**2 + 1e-9
    assert mean[1] == 0, "other people are not concerned"


def test_surprising_refusals_count_more_than_expected_ones() -> None:
    def after(logit: float) -> float:
        belief, person = Belief(ERRORS, 1), np.zeros(1, np.intp)
        state = np.array([[0.0, 1.0]])
        prior = belief.prior(state, person, np.array([logit]))
        belief.observe(person, state, prior, Answers(np.array([False]), np.array([np.nan])))
        return float(belief.prior(np.array([[1.0, 1.0]]), person, np.zeros(1))[0][0])

    assert after(3.0) < after(0.0) < after(-3.0) <= 0


@pytest.mark.parametrize("wrong", [{"sd": 0.0}, {"shared": -0.1}, {"shared": 0.9}, {"scale": (np.nan,)}])
def test_invalid_error_models_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(SettingError, match="error model"):
        ErrorModel(**wrong)  # type: ignore[arg-type]
