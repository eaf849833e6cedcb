"""Fit a surrogate to labelled states: networks by gradient descent, and boosted trees.

The fold of a row is a hash of the features that no action changes, so that all states of a person share it. Member e is
never fitted on fold e, neither in this fit nor in a later one that warm-starts from it, so that its predictions for
that fold are out-of-fold and calibrate the surrogate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from counterplan.errors import SettingError
from counterplan.problem import Feature, Problem
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.surrogate.belief import ErrorModel
from counterplan.surrogate.features import CUTS, Single, StateFeatures
from counterplan.surrogate.network_fitting import Schedule, network_fit
from counterplan.surrogate.networks import Params, forward, initial_params
from counterplan.surrogate.surrogate import Calibration, Surrogate, folds_of, sigmoid
from counterplan.surrogate.threads import on_threads
from counterplan.surrogate.trees import LEAVES, Trees, gradient_boosted, tree_inputs

_MIN_GROUPS = 10
"""Minimum number of different people for each fold."""
_MIN_WEIGHT = 0.01
"""Minimum weight of a kind of models in a calibration: even poor ones rank states."""


@dataclass(frozen=True)
class FitSettings:
    """Settings of `fit`.

    Parameters
    ----------
    members : int, default=5
        Networks in the ensemble.
    hidden : tuple of int, default=(32, 32)
        Units of their hidden layers.
    steps : int, default=800
        Gradient steps of a first fit.
    refit_steps : int, default=400
        Gradient steps of a fit with a warm start.
    batch_size : int, default=256
        Rows in a minibatch.
    learning_rate, weight_decay : float
        Of Adam, with decoupled weight decay and a cosine schedule.
    cuts : int, default=8
        Cut points of a number that are learned from data.
    forests : int, default=3
        Boosted models, each fitted without one fold, whose mean is taken.
    trees : int, default=60
        Trees in each of them.
    shrinkage : float, default=0.2
        Learning rate of boosting.
    subsample : float, default=0.6
        Share of the rows that each tree is fitted on.
    max_features : float, default=0.4
        Share of the columns that each split is chosen from.
    min_class_weight : float, default=0.25
        Minimum share of the rarer outcome in the total weight.
    folds : int, default=5
        Minimum number of folds; each member and each forest leaves out another one.
    """

    members: int = 5
    hidden: tuple[int, ...] = (32, 32)
    steps: int = 800
    refit_steps: int = 400
    batch_size: int = field(default=256, metadata={"key": "batch"})
    learning_rate: float = 5e-3
    weight_decay: float = 1.0
    cuts: int = CUTS
    forests: int = 3
    trees: int = 60
    shrinkage: float = 0.2
    subsample: float = field(default=0.6, metadata={"key": "rows_share"})
    max_features: float = field(default=0.4, metadata={"key": "columns_share"})
    min_class_weight: float = field(default=0.25, metadata={"key": "rare"})
    folds: int = 5

    @property
    def n_folds(self) -> int:
        """Number of folds: enough for each member and each forest to leave out another one."""
        return max(self.folds, self.members, self.forests)

    def schedule(self, steps: int) -> Schedule:
        """The schedule of `steps` gradient steps."""
        return Schedule(steps, self.batch_size, self.learning_rate, self.weight_decay)


class _Data(NamedTuple):
    """Training data of n rows."""

    answers: Bools
    """[n]"""
    weight: Single
    """[n]"""
    fold: Ints
    """[n]"""


def fit(
    problem: Problem,
    states: Floats,
    answers: Bools,
    settings: FitSettings | None = None,
    seed: int = 0,
    warm_start: Surrogate | None = None,
    *,
    jobs: int = 1,
) -> Surrogate:
    """Fit a surrogate to labelled states.

    Parameters
    ----------
    problem : Problem
        The problem.
    states : ndarray of shape (n, F)
        States.
    answers : ndarray of shape (n,)
        Whether the black box favours them.
    settings : FitSettings, optional
        Settings.
    seed : int, default=0
        Seed of the random generator.
    warm_start : Surrogate, optional
        A surrogate for the same features and outcome, whose networks are trained further.
    jobs : int, default=1
        Number of threads.

    Returns
    -------
    Surrogate
        The surrogate, calibrated on out-of-fold predictions.

    Raises
    ------
    SettingError
        If there is not one answer for each state, or `warm_start` has other features or another outcome.
    """
    settings = settings or FitSettings()
    states, answers = np.ascontiguousarray(states, float), np.asarray(answers, bool)
    if not len(states) or answers.shape != (len(states),):
        given = f"{len(states):,} states and {answers.size:,} answers"
        raise SettingError(f"a surrogate is fitted to one answer for each state, got {given}")
    before = warm_start and warm_start.with_problem(problem)
    random = np.random.default_rng([seed, len(states)])
    features = before.state_features if before else StateFeatures.from_states(problem, states, settings.cuts)
    params = before.networks if before else initial_params(len(features), settings.members, settings.hidden, random)
    if answers.all() or not answers.any():
        logit = float(np.log(len(states) + 1)) * (1 if answers.all() else -1)
        return Surrogate(problem, features, _constant(params, logit), Trees.constant(logit))
    folds = settings.n_folds
    by = before.fold_features if before and before.folds else fold_features(problem, states, folds)
    data = _Data(answers, _weights(answers, settings.min_class_weight), folds_of(states[:, by], folds))
    x = np.ascontiguousarray(features(states))
    new = not params[f"{len(params) // 2 - 1}.weight"].any()  # never fitted, or constant
    schedule = settings.schedule(settings.steps if new else settings.refit_steps)
    weights = data.weight[:, None] * (data.fold[:, None] != np.arange(settings.members)).astype(np.float32)
    networks = network_fit(params, x, answers.astype(np.float32), weights, schedule, random)
    inputs = tree_inputs(problem.features, states)
    params, *forests = on_threads([networks, *_forest_fits(inputs, data, settings, random)], jobs)
    trees = Trees.mean_of(problem.features, [gradient_boosted(model) for model in forests])
    tree_logits = np.array([model.decision_function(inputs) for model in forests])
    network_logits = np.asarray(forward(np, params, x), float)
    out_of_fold = all(_both(answers[data.fold != i]) for i in range(settings.forests)) and (
        before is None or before.folds in (0, folds)
    )
    return Surrogate(
        problem,
        features,
        params,
        trees,
        _calibrations(network_logits, tree_logits, data),
        folds=folds if out_of_fold else 0,
        forests=settings.forests,
        fold_features=by,
        errors=ErrorModel(scale=spreads(problem, states)),
    )


def fold_features(problem: Problem, states: Floats, folds: int) -> tuple[int, ...]:
    """Features whose values determine the fold of a state: those that no action changes, which identify a person.

    All features, if the others are too few to tell people apart.
    """
    mutable = set(problem.transitions.mutable.tolist())
    by = [feature.index for feature in problem.features if feature.index not in mutable]
    if by and len(np.unique(states[:, by], axis=0)) >= _MIN_GROUPS * folds:
        return tuple(by)
    return tuple(range(len(problem.features)))


def spreads(problem: Problem, states: Floats) -> tuple[float, ...]:
    """For each feature, the standard deviation of a number or rank in `states` [n, F]; 0 for a category."""

    def spread(feature: Feature) -> float:
        known = states[~np.isnan(states[:, feature.index]), feature.index]
        return float(known.std()) or 1.0 if len(known) else 1.0

    return tuple(0.0 if feature.kind == "category" else spread(feature) for feature in problem.features)


def _constant(params: Params, logit: float) -> Params:
    """The same networks with a last layer that always outputs `logit`."""
    last = len(params) // 2 - 1
    return params | {
        f"{last}.weight": np.zeros_like(params[f"{last}.weight"]),
        f"{last}.bias": np.full_like(params[f"{last}.bias"], logit),
    }


def _both(answers: Bools) -> bool:
    """Whether both outcomes are among `answers` [n]."""
    return bool(answers.any() and not answers.all())


def _weights(answers: Bools, least: float) -> Single:
    """Weights of the rows [n] such that neither outcome has less than the share `least` of the total."""
    share = float(answers.mean())
    target = min(max(share, least), 1 - least)
    return np.where(answers, target / share, (1 - target) / (1 - share)).astype(np.float32)


def _forest_fits(x: Any, data: _Data, settings: FitSettings, random: np.random.Generator) -> list[Callable[[], Any]]:
    """Functions that fit boosted trees to inputs `x` [n, D], forest i without fold i."""
    from sklearn.ensemble import GradientBoostingClassifier

    fits: list[Callable[[], Any]] = []
    for i in range(settings.forests):
        rows = np.flatnonzero(data.fold != i)
        if not _both(data.answers[rows]):
            rows = np.arange(len(x))
        model = GradientBoostingClassifier(
            init="zero",
            n_estimators=settings.trees,
            learning_rate=settings.shrinkage,
            subsample=settings.subsample,
            max_features=settings.max_features,
            max_depth=None,
            max_leaf_nodes=LEAVES,
            min_samples_leaf=2,
            random_state=int(random.integers(2**31)),
        )
        fits.append(partial(model.fit, x[rows], data.answers[rows], data.weight[rows]))
    return fits


def _calibrations(network_logits: Floats, tree_logits: Floats, data: _Data) -> dict[str, Calibration]:
    """Fit Platt scalings to out-of-fold logits, of the networks [E, n], of the forests [G, n], and of both."""
    answers, weight, fold = data
    prior_shift = float(np.log(weight[~answers][0] / weight[answers][0]))
    """Undoes the weighting of the outcomes."""

    def scaling(*kinds: Floats) -> list[float]:
        rows = np.flatnonzero(fold < min(len(kind) for kind in kinds))
        design = np.stack([kind[fold[rows], rows] for kind in kinds] + [np.ones(len(rows))], axis=1)
        start = np.array([1 / len(kinds)] * len(kinds) + [prior_shift])
        return _logistic(design, answers[rows], start)

    networks, shift_of_networks = scaling(network_logits)
    trees, shift_of_trees = scaling(tree_logits)
    return {
        "networks": Calibration(networks, 0.0, shift_of_networks),
        "trees": Calibration(0.0, trees, shift_of_trees),
        "both": Calibration(*scaling(network_logits, tree_logits)),
    }


def _logistic(design: Floats, answers: Bools, start: Floats) -> list[float]:
    """Platt scaling by Newton's method: weights of the columns of `design` [n, k], shrunk towards `start` [k]."""
    positive, negative = int(answers.sum()), int((~answers).sum())
    target = np.where(answers, (positive + 1) / (positive + 2), 1 / (negative + 2))
    prior = 1 / np.append(start[:-1], 1.0) ** 2

    def loss(at: Floats) -> float:
        logits = design @ at
        return float((np.logaddexp(0, logits) - target * logits).sum() + (prior * (at - start) ** 2).sum() / 2)

    weights = start.copy()
    for _ in range(30):
        probability = sigmoid(design @ weights)
        gradient = design.T @ (probability - target) + prior * (weights - start)
        hessian = design.T @ (design * (probability * (1 - probability))[:, None]) + np.diag(prior)
        move = np.linalg.solve(hessian, gradient)
        while loss(weights - move) > loss(weights) and np.abs(move).max() > 1e-9:
            move /= 2
        weights -= move
        if np.abs(move).max() < 1e-6:
            break
    return [*np.maximum(weights[:-1], _MIN_WEIGHT).tolist(), float(weights[-1])]
