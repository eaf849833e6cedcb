"""Learning a surrogate from answers: networks by gradients, the only part that needs JAX, and boosted trees.

A row's fold follows from its own numbers. Member e never learns from fold e, in this fit or in a later one that starts
from it: what it says of that fold is honest, and calibrates the surrogate.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from counterplan.errors import PlanError
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
    raise PlanError("learning a surrogate needs JAX; pip install 'counterplan[train]'") from error

SCAN = 25
"""Gradient steps in one compiled call."""
LEAST = 0.01
"""The least weight of a kind of model: even a poor one tells states apart."""


@dataclass(frozen=True)
class FitSettings:
    """How a surrogate is learned."""

    members: int = 5
    hidden: tuple[int, ...] = (32, 32)
    steps: int = 800
    """Gradient steps of a first fit."""
    refit_steps: int = 400
    """Gradient steps of a fit that starts from an earlier one."""
    batch: int = 256
    learning_rate: float = 5e-3
    weight_decay: float = 1.0
    cuts: int = CUTS
    """Cut points of a number that are learned from data."""
    forests: int = 3
    """Boosted models, each without one fold, of which the mean is taken."""
    trees: int = 60
    """Trees in each of them."""
    shrinkage: float = 0.2
    rows_share: float = 0.6
    columns_share: float = 0.4
    """The shares of rows that a tree sees, and of columns that a test is chosen from."""
    rare: float = 0.25
    """The rarer outcome weighs at least this much of all in learning."""
    folds: int = 5
    """Parts of the rows; each member and each forest leaves out another one."""


def fit(
    problem: Problem,
    states: Floats,
    answers: Bools,
    settings: FitSettings | None = None,
    seed: int = 0,
    before: Surrogate | None = None,
) -> Surrogate:
    """A surrogate from `states` [n, F] and whether each is favourable, `answers` [n]; cheaper from the one `before`."""
    settings = settings or FitSettings()
    states, answers = np.ascontiguousarray(states, float), np.asarray(answers, bool)
    if not len(states) or answers.shape != (len(states),):
        there = f"{len(states):,} states and {answers.size:,} answers"
        raise PlanError(f"a surrogate is learned from one answer for each state; there are {there}")
    before = before and before.with_problem(problem)
    random = np.random.default_rng([seed, len(states)])
    view = before.view if before else StateFeatures.of(problem, states, settings.cuts)
    params = before.networks if before else initial_params(len(view), settings.members, settings.hidden, random)
    if answers.all() or not answers.any():
        sure = float(np.log(len(states) + 1)) * (1 if answers.all() else -1)
        return Surrogate(problem, view, _constant(params, sure), Trees.constant(sure))
    folds = max(settings.folds, settings.members, settings.forests)
    fold = folds_of(states, folds)
    weight = _weights(answers, settings.rare)
    x = np.ascontiguousarray(view(states))
    params = _fit_networks(params, x, answers, weight, fold, settings, random)
    trees, told = _fit_trees(problem, states, answers, weight, fold, settings, random)
    said = np.asarray(forward(np, params, x), float)
    shift = float(np.log(weight[~answers][0] / weight[answers][0]))
    honest = all(_both(answers[fold != i]) for i in range(settings.forests)) and (
        before is None or before.folds in (0, folds)
    )
    return Surrogate(
        problem, view, params, trees, _calibrations(said, told, fold, answers, shift), folds=folds if honest else 0,
        forests=settings.forests,
    )  # fmt: skip


def _constant(params: Params, logit: float) -> Params:
    """The same networks, silenced: all say `logit`."""
    last = len(params) // 2 - 1
    return params | {
        f"{last}.weight": np.zeros_like(params[f"{last}.weight"]),
        f"{last}.bias": np.full_like(params[f"{last}.bias"], logit),
    }


def _both(answers: Bools) -> bool:
    """Whether both outcomes are among `answers` [n]."""
    return bool(answers.any() and not answers.all())


def _weights(answers: Bools, rare: float) -> Single:
    """What each row [n] weighs in learning, so that neither outcome has less than the share `rare`."""
    share = float(answers.mean())
    wanted = min(max(share, rare), 1 - rare)
    return np.where(answers, wanted / share, (1 - wanted) / (1 - share)).astype(np.float32)


def _fit_networks(
    params: Params, x: Single, answers: Bools, weight: Single, fold: Ints, settings: FitSettings,
    random: np.random.Generator,
) -> Params:  # fmt: skip
    """The ensemble after learning from inputs `x` [n, D]. All calls have one shape: one compilation."""
    members = params["0.weight"].shape[1]
    weights = weight[:, None] * (fold[:, None] != np.arange(members)).astype(np.float32)
    new = not params[f"{len(params) // 2 - 1}.weight"].any()  # never fitted, or silenced
    calls = -(-(settings.steps if new else settings.refit_steps) // SCAN)
    batches = _batches(len(x), settings.batch, calls * SCAN, random).reshape(calls, SCAN, settings.batch)
    rates = settings.learning_rate * 0.5 * (1 + np.cos(np.pi * np.arange(calls * SCAN) / (calls * SCAN)))
    params = {name: jnp.asarray(value) for name, value in params.items()}
    state = _ADAM.init(params)
    for rows, rate in zip(batches, rates.reshape(calls, SCAN).astype(np.float32), strict=True):
        params, state = _learn(
            settings.weight_decay, params, state, x[rows], answers[rows].astype(np.float32), weights[rows], rate
        )
    return {name: np.asarray(value) for name, value in params.items()}


def _batches(rows: int, batch: int, steps: int, random: np.random.Generator) -> Ints:
    """Rows [steps, batch], every row as often as any other."""
    passes = -(-steps * batch // rows)
    order = np.concatenate([random.permutation(rows) for _ in range(passes)])
    return order[: steps * batch].reshape(steps, batch)


_ADAM = optax.scale_by_adam()


@partial(jax.jit, static_argnums=0)
def _learn(decay: float, params: Params, state: Any, *batches: Any) -> tuple[Params, Any]:
    """Gradient steps, one for each of the stacked batches."""

    def step(now: Any, batch: Any) -> tuple[Any, None]:
        params, state = now
        *rows, rate = batch
        change, state = _ADAM.update(jax.grad(_loss)(params, *rows), state)
        moved = {name: p - rate * (change[name] + (decay * p if "weight" in name else 0)) for name, p in params.items()}
        return (moved, state), None

    return jax.lax.scan(step, (params, state), batches)[0]


def _loss(params: Params, x: Any, y: Any, weights: Any) -> Any:
    """Weighted cross-entropy of inputs `x` [b, D] with answers `y` [b]; `weights` [b, E] are each member's own."""
    logits = forward(jnp, params, x)
    wrong = jnp.logaddexp(0, jnp.where(y > 0, -logits, logits))
    return (wrong * weights.T).sum() / x.shape[0]


