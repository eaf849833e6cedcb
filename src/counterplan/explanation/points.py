"""Points for one person: an additive score of changes that agrees with every answer about that person.

A person who is refused is 100 points short. Each changed feature brings points for its new value, and those of all
changes add up. The points are a ridge regression of the predicted log odds over random legal plans, with the person's
own log odds held fixed; answers of the model that they contradict are added as rows of growing weight until they agree.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterplan.problem.transitions import Bools, Floats, Ints

NEEDED = 100
"""Points that a favourable decision takes."""
LIKELY = 125
"""Points from which a change that was not queried may be called likely."""
_RIDGE = 0.5
_LARGEST = 8.0
"""Log odds are clipped to this."""
_MARGIN = 0.6
"""Log odds that answers which are contradicted are fitted to; the person's own are at most minus this."""
_WEIGHT, _GROWTH, _PASSES = 20.0, 3.0, 12
"""Weight of an answer that is contradicted, its growth with every pass, and the number of passes."""
_COST_SCALE = 0.3
"""Relative difference from the cost of the plan at which a variation counts half."""
_MISSING = -np.inf
"""Stands for missing values, which are equal to each other here."""


@dataclass(frozen=True)
class Points:
    """Integer points of one person's changes.

    Parameters
    ----------
    start : array of shape [F]
        The person as they are.
    features : int array of shape [E]
        The feature of each entry.
    values : array of shape [E]
        Its new value.
    points : int array of shape [E]
        The points that it brings.
    """

    start: Floats
    features: Ints
    values: Floats
    points: Ints

    def __call__(self, states: Floats) -> Ints:
        """The points [n] of `states` [n, F]; changes without an entry bring none."""
        return np.asarray(_design(states, self.features, self.values) @ self.points, np.intp)

    def covers(self, states: Floats) -> Bools:
        """[n] whether every change that leads to `states` [n, F] has an entry."""
        mutable = np.unique(self.features)
        filled, own = _filled(states), _filled(self.start)
        changed = (filled != own).sum(axis=1)
        entries = _design(states, self.features, self.values).sum(axis=1)
        return np.asarray((entries == changed) & ((filled != own)[:, mutable].sum(axis=1) == changed))

    def of_steps(self, states: Floats, is_number: Bools) -> Ints:
        """The points of each step of a plan, which add up to those of its final state.

        The points of a number that several steps move away from where it was are shared in proportion to its changes.
        Other features that several steps change, and numbers if the first steps would then seem to be enough when
        they are not, count for each step by the points of the values in between.

        Parameters
        ----------
        states : array of shape [T + 1, F]
            The states before and after each step.
        is_number : bool array of shape [F]
            Which features are numbers.

        Returns
        -------
        int array of shape [T]
        """
        exact = np.diff(self(states))
        shared = np.zeros(len(exact), np.intp)
        entries = _design(states, self.features, self.values) * self.points
        for feature in np.unique(self.features).tolist():
            reached = entries[:, self.features == feature].sum(axis=1)
            away = np.abs(states[:, feature] - states[0, feature])
            if is_number[feature] and np.isfinite(away).all() and (np.diff(away) >= 0).all() and away[-1] > 0:
                reached = np.rint(reached[-1] * away / away[-1]).astype(np.intp)
            shared += np.diff(reached)
        agrees = (np.cumsum(shared) >= NEEDED) == (np.cumsum(exact) >= NEEDED)
        return shared if agrees.all() else exact


@dataclass(frozen=True)
class Sample:
    """Plans of one person with predictions, that points are fitted to.

    Parameters
    ----------
    states : array of shape [n, F]
        Final states.
    costs : array of shape [n]
        Total costs, in units of the cost of the person's plan.
    odds : array of shape [n]
        Predicted log odds.
    """

    states: Floats
    costs: Floats
    odds: Floats


def fit_points(
    start: Floats, start_odds: float, mutable: Ints, sample: Sample, known: Floats, favourable: Bools
) -> Points | None:
    """Fit points to predictions, bound to answers.

    Parameters
    ----------
    start : array of shape [F]
        The person as they are.
    start_odds : float
        Predicted log odds of the person as they are.
    mutable : int array of shape [M]
        Features that have entries.
    sample : Sample
    known : array of shape [m, F]
        States that the model was queried about.
    favourable : bool array of shape [m]
        Its answers.

    Returns
    -------
    Points or None
        Points that reach `NEEDED` in a known state exactly if it is favourable; None if none were found.
    """
    features, values, design = _entries(start, mutable, np.concatenate([sample.states, known]))
    rows, bound = design[: len(sample.states)], design[len(sample.states) :]
    shortfall = -min(max(start_odds, -_LARGEST), -_MARGIN)
    weights = 1 / (1 + np.abs(sample.odds)) / (_COST_SCALE + np.abs(sample.costs - 1))
    target = np.clip(sample.odds, -_LARGEST, _LARGEST) + shortfall
    gram = (rows * weights[:, None]).T @ rows + _RIDGE * np.eye(len(features))
    moment = rows.T @ (weights * target)
    binding, wanted = np.zeros(len(bound)), np.where(favourable, _MARGIN, -_MARGIN) + shortfall
    for _ in range(_PASSES + 1):
        solved = np.linalg.solve(gram + (bound * binding[:, None]).T @ bound, moment + bound.T @ (binding * wanted))
        points = np.rint(NEEDED * solved / shortfall).astype(np.intp)
        contradicted = (bound @ points >= NEEDED) != favourable
        if not contradicted.any():
            return Points(start, features, values, points)
        binding = np.where(contradicted, np.maximum(_WEIGHT, binding * _GROWTH), binding)
    return None


def _entries(start: Floats, mutable: Ints, states: Floats) -> tuple[Ints, Floats, Floats]:
    """Features [E] and values [E] of the changes in `states` [n, F], and which state has which [n, E]."""
    filled, own = _filled(states), _filled(start)
    features, values, blocks = [], [], [np.empty((len(states), 0))]
    for feature in mutable.tolist():
        found, codes = np.unique(filled[:, feature], return_inverse=True)
        new = np.flatnonzero(found != own[feature])
        features += [feature] * len(new)
        values.append(found[new])
        blocks.append((codes.reshape(-1, 1) == new).astype(float))
    joined = np.concatenate(values) if values else np.empty(0)
    return np.array(features, np.intp), joined, np.concatenate(blocks, axis=1)


def _design(states: Floats, features: Ints, values: Floats) -> Ints:
    """[n, E] which of `states` [n, F] have which entries."""
    return np.asarray(_filled(states)[:, features] == values, np.intp)


def _filled(states: Floats) -> Floats:
    return np.where(np.isnan(states), _MISSING, states)
