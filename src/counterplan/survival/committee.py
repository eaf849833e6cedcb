"""A committee of generic learners of the outcome: how probable a favourable decision is for *some* model of such data.

The members know nothing of the black box. They are a logistic regression, a forest, boosted trees and small networks,
fitted with scikit-learn to the outcomes of people, and stored and evaluated as plain arrays.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from counterplan.errors import SettingError
from counterplan.problem import Problem
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.storage.arrays import validate_arrays, with_prefix
from counterplan.surrogate.features import Single, StateFeatures
from counterplan.surrogate.networks import Params, forward
from counterplan.surrogate.trees import LEAVES, GrownTree, Trees, histogram_boosted, tree_inputs
from counterplan.surrogate.validation import network_spec, tree_spec, validate_features

MIN_OUTCOMES = 10
"""Least number of people with each outcome."""
BATCH_SIZE = 4096
"""States evaluated at a time, so that intermediate arrays stay in the processor's cache."""
_BATCH, _MAX_EPOCHS = 128, 100
"""Of the networks: rows in a minibatch, and passes over few rows."""
MAX_LOGIT = 6.0
"""Logits are clipped to this absolute value."""
_EDGE = 1e-3
"""Shares of a forest are at least this far from 0 and 1."""


@dataclass(frozen=True)
class CommitteeSettings:
    """Settings of `Committee.fit`.

    Parameters
    ----------
    max_rows : int, default=10_000
        People that one learner is fitted on; each draws its own sample.
    regularization : float, default=3.0
        L2 penalty of the logistic regression, the inverse of scikit-learn's C.
    trees : int, default=60
        Trees of the forest, with at most 16 leaves each.
    min_leaf : int, default=5
        Least number of people in a leaf of the forest.
    forests : int, default=3
        Boosted models, each fitted to a bootstrap sample.
    boosted_trees : int, default=30
        Trees of each of them.
    boosted_leaves : int, default=8
        Leaves of a boosted tree, at most 16.
    shrinkage : float, default=0.2
        Learning rate of boosting.
    networks : int, default=5
        Networks, each fitted to a bootstrap sample.
    hidden : int, default=16
        Units of their hidden layer.
    penalty : float, default=0.5
        L2 penalty of their weights.
    steps : int, default=1_500
        About how many gradient steps each of them takes.
    learning_rate : float, default=0.005
        Of these steps.
    """

    max_rows: int = 10_000
    regularization: float = 3.0
    trees: int = 60
    min_leaf: int = 5
    forests: int = 3
    boosted_trees: int = 30
    boosted_leaves: int = 8
    shrinkage: float = 0.2
    networks: int = 5
    hidden: int = 16
    penalty: float = 0.5
    steps: int = 1_500
    learning_rate: float = 0.005


