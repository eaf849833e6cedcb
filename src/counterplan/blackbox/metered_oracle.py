"""`MeteredOracle`: a session with a budget of its own, and the number of queries about each person."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import numpy as np

from counterplan.blackbox.query_budget import QueryBudgetExceeded
from counterplan.blackbox.session import OracleSession
from counterplan.problem.transitions import Bools, Floats, Ints


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
