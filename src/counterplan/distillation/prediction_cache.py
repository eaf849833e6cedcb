"""Cache of a surrogate's predictions: a policy search evaluates the same final states of people many times."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from counterplan.problem import Problem
from counterplan.problem.transitions import Floats, Ints
from counterplan.search.state_keys import StateKeys

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
"""Odd, 2^64 divided by the golden ratio: the high bits of a product with it are a hash."""


GROUPS = 4
"""People are assigned to this many groups, which can be evaluated on different threads."""


def groups_of(person: Ints) -> list[Ints]:
    """Rows of the people `person` [n] in each group that has any."""
    group = person % GROUPS
    return [rows for number in range(GROUPS) if len(rows := np.flatnonzero(group == number))]


class PredictionCache:
    """Log odds of states that people at `starts` [B, F] can reach, by `logit`.

    Each group of people has a cache of its own, so that groups can be evaluated on different threads, with the same
    results as on one: the rounding of `logit` may depend on the states that are evaluated together.
    """

    def __init__(self, problem: Problem, starts: Floats, logit: Callable[[Floats], Floats], bits: int = 22) -> None:
        self._tables = [_Table(StateKeys(problem, starts), logit, max(1, bits - 2)) for _ in range(GROUPS)]

    def __call__(self, person: Ints, states: Floats) -> Floats:
        """Log odds [n] that `states` [n, F] of the people `person` [n] are favourable."""
        odds = np.empty(len(person))
        for rows in groups_of(person):
            odds[rows] = self._tables[person[rows[0]] % GROUPS](person[rows], states[rows])
        return odds


class _Table:
    """A direct-mapped cache of 2 to the power of `bits` states: a state has one place, where it replaces the state
    before it. Lookups need no sorting, and memory is bounded.
    """

    def __init__(self, keys: StateKeys, logit: Callable[[Floats], Floats], bits: int) -> None:
        self._keys = keys
        self._logit = logit
        self._shift = np.uint64(64 - bits)
        self._key = np.zeros(1 << bits, np.int64)
        """The key of the state at each place, from 1; 0 if there is none."""
        self._odds = np.empty(1 << bits)
        self._row = np.empty(1 << bits, np.int32)

    def __call__(self, person: Ints, states: Floats) -> Floats:
        """Log odds [n] that `states` [n, F] of the people `person` [n] are favourable."""
        key = self._keys(person, states) + 1
        place = (key.view(np.uint64) * _MULTIPLIER >> self._shift).astype(np.intp)
        odds = self._odds[place]
        missed = np.flatnonzero(self._key[place] != key)
        if len(missed):
            odds[missed] = self._evaluate(states, missed, key[missed], place[missed])
        return odds

    def _evaluate(self, states: Floats, missed: Ints, key: Ints, place: Ints) -> Floats:
        """Log odds [m] of the states at `missed` [m], each evaluated once; they are added at `place` [m]."""
        rows = np.arange(len(missed), dtype=np.int32)
        self._row[place] = rows
        owner = self._row[place]  # one row for each place
        same = key[owner] == key
        evaluated = np.flatnonzero((owner == rows) | ~same)
        odds = np.empty(len(missed))
        odds[evaluated] = self._logit(states[missed[evaluated]])
        odds = np.where(same, odds[owner], odds)
        kept = np.flatnonzero(owner == rows)
        self._key[place[kept]], self._odds[place[kept]] = key[kept], odds[kept]
        return odds
