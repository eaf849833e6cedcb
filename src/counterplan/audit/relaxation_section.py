"""Relaxations in an audit: how many people they help, as plain data that is saved, and as a section of the report."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from counterplan.audit.formatting import fewer_than
from counterplan.audit.outcomes import AuditOutcome
from counterplan.audit.relaxation_report import helped_by_none_text, relaxation_lines, without_small_shares
from counterplan.audit.relaxations import find_relaxations, relaxations_of
from counterplan.audit.section import Section, paragraph, table_html
from counterplan.audit.settings import AuditSettings
from counterplan.blackbox import BlackBox
from counterplan.planners import AutoSettings
from counterplan.problem import People, Problem
from counterplan.problem.transitions import Bools

KEY = "relaxations"
MOST_PEOPLE, FEWEST_PEOPLE = 200, 20
"""Most and fewest people that relaxations are tried for by default; the fewest whatever that costs."""
_WORK_FOR_EACH_QUERY = 4
"""States × relaxations that take about as long as planning takes for a query."""
_LEAST_WORK = 1_200_000
"""States × relaxations that are always affordable: some seconds."""
_MOST_LINES = 5
_HEADS = {
    "description": "relaxation",
    "helped": "people helped",
    "share": "share",
    "low": "at least",
    "high": "at most",
    "unknown": "unknown",
}

_SHARES = ("share", "low", "high")


def people_to_examine(problem: Problem, outcomes: pd.DataFrame, settings: AuditSettings) -> int:
    """The largest number of people without recourse that relaxations are tried for.

    Every state that somebody without recourse can reach was queried, so that the number of queries about them tells
    what a relaxation costs. It does not depend on the clock: the same audit examines the same people.

    Parameters
    ----------
    problem : Problem
    outcomes : DataFrame
        `AuditResult.outcomes`.
    settings : AuditSettings

    Returns
    -------
    int
        `settings.relaxations`, if that is given.
    """
    if settings.relaxations is not None:
        return settings.relaxations
    queries = outcomes["queries"].to_numpy(float)
    stuck = np.asarray(outcomes["outcome"] == AuditOutcome.NO_RECOURSE, bool)
    if stuck.sum() <= FEWEST_PEOPLE:
        return FEWEST_PEOPLE
    affordable = max(_LEAST_WORK, _WORK_FOR_EACH_QUERY * queries.sum())
    work = max(1.0, queries[stuck].mean() * len(relaxations_of(problem)))
    return int(np.clip(affordable // work, FEWEST_PEOPLE, MOST_PEOPLE))


def audit_relaxations(
    problem: Problem,
    box: BlackBox,
    people: People,
    stuck: Bools,
    settings: AuditSettings,
    sample: int,
    *,
    reference: People | None = None,
    total: int | None = None,
) -> dict[str, Any]:
    """Try single relaxations of a problem for people without recourse.

    Parameters
    ----------
    problem : Problem
    box : BlackBox
    people : People
        B people, whose values new functions set.
    stuck : bool array of shape [B]
        Who is proved to have no recourse.
    settings : AuditSettings
    sample : int
        Most people who are examined; see `people_to_examine`.
    reference : People, optional
        The people whose values new functions set instead.
    total : int, optional
        Number of people without recourse, if those in `people` are a sample.

    Returns
    -------
    dict
        Plain data, of which `relaxation_section` makes a section.
    """
    budget = None
    examined = min(int(stuck.sum()), sample)
    if settings.budget is not None:
        budget = settings.budget * examined
    if box.marginal_seconds:
        affordable = int(AutoSettings().affordable_seconds / box.marginal_seconds)
        budget = affordable if budget is None else min(budget, affordable)
    report = find_relaxations(
        problem,
        box,
        people,
        stuck=stuck,
        reference=reference,
        sample=sample,
        budget=budget,
        seed=settings.seed,
    )
    report = report if total is None else replace(report, stuck=total)
    return report.to_dict() | {"min_group": settings.min_group}


def summarized(data: dict[str, Any], min_group: int) -> dict[str, Any]:
    """The data of `audit_relaxations` with lines of text, without shares of fewer than `min_group` people."""
    data = without_small_shares(data, min_group)
    return data | {"min_group": min_group, "text": relaxation_lines(data, _MOST_LINES)}


def relaxation_section(data: dict[str, Any]) -> Section:
    """A section of the report.

    Parameters
    ----------
    data : dict
        From `summarized`.

    Returns
    -------
    Section
    """
    table, best = pd.DataFrame(data["relaxations"]), pd.DataFrame(data["best"])
    few = None if data["examined"] >= data["min_group"] else f"; no shares of {fewer_than(data['min_group'])}"
    sample = f", a random sample of {data['stuck']:,}" if data["examined"] < data["stuck"] else ""
    words = (
        f"{data['examined']:,} people who are proved to have no recourse{sample}. Each relaxation changes the problem "
        "in one place: one precondition less, one argument further, one action more, or one function more. A person is "
        "helped if the model confirms a plan in the relaxed problem. Whether a relaxation makes sense is for those who "
        "know the problem to judge."
    )
    parts = [paragraph(words)]
    if len(table):
        shown = table[(table["helped"] > 0) | (table["unknown"] > 0)]
        nobody = len(table) - len(shown)
        heads = {name: head for name, head in _HEADS.items() if few is None or name not in _SHARES}
        caption = f"People helped by each relaxation{few or ''}"
        parts.append(table_html(shown[[*heads]], caption, [*heads.values()], _cell))
        parts.append(paragraph(f"{nobody:,} relaxations help nobody." if nobody else ""))
    if len(best):
        names = {"description": "relaxation", "helped": "helps further", "in_all": "in all", "share": "share"}
        names = {name: head for name, head in names.items() if few is None or name not in _SHARES}
        caption = "Relaxations one after the other, each for the most people left"
        parts.append(table_html(best[[*names]], caption, [*names.values()], _cell))
    parts.append(paragraph(helped_by_none_text(data["helped_by_none"], data["undecided"], data["examined"])))
    return Section(KEY, "Why people have no recourse", parts, (table,) if len(table) else ())


def _cell(name: str, value: Any) -> str:
    """Shares and their bounds as percentages."""
    if name in _SHARES:
        return "–" if value is None or value != value else f"{100 * value:.1f} %"
    return f"{value:,}" if isinstance(value, int) else str(value)
