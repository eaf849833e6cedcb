"""Shares, quantiles and differences by group, as tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from counterplan.audit.groups import Grouping, everybody
from counterplan.audit.intervals import (
    fisher,
    holm,
    mann_whitney,
    mean_interval,
    median_difference,
    newcombe,
    quantile_interval,
    share_higher,
    share_interval,
)
from counterplan.audit.outcomes import REFUSED, AuditOutcome
from counterplan.audit.settings import AuditSettings
from counterplan.problem.transitions import Bools

QUANTILES = (0.25, 0.5, 0.75, 0.9)
SHARES = ("refused", "recourse", "none", "unknown")
"""Shares: of people who are refused; of refused people with each outcome."""
DIFFERENCE_COLUMNS = (
    *("grouping", "group", "measure", "n", "n_others", "value", "others"),
    *("difference", "low", "high", "low_all", "high_all", "higher", "p", "p_holm", "differs"),
)


def column_of(measure: str, quantile: float) -> str:
    """The column of a quantile: `cost_q50`."""
    return f"{measure}_q{round(100 * quantile)}"


def group_table(outcomes: pd.DataFrame, groupings: Sequence[Grouping], settings: AuditSettings) -> pd.DataFrame:
    """Statistics of everybody and of each group.

    Parameters
    ----------
    outcomes : DataFrame
        `AuditResult.outcomes` of B people.
    groupings : sequence of Grouping
    settings : AuditSettings

    Returns
    -------
    DataFrame
        A row for everybody, whose `grouping` is empty, and for each group. Shares have the columns `recourse_share`,
        `recourse_low` and `recourse_high`, quantiles `cost_q50`, `cost_q50_low` and `cost_q50_high`. They are NaN for
        fewer than `settings.min_group` people.
    """
    rows = []
    for grouping in [everybody(len(outcomes)), *groupings]:
        for code, label in enumerate(grouping.labels):
            members = grouping.codes == code
            rows.append({"grouping": grouping.name, "group": label} | _statistics(outcomes, members, settings))
    return pd.DataFrame(rows)


def _statistics(outcomes: pd.DataFrame, members: Bools, settings: AuditSettings) -> dict[str, Any]:
    outcome = outcomes["outcome"].to_numpy(object)[members]
    counts = {value: int((outcome == value).sum()) for value in REFUSED}
    refused, people = sum(counts.values()), int(members.sum())
    row: dict[str, Any] = {"people": people, "refused": refused} | {value.value: counts[value] for value in REFUSED}
    trials = {"refused": (refused, people)} | {value.value: (counts[value], refused) for value in REFUSED}
    lasting = settings.survival_at_least
    chosen = members & (outcomes["outcome"].to_numpy(object) == AuditOutcome.RECOURSE)
    survival = outcomes["survival"].to_numpy(float)[chosen]
    if lasting is not None:
        row["lasting"] = int((survival >= lasting - 1e-9).sum())
        trials["lasting"] = row["lasting"], refused
    for name, (count, total) in trials.items():
        shown = total >= settings.min_group
        low, high = share_interval([count], [total], settings.level)
        row[f"{name}_share"] = count / total if shown else np.nan
        row[f"{name}_low"], row[f"{name}_high"] = (float(low[0]), float(high[0])) if shown else (np.nan, np.nan)
    for measure in ("cost", "steps"):
        values = outcomes[measure].to_numpy(float)[chosen]
        row |= _quantiles(measure, values, settings)
    known = survival[~np.isnan(survival)]
    shown = len(known) >= settings.min_group
    interval = mean_interval(known, settings.level, np.random.default_rng(settings.seed)) if shown else (np.nan, np.nan)
    row["survival_mean"] = float(known.mean()) if shown else np.nan
    row["survival_low"], row["survival_high"] = interval
    return row


def _quantiles(measure: str, values: np.ndarray, settings: AuditSettings) -> dict[str, float]:
    row: dict[str, float] = {}
    for quantile in QUANTILES:
        name, shown = column_of(measure, quantile), len(values) >= settings.min_group
        low, high = quantile_interval(values, quantile, settings.level) if shown else (np.nan, np.nan)
        row[name] = float(np.quantile(values, quantile)) if shown else np.nan
        row[f"{name}_low"], row[f"{name}_high"] = low, high
    return row


def _arrays(counts: tuple[int, int]) -> tuple[list[int], list[int]]:
    return [counts[0]], [counts[1]]


def difference_table(outcomes: pd.DataFrame, groupings: Sequence[Grouping], settings: AuditSettings) -> pd.DataFrame:
    """Differences between each group and all other people of its grouping.

    The measures are "recourse", the share of refused people with a plan, and "cost", the median cost of these plans. Of
    a grouping with two groups, the first is compared with the second.

    Parameters
    ----------
    outcomes : DataFrame
        `AuditResult.outcomes` of B people.
    groupings : sequence of Grouping
    settings : AuditSettings

    Returns
    -------
    DataFrame
        `low` and `high` are intervals of one difference, `low_all` and `high_all` hold for all at the same time
        (Bonferroni), `higher` is the share of pairs of a plan of the group and one of the others in which the former
        costs more (ties count half), `p_holm` is corrected for their number, and `differs` says
        whether it is at most 1 - level.
        Comparisons with fewer than `settings.min_group` people on a side are left out.
    """
    outcome, cost = outcomes["outcome"].to_numpy(object), outcomes["cost"].to_numpy(float)
    refused, solved = np.isin(outcome, [*REFUSED]), outcome == AuditOutcome.RECOURSE
    compared: list[tuple[dict[str, Any], Bools, Bools]] = []
    for grouping in groupings:
        labels = grouping.labels[:1] if len(grouping.labels) == 2 else grouping.labels
        for code, label in enumerate(labels):
            for measure, relevant in (("recourse", refused), ("cost", solved)):
                one, others = relevant & (grouping.codes == code), relevant & (grouping.codes != code)
                row: dict[str, Any] = {"grouping": grouping.name, "group": label, "measure": measure}
                row |= {"n": int(one.sum()), "n_others": int(others.sum())}
                if min(row["n"], row["n_others"]) >= settings.min_group:
                    compared.append((row, one, others))
    simultaneous = 1 - (1 - settings.level) / max(1, len(compared))
    for row, one, others in compared:
        if row["measure"] == "recourse":
            counts = [(int(solved[part].sum()), int(part.sum())) for part in (one, others)]
            row["value"], row["others"] = (count / total for count, total in counts)
            for suffix, level in (("", settings.level), ("_all", simultaneous)):
                low, high = newcombe(_arrays(counts[0]), _arrays(counts[1]), level)
                row[f"low{suffix}"], row[f"high{suffix}"] = float(low[0]), float(high[0])
            row["p"] = fisher(*counts)
        else:
            values = cost[one], cost[others]
            row["value"], row["others"] = (float(np.median(part)) for part in values)
            for suffix, level in (("", settings.level), ("_all", simultaneous)):
                rng = np.random.default_rng(settings.seed)
                row[f"low{suffix}"], row[f"high{suffix}"] = median_difference(*values, level, rng)
            row["higher"], row["p"] = share_higher(*values), mann_whitney(*values)
        row["difference"] = row["value"] - row["others"]
    table = pd.DataFrame([row for row, *_ in compared], columns=[*DIFFERENCE_COLUMNS])
    table["p_holm"] = holm(table["p"].to_numpy(float))
    table["differs"] = (table["p_holm"] <= 1 - settings.level + 1e-12).to_numpy(bool)
    return table
