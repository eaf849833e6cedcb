"""Use of functions by plans, by group, and the people who have no recourse without a function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from counterplan.audit.groups import Grouping, everybody
from counterplan.audit.intervals import quantile_interval, share_interval
from counterplan.audit.outcomes import AuditOutcome, planned_frame
from counterplan.audit.settings import AuditSettings
from counterplan.planners import Planner
from counterplan.plans import Plans
from counterplan.problem import People, Problem
from counterplan.problem.transitions import Bools, Ints

WITHOUT_COLUMNS = ("row", "function", "outcome", "cost")


def functions_used(problem: Problem, plans: Sequence[str]) -> Bools:
    """Which functions [B, functions], in the order of the file, the plans [B], as texts of actions, use."""
    names = function_names(problem)
    used = np.zeros((len(plans), len(names)), bool)
    function_of = {str(action): names.index(action.function) for action in problem.transitions.actions[:-1]}
    for row, text in enumerate(plans):
        for action in actions_in(text, function_of):
            used[row, function_of[action]] = True
    return used


def function_texts(problem: Problem, plans: Sequence[str]) -> list[str]:
    """The functions that each plan [B] uses, once each, in the order of the file: "EARN; WORK"."""
    names = np.array(function_names(problem), object)
    return ["; ".join(names[used]) for used in functions_used(problem, plans)]


def _functions_in(problem: Problem, outcomes: pd.DataFrame) -> Bools:
    """Which functions [B, functions] the plans use, by their text, or by the category of `functions`."""
    if "functions" not in outcomes:
        return functions_used(problem, outcomes["plan"].tolist())
    column, names = outcomes["functions"].cat, function_names(problem)
    known = np.array([[name in text.split("; ") for name in names] for text in column.categories], bool)
    return known.reshape(-1, len(names))[column.codes.to_numpy()]


def actions_in(text: str, known: Any) -> list[str]:
    """The actions of a plan's text; an argument may contain the separator."""
    found: list[str] = []
    pending = ""
    for part in text.split("; ") if text else ():
        pending = f"{pending}; {part}" if pending else part
        if pending in known:
            found.append(pending)
            pending = ""
    return found


def function_names(problem: Problem) -> list[str]:
    """The functions of a problem, in the order of the file."""
    return [function.name for function in problem.transitions.functions]


def plan_without(planner: Planner, people: People, plans: Plans, options: dict[str, Any]) -> pd.DataFrame:
    """Plan again without each function that a plan uses.

    Parameters
    ----------
    planner : Planner
    people : People
        B refused people.
    plans : Plans
        Their plans.
    options : dict
        Parameters of `Planner.plan`.

    Returns
    -------
    DataFrame
        A row for each person and function of their plan: position `row`, `function`, the `outcome` and the `cost`
        without it.
    """
    problem = planner.problem
    frame = planned_frame(plans)
    used = functions_used(problem, frame["plan"].tolist())
    parts = []
    for index, name in enumerate(function_names(problem)):
        rows: Ints = np.flatnonzero(used[:, index])
        if len(rows):
            without = planned_frame(planner.plan(people.take(rows), forbid=[name], **options))
            parts.append(without[["outcome", "cost"]].assign(row=rows, function=name))
    if not parts:
        return pd.DataFrame({name: [] for name in WITHOUT_COLUMNS})
    return pd.concat(parts, ignore_index=True)[[*WITHOUT_COLUMNS]]


def function_table(
    problem: Problem,
    outcomes: pd.DataFrame,
    groupings: Sequence[Grouping],
    settings: AuditSettings,
    without: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Statistics of functions in plans, for everybody and by group.

    Parameters
    ----------
    problem : Problem
    outcomes : DataFrame
        `AuditResult.outcomes` of B people.
    groupings : sequence of Grouping
    settings : AuditSettings
    without : DataFrame, optional
        The results of `plan_without`.

    Returns
    -------
    DataFrame
        A row for each group and function: `plans` of the group, how many `used` the function, `share`, `low` and
        `high`. With `without`, also how many of these people provably have no plan without the function
        (`indispensable`), how many are `undecided`, and the median of what the others pay more
        (`extra_cost`, with an interval).
    """
    has_plan = outcomes["outcome"].to_numpy(object) == AuditOutcome.RECOURSE
    used = _functions_in(problem, outcomes)
    rows = []
    for grouping in [everybody(len(outcomes)), *groupings]:
        for code, label in enumerate(grouping.labels):
            members = has_plan & (grouping.codes == code)
            total = int(members.sum())
            for index, name in enumerate(function_names(problem)):
                count, shown = int(used[members, index].sum()), total >= settings.min_group
                low, high = share_interval([count], [total], settings.level)
                row: dict[str, Any] = {"grouping": grouping.name, "group": label, "function": name}
                row |= {"plans": total, "used": count, "share": count / total if shown else np.nan}
                row |= {"low": float(low[0]) if shown else np.nan, "high": float(high[0]) if shown else np.nan}
                if without is not None:
                    row |= _without_function(outcomes, without, members, name, settings)
                rows.append(row)
    return pd.DataFrame(rows)


def _without_function(
    outcomes: pd.DataFrame, without: pd.DataFrame, members: Bools, name: str, settings: AuditSettings
) -> dict[str, Any]:
    own = without[(without["function"] == name).to_numpy(bool)]
    own = own[members[own["row"].to_numpy(np.intp)]] if len(own) else own
    again = own[(own["outcome"] == AuditOutcome.RECOURSE).to_numpy(bool)]
    before = outcomes["cost"].to_numpy(float)[again["row"].to_numpy(np.intp)]
    extra = again["cost"].to_numpy(float) - before
    shown = len(extra) >= settings.min_group
    low, high = quantile_interval(extra, 0.5, settings.level) if shown else (np.nan, np.nan)
    return {
        "indispensable": int((own["outcome"] == AuditOutcome.NO_RECOURSE).sum()),
        "undecided": int((own["outcome"] == AuditOutcome.UNKNOWN).sum()),
        "extra_cost": float(np.median(extra)) if shown else np.nan,
        "extra_cost_low": low,
        "extra_cost_high": high,
    }
