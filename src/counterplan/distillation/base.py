"""What distillations of every form share: people held out, queries by purpose, and synthetic people."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from counterplan.agent import Agent
from counterplan.blackbox import BlackBox, QueryBudgetExceeded
from counterplan.errors import PeopleError
from counterplan.parallel import checked_jobs
from counterplan.planners import ExactPlanner, GuidedPlanner, Planner, SearchPlanner
from counterplan.problem import People, Problem
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.search.synthetic import synthesize
from counterplan.surrogate import Surrogate

HELD_BACK = 200
"""Most people held out for the trial, and at most a fifth of those there are."""

Progress = Callable[[str, int, int], None]
"""Called with the phase ("demonstrating", "distilling", "sampling", "trying"), the amount done and the total."""


class Distiller:
    """Base class: the people to distil from, the black box, and what was learned about it.

    `protected` is whether protected features may be used. `queries` is the number of queries of the fit, by method, of
    which `fitted` is the one that counts; `jobs` is the number of processes.
    """

    def __init__(
        self,
        problem: Problem,
        people: People,
        box: BlackBox,
        *,
        agent: Agent | None,
        surrogate: Surrogate | None,
        seed: int,
        protected: bool,
        fitted: str,
        progress: Progress,
        queries: Mapping[str, int] | None,
        jobs: int,
    ) -> None:
        self.jobs = checked_jobs(jobs)
        self.problem, self.box, self.agent, self.surrogate = problem, box, agent, surrogate
        self.progress = progress
        self.random = np.random.default_rng(seed)
        self.avoid = () if protected else tuple(f.index for f in problem.features if f.protected)
        self.queries = {"to_fit": queries[fitted]} if queries and fitted in queries else {}
        """By purpose; cached answers are counted too, so that the card does not depend on the cache."""
        self.model = box.fingerprint(problem)
        """Computed before any query: some models change as they answer."""
        self.people = people
        if not len(people):
            raise PeopleError("there is nobody to distil from: pass people refused by the model")

    def hold_out(self, rows: Ints) -> tuple[Ints, Ints]:
        """The people `rows` [n], split into those to learn from and those for the trial."""
        count = min(HELD_BACK, len(rows) // 5)
        shuffled = self.random.permutation(rows)
        return np.sort(shuffled[count:]), np.sort(shuffled[:count])

    def refused(self, people: People) -> tuple[Ints, int]:
        """The people [n] who are refused in their initial state, and how many could not be queried."""
        favourable, known = self.query("people_as_they_are", people, people.states, np.arange(len(people)))
        return np.flatnonzero(known & ~favourable), int((~known).sum())

    def query(self, purpose: str, people: People, states: Floats, rows: Ints) -> tuple[Bools, Bools]:
        """Query `states` [n, F] of the people `rows` [n]: what is favourable [n], and what is known [n]."""
        answers, known = np.zeros(len(rows), bool), np.ones(len(rows), bool)
        try:
            if len(rows):
                answers = self.box.session(self.problem, people)(states, rows)
        except QueryBudgetExceeded as stop:
            answers, known = stop.answers & stop.known, stop.known
        self.queries[purpose] = self.queries.get(purpose, 0) + len({state.tobytes() for state in states[known]})
        return answers, known

    def planner(self) -> Planner:
        """The best planner available to search for the least cost."""
        if self.surrogate is not None:
            return GuidedPlanner(self.problem, self.box, self.surrogate)
        if self.agent is not None:
            return SearchPlanner(self.problem, self.box, self.agent)
        return ExactPlanner(self.problem, self.box)

    def synthetic(self, count: int) -> Floats:
        """Synthetic people [n, F], with numbers rounded to about three digits, as people tell them."""
        states, _ = synthesize(self.problem, self.people, count, self.random)
        for feature in self.problem.features:
            known = self.people.states[:, feature.index]
            known = known[~np.isnan(known)]
            if feature.is_number and len(known) and known.std() > 0:
                decimals = 2 - math.floor(math.log10(known.std()))
                rounded = np.round(states[:, feature.index], min(decimals, 0) if feature.integer else decimals)
                states[:, feature.index] = np.clip(rounded, feature.low, feature.high)
        return states
