from __future__ import annotations

import json
import math
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import worlds
from counterplan import Problem
from counterplan.errors import CounterplanError, ProblemError, SettingError, StorageError
from counterplan.program import ModelCard
from counterplan.scorecard import Scorecard
from counterplan.scorecard.io import from_data, from_json, to_data, to_json
from schemas import valid
from scorecard.cards import random_card
from scorecard.test_scorecard import CARD, JOB

SCHEMA = json.loads(files("counterplan.scorecard").joinpath("card.schema.json").read_text("utf-8"))


def test_the_format_is_readable() -> None:
    data = json.loads(to_json(CARD))
    keys = ["counterplan_card", "problem", "needed", "slope", "shift", "features", "model_card"]
    assert [*data] == keys
    assert data["features"] == [
        {
            "feature": "income",
            "entries": [
                {"below": 500, "points": 0},
                {"from": 500, "below": 1000, "points": 7},
                {"from": 1000, "points": 20},
                {"missing": True, "points": 3},
            ],
        },
        {
            "feature": "job",
            "entries": [
                {"value": "none", "points": 0},
                {"value": "worker", "points": 4},
                {"value": "manager", "points": 9},
            ],
        },
        {
            "feature": "owner",
            "entries": [
                {"value": False, "points": 5},
                {"value": True, "points": 0},
                {"missing": True, "points": 2},
            ],
        },
    ]
    assert (data["needed"], data["slope"], data["shift"]) == (24, 0.25, 5.5)


def test_a_file_keeps_everything(tmp_path: Path) -> None:
    card = replace(CARD, model_card=ModelCard.from_data({"b": [1, {"z": None, "a": 0.1}], "a": "ä", "success": 0.5}))
    path, again = tmp_path / "card.json", tmp_path / "again.json"
    card.save(path)
    back = Scorecard.load(path)
    assert replace(back, problem=card.problem) == card
    assert back.problem.fingerprint == card.problem.fingerprint
    back.save(again)
    assert again.read_bytes() == path.read_bytes()
    shuffled = replace(card, model_card=ModelCard.from_data(dict(reversed(card.model_card.to_data().items()))))
    assert to_json(shuffled).encode() == path.read_bytes()
    with pytest.raises(StorageError, match="cannot be written"):
        card.save(tmp_path / "nowhere" / "card.json")


@settings(max_examples=25)
@given(st.integers(0, 10**6))
def test_any_card_comes_back(seed: int) -> None:
    card = random_card(Problem.from_dict(worlds.random_problem(seed)), seed)
    text = to_json(card)
    stored = from_json(text)
    assert (stored.features, stored.needed, stored.slope, stored.shift) == (card.features, card.needed, 0.5, 1.0)
    assert to_json(Scorecard(*stored)) == text
    assert valid(json.loads(text), SCHEMA)


def test_what_cannot_be_kept_is_refused() -> None:
    with pytest.raises(SettingError, match="the model card of a card holds plain data only"):
        to_json(replace(CARD, model_card=ModelCard.from_data({"a": math.nan})))
    with pytest.raises(SettingError, match="'needed' is at most"):
        to_json(replace(CARD, needed=10**30))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "c.json: not JSON.*make it again with 'counterplan distil --form card'"),
        ("[" * 100_000, "not JSON: it is nested too deeply"),
        ('{"counterplan_program": 1}', "not a card of counterplan .'counterplan_card' is missing.; give the card.json"),
        ('{"counterplan_card": true}', "the version of a card is an integer from 1 on, not true"),
        (
            '{"counterplan_card": 2}',
            "newer counterplan .version 2; this one reads 1.: update counterplan, or distil the card",
        ),
        ('{"counterplan_card": 1, "problem": {}, "problem": {}}', "'problem' is there twice"),
        ('{"counterplan_card": 1}', "'problem' is missing"),
        ('{"counterplan_card": 1, "problem": {}, "needed": 1.5}', "needed: should be an integer"),
        ('{"counterplan_card": 1, "problem": {}, "needed": true}', "needed: should be an integer"),
        ('{"counterplan_card": 1, "problem": {}, "needed": NaN}', "NaN is not a number"),
    ],
)
def test_foreign_texts(text: str, message: str) -> None:
    with pytest.raises(StorageError, match=message):
        from_json(text, "c.json")


def changed(*places: str | int, to: Any) -> dict[str, Any]:
    """The data of the card with one part replaced."""
    data: Any = json.loads(to_json(CARD))
    inside = data
    for place in places[:-1]:
        inside = inside[place]
    inside[places[-1]] = to
    return data


