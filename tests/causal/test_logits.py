"""Logit models: maximum likelihood, and nested in one another."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from counterplan.causal.logits import fit_logits, fit_ordered_logit


def sample(count: int = 3_000) -> tuple[np.ndarray, np.ndarray]:
    """Terms [B, 2], and classes by thresholds of a score with logistic noise."""
    random = np.random.default_rng(0)
    score = random.normal(size=count)
    classes = np.digitize(1.5 * score + random.logistic(size=count), [-1.0, 0.5, 2.0])
    return np.column_stack([np.ones(count), score]), classes


def test_ordered_logits_recover_slope_and_cut_points() -> None:
    design, classes = sample()
    loss, weights = fit_ordered_logit(design, classes, 4, None)
    cuts = weights[0] + np.concatenate([[0.0], np.cumsum(np.exp(weights[1:3]))])
    assert weights[3] == pytest.approx(1.5, abs=0.15)
    assert cuts == pytest.approx([-1.0, 0.5, 2.0], abs=0.15)
    shares = np.column_stack([expit(cut - weights[3] * design[:, 1]) for cut in cuts])
    masses = np.diff(np.column_stack([np.zeros(len(shares)), shares, np.ones(len(shares))]), axis=1)
    assert loss == pytest.approx(-np.log(masses[np.arange(len(classes)), classes]).sum(), abs=0.1)


def test_multinomial_logits_fit_at_least_as_well_with_more_weights() -> None:
    design, classes = sample()
    ordered, few = fit_ordered_logit(design, classes, 4, None)
    free, many = fit_logits(design, classes, 4, None)
    assert (few.size, many.size) == (4, 6)
    assert ordered - 10 < free < ordered + 5


@pytest.mark.parametrize("fit", [fit_logits, fit_ordered_logit])
def test_starting_from_the_result_changes_nothing(fit) -> None:
    design, classes = sample()
    loss, weights = fit(design, classes, 4, None)
    again, same = fit(design, classes, 4, weights)
    assert again == pytest.approx(loss, abs=0.01)
    assert same == pytest.approx(weights, abs=0.05)


@pytest.mark.parametrize("fit", [fit_logits, fit_ordered_logit])
def test_separated_classes_end(fit) -> None:
    design = np.column_stack([np.ones(300), np.linspace(-1, 1, 300)])
    loss, weights = fit(design, np.repeat([0, 1, 2], 100), 3, None)
    assert 0 <= loss < 60
    assert np.isfinite(weights).all()
