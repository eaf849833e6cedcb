"""A surrogate: how likely the black box favours a state, learned from its answers; and how it is kept on disk."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from counterplan.errors import PlanError, SettingError
from counterplan.problem import Problem
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.search.change_sets import Hints
from counterplan.storage.arrays import with_prefix
from counterplan.storage.serialization import artifact_files, load_artifact, save_artifact
from counterplan.surrogate.features import StateFeatures
from counterplan.surrogate.networks import Params, forward
from counterplan.surrogate.trees import Trees
from counterplan.surrogate.validation import read_numbers, validate_arrays_of, validate_features

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
    view: StateFeatures = field(repr=False)
    networks: Params = field(repr=False)
    trees: Trees = field(repr=False)
    calibrations: Mapping[str, Calibration] = field(default_factory=UNCALIBRATED.copy)
    parts: str = "both"
    hints: Hints | None = field(default=None, repr=False)
    """What was seen to work while it was learned."""
    folds: int = 0
    """Into how many parts answers fell; network e and forest e did not learn from part e. 0: nobody knows."""
    forests: int = 0
    """How many forests the trees are the mean of."""

    def __post_init__(self) -> None:
        if self.parts not in PARTS:
            raise PlanError(f"a surrogate is made of {', '.join(PARTS)}; there is no '{self.parts}'")

    def with_parts(self, parts: str) -> Surrogate:
        """The same surrogate that listens to "networks", "trees" or "both"."""
        return replace(self, parts=parts)

    @property
    def query_fingerprint(self) -> str:
        """Fingerprint of everything the surrogate depends on: the features and the outcome of its problem."""
        return self.problem.query_fingerprint

    def with_problem(self, problem: Problem) -> Surrogate:
        """Bind the surrogate to another problem over the same features and outcome.

        A surrogate models the black box, so it is valid for any costs, preconditions, actions and `max_actions`. Known
        favourable states stay as hints; known plans do so only if both problems have the same actions.

        Parameters
        ----------
        problem : Problem
            The problem to plan for.

        Returns
        -------
        Surrogate
            The same model with `problem` as its problem.

        Raises
        ------
        SettingError
            If a feature or the outcome differs.
        """
        if problem.fingerprint == self.problem.fingerprint:
            return self
        if difference := _difference(self.problem, problem):
            raise SettingError(
                f"the surrogate was fitted for another problem ({self.problem.name}), which differs "
                f"from {problem.name} in {difference}; fit one for {problem.name}"
            )
        hints = self.hints
        if hints is not None and problem.transitions.actions != self.problem.transitions.actions:
            hints = hints._replace(examples=np.empty((0, problem.max_actions), np.intp))
        return replace(self, problem=problem, view=replace(self.view, features=problem.features), hints=hints)

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

    def held_out(self, states: Floats) -> tuple[Ints, Floats]:
        """Those of `states` [n, F] of which something honest can be said (their rows [k]), and their logits [k].

        Each comes from the network and the forest that never learned from such a state, even if the others did.
        """
        if not self.folds:
            return np.empty(0, np.intp), np.empty(0)
        weigh, fold = self.calibrations[self.parts], folds_of(states, self.folds)
        members = self.networks["0.bias"].shape[0]
        judges = min(members if weigh.networks else self.folds, self.forests if weigh.trees else self.folds)
        rows = np.flatnonzero(fold < judges)
        logits = np.full(len(rows), weigh.shift)
        for first in range(0, len(rows), TOGETHER):
            some = rows[first : first + TOGETHER]
            part, judge = slice(first, first + len(some)), (fold[some], np.arange(len(some)))
            if weigh.networks:
                logits[part] += weigh.networks * self.members(states[some])[judge]
            if weigh.trees:
                logits[part] += weigh.trees * self.trees.apart(states[some], self.forests)[judge]
        return rows, logits

    def members(self, states: Floats) -> Floats:
        """The raw logits [E, n] that each of the networks gives `states` [n, F]."""
        logits: Floats = forward(np, self.networks, self.view(states))
        return logits


def _difference(one: Problem, other: Problem) -> str:
    """Name the first part of two problems that a model's answers depend on and that differs; empty if none does."""
    if [feature.name for feature in one.features] != [feature.name for feature in other.features]:
        return "the names or the order of its features"
    for mine, theirs in zip(one.features, other.features, strict=True):
        parts = [(f.kind, f.integer, f.natives, f.missing) for f in (mine, theirs)]
        if parts[0] != parts[1]:
            return f"the feature '{mine.name}'"
    return "" if one.query_fingerprint == other.query_fingerprint else "the outcome"


