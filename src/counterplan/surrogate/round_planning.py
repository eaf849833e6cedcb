"""Plans of a round of active learning, whose queries become training data: in this process, or in several."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterplan.blackbox import BlackBox, MeteredOracle, OracleSession
from counterplan.parallel import PeopleChunk, WorkerLink, answering, people_chunks, run_chunks
from counterplan.problem import People, Problem
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.search.outcome import SearchOutcome
from counterplan.surrogate.acquisition import GuideSettings, guide
from counterplan.surrogate.labelled_set import LabelledSet
from counterplan.surrogate.surrogate import Surrogate


class Planning(NamedTuple):
    """How people are planned for with a surrogate."""

    problem: Problem
    surrogate: Surrogate
    settings: GuideSettings

    def plan(self, states: Floats, oracle: MeteredOracle) -> SearchOutcome:
        """Plan for people at `states` [B, F].

        Answers about a person correct predictions only if they have scores: plans that are less certain are better
        training data.
        """
        problem, surrogate = self.problem, self.surrogate
        return guide(
            problem,
            states,
            np.ones((len(states), len(problem.transitions)), bool),
            surrogate.logit,
            oracle,
            self.settings,
            errors=surrogate.errors if surrogate.link is not None else None,
            link=surrogate.link,
            hints=surrogate.hints,
        )


def plan_in_parallel(planning: Planning, people: People, labelled_set: LabelledSet, jobs: int) -> SearchOutcome:
    """Plan for `people` in `jobs` processes; answers are added to the labelled set in the order of the people.

    The budget of the labelled set has to suffice.
    """
    box, problem = labelled_set.box, planning.problem
    chunks = people_chunks(box, problem, people, planning.settings.people_at_once(problem))
    outcome, oracle = SearchOutcome.empty(len(people), problem.max_actions), labelled_set.oracle(people)
    context = planning, box, labelled_set.with_scores
    results = run_chunks(_plan_chunk, context, chunks, jobs, serve=answering(box, problem, people))
    for chunk, (part, queries, cached) in zip(chunks, results, strict=True):
        outcome.put(chunk.rows, part)
        cached += box.cached
        for states, rows in queries:
            oracle.query(states, chunk.rows[rows])  # the answers are cached
        box.cached = cached
    return outcome


def _plan_chunk(
    context: tuple[Planning, BlackBox, bool], chunk: PeopleChunk, link: WorkerLink
) -> tuple[SearchOutcome, list[_Query], int]:
    """In a worker process: the plans of a chunk, its queries in order, and the number of cache hits."""
    planning, box, scores = context
    box.add_to_cache(planning.problem, chunk.known)
    before = box.cached
    oracle = _ListingOracle(box.session(planning.problem, chunk.people, scores=scores), len(chunk.people))
    found = planning.plan(chunk.people.states, oracle)
    return found, oracle.queries, box.cached - before


_Query = tuple[Floats, Ints]
"""States [n, F] of people [n] that were queried at once."""


class _ListingOracle(MeteredOracle):
    """An oracle that lists its queries."""

    def __init__(self, session: OracleSession, people: int) -> None:
        super().__init__(session, people, known_answers={})
        self.queries: list[_Query] = []

    def query(self, states: Floats, rows: Ints) -> tuple[Bools, Bools]:
        """See `MeteredOracle.query`."""
        self.queries.append((states, rows))
        return super().query(states, rows)
