"""The summary of an audit as plain text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pandas as pd

from counterplan.audit.findings import findings
from counterplan.audit.formatting import fewer_than, share_with_interval, with_interval
from counterplan.problem.values import count

if TYPE_CHECKING:
    from counterplan.audit.result import AuditResult

MOST_ROWS = 40


def audit_text(result: AuditResult) -> str:
    """Findings as sentences, and a table of groups."""
    about = result.about
    against = f" against {about['against_name']}" if about.get("against_name") else ""
    lines = [f"Audit of {about['model_name']}{against} on {about['name']}: {count(len(result), 'person', 'people')}."]
    lines += [*findings(result)] or ["The model refuses none of these people."]
    if result.relaxations is not None:
        lines += ["", *map(str, result.relaxations["text"])]
    if result.summary["refused"]:
        lines += ["", *group_lines(result.groups, result.settings.min_group)]
        level = f"{100 * result.settings.level:g}"
        lines += ["", f"In brackets: {level} % intervals. Shares are of refused people, costs of those with a plan."]
    return "\n".join(lines)


def group_lines(groups: pd.DataFrame, minimum: int) -> list[str]:
    """The groups as lines of a table."""
    small = fewer_than(minimum)
    rows = [["", "refused", "has a plan", "provably none", "unknown", "median cost"]]
    for row in groups.head(MOST_ROWS).to_dict("records"):
        name = f"{row['grouping']}: {row['group']}" if row["grouping"] else row["group"]
        if pd.isna(row["recourse_share"]):
            rows.append([name, f"{row['refused']:,}", small, "", "", ""])
            continue
        shares = [
            share_with_interval(*(row[f"{key}_{part}"] for part in ("share", "low", "high")))
            for key in ("recourse", "none")
        ]
        cost = with_interval(row["cost_q50"], row["cost_q50_low"], row["cost_q50_high"], 2)
        cost = small if pd.isna(row["cost_q50"]) else cost
        rows.append([name, f"{row['refused']:,}", *shares, f"{row['unknown']:,}", cost])
    lines = aligned(rows)
    if len(groups) > MOST_ROWS:
        lines.append(f"… {len(groups) - MOST_ROWS:,} more groups are in groups.csv.")
    return lines


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of cells as lines: the first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for first, *others in rows:
        cells = [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))]
        lines.append("  ".join(cells).rstrip())
    return lines
