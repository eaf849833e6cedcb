"""When the steps of a plan take place, in plain words: applicants read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterplan.plans.step_text import effort_text, is_weighted, step_number, steps_text
from counterplan.problem.parts import format_number
from counterplan.problem.values import visible
from counterplan.search.schedule import MAX_REORDERED

if TYPE_CHECKING:
    from counterplan.plans.plan import Plan, Step

_BAR = 36
"""Most characters of the bars of a timeline."""
_LEAST = 0.01
"""The least duration, besides none, that is shown as a number."""
_PER_UNIT = 3
"""Most characters of a bar for one unit of time."""


def time_text(number: float, unit: str) -> str:
    """A duration as applicants read it: "9 months", "1 month", "less than 0.01 weeks"; `unit` is in the plural."""
    text = _number(number)
    if text == "0" and number > 0:
        return f"less than {_LEAST} {unit}"
    return f"{text} {_singular(unit) if text == '1' else unit}"


def about_text(number: float, unit: str) -> str:
    """The same after a verb: "about 9 months", "less than 0.01 weeks"."""
    return f"{'' if _number(number) == '0' else 'about '}{time_text(number, unit)}"


def limit_text(number: float, unit: str) -> str:
    """A deadline, or a duration that is compared with one: exactly, since a proof within it depends on every digit."""
    text = f"{number:,.6f}".rstrip("0").rstrip(".")
    return f"{text} {_singular(unit) if text == '1' else unit}"


def _number(number: float) -> str:
    return format_number(round(number, 1) if number >= 1 else round(number, 2))


def _singular(unit: str) -> str:
    """The singular of a unit: "month", "working day", "century"; the page of a program has the same rule."""
    if unit.endswith("ies"):
        return f"{unit.removesuffix('ies')}y"
    return unit.removesuffix("s") or unit


def within_text(plan: Plan) -> str:
    """The deadline that a plan was searched for with: " within 12 months"; empty if there was none."""
    return "" if plan.deadline is None else f" within {limit_text(plan.deadline, plan.time_unit)}"


def duration_text(plan: Plan) -> str:
    """How long a plan takes, and which of its steps can run side by side, as a sentence; empty without durations."""
    if plan.duration is None:
        return ""
    if plan.duration == 0:
        return "Takes no time."
    is_bound = len(plan.steps) > MAX_REORDERED
    time = about_text(plan.duration, plan.time_unit)
    takes = f"Takes {'at most ' * (is_bound and time.startswith('about'))}{time} if you start now"
    if len(plan.steps) < 2:
        return f"{takes}."
    parts = [_side_by_side(plan, group) for group in _groups(plan)]
    if is_bound and not parts:  # another order may have steps side by side
        return f"{takes}."
    return f"{takes}; {' and '.join(parts) or 'one step after the other'}."


def _overlap(first: Step, second: Step) -> bool:
    """Whether two steps run at the same time."""
    start, end = max(first.start or 0.0, second.start or 0.0), min(_end(first), _end(second))
    return end - start > 1e-6


def _end(step: Step) -> float:
    return (step.start or 0.0) + (step.duration or 0.0)


def _groups(plan: Plan) -> list[list[int]]:
    """Numbers of steps that run at the same time, directly or through others between them."""
    groups: list[list[int]] = []
    for number, step in enumerate(plan.steps):
        touching = [group for group in groups if any(_overlap(plan.steps[other], step) for other in group)]
        groups = [group for group in groups if group not in touching]
        groups.append([*(other for group in touching for other in group), number])
    return sorted(sorted(group) for group in groups if len(group) > 1)


def _side_by_side(plan: Plan, group: list[int]) -> str:
    """`steps 1 and 2 can run side by side`; partly, if not every two of them do."""
    pairs = ((i, j) for i in group for j in group if i < j)
    partly = "" if all(_overlap(plan.steps[i], plan.steps[j]) for i, j in pairs) else "partly "
    names = [str(number + 1) for number in group]
    return f"steps {', '.join(names[:-1])} and {names[-1]} can {partly}run side by side"


def when_text(step: Step, unit: str) -> str:
    """When a step starts and ends: `now to month 6`, `month 6 to month 9`."""
    word, first, last = _singular(unit), _number(step.start or 0.0), _number(_end(step))
    start = "now" if first == "0" else f"{word} {first}"
    return f"{start}, at once" if first == last else f"{start} to {word} {last}"


def timeline(plan: Plan) -> list[str]:
    """The steps as bars over time, one line each; empty without durations, or if there is one step only."""
    total = plan.duration
    if not total or len(plan.steps) < 2:
        return []
    scale = min(_PER_UNIT, _BAR / total)
    width = max(1, round(total * scale))
    lines = []
    for number, step in enumerate(plan.steps, 1):
        first = min(round((step.start or 0.0) * scale), width - 1)
        last = max(first + 1, round(_end(step) * scale))
        bar = " " * first + ("█" * (last - first) if step.duration else "|")
        lines.append(f"  {step_number(number, plan)} {bar:<{width}}  {when_text(step, plan.time_unit)}")
    return lines


def faster_texts(plan: Plan) -> list[str]:
    """The faster plans on the front of cost and duration, one sentence each, or that there is none."""
    weighted = is_weighted(plan)
    if len(plan.front) == 1 and plan.optimal and not plan.caution:
        return ["No faster plan exists (proved)."]
    return [
        f"Or faster: {visible(steps_text(other))} "
        f"({effort_text(other, weighted)}, {time_text(other.duration or 0.0, plan.time_unit)})"
        for other in plan.front[1:]
    ]
