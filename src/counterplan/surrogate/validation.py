"""Validation of a surrogate's arrays and facts that were read from a file."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from counterplan.problem import Problem
from counterplan.storage.arrays import ArraySpec, require_integer, require_number, validate_arrays, with_prefix
from counterplan.surrogate.features import StateFeatures
from counterplan.surrogate.trees import LEAVES


def validate_arrays_of(
    problem: Problem, features: StateFeatures, arrays: Mapping[str, Any], facts: Mapping[str, Any]
) -> None:
    """Raise ValueError unless `arrays` and `facts` make a surrogate for `problem` that can predict."""
    networks = network_spec(len(features), with_prefix(arrays, "networks."))
    trees = tree_spec(problem, with_prefix(arrays, "trees."))
    spec = {f"networks.{name}": expected for name, expected in networks.items()}
    spec |= {f"trees.{name}": expected for name, expected in trees.items()}
    if any(name.startswith("hints.") for name in arrays):
        width, actions = len(problem.features), len(problem.transitions)
        spec["hints.anchors"] = ArraySpec(float, ("*", width), nan=True)
        spec["hints.examples"] = ArraySpec(np.int64, ("*", problem.max_actions), low=-1, high=actions - 1)
    sizes = validate_arrays(arrays, spec)
    if not sizes["members"] or not sizes["trees"]:
        raise ValueError("a surrogate needs a network and a tree")
    folds, forests = (require_integer(facts, name) if name in facts else 0 for name in ("folds", "forests"))
    if folds and (not forests or sizes["trees"] % forests):
        raise ValueError("the trees cannot be split into forests")


def read_numbers(facts: Mapping[str, Any]) -> dict[str, float]:
    """All entries of `facts`; ValueError unless they are finite numbers."""
    return {name: require_number(facts, name) for name in facts}


def validate_features(features: StateFeatures) -> None:
    """Raise ValueError unless scales are finite and cut points increase."""
    for feature, mean, spread, cuts in zip(
        features.features, features.mean, features.scale, features.cuts, strict=True
    ):
        increasing = all(low < high for low, high in itertools.pairwise(cuts))
        if not math.isfinite(mean) or not 0 < spread < math.inf:
            raise ValueError(f"the scale of '{feature.name}' is invalid")
        if any(map(math.isnan, cuts)) or not increasing or (cuts and not feature.is_number):
            raise ValueError(f"the cut points of '{feature.name}' are invalid")


def network_spec(inputs: int, networks: Mapping[str, Any]) -> dict[str, ArraySpec]:
    """The arrays of networks with as many layers as `networks` has, all with the same number of members."""
    layers = len(networks) // 2
    if not layers:
        raise ValueError("the networks are missing")
    spec: dict[str, ArraySpec] = {}
    for i in range(layers):
        above: int | str = 1 if i == layers - 1 else f"width {i}"
        shape: tuple[int | str, ...] = (inputs, "members", above) if i == 0 else ("members", f"width {i - 1}", above)
        spec[f"{i}.weight"] = ArraySpec(np.float32, shape, finite=True)
        spec[f"{i}.bias"] = ArraySpec(np.float32, ("members", 1, above), finite=True)
    return spec


def tree_spec(problem: Problem, trees: Mapping[str, Any]) -> dict[str, ArraySpec]:
    """The arrays of trees that test the features named in `trees`, which have the names of `Trees.to_arrays`."""
    spec = {"values": ArraySpec(np.float32, ("trees", LEAVES), finite=True)}
    for name in trees:
        index = name.removesuffix(".cuts")
        if name.endswith(".cuts"):
            if not index.isascii() or not index.isdecimal() or str(int(index)) != index:
                raise ValueError(f"there is an unknown array 'trees.{name}'")
            if int(index) >= len(problem.features):
                raise ValueError(f"the trees test the feature {index}, which the problem does not have")
            if trees[name].ndim != 1:
                raise ValueError(f"'trees.{name}' should have one dimension")
            cuts = len(trees[name])
            spec[f"{index}.cuts"] = ArraySpec(np.float32, (cuts,))
            spec[f"{index}.left"] = ArraySpec(np.uint16, (cuts + 1, "trees"))
    return spec
