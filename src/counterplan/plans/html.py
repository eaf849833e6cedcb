"""Plans as HTML: a timeline for one plan, a table for several, a page for readers.

Every text from outside is escaped. There are no scripts and no external resources, and colours inherit from the page
or are translucent greys, so that light and dark notebooks both work.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from counterplan.plans.status import Status
from counterplan.plans.survival_text import share_of_models, survival_text
from counterplan.plans.text import (
    Summary,
    alternative_texts,
    alternatives_title,
    headline,
    option_facts,
    options_title,
    plan_text,
    points_text,
    shown_options,
    total_effort,
    verification,
)
from counterplan.plans.time_text import duration_text, faster_texts, time_text, when_text
from counterplan.problem.values import describe_target, visible

if TYPE_CHECKING:
    from counterplan.plans.plan import Plan, Step
    from counterplan.plans.plans import Plans

_MOST_ROWS = 10
_LINE = "rgba(128,128,128,.4)"
_SHADE = "rgba(128,128,128,.12)"
OUTCOMES = {
    Status.FOUND: "plan found",
    Status.ALREADY_FAVOURABLE: "already favourable",
    Status.INFEASIBLE: "no plan possible",
    Status.NOT_FOUND: "no plan found",
}
"""Statuses in words."""


def plan_html(plan: Plan) -> str:
    """A plan as a timeline of its steps, with cost, reason and verification."""
    if not plan.steps:
        return f'<div style="max-width:46em;line-height:1.5">{_text(plan_text(plan))}</div>'
    lasting = f'<div style="font-size:.9em">{_text(text)}</div>' if (text := survival_text(plan)) else ""
    points = "".join(f"<div>{_text(text)}</div>" for text in (points_text(plan), duration_text(plan)) if text)
    return (
        '<div style="max-width:46em;line-height:1.5">'
        f'<div style="font-weight:600">{_text(headline(plan))} ({_text(total_effort(plan))})</div>{points}'
        f'<ol style="list-style:none;margin:.6em 0 .6em .8em;padding:0;border-left:2px solid {_LINE}">'
        f"{''.join(_step(number, step, plan) for number, step in enumerate(plan.steps, 1))}</ol>"
        f'<div style="font-size:.9em">{_mark(plan.verified)} {_text(verification(plan))}</div>'
        f"{lasting}{_faster(plan)}{_alternatives(plan)}{_options(plan)}</div>"
    )


def _faster(plan: Plan) -> str:
    """The faster plans on the front of cost and duration."""
    items = "".join(f"<div>{_text(text)}</div>" for text in faster_texts(plan))
    return f'<div style="font-size:.9em;margin-top:.6em">{items}</div>' if items else ""


def _alternatives(plan: Plan) -> str:
    """The list of other ways; that there is none, if they were searched for."""
    if "alternatives" not in plan.related:
        return ""
    return _list(alternatives_title(plan), [*alternative_texts(plan)])


def _options(plan: Plan) -> str:
    """The list of what else would do."""
    options = shown_options(plan)
    if not options:
        return ""
    return _list(options_title(plan), [(option.checked, option.text, option_facts(option)) for option in options])


def _list(title: str, items: Sequence[tuple[bool, str, str]]) -> str:
    """A title, and a list of texts with facts, each with a mark whether it was checked."""
    listed = "".join(
        f'<li>{_mark(checked)} {_text(text)} <span style="opacity:.8">({_text(facts)})</span></li>'
        for checked, text, facts in items
    )
    if items:
        listed = f'<ul style="list-style:none;margin:.2em 0 0 .8em;padding:0">{listed}</ul>'
    return f'<div style="font-size:.9em;margin-top:.6em">{_text(title)}{listed}</div>'


def _step(number: int, step: Step, plan: Plan) -> str:
    """One step of the timeline."""
    circle = (
        "position:absolute;left:-.8em;top:.1em;width:1.5em;height:1.5em;line-height:1.5em;border-radius:50%;"
        "text-align:center;font-size:.8em;font-weight:600;background:#1f6f6f;color:#fff"
    )
    reason = f'<div style="font-size:.9em;opacity:.8">because {_text(step.reason)}</div>' if step.reason else ""
    return (
        '<li style="position:relative;margin:0;padding:0 0 .6em 1.4em">'
        f'<span style="{circle}">{number}</span>'
        f'<div style="display:flex;gap:1em;justify-content:space-between"><span>{_text(step.text)}</span>'
        f'<span style="white-space:nowrap;opacity:.8">effort {step.cost:.1f}</span></div>'
        f"{reason}{_bar(step, plan)}</li>"
    )


def _bar(step: Step, plan: Plan) -> str:
    """When a step takes place, as a bar and in words; empty without durations."""
    if not plan.duration or step.start is None or step.duration is None:
        return ""
    left, width = 100 * step.start / plan.duration, max(1.0, 100 * step.duration / plan.duration)
    bar = (
        f"position:absolute;box-sizing:border-box;left:{min(left, 99.0):.4g}%;width:{width:.4g}%;top:0;bottom:0;"
        "border:1px solid currentColor;border-radius:2px;background:rgba(128,128,128,.5)"
    )
    return (
        '<div style="display:flex;gap:.8em;align-items:center;font-size:.8em">'
        f'<span style="position:relative;flex:1;height:.8em;border-bottom:1px solid {_LINE}" aria-hidden="true">'
        f'<span style="{bar}"></span></span>'
        f'<span style="flex:none;width:15em;opacity:.8">{_text(when_text(step, plan.time_unit))}</span></div>'
    )


def plans_html(plans: Plans) -> str:
    """The counts of plans, and a table of the first ones."""
    cell = f"padding:.3em .7em;text-align:left;vertical-align:top;border-bottom:1px solid {_LINE}"
    titles = ["person", "outcome", "steps", "effort", "checked"]
    lasting = not np.isnan(plans.survivals).all()
    timed = not np.isnan(plans.durations).all()
    titles += [*(["time"] if timed else []), *(["retrained models"] if lasting else [])]
    head = "".join(f'<th style="{cell};background:{_SHADE}">{title}</th>' for title in titles)
    rows = "".join(
        "<tr>"
        + "".join(f'<td style="{cell};{style}">{value}</td>' for style, value in _row(plan, lasting, timed))
        + "</tr>"
        for plan in islice(plans, _MOST_ROWS)
    )
    more = f"<div>… and {len(plans) - _MOST_ROWS:,} more.</div>" if len(plans) > _MOST_ROWS else ""
    table = (
        '<table style="border-collapse:collapse;margin:.5em 0">'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    )
    return (
        f'<div style="line-height:1.5"><div style="font-weight:600">{_text(Summary.of(plans).counts)}.</div>'
        f"<div>{_text(Summary.of(plans).queries_spent)}.</div>{table if len(plans) else ''}{more}</div>"
    )


def _row(plan: Plan, lasting: bool, timed: bool) -> Iterator[tuple[str, str]]:
    """Style and content of the cells of one person in the table: the duration if `timed`, and the share of retrained
    models if `lasting`."""
    short = "white-space:nowrap"
    yield "", _text(str(plan.person))
    yield short, _outcome(plan)
    yield "", " → ".join(_text(step.text) for step in plan.steps)
    yield short, f"{plan.cost:.1f}{' (least)' if plan.optimal else ''}" if plan.steps else ""
    yield short, f"{_mark(plan.verified)} {'yes' if plan.verified else 'no'}" if plan.steps else ""
    if timed:
        yield short, _text(time_text(plan.duration or 0.0, plan.time_unit)) if plan.steps else ""
    if lasting:
        yield short, share_of_models(plan.survival) if plan.steps and plan.survival is not None else ""


def _outcome(plan: Plan) -> str:
    """The status of a plan in words, with the outcome that it is to reach."""
    text = OUTCOMES[plan.status]
    if not plan.target:
        return text
    target = _text(describe_target(plan.target))
    return f"already {target}" if plan.status is Status.ALREADY_FAVOURABLE else f"{text} to {target}"


def page_html(plans: Plans) -> str:
    """A document with all plans, each under the person's name."""
    sections = "".join(
        f"<section><h2>Person {_text(str(plan.person))}</h2>{plan_html(plan)}</section>" for plan in plans
    )
    summary = Summary.of(plans)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>Plans</title><style>{_PAGE_STYLE}</style></head><body><main><h1>Plans</h1>"
        f"<p>{_text(summary.counts)}. {_text(summary.queries_spent)}.</p>{sections}</main></body></html>\n"
    )


_PAGE_STYLE = (
    ":root{color-scheme:light dark}"
    "body{margin:0;font:16px/1.5 system-ui,sans-serif;background:#fff;color:#1c1c1c}"
    "main{max-width:48em;margin:0 auto;padding:1.5em}"
    f"section{{border-top:1px solid {_LINE};padding:.2em 0 1em;break-inside:avoid}}"
    "h1{font-size:1.6em}h2{font-size:1.1em;margin:.8em 0 .4em}"
    "@media(prefers-color-scheme:dark){body{background:#16181a;color:#e8e8e8}}"
)


def _mark(verified: bool) -> str:
    """Whether a plan was verified, as a mark in front of the words."""
    return (
        '<span style="color:#2a9d5c;font-weight:700">✓</span>' if verified else '<span style="color:#c07d00">○</span>'
    )


def _text(text: str) -> str:
    """`text` escaped, with invisible control characters marked."""
    return escape(visible(text))
