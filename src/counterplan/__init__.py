"""Explainable algorithmic recourse: which actions, in which order, overturn a decision at the least cost.

Names are imported on first use: `import counterplan` is cheap, and running a program imports no learning library.
"""

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from counterplan import batch, benchmarks
    from counterplan.agent.training_settings import TrainingSettings
    from counterplan.audit import Audit, AuditOutcome, AuditResult, AuditSettings
    from counterplan.blackbox import BlackBox, QueryBudgetExceeded
    from counterplan.errors import (
        CounterplanError,
        ForeignAnswersWarning,
        ModelError,
        NotFittedError,
        PeopleError,
        PlanError,
        ProblemError,
        SettingError,
        StorageError,
    )
    from counterplan.personal.alternatives import Alternatives
    from counterplan.personal.elicitation import Elicitation
    from counterplan.personal.preferences import ChoiceModel
    from counterplan.personal.question import Question
    from counterplan.planners import (
        AutoPlanner,
        AutoSettings,
        CardPlanner,
        CascadePlanner,
        EvolutionPlanner,
        EvolutionSettings,
        ExactPlanner,
        GuidedPlanner,
        Planner,
        PolicyPlanner,
        ProgramPlanner,
        SearchPlanner,
    )
    from counterplan.plans import (
        Check,
        Constraints,
        Plan,
        Plans,
        Reason,
        Replay,
        Robustness,
        Status,
        Step,
        SurvivalBasis,
        SurvivalReport,
    )
    from counterplan.problem import People, Problem
    from counterplan.program import Program
    from counterplan.recourse import Quality, QualitySettings, Recourse
    from counterplan.scorecard import Scorecard
    from counterplan.storage.answer_cache import LabelledStates
    from counterplan.storage.workspace import Workspace
    from counterplan.surrogate import Surrogate
    from counterplan.surrogate.acquisition import GuideSettings
    from counterplan.surrogate.active_learning import LearningSettings
    from counterplan.survival.agreement import Agreement

__version__ = "0.2.0"

logging.getLogger("counterplan").addHandler(logging.NullHandler())

__all__ = [
    "Agreement",
    "Alternatives",
    "Audit",
    "AuditOutcome",
    "AuditResult",
    "AuditSettings",
    "AutoPlanner",
    "AutoSettings",
    "BlackBox",
    "CardPlanner",
    "CascadePlanner",
    "Check",
    "ChoiceModel",
    "Constraints",
    "CounterplanError",
    "Elicitation",
    "EvolutionPlanner",
    "EvolutionSettings",
    "ExactPlanner",
    "ForeignAnswersWarning",
    "GuideSettings",
    "GuidedPlanner",
    "LabelledStates",
    "LearningSettings",
    "ModelError",
    "NotFittedError",
    "People",
    "PeopleError",
    "Plan",
    "PlanError",
    "Planner",
    "Plans",
    "PolicyPlanner",
    "Problem",
    "ProblemError",
    "Program",
    "ProgramPlanner",
    "Quality",
    "QualitySettings",
    "QueryBudgetExceeded",
    "Question",
    "Reason",
    "Recourse",
    "Replay",
    "Robustness",
    "Scorecard",
    "SearchPlanner",
    "SettingError",
    "Status",
    "Step",
    "StorageError",
    "Surrogate",
    "SurvivalBasis",
    "SurvivalReport",
    "TrainingSettings",
    "Workspace",
    "batch",
    "benchmarks",
]

_MODULES = {
    "agent.training": ("TrainingSettings",),
    "audit": ("Audit", "AuditOutcome", "AuditResult", "AuditSettings"),
    "storage.answer_cache": ("LabelledStates",),
    "storage.workspace": ("Workspace",),
    "blackbox": ("BlackBox", "QueryBudgetExceeded"),
    "errors": (
        "CounterplanError",
        "ForeignAnswersWarning",
        "ModelError",
        "NotFittedError",
        "PeopleError",
        "PlanError",
        "ProblemError",
        "SettingError",
        "StorageError",
    ),
    "plans": (
        "Check",
        "Constraints",
        "Plan",
        "Plans",
        "Reason",
        "Replay",
        "Robustness",
        "Status",
        "Step",
        "SurvivalBasis",
        "SurvivalReport",
    ),
    "personal.alternatives": ("Alternatives",),
    "personal.elicitation": ("Elicitation",),
    "personal.preferences": ("ChoiceModel",),
    "personal.question": ("Question",),
    "planners": (
        "AutoPlanner",
        "AutoSettings",
        "CardPlanner",
        "CascadePlanner",
        "EvolutionPlanner",
        "EvolutionSettings",
        "ExactPlanner",
        "GuidedPlanner",
        "Planner",
        "PolicyPlanner",
        "ProgramPlanner",
        "SearchPlanner",
    ),
    "problem": ("People", "Problem"),
    "program": ("Program",),
    "scorecard": ("Scorecard",),
    "recourse": ("Quality", "QualitySettings", "Recourse"),
    "surrogate": ("Surrogate",),
    "surrogate.acquisition": ("GuideSettings",),
    "surrogate.active_learning": ("LearningSettings",),
    "survival.agreement": ("Agreement",),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in ("batch", "benchmarks"):
        return import_module(f"counterplan.{name}")
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'counterplan' has no attribute '{name}'")
    value = globals()[name] = getattr(import_module(f"counterplan.{_MODULE_OF[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
