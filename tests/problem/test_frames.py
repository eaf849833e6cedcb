import bz2
import gzip
import lzma
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import worlds
from counterplan.errors import PeopleError
from counterplan.problem import Problem, read_table
from counterplan.problem.values import text_of

NUMBER = {"kind": "number"}
WHOLE = NUMBER | {"integer": True}
LETTERS = {"kind": "category", "values": ["a", "b", "c"]}
NUMBERS = {"kind": "category", "values": [5, 7]}
TEXT = pd.Series(["a"]).dtype  # what pandas makes of texts: object before pandas 3
TRUTHS = {"kind": "category", "values": [True, False]}


def problem_of(**features):
    outcome = {"column": "decision", "values": [0, 1], "favourable": 1}
    return Problem.from_dict(
        {"counterplan": 1, "name": "x", "max_actions": 1, "outcome": outcome, "features": features}
    )


def one_column(spec, column):
    """People with a single feature `x`."""
    return problem_of(x=spec).read(pd.DataFrame({"x": column}))


def written(spec, column, *states):
    """The column `x` after its states have become `states`."""
    people = one_column(spec, column)
    return people.frame(np.array(states, float)[:, None])["x"]


# Reading and writing back


@pytest.mark.parametrize(
    ("spec", "column", "states"),
    [
        (LETTERS, ["a", "c"], [0, 2]),
        (LETTERS, pd.Series(["a", "c"], dtype=object), [0, 2]),
        (LETTERS, pd.Series(["a", "c"], dtype="string[python]"), [0, 2]),
        (LETTERS, pd.Series(["a", "c"], dtype="category"), [0, 2]),
        (LETTERS, pd.Categorical(["a", "c"], categories=["c", "x", "a"], ordered=True), [0, 2]),
        (LETTERS | {"missing": True}, ["a", None], [0, math.nan]),
        (LETTERS | {"missing": True}, pd.Series(["a", pd.NA], dtype="string[python]"), [0, math.nan]),
        (LETTERS | {"missing": True}, pd.Series(["a", None], dtype="category"), [0, math.nan]),
        (LETTERS | {"missing": True}, pd.Series(["a", float("nan")], dtype=object), [0, math.nan]),
        (NUMBERS, [7, 5], [1, 0]),
        (NUMBERS, [7.0, 5.0], [1, 0]),
        (NUMBERS, ["7", "5"], [1, 0]),
        (NUMBERS, pd.Series([7, 5], dtype="int8"), [1, 0]),
        (NUMBERS | {"missing": True}, pd.Series([7, None], dtype="Int64"), [1, math.nan]),
        (NUMBERS | {"missing": True}, [7, None], [1, math.nan]),
        ({"kind": "category", "values": ["5", "7"]}, [7, 5], [1, 0]),
        (TRUTHS, [False, True], [1, 0]),
        (TRUTHS, ["False", "True"], [1, 0]),
        (TRUTHS, ["false", "true"], [1, 0]),
        ({"kind": "category", "values": ["True", "False"]}, [False, True], [1, 0]),
        (TRUTHS | {"missing": True}, pd.Series([False, None], dtype="boolean"), [1, math.nan]),
        (TRUTHS | {"missing": True}, pd.Series([False, None], dtype=object), [1, math.nan]),
        ({"kind": "category", "values": ["1.0", "2.0"]}, [2.0, 1.0], [1, 0]),
        ({"kind": "category", "values": [0.5, 1.5]}, [1.5, 0.5], [1, 0]),
        ({"kind": "category", "values": ["0.10", "0.20"]}, [0.2, 0.1], [1, 0]),
        ({"kind": "category", "values": ["0.10", "0.20"]}, ["0.2", "0.1"], [1, 0]),
        ({"kind": "category", "values": ["0.10", "1e3"]}, [1000.0, 0.1], [1, 0]),
        ({"kind": "category", "values": ["1e3", "1000"]}, [1000, 1000], [1, 1]),
        ({"kind": "category", "values": ["007", "7"]}, ["7", "007"], [1, 0]),
        ({"kind": "category", "values": ["", " "]}, [" ", ""], [1, 0]),
        (NUMBER, [1, 2], [1, 2]),
        (NUMBER, [1.5, -2], [1.5, -2]),
        (NUMBER, pd.Series([1, 2], dtype="uint8"), [1, 2]),
        (NUMBER, pd.Series([1, 2.5], dtype="float32"), [1, 2.5]),
        (NUMBER, pd.Series([1, 2.5], dtype=object), [1, 2.5]),
        (NUMBER, pd.Series([1, 2], dtype="category"), [1, 2]),
        (NUMBER | {"missing": True}, pd.Series([1, None], dtype="Int64"), [1, math.nan]),
        (NUMBER | {"missing": True}, pd.Series([1.5, None], dtype="Float64"), [1.5, math.nan]),
        (NUMBER | {"missing": True}, [1, None], [1, math.nan]),
        (NUMBER | {"missing": True}, pd.Series([1, None], dtype=object), [1, math.nan]),
        (NUMBER, [2**53, -(2**53)], [2**53, -(2**53)]),
    ],
)  # fmt: skip
def test_a_column_is_read_and_comes_back_as_it_was(spec, column, states):
    table = pd.DataFrame({"x": column})
    people = problem_of(x=spec).read(table)
    np.testing.assert_array_equal(people.states[:, 0], states)
    pd.testing.assert_frame_equal(people.frame(), table)
    pd.testing.assert_frame_equal(people.frame(people.states), table)
    turned = people.frame(people.states[::-1], rows=np.array([1, 0]))
    pd.testing.assert_frame_equal(turned, table.iloc[[1, 0]])
    # in other hands: everybody takes the other's value, which is written as in the original
    swapped = people.frame(people.states[::-1])
    assert swapped["x"].dtype == table["x"].dtype or isinstance(table["x"].dtype, pd.CategoricalDtype)
    pd.testing.assert_series_equal(
        swapped["x"].reset_index(drop=True),
        table["x"].iloc[::-1].reset_index(drop=True),
        check_dtype=swapped["x"].dtype == table["x"].dtype,
        check_categorical=False,
    )


