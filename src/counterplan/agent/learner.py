"""Gradients: the only place that needs JAX. The loss is the paper's — value error and two cross-entropies on successful
plans — and one term more, which teaches where not to stop."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from counterplan.agent.agent import Agent
from counterplan.agent.network import Params, forward, log_policies, no_memory
from counterplan.agent.traces import Archive
from counterplan.errors import PlanError

try:
    import jax
    import jax.numpy as jnp
    import optax
except ImportError as error:
    raise PlanError("training needs JAX; pip install 'counterplan[train]'") from error


class Learner:
    """The weights in training, and the optimiser that moves them."""

    def __init__(self, agent: Agent, learning_rate: float, weight_decay: float, refusal_weight: float) -> None:
        self._rates = (learning_rate, weight_decay, refusal_weight)
        self.params: Params = {name: jnp.asarray(value) for name, value in agent.params.items()}
        self._state = optax.adamw(learning_rate, weight_decay=weight_decay).init(self.params)
        self._membership = jnp.asarray(agent.membership)
        self._function_of = jnp.asarray(agent.problem.transitions.function_of)

    def learn(self, archive: Archive, batch: int, random: np.random.Generator, discount: float | None = None) -> None:
        """One gradient step on `batch` successful plans and half as many refused trails, drawn at random."""
        good = random.choice(archive.solved, batch)
        known = min(archive.written, len(archive.refused_people))
        bad = random.integers(max(known, 1), size=batch // 2)
        book, refused = archive.book, archive.refused
        end = (refused.real[bad].sum(axis=1) - 1).astype(np.int32)
        self.params, self._state = _update(
            self._rates,
            self.params,
            self._state,
            self._membership,
            self._function_of,
            np.concatenate([book.inputs[good], refused.inputs[bad]]),
            np.concatenate([book.legal[good], refused.legal[bad]]),
            book.policy[good],
            archive.values(good, discount),
            book.real[good],
            np.maximum(end, 0),
            np.float32(known > 0),
        )

    def state_leaves(self) -> list[np.ndarray[Any, Any]]:
        """The optimiser's state as arrays, in a fixed order."""
        return [np.asarray(leaf) for leaf in jax.tree_util.tree_leaves(self._state)]

    def restore(self, params: Params, leaves: list[np.ndarray[Any, Any]]) -> None:
        """Go on with stored weights and optimiser state."""
        self.params = {name: jnp.asarray(value) for name, value in params.items()}
        structure = jax.tree_util.tree_structure(self._state)
        self._state = jax.tree_util.tree_unflatten(structure, [jnp.asarray(leaf) for leaf in leaves])


def run(params: Params, membership: Any, inputs: Any, legal: Any) -> tuple[Any, Any, Any]:
    """Log π_f [n, S, G], log π_x [n, S, A] and value [n, S] over whole plans."""

    def step(memory: Any, now: tuple[Any, Any]) -> tuple[Any, tuple[Any, Any, Any]]:
        heads, memory = forward(jnp, params, now[0], memory)
        functions, arguments = log_policies(jnp, heads, now[1], membership)
        return memory, (functions, arguments, heads.value)

    memory = no_memory(jnp, params, inputs.shape[0])
    _, out = jax.lax.scan(step, memory, (inputs.swapaxes(0, 1), legal.swapaxes(0, 1)))
    functions, arguments, value = (part.swapaxes(0, 1) for part in out)
    return functions, arguments, value


def loss(
    params: Params, refusal_weight: float, membership: Any, function_of: Any, inputs: Any, legal: Any, wanted: Any,
    value: Any, real: Any, end: Any, any_refused: Any,
) -> Any:  # fmt: skip
    """First in `inputs` come successful plans, then trails that were refused at step `end`."""
    functions, arguments, guess = run(params, membership, inputs, legal)
    count = wanted.shape[0]
    policy = -(wanted * (functions[:count][:, :, function_of] + arguments[:count])).sum(axis=2)
    good = ((policy + (guess[:count] - value) ** 2) * real).sum() / real.sum()
    stop = jnp.exp(functions[count:][jnp.arange(end.shape[0]), end, -1])
    return good + refusal_weight * any_refused * -jnp.log(1 - stop + 1e-4).mean()


@partial(jax.jit, static_argnums=0)
def _update(rates: tuple[float, float, float], params: Params, state: Any, *batch: Any) -> tuple[Params, Any]:
    learning_rate, weight_decay, refusal_weight = rates
    gradient = jax.grad(loss)(params, refusal_weight, *batch)
    change, state = optax.adamw(learning_rate, weight_decay=weight_decay).update(gradient, state, params)
    return optax.apply_updates(params, change), state
