"""The steps of a plan in one sentence, and its effort: applicants read them."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from counterplan.plans.plan import Plan


def steps_text(plan: Plan) -> str:
    """All steps in order: `Borrow 1,000 less; change your job from "clerk" to "manager"`."""
    return "; ".join(_continued(step.text) if number else step.text for number, step in enumerate(plan.steps))


def step_number(number: int, plan: Plan) -> str:
    """The number of a step, as wide as that of the last one: ` 9.`, `10.`."""
    return f"{number}.".rjust(len(str(len(plan.steps))) + 1)


def _continued(text: str) -> str:
    """A sentence as the continuation of another one: its first letter small, unless a capital follows."""
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]


def is_weighted(plan: Plan) -> bool:
    """Whether a person's weights change the cost of a step, of the plan or of a related one."""
    plans = [plan, *chain.from_iterable(plan.related.values())]
    return any(step.weight != 1 for one in plans for step in one.steps)


def effort_text(plan: Plan, weighted: bool) -> str:
    """The cost of a plan; where plans of the same person are `weighted`, also the cost without weights."""
    if not weighted:
        return f"effort {plan.cost:.1f}"
    return f"effort {plan.cost:.1f} with your weights, {plan.unweighted_cost:.1f} without them"