@pytest.mark.parametrize(
    ("spec", "column", "state", "value", "dtype"),
    [
        (LETTERS, ["a", "b"], 2, "c", TEXT),
        (LETTERS, pd.Series(["a", "b"], dtype=object), 2, "c", "object"),
        (LETTERS, pd.Series(["a", "b"], dtype="string[python]"), 2, "c", "string"),
        (LETTERS, pd.Series(["a", "b"], dtype="category"), 2, "c", "category"),
        ({"kind": "category", "values": [5, 7, 9]}, [5, 7], 2, 9, "int64"),
        ({"kind": "category", "values": [5, 7, 9]}, ["5", "7"], 2, "9", TEXT),
        ({"kind": "category", "values": [5, 7, 9]}, [5.0, 7.0], 2, 9.0, "float64"),
        ({"kind": "category", "values": [5, 7, 9]}, pd.Series([5, 7], dtype="Int64"), 2, 9, "Int64"),
        ({"kind": "category", "values": [5, 7, 9]}, pd.Series([5, 7], dtype=object), 2, 9, "object"),
        ({"kind": "category", "values": ["5", "7", "9"]}, pd.Series([5, 7], dtype=object), 2, 9, "object"),
        ({"kind": "category", "values": [1.0, 2.0, 3.0]}, pd.Series([1.0, 2.0], dtype=object), 2, 3.0, "object"),
        ({"kind": "category", "values": ["0.10", "0.20", "0.30"]}, [0.1, 0.2], 2, 0.3, "float64"),
        (TRUTHS, [True, True], 1, False, "bool"),
        ({"kind": "category", "values": ["True", "False"]}, [True, True], 1, False, "bool"),
        ({"kind": "category", "values": [5, 7, 2024]}, pd.Series([5, 7], dtype="int8"), 2, 2024, "int64"),
        ({"kind": "category", "values": [5, 7, 2024]}, pd.Series([5, 7], dtype="Int8"), 2, 2024, "Int64"),
        (LETTERS | {"values": ["true", "false"]}, pd.Series([True, True], dtype="boolean"), 1, False, "boolean"),
        (TRUTHS, ["True", "True"], 1, "False", TEXT),
        (TRUTHS, ["true", "true"], 1, "false", TEXT),
        (TRUTHS, pd.Series([True, True], dtype=object), 1, False, "object"),
        (NUMBERS | {"missing": True}, pd.Series([None, None], dtype="string[python]"), 1, "7", "string"),
    ],
)  # fmt: skip
def test_a_value_that_was_not_there_is_written_like_the_others(spec, column, state, value, dtype):
    column = written(spec, column, state, state)
    assert column.tolist() == [value, value]
    assert type(column.tolist()[0]) is type(value)
    assert column.dtype == dtype


