"""Validation of an agent's arrays and facts that were read from a file."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from counterplan.agent.network import NetworkConfig
from counterplan.problem import Encoding, Problem
from counterplan.problem.transitions import Floats
from counterplan.storage.arrays import ArraySpec, require_integer, validate_arrays


def read_config(facts: Mapping[str, Any]) -> NetworkConfig:
    """The network configuration in `facts`; ValueError if a size is missing or not a positive integer."""
    config = NetworkConfig(**facts)
    for name in ("encoder", "controller"):
        require_integer(facts, name, low=1)
    return config


def read_encoding(problem: Problem, cuts: Any) -> Encoding:
    """The encoding with these cut points per feature; ValueError if they do not fit the features of `problem`."""
    if not isinstance(cuts, list) or len(cuts) != len(problem.features):
        raise ValueError("the encoding has another number of features than the problem")
    read = tuple(tuple(float(cut) for cut in places) for places in cuts)
    for feature, places in zip(problem.features, read, strict=True):
        increasing = all(low < high for low, high in itertools.pairwise(places))
        if any(map(math.isnan, places)) or not increasing or (places and not feature.is_number):
            raise ValueError(f"the cut points of '{feature.name}' are invalid")
    return Encoding(problem.features, read)


def read_scales(problem: Problem, mean: Any, spread: Any) -> tuple[Floats, Floats]:
    """Mean and spread [N] of the numeric features; ValueError if they are not finite, or a spread is not positive."""
    count = sum(feature.is_number for feature in problem.features)
    arrays = {"mean": np.array(mean, float), "spread": np.array(spread, float)}
    validate_arrays(arrays, {name: ArraySpec(float, (count,), finite=True) for name in arrays})
    if (arrays["spread"] <= 0).any():
        raise ValueError("a spread is not positive")
    return arrays["mean"], arrays["spread"]


def validate_params(params: Mapping[str, Any], layers: Mapping[str, tuple[int, int]]) -> None:
    """Raise ValueError unless `params` are finite weights of `layers`, see `layer_shapes`."""
    spec = {f"{name}.weight": ArraySpec(np.float32, shape, finite=True) for name, shape in layers.items()}
    spec |= {f"{name}.bias": ArraySpec(np.float32, shape[1:], finite=True) for name, shape in layers.items()}
    validate_arrays(params, spec)
