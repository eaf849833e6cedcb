"""A problem with three outcomes, the credit grades A, B and C, for tests of targets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from counterplan import Problem

GRADES: dict[str, Any] = {
    "counterplan": 1,
    "name": "grades",
    "outcome": {"column": "grade", "values": ["A", "B", "C"], "favourable": ["A", "B"]},
    "max_actions": 4,
    "features": {
        "age": {"kind": "number", "integer": True, "minimum": 18, "bins": [18, 30, 45]},
        "income": {"kind": "number", "integer": True, "minimum": 0, "bins": [0, 1000, 2000, 3000]},
        "debt": {"kind": "number", "integer": True, "minimum": 0, "bins": [0, 1000, 5000]},
        "job": {"kind": "ordered", "values": ["none", "clerk", "manager"]},
    },
    "functions": {
        "EARN": {"add": "income", "arguments": [200, 500], "cost": {"base": [2, 4]}},
        "REPAY": {"add": "debt", "arguments": [-500, -2000], "cost": {"base": [1, 3]}},
        "BORROW": {"add": "debt", "arguments": [1000, 4000], "cost": {"base": [1, 2]}},
        "CHANGE_JOB": {"set": "job", "arguments": "all", "when": "argument > job", "cost": 5},
    },
}


def grades(**outcome: Any) -> Problem:
    """The problem, with other keys of its outcome."""
    return Problem.from_dict(GRADES | {"outcome": GRADES["outcome"] | outcome})


def points(people: pd.DataFrame) -> np.ndarray:
    """The score that decides about grades."""
    rank = people["job"].astype(str).map({"none": 0, "clerk": 1, "manager": 2}).to_numpy(float)
    return (
        people["income"].to_numpy(float) / 500
        - people["debt"].to_numpy(float) / 1000
        + 1.5 * rank
        + (people["age"].to_numpy(float) >= 30)
    )


def model(people: pd.DataFrame) -> np.ndarray:
    """A from 7 points on, B from 4, otherwise C."""
    return np.select([points(people) >= 7, points(people) >= 4], ["A", "B"], "C")


def people(count: int, seed: int = 0) -> pd.DataFrame:
    """People of all grades."""
    random = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": random.integers(18, 70, count),
            "income": 100 * random.integers(5, 35, count),
            "debt": 500 * random.integers(0, 12, count),
            "job": random.choice(["none", "clerk", "manager"], count),
        }
    )
