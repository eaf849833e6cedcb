"""Code lengths of a column by smooth functions of others: polynomial regression of a number, logits of a category."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from counterplan.causal.code_length import normal_length, shape_lengths
from counterplan.causal.columns import DataColumn, Floats, NumberScale
from counterplan.causal.logits import fit_logits, fit_ordered_logit

DEGREES = (1, 2, 3)
MAX_TERMS = 40
"""Models of more terms than this are left out."""
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
        length = _number_length(child, child.scale, _designs(parents, DEGREES))
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


def _number_length(child: DataColumn, scale: NumberScale, designs: Iterable[Floats]) -> float:
    """Least squares, of the number or of its logarithm; the terms are those that are best with normal errors."""
    total = len(child.values)
    targets = [(child.values, scale.resolution, 0.0)]
    if scale.low > 0:
        logs = np.log(child.values)
        back = float(logs.sum())
        targets.append((logs, scale.resolution / math.exp(back / total), back))
    best: list[tuple[float, Floats | None, int]] = [(math.inf, None, 0)] * len(targets)
    for design in designs:
        gram = design.T @ design + RIDGE * np.eye(design.shape[1])
        parameters = design.shape[1] - 1
        for index, (values, resolution, _) in enumerate(targets):
            centred = values - values.mean()
            errors = centred - design @ np.linalg.solve(gram, design.T @ centred)
            length = normal_length(total, float(errors.var()), resolution, parameters + 2)
            if length < best[index][0]:
                best[index] = length, errors, parameters
    return min(
        (
            min(shape_lengths(errors, resolution)) + parameters / 2 * math.log(total) + back + math.log(2 * 5)
            for (_, resolution, back), (_, errors, parameters) in zip(targets, best, strict=True)
            if errors is not None
        ),
        default=math.inf,
    )


def _category_length(child: DataColumn, parents: Sequence[DataColumn]) -> float:
    """Logits by maximum likelihood; the terms are chosen on some of the people."""
    present, classes = np.unique(child.cells, return_inverse=True)
    if len(present) < 2:
        return math.inf
    total, unseen = len(classes), child.size - len(present)
    fits = [fit_logits, fit_ordered_logit] if child.ordered and len(present) > 2 else [fit_logits]
    some = slice(0, None, max(1, total // CHOOSING))
    share = total / len(classes[some])
    lengths = [math.inf]
    for fit in fits:
        shortest, chosen = math.inf, None
        for design in _designs(parents, DEGREES[:2]):
            loss, weights = fit(design[some], classes[some], len(present), None)
            length = loss * share + weights.size / 2 * math.log(total)
            if length < shortest:
                shortest, chosen = length, (design, weights)
        if chosen is not None:
            loss, weights = fit(chosen[0], classes, len(present), chosen[1])
            lengths.append(loss + (weights.size + unseen) / 2 * math.log(total) + math.log(len(fits)))
    return min(lengths)
