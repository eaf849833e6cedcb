"""Metered access to a classifier: every query is counted, cached, batched and limited by a budget."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import islice, repeat
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import pandas as pd

from counterplan.errors import CounterplanError, ModelError, SettingError
from counterplan.models import Model, adapt, uses_column
from counterplan.models.decision import Decision
from counterplan.models.identity import digest_of, identity_of
from counterplan.problem import People, PeopleTable, Problem
from counterplan.problem.dtypes import Dtypes, holds_texts, read_dtypes
from counterplan.problem.frames import as_dtypes
from counterplan.problem.natives import as_natives, native_type
from counterplan.problem.parts import Feature
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.problem.values import Native, listed, text_of

CACHE_SIZE = 500_000
_CALL_SECONDS = 2.0
"""Target duration of one call of the model while answers are recorded."""
_OVERHEAD_SECONDS = 0.01
"""Duration of a call that is not attributed to its rows."""
_KEYS_AT_ONCE = 2**16
"""Cached queries whose states are compared with people at once, which bounds the memory."""
_DTYPE_WORDS = ("dtype", "categor", "could not convert string")
"""Words in the message of a model that does not accept the dtypes of a table."""


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


_PLAIN = Answer(False), Answer(True)
"""Answers without a score, by decision: shared, because there may be very many."""

AnswerListener = Callable[[str, Mapping[bytes, Answer]], None]
"""Called with new answers: the `query_fingerprint` of their problem, and answers by query key.

