"""A committee of generic learners of the outcome: how probable a favourable decision is for *some* model of such data.

The members know nothing of the black box. They are a logistic regression, a forest, boosted trees and small networks,
fitted with scikit-learn to the outcomes of people, and stored and evaluated as plain arrays.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterplan.errors import SettingError
from counterplan.problem import Problem
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.storage.arrays import require_number, validate_arrays, with_prefix
from counterplan.surrogate.features import Single, StateFeatures
from counterplan.surrogate.networks import Params, forward
from counterplan.surrogate.trees import LEAVES, GrownTree, Trees, histogram_boosted, tree_inputs
from counterplan.surrogate.validation import network_spec, tree_spec, validate_features

MIN_OUTCOMES = 10
"""Least number of people with each outcome."""
BATCH_SIZE = 4096
"""States evaluated at a time, so that intermediate arrays stay in the processor's cache."""
_EDGE = 1e-6
"""Shares of a forest are at least this far from 0 and 1."""


@dataclass(frozen=True)
class CommitteeSettings:
    """Settings of `Committee.fit`.

    Parameters
    ----------
    max_rows : int, default=10_000
        People to fit on; a sample if there are more.
    trees : int, default=60
        Trees of the forest.
    leaves : int, default=16
        Leaves of a tree of the forest, at most 16.
    min_leaf : int, default=5
        Least number of people in a leaf of the forest.
    boosted : int, default=60
        Boosted trees.
    boosted_leaves : int, default=8
        Leaves of a boosted tree, at most 16.
    shrinkage : float, default=0.1
        Learning rate of boosting.
    networks : int, default=5
        Networks, each fitted to a bootstrap sample.
    hidden : int, default=16
        Units of their hidden layer.
    penalty : float, default=1.0
        L2 penalty of their weights.
    max_logit : float, default=6.0
        The logit of each member is clipped to this absolute value.
    """

    max_rows: int = 10_000
    trees: int = 60
    leaves: int = LEAVES
    min_leaf: int = 5
    boosted: int = 60
    boosted_leaves: int = 8
    shrinkage: float = 0.1
    networks: int = 5
    hidden: int = 16
    penalty: float = 1.0
    max_logit: float = 6.0


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
        Its sum is the logit of the boosted trees.
    max_logit : float
        The logit of each member is clipped to this absolute value.
    """

    problem: Problem
    state_features: StateFeatures
    linear: Params
    networks: Params
    forest: Trees
    boosted: Trees
    max_logit: float

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
        states : ndarray of shape (n, F)
            People as they are; NaN where a value is missing.
        favourable : ndarray of shape (n,)
            Whether their outcome, not the decision of a model, was favourable.
        seed : int, default=0
        settings : CommitteeSettings, optional

        Returns
        -------
        Committee

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
        random = np.random.default_rng([seed, len(states)])
        if len(states) > settings.max_rows:
            rows = _sample(favourable, settings.max_rows, random)
            states, favourable = states[rows], favourable[rows]
        return _fitted(problem, states, favourable, settings, random)

    def logit(self, states: Floats) -> Floats:
        """The mean logit [n] of the members for `states` [n, F]."""
        logit: Floats = self.members(states).mean(axis=0)
        return logit

    def members(self, states: Floats) -> Floats:
        """The clipped logits [M, n] of the members for `states` [n, F]."""
        parts = [self._members(states[i : i + BATCH_SIZE]) for i in range(0, max(1, len(states)), BATCH_SIZE)]
        return np.concatenate(parts, axis=1)

    def _members(self, states: Floats) -> Floats:
        x = self.state_features(states)
        share = np.clip(self.forest(states).astype(float), _EDGE, 1 - _EDGE)
        logits = [
            forward(np, self.linear, x),
            np.log(share / (1 - share))[None],
            self.boosted(states)[None],
            forward(np, self.networks, x),
        ]
        clipped: Floats = np.clip(np.concatenate(logits), -self.max_logit, self.max_logit)
        return clipped

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
        return arrays, {"features": self.state_features.to_data(), "max_logit": self.max_logit}

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
            require_number(facts, "max_logit", positive=True),
        )


def _sample(favourable: Bools, count: int, random: np.random.Generator) -> Ints:
    """So many rows at random, at least `MIN_OUTCOMES` of each outcome."""
    kept = [random.permutation(np.flatnonzero(favourable == outcome))[:MIN_OUTCOMES] for outcome in (False, True)]
    others = np.setdiff1d(np.arange(len(favourable)), np.concatenate(kept))
    rows: Ints = np.sort(np.concatenate([*kept, random.permutation(others)[: count - 2 * MIN_OUTCOMES]]))
    return rows


def _fitted(
    problem: Problem, states: Floats, favourable: Bools, settings: CommitteeSettings, random: np.random.Generator
) -> Committee:
    """A committee fitted to all of `states` [n, F]."""
    from threadpoolctl import threadpool_limits

    features = _features(problem, states)
    x, columns = np.ascontiguousarray(features(states)), tree_inputs(problem.features, states)
    with threadpool_limits(1), warnings.catch_warnings():  # several threads round differently
        warnings.simplefilter("ignore")  # nothing depends on convergence
        return Committee(
            problem,
            features,
            _linear(x, favourable),
            _networks(x, favourable, settings, random),
            _forest(problem, columns, favourable, settings, random),
            _boosted(problem, columns, favourable, settings, random),
            settings.max_logit,
        )


def _features(problem: Problem, states: Floats) -> StateFeatures:
    """Scaled numbers, ranks and one-hot categories, without cut points: few outcomes would be over-fitted by them."""
    scaled = StateFeatures.from_states(problem, states)
    return StateFeatures(problem.features, scaled.mean, scaled.scale, tuple(() for _ in problem.features))


def _linear(x: Single, y: Bools) -> Params:
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(max_iter=1_000).fit(x, y)
    return _params([(model.coef_.T, model.intercept_)])


def _params(*members: list[tuple[Floats, Floats]]) -> Params:
    """Stacked arrays, as `forward` takes them, of the layers of several networks."""
    params: Params = {}
    for i, layers in enumerate(zip(*members, strict=True)):
        weights, biases = (np.stack(arrays).astype(np.float32) for arrays in zip(*layers, strict=True))
        params[f"{i}.weight"] = weights.swapaxes(0, 1).copy() if i == 0 else weights
        params[f"{i}.bias"] = biases[:, None]
    return params


def _networks(x: Single, y: Bools, settings: CommitteeSettings, random: np.random.Generator) -> Params:
    from sklearn.neural_network import MLPClassifier

    members = []
    for _ in range(settings.networks):
        network = MLPClassifier(
            (settings.hidden,),
            alpha=settings.penalty,
            early_stopping=True,
            random_state=int(random.integers(2**31)),
        )
        network.fit(x, y)
        members.append(list(zip(network.coefs_, network.intercepts_, strict=True)))
    return _params(*members)


def _forest(problem: Problem, x: Single, y: Bools, settings: CommitteeSettings, random: np.random.Generator) -> Trees:
    from sklearn.ensemble import RandomForestClassifier

    forest = RandomForestClassifier(
        settings.trees,
        max_leaf_nodes=settings.leaves,
        min_samples_leaf=settings.min_leaf,
        random_state=int(random.integers(2**31)),
    ).fit(x, y)
    grown = []
    for estimator in forest.estimators_:
        tree = estimator.tree_
        count = tree.weighted_n_node_samples
        counts = tree.value[:, 0] / tree.value[:, 0].sum(axis=1, keepdims=True) * count[:, None]
        share = (counts[:, 1] + 1) / (count + 2)
        grown.append(GrownTree(tree.children_left, tree.children_right, tree.feature, tree.threshold, share))
    return Trees.mean_of(problem.features, [[tree] for tree in grown])


def _boosted(problem: Problem, x: Single, y: Bools, settings: CommitteeSettings, random: np.random.Generator) -> Trees:
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(
        max_iter=settings.boosted,
        max_leaf_nodes=settings.boosted_leaves,
        learning_rate=settings.shrinkage,
        early_stopping=False,
        random_state=int(random.integers(2**31)),
    ).fit(x, y)
    return Trees.mean_of(problem.features, [histogram_boosted(model)])
