"""The steps of one plan on axes of matplotlib: over time, or by cost. Applicants read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterplan.plans.step_text import is_weighted, step_number
from counterplan.plans.text import headline, plan_text, total_effort
from counterplan.plans.time_text import duration_text
from counterplan.plotting import BLUE, EDGE, label_rows, new_axes, plain, write_note
from counterplan.plotting.axes import TITLE_WIDTH

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from counterplan.plans.plan import Plan

_ROOM = 1.25
"""Width of the axis relative to the bars, which leaves room for texts behind them."""


def draw_plan(plan: Plan, ax: Axes | None = None) -> Axes:
    """Draw the steps of a plan as bars in order, over time if it takes any, otherwise by cost."""
    ax = new_axes(ax, len(plan.steps))
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
    label_rows(ax, [f"{step_number(row + 1, plan).strip()} {step.text}" for row, step in enumerate(plan.steps)])
    ax.barh(rows, lengths, left=starts, height=0.5, color=BLUE, edgecolor=EDGE, linewidth=0.8)
    at_once = [row for row in rows if not lengths[row]]
    if at_once:
        ax.plot([starts[row] for row in at_once], at_once, "D", color=BLUE, markeredgecolor=EDGE, linestyle="none")
    for row, step in enumerate(plan.steps):
        end = (starts[row] + lengths[row], row)
        ax.annotate(f"effort {step.cost:.1f}", end, (6, 0), textcoords="offset points", va="center", fontsize="small")
    ax.set_xlim(0, _ROOM * max(start + length for start, length in zip(starts, lengths, strict=True)) or 1.0)
    facts = [f"{headline(plan)} ({total_effort(plan)})", duration_text(plan)]
    title = "\n".join(plain(fact, TITLE_WIDTH) for fact in facts if fact)
    ax.set_title(title, loc="left", fontsize="medium", parse_math=False)
    return ax
