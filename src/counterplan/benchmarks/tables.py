"""Load the people of german, adult and taiwan from the files in the package."""

from __future__ import annotations

import lzma
from importlib.resources import files
from io import StringIO
from typing import Any

import numpy as np
import pandas as pd

from counterplan.errors import StorageError

_ROWS = {"german.data": 1_000, "adult.data": 32_561, "adult.test": 16_281, "taiwan.csv": 30_000}

_GERMAN_CODES: dict[str, dict[Any, str]] = {
    "sex": {"A91": "male", "A92": "female", "A93": "male", "A94": "male", "A95": "female"},
    "job": {
        "A171": "unskilled_non_resident",
        "A172": "unskilled_resident",
        "A173": "skilled",
        "A174": "highly_skilled",
    },
    "housing": {"A151": "rent", "A152": "own", "A153": "free"},
    "saving_accounts": {"A61": "little", "A62": "moderate", "A63": "quite_rich", "A64": "rich", "A65": "unknown"},
    "checking_account": {"A11": "little", "A12": "moderate", "A13": "rich", "A14": "unknown"},
    "purpose": {
        "A40": "car",
        "A41": "car",
        "A42": "furniture/equipment",
        "A43": "radio/TV",
        "A44": "domestic_appliances",
        "A45": "repairs",
        "A46": "education",
        "A47": "vacation/others",
        "A48": "education",
        "A49": "business",
        "A410": "vacation/others",
    },
    "risk": {1: "good", 2: "bad"},
}
_GERMAN_PLACES = {
    "age": 12,
    "sex": 8,
    "job": 16,
    "housing": 14,
    "saving_accounts": 5,
    "checking_account": 0,
    "credit_amount": 4,
    "duration": 1,
    "purpose": 3,
    "risk": 20,
}
_ADULT_COLUMNS = [
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education_num",
    "marital_status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital_gain",
    "capital_loss",
    "hours_per_week",
    "native_country",
    "income",
]

_TAIWAN_CODES: dict[str, dict[Any, str]] = {
    "sex": {1: "male", 2: "female"},
    "education": {1: "graduate_school", 2: "university", 3: "high_school", 4: "other"},
    "marriage": {1: "married", 2: "single", 3: "other"},
    "next_payment": {0: "paid", 1: "defaulted"},
}
"""Codes that the documentation of the data does not explain (education 0, 5, 6, marriage 0) are missing values."""
_TAIWAN_REPAYMENTS = {
    -2: "no_use",
    -1: "in_full",
    0: "revolving",
    1: "late_1",
    2: "late_2",
    3: "late_3",
    **dict.fromkeys(range(4, 10), "late_4"),
}
_TAIWAN_EARLIER = range(2, 7)
"""Suffixes of the columns of the five months before the last one."""


def german() -> pd.DataFrame:
    """German Credit in nine features and `risk`; 700 good, 300 bad."""
    raw = pd.read_csv(StringIO(_text("german.data")), sep=" ", header=None, keep_default_na=False)
    _check("german.data", raw)
    table = pd.DataFrame({name: raw[place] for name, place in _GERMAN_PLACES.items()})
    for name, codes in _GERMAN_CODES.items():
        table[name] = table[name].map(codes)
    return table


def adult() -> pd.DataFrame:
    """Adult in all fourteen attributes and `income`, both parts; unknown values are "?"."""
    parts = []
    for name, skip in (("adult.data", 0), ("adult.test", 1)):
        part = pd.read_csv(
            StringIO(_text(name)),
            header=None,
            names=_ADULT_COLUMNS,
            skiprows=skip,
            skipinitialspace=True,
            keep_default_na=False,
        )
        _check(name, part)
        parts.append(part)
    table = pd.concat(parts, ignore_index=True)
    table["income"] = table["income"].str.rstrip(".")
    return table


def taiwan() -> pd.DataFrame:
    """Credit card clients in fourteen features and `next_payment`; amounts are rounded to hundreds.

    `repayment`, `bill` and `payment` are those of the last month, and `earlier_repayment` and `earlier_bill` those of
    the month before. `late_months` counts the late ones of the five months before the last, `payment` pays
    `earlier_bill`, and `share_paid` is missing where there was no earlier bill.
    """
    raw = pd.read_csv(StringIO(_text("taiwan.csv")))
    _check("taiwan.csv", raw)
    raw = raw.rename(columns={"pay_0": "pay_1", "will_default_next_month": "next_payment"})
    decoded = {name: raw[name].map(codes) for name, codes in _TAIWAN_CODES.items()}
    limit, bill, payment = raw["limit_bal"], _hundreds(raw["bill_amt1"]), _hundreds(raw["pay_amt1"])
    earlier_bill = _hundreds(raw["bill_amt2"])
    earlier_bill = earlier_bill.where(earlier_bill > 0)
    return pd.DataFrame(
        {
            "age": raw["age"],
            "sex": decoded["sex"],
            "marriage": decoded["marriage"],
            "education": decoded["education"],
            "limit": limit,
            "repayment": raw["pay_1"].map(_TAIWAN_REPAYMENTS),
            "earlier_repayment": raw["pay_2"].map(_TAIWAN_REPAYMENTS),
            "late_months": (raw[[f"pay_{i}" for i in _TAIWAN_EARLIER]] > 0).sum(axis=1),
            "pays_every_month": (raw[[f"pay_amt{i}" for i in (1, *_TAIWAN_EARLIER)]] > 0).all(axis=1),
            "bill": bill,
            "utilisation": np.round(100 * bill / limit).astype(int),
            "payment": payment,
            "earlier_bill": earlier_bill,
            "share_paid": np.round(100 * payment / earlier_bill),
            "next_payment": decoded["next_payment"],
        }
    )


def _hundreds(amounts: pd.Series[int]) -> pd.Series[int]:
    return amounts.round(-2)


def _text(name: str) -> str:
    return lzma.decompress(files("counterplan.benchmarks").joinpath("data", f"{name}.xz").read_bytes()).decode()


def _check(name: str, table: pd.DataFrame) -> None:
    if len(table) != _ROWS[name]:
        raise StorageError(f"{name} has {len(table):,} rows instead of {_ROWS[name]:,}; reinstall counterplan")
