"""The findings of an audit as sentences."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

from counterplan.audit.formatting import number, percent, share_with_interval, with_interval
from counterplan.problem.values import count

if TYPE_CHECKING:
    from counterplan.audit.result import AuditResult

MOST_DIFFERENCES = 6
SAME_MODEL = "the other model is the same, with the same threshold: their fingerprints are equal, and nothing differs"


def findings(result: AuditResult) -> Iterator[str]:
    """Sentences about everybody, about groups that differ, about functions and about the other model.

    Yields
    ------
    str
    """
    row = result.groups.iloc[0]
    refused = int(row["refused"])
    if not refused:
        return
    if not pd.isna(row["recourse_share"]):
        share = share_with_interval(row["recourse_share"], row["recourse_low"], row["recourse_high"])
        yield f"{row['recourse']:,} of {refused:,} refused people have a verified plan: {share}."
    else:
        yield f"{row['recourse']:,} of {refused:,} refused people have a verified plan."
    if result.settings.survival_at_least is not None:
        least = percent(result.settings.survival_at_least)
        share = share_with_interval(row["lasting_share"], row["lasting_low"], row["lasting_high"])
        known = "" if pd.isna(row["lasting_share"]) else f": {share}"
        yield (
            f"{row['lasting']:,} of {refused:,} have a plan that holds after retraining with a chance of at least "
            f"{least}{known}."
        )
    if row["none"]:
        yield f"{row['none']:,} provably have none: no legal sequence of actions changes the decision."
    if row["unknown"]:
        low, high = row["recourse"], row["recourse"] + row["unknown"]
        between = f"{low:,} and {high:,}"
        if not pd.isna(row["recourse_share"]):
            between = f"{percent(low / refused)} and {percent(high / refused)}"
        yield (
            f"For {row['unknown']:,} the search ended at a limit, so that between {between} of the refused people have "
            "recourse."
        )
    if not pd.isna(row["cost_q50"]):
        cost = with_interval(row["cost_q50"], row["cost_q50_low"], row["cost_q50_high"], 2)
        steps = with_interval(row["steps_q50"], row["steps_q50_low"], row["steps_q50_high"])
        yield f"The median cost of a plan is {cost}, and its median number of steps {steps}."
    yield from _differences(result)
    yield from _functions(result)
    if result.comparison is not None:
        if result.about.get("against") == result.about.get("model"):
            yield f"{SAME_MODEL[0].upper()}{SAME_MODEL[1:]}."
        change = result.comparison.iloc[0]
        newly, no_longer = (
            count(change[name], "person is", "people are") for name in ("newly_refused", "newly_favourable")
        )
        yield (
            f"With {result.about['against_name']}, {newly} newly refused, and {no_longer} no longer refused; of "
            f"{count(change['gains_of'], 'person', 'people')} refused by both, {change['gains']:,} gain recourse and "
            f"{change['loses']:,} lose it; {change['fails']:,} of {count(change['fails_of'], 'plan')} no longer hold."
        )


def _differences(result: AuditResult) -> Iterator[str]:
    table = result.differences
    if not len(table):
        return
    differing = table[table["differs"]].sort_values("p_holm")
    if not len(differing):
        yield f"No group differs from the others beyond chance, in {count(len(table), 'comparison')}."
    for row in differing.head(MOST_DIFFERENCES).to_dict("records"):
        if row["measure"] == "recourse":
            yield (
                f"{row['grouping']}: {row['group']}: {percent(row['value'])} of the refused people have a plan, "
                f"{percent(row['others'])} of the others."
            )
        else:
            yield f"{row['grouping']}: {row['group']}: {_costs(row)}."
    if len(differing) > MOST_DIFFERENCES:
        yield f"{len(differing) - MOST_DIFFERENCES:,} more differences are in the table."


def hidden_tendency(row: Mapping[Hashable, Any]) -> str:
    """ "higher" or "lower", as the costs of a group that differs are, if its median does not show it; otherwise ""."""
    tends_higher = row["higher"] > 0.5
    same = number(row["value"], 2) == number(row["others"], 2)
    if not same and (row["value"] > row["others"]) == tends_higher:
        return ""
    return "higher" if tends_higher else "lower"


def _costs(row: Mapping[Hashable, Any]) -> str:
    """How the costs of a group differ, which its median may not show."""
    value, others = number(row["value"], 2), number(row["others"], 2)
    tend = hidden_tendency(row)
    if not tend:
        return f"the median cost is {value}, that of the others {others}"
    if value == others:
        return f"costs tend to be {tend} than those of the others, although both medians are {value}"
    return f"costs tend to be {tend}, although the median is {value} and that of the others {others}"


def _functions(result: AuditResult) -> Iterator[str]:
    own = result.functions[result.functions["grouping"] == ""]
    used = own[own["used"] > 0].sort_values("used", ascending=False, kind="stable")
    if not len(used):
        return
    first = used.iloc[0]
    yield f"{first['function']} is in {first['used']:,} of {first['plans']:,} plans."
    if "indispensable" in own and own["indispensable"].sum():
        most = own.sort_values("indispensable", ascending=False, kind="stable").iloc[0]
        people = count(most["indispensable"], "person has", "people have")
        yield f"{people} no plan without {most['function']}."
