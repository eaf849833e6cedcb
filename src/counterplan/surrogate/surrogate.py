"""A surrogate: the probability that the black box favours a state, and its serialization."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from counterplan.errors import NotFittedError, SettingError
from counterplan.problem import Problem
from counterplan.problem.targets import Target, TargetLike, read_target
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.problem.values import describe_target
from counterplan.search.change_sets import Hints
from counterplan.search.odds import sigmoid as sigmoid
from counterplan.search.orders import NO_ACTION
from counterplan.storage.arrays import require_integer, require_number, with_prefix
from counterplan.storage.serialization import artifact_files, load_artifact, save_artifact
from counterplan.surrogate.belief import ErrorModel
from counterplan.surrogate.features import StateFeatures
from counterplan.surrogate.networks import Params, check_params, forward
from counterplan.surrogate.score_link import ScoreLink
from counterplan.surrogate.trees import Trees
from counterplan.surrogate.validation import read_numbers, validate_arrays_of, validate_features

PARTS = ("networks", "trees", "both")
BATCH_SIZE = 2048
"""States evaluated at a time, so that the activations stay in the processor's cache."""


@dataclass(frozen=True)
class Calibration:
    """Platt scaling of the raw logits: ``networks * mean of the networks + trees * sum of the trees + shift``.

    Parameters
    ----------
    networks, trees : float
        Weights of the two kinds of models.
    shift : float, default=0.0
        Intercept.
    """

    networks: float
    trees: float
    shift: float = 0.0


UNCALIBRATED = {"networks": Calibration(1.0, 0.0), "trees": Calibration(0.0, 1.0), "both": Calibration(0.5, 0.5)}


