"""Fit a surrogate to labelled states: networks by gradient descent, the only part that needs JAX, and boosted trees.

The fold of a row is a hash of its numbers. Member e is never fitted on fold e, neither in this fit nor in a later one
that warm-starts from it, so that its predictions for that fold are out-of-fold and calibrate the surrogate.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from counterplan.errors import SettingError
from counterplan.problem import Problem
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.surrogate.features import CUTS, Single, StateFeatures
from counterplan.surrogate.networks import Params, forward, initial_params
from counterplan.surrogate.surrogate import Calibration, Surrogate, folds_of, sigmoid
from counterplan.surrogate.trees import LEAVES, Trees, tree_inputs

try:
    import jax
    import jax.numpy as jnp
    import optax
except ImportError as error:
    raise SettingError("learning a surrogate needs JAX; pip install 'counterplan[train]'") from error

_SCAN = 25
"""Gradient steps in one compiled call."""
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
    folds = max(settings.folds, settings.members, settings.forests)
    data = _Data(answers, _weights(answers, settings.min_class_weight), folds_of(states, folds))
    x = np.ascontiguousarray(features(states))
    params = _fit_networks(params, x, data, settings, random)
    trees, tree_logits = _fit_trees(problem, states, data, settings, random)
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
    )


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


def _fit_networks(params: Params, x: Single, data: _Data, settings: FitSettings, random: np.random.Generator) -> Params:
    """Train the ensemble on inputs `x` [n, D]. All calls have one shape, so there is one compilation."""
    members = params["0.weight"].shape[1]
    weights = data.weight[:, None] * (data.fold[:, None] != np.arange(members)).astype(np.float32)
    new = not params[f"{len(params) // 2 - 1}.weight"].any()  # never fitted, or constant
    calls, size = -(-(settings.steps if new else settings.refit_steps) // _SCAN), settings.batch_size
    batches = _batches(len(x), size, calls * _SCAN, random).reshape(calls, _SCAN, size)
    rates = settings.learning_rate * 0.5 * (1 + np.cos(np.pi * np.arange(calls * _SCAN) / (calls * _SCAN)))
    params = {name: jnp.asarray(value) for name, value in params.items()}
    state = _ADAM.init(params)
    for rows, rate in zip(batches, rates.reshape(calls, _SCAN).astype(np.float32), strict=True):
        targets = data.answers[rows].astype(np.float32)
        params, state = _update(settings.weight_decay, params, state, x[rows], targets, weights[rows], rate)
    return {name: np.asarray(value) for name, value in params.items()}


def _batches(rows: int, batch: int, steps: int, random: np.random.Generator) -> Ints:
    """Rows [steps, batch] of the minibatches: a permutation of all rows for each epoch."""
    epochs = -(-steps * batch // rows)
    order = np.concatenate([random.permutation(rows) for _ in range(epochs)])
    return order[: steps * batch].reshape(steps, batch)


_ADAM = optax.scale_by_adam()


@partial(jax.jit, static_argnums=0)
def _update(decay: float, params: Params, state: Any, *batches: Any) -> tuple[Params, Any]:
    """Gradient steps, one for each of the stacked batches."""

    def step(now: Any, batch: Any) -> tuple[Any, None]:
        params, state = now
        *rows, rate = batch
        change, state = _ADAM.update(jax.grad(_loss)(params, *rows), state)
        moved = {name: p - rate * (change[name] + (decay * p if "weight" in name else 0)) for name, p in params.items()}
        return (moved, state), None

    return jax.lax.scan(step, (params, state), batches)[0]


def _loss(params: Params, x: Any, y: Any, weights: Any) -> Any:
    """Weighted cross-entropy of inputs `x` [b, D] with answers `y` [b]; `weights` [b, E] differ between members."""
    logits = forward(jnp, params, x)
    losses = jnp.logaddexp(0, jnp.where(y > 0, -logits, logits))
    return (losses * weights.T).sum() / x.shape[0]


def _fit_trees(
    problem: Problem, states: Floats, data: _Data, settings: FitSettings, random: np.random.Generator
) -> tuple[Trees, Floats]:
    """Fit boosted trees; also returns the logits of each forest for every row [G, n]."""
    from sklearn.ensemble import GradientBoostingClassifier

    x = tree_inputs(problem.features, states)
    forests: list[Any] = []
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
        forests.append(model.fit(x[rows], data.answers[rows], data.weight[rows]))
    return Trees.from_models(problem.features, forests), np.array([model.decision_function(x) for model in forests])


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
