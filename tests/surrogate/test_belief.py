"""Beliefs about the states of one person, conditioned on the answers about that person."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterplan import SettingError
from counterplan.surrogate.belief import PROBIT, Answers, Belief, ErrorModel, StateBeliefs

ERRORS = ErrorModel(shared=0.4, additive=0.3, local=0.2, scale=(2.0, 0.0))
VARYING = replace(ERRORS, growth=0.3, decay=0.2)
HEAVY = replace(VARYING, tail=1 / 3)


def random_states(random: np.random.Generator, count: int) -> np.ndarray:
    """States with a number and a category, some of them missing."""
    states = np.stack([random.normal(size=count), random.integers(3, size=count)], axis=1).astype(float)
    states[random.random(states.shape) < 0.1] = np.nan
    return states


def covariance(
    errors: ErrorModel, states: np.ndarray, logit: np.ndarray, others: np.ndarray, other_logit: np.ndarray
) -> np.ndarray:
    rows, columns = (
        axis.ravel() for axis in np.meshgrid(np.arange(len(states)), np.arange(len(others)), indexing="ij")
    )
    flat = errors.covariance(states[rows], logit[rows], others[columns], other_logit[columns])
    return flat.reshape(len(states), len(others))


@pytest.mark.parametrize("errors", [ERRORS, VARYING])
@given(st.integers(0, 10_000), st.integers(1, 5))
def test_margins_condition_like_a_gaussian_process(errors: ErrorModel, seed: int, answers: int) -> None:
    """Exact observations, one after the other, give the same posterior as all of them at once."""
    random = np.random.default_rng(seed)
    pool, queried = random_states(random, 6), random_states(random, answers)
    logit, queried_logit, margins = random.normal(size=6), random.normal(size=answers), random.normal(size=answers)
    belief, person = Belief(errors, 1), np.zeros(1, np.intp)
    for at in range(answers):
        prior = belief.prior(queried[at : at + 1], person, queried_logit[at : at + 1])
        belief.observe(person, queried[at : at + 1], prior, Answers(np.array([margins[at] > 0]), margins[at : at + 1]))
    made = belief.prior(pool, np.zeros(6, np.intp), logit)
    noise = 1e-3 * PROBIT**2
    among = covariance(errors, queried, queried_logit, queried, queried_logit)
    np.fill_diagonal(among, errors.sd_at(queried_logit) ** 2)  # the rest of the variance is independent
    across = covariance(errors, pool, logit, queried, queried_logit)
    gain = across @ np.linalg.inv(among + noise * np.eye(answers))
    np.testing.assert_allclose(made.mean, logit + gain @ (margins - queried_logit), atol=0.05)
    spread = errors.sd_at(logit) ** 2 - np.einsum("ij,ij->i", gain, across)
    np.testing.assert_allclose(made.variance, np.maximum(spread, noise), atol=0.05)


@pytest.mark.parametrize("errors", [ERRORS, HEAVY])
@given(st.integers(0, 10_000))
def test_updating_known_states_equals_conditioning_new_ones(errors: ErrorModel, seed: int) -> None:
    random = np.random.default_rng(seed)
    people = 3
    states, person, logit = random_states(random, 12), random.integers(people, size=12), random.normal(size=12)
    belief = Belief(errors, people)
    made = belief.prior(states, person, logit)
    for _ in range(3):
        at = np.array([np.flatnonzero(person == p)[0] for p in np.unique(person)])
        answers = Answers(random.random(len(at)) < 0.5, np.where(random.random(len(at)) < 0.5, np.nan, 0.3))
        belief.observe(person[at], states[at], StateBeliefs(*(column[at] for column in made)), answers)
        missing = len(belief) - made.loadings.shape[1]
        made = made._replace(loadings=np.pad(made.loadings, ((0, 0), (0, missing))))
        belief.update(states, person, made)
    for updated, conditioned in zip(made, belief.prior(states, person, logit), strict=True):
        np.testing.assert_allclose(updated, conditioned, atol=1e-9)


def odds_after(errors: ErrorModel, logit: float, margin: float | None) -> np.ndarray:
    """Log odds of a far and a near state after the margin of a state that was predicted to be −4."""
    belief, person = Belief(errors, 1), np.zeros(1, np.intp)
    if margin is not None:
        state = np.array([[0.0, 1.0]])
        answer = Answers(np.array([margin > 0]), np.array([margin]))
        belief.observe(person, state, belief.prior(state, person, np.array([-4.0])), answer)
    both = np.zeros(2, np.intp)
    made = belief.prior(np.array([[8.0, 0.0], [0.5, 1.0]]), both, np.full(2, logit))
    return belief.odds(both, made.mean, made.variance)


def test_without_tails_odds_are_those_of_the_surrogate() -> None:
    np.testing.assert_allclose(odds_after(ERRORS, -3.0, None), -3.0)


def test_heavy_tails_keep_unlikely_states_possible() -> None:
    light = replace(HEAVY, tail=0.01)
    sharp, heavy = odds_after(light, -8.0, None), odds_after(HEAVY, -8.0, None)
    assert (heavy > sharp).all()
    assert odds_after(HEAVY, 8.0, None) == pytest.approx(-heavy), "the distribution is symmetric"


def test_surprising_margins_widen_heavy_tailed_beliefs() -> None:
    """A far state, hardly moved by the answer, is less certain after a surprise than after an expected margin."""
    expected, surprising = (abs(odds_after(HEAVY, 5.0, margin)[0]) for margin in (-4.0, -16.0))
    assert surprising < expected
    gaussian = odds_after(VARYING, 5.0, -16.0)
    assert abs(odds_after(HEAVY, 5.0, -16.0)[1]) < abs(gaussian[1])


@given(st.floats(-40, 40), st.booleans())
def test_a_decision_moves_all_states_of_a_person_its_way(logit: float, favourable: bool) -> None:
    belief, person = Belief(ERRORS, 2), np.zeros(1, np.intp)
    state = np.array([[0.0, 1.0]])
    prior = belief.prior(state, person, np.array([logit]))
    belief.observe(person, state, prior, Answers(np.array([favourable]), np.array([np.nan])))
    _, mean, variance, _ = belief.prior(np.array([[3.0, 1.0], [3.0, 1.0]]), np.array([0, 1]), np.zeros(2))
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
        return float(belief.prior(np.array([[1.0, 1.0]]), person, np.zeros(1)).mean[0])

    assert after(3.0) < after(0.0) < after(-3.0) <= 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"sd": 0.0},
        {"shared": -0.1},
        {"shared": 0.9},
        {"scale": (np.nan,)},
        {"tail": 0.5},
        {"decay": -1.0},
        {"sd": 1e300},
    ],
)
def test_invalid_error_models_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(SettingError, match="error model"):
        ErrorModel(**wrong)  # type: ignore[arg-type]