@dataclass(frozen=True)
class Surrogate:
    """A model of a black box, which predicts without queries whether states are favourable.

    It predicts by networks, by trees, or by both. A surrogate depends on the features and the outcome of its problem
    only; `with_problem` binds it to another problem over the same ones.

    Parameters
    ----------
    problem : Problem
        The problem it serves.
    state_features : StateFeatures
        Input features of the networks.
    networks : dict of str to ndarray
        Weights of an ensemble of E networks, float32.
    trees : Trees
        Boosted trees, the mean of `forests` models.
    calibrations : mapping of str to Calibration
        For each of "networks", "trees" and "both", how raw logits are combined.
    parts : {"both", "networks", "trees"}
        The models that predict.
    hints : Hints, optional
        Favourable states and plans that worked, known from active learning.
    folds : int, default=0
        Number of folds of the training data; network e and forest e were not fitted on fold e. 0 if there is no such
        guarantee.
    forests : int, default=0
        Number of boosted models that `trees` is the mean of; 0 if unknown.
    fold_features : tuple of int, optional
        Indices of the features whose values determine the fold of a state; default: all.
    errors : ErrorModel, optional
        Correlation of the errors about the states of one person.
    link : ScoreLink, optional
        Converts the model's scores to the units of `logit`, if the surrogate was fitted to scores.
    heads : mapping of frozenset of str to Surrogate, optional
        By target, other than the favourable outcomes of the problem: a surrogate for the problem with that target. A
        surrogate that was fitted with targets has one for each outcome.

    Raises
    ------
    SettingError
        If arrays do not belong together or to the problem.

    See Also
    --------
    counterplan.surrogate.fitting.fit : fit a surrogate to labelled states.
    counterplan.surrogate.active_learning.ActiveLearner : choose the states to label, too.

    Examples
    --------
    >>> from counterplan import LearningSettings, Recourse, benchmarks
    >>> german = benchmarks.load("german")
    >>> settings = LearningSettings(budget=100, scores=False)
    >>> recourse = Recourse(german.problem, german.model)
    >>> _ = recourse.fit(german.train, settings=settings, quality=False)
    >>> people = german.problem.read(german.test)
    >>> predicted = recourse.surrogate_.logit(people.states) > 0
    >>> bool((predicted == german.model.favourable(people.states)).mean() > 0.7)
    True
    """

    problem: Problem
    state_features: StateFeatures = field(repr=False)
    networks: Params = field(repr=False)
    trees: Trees = field(repr=False)
    calibrations: Mapping[str, Calibration] = field(default_factory=UNCALIBRATED.copy)
    parts: str = "both"
    hints: Hints | None = field(default=None, repr=False)
    folds: int = 0
    forests: int = 0
    fold_features: tuple[int, ...] = ()
    errors: ErrorModel | None = field(default=None, repr=False)
    link: ScoreLink | None = field(default=None, repr=False)
    heads: Mapping[Target, Surrogate] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if self.parts not in PARTS:
            raise SettingError(f"a surrogate is made of {', '.join(PARTS)}; there is no '{self.parts}'")
        if self.calibrations.keys() != set(PARTS):
            raise SettingError(f"a surrogate has calibrations for {', '.join(PARTS)}")
        features = len(self.problem.features)
        object.__setattr__(self, "fold_features", self.fold_features or tuple(range(features)))
        if min(self.fold_features, default=0) < 0 or max(self.fold_features, default=0) >= features:
            raise SettingError("'fold_features' are indices of features of the problem")
        if self.errors is not None and len(self.errors.scale) != features:
            raise SettingError("the error model has other features than the problem")
        if len(self.state_features.features) != features or max(self.trees.features, default=0) >= features:
            raise SettingError("the surrogate has other features than its problem")
        check_params(self.networks, len(self.state_features))
        for name, count in (("folds", self.folds), ("forests", self.forests)):
            if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 0:
                raise SettingError(f"'{name}' is a whole number, 0 or more, got {count!r}")
        if self.forests and len(self.trees.values) % self.forests:
            raise SettingError(f"{len(self.trees.values)} trees are not {self.forests} forests of one size")
        if self.hints is not None:
            _check_hints(self.hints, features, len(self.problem.transitions))
        for target, head in self.heads.items():
            if head.problem.fingerprint != self.problem.with_target(target).fingerprint or head.heads:
                raise SettingError(
                    f"the head for {describe_target(sorted(target))} belongs to another problem or target"
                )

    @property
    def targets(self) -> tuple[Target, ...]:
        """The targets that the surrogate knows, the favourable outcomes of its problem first."""
        return (self.problem.outcome.favourable, *self.heads)

    def for_target(self, target: TargetLike) -> Surrogate:
        """Return the surrogate of a target, bound to `problem.with_target(target)`.

        Parameters
        ----------
        target : str, number, bool or set of these
            One outcome, or a set of outcomes.

        Returns
        -------
        Surrogate
            The surrogate itself if these are the favourable outcomes of its problem.

        Raises
        ------
        NotFittedError
            If the surrogate does not know the target.

        Examples
        --------
        >>> from counterplan import LearningSettings, Recourse, benchmarks
        >>> german = benchmarks.load("german")
        >>> settings = LearningSettings(budget=100, scores=False)
        >>> recourse = Recourse(german.problem, german.model)
        >>> _ = recourse.fit(german.train, settings=settings, quality=False)
        >>> recourse.surrogate_.for_target("good") is recourse.surrogate_
        True
        """
        chosen = read_target(self.problem.outcome, target)
        if chosen == self.problem.outcome.favourable:
            return self
        if chosen not in self.heads:
            known = "; ".join(describe_target(sorted(one)) for one in self.targets)
            wanted = describe_target(sorted(chosen))
            raise NotFittedError(
                f"the surrogate was fitted for the targets {known}, not for {wanted}: call fit(people, target=…) "
                "or run 'counterplan fit --target' with it"
            )
        return self.heads[chosen]

    def with_parts(self, parts: str) -> Surrogate:
        """The same surrogate with other `parts`: "networks", "trees" or "both".

        Parameters
        ----------
        parts : {"networks", "trees", "both"}
            The parts to predict with.

        Returns
        -------
        Surrogate
            A surrogate that predicts with these parts only.
        """
        return replace(self, parts=parts)

    @property
    def query_fingerprint(self) -> str:
        """Fingerprint of everything the surrogate depends on: the features and the outcome of its problem."""
        return self.problem.query_fingerprint

    def with_problem(self, problem: Problem) -> Surrogate:
        """Bind the surrogate to another problem over the same features and outcome.

        A surrogate models the black box, so it is valid for any costs, preconditions, actions and `max_actions`. Known
        favourable states stay as hints; known plans do so only if both problems have the same
        actions and the plans are not too long.

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

        Examples
        --------
        >>> from counterplan import LearningSettings, Problem, Recourse, benchmarks
        >>> german = benchmarks.load("german")
        >>> settings = LearningSettings(budget=100, scores=False)
        >>> recourse = Recourse(german.problem, german.model)
        >>> _ = recourse.fit(german.train, settings=settings, quality=False)
        >>> longer = Problem.from_dict(german.problem.to_dict() | {"max_actions": 6})
        >>> recourse.surrogate_.with_problem(longer).problem.max_actions
        6
        """
        if problem.fingerprint == self.problem.fingerprint:
            return self
        if difference := _difference(self.problem, problem):
            raise SettingError(
                f"the surrogate was fitted for another problem ({self.problem.name}), which differs "
                f"from {problem.name} in {difference}; fit one for {problem.name}"
            )
        hints = self.hints
        if hints is not None:
            same = problem.transitions.actions == self.problem.transitions.actions
            hints = Hints(hints[0], _resized(hints[1] if same else hints[1][:0], problem.max_actions))
        state_features = replace(self.state_features, features=problem.features)
        heads = {target: head.with_problem(problem.with_target(target)) for target, head in self.heads.items()}
        return replace(self, problem=problem, state_features=state_features, hints=hints, heads=heads)

    def __call__(self, states: Floats, target: TargetLike | None = None) -> Floats:
        """The probability [n] that `states` [n, F] are favourable, or have the outcome `target`."""
        return sigmoid(self.logit(states, target))

    def logit(self, states: Floats, target: TargetLike | None = None) -> Floats:
        """The calibrated logit [n] of `states` [n, F], which ranks states also where probabilities saturate.

        Parameters
        ----------
        states : array of shape [n, F]
            The states.
        target : str, number, bool or set of these, optional
            A target; see `for_target`. Default: the favourable outcomes of the problem.

        Returns
        -------
        array of shape [n]
            Logits.

        Examples
        --------
        >>> from counterplan import LearningSettings, Recourse, benchmarks
        >>> german = benchmarks.load("german")
        >>> settings = LearningSettings(budget=100, scores=False)
        >>> recourse = Recourse(german.problem, german.model)
        >>> _ = recourse.fit(german.train, settings=settings, quality=False)
        >>> people = german.problem.read(german.refused_test)
        >>> recourse.surrogate_.logit(people.states).shape == (len(people),)
        True
        """
        if target is not None and (head := self.for_target(target)) is not self:
            return head.logit(states)
        weights = self.calibrations[self.parts]
        result = np.full(len(states), weights.shift)
        for first in range(0, len(states), BATCH_SIZE):
            batch = slice(first, first + BATCH_SIZE)
            if weights.networks:
                result[batch] += weights.networks * self.members(states[batch]).mean(axis=0, dtype=float)
            if weights.trees:
                result[batch] += weights.trees * self.trees(states[batch]).astype(float)
        return result

    def held_out(self, states: Floats) -> tuple[Ints, Floats]:
        """Out-of-fold predictions: the rows [k] of `states` [n, F] that have one, and their logits [k].

        Each is made by the network and the forest that were not fitted on the fold of that state.

        Parameters
        ----------
        states : array of shape [n, F]
            The states.

        Returns
        -------
        rows : int array of shape [k]
            Indices of the states that have a prediction.
        logits : array of shape [k]
            Their out-of-fold logits.
        """
        if not self.folds:
            return np.empty(0, np.intp), np.empty(0)
        weights, fold = self.calibrations[self.parts], folds_of(states[:, self.fold_features], self.folds)
        members = self.networks["0.bias"].shape[0]
        covered = min(members if weights.networks else self.folds, self.forests if weights.trees else self.folds)
        rows = np.flatnonzero(fold < covered)
        logits = np.full(len(rows), weights.shift)
        for first in range(0, len(rows), BATCH_SIZE):
            batch = rows[first : first + BATCH_SIZE]
            place, model = slice(first, first + len(batch)), (fold[batch], np.arange(len(batch)))
            if weights.networks:
                logits[place] += weights.networks * self.members(states[batch])[model]
            if weights.trees:
                logits[place] += weights.trees * self.trees.per_forest(states[batch], self.forests)[model]
        return rows, logits

    def members(self, states: Floats) -> Floats:
        """The raw logits [E, n] of each network for `states` [n, F].

        Parameters
        ----------
        states : array of shape [n, F]
            The states.

        Returns
        -------
        array of shape [E, n]
            Logits.
        """
        logits: Floats = forward(np, self.networks, self.state_features(states))
        return logits


