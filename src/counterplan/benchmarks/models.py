"""The black boxes of the benchmarks: a rule, and a small network trained with scikit-learn and evaluated in NumPy.

They take DataFrames, like any model, and also states, which is faster.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from counterplan.problem import Feature, Problem
from counterplan.problem.binding import Expression, Scope, bind
from counterplan.problem.transitions import Bools, Floats, Ints

BATCH = 100_000
Layers = tuple[tuple[Floats, Floats], ...]
"""Weights and biases of each layer."""


class BenchmarkModel(ABC):
    """Base class of models that score states; one of the problem's two outcomes is favourable.

    Subclasses implement `score`.

    Parameters
    ----------
    problem : Problem
        A problem with two outcomes.
    threshold : float, default=0.5
        The least score of a favourable decision.
    """

    batch = BATCH
    identity = ""
    """Empty: the name identifies the model, whatever its class is called."""

    def __init__(self, problem: Problem, *, threshold: float = 0.5) -> None:
        self.problem = problem
        self.threshold = threshold
        self.name = f"model of {problem.name}"
        self.features: tuple[Feature, ...] = problem.features
        self.classes: tuple[str, ...] = problem.outcome.values
        good = [value in problem.outcome.favourable for value in problem.outcome.values]
        self._labels = np.array(problem.outcome.natives, object)[[good.index(False), good.index(True)]]

    @abstractmethod
    def score(self, states: Floats) -> Floats:
        """The probability [B] that `states` [B, F] are favourable."""

    def favourable(self, states: Floats) -> Bools:
        """Whether the decision about each of `states` [B, F] is favourable [B]."""
        return self.score(states) >= self.threshold

    def labels_of_states(self, states: Floats) -> npt.NDArray[Any]:
        """The predicted outcome [B] of `states` [B, F]."""
        labels: npt.NDArray[Any] = self._labels[self.favourable(states).astype(int)]
        return labels

    def labels(self, people: pd.DataFrame) -> npt.NDArray[Any]:
        """The predicted outcome [B] of people."""
        return self.labels_of_states(self.problem.read(people).states)

    def scores(self, people: pd.DataFrame, favourable: Collection[str]) -> Floats:
        """The probability [B] of the favourable outcome."""
        return self.scores_of_states(self.problem.read(people).states, favourable)

    def scores_of_states(self, states: Floats, favourable: Collection[str]) -> Floats:
        """The probability [B] of the `favourable` outcomes, for `states` [B, F]."""
        chance = self.score(states)
        return chance if set(favourable) == set(self.problem.outcome.favourable) else 1 - chance

    def label_threshold(self, favourable: Collection[str]) -> float:
        """The least score of the `favourable` outcomes at which the label is one of them."""
        return self.threshold if set(favourable) == set(self.problem.outcome.favourable) else 1 - self.threshold

    def __call__(self, people: pd.DataFrame) -> npt.NDArray[Any]:
        """Alias of `labels`."""
        return self.labels(people)


@dataclass(frozen=True)
class Recipe(ABC):
    """How the model of a benchmark is trained. Subclasses are dataclasses of hyperparameters."""

    kind: ClassVar[str]
    """The name of the kind of recipe in cache keys, which is stable under renames of the class."""

    def cache_key(self) -> str:
        """Text that identifies the recipe in the names of cached parameters."""
        return f"{self.kind}({', '.join(f'{field.name}={getattr(self, field.name)!r}' for field in fields(self))})"

    @abstractmethod
    def fit(self, problem: Problem, states: Floats, favourable: Bools, seed: int) -> TrainedModel:
        """Train on `states` [B, F] with outcomes `favourable` [B]; deterministic for a seed."""

    @abstractmethod
    def restore(self, problem: Problem, arrays: dict[str, npt.NDArray[Any]]) -> TrainedModel | None:
        """The model with the parameters `arrays` of `TrainedModel.to_arrays`; None if they are invalid.

        Raises
        ------
        KeyError
            If an array is missing.
        """


class TrainedModel(BenchmarkModel):
    """A model with trained parameters. Subclasses implement `score` and `to_arrays`."""

    @abstractmethod
    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The trained parameters by name."""


