"""The steps of a plan in one sentence: applicants read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from counterplan.plans.plan import Plan


def steps_text(plan: Plan) -> str:
    """All steps in order: `Borrow 1,000 less; change your job from "clerk" to "manager"`."""
    return "; ".join(_continued(step.text) if number else step.text for number, step in enumerate(plan.steps))


def _continued(text: str) -> str:
    """A sentence as the continuation of another one: its first letter small, unless a capital follows."""
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]