@pytest.mark.parametrize(
    ("column", "states", "dtype"),
    [
        ([1, 2], [3, 4], "int64"),
        ([1, 2], [3, 4.5], "float64"),
        (pd.Series([1, 2], dtype="int8"), [3, 4], "int8"),
        (pd.Series([1, 2], dtype="int8"), [3, 400], "int64"),
        (pd.Series([1, 2], dtype="uint8"), [3, -4], "int64"),
        (pd.Series([1, 2], dtype="float32"), [3, 4.5], "float32"),
        (pd.Series([1, 2], dtype="Int64"), [3, 4], "Int64"),
        (pd.Series([1, 2], dtype="Int64"), [3, 4.5], "Float64"),
        (pd.Series([1, 2], dtype="Int8"), [3, 400], "Int64"),
        (pd.Series([1, 2], dtype="UInt8"), [3, -4], "Int64"),
        ([1, 2], [3, 1e19], "float64"),
        ([1, 2], [3, 2.0**63], "float64"),
        ([1, 2], [3, -(2.0**63)], "int64"),
        (pd.Series([1, 2], dtype="UInt64"), [3, 1e19], "UInt64"),
        (pd.Series([1, 2], dtype="Int8"), [3, 1e19], "Float64"),
        (pd.Series([1, 2], dtype="Float64"), [3, 4.5], "Float64"),
        (pd.Series([1, 2], dtype=object), [3, 4.5], "object"),
        (pd.Series([1, 2], dtype="category"), [3, 4.5], "float64"),
        (pd.Series([1, 2], dtype="category"), [3, 4], "int64"),
    ],
)
def test_changed_numbers_keep_their_type_or_take_the_nearest(column, states, dtype):
    column = written(NUMBER, column, *states)
    assert column.tolist() == states
    assert column.dtype == dtype


@pytest.mark.parametrize(
    ("spec", "column", "dtype"),
    [
        (NUMBER, [1, 2], "float64"),
        (NUMBER, pd.Series([1, 2], dtype="Int64"), "Int64"),
        (LETTERS, ["a", "b"], TEXT),
        ({"kind": "category", "values": [1, 2]}, [1, 2], "object"),
        (TRUTHS, [True, False], "object"),
    ],
)
def test_what_becomes_missing_is_missing(spec, column, dtype):
    column = written(spec | {"missing": True}, column, math.nan, 1)
    assert column.isna().tolist() == [True, False]
    assert column.dtype == dtype


def test_extra_columns_the_order_and_the_index_stay_as_they_are():
    problem = problem_of(age=WHOLE, job=LETTERS)
    table = pd.DataFrame(
        {
            "note": pd.Series(["p", "q", "r"], dtype=object),
            "job": ["a", "b", "a"],
            "when": pd.to_datetime(["2020-01-01", "2021-01-01", None]),
            "decision": [0, 1, 0],
            "age": [30, 40, 50],
            7: [{"x": 1}, None, [1, 2]],
        },
        index=pd.Index(["ann", "ben", "ann"], name="who"),
    )
    before = table.copy(deep=True)
    people = problem.read(table)
    assert len(people) == 3
    assert people.extras == ["note", "when", 7]
    assert list(people.table) == ["note", "job", "when", "age", 7], "the outcome is set aside"
    states = people.states.copy()
    states[:, 0] += 1
    states[2, 1] = 2
    changed = people.frame(states)
    expected = table.drop(columns="decision").assign(age=[31, 41, 51], job=["a", "b", "c"])
    pd.testing.assert_frame_equal(changed, expected)
    pd.testing.assert_frame_equal(people.frame(states[[2, 2]], rows=np.array([2, 2])), expected.iloc[[2, 2]])
    pd.testing.assert_frame_equal(table, before)


