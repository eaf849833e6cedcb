"""Scorecards: integers by feature and value that plan without a model, and that fit one page.

They import no model, agent, surrogate or planner.

May import: errors, bounded_json, drawing, problem, storage, search, plans, program.
"""

from counterplan.scorecard.parts import CardFeature
from counterplan.scorecard.scorecard import Scorecard

__all__ = ["CardFeature", "Scorecard"]