def _resized(plans: Ints, width: int) -> Ints:
    """Those of `plans` [n, T] that have at most `width` actions, [k, width] padded with NO_ACTION."""
    plans = plans[(plans[:, width:] == NO_ACTION).all(axis=1)][:, :width]
    return np.pad(plans, ((0, 0), (0, width - plans.shape[1])), constant_values=NO_ACTION)


def _check_hints(hints: Hints, features: int, actions: int) -> None:
    """Raise SettingError unless hints are states of `features` features and plans of `actions` actions."""
    anchors, examples = hints
    if anchors.ndim != 2 or anchors.shape[1] != features or anchors.dtype != float:
        raise SettingError("the favourable states among the hints have other features than the problem")
    whole = examples.ndim == 2 and examples.shape[1] > 0 and np.issubdtype(examples.dtype, np.signedinteger)
    if not whole or (examples < NO_ACTION).any() or (examples >= actions).any():
        raise SettingError("the plans among the hints have other actions than the problem")


def _difference(one: Problem, other: Problem) -> str:
    """Name the first part of two problems that a model's answers depend on and that differs; empty if none does."""
    if [feature.name for feature in one.features] != [feature.name for feature in other.features]:
        return "the names or the order of its features"
    for feature, counterpart in zip(one.features, other.features, strict=True):
        parts = [(f.kind, f.integer, f.natives, f.missing) for f in (feature, counterpart)]
        if parts[0] != parts[1]:
            return f"the feature '{feature.name}'"
    return "" if one.query_fingerprint == other.query_fingerprint else "the outcome"