@dataclass(frozen=True)
class Committee:
    """The mean logit of a logistic regression, a forest, boosted trees and networks.

    Parameters
    ----------
    problem : Problem
        The problem whose states it takes.
    state_features : StateFeatures
        Input features of the regression and the networks.
    linear : dict of str to ndarray
        Weights of the logistic regression: a network without hidden layers.
    networks : dict of str to ndarray
        Weights of E networks.
    forest : Trees
        Its sum is the forest's share of favourable outcomes.
    boosted : Trees
        Its sum is the mean logit of the boosted models.
    """

    problem: Problem
    state_features: StateFeatures = field(repr=False)
    linear: Params = field(repr=False)
    networks: Params = field(repr=False)
    forest: Trees = field(repr=False)
    boosted: Trees = field(repr=False)

    @classmethod
    def fit(
        cls,
        problem: Problem,
        states: Floats,
        favourable: Bools,
        seed: int = 0,
        settings: CommitteeSettings | None = None,
    ) -> Committee:
        """Fit a committee to outcomes.

        Parameters
        ----------
        problem : Problem
            The problem of the states.
        states : ndarray of shape (n, F)
            People as they are; NaN where a value is missing.
        favourable : ndarray of shape (n,)
            Whether their outcome, not the decision of a model, was favourable.
        seed : int, default=0
            Seed of the samples and of the initial weights.
        settings : CommitteeSettings, optional
            Sizes and penalties of the learners. Default: `CommitteeSettings()`.

        Returns
        -------
        Committee
            The fitted committee.

        Raises
        ------
        SettingError
            If there is not one outcome for each person, or there are too few people with one of the outcomes.
        """
        settings = settings or CommitteeSettings()
        states, favourable = np.ascontiguousarray(states, float), np.asarray(favourable, bool)
        if states.ndim != 2 or favourable.shape != states.shape[:1]:
            raise SettingError(f"a committee needs one outcome for each person, got {len(states):,} people")
        least = int(min(favourable.sum(), (~favourable).sum()))
        if least < MIN_OUTCOMES:
            raise SettingError(
                f"a committee needs at least {MIN_OUTCOMES} people with each outcome, got {int(favourable.sum()):,} "
                f"favourable and {int((~favourable).sum()):,} unfavourable ones"
            )
        return _fitted(problem, states, favourable, settings, np.random.default_rng([seed, len(states)]))

    def logit(self, states: Floats) -> Floats:
        """The mean logit [n] of the four kinds of learners for `states` [n, F]."""
        logit: Floats = self.by_kind(states).mean(axis=0)
        return logit

    def by_kind(self, states: Floats) -> Floats:
        """The logits [4, n] of the regression, the forest, the boosted trees and the networks for `states` [n, F]."""
        parts = [self._by_kind(states[i : i + BATCH_SIZE]) for i in range(0, max(1, len(states)), BATCH_SIZE)]
        return np.concatenate(parts, axis=1)

    def _by_kind(self, states: Floats) -> Floats:
        x = self.state_features(states)
        share = np.clip(self.forest(states).astype(float), _EDGE, 1 - _EDGE)
        kinds = (
            forward(np, self.linear, x)[0],
            np.log(share / (1 - share)),
            self.boosted(states),
            forward(np, self.networks, x).mean(axis=0),
        )
        logits: Floats = np.clip(np.stack(kinds).astype(float), -MAX_LOGIT, MAX_LOGIT)
        return logits

    def to_arrays(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Arrays and plain facts that `from_arrays` reads back."""
        parts = {
            "linear": self.linear,
            "networks": self.networks,
            "forest": self.forest.to_arrays(),
            "boosted": self.boosted.to_arrays(),
        }
        arrays = {
            f"{part}.{name}": np.ascontiguousarray(a) for part, named in parts.items() for name, a in named.items()
        }
        return arrays, {"features": self.state_features.to_data()}

    @classmethod
    def from_arrays(cls, problem: Problem, arrays: Mapping[str, Any], facts: Mapping[str, Any]) -> Committee:
        """The inverse of `to_arrays`; ValueError, KeyError or TypeError if the arrays or facts are invalid."""
        features = StateFeatures.from_data(problem, facts["features"])
        validate_features(features)
        parts = {part: with_prefix(arrays, f"{part}.") for part in ("linear", "networks", "forest", "boosted")}
        if sum(map(len, parts.values())) != len(arrays):
            raise ValueError("there are unknown arrays")
        for part in ("linear", "networks"):
            validate_arrays(parts[part], network_spec(len(features), parts[part]))
        for part in ("forest", "boosted"):
            validate_arrays(parts[part], tree_spec(problem, parts[part]))
        return cls(
            problem,
            features,
            parts["linear"],
            parts["networks"],
            Trees.from_arrays(parts["forest"]),
            Trees.from_arrays(parts["boosted"]),
        )


def _fitted(
    problem: Problem, states: Floats, favourable: Bools, settings: CommitteeSettings, random: np.random.Generator
) -> Committee:
    """A committee fitted to samples of `states` [n, F]."""
    from threadpoolctl import threadpool_limits

    features = StateFeatures.from_states(problem, states)
    x, columns = np.ascontiguousarray(features(states)), tree_inputs(problem.features, states)
    data = _Data(x, columns, favourable, settings, random)
    with threadpool_limits(1), warnings.catch_warnings():  # several threads round differently
        warnings.simplefilter("ignore")  # nothing depends on convergence
        return Committee(
            problem,
            features,
            _linear(data),
            _networks(data),
            Trees.mean_of(problem.features, [[tree] for tree in _forest(data)]),
            Trees.mean_of(problem.features, _boosted(data)),
        )


@dataclass(frozen=True)
class _Data:
    """Training data: inputs `x` [n, D] of regressions, `columns` [n, P] of trees, and outcomes `y` [n]."""

    x: Single
    columns: Single
    y: Bools
    settings: CommitteeSettings
    random: np.random.Generator

    def sample(self, *, replace: bool) -> Ints:
        """Rows of at most `max_rows` people, at least one of them with each outcome."""
        count = min(len(self.y), self.settings.max_rows)
        rows = self.random.choice(len(self.y), count, replace=replace)
        for outcome, place in ((False, 0), (True, 1)):
            if not (self.y[rows] == outcome).any():
                rows[place] = np.flatnonzero(self.y == outcome)[0]
        return rows

    def seed(self) -> int:
        """A seed for scikit-learn."""
        return int(self.random.integers(2**31))


def _linear(data: _Data) -> Params:
    from sklearn.linear_model import LogisticRegression

    rows = data.sample(replace=False)
    model = LogisticRegression(C=1 / data.settings.regularization, max_iter=200).fit(data.x[rows], data.y[rows])
    return _params([(model.coef_.T, model.intercept_)])


def _networks(data: _Data) -> Params:
    from sklearn.neural_network import MLPClassifier

    settings, members = data.settings, []
    for _ in range(settings.networks):
        rows = data.sample(replace=True)
        batch = min(_BATCH, len(rows))
        network = MLPClassifier(
            (settings.hidden,),
            alpha=settings.penalty,
            batch_size=batch,
            learning_rate_init=settings.learning_rate,
            max_iter=min(_MAX_EPOCHS, max(1, round(settings.steps * batch / len(rows)))),
            random_state=data.seed(),
        ).fit(data.x[rows], data.y[rows])
        members.append(list(zip(network.coefs_, network.intercepts_, strict=True)))
    return _params(*members)


def _params(*members: list[tuple[Floats, Floats]]) -> Params:
    """Stacked arrays, as `forward` takes them, of the layers of several networks."""
    params: Params = {}
    for i, layers in enumerate(zip(*members, strict=True)):
        weights, biases = (np.stack(arrays).astype(np.float32) for arrays in zip(*layers, strict=True))
        params[f"{i}.weight"] = weights.swapaxes(0, 1).copy() if i == 0 else weights
        params[f"{i}.bias"] = biases[:, None]
    return params


def _forest(data: _Data) -> list[GrownTree]:
    """Trees whose leaves hold the share of favourable outcomes, with one more person of each outcome (Laplace)."""
    from sklearn.ensemble import RandomForestClassifier

    settings, rows = data.settings, data.sample(replace=False)
    forest = RandomForestClassifier(
        settings.trees,
        max_leaf_nodes=LEAVES,
        min_samples_leaf=settings.min_leaf,
        random_state=data.seed(),
    ).fit(data.columns[rows], data.y[rows])
    grown = []
    for estimator in forest.estimators_:
        tree = estimator.tree_
        people, value = tree.weighted_n_node_samples, tree.value[:, 0]
        share = (value[:, 1] / value.sum(axis=1) * people + 1) / (people + 2)
        grown.append(GrownTree(tree.children_left, tree.children_right, tree.feature, tree.threshold, share))
    return grown


def _boosted(data: _Data) -> list[list[GrownTree]]:
    from sklearn.ensemble import HistGradientBoostingClassifier

    settings, models = data.settings, []
    for _ in range(settings.forests):
        rows = data.sample(replace=True)
        model = HistGradientBoostingClassifier(
            max_iter=settings.boosted_trees,
            max_leaf_nodes=settings.boosted_leaves,
            learning_rate=settings.shrinkage,
            early_stopping=False,
            random_state=data.seed(),
        )
        models.append(histogram_boosted(model.fit(data.columns[rows], data.y[rows])))
    return models
