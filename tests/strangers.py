"""A table as a new user brings it, with booleans, categoricals, missing numbers and a column that is not a feature, and
a LightGBM model that is trained on it."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from counterplan import Problem

JOBS = pd.CategoricalDtype(["none", "manager", "clerk"])
REGIONS = pd.CategoricalDtype(["south", "north"])

PROBLEM = {
    "counterplan": 1,
    "name": "credit",
    "outcome": {"column": "granted", "values": [0, 1], "favourable": 1},
    "max_actions": 3,
    "features": {
        "income": {"kind": "number", "integer": True, "bins": [0, 2000]},
        "savings": {"kind": "number", "missing": True, "bins": [0, 500]},
        "job": {"kind": "category", "values": ["clerk", "manager", "none"], "missing": True},
        "owner": {"kind": "category", "values": [False, True]},
    },
    "functions": {
        "EARN": {"add": "income", "arguments": [500, 1000], "cost": {"base": 1, "surcharge": [0, 1]}},
        "WORK": {"set": "job", "arguments": ["clerk", "manager"], "when": "argument != job", "cost": 2},
        "BUY": {"set": "owner", "arguments": [True], "when": "argument != owner", "cost": 3},
    },
}


def problem() -> Problem:
    return Problem.from_dict(PROBLEM)


@cache
def _table() -> pd.DataFrame:
    random = np.random.default_rng(0)
    people = 600
    table = pd.DataFrame(
        {
            "region": pd.Categorical(random.choice(["north", "south"], people), dtype=REGIONS),
            "income": random.integers(500, 4000, people),
            "savings": np.where(random.random(people) < 0.4, np.nan, random.integers(0, 1000, people)),
            "job": pd.Categorical(random.choice(["none", "clerk", "manager", None], people), dtype=JOBS),
            "owner": random.random(people) < 0.4,
        }
    )
    score = table["income"] / 1000 + (table["job"] == "manager") * 1.5 + table["owner"] * 1.2
    score += (table["region"] == "north") * 0.8 + table["savings"].isna() * 0.5
    table["granted"] = (score > 4).astype(int)
    return table


def table() -> pd.DataFrame:
    """People with their decisions."""
    return _table().copy()


def people(count: int = 12) -> pd.DataFrame:
    """The first refused people, without the decision."""
    refused = _table().query("granted == 0").drop(columns="granted")
    return refused.head(count).copy()


@cache
def lightgbm_model() -> Any:
    """A classifier with native categoricals, which fails on tables of other dtypes."""
    from lightgbm import LGBMClassifier

    whole = _table()
    model = LGBMClassifier(n_estimators=30, num_leaves=8, min_child_samples=10, n_jobs=1, verbose=-1)
    return model.fit(whole.drop(columns="granted"), whole["granted"])