def _fit_trees(
    problem: Problem, states: Floats, answers: Bools, weight: Single, fold: Ints, settings: FitSettings,
    random: np.random.Generator,
) -> tuple[Trees, Floats]:  # fmt: skip
    """Boosted trees, and what each forest says [G, n] of every row."""
    from sklearn.ensemble import GradientBoostingClassifier

    x = tree_inputs(problem.features, states)
    forests: list[Any] = []
    for i in range(settings.forests):
        rows = np.flatnonzero(fold != i)
        if not _both(answers[rows]):
            rows = np.arange(len(x))
        model = GradientBoostingClassifier(
            init="zero", n_estimators=settings.trees, learning_rate=settings.shrinkage, subsample=settings.rows_share,
            max_features=settings.columns_share, max_depth=None, max_leaf_nodes=LEAVES, min_samples_leaf=2,
            random_state=int(random.integers(2**31)),
        )  # fmt: skip
        forests.append(model.fit(x[rows], answers[rows], weight[rows]))
    return Trees.of(problem.features, forests), np.array([model.decision_function(x) for model in forests])


def _calibrations(said: Floats, told: Floats, fold: Ints, answers: Bools, shift: float) -> dict[str, Calibration]:
    """How far to trust the networks' logits `said` [E, n] and the forests' `told` [G, n], judged by what each says of
    the fold that it never learned from. `shift` takes back what weighting the outcomes did."""

    def weights(*kinds: Floats) -> list[float]:
        rows = np.flatnonzero(fold < min(len(kind) for kind in kinds))
        design = np.stack([kind[fold[rows], rows] for kind in kinds] + [np.ones(len(rows))], axis=1)
        start = np.array([1 / len(kinds)] * len(kinds) + [shift])
        return _logistic(design, answers[rows], start)

    networks, shift_of_networks = weights(said)
    trees, shift_of_trees = weights(told)
    both = Calibration(*weights(said, told))
    return {
        "networks": Calibration(networks, 0.0, shift_of_networks),
        "trees": Calibration(0.0, trees, shift_of_trees),
        "both": both,
    }


def _logistic(design: Floats, answers: Bools, start: Floats) -> list[float]:
    """Platt's scaling by Newton's method: weights of the columns of `design` [n, k], drawn towards `start` [k]."""
    yes, no = int(answers.sum()), int((~answers).sum())
    wanted = np.where(answers, (yes + 1) / (yes + 2), 1 / (no + 2))
    prior = 1 / np.append(start[:-1], 1.0) ** 2

    def loss(at: Floats) -> float:
        logits = design @ at
        return float((np.logaddexp(0, logits) - wanted * logits).sum() + (prior * (at - start) ** 2).sum() / 2)

    weights = start.copy()
    for _ in range(30):
        chance = sigmoid(design @ weights)
        slope = design.T @ (chance - wanted) + prior * (weights - start)
        bend = design.T @ (design * (chance * (1 - chance))[:, None]) + np.diag(prior)
        move = np.linalg.solve(bend, slope)
        while loss(weights - move) > loss(weights) and np.abs(move).max() > 1e-9:
            move /= 2
        weights -= move
        if np.abs(move).max() < 1e-6:
            break
    return [*np.maximum(weights[:-1], LEAST).tolist(), float(weights[-1])]