If their outcomes are known, it is called once more with the `label_fingerprint`, which other targets share.
"""

QueryListener = Callable[[People, npt.NDArray[np.integer], list[bytes]], None]
"""Called with every query, cached or not: the people, their rows [n] and the query keys."""


class QueryBudgetExceeded(CounterplanError, RuntimeError):
    """The query budget of a black box is exhausted.

    Attributes
    ----------
    budget : int
        The budget of the black box.
    answers : ndarray of bool, shape (n,)
        The answers of the interrupted call; False where `known` is False.
    known : ndarray of bool, shape (n,)
        Which of the queries were answered.

    Examples
    --------
    >>> from counterplan import BlackBox, QueryBudgetExceeded, benchmarks
    >>> german = benchmarks.load("german")
    >>> box = BlackBox(german.model, budget=2)
    >>> try:
    ...     box.favourable(german.problem, german.refused_test.head(3))
    ... except QueryBudgetExceeded as error:
    ...     print(error)
    the budget of 2 queries to the black box is exhausted; 2 of the last 3 were answered
    """

    def __init__(self, budget: int, answers: Bools, known: Bools) -> None:
        super().__init__(
            f"the budget of {budget:,} queries to the black box is exhausted; "
            f"{int(known.sum()):,} of the last {len(known):,} were answered"
        )
        self.budget = budget
        self.answers = answers
        self.known = known


class BlackBox:
    """Query-counting, caching wrapper around a classifier.

    Parameters
    ----------
    model : object
        A callable on a DataFrame, an estimator with scikit-learn's interface, a booster, an MLflow model or its URI,
        the path of an ONNX file, a URL, or "MODULE:ATTR".
    favourable : str, number, bool or a collection of them, optional
        The favourable outcome or outcomes. Defaults to those of the problem.
    threshold : float, optional
        If given, an answer is favourable if the model's score (or probability of the favourable outcomes) is at
        least this; otherwise the predicted label decides. If the problem has favourable scores in place of labels, it
        replaces their limit.
    budget : int, optional
        Most rows ever sent to the model. Exceeding it raises `QueryBudgetExceeded`.
    cache_size : int, default 500_000
        Most answers cached per problem; 0 disables the cache.
    batch : int, optional
        Most rows in one call of the model.
    dtypes : mapping of str to dtype, or DataFrame, optional
        Dtypes of columns that the model expects, for instance the table that it was trained on. They take precedence
        over those that the model itself knows (`Model.dtypes`). People are cast to them before every query.
    clock : callable, default time.perf_counter
        Returns seconds since some moment, to time the calls of the model.

    Attributes
    ----------
    queries : int
        Number of rows sent to the model.
    cached : int
        Number of cache hits.
    clock : callable
        Returns seconds since some moment.

    Raises
    ------
    ModelError
        If the model cannot be used.
    SettingError
        If another parameter is invalid.

    Examples
    --------
    >>> from counterplan import BlackBox, benchmarks
    >>> german = benchmarks.load("german")
    >>> box = BlackBox(german.model)
    >>> box.favourable(german.problem, german.refused_test.head(3))
    array([False, False, False])
    >>> box.queries, box.cached
    (3, 0)
    """

    def __init__(
        self,
        model: object,
        favourable: Native | Collection[Native] | None = None,
        *,
        threshold: float | None = None,
        budget: int | None = None,
        cache_size: int = CACHE_SIZE,
        batch: int | None = None,
        dtypes: Dtypes | pd.DataFrame | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.model: Model = adapt(model)
        if favourable is None:
            self._favourable: frozenset[str] | None = None
        else:
            several = not isinstance(favourable, (str, bool, int, float)) and isinstance(favourable, Collection)
            self._favourable = frozenset(text_of(value) for value in (favourable if several else [favourable]))  # type: ignore[union-attr]
            if not self._favourable:
                raise SettingError("'favourable' is empty: name at least one favourable outcome")
        if threshold is not None and not (isinstance(threshold, (int, float)) and np.isfinite(threshold)):
            raise SettingError(f"'threshold' must be a finite number, not {threshold!r}")
        for name, number, least in (("budget", budget, 0), ("cache_size", cache_size, 0), ("batch", batch, 1)):
            if number is not None and not (isinstance(number, (int, np.integer)) and number >= least):
                raise SettingError(f"'{name}' must be an integer of at least {least}, not {number!r}")
        self.threshold = None if threshold is None else float(threshold)
        self._dtypes = read_dtypes(dtypes)
        self.budget = budget
        self.cache_size = cache_size
        self.batch = min(batch, self.model.batch) if batch else self.model.batch
        self.queries = 0
        self.cached = 0
        self.clock = clock
        self._timed_rows, self._timed_seconds, self._timed_overhead = 0, 0.0, 0.0
        """Rows that the model has answered, how long its calls took, and how much of that does not depend on rows."""
        self._known_speed: float | None = None
        self._identity: str | None = None
        self._answer_listeners: list[AnswerListener] = []
        self._query_listeners: list[QueryListener] = []
        self._fast_rows = 32
        """Rows that the model answers within `_CALL_SECONDS`, estimated from earlier calls."""
        self._scoreless = False
        """Whether the model is known to give no scores."""
        self._caches: dict[str, dict[bytes, Answer]] = {}
        """Answers by query key, for each `query_fingerprint` of a problem."""
        self._outcomes: dict[str, dict[bytes, str]] = {}
        """Outcomes by query key, for each `label_fingerprint` of a problem: they serve any target."""

    def fresh(self) -> BlackBox:
        """Return a black box of the same model, threshold, outcomes and dtypes, without a budget or any answers."""
        return BlackBox(self.model, self._favourable, threshold=self.threshold, batch=self.batch, dtypes=self._dtypes)

    @property
    def given_favourable(self) -> frozenset[str] | None:
        """The favourable outcomes given, or None for those of the problem."""
        return self._favourable

    @property
    def dtypes(self) -> dict[str, Any]:
        """Dtypes that people are cast to before a query, by column: those given, and those that the model knows."""
        return read_dtypes(getattr(self.model, "dtypes", None)) | self._dtypes

    def _as_trained(self, frame: pd.DataFrame, spelled: Sequence[Feature] = ()) -> pd.DataFrame:
        """Cast a table of people to the given dtypes, to those that the model knows, and `spelled` to the problem's.

        A value that is not among the categories is an error, unless the model accepts others than it knows
        (`closed_categories` is False).
        """
        cast = as_dtypes(frame, self._dtypes)
        if spelled:
            columns = {text_of(column): column for column in cast.columns}
            cast = cast.copy()
            for feature in spelled:
                cast[columns[feature.name]] = as_natives(cast[columns[feature.name]], feature)
        if getattr(self.model, "casts", False):  # to the dtypes that it knows, in the way of its package
            return cast
        known = {name: dtype for name, dtype in self.dtypes.items() if name not in self._dtypes}
        return as_dtypes(cast, known, closed=getattr(self.model, "closed_categories", True))

    @property
    def remaining_budget(self) -> int | None:
        """Number of rows that may still be sent to the model; None without a budget."""
        return None if self.budget is None else max(0, self.budget - self.queries)

    @property
    def seconds_per_row(self) -> float | None:
        """Mean time in which the model answered one row so far; None if it is not known.

        Assign a value that was measured before, to be used until the model is called.
        """
        return self._timed_seconds / self._timed_rows if self._timed_rows else self._known_speed

    @seconds_per_row.setter
    def seconds_per_row(self, seconds: float | None) -> None:
        self._known_speed = seconds

    @property
    def marginal_seconds(self) -> float | None:
        """Estimated time in which the model answers one more row in a call; None if it is not known.

        Up to 10 ms of each call, but no more than nine tenths, do not count: conversions, lazy imports, a connection.
        """
        if not self._timed_rows:
            return self._known_speed
        return (self._timed_seconds - self._timed_overhead) / self._timed_rows

    @property
    def model_id(self) -> str:
        """Description of this black box: name and content digest of the model, threshold and favourable outcomes.

        The content is hashed on first access. Use `is_model` to compare descriptions: the name does not matter.
        """
        content = f" ({self._content()})" if self._content() else ""
        threshold = "" if self.threshold is None else f", threshold {self.threshold!r}"
        return f"{self.model.name}{content}{threshold}{_listed_outcomes(self._favourable)}"

    def is_model(self, model_id: str, problem: Problem) -> bool:
        """Return whether a black box described by `model_id` makes the same decisions about people of `problem`.

        Parameters
        ----------
        model_id : str
            The `model_id` of a black box, for instance from a file of answers.
        problem : Problem
            Its favourable outcomes are the default of both black boxes.

        Returns
        -------
        bool
            Whether the content of the model, the threshold and the favourable outcomes are the same. The name counts
            only if the content is unknown.

        Examples
        --------
        >>> from counterplan import BlackBox, benchmarks
        >>> german = benchmarks.load("german")
        >>> box = BlackBox(german.model)
        >>> box.is_model(BlackBox(german.model).model_id, german.problem)
        True
        >>> box.is_model(BlackBox(german.model, threshold=0.9).model_id, german.problem)
        False
        """
        favourable = self.decision(problem).favourable
        endings = [_listed_outcomes(favourable)]
        if favourable == problem.outcome.favourable:
            endings.append("")
        if self.threshold is not None:
            spelled = {repr(self.threshold), f"{self.threshold:.0f}" if self.threshold.is_integer() else ""} - {""}
            endings = [f", threshold {text}{ending}" for text in spelled for ending in endings]
        if content := self._content():
            return any(model_id.endswith(f" ({content}){ending}") for ending in endings)
        return model_id in [f"{self.model.name}{ending}" for ending in endings]

    def _content(self) -> str:
        """Digest of the model's content; empty if it is unknown."""
        if self._identity is None:
            self._identity = identity_of(self.model)
        return self._identity

    def favourable_outcomes(self, problem: Problem) -> frozenset[str]:
        """Return the outcomes of `problem` that count as favourable: those given, by default those of the problem.

        Raises
        ------
        ModelError
            If a given one is not an outcome of the problem.
        """
        return self.decision(problem).favourable

    def fingerprint(self, problem: Problem) -> str:
        """Return a short digest of the decision function for `problem`.

        It covers the model's content (its name if the content is unknown), the threshold and the favourable outcomes,
        and discloses nothing else about the model.

        Parameters
        ----------
        problem : Problem
            The problem, which names the favourable outcomes.

        Returns
        -------
        str
            The digest.

        Examples
        --------
        >>> from counterplan import BlackBox, benchmarks
        >>> german = benchmarks.load("german")
        >>> box, strict = BlackBox(german.model), BlackBox(german.model, threshold=0.9)
        >>> len(box.fingerprint(german.problem))
        12
        >>> box.fingerprint(german.problem) == strict.fingerprint(german.problem)
        False
        """
        parts = [self._content() or self.model.name, *self.decision(problem).parts]
        return digest_of([part.encode() for part in parts])

    def wrap(self, model: object) -> BlackBox:
        """Return a black box of another model with the same threshold, favourable outcomes and dtypes.

        Parameters
        ----------
        model : object
            A model; a `BlackBox` is returned unchanged.

        Returns
        -------
        BlackBox

        Examples
        --------
        >>> from counterplan import BlackBox, benchmarks
        >>> german = benchmarks.load("german")
        >>> box = BlackBox(german.model, threshold=0.33)
        >>> other = box.wrap(lambda people: people["age"] / 100)
        >>> german.test["age"].head(5).tolist()
        [32, 43, 30, 36, 35]
        >>> other.favourable(german.problem, german.test.head(5)).tolist()
        [False, True, False, True, True]
        """
        if isinstance(model, BlackBox):
            return model
        return BlackBox(model, self._favourable, threshold=self.threshold, dtypes=self._dtypes)

    def member_fingerprints(self, problem: Problem) -> tuple[str, ...]:
        """Return the fingerprints of the models that this black box is made of, if these are several."""
        return ()

    def decision(self, problem: Problem) -> Decision:
        """Return the rule by which outputs of the model are favourable for `problem`; ModelError if there is none."""
        return Decision.of(problem.outcome, self._favourable, self.threshold)

    def require_target(self, problem: Problem) -> None:
        """Raise a SettingError unless the favourable outcomes of `problem`, a target, decide alone."""
        if self.threshold is not None:
            raise SettingError(
                f"a target is reached by the label of the model; this black box has a threshold of {self.threshold:g}"
            )
        if self._favourable is not None and self._favourable != problem.outcome.favourable:
            raise SettingError(
                f"this black box has favourable outcomes of its own ({listed(sorted(self._favourable))}); for targets, "
                "create it without 'favourable'"
            )

    def _outcomes_of(self, problem: Problem) -> dict[bytes, str] | None:
        """The outcomes known for `problem`, by query key; None if only decisions are cached."""
        if problem.label_fingerprint is None or self.threshold is not None:
            return None
        return self._outcomes.setdefault(problem.label_fingerprint, {})

    def session(self, problem: Problem, people: People, *, scores: bool = False) -> OracleSession:
        """Return a callable that queries states of `people`.

        Parameters
        ----------
        problem : Problem
            The problem that the states belong to.
        people : People
            The people whose changed states are queried.
        scores : bool, default=False
            Whether to obtain the model's scores, if it gives any, along with its decisions. A query is one row in
            either case.

        Returns
        -------
        OracleSession
        """
        return OracleSession(self, problem, people, scores=scores)

    def favourable(self, problem: Problem, people: PeopleTable | People) -> Bools:
        """Query the current states of `people`.

        Parameters
        ----------
        problem : Problem
            The problem that describes the features of `people`.
        people : DataFrame or People
            B people.

        Returns
        -------
        ndarray of bool, shape (B,)
            Whether the decision about each person is favourable.

        Raises
        ------
        QueryBudgetExceeded
            If the budget does not suffice.

        Examples
        --------
        >>> from counterplan import BlackBox, benchmarks
        >>> german = benchmarks.load("german")
        >>> BlackBox(german.model).favourable(german.problem, german.test.head(5)).tolist()
        [True, True, True, True, False]
        >>> BlackBox(german.model, threshold=0.9).favourable(german.problem, german.test.head(5)).tolist()
        [False, False, False, False, False]
        """
        read = problem.read(people)
        return self.session(problem, read)(read.states, np.arange(len(read)))

    def cached_answers(self, problem: Problem) -> dict[bytes, Answer]:
        """Return a copy of the cached answers for `problem`, by query key.

        Parameters
        ----------
        problem : Problem
            The problem that was queried about.

        Returns
        -------
        dict of bytes to Answer
            Decision and score, by query key.

        Examples
        --------
        >>> from counterplan import BlackBox, benchmarks
        >>> german = benchmarks.load("german")
        >>> box = BlackBox(german.model)
        >>> _ = box.favourable(german.problem, german.refused_test.head(3))
        >>> [answer.favourable for answer in box.cached_answers(german.problem).values()]
        [False, False, False]
        """
        answers = dict(self._caches.get(problem.query_fingerprint, {}))
        if outcomes := self._outcomes_of(problem):
            favourable = self.decision(problem).favourable
            for key, outcome in outcomes.items():
                score = answers[key].score if key in answers else None
                answers[key] = Answer(outcome in favourable, score, outcome)
        return answers

    def add_to_cache(self, problem: Problem, answers: Mapping[bytes, Answer | bool]) -> None:
        """Cache `answers` of earlier runs for `problem`, by query key as in `cached_answers`; a known score is kept.

        Parameters
        ----------
        problem : Problem
            The problem that was queried about.
        answers : mapping of bytes to Answer or bool
            Decision, with or without a score, by query key.

        Examples
        --------
        >>> from counterplan import BlackBox, benchmarks
        >>> german = benchmarks.load("german")
        >>> first, second = BlackBox(german.model), BlackBox(german.model)
        >>> _ = first.favourable(german.problem, german.refused_test.head(3))
        >>> second.add_to_cache(german.problem, first.cached_answers(german.problem))
        >>> _ = second.favourable(german.problem, german.refused_test.head(3))
        >>> second.queries, second.cached
        (0, 3)
        """
        cache = self._caches.setdefault(problem.query_fingerprint, {})
        outcomes = self._outcomes_of(problem)
        for key, given in answers.items():
            answer = given if isinstance(given, Answer) else _PLAIN[given]
            if answer.score is not None or key not in cache or cache[key].favourable != answer.favourable:
                cache[key] = answer
            if outcomes is not None and answer.outcome is not None:
                outcomes[key] = answer.outcome

    def clear_cache(self) -> None:
        """Drop every cached answer, for example after the model has changed. The counters continue.

        Examples
        --------
        >>> from counterplan import BlackBox, benchmarks
        >>> german = benchmarks.load("german")
        >>> box = BlackBox(german.model)
        >>> _ = box.favourable(german.problem, german.refused_test.head(3))
        >>> box.clear_cache()
        >>> _ = box.favourable(german.problem, german.refused_test.head(3))
        >>> box.queries, box.cached
        (6, 0)
        """
        self._identity = None
        for cache in self._caches.values():
            cache.clear()
        for outcomes in self._outcomes.values():
            outcomes.clear()

    @contextmanager
    def temporary_cache(self) -> Iterator[None]:
        """Within this context, use and extend a copy of the cache, which is dropped at the end.

        Examples
        --------
        >>> from counterplan import BlackBox, benchmarks
        >>> german = benchmarks.load("german")
        >>> box = BlackBox(german.model)
        >>> with box.temporary_cache():
        ...     _ = box.favourable(german.problem, german.refused_test.head(3))
        >>> len(box.cached_answers(german.problem)), box.queries
        (0, 3)
        """
        before = self._caches, self._outcomes
        self._caches = {problem: cache.copy() for problem, cache in self._caches.items()}
        self._outcomes = {problem: outcomes.copy() for problem, outcomes in self._outcomes.items()}
        try:
            yield
        finally:
            self._caches, self._outcomes = before

    @contextmanager
    def recording(self, listener: AnswerListener) -> Iterator[None]:
        """Within this context, call `listener` with every new answer as soon as it arrives.

        Parameters
        ----------
        listener : callable
            Called with the `query_fingerprint` of the problem and the answers, by query key.

        Examples
        --------
        >>> from counterplan import BlackBox, benchmarks
        >>> german = benchmarks.load("german")
        >>> box, recorded = BlackBox(german.model), {}
        >>> with box.recording(lambda fingerprint, answers: recorded.update(answers)):
        ...     _ = box.favourable(german.problem, german.refused_test.head(3))
        >>> len(recorded)
        3
        """
        self._answer_listeners.append(listener)
        try:
            yield
        finally:
            self._answer_listeners.remove(listener)

    @contextmanager
    def observing(self, listener: QueryListener) -> Iterator[None]:
        """Within this context, call `listener` with every query, including cache hits.

        Parameters
        ----------
        listener : callable
            Called with the people, their rows [n] and the query keys of each batch.

        Examples
        --------
        >>> from counterplan import BlackBox, benchmarks
        >>> german = benchmarks.load("german")
        >>> box, counts = BlackBox(german.model), []
        >>> with box.observing(lambda people, rows, keys: counts.append(len(keys))):
        ...     _ = box.favourable(german.problem, german.refused_test.head(3))
        ...     _ = box.favourable(german.problem, german.refused_test.head(3))
        >>> counts, box.queries
        ([3, 3], 3)
        """
        self._query_listeners.append(listener)
        try:
            yield
        finally:
            self._query_listeners.remove(listener)

    @property
    def _rows_per_call(self) -> int:
        """Most rows in one call; while answers are recorded, few enough that a killed process loses little."""
        return min(self.batch, self._fast_rows) if self._answer_listeners else self.batch

    def _called(self, rows: int, seconds: float) -> None:
        """Record the duration of a call, and how many rows the model is expected to answer in `_CALL_SECONDS`."""
        self._timed_rows += rows
        self._timed_seconds += seconds
        self._timed_overhead += min(_OVERHEAD_SECONDS, 0.9 * seconds)
        if seconds > 2 * _CALL_SECONDS:
            self._fast_rows = max(1, int(rows * _CALL_SECONDS / seconds))
        elif seconds < _CALL_SECONDS / 2 and rows == self._fast_rows:
            self._fast_rows *= 2

    def __repr__(self) -> str:
        return f"BlackBox({self.model.name}: {self.queries:,} queries, {self.cached:,} cache hits)"


