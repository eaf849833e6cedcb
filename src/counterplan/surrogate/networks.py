"""An ensemble of small networks, stored in stacked arrays and evaluated together.

Written once over an array namespace: `forward(numpy, …)` runs in planning, `forward(jax.numpy, …)` is differentiated
in fitting. E members, D inputs, H units in a layer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from counterplan.errors import SettingError

Array = Any
"""A numpy or jax array."""
Params = dict[str, Array]


def initial_params(
    inputs: int, members: int, hidden: Sequence[int], random: np.random.Generator
) -> dict[str, npt.NDArray[np.float32]]:
    """Random weights [D, E, H] of the first layer and [E, H, H'] of the others; the last layer starts at 0."""
    widths = [inputs, *hidden, 1]
    params: dict[str, npt.NDArray[np.float32]] = {}
    for i, (below, above) in enumerate(pairwise(widths)):
        shape = (below, members, above) if i == 0 else (members, below, above)
        scale = np.sqrt(2 / below) if i < len(hidden) else 0.0
        params[f"{i}.weight"] = (random.standard_normal(shape) * scale).astype(np.float32)
        params[f"{i}.bias"] = np.zeros((members, 1, above), np.float32)
    return params


def check_params(params: Mapping[str, Array], inputs: int) -> None:
    """Raise SettingError unless `params` are the layers of an ensemble with `inputs` inputs and one output."""
    layers = len(params) // 2
    names = [f"{i}.{kind}" for i in range(layers) for kind in ("weight", "bias")]
    if not params or params.keys() != set(names):
        raise SettingError(f"the networks need weights and biases of their layers, got {', '.join(params) or 'none'}")
    for name in names:
        found = params[name]
        if found.ndim != 3 or not found.size or found.dtype != np.float32:
            raise SettingError(f"'{name}' is a float32 array with 3 axes, got {found.dtype} {found.shape}")
    _, members, width = params["0.weight"].shape
    below = inputs
    for i in range(layers):
        above = params[f"{i}.weight"].shape[2]
        weight = (below, members, width) if i == 0 else (members, below, above)
        for name, shape in ((f"{i}.weight", weight), (f"{i}.bias", (members, 1, above))):
            if params[name].shape != shape:
                raise SettingError(f"'{name}' has the shape {shape}, got {params[name].shape}")
        below = above
    if below != 1:
        raise SettingError(f"the networks have one output, got {below}")


def forward(xp: Any, params: Params, x: Array) -> Array:
    """The logits [E, n] of all members for inputs `x` [n, D]."""
    first = params["0.weight"]
    inputs, members, width = first.shape
    hidden = x @ first.reshape(inputs, -1)  # one product for all members
    hidden = hidden.reshape(-1, members, width).swapaxes(0, 1)
    hidden += params["0.bias"]  # in place where arrays are mutable
    for i in range(1, len(params) // 2):
        hidden = xp.maximum(hidden, 0) @ params[f"{i}.weight"]
        hidden += params[f"{i}.bias"]
    return hidden[:, :, 0]