def sigmoid(logits: Floats) -> Floats:
    """Chances of logits."""
    chance: Floats = 0.5 * (np.tanh(0.5 * logits) + 1)
    return chance


def folds_of(states: Floats, folds: int) -> Ints:
    """The fold [n] of each of `states` [n, F], which follows from its numbers alone; equal states share one."""
    return np.array([zlib.crc32(row.tobytes()) % folds for row in states + 0.0], np.intp)


def reliability(surrogate: Surrogate, states: Floats, answers: Bools, bins: int = 10) -> list[tuple[float, float, int]]:
    """For `bins` equal intervals of the chance that hold any of `states` [n, F]: mean chance, share favourable, count.

    `answers` [n] are what the black box says of them.
    """
    return reliability_of(surrogate(states), answers, bins)


def reliability_of(chance: Floats, answers: Bools, bins: int = 10) -> list[tuple[float, float, int]]:
    """The same for chances [n] that are given."""
    place = np.minimum((chance * bins).astype(int), bins - 1)
    inside = [np.flatnonzero(place == i) for i in range(bins)]
    return [(float(chance[i].mean()), float(np.asarray(answers)[i].mean()), len(i)) for i in inside if len(i)]


WHAT = "surrogate"
WEIGHTS, FACTS = artifact_files(WHAT)
VERSION = 1


def to_arrays(surrogate: Surrogate) -> tuple[dict[str, Any], dict[str, Any]]:
    """A surrogate as arrays and plain facts."""
    arrays = {f"networks.{name}": np.asarray(value) for name, value in surrogate.networks.items()}
    arrays |= {f"trees.{name}": np.ascontiguousarray(value) for name, value in surrogate.trees.to_arrays().items()}
    if surrogate.hints is not None:
        arrays |= {f"hints.{name}": np.ascontiguousarray(value) for name, value in surrogate.hints._asdict().items()}
    facts = {
        "parts": surrogate.parts,
        "view": surrogate.view.to_data(),
        "folds": surrogate.folds,
        "forests": surrogate.forests,
        "calibrations": {parts: asdict(calibration) for parts, calibration in surrogate.calibrations.items()},
    }
    return arrays, facts


def from_arrays(problem: Problem, arrays: dict[str, Any], facts: dict[str, Any]) -> Surrogate:
    """The inverse of `to_arrays`; ValueError, KeyError or TypeError if the arrays or facts are invalid."""
    if facts["parts"] not in PARTS:
        raise ValueError(f"'parts' should be one of {', '.join(PARTS)}")
    view = StateFeatures.from_data(problem, facts["view"])
    validate_features(view)
    validate_arrays_of(problem, view, arrays, facts)
    hints = with_prefix(arrays, "hints.")
    return Surrogate(
        problem,
        view,
        with_prefix(arrays, "networks."),
        Trees.from_arrays(with_prefix(arrays, "trees.")),
        {parts: Calibration(**read_numbers(facts["calibrations"][parts])) for parts in PARTS},
        facts["parts"],
        Hints(**hints) if hints else None,
        facts.get("folds", 0),
        facts.get("forests", 0),
    )


def save_surrogate(surrogate: Surrogate, folder: Path) -> None:
    """Keep a surrogate in `folder`."""
    save_artifact(folder, WHAT, VERSION, surrogate.problem, *to_arrays(surrogate))


def load_surrogate(folder: Path, problem: Problem) -> Surrogate:
    """The surrogate kept in `folder`; a PlanError says so if it is damaged, or was learned for another problem."""
    return load_artifact(folder, WHAT, VERSION, problem, partial(from_arrays, problem))
