"""Logit models of a category given terms, by maximum likelihood: multinomial, and with proportional odds."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from counterplan.causal.columns import Floats, Ints

MAX_STEPS = 50
RIDGE = 1e-3
TINY = 1e-12


def fit_logits(design: Floats, classes: Ints, size: int, start: Floats | None) -> tuple[float, Floats]:
    """Fit multinomial logits.

    Parameters
    ----------
    design : ndarray of float, shape [B, D]
        The terms, the first of which is constant.
    classes : ndarray of int, shape [B]
    size : int
        The number of classes K.
    start : ndarray of float, optional
        The weights to start from.

    Returns
    -------
    loss : float
        The negative log-likelihood.
    weights : ndarray of float, shape [D × (K − 1)]
    """
    terms = np.ascontiguousarray(design.T)
    truth = (classes == np.arange(size - 1)[:, None]).astype(float)
    seen = terms @ truth.T

    def loss(flat: Floats) -> tuple[float, Floats]:
        weights = flat.reshape(seen.shape)
        logits = weights.T @ terms
        top = np.maximum(logits.max(axis=0), 0.0)
        powers = np.exp(logits - top)
        norm = powers.sum(axis=0) + np.exp(-top)
        misfit = float((np.log(norm) + top).sum()) - float((weights * seen).sum())
        slope = terms @ (powers / norm).T - seen
        return misfit + RIDGE / 2 * float(flat @ flat), slope.ravel() + RIDGE * flat

    first = np.zeros(seen.size) if start is None else start
    found = minimize(loss, first, jac=True, method="L-BFGS-B", options={"maxiter": MAX_STEPS})
    return float(found.fun), found.x


def fit_ordered_logit(design: Floats, classes: Ints, size: int, start: Floats | None) -> tuple[float, Floats]:
    """Fit a logit of each class or a lower one, of which only the constant differs between classes.

    Parameters and results are those of `fit_logits`; the weights are the first cut point, the logarithms of the
    differences of the others [K − 2], and the slopes [D − 1].
    """
    terms = design[:, 1:]
    cuts = size - 1
    last, first = classes == size - 1, classes == 0
    upper_cut, lower_cut = np.minimum(classes, cuts - 1), np.maximum(classes - 1, 0)

    def loss(flat: Floats) -> tuple[float, Floats]:
        gaps = np.exp(np.clip(flat[1:cuts], -20, 20))
        points = flat[0] + np.concatenate([[0.0], np.cumsum(gaps)])
        score = terms @ flat[cuts:]
        upper = np.where(last, 1.0, expit(points[upper_cut] - score))
        lower = np.where(first, 0.0, expit(points[lower_cut] - score))
        mass = np.maximum(upper - lower, TINY)
        up, down = upper * (1 - upper) / mass, lower * (1 - lower) / mass
        by_point = np.bincount(upper_cut, -up, cuts) + np.bincount(lower_cut, down, cuts)
        after = np.cumsum(by_point[::-1])[::-1]
        slope = np.concatenate([[after[0]], gaps * after[1:], terms.T @ (up - down)])
        return -float(np.log(mass).sum()) + RIDGE / 2 * float(flat @ flat), slope + RIDGE * flat

    if start is None:
        shares = np.cumsum(np.bincount(classes, minlength=size) + 0.5)[:-1] / (len(classes) + size / 2)
        points = np.log(shares / (1 - shares))
        start = np.concatenate([[points[0]], np.log(np.maximum(np.diff(points), 1e-3)), np.zeros(terms.shape[1])])
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": MAX_STEPS})
    return float(found.fun), found.x
