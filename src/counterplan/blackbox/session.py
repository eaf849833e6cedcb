"""`OracleSession`: queries about states of given people."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import islice, repeat
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from counterplan.blackbox.answers import PLAIN_ANSWERS, Answer, PersonAnswers
from counterplan.blackbox.query_budget import QueryBudgetExceeded
from counterplan.errors import ModelError
from counterplan.models import uses_column
from counterplan.problem import People, Problem
from counterplan.problem.dtypes import holds_texts
from counterplan.problem.natives import native_type
from counterplan.problem.parts import Feature
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.problem.values import listed, text_of

if TYPE_CHECKING:
    from counterplan.blackbox.blackbox import BlackBox

_KEYS_AT_ONCE = 2**16
"""Cached queries whose states are compared with people at once, which bounds the memory."""
_DTYPE_WORDS = ("dtype", "categor", "could not convert string")
"""Words in the message of a model that does not accept the dtypes of a table."""


class OracleSession:
    """Queries one black box for states of given people; equal states of equal people are sent only once.

    Parameters
    ----------
    box : BlackBox
        The black box to query.
    problem : Problem
        The problem that the states belong to.
    people : People
        The people; columns that the problem does not describe are passed on to the model.
    scores : bool, default=False
        Whether to obtain scores along with decisions, if the model gives any.
    """

    def __init__(self, box: BlackBox, problem: Problem, people: People, *, scores: bool = False) -> None:
        self.box = box
        self.with_scores = scores
        self.problem, self.labels = problem.query_fingerprint, problem.label_fingerprint
        self.people = people
        self.decision = box.decision(problem)
        self.outcomes = box._outcomes_of(problem)
        self.cache = box._caches.setdefault(problem.query_fingerprint, {})
        extras = [column for column in people.extras if uses_column(box.model, column)]
        self._extras: list[bytes] | None = None
        if extras:  # the answer may depend on them, so they are part of the query key
            rows = people.table[extras].itertuples(index=False, name=None)
            self._extras = [repr((extras, row)).encode() for row in rows]

    def __call__(self, states: Floats, rows: npt.NDArray[np.integer]) -> Bools:
        """Query `states`.

        Parameters
        ----------
        states : ndarray of float, shape (n, F)
            The states.
        rows : ndarray of int, shape (n,)
            The person each state belongs to.

        Returns
        -------
        ndarray of bool, shape (n,)
            Whether each state is favourable.

        Raises
        ------
        QueryBudgetExceeded
            If the budget does not suffice; it carries the answers of the queries that were sent.
        """
        return np.array([answer.favourable for answer in self.answers(states, rows)], bool)

    def answers(self, states: Floats, rows: npt.NDArray[np.integer]) -> list[Answer]:
        """Query `states`, as by calling the session; return decisions with the scores that are known.

        Parameters
        ----------
        states : ndarray of float, shape (n, F)
        rows : ndarray of int, shape (n,)

        Returns
        -------
        list of Answer

        Raises
        ------
        QueryBudgetExceeded
            If the budget does not suffice.
        """
        keys = self.keys(states, rows)
        for listener in self.box._query_listeners:
            listener(self.people, rows, keys)
        hits = self.lookup(keys)
        misses = dict.fromkeys(key for key, answer in zip(keys, hits, strict=True) if answer is None)
        new = list(range(len(keys)))
        if len(misses) < len(keys):  # some are cached or repeated
            first = {key: i for i, key in reversed(list(enumerate(keys)))}
            new = [first[key] for key in misses]
        remaining = self.box.remaining_budget
        sent = new if remaining is None else new[:remaining]
        found = self._query([keys[i] for i in sent], states[sent], rows[sent])
        self.box.cached += len(keys) - len(new)
        if len(sent) == len(keys):
            return list(found.values())
        merged = [found.get(key) if hit is None else hit for key, hit in zip(keys, hits, strict=True)]
        if len(sent) < len(new):
            assert self.box.budget is not None
            answers = np.array([answer is not None and answer.favourable for answer in merged], bool)
            raise QueryBudgetExceeded(self.box.budget, answers, np.array([answer is not None for answer in merged]))
        return [answer for answer in merged if answer is not None]

    def known_scores(self, states: Floats, rows: npt.NDArray[np.integer]) -> Floats:
        """Return the cached score [n] of each of `states` [n, F] of the people `rows` [n], without queries.

        NaN where no score is known.
        """
        answers = self.cached(states, rows)
        return np.array([np.nan if answer is None or answer.score is None else answer.score for answer in answers])

    def cached(self, states: Floats, rows: npt.NDArray[np.integer]) -> list[Answer | None]:
        """Return the cached answer about each of `states` [n, F] of the people `rows` [n]; None where there is none."""
        return self.lookup(self.keys(states, rows))

    def lookup(self, keys: Sequence[bytes]) -> list[Answer | None]:
        """Return the cached answer to each query, also if it was sent for another target; None where there is none."""
        answers = [self.cache.get(key) for key in keys]
        if self.outcomes is None:
            return answers
        for i, key in enumerate(keys):
            if answers[i] is None and (outcome := self.outcomes.get(key)) is not None:
                answers[i] = Answer(outcome in self.decision.favourable, None, outcome)
        return answers

    def known_answers(self, mutable: Ints) -> PersonAnswers:
        """Return all cached answers about states that differ from a person in mutable features only.

        Parameters
        ----------
        mutable : int array of shape [M]
            The features that may differ.

        Returns
        -------
        PersonAnswers
            Those of the first person, then of the next, each in the order of the queries.
        """
        width = self.people.states.shape[1]
        fixed = np.setdiff1d(np.arange(width), mutable)
        own = np.ascontiguousarray(self.people.states[:, fixed] + 0.0)
        people: dict[tuple[bytes, bytes], list[int]] = {}
        for row, values in enumerate(own):
            extra = b"" if self._extras is None else self._extras[row]
            people.setdefault((values.tobytes(), extra), []).append(row)
        wanted = np.unique(_hashed(own))
        found: list[tuple[int, bytes, Answer]] = []
        keys = [*self.cache]
        if self.outcomes is not None:
            keys += [key for key in self.outcomes if key not in self.cache]
        for first in range(0, len(keys), _KEYS_AT_ONCE):
            block = keys[first : first + _KEYS_AT_ONCE]
            raw = b"".join([key[: 8 * width] for key in block])
            values = np.ascontiguousarray(np.frombuffer(raw).reshape(-1, width)[:, fixed])
            for i in np.flatnonzero(np.isin(_hashed(values), wanted)).tolist():
                rows = people.get((values[i].tobytes(), block[i][8 * width :]))
                if rows is not None and (answer := self.lookup([block[i]])[0]) is not None:
                    found += [(row, block[i][: 8 * width], answer) for row in rows]
        found.sort(key=lambda one: one[0])  # which keeps the order of the queries
        scores = [np.nan if answer.score is None else answer.score for *_, answer in found]
        return PersonAnswers(
            np.array([row for row, _, _ in found], np.intp),
            np.frombuffer(b"".join(state for _, state, _ in found)).reshape(-1, width),
            np.array([answer.favourable for *_, answer in found], bool),
            np.array(scores, float),
        )

    def keys(self, states: Floats, rows: npt.NDArray[np.integer]) -> list[bytes]:
        """Return the cache key of each query: the state, and the person's extra columns if the model may use them.

        Parameters
        ----------
        states : array of shape [n, F]
            The states.
        rows : int array of shape [n]
            The person of each state.

        Returns
        -------
        list of bytes
            One key for each state.
        """
        raw = np.ascontiguousarray(states + 0.0).tobytes()  # + 0.0 maps -0.0 to 0.0
        width = states.shape[1] * states.itemsize
        pieces = [raw[i : i + width] for i in range(0, len(raw), width)]
        if self._extras is not None:
            pieces = [piece + self._extras[row] for piece, row in zip(pieces, rows.tolist(), strict=True)]
        return pieces

    @cached_property
    def _spelled(self) -> list[Feature]:
        """Ints and booleans of the problem that are texts in the table, and of no type that the model names."""
        columns = {text_of(column): self.people.table[column] for column in self.people.table.columns}
        candidates = (feature for feature in self.people.features if native_type(feature) is not None)
        typed = self.box.dtypes
        return [f for f in candidates if f.name not in typed and holds_texts(columns[f.name])]

    def _store(self, found: dict[bytes, Answer]) -> None:
        """Pass new answers to the listeners and add them to the cache, which drops its oldest entries."""
        for listener in self.box._answer_listeners:
            listener(self.problem, found)
            if self.outcomes is not None and self.labels is not None:
                listener(self.labels, found)
        if not self.box.cache_size:
            return
        self.cache.update(found)
        self._drop_oldest(self.cache)
        if self.outcomes is not None:
            self.outcomes.update((key, answer.outcome) for key, answer in found.items() if answer.outcome is not None)
            self._drop_oldest(self.outcomes)

    def _drop_oldest(self, cache: dict[bytes, Any]) -> None:
        """Remove the oldest entries if there are too many, and a tenth of the others with them.

        To find the oldest entry of a dictionary takes time in proportion to the number of those removed before.
        """
        size = self.box.cache_size
        if len(cache) > size:
            for key in list(islice(cache, len(cache) - size + size // 10)):
                del cache[key]

    def _query(self, keys: list[bytes], states: Floats, rows: npt.NDArray[np.integer]) -> dict[bytes, Answer]:
        """Answers in the order of the distinct `keys`; if the model fails, answers of earlier batches are stored."""
        found: dict[bytes, Answer] = {}
        while len(found) < len(keys):
            batch = slice(len(found), len(found) + self.box._rows_per_call)
            started = self.box.clock()
            part = dict(zip(keys[batch], self._query_batch(states[batch], rows[batch]), strict=True))
            self.box._timer.record(len(part), self.box.clock() - started)
            self._store(part)
            found |= part
        return found

    def _query_batch(self, states: Floats, rows: npt.NDArray[np.integer]) -> list[Answer]:
        """Call the model once: answers [n] for `states` [n, F]."""
        model, decision = self.box.model, self.decision
        self.box.queries += len(states)
        on_states = getattr(model, "labels_of_states", None)
        scores: Floats | None = None
        labels: npt.NDArray[Any] | None = None
        if on_states is not None and decision.threshold is None and model.features == self.people.features:  # type: ignore[attr-defined]
            labels = on_states(states)
            scores_of_states = getattr(model, "scores_of_states", None)
            if self.with_scores and scores_of_states is not None:
                scores = scores_of_states(states, decision.favourable)
        else:
            frame = self.box._as_trained(self.people.frame(states, rows), self._spelled)
            with _dtype_hint(frame, self.box):
                if decision.threshold is not None:
                    decisions, scores = decision.answers_and_scores(model, frame)
                elif self.box._scoreless or not self.with_scores:
                    labels = model.labels(frame)
                else:
                    labels, scores = decision.labels_and_scores(model, frame)
                    self.box._scoreless = scores is None
        outcomes: list[str] | None = None
        if labels is not None and self.outcomes is not None:
            outcomes = decision.outcomes_of(labels, model.name, len(states))
            decisions = np.array([outcome in decision.favourable for outcome in outcomes], bool)
        elif labels is not None:
            decisions = decision.from_labels(labels, model.name, len(states))
        if scores is None and outcomes is None:
            return [PLAIN_ANSWERS[favourable] for favourable in decisions.tolist()]
        known = repeat(None) if scores is None else (s if math.isfinite(s) else None for s in scores.tolist())
        return [Answer(*all_) for all_ in zip(decisions.tolist(), known, outcomes or repeat(None), strict=False)]


def _hashed(values: Floats) -> npt.NDArray[np.uint64]:
    """A hash [n] of the rows of `values` [n, M]; equal rows of bytes have equal ones."""
    factors = np.random.default_rng(0).integers(2**64, size=values.shape[1], dtype=np.uint64) | np.uint64(1)
    hashed: npt.NDArray[np.uint64] = (values.view(np.uint64) * factors).sum(axis=1, dtype=np.uint64)
    return hashed


@contextmanager
def _dtype_hint(frame: pd.DataFrame, box: BlackBox) -> Iterator[None]:
    """Append a hint to the errors of a model that does not accept the texts in a table."""
    try:
        yield
    except ModelError as error:
        texts = [name for name in frame.columns if uses_column(box.model, name) and holds_texts(frame[name])]
        unknown = [text_of(name) for name in texts if text_of(name) not in box.dtypes]
        if not unknown or "dtypes=" in str(error) or not any(word in str(error) for word in _DTYPE_WORDS):
            raise
        raise ModelError(
            f"{error}. The columns {listed(unknown)} hold texts: if the model was trained on other dtypes, pass them "
            "as dtypes=, or on the command line a Parquet file of its training data as --like FILE"
        ) from error
