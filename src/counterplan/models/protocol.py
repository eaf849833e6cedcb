"""The `Model` protocol, and functions for its optional members."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import pandas as pd

from counterplan.errors import ModelError
from counterplan.models.outputs import Array


class Model(Protocol):
    """A classifier or scorer of people. `adapt` wraps most objects; one with these members is used unchanged.

    Attributes
    ----------
    name : str
        The model's name in messages.
    batch : int
        The largest number of rows per call.
    classes : tuple of str or None
        The labels that it can return, if known.
    identity : str, optional
        A text that changes whenever the outputs may change. Without it, a digest of the object's content is computed.
    columns : list of str or None, optional
        The columns that it was trained on, if known; other columns do not affect its outputs.
    dtypes : mapping of str to pandas dtype or None, optional
        The types that it was trained on by column, as far as it knows them; categories with their values.
    casts : bool, optional
        Whether the model converts people to its `dtypes` itself; otherwise `BlackBox` does.
    closed_categories : bool, optional
        Whether a value that is not among the categories of `dtypes` is an error; the default.

    Notes
    -----
    A model may also define ``labels_and_scores(people, favourable)``, which returns both from one call, and
    ``label_threshold(favourable)``, the score from which on its labels are favourable; 0.5 without it.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from counterplan import BlackBox, benchmarks
    >>> class Rule:
    ...     name, batch, classes = "rule", 1_000, ("bad", "good")
    ...     def labels(self, people):
    ...         return np.where(self.scores(people, {"good"}) >= 0.5, "good", "bad")
    ...     def scores(self, people, favourable):
    ...         return 10 / people["duration"].to_numpy()
    >>> german = benchmarks.load("german")
    >>> box = BlackBox(Rule())
    >>> int(box.favourable(german.problem, german.test.head(10)).sum())
    8
    """

    name: str
    batch: int
    classes: tuple[str, ...] | None

    def labels(self, people: pd.DataFrame) -> Array:
        """The label of each person [B], as the model returned it."""

    def scores(self, people: pd.DataFrame, favourable: Collection[str]) -> Array:
        """The probability of the favourable labels, or a score, float [B].

        Without favourable labels, the numbers that the model returns.
        """


def labels_and_scores(model: Model, people: pd.DataFrame, favourable: Collection[str]) -> tuple[Array, Array | None]:
    """Query labels and scores, with one call of the model where it allows that.

    Parameters
    ----------
    model : Model
        The model.
    people : DataFrame
        B people.
    favourable : collection of str
        The favourable labels.

    Returns
    -------
    labels : ndarray of shape (B,)
        As `Model.labels` returns them.
    scores : ndarray of float of shape (B,), or None
        As `Model.scores` returns them; None if the model has none. A model with a single output, such as a function,
        returns its numbers as both.

    Examples
    --------
    >>> import pandas as pd
    >>> from counterplan.models import adapt, labels_and_scores
    >>> model = adapt(lambda people: people["income"] > 1000)
    >>> labels_and_scores(model, pd.DataFrame({"income": [500]}), {"true"})
    (array([False]), None)
    """
    both = getattr(model, "labels_and_scores", None)
    if both is not None:
        found: tuple[Array, Array | None] = both(people, favourable)
        return found
    return model.labels(people), scores_or_none(model, people, favourable)


def scores_or_none(model: Model, people: pd.DataFrame, favourable: Collection[str]) -> Array | None:
    """The scores [B] of a model; None if it has none."""
    try:
        return model.scores(people, favourable)
    except ModelError:
        return None


def label_threshold(model: Model, favourable: Collection[str]) -> float:
    """The score from which on the labels of `model` are favourable: the one that it states, or a probability of 0.5."""
    stated = getattr(model, "label_threshold", None)
    threshold = None if stated is None else stated(favourable)
    return 0.5 if threshold is None else float(threshold)


def dtypes_of(model: object) -> Mapping[str, Any] | None:
    """The pandas dtypes by column that a model was trained on.

    Parameters
    ----------
    model : Model
        The model, as `adapt` returns it.

    Returns
    -------
    mapping of str to pandas dtype, or None
        The types that the model knows; None if it knows none.

    Examples
    --------
    >>> import pandas as pd
    >>> from lightgbm import LGBMClassifier
    >>> from counterplan.models import adapt, dtypes_of
    >>> jobs = pd.Categorical(["none", "clerk"] * 50, categories=["none", "clerk"])
    >>> trees = LGBMClassifier(verbose=-1).fit(pd.DataFrame({"job": jobs}), ["no", "yes"] * 50)
    >>> dtypes_of(adapt(trees))["job"].categories.tolist()
    ['none', 'clerk']
    >>> dtypes_of(adapt(lambda people: people["job"] == "clerk")) is None
    True
    """
    return getattr(model, "dtypes", None) or None


def columns_of(model: object) -> list[str] | None:
    """The columns that a model was trained on; None if unknown."""
    columns = getattr(model, "columns", None)
    return None if columns is None else [str(column) for column in columns]


@dataclass
class ModelDescription:
    """Stands for a model, or for several, where queries are answered by other means; it is never called."""

    name: str
    columns: list[str] | None = None
    batch: int = 1_000_000
    classes: tuple[str, ...] | None = None
    identity: str = ""

    def labels(self, people: pd.DataFrame) -> Array:
        """Never called."""
        raise AssertionError(f"{self.name}: queries are answered by other means")

    def scores(self, people: pd.DataFrame, favourable: Collection[str]) -> Array:
        """Never called."""
        raise AssertionError(f"{self.name}: queries are answered by other means")