class RuleModel(BenchmarkModel):
    """A rule in the language of conditions.

    Parameters
    ----------
    problem : Problem
    rule : str
        A condition on the features; where it holds, the outcome is favourable.
    """

    def __init__(self, problem: Problem, rule: str) -> None:
        super().__init__(problem)
        columns = {feature.name: feature.column() for feature in problem.features}
        self.rule: Expression = bind(" ".join(rule.split()), Scope(columns))

    def score(self, states: Floats) -> Floats:
        """1 where the rule holds, 0 elsewhere."""
        return self.rule(states).astype(float)


@dataclass(frozen=True)
class NetworkWeights:
    """A trained network: the scaling of its inputs and the weights of each layer."""

    mean: Floats
    scale: Floats
    layers: Layers

    def rounded(self, decimals: int) -> NetworkWeights:
        """The same network with all numbers rounded."""
        return NetworkWeights.from_arrays({name: np.round(array, decimals) for name, array in self.to_arrays().items()})

    def to_arrays(self) -> dict[str, Floats]:
        """Serialize to arrays by name."""
        named = {"mean": self.mean, "scale": self.scale}
        for i, (weight, bias) in enumerate(self.layers):
            named |= {f"weight_{i}": weight, f"bias_{i}": bias}
        return named

    def fits(self, problem: Problem, recipe: NetworkRecipe) -> bool:
        """Whether shapes and values are valid for a network of `recipe` for `problem`."""
        numbers, categories = inputs(problem, np.zeros((1, len(problem.features))))
        widths = (numbers.shape[1] + categories.shape[1], *recipe.hidden, 1)
        shapes = [(weight.shape, bias.shape) for weight, bias in self.layers]
        expected = [((below, above), (above,)) for below, above in pairwise(widths)]
        scaled = self.mean.shape == self.scale.shape == (numbers.shape[1],)
        return scaled and shapes == expected and all(np.isfinite(array).all() for array in self.to_arrays().values())

    @classmethod
    def from_arrays(cls, arrays: dict[str, Floats]) -> NetworkWeights:
        """The inverse of `to_arrays`."""
        depth = sum(name.startswith("weight_") for name in arrays)
        layers = tuple((arrays[f"weight_{i}"], arrays[f"bias_{i}"]) for i in range(depth))
        return cls(arrays["mean"], arrays["scale"], layers)


class NetworkModel(TrainedModel):
    """A ReLU network on scaled numbers and one-hot categories."""

    def __init__(self, problem: Problem, weights: NetworkWeights) -> None:
        super().__init__(problem)
        self.weights = weights
        digest = hashlib.sha256(b"".join(part.tobytes() for layer in weights.layers for part in layer)).hexdigest()
        self.name = f"{self.name} ({digest[:8]})"  # cached outputs belong to one network
        first, bias = weights.layers[0]
        self._numbers = [feature.index for feature in problem.features if feature.is_number]
        # The first layer takes states: scaled numbers, and one row of weights per category value.
        count = len(self._numbers)
        self._first = first[:count] / weights.scale[:, None]
        self._bias = bias - (weights.mean / weights.scale) @ first[:count]
        self._tables = []
        start = count
        for feature in problem.features:
            if not feature.is_number:
                self._tables.append((feature.index, first[start : start + len(feature.natives)]))
                start += len(feature.natives)

    def score(self, states: Floats) -> Floats:
        """The probability [B] that `states` [B, F] are favourable."""
        hidden = states[:, self._numbers] @ self._first + self._bias
        for index, table in self._tables:
            hidden += table[states[:, index].astype(np.intp)]
        for weight, bias in self.weights.layers[1:]:
            hidden = np.maximum(hidden, 0) @ weight + bias
        result: Floats = 1 / (1 + np.exp(-np.clip(hidden[:, 0], -500, 500)))
        return result

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The weights by name."""
        return dict(self.weights.to_arrays())


def inputs(problem: Problem, states: Floats) -> tuple[Floats, Floats]:
    """The inputs of a network: unscaled numbers [B, N] and one-hot categories [B, V]."""
    numbers = states[:, [feature.index for feature in problem.features if feature.is_number]]
    blocks = [
        states[:, feature.index, None] == np.arange(len(feature.natives))
        for feature in problem.features
        if not feature.is_number
    ]
    return numbers, np.concatenate(blocks, axis=1).astype(float)


@dataclass(frozen=True)
class NetworkRecipe(Recipe):
    """Hyperparameters of a benchmark's network. A share of the training people is held out for early stopping."""

    hidden: tuple[int, ...] = (32, 32, 32, 32)
    penalty: float = 1.0
    balanced: bool = False
    """Whether to oversample the rarer outcome."""
    tries: int = 1
    """Networks trained from different initial weights; the one with the least held-out loss is selected."""
    batch: int = 64
    epochs: int = 150
    patience: int = 10
    held_out: float = 0.2
    decimals: int = 9
    """Weights are rounded to so many, so that the rounding errors of a processor's matrix products do not show."""
    kind = "Recipe"

    def fit(self, problem: Problem, states: Floats, favourable: Bools, seed: int) -> NetworkModel:
        """Train on `states` [B, F] with outcomes `favourable` [B]; deterministic for a seed."""
        return NetworkModel(problem, train(problem, states, favourable, self, seed))

    def restore(self, problem: Problem, arrays: dict[str, npt.NDArray[Any]]) -> NetworkModel | None:
        """The network with the weights `arrays`; None if they are invalid."""
        weights = NetworkWeights.from_arrays(arrays)
        return NetworkModel(problem, weights) if weights.fits(problem, self) else None