def join_keys(keys: Collection[bytes]) -> tuple[Ints, npt.NDArray[np.uint8]]:
    """Serialize query keys to two arrays: their lengths [n], and their concatenated bytes."""
    return np.array([len(key) for key in keys], np.intp), np.frombuffer(b"".join(keys), np.uint8)


def split_keys(lengths: Ints, keys: npt.NDArray[np.uint8]) -> list[bytes]:
    """Invert `join_keys`."""
    raw, ends = keys.tobytes(), np.cumsum(lengths).tolist()
    return [raw[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def _hashed(values: Floats) -> npt.NDArray[np.uint64]:
    """A hash [n] of the rows of `values` [n, M]; equal rows of bytes have equal ones."""
    factors = np.random.default_rng(0).integers(2**64, size=values.shape[1], dtype=np.uint64) | np.uint64(1)
    hashed: npt.NDArray[np.uint64] = (values.view(np.uint64) * factors).sum(axis=1, dtype=np.uint64)
    return hashed


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
            self.box._called(len(part), self.box.clock() - started)
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
            return [_PLAIN[favourable] for favourable in decisions.tolist()]
        known = repeat(None) if scores is None else (s if math.isfinite(s) else None for s in scores.tolist())
        return [Answer(*all_) for all_ in zip(decisions.tolist(), known, outcomes or repeat(None), strict=False)]


class KnownKeys(Protocol):
    """Query keys that count as already queried, to which new answers are added."""

    def __contains__(self, key: bytes, /) -> bool: ...

    def update(self, answers: Iterable[tuple[bytes, bool]], /) -> None:
        """Add answers by query key."""


class MeteredOracle:
    """Oracle with a budget of its own that counts new queries per person and never raises `QueryBudgetExceeded`.

    Parameters
    ----------
    session : OracleSession
        The session to query.
    people : int
        Number of people, B.
    budget : int, optional
        Most new queries in all.
    known_answers : dict or KnownKeys, optional
        Answers by query key that count as already queried; new answers are added to it. By default a query is new
        if the black box has not cached it.

    Attributes
    ----------
    count : ndarray of int, shape (B,)
        Number of new queries per person.
    exhausted : bool
        Whether this budget, or that of the black box, did not suffice for a query.
    """

    def __init__(
        self,
        session: OracleSession,
        people: int,
        budget: int | None = None,
        known_answers: KnownKeys | None = None,
    ) -> None:
        self.count: Ints = np.zeros(people, np.intp)
        self.exhausted = False
        self._session = session
        self._budget = budget
        self._known_answers = known_answers

    def __call__(self, states: Floats, rows: Ints) -> Bools:
        """Return whether `states` [n, F] of the people `rows` [n] are known to be favourable."""
        return self.query(states, rows)[0]

    def query(self, states: Floats, rows: Ints) -> tuple[Bools, Bools]:
        """Return the answers [n], False where unknown, and which of them are known [n].

        Parameters
        ----------
        states : array of shape [n, F]
            The states.
        rows : int array of shape [n]
            The person of each state.

        Returns
        -------
        answers, known : bool arrays of shape [n]
        """
        keys = self._session.keys(states, rows)
        known_keys = self._known_answers
        if known_keys is None:
            before = [answer is not None for answer in self._session.lookup(keys)]
        else:
            before = [key in known_keys for key in keys]
        first = {key: i for i, key in reversed(list(enumerate(keys)))}
        new = np.array([not before[i] and first[key] == i for i, key in enumerate(keys)], bool)
        remaining = np.inf if self._budget is None else self._budget - int(self.count.sum())
        beyond = {keys[i] for i in np.flatnonzero(new & (np.cumsum(new) > remaining))}
        within = np.array([key not in beyond for key in keys], bool)
        answers, known = np.zeros(len(rows), bool), within.copy()
        self.exhausted |= bool(beyond)
        try:
            answers[within] = self._session(states[within], rows[within])
        except QueryBudgetExceeded as stop:
            self.exhausted = True
            answers[within], known[within] = stop.answers, stop.known
        np.add.at(self.count, rows, new & known)
        if self._known_answers is not None:
            self._known_answers.update((keys[i], bool(answers[i])) for i in np.flatnonzero(new & known))
        return answers & known, known

    def known_scores(self, states: Floats, rows: Ints) -> Floats:
        """See `OracleSession.known_scores`."""
        return self._session.known_scores(states, rows)


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


def _listed_outcomes(favourable: frozenset[str] | None) -> str:
    return "" if favourable is None else f", favourable {', '.join(sorted(favourable))}"
