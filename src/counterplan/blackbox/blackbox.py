"""`BlackBox`: every query is counted, cached, batched and limited by a budget."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from counterplan.blackbox.answers import PLAIN_ANSWERS, Answer
from counterplan.blackbox.call_timer import CallTimer
from counterplan.blackbox.session import OracleSession
from counterplan.errors import SettingError
from counterplan.models import Model, adapt
from counterplan.models.decision import Decision
from counterplan.models.identity import digest_of, identity_of
from counterplan.problem import People, PeopleTable, Problem
from counterplan.problem.dtypes import Dtypes, read_dtypes
from counterplan.problem.frames import as_dtypes
from counterplan.problem.natives import as_natives
from counterplan.problem.parts import Feature
from counterplan.problem.transitions import Bools
from counterplan.problem.values import Native, listed, text_of

CACHE_SIZE = 500_000

AnswerListener = Callable[[str, Mapping[bytes, Answer]], None]
"""Called with new answers: the `query_fingerprint` of their problem, and answers by query key.

If their outcomes are known, it is called once more with the `label_fingerprint`, which other targets share.
"""

QueryListener = Callable[[People, npt.NDArray[np.integer], list[bytes]], None]
"""Called with every query, cached or not: the people, their rows [n] and the query keys."""


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
        self._timer = CallTimer()
        self._identity: str | None = None
        self._answer_listeners: list[AnswerListener] = []
        self._query_listeners: list[QueryListener] = []
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
        return self._timer.seconds_per_row

    @seconds_per_row.setter
    def seconds_per_row(self, seconds: float | None) -> None:
        self._timer.seconds_per_row = seconds

    @property
    def marginal_seconds(self) -> float | None:
        """Estimated time in which the model answers one more row in a call; None if it is not known.

        Up to 10 ms of each call, but no more than nine tenths, do not count: conversions, lazy imports, a connection.
        """
        return self._timer.marginal_seconds

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
            A black box with its own counters and cache.

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
            Takes states [n, F] and the rows [n] of their people, and returns which states are favourable [n].
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
        >>> people = german.test.head(5)
        >>> BlackBox(german.model).favourable(german.problem, people).tolist()
        [True, True, True, True, False]
        >>> BlackBox(german.model, threshold=0.9).favourable(german.problem, people).tolist()
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
            answer = given if isinstance(given, Answer) else PLAIN_ANSWERS[given]
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
        return min(self.batch, self._timer.fast_rows) if self._answer_listeners else self.batch

    def __repr__(self) -> str:
        return f"BlackBox({self.model.name}: {self.queries:,} queries, {self.cached:,} cache hits)"


def _listed_outcomes(favourable: frozenset[str] | None) -> str:
    return "" if favourable is None else f", favourable {', '.join(sorted(favourable))}"