def folds_of(states: Floats, folds: int) -> Ints:
    """The fold [n] of each row of `states` [n, k], a hash of its numbers: equal rows share one."""
    return np.array([zlib.crc32(row.tobytes()) % folds for row in np.ascontiguousarray(states + 0.0)], np.intp)


def reliability(surrogate: Surrogate, states: Floats, answers: Bools, bins: int = 10) -> list[tuple[float, float, int]]:
    """Reliability diagram of a surrogate.

    Parameters
    ----------
    surrogate : Surrogate
        The surrogate.
    states : ndarray of shape (n, F)
        States that it was not fitted on.
    answers : ndarray of shape (n,)
        Whether the black box favours them.
    bins : int, default=10
        Number of equal intervals of the probability.

    Returns
    -------
    list of tuple (float, float, int)
        For each interval that is not empty: mean probability, share of favourable answers, number of states.
    """
    return reliability_of(surrogate(states), answers, bins)


def reliability_of(probability: Floats, answers: Bools, bins: int = 10) -> list[tuple[float, float, int]]:
    """The reliability diagram of given probabilities [n]; see `reliability`."""
    place = np.minimum((probability * bins).astype(int), bins - 1)
    inside = [np.flatnonzero(place == i) for i in range(bins)]
    return [(float(probability[i].mean()), float(np.asarray(answers)[i].mean()), len(i)) for i in inside if len(i)]


WHAT = "surrogate"
WEIGHTS, FACTS = artifact_files(WHAT)
VERSION = 1
_HINTS = ("hints.anchors", "hints.examples")


