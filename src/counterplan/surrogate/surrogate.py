"""A surrogate: how likely the black box favours a state, learned from its answers; and how it is kept on disk."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy

from counterplan.errors import PlanError
from counterplan.files import write_whole
from counterplan.problem import Problem
from counterplan.problem.transitions import Bools, Floats
from counterplan.surrogate.networks import Params, forward
from counterplan.surrogate.trees import Trees
from counterplan.surrogate.view import View

PARTS = ("networks", "trees", "both")
TOGETHER = 2048
"""States evaluated at the same time: what lies between the layers should stay in the processor's cache."""


@dataclass(frozen=True)
class Calibration:
    """What makes one calibrated logit of raw ones: how much networks and trees weigh, and a shift."""

    networks: float
    trees: float
    shift: float = 0.0


UNCALIBRATED = {"networks": Calibration(1.0, 0.0), "trees": Calibration(0.0, 1.0), "both": Calibration(0.5, 0.5)}


@dataclass(frozen=True)
class Surrogate:
    """The chance that a black box favours a state of `problem`, by networks, by trees, or by both."""

    problem: Problem
    view: View = field(repr=False)
    networks: Params = field(repr=False)
    trees: Trees = field(repr=False)
    calibrations: Mapping[str, Calibration] = field(default_factory=UNCALIBRATED.copy)
    parts: str = "both"

    def __post_init__(self) -> None:
        if self.parts not in PARTS:
            raise PlanError(f"a surrogate is made of {', '.join(PARTS)}; there is no '{self.parts}'")

    def with_parts(self, parts: str) -> Surrogate:
        """The same surrogate that listens to "networks", "trees" or "both"."""
        return replace(self, parts=parts)

    def __call__(self, states: Floats) -> Floats:
        """The chance [n] that `states` [n, F] are favourable."""
        return sigmoid(self.logit(states))

    def logit(self, states: Floats) -> Floats:
        """The calibrated mean logit [n] of `states` [n, F], which tells states apart where chances are all 0 or 1."""
        weigh = self.calibrations[self.parts]
        result = np.full(len(states), weigh.shift)
        for first in range(0, len(states), TOGETHER):
            some = slice(first, first + TOGETHER)
            if weigh.networks:
                result[some] += weigh.networks * self.members(states[some]).mean(axis=0, dtype=float)
            if weigh.trees:
                result[some] += weigh.trees * self.trees(states[some]).astype(float)
        return result

    def members(self, states: Floats) -> Floats:
        """The raw logits [E, n] that each of the networks gives `states` [n, F]."""
        logits: Floats = forward(np, self.networks, self.view(states))
        return logits


def sigmoid(logits: Floats) -> Floats:
    """Chances of logits."""
    chance: Floats = 0.5 * (np.tanh(0.5 * logits) + 1)
    return chance


def reliability(surrogate: Surrogate, states: Floats, answers: Bools, bins: int = 10) -> list[tuple[float, float, int]]:
    """For `bins` equal intervals of the chance that hold any of `states` [n, F]: mean chance, share favourable, count.

    `answers` [n] are what the black box says of them.
    """
    chance = surrogate(states)
    place = np.minimum((chance * bins).astype(int), bins - 1)
    inside = [np.flatnonzero(place == i) for i in range(bins)]
    return [(float(chance[i].mean()), float(np.asarray(answers)[i].mean()), len(i)) for i in inside if len(i)]


WEIGHTS = "surrogate.safetensors"
FACTS = "surrogate.json"
VERSION = 1


def to_arrays(surrogate: Surrogate) -> tuple[dict[str, Any], dict[str, Any]]:
    """A surrogate as arrays and plain facts."""
    arrays = {f"networks.{name}": np.asarray(value) for name, value in surrogate.networks.items()}
    arrays |= {f"trees.{name}": np.ascontiguousarray(value) for name, value in surrogate.trees.to_arrays().items()}
    facts = {
        "parts": surrogate.parts,
        "view": surrogate.view.to_data(),
        "calibrations": {parts: asdict(calibration) for parts, calibration in surrogate.calibrations.items()},
    }
    return arrays, facts


def from_arrays(problem: Problem, arrays: dict[str, Any], facts: dict[str, Any]) -> Surrogate:
    """The inverse of `to_arrays`."""
    return Surrogate(
        problem,
        View.from_data(problem, facts["view"]),
        _named(arrays, "networks."),
        Trees.from_arrays(_named(arrays, "trees.")),
        {parts: Calibration(**facts["calibrations"][parts]) for parts in PARTS},
        facts["parts"],
    )


def save_surrogate(surrogate: Surrogate, folder: Path) -> None:
    """Keep a surrogate in `folder`: arrays in safetensors, all else in JSON."""
    arrays, facts = to_arrays(surrogate)
    weights = safetensors.numpy.save(arrays)
    facts = {"counterplan_surrogate": VERSION, "problem": surrogate.problem.fingerprint, **facts}
    facts["check"] = _check(facts, weights)
    write_whole(folder / WEIGHTS, weights)
    write_whole(folder / FACTS, json.dumps(facts, indent=1))


def _check(facts: dict[str, Any], weights: bytes) -> str:
    """A hash of everything that is kept."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode() + weights).hexdigest()


def load_surrogate(folder: Path, problem: Problem) -> Surrogate:
    """The surrogate kept in `folder`; a PlanError says so if it is damaged, or was learned for another problem."""
    path = folder / FACTS
    try:
        facts = json.loads(path.read_text())
        weights = (folder / WEIGHTS).read_bytes()
    except FileNotFoundError as error:
        raise PlanError(f"{error.filename}: there is no such file; learn a surrogate first") from None
    except (OSError, ValueError) as error:
        raise PlanError(f"{path}: cannot be read ({error}); learn the surrogate again") from None
    version = facts.get("counterplan_surrogate") if isinstance(facts, dict) else None
    if not isinstance(version, int) or version < 1:
        raise PlanError(f"{path}: this is not a surrogate of counterplan")
    if version > VERSION:
        raise PlanError(f"{path}: written by a newer counterplan (version {version}; this one reads {VERSION})")
    if facts.get("problem") != problem.fingerprint:
        raise PlanError(f"{path}: the surrogate was learned for another problem than {problem.name}; learn one for it")
    if facts.pop("check", None) != _check(facts, weights):
        raise PlanError(f"{path}, {WEIGHTS}: damaged or changed since they were written; learn the surrogate again")
    try:
        return from_arrays(problem, safetensors.numpy.load(weights), facts)
    except (KeyError, TypeError, ValueError, safetensors.SafetensorError) as error:
        raise PlanError(f"{path}: damaged ({error}); learn the surrogate again") from None


def _named(arrays: dict[str, Any], prefix: str) -> dict[str, Any]:
    return {name.removeprefix(prefix): value for name, value in arrays.items() if name.startswith(prefix)}
