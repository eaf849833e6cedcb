"""The agent's network: state encoder → LSTM controller → function, argument and value heads.

Written once over an array namespace: `forward(numpy, …)` runs in search, `forward(jax.numpy, …)` is differentiated
in training. D inputs, E units in the encoder, H in the controller, G functions (STOP included), A actions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from counterplan.errors import SettingError

Array = Any
"""A numpy or jax array."""
Params = dict[str, Array]


@dataclass(frozen=True)
class NetworkConfig:
    """Inputs and layer sizes that do not follow from the problem.

    Parameters
    ----------
    encoder : int, default=64
        Units in each of the two layers of the state encoder.
    controller : int, default=64
        Units of the LSTM controller.
    numbers : bool, default=True
        Whether the agent sees standardized numbers in addition to the binary encoding; the paper's sees the encoding
        only.
    """

    encoder: int = 64
    controller: int = 64
    numbers: bool = field(default=True, metadata={"added": True})

    def __post_init__(self) -> None:
        for name, size in (("encoder", self.encoder), ("controller", self.controller)):
            if isinstance(size, bool) or not isinstance(size, (int, np.integer)) or size < 1:
                raise SettingError(f"'{name}' is a number of units, 1 or more, got {size!r}")
        if not isinstance(self.numbers, bool):
            raise SettingError(f"'numbers' is True or False, got {self.numbers!r}")


class Memory(NamedTuple):
    """LSTM state after the steps so far: hidden state and cell, [B, H] each."""

    hidden: Array
    cell: Array


class Heads(NamedTuple):
    """Outputs of the network: function logits [B, G], argument logits [B, A], value [B] between 0 and 1."""

    functions: Array
    arguments: Array
    value: Array


def layer_shapes(inputs: int, functions: int, actions: int, config: NetworkConfig) -> dict[str, tuple[int, int]]:
    """Number of inputs and of outputs of each layer."""
    enc, con = config.encoder, config.controller
    return {
        "encode1": (inputs, enc),
        "encode2": (enc, enc),
        "gates": (enc + con, 4 * con),
        "function": (con, functions),
        "argument": (con, actions),
        "value": (con, 1),
    }


def initial_params(
    inputs: int, functions: int, actions: int, config: NetworkConfig, random: np.random.Generator
) -> dict[str, npt.NDArray[np.float32]]:
    """Random weights, scaled by the width of the layer below."""
    params: dict[str, npt.NDArray[np.float32]] = {}
    for name, (below, above) in layer_shapes(inputs, functions, actions, config).items():
        params[f"{name}.weight"] = (random.standard_normal((below, above)) / np.sqrt(below)).astype(np.float32)
        params[f"{name}.bias"] = np.zeros(above, np.float32)
    con = config.controller
    params["gates.bias"][con : 2 * con] = 1.0  # the forget gate starts open
    return params


def check_params(params: Mapping[str, Array], shapes: Mapping[str, tuple[int, int]]) -> None:
    """Raise SettingError unless `params` has exactly the layers `shapes`, as float32 arrays."""
    expected: dict[str, tuple[int, ...]] = {}
    for name, (below, above) in shapes.items():
        expected |= {f"{name}.weight": (below, above), f"{name}.bias": (above,)}
    if params.keys() != expected.keys():
        raise SettingError(f"the network needs the parameters {', '.join(expected)}, got {', '.join(params)}")
    for name, shape in expected.items():
        found = params[name]
        if found.shape != shape or found.dtype != np.float32:
            raise SettingError(f"'{name}' is a float32 array of shape {shape}, got {found.dtype} of {found.shape}")


def initial_memory(xp: Any, params: Params, people: int) -> Memory:
    """LSTM state before the first step."""
    size = params["function.weight"].shape[0]
    return Memory(xp.zeros((people, size), xp.float32), xp.zeros((people, size), xp.float32))


def forward(xp: Any, params: Params, x: Array, memory: Memory) -> tuple[Heads, Memory]:
    """One step of the network on inputs `x` [B, D]."""
    hidden = xp.maximum(_layer(params, "encode1", x), 0)
    hidden = xp.maximum(_layer(params, "encode2", hidden), 0)
    gates = _layer(params, "gates", xp.concatenate([hidden, memory.hidden], axis=1))
    update, forget, out, new = xp.split(gates, 4, axis=1)
    cell = _sigmoid(xp, forget) * memory.cell + _sigmoid(xp, update) * xp.tanh(new)
    state = _sigmoid(xp, out) * xp.tanh(cell)
    value = _sigmoid(xp, _layer(params, "value", state)[:, 0])
    return Heads(_layer(params, "function", state), _layer(params, "argument", state), value), Memory(state, cell)


def _layer(params: Params, name: str, x: Array) -> Array:
    return x @ params[f"{name}.weight"] + params[f"{name}.bias"]


def _sigmoid(xp: Any, x: Array) -> Array:
    return 0.5 * (xp.tanh(0.5 * x) + 1)


_LOGIT_BOUND = 25.0
_MASKED = -1e9


def log_policies(xp: Any, heads: Heads, legal: Array, membership: Array) -> tuple[Array, Array]:
    """log π_f [B, G] over functions with a legal action, and log π_x [B, A] over the legal arguments of each.

    `legal` [B, A] and `membership` [A, G] (which action belongs to which function) are 0 or 1. Illegal actions get a
    log probability of −10⁹.
    """
    possible = legal @ membership > 0
    functions = xp.where(possible, _bounded(xp, heads.functions), _MASKED)
    functions = functions - _log_sum(xp, functions)
    weights = xp.exp(_bounded(xp, heads.arguments)) * legal
    total = (weights @ membership) @ membership.T
    arguments = xp.where(legal > 0, xp.log(xp.maximum(weights, 1e-30)) - xp.log(xp.maximum(total, 1e-30)), _MASKED)
    return functions, arguments


def _bounded(xp: Any, logits: Array) -> Array:
    """Logits between ±25, so that the sums over a function's arguments neither overflow nor vanish."""
    return _LOGIT_BOUND * xp.tanh(logits / _LOGIT_BOUND)


def _log_sum(xp: Any, logits: Array) -> Array:
    top = logits.max(axis=1, keepdims=True)
    return top + xp.log(xp.exp(logits - top).sum(axis=1, keepdims=True))
