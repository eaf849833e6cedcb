"""Fit a surrogate to the scores of a model: a regression of margins by networks and boosted trees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from counterplan.errors import SettingError
from counterplan.problem import Problem
from counterplan.problem.transitions import Floats, Ints
from counterplan.surrogate.belief import PROBIT, ErrorModel
from counterplan.surrogate.features import CUTS, StateFeatures
from counterplan.surrogate.fitting import fold_features, spreads
from counterplan.surrogate.network_fitting import Schedule, network_fit
from counterplan.surrogate.networks import forward, initial_params
from counterplan.surrogate.score_link import ScoreLink
from counterplan.surrogate.surrogate import Calibration, Surrogate, folds_of
from counterplan.surrogate.threads import on_threads
from counterplan.surrogate.trees import LEAVES, Trees, histogram_boosted, tree_inputs

_SHARES = np.linspace(0, 1, 11)
"""Candidate weights of the trees against the networks."""
_MIN_SD = 0.02
_ERRORS = ErrorModel(shared=0.2, additive=0.4, local=0.4, growth=0.2, decay=0.05, tail=1 / 3)
"""Residuals of scores have heavy tails, are larger far from the boundary, and are correlated in similar states most."""


@dataclass(frozen=True)
class ScoreFitSettings:
    """Settings of `fit_scores`.

    Parameters
    ----------
    members : int, default=5
        Networks in the ensemble, each fitted without one fold.
    hidden : tuple of int, default=(32, 32)
        Units of their hidden layers.
    steps : int, default=2000
        Gradient steps.
    batch_size : int, default=256
        Rows in a minibatch.
    learning_rate, weight_decay : float
        Of Adam, with decoupled weight decay and a cosine schedule.
    cuts : int, default=8
        Cut points of a number that are learned from data.
    forests : int, default=3
        Boosted models, each fitted without one fold, whose mean is taken.
    trees : int, default=200
        Trees in each of them.
    leaves : int, default=16
        Leaves of a tree.
    shrinkage : float, default=0.1
        Learning rate of boosting.
    near : float, default=1.0
        A state at this distance from the decision boundary has half the weight of one on it, in units of the margin.
    """

    members: int = 5
    hidden: tuple[int, ...] = (32, 32)
    steps: int = 2000
    batch_size: int = 256
    learning_rate: float = 5e-3
    weight_decay: float = 0.3
    cuts: int = CUTS
    forests: int = 3
    trees: int = 200
    leaves: int = LEAVES
    shrinkage: float = 0.1
    near: float = 1.0


def fit_scores(
    problem: Problem,
    states: Floats,
    scores: Floats,
    link: ScoreLink,
    settings: ScoreFitSettings | None = None,
    seed: int = 0,
    *,
    jobs: int = 1,
) -> Surrogate:
    """Fit a surrogate to scored states.

    Parameters
    ----------
    problem : Problem
    states : ndarray of shape (n, F)
    scores : ndarray of shape (n,)
        The model's scores.
    link : ScoreLink
        Converts scores to margins.
    settings : ScoreFitSettings, optional
    seed : int, default=0
    jobs : int, default=1
        Number of threads.

    Returns
    -------
    Surrogate
        Its `logit` is the predicted margin in units of its standard error, so that its probabilities are calibrated.

    Raises
    ------
    SettingError
        If there is not one score for each state.
    """
    settings = settings or ScoreFitSettings()
    states, margins = np.ascontiguousarray(states, float), link.with_unit(1.0).margin(np.asarray(scores, float))
    if not len(states) or margins.shape != (len(states),) or not np.isfinite(margins).all():
        raise SettingError(f"a surrogate is fitted to one score for each state, got {len(states):,} states")
    random = np.random.default_rng([seed, len(states)])
    folds = max(settings.members, settings.forests)
    by = fold_features(problem, states, folds)
    fold = folds_of(states[:, by], folds)
    features = StateFeatures.from_states(problem, states, settings.cuts)
    weight = 1 / (1 + np.abs(margins) / settings.near)
    weight /= weight.mean()
    scale = float(margins.std()) or 1.0
    x = np.ascontiguousarray(features(states))
    params = initial_params(len(features), settings.members, settings.hidden, random)
    weights = (weight[:, None] * (fold[:, None] != np.arange(settings.members))).astype(np.float32)
    schedule = Schedule(settings.steps, settings.batch_size, settings.learning_rate, settings.weight_decay)
    targets = (margins / scale).astype(np.float32)
    networks = network_fit(params, x, targets, weights, schedule, random, regression=True)
    boosted = _forest_fits(tree_inputs(problem.features, states), margins, weight, fold, settings, random)
    params, *forests = on_threads([networks, *boosted], jobs)
    trees = Trees.mean_of(problem.features, [histogram_boosted(model) for model in forests])
    rows = np.flatnonzero(fold < settings.forests)
    held_out = fold[rows], rows
    by_networks = scale * np.asarray(forward(np, params, x), float)[held_out]
    by_trees = np.array([model.predict(tree_inputs(problem.features, states)) for model in forests])[held_out]
    calibrations, sd = _calibrations(margins[rows], by_networks, by_trees, weight[rows], scale)
    return Surrogate(
        problem,
        features,
        params,
        trees,
        calibrations,
        folds=folds,
        forests=settings.forests,
        fold_features=by,
        errors=replace(_ERRORS, scale=spreads(problem, states)),
        link=link.with_unit(PROBIT / sd),
    )


def _forest_fits(
    x: Any, margins: Floats, weight: Floats, fold: Ints, settings: ScoreFitSettings, random: np.random.Generator
) -> list[Callable[[], Any]]:
    """Functions that fit boosted regressors of `margins` [n], forest i without fold i."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    fits: list[Callable[[], Any]] = []
    for i in range(settings.forests):
        rows = np.flatnonzero(fold != i)
        model = HistGradientBoostingRegressor(
            max_iter=settings.trees,
            max_leaf_nodes=settings.leaves,
            learning_rate=settings.shrinkage,
            min_samples_leaf=5,
            early_stopping=False,
            random_state=int(random.integers(2**31)),
        )
        fits.append(partial(model.fit, x[rows], margins[rows], weight[rows]))
    return fits


def _calibrations(
    margins: Floats, by_networks: Floats, by_trees: Floats, weight: Floats, scale: float
) -> tuple[dict[str, Calibration], float]:
    """Calibrations in units of the held-out standard error, and that of the best mean of networks and trees."""

    def error(share: float) -> float:
        residual = margins - (1 - share) * by_networks - share * by_trees
        return max(_MIN_SD, float(np.sqrt(np.average(residual**2, weights=weight))))

    share = min(_SHARES.tolist(), key=error)
    made = {}
    for parts, part in (("networks", 0.0), ("trees", 1.0), ("both", share)):
        unit = PROBIT / error(part)
        made[parts] = Calibration((1 - part) * scale * unit, part * unit)
    return made, error(share)
