"""The agent's network: state encoder → LSTM controller → function, argument and value heads.

Written once over an array namespace: `forward(numpy, …)` runs in search, `forward(jax.numpy, …)` is differentiated
in training. D inputs, E units in the encoder, H in the controller, G functions (STOP included), A actions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Array = Any
"""A numpy or jax array."""
Params = dict[str, Array]


@dataclass(frozen=True)
class NetworkConfig:
    """Sizes that the problem does not decide."""

    encoder: int = 64
    controller: int = 64


class Memory(NamedTuple):
    """What the controller remembers of the steps so far: hidden state and cell, [B, H] each."""

    hidden: Array
    cell: Array


class Heads(NamedTuple):
    """What the network says: function logits [B, G], argument logits [B, A], value [B] between 0 and 1."""

    functions: Array
    arguments: Array
    value: Array


def initial_params(
    inputs: int, functions: int, actions: int, config: NetworkConfig, random: np.random.Generator
) -> dict[str, npt.NDArray[np.float32]]:
    """Random weights, scaled by the width of the layer below."""
    enc, con = config.encoder, config.controller
    shapes = {
        "encode1": (inputs, enc),
        "encode2": (enc, enc),
        "gates": (enc + con, 4 * con),
        "function": (con, functions),
        "argument": (con, actions),
        "value": (con, 1),
    }
    params: dict[str, npt.NDArray[np.float32]] = {}
    for name, (below, above) in shapes.items():
        params[f"{name}.weight"] = (random.standard_normal((below, above)) / np.sqrt(below)).astype(np.float32)
        params[f"{name}.bias"] = np.zeros(above, np.float32)
    params["gates.bias"][con : 2 * con] = 1.0  # remember at first
    return params


def no_memory(xp: Any, params: Params, people: int) -> Memory:
    """The controller before the first step."""
    size = params["function.weight"].shape[0]
    return Memory(xp.zeros((people, size), xp.float32), xp.zeros((people, size), xp.float32))


def forward(xp: Any, params: Params, x: Array, memory: Memory) -> tuple[Heads, Memory]:
    """One step of the network on inputs `x` [B, D]."""
    hidden = xp.maximum(_layer(params, "encode1", x), 0)
    hidden = xp.maximum(_layer(params, "encode2", hidden), 0)
    gates = _layer(params, "gates", xp.concatenate([hidden, memory.hidden], axis=1))
    keep_in, forget, out, new = xp.split(gates, 4, axis=1)
    cell = _sigmoid(xp, forget) * memory.cell + _sigmoid(xp, keep_in) * xp.tanh(new)
    state = _sigmoid(xp, out) * xp.tanh(cell)
    value = _sigmoid(xp, _layer(params, "value", state)[:, 0])
    return Heads(_layer(params, "function", state), _layer(params, "argument", state), value), Memory(state, cell)


def _layer(params: Params, name: str, x: Array) -> Array:
    return x @ params[f"{name}.weight"] + params[f"{name}.bias"]


def _sigmoid(xp: Any, x: Array) -> Array:
    return 0.5 * (xp.tanh(0.5 * x) + 1)


_LARGEST = 25.0
_NEVER = -1e9


def log_policies(xp: Any, heads: Heads, legal: Array, membership: Array) -> tuple[Array, Array]:
    """log π_f [B, G] over functions with a legal action, and log π_x [B, A] over the legal arguments of each.

    `legal` [B, A] and `membership` [A, G] (which action belongs to which function) are 0 or 1.
    What is not legal gets a log probability so small that it never happens.
    """
    possible = legal @ membership > 0
    functions = xp.where(possible, _bounded(xp, heads.functions), _NEVER)
    functions = functions - _log_sum(xp, functions)
    weights = xp.exp(_bounded(xp, heads.arguments)) * legal
    total = (weights @ membership) @ membership.T
    arguments = xp.where(legal > 0, xp.log(xp.maximum(weights, 1e-30)) - xp.log(xp.maximum(total, 1e-30)), _NEVER)
    return functions, arguments


def _bounded(xp: Any, logits: Array) -> Array:
    """Logits between ±25, so that the sums over a function's arguments neither overflow nor vanish."""
    return _LARGEST * xp.tanh(logits / _LARGEST)


def _log_sum(xp: Any, logits: Array) -> Array:
    top = logits.max(axis=1, keepdims=True)
    return top + xp.log(xp.exp(logits - top).sum(axis=1, keepdims=True))
