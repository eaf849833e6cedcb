"""The HTML view of a problem in a notebook: its features and actions as tables, self-contained and escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from counterplan.problem.description import ProblemParts, arguments, domain, effect, notes
from counterplan.problem.parts import Function, format_number
from counterplan.problem.values import cut, visible

MAX_ROWS = 50
"""Rows of a table; the rest are counted."""


def problem_html(parts: ProblemParts) -> str:
    """An HTML fragment with the features and the functions of a problem."""
    transitions = parts.transitions
    features = [(f.name, f.kind, domain(f), ", ".join(notes(f, transitions))) for f in transitions.features]
    functions = [
        (
            function.name,
            effect(transitions.features[function.target], function),
            arguments(function),
            str(function.when),
            _costs(function),
        )
        for function in transitions.functions
    ]
    return (
        f"<div><p><strong>{_escape(parts.name)}</strong>: {_escape(parts.summary())}</p>"
        + _table(("feature", "kind", "values", ""), features)
        + _table(("function", "effect", "arguments", "when", "base cost"), functions)
        + "</div>"
    )


def _costs(function: Function) -> str:
    low, high = float(function.base.min()), float(function.base.max())
    return format_number(low) if low == high else f"{format_number(low)} to {format_number(high)}"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [_row("th", header), *(_row("td", row) for row in rows[:MAX_ROWS])]
    if len(rows) > MAX_ROWS:
        lines.append(f'<tr><td colspan="{len(header)}">… and {len(rows) - MAX_ROWS:,} more</td></tr>')
    return f"<table>{''.join(lines)}</table>"


def _row(tag: str, cells: Iterable[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{_escape(cell)}</{tag}>' for cell in cells)}</tr>"


def _escape(text: str) -> str:
    return html.escape(visible(cut(text, 200)))