def test_some_of_the_people():
    people = one_column(NUMBER, [1, 2, 3, 4])
    some = people.take(np.array([3, 1]))
    assert some.states[:, 0].tolist() == [4, 2]
    pd.testing.assert_frame_equal(some.frame(), people.table.iloc[[3, 1]])
    assert len(people.take(slice(0, 3))) == 3


def test_columns_need_not_be_called_by_texts():
    problem = problem_of(**{"7": NUMBER, "true": LETTERS})
    people = problem.read(pd.DataFrame({7: [1, 2], True: ["a", "b"]}))
    frame = people.frame(people.states + 1)
    assert {name: frame[name].tolist() for name in frame} == {7: [2, 3], True: ["b", "c"]}


def test_nobody():
    problem = problem_of(age=WHOLE, job=LETTERS)
    people = problem.read(pd.DataFrame({"age": [], "job": []}))
    assert people.states.shape == (0, 2)
    assert list(people.frame(people.states)) == ["age", "job"]


@given(st.data())
@settings(max_examples=20)
def test_valid_people_survive_a_round_trip(data):
    problem = data.draw(worlds.problems())
    table = data.draw(worlds.people(problem))
    people = problem.read(table)
    pd.testing.assert_frame_equal(people.frame(people.states), table)
    for row, state in enumerate(people.states):
        person = problem.describe(state)
        for name, value in table.iloc[row].items():
            assert pd.isna(value) if person[name] is None else person[name] == value


@given(st.data())
@settings(max_examples=20)
def test_wherever_a_plan_leads_the_table_says_so(data):
    problem = data.draw(worlds.problems())
    table = data.draw(worlds.people(problem))
    people = problem.read(table)
    plans = worlds.random_plan_actions(problem, people.states, np.random.default_rng(data.draw(st.integers(0, 99))))
    end = plans.states[:, -1]
    frame = people.frame(end)
    np.testing.assert_array_equal(problem.read(frame).states, end)
    assert list(frame) == list(table)
    for feature in problem.features:
        if not feature.is_number and end[:, feature.index].tolist() != people.states[:, feature.index].tolist():
            kinds = {type(value) for value in table[feature.name].dropna().tolist()}
            assert not kinds or {type(value) for value in frame[feature.name].dropna().tolist()} <= kinds


# What does not fit


