"""A problem whose consequences depend on the amount of an action: clocks advance while people wait."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from counterplan import Problem

_COUNT = {"kind": "number", "integer": True, "minimum": 0, "bins": []}
WAITING: dict[str, Any] = {
    "counterplan": 1,
    "name": "waiting",
    "outcome": {"column": "loan", "values": ["refused", "granted"], "favourable": "granted"},
    "max_actions": 3,
    "features": {
        "months_waited": _COUNT | {"maximum": 24},
        "account_age": _COUNT,
        "job_tenure": _COUNT | {"missing": True},
        "accounts": _COUNT | {"maximum": 6},
        "recent_inquiries": _COUNT | {"maximum": 5},
    },
    "functions": {
        "WAIT": {"add": "months_waited", "arguments": [6, 12], "cost": {"base": [6, 12]}},
        "OPEN_ACCOUNTS": {"add": "accounts", "arguments": [1, 2], "cost": {"base": [2, 3]}},
    },
    "causes": [
        {"from": "months_waited", "to": "account_age", "formula": "account_age + argument"},
        {"from": "months_waited", "to": "job_tenure", "formula": "before(job_tenure) + argument"},
        {
            "from": "months_waited",
            "to": "recent_inquiries",
            "formula": "before(recent_inquiries) * (1 - argument / 12)",
        },
        {"from": "accounts", "to": "recent_inquiries", "formula": "recent_inquiries + argument"},
    ],
}
PEOPLE = pd.DataFrame(
    {
        "months_waited": 0,
        "account_age": [30, 30, 2, 60],
        "job_tenure": [14, 19, None, 30],
        "accounts": [1, 2, 1, 3],
        "recent_inquiries": [2, 0, 4, 4],
    }
)


def waiting() -> Problem:
    """The problem."""
    return Problem.from_dict(WAITING)


def decide(people: pd.DataFrame) -> np.ndarray:
    """Granted after 24 months in a job, with 3 accounts and at most 1 recent inquiry."""
    granted = (people.job_tenure >= 24) & (people.accounts >= 3) & (people.recent_inquiries <= 1)
    return np.where(granted, "granted", "refused")
