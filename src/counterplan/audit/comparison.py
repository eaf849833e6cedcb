"""Two models side by side: who gains and who loses recourse, and whose plan no longer holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from counterplan.audit.groups import Grouping, everybody
from counterplan.audit.intervals import quantile_interval, share_interval
from counterplan.audit.outcomes import REFUSED, AuditOutcome
from counterplan.audit.settings import AuditSettings
from counterplan.blackbox import BlackBox
from counterplan.plans import Plans
from counterplan.plans.judging import HOLDS, UNKNOWN, end_states, judge
from counterplan.problem.transitions import Bools

HELD = {HOLDS: "holds", UNKNOWN: "not checked"}
FAILED = "does not hold"
CHANGES = ("newly_refused", "newly_favourable", "gains", "loses", "fails")
"""Changes from the first model to the second; see `comparison_table`."""


def plans_hold(plans: Plans, box: BlackBox) -> list[str]:
    """Whether each plan [B] leads to a favourable decision of another model; empty where there is no plan."""
    result = [""] * len(plans)
    ends = end_states(plans._source, None)
    for part in ends.parts:
        codes, _ = judge(box, part)
        for position, code in zip(part.positions.tolist(), codes.tolist(), strict=True):
            result[position] = HELD.get(code, FAILED)
    verified = plans.verified.tolist()
    return [text if known else "" for text, known in zip(result, verified, strict=True)]


def comparison_table(outcomes: pd.DataFrame, groupings: Sequence[Grouping], settings: AuditSettings) -> pd.DataFrame:
    """Changes from the model to the other one, for everybody and by group.

    Parameters
    ----------
    outcomes : DataFrame
        `AuditResult.outcomes` of B people, with the columns of the other model.
    groupings : sequence of Grouping
    settings : AuditSettings

    Returns
    -------
    DataFrame
        A row for each group, with the number of people, `of` how many, `share`, `low` and `high` of each change:

        - `newly_refused`, `newly_favourable`: of all people, those whose decision changes;
        - `gains`, `loses`: of the people who are refused by both models and whose outcomes are known, those with a plan
          for the other model only, and for this model only;
        - `fails`: of the people with a plan for this model, whose end was checked, those whose plan does not lead to a
          favourable decision of the other model.

        `cost_change` is the median change of cost of the people with a plan for both, with an interval.
    """
    first, second = (outcomes[name].to_numpy(object) for name in ("outcome", "other_outcome"))
    changes = _changes(first, second, outcomes["plan_holds"].to_numpy(object))
    both = (first == AuditOutcome.RECOURSE) & (second == AuditOutcome.RECOURSE)
    change_of_cost = outcomes["other_cost"].to_numpy(float) - outcomes["cost"].to_numpy(float)
    rows = []
    for grouping in [everybody(len(outcomes)), *groupings]:
        for code, label in enumerate(grouping.labels):
            members = grouping.codes == code
            row: dict[str, Any] = {"grouping": grouping.name, "group": label, "people": int(members.sum())}
            for name, (changed, relevant) in changes.items():
                count, total = int((changed & members).sum()), int((relevant & members).sum())
                shown = total >= settings.min_group
                low, high = share_interval([count], [total], settings.level)
                row |= {name: count, f"{name}_of": total, f"{name}_share": count / total if shown else np.nan}
                row |= {f"{name}_low": float(low[0]) if shown else np.nan}
                row |= {f"{name}_high": float(high[0]) if shown else np.nan}
            values = change_of_cost[both & members]
            shown = len(values) >= settings.min_group
            ends = quantile_interval(values, 0.5, settings.level) if shown else (np.nan, np.nan)
            row |= {"cost_change": float(np.median(values)) if shown else np.nan}
            row |= {"cost_change_of": len(values), "cost_change_low": ends[0], "cost_change_high": ends[1]}
            rows.append(row)
    return pd.DataFrame(rows)


def _changes(first: Any, second: Any, holds: Any) -> dict[str, tuple[Bools, Bools]]:
    """For each change, whose outcomes changed [B], and of which people [B]."""
    was, now = (np.isin(outcome, [*REFUSED]) for outcome in (first, second))
    has, gets = (outcome == AuditOutcome.RECOURSE for outcome in (first, second))
    known = (first != AuditOutcome.UNKNOWN) & (second != AuditOutcome.UNKNOWN)
    everybody, both = np.ones(len(first), bool), was & now & known
    checked = np.isin(holds, [HELD[HOLDS], FAILED])
    return {
        "newly_refused": (~was & now, everybody),
        "newly_favourable": (was & ~now, everybody),
        "gains": (both & ~has & gets, both),
        "loses": (both & has & ~gets, both),
        "fails": (holds == FAILED, checked),
    }


def transition_table(outcomes: pd.DataFrame) -> pd.DataFrame:
    """Number of people by outcome of this model (rows) and of the other one (columns)."""
    names = [outcome.value for outcome in AuditOutcome]
    table = pd.crosstab(outcomes["outcome"].astype(str), outcomes["other_outcome"].astype(str))
    return table.reindex(index=names, columns=names, fill_value=0)
