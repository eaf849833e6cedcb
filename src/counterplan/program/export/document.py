"""The page as a document: one file with its own style and code, which its security policy allows by hash."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from counterplan.problem.values import visible
from counterplan.program.export.form import Form, FormSource
from counterplan.program.export.resolved import problem_data, title

_SLOT = re.compile(r"\{\{(\w+)\}\}")
_ROWS = 6
"""Most rows of a table that is not collapsed."""


@dataclass(frozen=True)
class PagePart:
    """What a page shows of one artefact.

    Parameters
    ----------
    key : str
        Name of the artefact in the data and in identifiers of elements.
    tab : str
        Title of its tab, if a page has several parts.
    lead : str
        What the page is for, in a sentence.
    form : FormSource
        What it asks about.
    reached : sequence of bool
        By function: whether plans may use it.
    data : dict
        What the part's script works with.
    sections : str
        HTML beside the form, below the plan.
    about : str
        HTML below all.
    style : str
    scripts : sequence of Traversable
        Files in the order in which they are needed.
    """

    key: str
    tab: str
    lead: str
    form: FormSource
    reached: Sequence[bool]
    data: dict[str, Any]
    sections: str
    about: str
    style: str
    scripts: Sequence[Traversable]


def page(parts: Sequence[PagePart]) -> str:
    """The page of one or several artefacts of one problem as text.

    Its security policy allows no network and only its own code, by hash; all text is escaped.
    """
    shared = files(__package__) / "page"
    style = read(shared / "page.css") + "".join(part.style for part in parts)
    before, after = ("world.js", "elements.js"), ("wishes.js", "form.js")
    own = (script for part in parts for script in part.scripts)
    order = [*(shared / name for name in before), *own, *(shared / name for name in after)]
    script = "\n".join(read(path) for path in order)
    allowed = f"style-src {_hash(style)}; script-src {_hash(script)}"
    outcome = parts[0].form.artefact.problem.outcome
    slots = {
        "title": escape(title(parts[0].form.artefact.problem)),
        "target": escape(visible(f" to {outcome.goal}")) if len(outcome.values) > 2 else "",
        "policy": escape(f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"),
        "style": style,
        "script": script,
        "data": _json(page_data(parts)),
        "lead": escape(parts[0].lead),
        "tabs": _tabs(parts) if len(parts) > 1 else "",
        "panels": "".join(_panel(part, len(parts) > 1) for part in parts),
        "sections": "".join(f'<div class="side" data-part="{part.key}">{part.sections}</div>' for part in parts),
        "about": "".join(part.about for part in parts),
    }
    return filled(shared / "page.html", slots)


def page_data(parts: Sequence[PagePart]) -> dict[str, Any]:
    """The data of the page's scripts: the problem in numbers, the fields of the form and the artefacts."""
    problem = parts[0].form.artefact.problem
    form = Form(problem, [part.form for part in parts])
    return {
        "world": problem_data(problem, form.derived),
        **form.data(),
        "goal": visible(problem.outcome.goal),
        "reached": [any(reached) for reached in zip(*(part.reached for part in parts), strict=True)],
        **{part.key: part.data for part in parts},
    }


def _tabs(parts: Sequence[PagePart]) -> str:
    """The tabs of several parts."""
    buttons = "".join(
        f'<button type="button" role="tab" id="tab-{part.key}" aria-controls="panel-{part.key}">{escape(part.tab)}'
        "</button>"
        for part in parts
    )
    return f'<div class="tabs" role="tablist" aria-label="Two ways to work it out">{buttons}</div>'


def _panel(part: PagePart, tabbed: bool) -> str:
    """Where the plan of one part appears."""
    role = f' role="tabpanel" aria-labelledby="tab-{part.key}"' if tabbed else ""
    return f'<div id="panel-{part.key}" data-part="{part.key}"{role}><div id="{part.key}-result"></div></div>'


def read(path: Traversable) -> str:
    """The text of a file of the page."""
    return path.read_text(encoding="utf-8")


def filled(path: Traversable, slots: Mapping[str, str]) -> str:
    """A template of the page with HTML for its `slots`."""
    return _SLOT.sub(lambda match: slots[match.group(1)], read(path))


def items(lines: Sequence[str]) -> str:
    """The items of a list."""
    return "".join(f"<li>{escape(line)}</li>" for line in lines)


def pairs(entries: Sequence[tuple[str, str]]) -> str:
    """Names and values as a list."""
    inside = "".join(f"<div><dt>{escape(capital(k))}</dt><dd>{escape(v)}</dd></div>" for k, v in entries)
    return f"<dl>{inside}</dl>" if inside else ""


def table(name: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose rows begin with their name; collapsed if it is long."""
    head = "".join(f'<th scope="col">{escape(capital(cell))}</th>' for cell in (name, *headings))
    body = "".join(
        f'<tr><th scope="row">{escape(first)}</th>{"".join(f"<td>{escape(cell)}</td>" for cell in cells)}</tr>'
        for first, *cells in rows
    )
    text = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return text if len(rows) <= _ROWS else details(f"By {escape(name)}", text)


def details(summary: str, inside: str) -> str:
    """HTML that is collapsed below a `summary`; nothing if there is nothing inside."""
    return f"<details><summary>{summary}</summary>{inside}</details>" if inside else ""


def capital(text: str) -> str:
    """`text` with a capital letter."""
    return text[:1].upper() + text[1:]


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _json(data: Any) -> str:
    """JSON that is safe inside a script element: nothing in it can end the element."""
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