ENTRIES = ("features", 0, "entries")
JOBS = ("features", 1, "entries")
ZEROS = [{"value": value, "points": 0} for value in ("none", "worker", "manager")]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (changed("feature", to=[]), "'feature' is no part of a card; did you mean 'features'?"),
        (changed("slope", to=0), "c.json: slope: should be above 0, not 0"),
        (changed("slope", to=math.inf), "slope: 'inf' is not a number"),
        (changed("shift", to="1"), "shift: should be a number"),
        (changed("needed", to=10**400), "needed: 1000.* is beyond 1,000,000,000,000"),
        (changed("features", to={}), "features: should be a list"),
        (changed("features", to=[1] * 1_000_000), "features: 1,000,000 of them, and the problem has 4"),
        (changed("features", 0, to=[]), r"features\[0\]: should be {feature, entries}"),
        (
            changed("features", 0, "feature", to="incom"),
            r"features\[0\].feature: there is no feature 'incom'; did you mean 'income'\?",
        ),
        (changed("features", 1, "feature", to="income"), r"features\[1\].entries: 'income' may be missing"),
        (changed(*ENTRIES, to=[]), r"features\[0\].entries: should be a list of entries"),
        (changed(*ENTRIES, to=[{"points": 0}] * 1_000_000), r"1,000,000 entries; a feature has at most 100,000"),
        (
            changed(*ENTRIES, 0, to={"below": 500, "point": 0}),
            "should be {below, points}, not {below, point}; did you mean",
        ),
        (changed(*ENTRIES, 1, "below", to=500), r"entries\[1\].below: should be above 500: edges increase"),
        (changed(*ENTRIES, 1, "from", to=400), r"entries\[1\].from: should be 500, where the entry before ends"),
        (changed(*ENTRIES, 0, "below", to="500"), r"entries\[0\].below: '500' is not a number"),
        (changed(*ENTRIES, 0, "below", to=-math.inf), r"entries\[0\].below: '-inf' is not a number"),
        (
            changed(*ENTRIES, 2, "points", to=1_000_001),
            r"entries\[2\].points: should be an integer from 0 to 1,000,000",
        ),
        (changed(*ENTRIES, 2, "points", to=-1), r"entries\[2\].points: should be an integer from 0"),
        (changed(*ENTRIES, 2, "points", to=True), r"entries\[2\].points: should be an integer from 0"),
        (changed(*ENTRIES, 2, "points", to=2.0), r"entries\[2\].points: should be an integer from 0"),
        (changed(*ENTRIES, 0, "points", to=1), "the lowest entry of a feature is 0, not 1"),
        (changed(*ENTRIES, 3, "missing", to=1), r"entries\[3\].missing: should be true"),
        (changed(*JOBS, 1, "value", to="wroker"), r"entries\[1\].value: 'wroker' is .*did you mean 'worker'"),
        (changed(*JOBS, 1, "value", to="none"), "'none' is not in its place; the values are none, worker"),
        (changed(*JOBS, to=ZEROS[:1]), "'job' needs 3 entries, one for each value, not 1"),
        (
            changed(*JOBS, to=ZEROS),
            "all entries of 'job' are 0; leave the feature out",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_place(data: dict[str, Any], message: str) -> None:
    with pytest.raises(StorageError, match=message) as caught:
        from_data(data, "c.json")
    assert str(caught.value).startswith("c.json: ")
    assert len(str(caught.value)) < 400


def test_features_are_in_the_order_of_the_problem() -> None:
    data = to_data(CARD)
    income, job, _ = data["features"]
    with pytest.raises(StorageError, match=r"features\[1\].feature: 'income' should come before 'job'"):
        from_data(data | {"features": [job, income]})
    with pytest.raises(StorageError, match=r"features\[1\].feature: 'job' is there twice"):
        from_data(data | {"features": [job, job]})
    assert from_data(data | {"features": [job], "$schema": "card.schema.json"}).features == (JOB,)


def test_a_damaged_problem_has_its_own_messages() -> None:
    data = changed("problem", "functions", "EARN", "add", to="incom")
    with pytest.raises(ProblemError, match=r"c.json: problem: functions.EARN.add: .*did you mean 'income'"):
        from_data(data, "c.json")


def test_any_damage_is_a_clear_error_or_none() -> None:
    text, random, refused = to_json(CARD), Random(0), 0
    for _ in range(400):
        at, length = random.randrange(len(text)), random.choice([1, 1, 3, 20])
        damaged = text[:at] + random.choice(["", "0", "{", '"', "[]", "null", "-"]) + text[at + length :]
        try:
            Scorecard(*from_json(damaged))
        except CounterplanError:
            refused += 1
    assert refused > 200


def test_the_schema_refuses_what_is_no_card() -> None:
    assert valid(to_data(CARD), SCHEMA)
    for data in (
        changed("features", 0, "entries", 0, to={"below": 1}),
        changed("features", 0, to={}),
        changed("more", to=1),
    ):
        assert not valid(data, SCHEMA)
