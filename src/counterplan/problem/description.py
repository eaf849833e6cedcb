"""A problem in words and as data: its functions, as a paper would list a domain-specific language, and causal graph."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from counterplan.problem.parts import STOP, Cause, Feature, Function, Outcome, Scale, format_number
from counterplan.problem.transitions import Transitions
from counterplan.problem.values import Native, cut, listed, text_of, visible

WIDTH = 110
OTHERWISE = "otherwise"
_LONGEST_CELL = 400
"""Characters of a cell; longer ones are cut."""
_MOST_VALUES = 20
"""Values of a feature or a function that are listed; of more, the first and the total."""
_LONGEST_WORD = 24
"""Longer words are broken if a table is too wide."""


_COSTS = (
    "An action is a function with one argument. Its cost is surcharge + base × the product of s(x) over the edges from "
    "features x to the feature that it changes, where s(x) is the scale of an edge. Numbers in braces are by argument."
)
_DURATIONS = (
    "Durations are in {unit}. s(x) scales them as it scales costs. Two steps can run side by side if neither changes "
    'what the other depends on, and neither function is marked "alone".'
)
_STOP_DATA: dict[str, Any] = {
    "name": STOP,
    "effect": "end the plan",
    "feature": None,
    "argument": None,
    "arguments": [],
    "when": "true",
    "base": [0.0],
    "surcharge": [0.0],
    "scaled_by": [],
    "least_cost": [0.0],
    "most_cost": [0.0],
}


class ProblemParts(NamedTuple):
    """The parts of a problem that are described."""

    name: str
    title: str | None
    transitions: Transitions
    outcome: Outcome
    max_actions: int
    time_unit: str = ""
    """The unit of durations; empty if no action takes time."""

    def summary(self) -> str:
        """The size of the problem and the favourable outcome."""
        transitions = self.transitions
        return (
            f"{len(transitions.features)} features, {len(transitions.functions)} functions, "
            f"{len(transitions) - 1:,} actions; plans of at most {self.max_actions} actions; "
            f"favourable {self.outcome.column}: {self.outcome.describe()}"
        )


def problem_data(parts: ProblemParts) -> dict[str, Any]:
    """The description as plain data; see `Problem.description`."""
    transitions = parts.transitions
    return {
        "name": parts.name,
        "title": parts.title,
        "max_actions": parts.max_actions,
        **({"time_unit": parts.time_unit} if parts.time_unit else {}),
        "outcome": {"column": parts.outcome.column, "favourable": _favourable(parts.outcome)},
        "features": [_feature_data(transitions, feature) for feature in transitions.features],
        "functions": [*(_function_data(transitions, i) for i in range(len(transitions.functions))), _STOP_DATA],
        "causes": [_cause_data(transitions, cause) for cause in transitions.causes],
    }


def _favourable(outcome: Outcome) -> list[Native] | dict[str, float]:
    """The favourable values, or the favourable scores as in a problem file."""
    if outcome.score is not None:
        return {"at_most" if outcome.score.at_most else "at_least": outcome.score.limit}
    return [native for native in outcome.natives if text_of(native) in outcome.favourable]


def _feature_data(transitions: Transitions, feature: Feature) -> dict[str, Any]:
    bounds = {
        "minimum": None if math.isinf(feature.low) else feature.low,
        "maximum": None if math.isinf(feature.high) else feature.high,
        "unit": feature.unit,
    }
    return {
        "name": feature.name,
        "label": feature.label,
        "kind": feature.kind,
        **(bounds if feature.is_number else {"values": list(feature.natives)}),
        **{note.replace(" ", "_"): holds for note, holds in _notes(feature, transitions).items()},
    }


def _function_data(transitions: Transitions, index: int) -> dict[str, Any]:
    function, span = transitions.functions[index], transitions.spans[index]
    feature = transitions.features[function.target]
    return {
        "name": function.name,
        "effect": "add" if function.adds else "set",
        "feature": feature.name,
        "argument": feature.kind,
        "arguments": list(function.natives),
        "when": str(function.when),
        "base": function.base.tolist(),
        "surcharge": function.surcharge.tolist(),
        "scaled_by": [transitions.features[cause.source].name for cause in scaling(transitions, function.target)],
        "least_cost": transitions.least_costs[span].tolist(),
        "most_cost": transitions.most_costs[span].tolist(),
        **(_duration_data(function) if transitions.has_durations else {}),
    }


def _duration_data(function: Function) -> dict[str, Any]:
    return {
        "duration_base": function.duration_base.tolist(),
        "duration_surcharge": function.duration_surcharge.tolist(),
        "overlaps": function.overlaps,
    }


def _cause_data(transitions: Transitions, cause: Cause) -> dict[str, Any]:
    source, target = transitions.features[cause.source], transitions.features[cause.target]
    return {
        "from": source.name,
        "to": target.name,
        "scale": None if cause.scale is None else [list(pair) for pair in factors(source, cause.scale)],
        "table": None if cause.table is None else [list(pair) for pair in table_entries(source, target, cause)],
        "formula": None if cause.formula is None else str(cause.formula),
    }


def problem_text(parts: ProblemParts) -> str:
    """The description as text; see `Problem.to_text`."""
    transitions = parts.transitions
    head = parts.name if parts.title is None else f"{parts.name}: {parts.title}"
    functions = [
        (
            function.name,
            effect(transitions.features[function.target], function),
            transitions.features[function.target].kind,
            arguments(function, _MOST_VALUES),
            precondition(function),
            cost_text(transitions, function),
            *([duration_text(transitions, function)] if parts.time_unit else []),
        )
        for function in transitions.functions
    ]
    duration = ["duration"] if parts.time_unit else []
    stop = (STOP, _STOP_DATA["effect"], "none", "–", "always", "0", *("0" for _ in duration))
    features = [
        (f.name, f.kind, domain(f, _MOST_VALUES), ", ".join(notes(f, transitions))) for f in transitions.features
    ]
    lines = [
        *textwrap.wrap(head, WIDTH),
        *textwrap.wrap(parts.summary(), WIDTH),
        "",
        "Functions",
        *_table(
            ("function", "effect", "argument", "arguments", "precondition", "cost", *duration),
            [*functions, stop],
        ),
        "",
        *textwrap.wrap(_COSTS, WIDTH),
        *(textwrap.wrap(_DURATIONS.format(unit=parts.time_unit), WIDTH) if duration else []),
        "",
        "Causal graph",
        *_graph_lines(transitions),
        "",
        "Features",
        *_table(("feature", "kind", "values", "notes"), features),
    ]
    return visible("\n".join(line.rstrip() for line in lines))


def _graph_lines(transitions: Transitions) -> Iterator[str]:
    if not transitions.causes:
        yield "  no edges: the order of actions does not change their costs"
    for cause in transitions.causes:
        source, target = transitions.features[cause.source].name, transitions.features[cause.target].name
        line = f"{cut(source, 40)} → {cut(target, 40)}: {'; '.join(cause_effects(transitions, cause))}"
        yield from textwrap.wrap(cut(line, _LONGEST_CELL * 2), WIDTH, initial_indent="  ", subsequent_indent="      ")


def domain(feature: Feature, most: int = 8) -> str:
    """The bounds of a number, or the values of a category, at most so many."""
    if not feature.is_number:
        return listed(feature.values, most)
    unit = f" {feature.unit}" if feature.unit else ""
    low, high = format_number(feature.low), format_number(feature.high)
    if math.isfinite(feature.low) and math.isfinite(feature.high):
        return f"{low} to {high}{unit}"
    if math.isfinite(feature.low):
        return f"at least {low}{unit}"
    return (
        f"at most {high}{unit}" if math.isfinite(feature.high) else f"any number{f' ({feature.unit})' if unit else ''}"
    )


def notes(feature: Feature, transitions: Transitions) -> list[str]:
    """Whether a feature is immutable or protected, follows from others, or may be missing."""
    return [note for note, holds in _notes(feature, transitions).items() if holds]


def _notes(feature: Feature, transitions: Transitions) -> dict[str, bool]:
    return {
        "immutable": feature.index not in set(transitions.mutable.tolist()),
        "protected": feature.protected,
        "derived": any(cause.target == feature.index for cause in transitions.derived),
        "may be missing": feature.missing,
    }


def effect(feature: Feature, function: Function) -> str:
    """What a function does: `set job`, `add to income`."""
    return f"{'add to' if function.adds else 'set'} {feature.name}"


def arguments(function: Function, most: int = 8) -> str:
    """The arguments of a function, at most so many."""
    return listed((text_of(native) for native in function.natives), most)


def precondition(function: Function) -> str:
    """The precondition of a function: a condition, or `always`."""
    text = str(function.when)
    return "always" if text == "true" else text


def scaling(transitions: Transitions, target: int) -> list[Cause]:
    """The causes that scale the costs of changing a feature."""
    return [cause for cause in transitions.causes if cause.target == target and cause.scale is not None]


def base_text(function: Function) -> str:
    """The base cost and the surcharge of a function: `10`, `{5, 8}`, `{0, 1, 2} + 10`."""
    base, surcharge = _numbers(function.base.tolist()), _numbers(function.surcharge.tolist())
    return base if surcharge == "0" else f"{surcharge} + {base}"


def cost_text(transitions: Transitions, function: Function) -> str:
    """The cost of a function: `{0, 1, 2} + 10 × s(job)`."""
    factors_text = "".join(
        f" × s({transitions.features[c.source].name})" for c in scaling(transitions, function.target)
    )
    return base_text(function) + factors_text


def duration_text(transitions: Transitions, function: Function) -> str:
    """The duration of a function: `6`, `{3, 6}`, `1 + 6 × s(job)`, with a mark if it does not overlap."""
    base, surcharge = _numbers(function.duration_base.tolist()), _numbers(function.duration_surcharge.tolist())
    factors_text = "".join(
        f" × s({transitions.features[c.source].name})" for c in scaling(transitions, function.target)
    )
    parts = [surcharge] if surcharge != "0" or base == "0" else []
    parts += [] if base == "0" else [base + factors_text]
    return " + ".join(parts) + ("" if function.overlaps else ", alone")


def _numbers(numbers: Sequence[float]) -> str:
    """`10` if all are equal, `{1, 2, 3}`, or `{1 … 20}` if they are many."""
    texts = [format_number(number) for number in numbers]
    if len(set(texts)) == 1:
        return texts[0]
    if len(texts) > 8:
        return f"{{{format_number(min(numbers))} … {format_number(max(numbers))}}}"
    return f"{{{', '.join(texts)}}}"


def cause_effects(transitions: Transitions, cause: Cause) -> list[str]:
    """What an edge of the causal graph does, in words."""
    source, target = transitions.features[cause.source], transitions.features[cause.target]
    effects = []
    if cause.scale is not None:
        pairs = factors(source, cause.scale)
        effects.append("cost × " + ", ".join(_case(format_number(factor), case) for case, factor in pairs))
    if cause.table is not None:
        entries = table_entries(source, target, cause)
        effects.append("sets it to " + ", ".join(_case(value, case) for case, value in entries))
    if cause.formula is not None:
        effects.append(f"sets it to {cause.formula}")
    return effects or ["without an effect on costs or values"]


def _case(value: str, case: str) -> str:
    return f"{value} {OTHERWISE}" if case == OTHERWISE else f"{value} if {case}"


def factors(source: Feature, scale: Scale) -> list[tuple[str, float]]:
    """The factors of a scale, each with the values or the interval that it is for; of intervals the first applies."""
    if scale.by_value is not None:
        return list(zip(source.values, scale.by_value.tolist(), strict=False))
    cases = [(_interval(*interval[:4]), interval[4]) for interval in scale.intervals]
    return cases if cases and cases[-1][0] == OTHERWISE else [*cases, (OTHERWISE, 1.0)]


def table_entries(source: Feature, target: Feature, cause: Cause) -> list[tuple[str, str]]:
    """The values of a table, each with the value of the source that it is for; others change nothing."""
    assert cause.table is not None
    return [
        (value, text_of(target.native(number)))
        for value, number in zip(source.values, cause.table.tolist(), strict=True)
        if not math.isnan(number)
    ]


def _interval(low: float, low_in: bool, high: float, high_in: bool) -> str:
    parts = []
    if not math.isinf(low):
        parts.append(f"{'at least' if low_in else 'above'} {format_number(low)}")
    if not math.isinf(high):
        parts.append(f"{'at most' if high_in else 'below'} {format_number(high)}")
    return " and ".join(parts) or OTHERWISE


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A table of at most `WIDTH` characters a line, if its columns are few; cells that are too long are wrapped."""
    texts = [[" ".join(cut(cell, _LONGEST_CELL).split()) for cell in row] for row in (header, *rows)]
    columns = list(zip(*texts, strict=True))
    widths = [max(map(len, column)) for column in columns]
    least = [
        min(_LONGEST_WORD, max(len(word) for cell in column for word in [*cell.split(), ""])) for column in columns
    ]
    while sum(widths) + 2 * len(widths) > WIDTH and widths != least:
        spare = [width - low for width, low in zip(widths, least, strict=True)]
        widest = max((i for i in range(len(widths)) if spare[i] > 0), key=widths.__getitem__, default=None)
        if widest is None:
            break
        widths[widest] -= 1
    for place, row in enumerate(texts):
        cells = [
            textwrap.wrap(cell, width, break_on_hyphens=False) or [""] for cell, width in zip(row, widths, strict=True)
        ]
        for line in range(max(map(len, cells))):
            parts = [cell[line] if line < len(cell) else "" for cell in cells]
            yield "  " + "  ".join(part.ljust(width) for part, width in zip(parts, widths, strict=True))
        if place == 0:
            yield "  " + "  ".join("-" * width for width in widths)
