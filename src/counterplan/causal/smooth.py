"""Code lengths of a column by smooth functions of others: polynomial regression of a number, logits of a category."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from scipy.optimize import minimize

from counterplan.causal.code_length import normal_length
from counterplan.causal.columns import DataColumn, Floats, Ints, NumberScale

DEGREES = (1, 2, 3)
MAX_TERMS = 40
"""Models of more terms than this are left out."""
MAX_STEPS = 50
RIDGE = 1e-3
CHOOSING = 1_500
"""Terms of logits are chosen on about so many people."""


def smooth_length(child: DataColumn, parents: Sequence[DataColumn]) -> float:
    """The shortest code of `child` by a smooth function of its parents, in nats; infinite if there is none."""
    if not parents or not len(child.cells) or (child.scale is not None and len(child.scale.atoms)):
        return math.inf
    if child.scale is None:
        length = _category_length(child, parents)
    else:
        scale = child.scale
        lengths = [_number_length(child, scale, design) for design in _designs(parents, DEGREES)]
        length = min(lengths, default=math.inf)
    return length + math.log(4 * len(DEGREES))


def _designs(parents: Sequence[DataColumn], degrees: Sequence[int]) -> Iterator[Floats]:
    """[B, D] Terms: powers of standardised numbers, or of their logarithms, and ranks; categories as indicators."""
    ranks = any(parent.ordered and parent.scale is None for parent in parents)
    numbers = any(parent.scale is not None for parent in parents)
    logs = any(parent.scale is not None and parent.scale.low > 0 for parent in parents)
    for ranked in (True, False) if ranks else (False,):
        for logarithmic in (False, True) if logs else (False,):
            for degree in degrees if ranked or numbers else (1,):
                terms = [np.ones((len(parents[0].cells), 1))]
                terms += [_terms(parent, degree, logarithmic, ranked) for parent in parents]
                design = np.concatenate(terms, axis=1)
                if design.shape[1] <= min(MAX_TERMS, len(design) // 5):
                    yield design


def _terms(parent: DataColumn, degree: int, logarithmic: bool, ranked: bool) -> Floats:
    """[B, D] The terms of one parent."""
    scale = parent.scale
    if scale is None and not (ranked and parent.ordered):
        indicators: Floats = (parent.cells[:, None] == np.arange(1, parent.size)).astype(np.float64)
        return indicators
    values = np.log(parent.values) if logarithmic and scale is not None and scale.low > 0 else parent.values
    values = (values - values.mean()) / (values.std() or 1.0)
    columns = [values**power for power in range(1, degree + 1)]
    if scale is not None:
        columns += [(parent.values == atom).astype(float) for atom in scale.atoms]
    return np.column_stack(columns)


def _number_length(child: DataColumn, scale: NumberScale, design: Floats) -> float:
    """Least squares with normal errors, of the number or of its logarithm."""
    total, parameters = len(child.values), design.shape[1] + 1
    gram = design.T @ design + RIDGE * np.eye(design.shape[1])

    def length(values: Floats, resolution: float) -> float:
        values = values - values.mean()
        errors = values - design @ np.linalg.solve(gram, design.T @ values)
        return normal_length(total, float(np.mean(errors**2)), resolution, parameters)

    shortest = length(child.values, scale.resolution)
    if scale.low > 0:
        logs = np.log(child.values)
        back = float(logs.sum())
        shortest = min(shortest, length(logs, scale.resolution / math.exp(back / total)) + back)
    return shortest


def _category_length(child: DataColumn, parents: Sequence[DataColumn]) -> float:
    """Multinomial logits by maximum likelihood; the terms are chosen on some of the people."""
    present, classes = np.unique(child.cells, return_inverse=True)
    if len(present) < 2:
        return math.inf
    total = len(classes)
    some = slice(0, None, max(1, total // CHOOSING))
    shortest, chosen = math.inf, None
    for design in _designs(parents, DEGREES[:2]):
        loss, weights = _fit_logits(design[some], classes[some], np.zeros((design.shape[1], len(present) - 1)))
        length = loss * total / len(classes[some]) + weights.size / 2 * math.log(total)
        if length < shortest:
            shortest, chosen = length, (design, weights)
    if chosen is None:
        return math.inf
    loss, weights = _fit_logits(chosen[0], classes, chosen[1])
    return loss + (weights.size + child.size - len(present)) / 2 * math.log(total)


def _fit_logits(design: Floats, classes: Ints, start: Floats) -> tuple[float, Floats]:
    """The least negative log-likelihood of classes [B] given terms [B, D], with its weights [D, K − 1]."""
    terms = np.ascontiguousarray(design.T)
    truth = (classes == np.arange(start.shape[1])[:, None]).astype(float)
    seen = design.T @ truth.T

    def loss(flat: Floats) -> tuple[float, Floats]:
        weights = flat.reshape(start.shape)
        logits = weights.T @ terms
        top = np.maximum(logits.max(axis=0), 0.0)
        powers = np.exp(logits - top)
        norm = powers.sum(axis=0) + np.exp(-top)
        misfit = float((np.log(norm) + top).sum()) - float((weights * seen).sum())
        slope = terms @ (powers / norm).T - seen
        return misfit + RIDGE / 2 * float(flat @ flat), slope.ravel() + RIDGE * flat

    found = minimize(loss, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": MAX_STEPS})
    return float(found.fun), found.x.reshape(start.shape)
