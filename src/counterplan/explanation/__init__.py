"""Reasons for the steps of any planner's plans: the rules of a program that would take the same steps, else points that
were fitted for the person, else contrasts with the plan without a step.

May import: errors, bounded_json, drawing, problem, blackbox, storage, search, plans, surrogate, survival, program.
"""

from counterplan.explanation.explain import explain
from counterplan.explanation.rules import with_rules

__all__ = ["explain", "with_rules"]
