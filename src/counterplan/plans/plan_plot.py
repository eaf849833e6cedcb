"""The steps of one plan on axes of matplotlib: over time, or by cost. Applicants read it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from counterplan.plans.step_text import is_weighted, step_number
from counterplan.plans.text import headline, plan_text, total_effort
from counterplan.plans.time_text import duration_text
from counterplan.plotting import BLUE, EDGE, line_width, new_axes, plain, row_frame, write_note

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from counterplan.plans.plan import Plan

_BAR = 0.34
"""Height of a bar in rows; the text of its step is above it."""
_LINES = 3
"""Most lines of the text of a step; longer ones end with an ellipsis."""
_LINE = 0.3
"""Height of a further line of text in rows of a new figure."""
_FEWEST_ROWS = 2
_DIAMOND: dict[str, Any] = {"color": BLUE, "markeredgecolor": EDGE, "linestyle": "none", "clip_on": False}
"""Style of a step that takes no time, or costs nothing."""
_ABOVE_BAR: dict[str, Any] = {
    "xytext": (0, 3),
    "xycoords": ("axes fraction", "data"),
    "textcoords": "offset points",
    "va": "bottom",
    "parse_math": False,
}
"""Place of the text of a step: at the left edge of the axes."""


def draw_plan(plan: Plan, ax: Axes | None = None) -> Axes:
    """Draw the steps of a plan as bars in order, over time if it takes any, otherwise by cost.

    Texts begin at the left edge of the axes, so that the bars have their full width.
    """
    width = line_width(ax)
    texts = [plain(_step_text(plan, number), width, _LINES) for number in range(1, len(plan.steps) + 1)]
    lines = 1 + max((text.count("\n") for text in texts), default=0)
    ax = new_axes(ax, len(plan.steps) * (1 + _LINE * (lines - 1)))
    if not plan.steps:
        return write_note(ax, plan_text(plan))
    if plan.duration:
        starts = [step.start or 0.0 for step in plan.steps]
        lengths = [step.duration or 0.0 for step in plan.steps]
        ax.set_xlabel(f"{plan.time_unit} from now", parse_math=False)
    else:
        lengths = [step.cost for step in plan.steps]
        starts = [sum(lengths[:number]) for number in range(len(lengths))]
        ax.set_xlabel("effort with your weights, added up" if is_weighted(plan) else "effort, added up")
    rows = range(len(plan.steps))
    ax.barh(rows, lengths, left=starts, height=_BAR, color=BLUE, edgecolor=EDGE, linewidth=0.8)
    at_once = [row for row in rows if not lengths[row]]
    if at_once:
        ax.plot([starts[row] for row in at_once], at_once, "D", **_DIAMOND)
    for row, text in enumerate(texts):
        ax.annotate(text, (0, row - _BAR / 2), **_ABOVE_BAR)
    ax.set_yticks([])
    ax.set_ylim(max(len(rows), _FEWEST_ROWS) - 1 + _BAR, -1 + _BAR / 2)
    row_frame(ax)
    if any(lengths):
        ax.margins(x=0.01)
        ax.autoscale(axis="x")  # also where the axes share theirs with another plan
    else:
        ax.set_xlim(0, 1)
    facts = [f"{headline(plan)} ({total_effort(plan)})", duration_text(plan)]
    title = "\n".join(plain(fact, width) for fact in facts if fact)
    ax.set_title(title, loc="left", fontsize="medium", parse_math=False)
    return ax


def _step_text(plan: Plan, number: int) -> str:
    """A step with its number and effort."""
    step = plan.steps[number - 1]
    return f"{step_number(number, plan).strip()} {step.text} (effort {step.cost:.1f})"
