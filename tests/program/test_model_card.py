"""Cards: typed attributes, and nothing of a file is lost."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterplan.program import ModelCard
from counterplan.program.model_card import GroupOutcome, WithoutFunction

FULL: dict[str, Any] = {
    "made_with": {"method": "policy search on a surrogate", "teaching": {"sure": [0.5, 0.9]}},
    "model": "0af3",
    "seed": 0,
    "people": {"real": 8, "invented": 2},
    "tried_on": {"people": 4, "without_any_known_plan": 1},
    "success": 0.75,
    "cost_ratio": 1.25,
    "questions": {"to_fit": 100, "its_plans": 5},
    "rule_length_mean": 1.5,
    "rule_length_longest": 3,
    "leaves": 12,
    "groups": {"sex": {"female": {"people": 3, "success": 1.0, "mean_effort": None}}},
    "without": {"CHANGE_JOB": {"people": 3, "plans": 2, "hold": 1}},
    "protected_tested": [],
    "protected_avoided": ["sex"],
    "cannot": ["It gives no plan of more than 4 steps."],
    "transitions": {"INTERVENE>STOP": 1},
    "examples": [{"age": 30}],
    "ranges": {"age": [19, 74.5]},
    "derived": ["share"],
}


def test_every_entry_is_an_attribute() -> None:
    card: Any = ModelCard.from_data(FULL)
    assert not card.extra
    assert card.people.synthetic == 2
    assert card.tried_on.without_plan == 1
    assert card.queries["its_plans"] == 5
    assert card.groups["sex"]["female"] == GroupOutcome(3, 1.0, None)
    assert card.without["CHANGE_JOB"] == WithoutFunction(people=3, plans=2, hold=1)
    assert card.protected_avoided == ("sex",)
    assert card.ranges["age"] == (19, 74.5)
    assert card.derived == ("share",)
    assert card.limitations == tuple(FULL["cannot"])
    assert card.to_data() == FULL
    assert [*card.to_data()] == [*FULL]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from([*FULL, "note"]), JSON | st.sampled_from([*FULL.values()])))
def test_no_entry_of_a_file_is_lost(data: dict[str, Any]) -> None:
    card = ModelCard.from_data(data)
    assert card.to_data() == data
    assert ModelCard.from_data(card.to_data()) == card


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("success", "high"),
        ("success", True),
        ("leaves", 1.5),
        ("people", {"real": 8}),
        ("people", {"real": 8, "invented": 2, "others": 1}),
        ("groups", {"sex": {"female": {"people": 3}}}),
        ("without", {"CHANGE_JOB": {"people": 3, "plans": 2, "hold": None}}),
        ("cannot", "nothing"),
        ("examples", [{"age": 30}, None]),
        ("ranges", {"age": [40, 20]}),
        ("ranges", {"age": [20]}),
        ("derived", [1]),
        ("success", None),
    ],
)
def test_an_entry_of_another_form_is_preserved_but_not_typed(key: str, value: Any) -> None:
    card = ModelCard.from_data(FULL | {key: value})
    assert getattr(card, "limitations" if key == "cannot" else key) is None
    assert card.extra == {key: value}
    assert card.to_data() == FULL | {key: value}
