"""Audits of a model: who has recourse, at what cost, and who provably has none, by group.

May import: errors, bounded_json, drawing, plotting, problem, models, blackbox, storage, search, plans, survival,
planners.
"""

from counterplan.audit.audit import Audit
from counterplan.audit.outcomes import AuditOutcome
from counterplan.audit.result import AuditResult
from counterplan.audit.settings import AuditSettings

__all__ = ["Audit", "AuditOutcome", "AuditResult", "AuditSettings"]
