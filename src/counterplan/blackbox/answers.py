"""Answers of a model about states, and the keys by which they are cached."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from counterplan.problem.transitions import Bools, Floats, Ints


class Answer(NamedTuple):
    """Decision of the model about one state, its score in favour of it, and its outcome, if these are known.

    The outcome, as a text, is known if the problem has three or more, and the label of the model decides.
    """

    favourable: bool
    score: float | None = None
    outcome: str | None = None


class PersonAnswers(NamedTuple):
    """Cached answers about n states of people.

    An answer belongs to everybody with the same immutable features, and the same extra columns if the model may use
    them.
    """

    rows: Ints
    """[n] the person of each answer, in ascending order."""
    states: Floats
    """[n, F]"""
    favourable: Bools
    """[n]"""
    scores: Floats
    """[n] NaN where no score is known."""


PLAIN_ANSWERS = Answer(False), Answer(True)
"""Answers without a score, by decision: shared, because there may be very many."""


def join_keys(keys: Collection[bytes]) -> tuple[Ints, npt.NDArray[np.uint8]]:
    """Serialize query keys to two arrays: their lengths [n], and their concatenated bytes."""
    return np.array([len(key) for key in keys], np.intp), np.frombuffer(b"".join(keys), np.uint8)


def split_keys(lengths: Ints, keys: npt.NDArray[np.uint8]) -> list[bytes]:
    """Invert `join_keys`."""
    raw, ends = keys.tobytes(), np.cumsum(lengths).tolist()
    return [raw[start:end] for start, end in zip([0, *ends], ends, strict=False)]