@pytest.mark.parametrize(
    ("spec", "column", "message"),
    [
        (LETTERS, ["a", "d"], "column 'x', row 1: 'd' is not a value of this feature; the values are a, b, c"),
        (LETTERS | {"values": ["manager"]}, ["mangaer"], "column 'x', row 0: 'mangaer' is not a value of this feature"),
        (LETTERS, ["a", None], "column 'x', row 1: the value is missing, and the problem does not allow that ('miss"),
        (LETTERS, [1], "column 'x', row 0: 1 is not a value"),
        (LETTERS, [1.5], "column 'x', row 0: 1.5 is not a value"),
        (LETTERS, ["a", ["b"]], "column 'x', row 1: ['b'] is not a single value"),
        (LETTERS | {"missing": True}, [None, "a", {"a": 1}], "column 'x', row 2: {'a': 1} is not a single value"),
        (LETTERS, ["a", np.zeros((2, 2))], "column 'x', row 1: array([[0., 0.], [0., 0.]]) is not a single value"),
        (LETTERS | {"values": ["['b']"]}, [["b"]], "column 'x', row 0: ['b'] is not a single value"),
        (LETTERS | {"values": [1]}, [1 + 2j], "column 'x', row 0: (1+2j) is not a value of this feature"),
        (NUMBER, [1 + 2j], "column 'x', row 0: (1+2j) is not a number"),
        (NUMBER, pd.Series([1, 2j], dtype=object), "column 'x', row 1: 2j is not a number"),
        ({"kind": "category", "values": ["0.10", "0.100"]}, [0.1], "column 'x', row 0: 0.1 is not a value"),
        ({"kind": "category", "values": ["007", "7.5"]}, [7], "column 'x', row 0: 7 is not a value"),
        (LETTERS | {"values": [0, 1]}, [True], "column 'x', row 0: True is not a value"),
        (LETTERS, pd.Series(["a", "d"], dtype="category"), "column 'x', row 1: 'd' is not a value"),
        (NUMBER, ["12"], "column 'x', row 0: '12' is not a number"),
        (NUMBER, [True], "column 'x', row 0: True is not a number"),
        (NUMBER, pd.Series([1, "x"], dtype=object), "column 'x', row 1: 'x' is not a number"),
        (NUMBER, pd.Series([1, np.bool_(True)], dtype=object), "column 'x', row 1: True is not a number"),
        (NUMBER, pd.Series([1, [2]], dtype=object), "column 'x', row 1: [2] is not a number"),
        (NUMBER, pd.to_datetime(["2020-01-01"]), "column 'x', row 0: Timestamp('2020-01-01 00:00:00') is not a number"),
        (NUMBER, [1.0, math.nan], "column 'x', row 1: the value is missing, and the problem does not allow that"),
        (NUMBER, pd.Series([None], dtype="Int64"), "column 'x', row 0: the value is missing"),
        (NUMBER, [math.inf], "column 'x', row 0: inf is infinite"),
        (NUMBER, [2**53 + 2], "column 'x', row 0: 9007199254740994 is too large to be exact"),
        (NUMBER, pd.Series([10**400], dtype=object), "column 'x', row 0: 1000000"),
        (WHOLE, [1.0, 2.5], "column 'x', row 1: 2.5 is not a whole number"),
        (NUMBER | {"minimum": 18}, [17], "column 'x', row 0: 17 is below the minimum 18"),
        (NUMBER | {"minimum": 1234567}, [17.5], "column 'x', row 0: 17.5 is below the minimum 1,234,567"),
        (NUMBER | {"maximum": 99}, [18, 100], "column 'x', row 1: 100 is above the maximum 99"),
        (NUMBER | {"maximum": 99}, pd.Series([100], dtype="Int64"), "column 'x', row 0: 100 is above the maximum 99"),
    ],
)  # fmt: skip
def test_mismatches_are_reported_with_column_row_and_value(spec, column, message):
    with pytest.raises(PeopleError) as caught:
        one_column(spec, column)
    (line,) = str(caught.value).splitlines()
    assert line.startswith(message)


def test_all_mistakes_are_listed_up_to_ten():
    problem = problem_of(age=NUMBER, job=LETTERS)
    with pytest.raises(PeopleError) as caught:
        problem.read(pd.DataFrame({"age": ["x"] * 8, "job": ["z"] * 8}))
    lines = str(caught.value).splitlines()
    assert lines[7].startswith("column 'age', row 7: 'x'")
    assert lines[8].startswith("column 'job', row 0: 'z'")
    assert lines[10:] == ["… and 6 more"]


def test_columns_that_are_not_there_or_twice():
    problem = problem_of(age=NUMBER, income=NUMBER)
    with pytest.raises(PeopleError, match=r"lacks the column 'income' \(did you mean 'incom'\?\); it has age, incom"):
        problem.read(pd.DataFrame({"age": [1], "incom": [2]}))
    with pytest.raises(PeopleError, match=r"lacks the columns 'age', 'income'; it has Z"):
        problem.read(pd.DataFrame({"Z": [1]}))
    with pytest.raises(PeopleError, match="more than one column called 'age'"):
        problem.read(pd.DataFrame([[1, 2, 3]], columns=["age", "income", "age"]))


@pytest.mark.parametrize("people", [{"age": [1]}, [[1]], None, np.zeros((2, 1)), pd.Series([1])])
def test_people_come_as_a_frame(people):
    with pytest.raises(PeopleError, match="people come as a DataFrame of pandas or polars"):
        problem_of(age=NUMBER).read(people)


# Files

CSV = "age,job,note\n30,NA,NA\n,007,x\n50,None,\n"
FEATURES = problem_of(
    age=NUMBER | {"missing": True}, job={"kind": "category", "values": ["NA", "007", "None"], "missing": True}
).features


