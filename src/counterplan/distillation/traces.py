"""Successful traces of an agent with the search of the paper, which a program is to imitate."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from counterplan.agent import Agent
from counterplan.agent.search import SearchSettings, search
from counterplan.blackbox import BlackBox, MeteredOracle
from counterplan.problem import People, Problem
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.program import Program
from counterplan.search.synthetic import synthesize

FIRST = 50
"""Traces of people drawn at random, before the first program."""
GROUP = 10
"""Traces that are added before the next program."""
TRIED = 100
"""Most people that a program is tried on to select those of a group."""
CANDIDATES = 4
"""Refused people to select from for each trace; synthetic ones are added if there are fewer."""


class Traces(NamedTuple):
    """n successful traces; those of real people come first."""

    starts: Floats
    """[n, F] initial states."""
    actions: Ints
    """[n, T] padded with NO_ACTION."""
    real: int
    """Number of traces of real people."""


class TraceSampler:
    """Samples traces of `agent` with the search `settings` for people like `people`, who are refused.

    Traces that the black box does not accept are discarded.
    """

    def __init__(
        self,
        problem: Problem,
        people: People,
        box: BlackBox,
        agent: Agent,
        settings: SearchSettings,
        random: np.random.Generator,
    ) -> None:
        self.problem, self.box, self.agent, self.settings, self.random = problem, box, agent, settings, random
        self.people, self.states, self.real = people, people.states, len(people)
        """`states` [n, F] of all candidates. After the first `real`, `people` are the donors of synthetic ones."""
        self.answers: dict[bytes, bool] = {}
        self.exhausted = False
        """Whether the query budget is spent."""

    @property
    def queries(self) -> int:
        """Number of different queries so far; cached answers are counted too."""
        return len(self.answers)

    def sample(
        self, wanted: int, fit: Callable[[Floats, Ints], Program], progress: Callable[[int, int], None]
    ) -> Traces:
        """At most `wanted` traces, each of a different person.

        After the first ones, failures of the program of all traces so far, made by `fit` from starts and actions, are
        preferred to other people. `progress` is called with the number of traces and `wanted`.
        """
        self._synthesize(CANDIDATES * wanted - self.real)
        left, program = self.random.permutation(len(self.states)), None
        rows, actions = np.zeros(0, np.intp), np.zeros((0, self.problem.max_actions), np.intp)
        while len(rows) < wanted and len(left) and not self.exhausted:
            size = min(FIRST if program is None else GROUP, wanted - len(rows))
            if program is not None:
                tried = self.random.permutation(left)[:TRIED]
                left = np.concatenate([tried[np.argsort(self._succeeds(program, tried), kind="stable")], left])
                left = left[np.sort(np.unique(left, return_index=True)[1])]
            group, left = left[:size], left[size:]
            found, plans = self._search(group)
            rows, actions = np.concatenate([rows, found]), np.concatenate([actions, plans])
            progress(len(rows), wanted)
            if len(rows) >= FIRST:
                program = fit(self.states[rows], actions)
        order = np.argsort(rows >= self.real, kind="stable")
        return Traces(self.states[rows[order]], actions[order], int((rows < self.real).sum()))

    def _synthesize(self, count: int) -> None:
        """Add at most `count` synthetic people; all are refused by the black box."""
        if count <= 0 or self.real < 2:
            return
        states, donors = synthesize(self.problem, self.people, 2 * count, self.random)
        favourable, known = self._oracle(self.people).query(states, donors)
        refused = np.flatnonzero(known & ~favourable)[:count]
        self.states = np.concatenate([self.states, states[refused]])
        self.people = self.people.take(np.concatenate([np.arange(self.real), donors[refused]]))

    def _oracle(self, people: People) -> MeteredOracle:
        return MeteredOracle(self.box.session(self.problem, people), len(people), known_answers=self.answers)

    def _succeeds(self, program: Program, rows: Ints) -> Bools:
        """Whether the plans of `program` for the candidates `rows` [n] are favourable."""
        run, succeeds = program.run(self.states[rows]), np.zeros(len(rows), bool)
        oracle, given = self._oracle(self.people.take(rows)), np.flatnonzero(run.stopped)
        succeeds[given] = oracle(run.states[given], given)
        self.exhausted |= oracle.exhausted
        return succeeds

    def _search(self, rows: Ints) -> tuple[Ints, Ints]:
        """The candidates among `rows` with a plan from the search, and their plans [n, T]."""
        oracle = self._oracle(self.people.take(rows))
        allowed = np.ones((len(rows), len(self.problem.transitions)), bool)
        outcome = search(self.agent, self.states[rows], allowed, oracle, self.settings)
        self.exhausted |= oracle.exhausted
        found = np.isfinite(outcome.cost)
        return rows[found], outcome.actions[found]
