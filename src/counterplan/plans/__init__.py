"""Plans: what planners return. `Plans` stores the plans of many people as columns, builds `Plan` objects on demand, and
writes both as text, HTML, tables and JSON; `PlanColumns` is what planners fill in; `allowed_actions` turns constraints
into masks. The black box is imported on use only, to check plans with other models: programs need none.

May import: errors, bounded_json, drawing, plotting, problem, blackbox, storage, search.
"""

from counterplan.plans.coded import Coded
from counterplan.plans.columns import PlanColumns, RelatedColumns
from counterplan.plans.constraints import ActionLimits, Constraints, Forbid, allowed_actions
from counterplan.plans.plan import Plan, PlanOption, Reason, RelatedKind, Step, StepReason
from counterplan.plans.plans import Plans
from counterplan.plans.replay import Replay
from counterplan.plans.robustness import Check, Robustness, RobustnessColumns, SurvivalBasis
from counterplan.plans.sources import label_of
from counterplan.plans.status import Status
from counterplan.plans.survival_report import SurvivalReport

__all__ = [
    "ActionLimits",
    "Check",
    "Coded",
    "Constraints",
    "Forbid",
    "Plan",
    "PlanColumns",
    "PlanOption",
    "Plans",
    "Reason",
    "RelatedColumns",
    "RelatedKind",
    "Replay",
    "Robustness",
    "RobustnessColumns",
    "Status",
    "Step",
    "StepReason",
    "SurvivalBasis",
    "SurvivalReport",
    "allowed_actions",
    "label_of",
]
