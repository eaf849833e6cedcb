"""An ensemble of small networks, held in stacked arrays and run side by side.

Written once over an array namespace: `forward(numpy, …)` runs in planning, `forward(jax.numpy, …)` is differentiated
in fitting. E members, D inputs, H units in a layer.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

Array = Any
"""A numpy or jax array."""
Params = dict[str, Array]


def initial_params(
    inputs: int, members: int, hidden: Sequence[int], random: np.random.Generator
) -> dict[str, npt.NDArray[np.float32]]:
    """Random weights [D, E, H] of the first layer and [E, H, H'] of the others; all say 0 at first."""
    widths = [inputs, *hidden, 1]
    params: dict[str, npt.NDArray[np.float32]] = {}
    for i, (below, above) in enumerate(pairwise(widths)):
        shape = (below, members, above) if i == 0 else (members, below, above)
        scale = np.sqrt(2 / below) if i < len(hidden) else 0.0
        params[f"{i}.weight"] = (random.standard_normal(shape) * scale).astype(np.float32)
        params[f"{i}.bias"] = np.zeros((members, 1, above), np.float32)
    return params


def forward(xp: Any, params: Params, x: Array) -> Array:
    """The logits [E, n] that all members give inputs `x` [n, D]."""
    first = params["0.weight"]
    inputs, members, width = first.shape
    hidden = x @ first.reshape(inputs, -1)  # one product for all members
    hidden = hidden.reshape(-1, members, width).swapaxes(0, 1) + params["0.bias"]
    for i in range(1, len(params) // 2):
        hidden = xp.maximum(hidden, 0) @ params[f"{i}.weight"] + params[f"{i}.bias"]
    return hidden[:, :, 0]