def train(problem: Problem, states: Floats, favourable: Bools, recipe: NetworkRecipe, seed: int) -> NetworkWeights:
    """Train a network on `states` [B, F] with outcomes `favourable` [B]; deterministic for a seed."""
    random = np.random.default_rng(seed)
    order = random.permutation(len(states))
    held_out, rows = np.split(order, [int(len(order) * recipe.held_out)])
    if recipe.balanced:
        good, bad = rows[favourable[rows]], rows[~favourable[rows]]
        few, many = sorted((good, bad), key=len)
        rows = np.concatenate([good, bad, random.choice(few, len(many) - len(few))])
    numbers, categories = inputs(problem, states)
    mean, scale = numbers.mean(axis=0), numbers.std(axis=0)
    scale[scale == 0] = 1.0
    x = np.concatenate([(numbers - mean) / scale, categories], axis=1)
    weight = _class_weights(favourable[held_out]) if recipe.balanced else np.ones(len(held_out))
    data = _TrainingData(x, favourable, rows, held_out, weight)
    attempts = [_best_epoch(data, recipe, seed * 1_000 + attempt, random) for attempt in range(recipe.tries)]
    _, layers = min(attempts, key=lambda result: result[0])
    return NetworkWeights(mean, scale, layers).rounded(recipe.decimals)


@dataclass(frozen=True)
class _TrainingData:
    """Inputs `x` [B, I] and outcomes `y` [B]; `weight` are those of the losses of `held_out` rows."""

    x: Floats
    y: Bools
    rows: Ints
    held_out: Ints
    weight: Floats


def _best_epoch(
    data: _TrainingData, recipe: NetworkRecipe, seed: int, random: np.random.Generator
) -> tuple[float, Layers]:
    """The least held-out loss of one network over its epochs, and its weights at that epoch."""
    from sklearn.neural_network import MLPClassifier

    network = MLPClassifier(recipe.hidden, alpha=recipe.penalty, batch_size=recipe.batch, random_state=seed)
    x, y, held_out = data.x, data.y, data.held_out
    best: tuple[float, Layers] = (np.inf, ())
    stale = 0
    for _ in range(recipe.epochs):
        shuffled = random.permutation(data.rows)
        network.partial_fit(x[shuffled], y[shuffled], classes=[False, True])
        chance = np.clip(network.predict_proba(x[held_out])[:, 1], 1e-9, 1 - 1e-9)
        loss = -float(np.average(np.log(np.where(y[held_out], chance, 1 - chance)), weights=data.weight))
        stale += 1
        if loss < best[0] - 1e-4:
            layers = zip(network.coefs_, network.intercepts_, strict=True)
            best, stale = (loss, tuple((w.copy(), b.copy()) for w, b in layers)), 0
        if stale > recipe.patience:
            break
    return best


def _class_weights(favourable: Bools) -> Floats:
    """Weights [B] that balance the two outcomes."""
    share = favourable.mean()
    weights: Floats = np.where(favourable, 1 / share, 1 / (1 - share))
    return weights
