"""A program as a page: one file that works offline and computes everything in the browser."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from html import escape
from importlib.resources import files
from typing import Any

from counterplan.errors import CounterplanError
from counterplan.problem.parts import Feature
from counterplan.problem.transitions import Floats
from counterplan.problem.values import visible
from counterplan.program.export.drawing import drawing
from counterplan.program.export.model_card_summary import counted, groups, limits, listed, making, summary, used
from counterplan.program.export.reasons import reasons
from counterplan.program.export.resolved import derived, resolved, title
from counterplan.program.export.svg import drawing_style, figure
from counterplan.program.parts import Leaf, Tree, leaves
from counterplan.program.protocol import ProgramLike
from counterplan.program.text import program_text

_SLOT = re.compile(r"\{\{(\w+)\}\}")
_STEPS = 200
"""Steps of a slider."""
_ROWS = 6
"""Most rows of a table that is not collapsed."""


def to_html(program: ProgramLike) -> str:
    """The page as text. Its security policy allows no network and only its own code, by hash; all text is escaped."""
    style = drawing_style() + _read("page.css")
    script = _read("engine.js") + _read("page.js")
    allowed = f"style-src {_hash(style)}; script-src {_hash(script)}"
    policy = f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"
    needed = used(program)
    unused = [f.label for f in program.problem.features if f not in needed and not f.protected]
    outcome = program.problem.outcome
    parts = {
        "title": escape(title(program.problem)),
        "target": escape(visible(f" to {outcome.goal}")) if len(outcome.values) > 2 else "",
        "policy": escape(policy),
        "style": style,
        "script": script,
        "data": _json(page_data(program)),
        "drawing": figure(program),
        "counted": counted(program),
        "rules": _rules(program),
        "about": _pairs(summary(program)),
        "groups": "".join(_table(*group) for group in groups(program)),
        "making": _details("How it was made", _pairs(making(program))),
        "limits": "".join(f"<li>{escape(line)}</li>" for line in limits(program)),
        "listing": escape(program_text(program.problem, program.trees)),
        "unused": f"<p>It does not ask about {escape(listed(unused))}.</p>" if unused else "",
    }
    return _SLOT.sub(lambda match: parts[match.group(1)], _read("page.html"))


def _rules(program: ProgramLike) -> str:
    """The number of rules in words."""
    count = sum(1 for tree in program.trees.values() for _ in leaves(tree))
    return "1 plain rule" if count == 1 else f"{count:,} plain rules"


def _pairs(pairs: list[tuple[str, str]]) -> str:
    """Names and values as a list."""
    inside = "".join(f"<div><dt>{escape(_capital(k))}</dt><dd>{escape(v)}</dd></div>" for k, v in pairs)
    return f"<dl>{inside}</dl>" if inside else ""


def _table(name: str, headings: list[str], rows: list[list[str]]) -> str:
    """A table of the performance for groups of people."""
    head = "".join(f'<th scope="col">{escape(_capital(cell))}</th>' for cell in (name, *headings))
    body = "".join(
        f'<tr><th scope="row">{escape(first)}</th>{"".join(f"<td>{escape(cell)}</td>" for cell in cells)}</tr>'
        for first, *cells in rows
    )
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return table if len(rows) <= _ROWS else _details(f"By {escape(name)}", table)


def _details(summary: str, inside: str) -> str:
    return f"<details><summary>{summary}</summary>{inside}</details>" if inside else ""


def page_data(program: ProgramLike) -> dict[str, Any]:
    """The data of the page's script: the program in numbers, its reasons and the fields of the form."""
    examples = _examples(program)
    fields = [_field(program, feature, examples) for feature in used(program)]
    middle = [_middle(program, feature, examples) for feature in program.problem.features]
    texts = reasons(program)
    return resolved(program) | {
        "reasons": [texts.get(name, []) for name in program.nodes],
        "fields": fields,
        "examples": [_finite(example) for example in examples] or [middle],
        "real": bool(examples),
        "goal": visible(program.problem.outcome.goal),
        "reached": [name in drawing(program).nodes for name in program.nodes[1:]],
    }


def _read(name: str) -> str:
    return files(__package__).joinpath("page", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _json(data: Any) -> str:
    """JSON that is safe inside a script element: nothing in it can end the element."""
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _examples(program: ProgramLike) -> list[Floats]:
    """The examples of the card that match the problem."""
    found = []
    stored = program.model_card.to_data().get("examples")
    for person in stored if isinstance(stored, list | tuple) else ():
        try:
            found.append(program.problem.state(person))
        except (CounterplanError, AttributeError, TypeError):
            continue
    return found


def _finite(state: Floats) -> list[float | None]:
    return [None if math.isnan(number) else number for number in state.tolist()]


def _field(program: ProgramLike, feature: Feature, examples: list[Floats]) -> dict[str, Any]:
    """A field of the form: a choice, a number with a slider, or what is computed from other fields."""
    for cause in derived(program):
        if cause.target == feature.index:
            return {"feature": feature.index, "from": sorted(program.problem.transitions.read_in(cause))}
    if not feature.is_number:
        return {"feature": feature.index}
    low, high, step = _range(program, feature, examples)
    return {"feature": feature.index, "low": low, "high": high, "step": step}


def _range(program: ProgramLike, feature: Feature, examples: list[Floats]) -> tuple[float, float, float]:
    """The minimum, maximum and step of a slider.

    An end is the bound of the feature. Without a bound, it is the end of the card's range, or of a wider one that
    covers all thresholds and examples; if the card has no range, there is a margin around these.
    """
    marks = [example[feature.index] for example in examples if not math.isnan(example[feature.index])]
    for tree in program.trees.values():
        marks += _thresholds(tree, feature.index)
    known = (program.model_card.ranges or {}).get(feature.name)
    marks += known or [edge for edge in feature.bins or () if math.isfinite(edge)]
    marks += [edge for edge in (feature.low, feature.high) if math.isfinite(edge)]
    low, high = (min(marks), max(marks)) if marks else (0.0, 100.0)
    if not known or low == high:
        room = 0.15 * (high - low) or max(abs(high), 1.0)
        low, high = max(low - room, 0.0 if low >= 0 else -math.inf), high + room
    bottom = feature.low if math.isfinite(feature.low) else low
    top = feature.high if math.isfinite(feature.high) else high
    step = 10 ** math.floor(math.log10((top - bottom) / _STEPS)) if top > bottom else 1.0
    step = next((step * size for size in (1, 2, 5, 10) if step * size * _STEPS >= top - bottom), step)
    if feature.integer:
        bottom, top, step = math.ceil(bottom), math.floor(top), max(step, 1.0)
    first = bottom if bottom == feature.low else math.floor(bottom / step) * step
    last = top if top == feature.high else math.ceil(top / step) * step
    return float(f"{first:.10g}"), float(f"{last:.10g}"), float(f"{step:.10g}")


def _thresholds(tree: Tree, feature: int) -> list[float]:
    if isinstance(tree, Leaf):
        return []
    own = [tree.test.at_least] if tree.test.feature == feature and tree.test.at_least is not None else []
    return [*own, *_thresholds(tree.yes, feature), *_thresholds(tree.no, feature)]


def _middle(program: ProgramLike, feature: Feature, examples: list[Floats]) -> float | None:
    """An initial value if there is no example."""
    if feature.kind == "category":
        return 0.0
    if feature.kind == "ordered":
        return float(len(feature.natives) // 2)
    low, high, step = _range(program, feature, examples)
    middle = min(low + round((high - low) / 2 / step) * step, high)
    return float(round(middle)) if feature.integer else float(f"{middle:.10g}")
