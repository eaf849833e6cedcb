"""Personal weights: every form means the same, and mistakes are named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import loans
from counterplan import BlackBox, ExactPlanner, Problem, SettingError
from counterplan.personal.weights import read_weight_options, read_weights

PROBLEM = loans.two_ways()
FUNCTIONS: dict[str, dict[str, Any]] = loans.TWO_WAYS["functions"]  # type: ignore[assignment]
PEOPLE = pd.DataFrame({"income": [40.0, 30.0], "debt": [20.0, 30.0]}, index=["ann", "bob"])
ACTIONS = [str(action) for action in PROBLEM.transitions.actions]


def read(weights: object) -> dict[str, list[float]]:
    """Weights of ann and bob, by action."""
    array = read_weights(PROBLEM, PROBLEM.read(PEOPLE), weights)  # type: ignore[arg-type]
    return {action: column for action, column in zip(ACTIONS, array.T.tolist(), strict=True) if column != [1.0, 1.0]}


def test_every_form_means_the_same() -> None:
    expected = {"EARN=10": [2.0, 2.0], "EARN=20": [3.0, 3.0]}
    assert read({"EARN": 2, "EARN=20": 3}) == expected
    assert read({"EARN=20": np.float32(3), "EARN": np.int64(2)}) == expected, "actions take precedence in any order"
    assert read(pd.Series({"EARN=20": 3, "EARN": 2})) == expected
    assert read({"ann": {"EARN": 2, "EARN=20": 3}, "bob": {"EARN": 2, "EARN=20": 3}}) == expected
    assert read(dict.fromkeys(PEOPLE.index, pd.Series({"EARN": 2, "EARN=20": 3}))) == expected
    assert read(pl.DataFrame({"EARN": [2, 2], "EARN=20": [3, 3]})) == expected
    assert read(pd.DataFrame({"EARN=20": [3, 3], "EARN": [2, 2]}, index=["bob", "ann"])) == expected
    array = np.ones((2, len(ACTIONS)))
    array[:, [ACTIONS.index("EARN=10")]], array[:, [ACTIONS.index("EARN=20")]] = 2, 3
    assert read(array) == expected


def test_weights_of_one_person_and_empty_cells() -> None:
    assert read({"bob": {"SAVE=-10": 0.5}}) == {"SAVE=-10": [1.0, 0.5]}
    assert read(pd.DataFrame({"EARN": [np.nan, 4]}, index=["ann", "bob"])) == {
        "EARN=10": [1.0, 4.0],
        "EARN=20": [1.0, 4.0],
    }
    empty = pd.DataFrame({"SAVE=-10": pd.array([None, 4], "Int64"), "SAVE": ["", "2"]}, index=["ann", "bob"])
    assert read(empty.replace({"": None})) == {"SAVE=-10": [1.0, 4.0], "SAVE=-20": [1.0, 2.0]}
    assert read({}) == {}
    assert read(pd.Series(dtype=float)) == {}


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"EARM": 2}, "'EARM' is neither a function nor an action; did you mean 'EARN'"),
        ({"STOP": 2}, "'STOP' is neither a function nor an action"),
        ({"EARN": 0}, r"the weight of EARN must be a number from 0\.01 to 100, not 0. Use 'forbid'"),
        (
            {"bob": {"EARN": 101}},
            "'weights' of person 'bob': the weight of EARN must be a number from 0.01 to 100, not 101",
        ),
        ({"EARN": np.nan}, "the weight of EARN must be a number from 0.01 to 100, not nan"),
        ({"EARN": "2"}, "the weight of EARN must be a number from 0.01 to 100, not '2'"),
        ({"EARN": True}, "the weight of EARN must be a number from 0.01 to 100, not True"),
        ({"eve": {"EARN": 2}}, "person 'eve', and there is no such person"),
        ({"EARN": 2, "bob": {"EARN": 2}}, "either functions and actions to numbers, or people to such mappings"),
        ({"bob": {"EARM": 2}}, "'weights' of person 'bob': 'EARM' is neither"),
        (pd.DataFrame({"EARN": [1, 2]}), "one row for each person, with the person's index label: 'ann' has no row"),
        (pd.DataFrame({"EARN": [1] * 3}, index=["ann", "bob", "eve"]), "'eve' is not among the people"),
        (pd.DataFrame({"SAVE": 1, "EARN": ["2", "a"]}, index=["ann", "bob"]), "of person 'bob': the weight of EARN"),
        (
            pd.DataFrame({"SAVE": 1, "EARN=10": [101, 2]}, index=["ann", "bob"]),
            "'ann': the weight of EARN=10.* not 101",
        ),
        (pd.DataFrame({"EARN": [1.0, np.inf]}, index=["ann", "bob"]), "of person 'bob': the weight of EARN.* not inf"),
        (pd.Series({"EARN": 2, "SVAE": 3}), "'SVAE' is neither a function nor an action; did you mean 'SAVE'"),
        (pd.Series({"EARN": np.nan}), "the weight of EARN must be a number from 0.01 to 100, not nan"),
        (pd.Series({"EARN": 0}), "the weight of EARN must be a number from 0.01 to 100, not 0"),
        (pd.Series([2, 3], index=["EARN", "EARN"]), "unique index, and 'EARN' occurs more than once"),
        ({"bob": None}, "'weights' of person 'bob' must be a mapping from functions or actions to numbers, not None"),
        ({"ann": {"EARN": 2}, "bob": 3}, "'weights' of person 'bob' must be a mapping .* not 3"),
        ({"eve": None}, "'eve' is neither a function nor an action"),
        (
            pd.DataFrame({"id": ["a", "b"], "EARN": 2}, index=["ann", "bob"]),
            "'weights': 'id' is neither a function nor",
        ),
        ({"id": "a", "EARN": 0}, "'weights': 'id' is neither a function nor"),
        ("heavy", "must be a mapping from functions or actions to numbers"),
        ([1.0, 2.0], "To weight by name, pass a mapping"),
    ],
)
def test_mistakes_are_named(weights: object, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        read(weights)


def test_a_weighted_plan_states_both_costs() -> None:
    box = BlackBox(lambda table: ["yes" if i - d >= 30 else "no" for i, d in table.to_numpy()])
    plain, weighted = (ExactPlanner(PROBLEM, box).plan(PEOPLE, weights=w)[0] for w in (None, {"SAVE": 10, "EARN": 2}))
    assert plain.actions == ["SAVE=-10"]
    assert plain.unweighted_cost == plain.cost
    assert weighted.actions == ["EARN=10"]
    assert weighted.cost == 2 * weighted.unweighted_cost
    assert f"effort {weighted.cost:.1f} with your weights" in str(weighted)
    assert f"{weighted.unweighted_cost:.1f} without them" in str(weighted)
    assert "weights" not in str(plain)


def test_efforts_of_related_plans_are_compared_with_and_without_weights() -> None:
    """Where one of the ways is weighted, all state both totals, in text and HTML."""
    box = BlackBox(lambda table: ["yes" if i - d >= 30 else "no" for i, d in table.to_numpy()])
    functions = {name: dict(spec, duration=time) for (name, spec), time in zip(FUNCTIONS.items(), (1, 6), strict=True)}
    timed = Problem.from_dict(loans.TWO_WAYS | {"functions": functions})
    for problem, options in ((PROBLEM, {"alternatives": 3}), (timed, {"pareto": True})):
        planner = ExactPlanner(problem, box)
        weighted, plain = (planner.plan(PEOPLE, weights=w, **options)[0] for w in ({"EARN": 1.5}, None))
        (other,) = (*weighted.alternatives, *weighted.front[1:])
        assert (weighted.actions, other.actions) == (["SAVE=-10"], ["EARN=10"])
        assert weighted.unweighted_cost == weighted.cost
        for text in (str(weighted), weighted._repr_html_()):
            assert "effort 3.0 with your weights, the least possible; 3.0 without them" in text
            assert "effort 6.0 with your weights, 4.0 without them" in text
        assert "weights" not in str(plain)


def test_options_of_the_command_line() -> None:
    assert read_weight_options(["EARN=2", "SAVE=-10=0.5"]) == {"EARN": 2.0, "SAVE=-10": 0.5}
    for wrong in ("EARN", "EARN=much", "=2", "EARN="):
        with pytest.raises(SettingError, match=r"write FUNCTION=NUMBER"):
            read_weight_options([wrong])
    for number in ("0", "-2", "nan", "inf", "1e400", "1000"):
        with pytest.raises(
            SettingError, match=rf"the weight of EARN must be a number from 0\.01 to 100, not {number}\. Use --forbid"
        ):
            read_weight_options([f"EARN={number}"])
    with pytest.raises(SettingError, match="EARN has two weights"):
        read_weight_options(["EARN=2", "EARN=3"])


def test_tables_hold_numbers_and_a_row_for_each_person() -> None:
    for column in ([True, True], pd.to_timedelta([1, 1]), pd.to_datetime(["2026-01-01"] * 2)):
        with pytest.raises(SettingError, match="the weight of EARN must be a number"):
            read(pd.DataFrame({"EARN": column}, index=PEOPLE.index))
    with pytest.raises(SettingError, match="'weights' has 1 row for 2 people"):
        read(pl.DataFrame({"EARN": [2]}))


def test_costs_that_weights_make_too_small_are_refused() -> None:
    """They would be rounded to the same cost, or to 0, and a plan of a higher cost would be called the cheapest."""
    functions = {"EARN": FUNCTIONS["EARN"] | {"cost": 1.4e-7}, "SAVE": FUNCTIONS["SAVE"] | {"cost": 1.2e-7}}
    problem = Problem.from_dict(loans.TWO_WAYS | {"functions": functions})
    planner = ExactPlanner(
        problem, BlackBox(lambda table: ["yes" if i - d >= 30 else "no" for i, d in table.to_numpy()])
    )
    assert planner.plan(PEOPLE)[0].optimal
    with pytest.raises(SettingError, match=r"weights make costs as small as 1.2e-09; .* use larger weights"):
        planner.plan(PEOPLE, weights={"EARN": 0.01, "SAVE": 0.01})


@pytest.mark.parametrize(
    ("labels", "shown"), [([14, 15], "15"), ([("a", 1), ("a", 2)], r"\"\('a', 2\)\""), (["ann", "bob"], "'bob'")]
)
def test_messages_show_labels_as_they_are_written(labels: list[Any], shown: str) -> None:
    index = pd.MultiIndex.from_tuples(labels) if isinstance(labels[0], tuple) else pd.Index(labels)
    people = PROBLEM.read(PEOPLE.set_axis(index))
    for weights in (pd.DataFrame({"EARN": [1, 0]}, index=index), {labels[1]: {"EARN": 0}}, {labels[1]: None}):
        with pytest.raises(SettingError, match=f"'weights' of person {shown}"):
            read_weights(PROBLEM, people, weights)


def test_rows_without_labels_are_for_people_with_any_labels() -> None:
    twice = PROBLEM.read(PEOPLE.iloc[[1, 1, 0]])
    for table, by_position in ((pl.DataFrame({"EARN": [2, 3, 4]}), False), (pd.DataFrame({"EARN": [2, 3, 4]}), True)):
        weights = read_weights(PROBLEM, twice, table, by_position=by_position)
        assert weights[:, ACTIONS.index("EARN=10")].tolist() == [2.0, 3.0, 4.0]
    with pytest.raises(SettingError, match="unique labels of rows and people"):
        read_weights(PROBLEM, twice, pd.DataFrame({"EARN": [2, 3]}, index=["ann", "bob"]))
