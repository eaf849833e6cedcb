"""The HTML view of a problem in a notebook: its features and actions as tables, self-contained and escaped."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence

from counterplan.problem.parts import Feature, Function, Outcome, format_number
from counterplan.problem.transitions import Transitions
from counterplan.problem.values import cut, listed, text_of, visible

MAX_ROWS = 50
"""Rows of a table; the rest are counted."""


def problem_html(name: str, transitions: Transitions, outcome: Outcome, max_actions: int) -> str:
    """An HTML fragment with the features and the functions of a problem."""
    mutable = set(transitions.mutable.tolist())
    features = [(f.name, f.kind, _domain(f), _notes(f, f.index in mutable)) for f in transitions.features]
    functions = [
        (
            function.name,
            _effect(transitions.features[function.target], function),
            _arguments(function),
            str(function.when),
            _costs(function),
        )
        for function in transitions.functions
    ]
    summary = (
        f"{len(transitions.features)} features, {len(transitions.functions)} functions, "
        f"{len(transitions) - 1:,} actions; plans of at most {max_actions} actions; "
        f"favourable {outcome.column}: {outcome.describe()}"
    )
    return (
        f"<div><p><strong>{_escape(name)}</strong>: {_escape(summary)}</p>"
        + _table(("feature", "kind", "values", ""), features)
        + _table(("function", "effect", "arguments", "when", "base cost"), functions)
        + "</div>"
    )


def _domain(feature: Feature) -> str:
    """The values or the bounds of a feature."""
    if not feature.is_number:
        return listed(feature.values)
    low = "−∞" if math.isinf(feature.low) else format_number(feature.low)
    high = "∞" if math.isinf(feature.high) else format_number(feature.high)
    return f"{low} to {high}{f' {feature.unit}' if feature.unit else ''}"


def _notes(feature: Feature, mutable: bool) -> str:
    notes = {"immutable": not mutable, "protected": feature.protected, "may be missing": feature.missing}
    return ", ".join(note for note, holds in notes.items() if holds)


def _effect(feature: Feature, function: Function) -> str:
    return f"{'add to' if function.adds else 'set'} {feature.name}"


def _arguments(function: Function) -> str:
    return listed(text_of(native) for native in function.natives)


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
