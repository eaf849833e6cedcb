"""`explain`: a reason for every step of every plan.

If the program would take the same step in the same state, its rule is the reason. Every other step is explained by a
contrast: the consequences of leaving it out, or of a cheaper argument. Contrasts use answers in the cache of the black
box, and the probabilities of a surrogate, which are reported as estimates; new queries are sent only on request.
"""

from __future__ import annotations

from collections.abc import Callable

from counterplan.blackbox import BlackBox
from counterplan.errors import PlanError, SettingError
from counterplan.explanation.arrays import groups, unexplained
from counterplan.explanation.contrasts import Contrasts
from counterplan.explanation.rules import with_rules
from counterplan.plans import Plans
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
    """Add a reason to every step of `plans`.

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
        Model of the black box, for estimates where no answer is cached.
    ask : bool, default=False
        Whether to query the black box, at most once for each step that no rule explains.
    progress : callable, optional
        Called with the number of plans explained since the last call.

    Returns
    -------
    Plans
        The same plans with reasons; further queries are added to `plans.queries`.

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
    missing = unexplained(explained)
    progress(int((~missing.any(axis=1)).sum()))
    for group in groups(problem, explained, missing):
        rows, steps, reasons = Contrasts(problem, group, box, surrogate, ask).reasons()
        explained = explained.with_reasons(rows, steps, reasons)
        progress(len(group.rows))
    return explained.with_queries(plans.queries + box.queries - queries, plans.cached + box.cached - cached)
