"""The black box as worker processes see it: queries are sent by the process that started them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from counterplan.blackbox import Answer, BlackBox, OracleSession
from counterplan.errors import SettingError
from counterplan.models.protocol import ModelDescription, columns_of
from counterplan.problem import People, Problem
from counterplan.problem.transitions import Floats, Ints


class BoxSpec(NamedTuple):
    """What a worker has to know about a black box."""

    favourable: frozenset[str] | None
    threshold: float | None
    cache_size: int
    name: str
    columns: list[str] | None
    """Columns that the model was trained on, if known."""
    seconds_per_row: float | None

    @classmethod
    def of(cls, box: BlackBox) -> BoxSpec:
        """The description of `box`."""
        columns = columns_of(box.model)
        given = None if columns is None else list(columns)
        return cls(box.given_favourable, box.threshold, box.cache_size, box.model.name, given, box.marginal_seconds)


class Query(NamedTuple):
    """States [n, F] of the people `rows` [n] that a worker asks for, with scores or without."""

    states: Floats
    rows: Ints
    scores: bool


class RemoteBox(BlackBox):
    """A black box in a worker: it caches answers, and passes other queries on to the process that started it."""

    def __init__(self, spec: BoxSpec) -> None:
        super().__init__(
            ModelDescription(spec.name, spec.columns),
            spec.favourable,
            threshold=spec.threshold,
            cache_size=spec.cache_size,
        )
        self.seconds_per_row = spec.seconds_per_row

    def session(self, problem: Problem, people: People, *, scores: bool = False) -> OracleSession:
        """See `BlackBox.session`."""
        return _RemoteSession(self, problem, people, scores=scores)

    def _called(self, rows: int, seconds: float) -> None:
        """Calls are timed where they are made."""


class _RemoteSession(OracleSession):
    """A session whose queries are sent by another process."""

    def _query_batch(self, states: Floats, rows: npt.NDArray[np.integer]) -> list[Answer]:
        if self.people.source_rows is None:
            raise SettingError("a planner that queries other people than those given to it cannot use several jobs")
        found: list[Answer] = _request(Query(states, self.people.source_rows[rows], self.with_scores))
        return found


def _no_worker(query: Any) -> Any:
    raise AssertionError("queries are passed on in worker processes only")


_request: Callable[[Any], Any] = _no_worker


def set_request(request: Callable[[Any], Any]) -> None:
    """In a worker process: set the function that sends a query, and returns the answers."""
    global _request
    _request = request


class PeopleChunk(NamedTuple):
    """Some people of a task for a worker, and the cached answers about them as they are, by query key."""

    people: People
    known: dict[bytes, Answer]

    @property
    def rows(self) -> Ints:
        """[n] row numbers of these people in the task."""
        assert self.people.source_rows is not None
        return np.asarray(self.people.source_rows, np.intp)


def people_chunks(box: BlackBox, problem: Problem, people: People, size: int) -> list[PeopleChunk]:
    """Split `people` into chunks of at most `size`."""
    everybody = np.arange(len(people))
    session = box.session(problem, people)
    keys, answers = session.keys(people.states, everybody), session.cached(people.states, everybody)
    chunks = []
    for first in range(0, len(people), size):
        rows = everybody[first : first + size]
        known = {keys[row]: answer for row in rows.tolist() if (answer := answers[row]) is not None}
        chunks.append(PeopleChunk(replace(people.take(rows), source_rows=rows), known))
    return chunks


def answering(box: BlackBox, problem: Problem, people: People) -> Callable[[Query], list[Answer]]:
    """A function that answers the queries of workers about `people`, whose `source_rows` are their row numbers."""
    sessions: dict[bool, OracleSession] = {}

    def answer(query: Query) -> list[Answer]:
        if query.scores not in sessions:
            sessions[query.scores] = box.session(problem, people, scores=query.scores)
        return sessions[query.scores].answers(query.states, query.rows)

    return answer
