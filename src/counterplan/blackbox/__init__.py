"""Metered access to a classifier: every query is counted, cached, batched and limited by a budget.

May import: errors, bounded_json, drawing, problem, models.
"""

from counterplan.blackbox.answers import Answer, PersonAnswers, join_keys, split_keys
from counterplan.blackbox.blackbox import CACHE_SIZE, AnswerListener, BlackBox, QueryListener
from counterplan.blackbox.metered_oracle import KnownKeys, MeteredOracle
from counterplan.blackbox.query_budget import QueryBudgetExceeded
from counterplan.blackbox.session import OracleSession

__all__ = [
    "CACHE_SIZE",
    "Answer",
    "AnswerListener",
    "BlackBox",
    "KnownKeys",
    "MeteredOracle",
    "OracleSession",
    "PersonAnswers",
    "QueryBudgetExceeded",
    "QueryListener",
    "join_keys",
    "split_keys",
]
