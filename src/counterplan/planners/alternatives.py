"""Alternatives of plans: answers for the search, and the result as columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from counterplan.blackbox import QueryBudgetExceeded
from counterplan.planners.objective_search import Oracle
from counterplan.plans import PlanColumns, RelatedColumns, Status
from counterplan.plans.columns import NO_PLANS
from counterplan.problem.transitions import Bools, Floats, Ints


def add_alternatives(columns: PlanColumns, rows: Ints, found: Sequence[Ints], *, verified: bool = True) -> None:
    """Store alternatives in columns of plans.

    Parameters
    ----------
    columns : PlanColumns
        The plans of B people.
    rows : int array of shape [k]
        People with a plan.
    found : sequence of int arrays of shape [n, T], length k
        The alternatives of each.
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
    part.lower_bound[:], part.queries[:] = columns.lower_bound[owner], columns.queries[owner]
    related = columns.related.get("alternatives")
    if related is None:
        none = np.full(len(columns), NO_PLANS, np.intp)
        related = columns.related["alternatives"] = RelatedColumns(none, PlanColumns.empty(0, columns.actions.shape[1]))
    related.put(rows, RelatedColumns(count, part))


def known_answers(oracle: Oracle, states: Floats, rows: Ints) -> tuple[Bools, Bools]:
    """Answers [n] of an oracle about `states` [n, F] of the people `rows` [n], and which of them are known [n].

    All are, unless the budget of the black box is spent.
    """
    try:
        return oracle(states, rows), np.ones(len(rows), bool)
    except QueryBudgetExceeded as stop:
        return stop.answers, stop.known
