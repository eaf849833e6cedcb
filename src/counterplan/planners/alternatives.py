"""Alternatives of plans: the search for people of a task, and its result as columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from counterplan.blackbox import QueryBudgetExceeded
from counterplan.personal.alternative_search import (
    UNKNOWN,
    AlternativeSearch,
    Chances,
    Codes,
    Known,
    Query,
    QueryLimits,
    candidate_frontier,
)
from counterplan.planners.objective_search import Oracle
from counterplan.planners.task import PlanningTask
from counterplan.plans import PlanColumns, RelatedColumns, Status
from counterplan.plans.columns import NO_PLANS
from counterplan.problem import Problem
from counterplan.problem.transitions import Bools, Floats, Ints

_BATCH_SIZE = 16
"""People searched for at the same time: all their candidates are in memory."""
MAX_STATES = 200_000
"""Most states of one person among which alternatives are searched for."""
INCOMPLETE = "There may be other ways; the search for them was not completed."
"""Caution on plans whose alternatives were searched for until a limit was reached."""


def search_alternatives(
    problem: Problem,
    task: PlanningTask,
    rows: Ints,
    columns: PlanColumns,
    query: Query,
    chances: Callable[[Ints], Chances],
    limits: QueryLimits,
    *,
    max_states: int = MAX_STATES,
    max_queries: int | None = None,
    known: Known | None = None,
) -> None:
    """Search for alternatives to the plans of some people, and store them in `columns`.

    Parameters
    ----------
    problem : Problem
    task : PlanningTask
        With alternatives.
    rows : int array of shape [n]
        People; those without a plan are left out.
    columns : PlanColumns
        The plans of all people of the task.
    query : callable
        Answers queries; see `AlternativeSearch`.
    chances : callable
        Returns the chances of the candidates of some people.
    limits : QueryLimits
    max_states : int, default=200_000
        Most states enumerated for one person.
    max_queries : int, optional
        Most queries about one person, those for the cheapest plan included; None for no limit.
    known : callable, optional
        Answers to queries for the cheapest plan, which are not sent again.
    """
    assert task.alternatives is not None
    rows = rows[[columns.status[row] is Status.FOUND for row in rows.tolist()]]
    for first in range(0, len(rows), _BATCH_SIZE):
        part = rows[first : first + _BATCH_SIZE]
        weights = None if task.weights is None else task.weights[part]
        most = np.iinfo(np.intp).max if max_queries is None else max_queries
        search = AlternativeSearch(
            candidate_frontier(
                problem, task.people.states[part], task.allowed[part], weights, task.deadline, task.alternatives
            ),
            task.alternatives,
            columns.actions[part],
            query,
            part,
            chances(part),
            limits,
            max_states=max_states,
            max_queries=np.maximum(most - columns.queries[part], 0),
            known=known,
        )
        found = search.run()
        columns.queries[part] += search.queries
        add_alternatives(columns, part, found, search.incomplete, verified=limits.confidence is None)


def add_alternatives(
    columns: PlanColumns, rows: Ints, found: Sequence[Ints], incomplete: Bools, *, verified: bool = True
) -> None:
    """Store alternatives in columns of plans.

    Parameters
    ----------
    columns : PlanColumns
        The plans of B people.
    rows : int array of shape [k]
        People with a plan.
    found : sequence of int arrays of shape [n, T], length k
        The alternatives of each.
    incomplete : bool array of shape [k]
        Whether a limit ended the search.
    verified : bool, default=True
        Whether the black box found their final states favourable.
    """
    count = np.array([len(actions) for actions in found], np.intp)
    owner = np.repeat(rows, count)
    part = PlanColumns.empty(len(owner), columns.actions.shape[1])
    if len(owner):
        part.actions[:] = np.concatenate(found)
    part.status = [Status.FOUND] * len(owner)
    part.verified[:] = verified
    part.lower_bound[:] = columns.lower_bound[owner]
    related = columns.related.get("alternatives")
    if related is None:
        none = np.full(len(columns), NO_PLANS, np.intp)
        related = columns.related["alternatives"] = RelatedColumns(none, PlanColumns.empty(0, columns.actions.shape[1]))
    related.put(rows, RelatedColumns(count, part))
    if incomplete.any():
        columns.add_caution(INCOMPLETE, rows[incomplete])


def known_answers(oracle: Oracle, states: Floats, rows: Ints) -> tuple[Bools, Bools]:
    """Answers [n] of an oracle about `states` [n, F] of the people `rows` [n], and which of them are known [n].

    All are, unless the budget of the black box is spent.
    """
    try:
        return oracle(states, rows), np.ones(len(rows), bool)
    except QueryBudgetExceeded as stop:
        return stop.answers, stop.known


class OracleRecord:
    """An oracle that records its answers about each person.

    Parameters
    ----------
    oracle : callable
        Whether states [n, F] of the people `rows` [n] are favourable.
    """

    def __init__(self, oracle: Oracle) -> None:
        self._oracle = oracle
        self._answers: dict[tuple[int, bytes], bool] = {}

    def __call__(self, states: Floats, rows: Ints) -> Bools:
        """Query `states` [n, F] of the people `rows` [n]."""
        answers = self._oracle(states, rows)
        self.record(states, rows, answers)
        return answers

    def record(self, states: Floats, rows: Ints, answers: Bools) -> None:
        """Add answers [n] that are known without a query."""
        self._answers.update(zip(_keys(states, rows), answers.tolist(), strict=True))

    def known(self, states: Floats, rows: Ints) -> Codes:
        """What was answered about `states` [n, F] of the people `rows` [n]: 1 favourable, 0 not, -1 unknown."""
        return np.array([self._answers.get(key, UNKNOWN) for key in _keys(states, rows)], np.int8)


def _keys(states: Floats, rows: Ints) -> Iterator[tuple[int, bytes]]:
    raw, width = np.ascontiguousarray(states + 0.0).tobytes(), states.shape[1] * states.itemsize
    return ((row, raw[i * width : (i + 1) * width]) for i, row in enumerate(rows.tolist()))
