"""Train the ensemble of networks by gradient descent: the only part of a surrogate that needs JAX."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from counterplan.errors import SettingError
from counterplan.problem.transitions import Ints
from counterplan.surrogate.features import Single
from counterplan.surrogate.networks import Params, forward

try:
    import jax
    import jax.numpy as jnp
    import optax
except ImportError as error:
    raise SettingError("learning a surrogate needs JAX; pip install 'counterplan[train]'") from error

_SCAN = 25
"""Gradient steps in one compiled call."""


class Schedule(NamedTuple):
    """Of the gradient steps: their number, rows in a minibatch, learning rate at the start, weight decay."""

    steps: int
    batch_size: int
    learning_rate: float
    weight_decay: float


def network_fit(
    params: Params,
    x: Single,
    targets: Single,
    weights: Single,
    schedule: Schedule,
    random: np.random.Generator,
    *,
    regression: bool = False,
) -> Callable[[], Params]:
    """Prepare the training of an ensemble: minibatches are drawn at once, gradient steps are done by the result.

    All calls have one shape, so there is one compilation.

    Parameters
    ----------
    params : dict of str to ndarray
        Weights of E members to start from.
    x : ndarray of shape (n, D)
    targets : ndarray of shape (n,)
        Classes, 0 or 1; or numbers, with `regression`.
    weights : ndarray of shape (n, E)
        Of the rows, for each member.
    schedule : Schedule
    random : numpy.random.Generator
    regression : bool, default=False
        Whether to minimize Huber's loss instead of the cross-entropy.

    Returns
    -------
    callable
        Trains the ensemble, and returns its weights.
    """
    calls, size = -(-schedule.steps // _SCAN), schedule.batch_size
    batches = _batches(len(x), size, calls * _SCAN, random).reshape(calls, _SCAN, size)
    rates = schedule.learning_rate * 0.5 * (1 + np.cos(np.pi * np.arange(calls * _SCAN) / (calls * _SCAN)))
    options = schedule.weight_decay, regression

    def fit() -> Params:
        now = {name: jnp.asarray(value) for name, value in params.items()}
        state = _ADAM.init(now)
        for rows, rate in zip(batches, rates.reshape(calls, _SCAN).astype(np.float32), strict=True):
            now, state = _update(options, now, state, x[rows], targets[rows], weights[rows], rate)
        return {name: np.asarray(value) for name, value in now.items()}

    return fit


def _batches(rows: int, batch: int, steps: int, random: np.random.Generator) -> Ints:
    """Rows [steps, batch] of the minibatches: a permutation of all rows for each epoch."""
    epochs = -(-steps * batch // rows)
    order = np.concatenate([random.permutation(rows) for _ in range(epochs)])
    return order[: steps * batch].reshape(steps, batch)


_ADAM = optax.scale_by_adam()


@partial(jax.jit, static_argnums=0)
def _update(options: tuple[float, bool], params: Params, state: Any, *batches: Any) -> tuple[Params, Any]:
    """Gradient steps, one for each of the stacked batches."""
    decay, regression = options

    def step(now: Any, batch: Any) -> tuple[Any, None]:
        params, state = now
        *rows, rate = batch
        change, state = _ADAM.update(jax.grad(_loss)(params, *rows, regression), state)
        moved = {name: p - rate * (change[name] + (decay * p if "weight" in name else 0)) for name, p in params.items()}
        return (moved, state), None

    return jax.lax.scan(step, (params, state), batches)[0]


def _loss(params: Params, x: Any, y: Any, weights: Any, regression: bool) -> Any:
    """Weighted loss of inputs `x` [b, D] with targets `y` [b]; `weights` [b, E] differ between members."""
    outputs = forward(jnp, params, x)
    if regression:
        losses = optax.huber_loss(outputs, jnp.broadcast_to(y, outputs.shape))
    else:
        losses = jnp.logaddexp(0, jnp.where(y > 0, -outputs, outputs))
    return (losses * weights.T).sum() / x.shape[0]
