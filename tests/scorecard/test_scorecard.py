from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from counterplan import Problem
from counterplan.errors import SettingError
from counterplan.problem.values import Native
from counterplan.scorecard import CardFeature, Scorecard

PROBLEM = Problem.from_dict(
    {
        "counterplan": 1,
        "name": "loan",
        "outcome": {"column": "loan", "values": ["no", "yes"], "favourable": "yes"},
        "max_actions": 2,
        "features": {
            "income": {"kind": "number", "bins": [0, 1000], "missing": True},
            "job": {"kind": "category", "values": ["none", "worker", "manager"]},
            "owner": {"kind": "category", "values": [False, True], "missing": True},
            "age": {"kind": "number", "bins": [18, 40]},
        },
        "functions": {"EARN": {"add": "income", "arguments": [100, 200], "cost": 1}},
    }
)
INCOME = CardFeature(0, (500.0, 1000.0), (0, 7, 20), missing=3)
JOB = CardFeature(1, (), (0, 4, 9))
OWNER = CardFeature(2, (), (5, 0), missing=2)
CARD = Scorecard(PROBLEM, (INCOME, JOB, OWNER), needed=24, slope=0.25, shift=5.5)
PEOPLE: list[dict[str, Native | None]] = [
    {"income": 499, "job": "none", "owner": True, "age": 30},
    {"income": 500, "job": "worker", "owner": False, "age": 30},
    {"income": 999.9, "job": "manager", "age": 30},
    {"job": "worker", "owner": True, "age": 30},
    {"income": 1000, "job": "manager", "owner": False, "age": 30},
]


def test_points_are_summed_over_features() -> None:
    states = PROBLEM.states(PEOPLE)
    assert CARD.parts(states).tolist() == [[0, 0, 0], [7, 4, 5], [7, 9, 2], [3, 4, 0], [20, 9, 5]]
    assert CARD.points(states).tolist() == [0, 16, 18, 7, 34]
    assert CARD.logit(states).tolist() == [0.25 * points - 5.5 for points in (0, 16, 18, 7, 34)]
    assert CARD.entries == 10


def test_a_card_without_features_gives_everybody_nothing() -> None:
    card = replace(CARD, features=())
    assert card.points(PROBLEM.states(PEOPLE)).tolist() == [0] * 5
    assert card.parts(np.zeros((0, 4))).shape == (0, 0)
    assert card.entries == 0


@pytest.mark.parametrize(
    ("feature", "message"),
    [
        ((0, (500.0,), (0, 1.5)), "integers"),
        ((0, (500.0,), (0, True)), "integers"),
        ((0, (500.0,), (0, -1)), "integers"),
        ((0, (500.0,), (1, 2)), "lowest entry of a feature is 0; not 1"),
        ((0, (500.0,), (1, 2), 3), "lowest entry of a feature is 0; not 1"),
        ((0, (500.0, 500.0), (0, 1, 2)), "increase"),
        ((0, (500.0, math.inf), (0, 1, 2)), "finite"),
        ((0, (math.nan,), (0, 1)), "finite"),
    ],
)
def test_malformed_entries_are_rejected(feature: tuple[object, ...], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        CardFeature(*feature)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ((JOB, INCOME), "in the order of the problem"),
        ((JOB, JOB), "each once"),
        ((CardFeature(4, (), (0, 1)),), "by index"),
        ((CardFeature(-1, (), (0, 1)),), "by index"),
        ((CardFeature(1, (), (0, 1)),), "'job' needs 3 entries, got 2"),
        ((CardFeature(1, (1.0, 2.0), (0, 1, 2)),), "'job' is not a number"),
        ((CardFeature(0, (500.0,), (0, 1, 2), missing=0),), "'income' needs 2 entries, got 3"),
        ((CardFeature(0, (500.0,), (0, 1)),), "'income' may be missing"),
        ((CardFeature(3, (500.0,), (0, 1), missing=0),), "'age' cannot be missing"),
        ((CardFeature(3, (500.0,), (0, 0)),), "all entries of 'age' are 0"),
    ],
)
def test_entries_that_do_not_belong_to_the_problem_are_rejected(
    features: tuple[CardFeature, ...], message: str
) -> None:
    with pytest.raises(SettingError, match=message):
        replace(CARD, features=features)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"needed": 2.0}, "'needed' is an integer"),
        ({"slope": 0.0}, "'slope' is above 0"),
        ({"slope": math.nan}, "'slope' is above 0"),
        ({"shift": math.inf}, "'shift' is finite"),
    ],
)
def test_numbers_out_of_range_are_rejected(change: dict[str, float], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        replace(CARD, **change)  # type: ignore[arg-type]