@pytest.mark.parametrize(
    ("name", "compress"),
    [("a.csv", bytes), ("a.csv.gz", gzip.compress), ("a.csv.bz2", bz2.compress), ("a.csv.xz", lzma.compress)],
)
def test_categories_in_a_file_stay_as_they_are_written(tmp_path, name, compress):
    path = tmp_path / name
    path.write_bytes(compress(CSV.encode()))
    table = read_table(path, FEATURES)
    assert table["job"].tolist() == ["NA", "007", "None"]
    assert table["age"].isna().tolist() == [False, True, False]
    assert table["note"].isna().tolist() == [True, False, True]


def test_missing_values_in_a_file(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("age,job\nNA,\nnan,NA\n5,007\n")
    table = read_table(str(path), FEATURES)
    assert table["age"].isna().tolist() == [True, True, False]
    assert table["age"].dtype == float
    assert table["job"].isna().tolist() == [True, False, False]
    features = problem_of(job={"kind": "category", "values": ["", "x"]}).features
    path.write_text('age,job\n1,\n2,x\n3,""\n')
    assert read_table(path, features)["job"].tolist() == ["", "x", ""], "an empty text may be a value"


@pytest.mark.parametrize(
    ("values", "cells", "expected", "dtype"),
    [
        ([1, 2, 3], "1 3 2", [1, 3, 2], "int64"),
        ([-1, 0], "-1 0 0", [-1, 0, 0], "int64"),
        ([1, 2], "1.0 2.0 1", [1, 2, 1], "int64"),
        ([1, 2], "1  2", [1, pd.NA, 2], "Int64"),
        ([1, 2], " ", [pd.NA, pd.NA], "Int64"),
        ([7, 8], "007 8", ["007", 8], "object"),
        ([True, False], "True False", [True, False], "bool"),
        ([True, False], "true FALSE", [True, False], "bool"),
        ([True, False], "True  False", [True, None, False], "object"),
        (["1", "2"], "1 2", ["1", "2"], TEXT),
        (["true", "false"], "true false", ["true", "false"], TEXT),
        ([7, "007"], "7 007", ["7", "007"], TEXT),
        ([1, "x"], "1 x", ["1", "x"], TEXT),
        ([1, True], "1 true", ["1", "true"], TEXT),
        (["no", "NA"], "no NA", ["no", "NA"], TEXT),
        ([10**20, 5], f"{10**20} 5", [10**20, 5], "object"),
    ],
)
def test_categories_in_a_file_are_of_the_types_that_the_problem_writes(tmp_path, values, cells, expected, dtype):
    path = tmp_path / "a.csv"
    path.write_text("x,y\n" + "".join(f"{cell},1\n" for cell in cells.split(" ")))
    problem = problem_of(x={"kind": "category", "values": values, "missing": True})
    table = read_table(path, problem.features)
    assert table["x"].dtype == dtype
    assert table["x"].tolist() == expected
    if values != [7, 8]:  # and the problem recognises them; 007 is not 7
        texts = [None if pd.isna(value) else text_of(value) for value in expected]
        known = problem.features[0].values
        states = [math.nan if text is None else known.index(text) for text in texts]
        np.testing.assert_array_equal(problem.read(table).states[:, 0], states)


def test_a_model_that_knows_ints_and_truths_recognises_those_of_a_file(tmp_path):
    table = pd.DataFrame({"grade": [1, 3, 2], "member": [True, False, True], "age": [20, 30, 40]})
    table.to_csv(tmp_path / "a.csv", index=False)
    problem = problem_of(grade={"kind": "ordered", "values": [1, 2, 3]}, member=TRUTHS, age=NUMBER)
    read = read_table(tmp_path / "a.csv", problem.features)
    pd.testing.assert_frame_equal(read, pd.read_csv(tmp_path / "a.csv"))
    people = problem.read(read)
    changed = people.frame(people.states[[1, 2, 0]])
    pd.testing.assert_frame_equal(changed, table.iloc[[1, 2, 0]].reset_index(drop=True))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("spec", "good", "bad", "message"),
    [
        (NUMBER, "5", "abc", "'abc' is not a number"),
        (NUMBER, "5.5", "True", "'True' is not a number"),
        (NUMBER, "5", "9" * 20, "100000000000000000000 is too large to be exact"),
        (NUMBER | {"maximum": 9}, "5", "1e3", "1000.0 is above the maximum 9"),
        (NUMBERS, "5", "8", "8 is not a value of this feature; the values are 5, 7"),
        (NUMBERS, "5.0", "x", "'x' is not a value of this feature; the values are 5, 7"),
        (NUMBERS, "5", "1" * 9000, f"'{'1' * 78}… is not a value of this feature; the values are 5, 7"),
        (TRUTHS, "True", "yes", "'yes' is not a value of this feature; the values are true, false"),
        (LETTERS, "a", "d", "'d' is not a value of this feature; the values are a, b, c"),
    ],
)
def test_one_bad_cell_in_a_long_file_is_the_only_one_reported(tmp_path, spec, good, bad, message):
    cells = [good] * 10_000
    cells[7_000] = bad
    (tmp_path / "a.csv").write_text("x\n" + "\n".join(cells) + "\n")
    problem = problem_of(x=spec)
    with pytest.raises(PeopleError) as caught:
        problem.read(read_table(tmp_path / "a.csv", problem.features))
    assert str(caught.value) == f"column 'x', row 7000: {message}"


