"""Gradient updates of the agent's network, the only module that needs JAX.

The loss is the paper's, value error and two cross-entropies on successful plans, plus a term that penalizes STOP in
states that the black box refused.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from counterplan.agent.agent import Agent
from counterplan.agent.network import Array, Params, forward, initial_memory, log_policies
from counterplan.agent.trace_archive import TraceArchive
from counterplan.errors import SettingError

try:
    import jax
    import jax.numpy as jnp
    import optax
except ImportError as error:
    raise SettingError("training needs JAX; pip install 'counterplan[train]'") from error


class _Rates(NamedTuple):
    """Hyperparameters of the update; static when it is compiled."""

    learning_rate: float
    weight_decay: float
    refusal_weight: float


class _Minibatch(NamedTuple):
    """n successful traces, followed in `inputs` and `legal` by m refused ones; S steps."""

    inputs: Array
    """[n + m, S, D]"""
    legal: Array
    """[n + m, S, A]"""
    policy: Array
    """[n, S, A] target policy."""
    value: Array
    """[n, S] target value."""
    mask: Array
    """[n, S] 1 for the steps of the trace, 0 for padding."""
    end: Array
    """[m] the step at which a refused trace ended."""
    any_refused: Array
    """1 if there are refused traces, 0 if those m are placeholders."""


class Learner:
    """Network weights in training, with the state of their optimizer (AdamW).

    Parameters
    ----------
    agent : Agent
        Initial weights.
    learning_rate, weight_decay : float
        Of AdamW.
    refusal_weight : float
        Weight of the penalty for STOP in refused states.
    """

    def __init__(self, agent: Agent, learning_rate: float, weight_decay: float, refusal_weight: float) -> None:
        self._rates = _Rates(learning_rate, weight_decay, refusal_weight)
        self.params: Params = {name: jnp.asarray(value) for name, value in agent.params.items()}
        self._state = optax.adamw(learning_rate, weight_decay=weight_decay).init(self.params)
        self._membership = jnp.asarray(agent.membership)
        self._function_of = jnp.asarray(agent.problem.transitions.function_of)

    def update(
        self, archive: TraceArchive, batch_size: int, random: np.random.Generator, discount: float | None = None
    ) -> None:
        """One gradient step on `batch_size` successful traces and half as many refused ones, drawn at random."""
        successful = random.choice(archive.solved, batch_size)
        known = min(archive.refusals_written, len(archive.refused_people))
        refused = random.integers(max(known, 1), size=batch_size // 2)
        traces, refusals = archive.traces, archive.refusals
        end = (refusals.mask[refused].sum(axis=1) - 1).astype(np.int32)
        batch = _Minibatch(
            np.concatenate([traces.inputs[successful], refusals.inputs[refused]]),
            np.concatenate([traces.legal[successful], refusals.legal[refused]]),
            traces.policy[successful],
            archive.values(successful, discount),
            traces.mask[successful],
            np.maximum(end, 0),
            np.float32(known > 0),
        )
        self.params, self._state = _update(
            self._rates, self.params, self._state, self._membership, self._function_of, batch
        )

    def state_leaves(self) -> list[np.ndarray[Any, Any]]:
        """The optimizer's state as arrays, in a fixed order."""
        return [np.asarray(leaf) for leaf in jax.tree_util.tree_leaves(self._state)]

    def restore(self, params: Params, leaves: list[np.ndarray[Any, Any]]) -> None:
        """Continue with stored weights and optimizer state."""
        self.params = {name: jnp.asarray(value) for name, value in params.items()}
        structure = jax.tree_util.tree_structure(self._state)
        self._state = jax.tree_util.tree_unflatten(structure, [jnp.asarray(leaf) for leaf in leaves])


def _outputs(params: Params, membership: Array, inputs: Array, legal: Array) -> tuple[Array, Array, Array]:
    """Log π_f [n, S, G], log π_x [n, S, A] and value [n, S] over whole traces."""

    def step(memory: Any, now: tuple[Array, Array]) -> tuple[Any, tuple[Array, Array, Array]]:
        heads, memory = forward(jnp, params, now[0], memory)
        functions, arguments = log_policies(jnp, heads, now[1], membership)
        return memory, (functions, arguments, heads.value)

    memory = initial_memory(jnp, params, inputs.shape[0])
    _, out = jax.lax.scan(step, memory, (inputs.swapaxes(0, 1), legal.swapaxes(0, 1)))
    functions, arguments, value = (part.swapaxes(0, 1) for part in out)
    return functions, arguments, value


def _loss(params: Params, refusal_weight: float, membership: Array, function_of: Array, batch: _Minibatch) -> Array:
    """Mean over the steps of successful traces, plus the mean penalty of the refused ones."""
    functions, arguments, value = _outputs(params, membership, batch.inputs, batch.legal)
    count = batch.policy.shape[0]
    policy = -(batch.policy * (functions[:count][:, :, function_of] + arguments[:count])).sum(axis=2)
    successful = ((policy + (value[:count] - batch.value) ** 2) * batch.mask).sum() / batch.mask.sum()
    stop = jnp.exp(functions[count:][jnp.arange(batch.end.shape[0]), batch.end, -1])
    return successful + refusal_weight * batch.any_refused * -jnp.log(1 - stop + 1e-4).mean()


@partial(jax.jit, static_argnums=0)
def _update(
    rates: _Rates, params: Params, state: Any, membership: Array, function_of: Array, batch: _Minibatch
) -> tuple[Params, Any]:
    gradient = jax.grad(_loss)(params, rates.refusal_weight, membership, function_of, batch)
    change, state = optax.adamw(rates.learning_rate, weight_decay=rates.weight_decay).update(gradient, state, params)
    return optax.apply_updates(params, change), state
