"""Load the people of german and adult from the files in the package."""

from __future__ import annotations

import lzma
from importlib.resources import files
from io import StringIO
from typing import Any

import pandas as pd

from counterplan.errors import StorageError

_ROWS = {"german.data": 1_000, "adult.data": 32_561, "adult.test": 16_281}

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


def _text(name: str) -> str:
    return lzma.decompress(files("counterplan.benchmarks").joinpath("data", f"{name}.xz").read_bytes()).decode()


def _check(name: str, table: pd.DataFrame) -> None:
    if len(table) != _ROWS[name]:
        raise StorageError(f"{name} has {len(table):,} rows instead of {_ROWS[name]:,}; reinstall counterplan")
