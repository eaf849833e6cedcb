"""Reasons for plans with targets: those of each target are explained together."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from counterplan.plans import Coded, Plans
from counterplan.plans.coded import NO_CODE
from counterplan.problem import Problem
from counterplan.problem.transitions import Ints


def explain_targets(plans: Plans, problem: Problem, explain: Callable[[tuple[str, ...], Plans], Plans]) -> Plans:
    """Add reasons to plans, one target after another.

    Parameters
    ----------
    plans : Plans
        Plans for `problem`, some with targets.
    problem : Problem
        The problem.
    explain : callable
        Returns plans of one target with reasons. It is called with the target, empty for the favourable outcomes of the
        problem, and the plans, which are then plans for the problem with that target.

    Returns
    -------
    Plans
        The same plans with reasons; further queries are added to `plans.queries`.
    """
    rows: dict[tuple[str, ...], list[int]] = {}
    for row, target in enumerate(plans.targets):
        rows.setdefault(target, []).append(row)
    queries, cached, explained = plans.queries, plans.cached, plans
    for target, members in rows.items():
        own = plans.take(np.array(members, np.intp))
        if plans.problem == f"{problem.name} {problem.fingerprint}":
            goal = problem.with_target(frozenset(target)) if target else problem
            own.problem = f"{goal.name} {goal.fingerprint}"
        done = explain(target, own)
        queries, cached = queries + done.queries, cached + done.cached
        explained = _with_reasons_of(explained, np.array(members, np.intp), done)
        for kind, others in done.related.items():
            every = explained.related[kind]
            same = np.flatnonzero([other == target for other in every.targets])
            explained = explained.with_related(kind, _with_reasons_of(every, same, others))
    return explained.with_queries(queries, cached)


def _with_reasons_of(plans: Plans, rows: Ints, explained: Plans) -> Plans:
    """`plans` with the reasons and options that those of `rows` [n] have in `explained`."""
    if (reasons := explained.columns.reasons) is not None:
        at, steps = np.nonzero(reasons.codes != NO_CODE)
        plans = plans.with_reasons(rows[at], steps, Coded(reasons.codes[at, steps], reasons.values))
    if (options := explained.columns.options) is not None:
        plans = plans.with_options(rows, options)
    return plans
