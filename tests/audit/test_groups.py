"""Groups by features, by other columns, by the outcome, and by pairs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from counterplan import Problem, SettingError
from counterplan.audit.groups import Grouping, read_groups
from counterplan.audit.settings import GroupName
from loans import LOAN

FILE = {
    "counterplan": 1,
    "name": "groups",
    "outcome": {"column": "decision", "values": ["yes", "no"], "favourable": "yes"},
    "max_actions": 1,
    "features": {
        "sex": {"kind": "category", "values": ["f", "m"], "protected": True, "missing": True},
        "age": {"kind": "number", "integer": True, "bins": [-np.inf, 25, 60], "protected": True, "missing": True},
        "income": {"kind": "number", "bins": "auto"},
    },
    "functions": {"EARN": {"add": "income", "arguments": [1], "cost": 1}},
}
PROBLEM = Problem.from_dict(FILE)
TABLE = pd.DataFrame(
    {
        "sex": ["f", "m", "f", None, "m", "f"],
        "age": [20, 25, 60, 59, None, 24],
        "income": np.arange(6.0),
        "town": pd.Categorical(["a", "b", "a", None, "b", "=c"]),
        "score": [0.1, 0.2, 0.3, 0.4, np.inf, np.nan],
        "a*b": [True, False, True, False, True, False],
        "decision": ["yes", "no", "yes", "no", "no", None],
    }
)


def group(*wanted: GroupName, table: pd.DataFrame = TABLE) -> list[Grouping]:
    return read_groups(PROBLEM, PROBLEM.read(table), wanted or None)


def members(grouping: Grouping) -> dict[str, list[int]]:
    return {label: np.flatnonzero(grouping.codes == code).tolist() for code, label in enumerate(grouping.labels)}


def test_protected_features_are_the_default() -> None:
    sex, age = group()
    assert (sex.name, members(sex)) == ("sex", {"f": [0, 2, 5], "m": [1, 4], "(missing)": [3]})
    assert members(age) == {"below 25": [0, 5], "25 to below 60": [1, 3], "60 or more": [2], "(missing)": [4]}


def test_columns_that_are_not_features() -> None:
    (town, score, decision) = group("town", "score", "decision")
    assert members(town) == {"=c": [5], "a": [0, 2], "b": [1, 4], "(missing)": [3]}
    assert members(score) == {"0.1": [0], "0.2": [1], "0.3": [2], "0.4": [3], "(missing)": [4, 5]}
    assert members(decision) == {"no": [1, 3, 4], "yes": [0, 2], "(missing)": [5]}


def test_numbers_with_many_values_are_binned_by_quantiles() -> None:
    many = pd.concat([TABLE] * 20, ignore_index=True).assign(score=np.arange(120) / 7)
    (score,) = group("score", table=many)
    assert len(score.labels) == 4
    assert np.bincount(score.codes).min() >= 20
    (income,) = group("income", table=many.assign(income=np.arange(120.0)))
    assert len(income.labels) == 4


def test_pairs() -> None:
    (pair,) = group("sex*town")
    assert pair.name == "sex × town"
    assert members(pair)["f × a"] == [0, 2]
    assert group(("sex", "town"))[0].labels == pair.labels
    (odd,) = group("a*b")  # a column of that name
    assert members(odd) == {"false": [1, 3, 5], "true": [0, 2, 4]}


def test_the_same_columns_in_another_order_are_the_same_groups() -> None:
    found = group("age", "sex*town", ("town", "sex"), "age")
    assert [grouping.name for grouping in found] == ["age", "sex × town"]


def test_groups_are_different_and_in_order() -> None:
    levels = pd.Categorical(["low", "high", "mid", "low", "low", None], ["low", "mid", "high", "never"], ordered=True)
    extra = {
        "level": levels,
        "plain": pd.Categorical(["low", "high", "mid", "low", "low", None]),
        "code": pd.Categorical([0, 1, 10, 11, 2, -3]),
        "text": ["10", "b", "9", "1.5", "a", "10"],
        "close": [0.1, 0.1000000001, 0.2, 0.1, 0.2, 3.0],
    }
    found = {one.name: members(one) for one in group(*extra, table=TABLE.assign(**extra))}
    assert list(found["level"]) == ["low", "mid", "high", "(missing)"]
    assert found["level"]["high"] == [1]
    assert list(found["plain"]) == ["high", "low", "mid", "(missing)"]
    assert list(found["code"].items()) == [("-3", [5]), ("0", [0]), ("1", [1]), ("2", [4]), ("10", [2]), ("11", [3])]
    assert list(found["text"].items()) == [("1.5", [3]), ("9", [2]), ("10", [0, 5]), ("a", [4]), ("b", [1])]
    assert found["close"] == {"0.1": [0, 3], "0.1000000001": [1], "0.2": [2, 4], "3": [5]}


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ("sxe", "no column 'sxe' to group people by; did you mean 'sex'"),
        ("sex*age*town", "one column or by two"),
        ("sex*sex", "two different ones"),
        (3, "a group is a column"),
    ],
)
def test_groups_that_do_not_exist(wanted: GroupName, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        group(wanted)


def test_too_many_groups_and_nobody() -> None:
    many = pd.concat([TABLE] * 20, ignore_index=True).assign(town=[f"t{i}" for i in range(120)])
    with pytest.raises(SettingError, match="120 different values"):
        group("town", table=many)
    assert group("sex", table=TABLE.head(0))[0].labels == ()
    assert "protected" not in LOAN
