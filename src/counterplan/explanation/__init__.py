"""Reasons for the steps of any planner's plans: the rule of a program that would take the same step, else a contrast
with the plan without it.

May import: errors, bounded_json, drawing, problem, blackbox, storage, search, plans, surrogate, survival, program.
"""

from counterplan.explanation.explain import explain
from counterplan.explanation.rules import with_rules

__all__ = ["explain", "with_rules"]