def to_arrays(surrogate: Surrogate) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arrays and plain facts that `from_arrays` reads back."""
    arrays = {f"networks.{name}": np.asarray(value) for name, value in surrogate.networks.items()}
    arrays |= {f"trees.{name}": np.ascontiguousarray(value) for name, value in surrogate.trees.to_arrays().items()}
    if surrogate.hints is not None:
        arrays |= {key: np.ascontiguousarray(hint) for key, hint in zip(_HINTS, surrogate.hints, strict=True)}
    facts = {
        "parts": surrogate.parts,
        "view": surrogate.state_features.to_data(),
        "folds": surrogate.folds,
        "forests": surrogate.forests,
        "fold_features": list(surrogate.fold_features),
        "errors": None if surrogate.errors is None else asdict(surrogate.errors),
        "link": None if surrogate.link is None else asdict(surrogate.link),
        "calibrations": {parts: asdict(calibration) for parts, calibration in surrogate.calibrations.items()},
    }
    heads = []
    for number, (target, head) in enumerate(surrogate.heads.items()):
        parts, of_head = to_arrays(head)
        arrays |= {f"heads.{number}.{name}": value for name, value in parts.items()}
        heads.append({"target": sorted(target), **of_head})
    return arrays, facts | ({"heads": heads} if heads else {})


def from_arrays(problem: Problem, arrays: dict[str, Any], facts: dict[str, Any]) -> Surrogate:
    """The inverse of `to_arrays`; ValueError, KeyError or TypeError if the arrays or facts are invalid."""
    if facts["parts"] not in PARTS:
        raise ValueError(f"'parts' should be one of {', '.join(PARTS)}")
    heads = _read_heads(problem, arrays, facts.get("heads", []))
    arrays = {name: value for name, value in arrays.items() if not (heads and name.startswith("heads."))}
    state_features = StateFeatures.from_data(problem, facts["view"])
    validate_features(state_features)
    validate_arrays_of(problem, state_features, arrays, facts)
    return Surrogate(
        problem,
        state_features,
        with_prefix(arrays, "networks."),
        Trees.from_arrays(with_prefix(arrays, "trees.")),
        {parts: Calibration(**read_numbers(facts["calibrations"][parts])) for parts in PARTS},
        facts["parts"],
        Hints(*(arrays[key] for key in _HINTS)) if _HINTS[0] in arrays else None,
        facts.get("folds", 0),
        facts.get("forests", 0),
        tuple(require_integer({"feature": index}, "feature") for index in facts.get("fold_features", ())),
        None if facts.get("errors") is None else _read_errors(facts["errors"]),
        None if facts.get("link") is None else _read_link(facts["link"]),
        heads,
    )


def _read_heads(problem: Problem, arrays: dict[str, Any], facts: Any) -> dict[Target, Surrogate]:
    """The heads of a surrogate, by target; a head has no heads."""
    if not isinstance(facts, list) or any(not isinstance(head, dict) or "heads" in head for head in facts):
        raise ValueError("the heads of the surrogate are invalid")
    heads = {}
    for number, head in enumerate(facts):
        if not isinstance(head["target"], list) or not all(isinstance(value, str) for value in head["target"]):
            raise ValueError("the target of a head is invalid")
        target = frozenset(head["target"])
        heads[target] = from_arrays(problem.with_target(target), with_prefix(arrays, f"heads.{number}."), head)
    return heads


def _read_errors(facts: Any) -> ErrorModel:
    if not isinstance(facts, dict) or not isinstance(facts.get("scale"), list):
        raise ValueError("the error model is invalid")
    numbers = read_numbers({name: value for name, value in facts.items() if name != "scale"})
    scale = tuple(require_number({"scale": value}, "scale") for value in facts["scale"])
    return ErrorModel(**numbers, scale=scale)


def _read_link(facts: Any) -> ScoreLink:
    if not isinstance(facts, dict):
        raise ValueError("the link of scores is invalid")
    probability = facts["probability"]
    if not isinstance(probability, bool):
        raise ValueError("'probability' should be true or false")
    numbers = read_numbers({name: value for name, value in facts.items() if name != "probability"})
    return ScoreLink(**numbers, probability=probability)


def save_surrogate(surrogate: Surrogate, folder: Path) -> None:
    """Save a surrogate to `folder`, as ``surrogate.safetensors`` and ``surrogate.json``.

    Parameters
    ----------
    surrogate : Surrogate
        The surrogate.
    folder : Path
        An existing folder.
    """
    save_artifact(folder, WHAT, VERSION, surrogate.problem, *to_arrays(surrogate))


def load_surrogate(folder: Path, problem: Problem) -> Surrogate:
    """Load a surrogate that `save_surrogate` wrote.

    Parameters
    ----------
    folder : Path
        The folder.
    problem : Problem
        The problem that it was saved with; see `Surrogate.with_problem` for others.

    Returns
    -------
    Surrogate
        The surrogate; its arrays are known to fit together.

    Raises
    ------
    StorageError
        If the files are missing, damaged, inconsistent, or of a surrogate for another problem.
    """
    return load_artifact(folder, WHAT, VERSION, problem, partial(from_arrays, problem))