def test_two_columns_of_one_name_in_a_file(tmp_path):
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress('\ufeff"income",age,income,,,age,income.1\n1,2,3,4,5,6,7\n'.encode()))
    with pytest.raises(PeopleError) as caught:
        read_table(path)
    assert str(caught.value) == f"{path}: the table has more than one column called 'income', 'age'"
    path.write_bytes(gzip.compress(b"income,income.1,,\n1,2,3,4\n"))
    assert list(read_table(path))[:2] == ["income", "income.1"]


def test_a_file_without_features_is_read_as_usual(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes("\ufeffage,job\n007,größe\n8,NA\n".encode())
    table = read_table(path)
    assert list(table) == ["age", "job"]
    assert table["age"].tolist() == [7, 8]
    assert table["job"].isna().tolist() == [False, True]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"", "the file is empty"),
        ("a.csv", b"\n\n", "the file is empty"),
        ("a.csv", bytes(range(256)), "cannot be read as a table"),
        ("a.csv", b"a,b\n1,2\n1,2,3\n", "cannot be read as a table"),
        ("a.csv", "größe\n".encode("latin-1"), "cannot be read as a table"),
        ("a.csv.gz", b"a,b\n1,2\n", "cannot be read as a table"),
        ("a.csv.gz", gzip.compress(b"a,b\n" + b"1,2\n" * 500, mtime=0)[:-15], "cannot be read as a table"),
        ("a.csv.gz", gzip.compress(bytes(range(256)) * 9, mtime=0)[:40] + b"x" * 99, "cannot be read as a table"),
        ("a.csv.xz", b"a,b\n1,2\n", "cannot be read as a table"),
        ("a.csv.bz2", b"a,b\n1,2\n", "cannot be read as a table"),
        ("a.csv.zip", b"a,b\n1,2\n", "cannot be read as a table"),
        ("a.csv.tar", b"a,b\n1,2\n", "cannot be read as a table"),
        ("a.parquet", b"a,b\n1,2\n", ""),
    ],
)
def test_files_that_are_no_tables(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(PeopleError) as caught:
        read_table(path, FEATURES)
    assert str(caught.value).startswith(f"{path}: {message}")
    assert "\n" not in str(caught.value)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(PeopleError, match="there is no such file"):
        read_table(tmp_path / "nowhere.csv")
    with pytest.raises(PeopleError, match="cannot be read as a table"):
        read_table(tmp_path)


def test_a_benchmark_table_through_a_file(tmp_path, benchmark_problem):
    table = worlds.random_people(benchmark_problem, 1, 30)
    path = tmp_path / "people.csv.gz"
    table.to_csv(path, index=False)
    people = benchmark_problem.read(read_table(path, benchmark_problem.features))
    np.testing.assert_array_equal(people.states, benchmark_problem.read(table).states)
