"""`explain`: a reason for every step of every plan.

If the program would take every step of a plan in the same state, its rules are the reasons. Otherwise, with a
surrogate, all steps of the plan are explained by points, so that they add up. If no points agree with every answer
about the person, or there is no surrogate, the steps that have no rule are explained by a contrast: the consequences
of leaving the step out, or of a cheaper argument. Points and contrasts use answers in the cache of the black box, and
the predictions of a surrogate, which are reported as estimates; new queries are sent only on request, and never for
related plans, such as alternatives.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from counterplan.blackbox import BlackBox
from counterplan.errors import PlanError, SettingError
from counterplan.explanation.arrays import groups, unexplained
from counterplan.explanation.contrasts import Contrasts
from counterplan.explanation.point_reasons import PointExplainer
from counterplan.explanation.rules import with_rules
from counterplan.plans import Coded, Plans
from counterplan.problem import Problem
from counterplan.program import Program
from counterplan.surrogate import Surrogate


def explain(
    plans: Plans,
    problem: Problem,
    box: BlackBox,
    program: Program | None = None,
    surrogate: Surrogate | None = None,
    *,
    ask: bool = False,
    progress: Callable[[int], None] = lambda done: None,
) -> Plans:
    """Add a reason to every step of `plans`, and of the plans related to them.

    Parameters
    ----------
    plans : Plans
        Plans of any planner.
    problem : Problem
        The problem that they were made for.
    box : BlackBox
        The model, whose cached answers are used.
    program : Program, optional
        Program whose rules explain the steps that it would take as well.
    surrogate : Surrogate, optional
        Model of the black box, for points, and for estimates where no answer is cached.
    ask : bool, default=False
        Whether to query the black box, at most once for each step that no rule explains: about the plan without it.
        There are no queries for the steps of related plans.
    progress : callable, optional
        Called with the number of plans explained since the last call.

    Returns
    -------
    Plans
        The same plans with reasons, and, where points explain them, with what else would do; further queries are added
        to `plans.queries`.

    Raises
    ------
    SettingError
        If `plans` is not of type Plans.
    PlanError
        If the plans were made for another problem.
    """
    if not isinstance(plans, Plans):
        raise SettingError(f"explain expects Plans, as `recommend` returns them, not {type(plans).__name__}")
    label = f"{problem.name} {problem.fingerprint}"
    if plans.problem not in ("", label):
        raise PlanError(
            f"these plans were made for another problem ({plans.problem.split(' ')[0]}) than {problem.name}"
        )
    queries, cached = box.queries, box.cached
    explained = plans if program is None else with_rules(plans, program)
    missing = unexplained(explained, points=surrogate is None)
    progress(int((~missing.any(axis=1)).sum()))
    by_points = None if surrogate is None else PointExplainer(problem, box, surrogate)
    for group in groups(problem, explained, missing):
        contrasts = Contrasts(problem, group, box, surrogate, ask) if ask else None
        rest = np.ones(len(group.rows), bool)
        for found in by_points.explain(group) if by_points is not None else ():
            explained = explained.with_reasons(group.rows[found.people], found.steps, found.reasons)
            explained = explained.with_options(group.rows[found.plans], found.options)
            rest[found.plans] = False
            progress(len(found.plans))
        others = group.take(np.flatnonzero(rest))
        if not len(others.rows):
            continue
        if contrasts is None:
            contrasts = Contrasts(problem, others, box, surrogate, ask)
        rows, steps, reasons = contrasts.reasons()
        left = np.flatnonzero(np.isin(rows, others.rows))
        explained = explained.with_reasons(rows[left], steps[left], reasons.take(left))
        explained = explained.with_options(others.rows, Coded.empty(others.rows.shape))
        progress(len(others.rows))
    for kind, related in explained.related.items():
        explained = explained.with_related(kind, explain(related, problem, box, program, surrogate))
    return explained.with_queries(plans.queries + box.queries - queries, plans.cached + box.cached - cached)
