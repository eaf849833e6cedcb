"""Tables are cast to the dtypes that a model expects, and no value changes its meaning."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import strangers
from counterplan import BlackBox, ExactPlanner, ModelError, PeopleError, Plans, Problem, Recourse, SettingError
from counterplan.problem import read_table
from counterplan.problem.dtypes import frame_of, label_of, schema_of
from counterplan.problem.frames import as_dtypes
from counterplan.surrogate.fitting import FitSettings, fit

CODES = pd.CategoricalDtype([3, 1, 2])
JOBS = pd.CategoricalDtype(["clerk", "boss"], ordered=True)
REGION = pd.CategoricalDtype(["west"])
TEXT = pd.Series(["a"]).dtype


@pytest.mark.parametrize(
    ("column", "dtype", "values", "result"),
    [
        (["boss", "clerk", None], JOBS, ["boss", "clerk", None], JOBS),
        (pd.Categorical(["boss"]), JOBS, ["boss"], JOBS),
        (["1", "3"], CODES, [1, 3], CODES),
        ([1.0, math.nan], CODES, [1, None], CODES),
        (["1.0", "03"], CODES, [1, 3], CODES),
        (["true", "True"], pd.CategoricalDtype(["True", "true"]), ["true", "True"], None),
        (["True", "FALSE"], pd.CategoricalDtype([True, False]), [True, False], None),
        ([True, False], pd.CategoricalDtype(["True", "False"]), ["True", "False"], None),
        (pd.Categorical(["x"], ["x", "y"]), pd.CategoricalDtype(["y", "x"]), ["x"], None),
        (["1", "-2"], "int64", [1, -2], None),
        ([1.0, 2.0], "int32", [1, 2], None),
        ([True, False], "int8", [1, 0], None),
        (["1", None], "int64", [1.0, math.nan], "float64"),
        ([1.5, 2.0], "int64", [1.5, 2.0], "float64"),
        ([1000], "int8", [1000], "int64"),
        (["1", None], "Int64", [1, pd.NA], None),
        ([1, 2], "float32", [1.0, 2.0], None),
        (["1.5", None], "float64", [1.5, math.nan], None),
        ([True, "False", "2", None], "float64", [1.0, 0.0, 2.0, math.nan], None),
        (["True", "false"], "bool", [True, False], None),
        ([0, 1], "bool", [False, True], None),
        (["True", None], "bool", [True, None], "object"),
        (["True", None], "boolean", [True, pd.NA], None),
        ([1, 2.5], TEXT, ["1", "2.5"], None),
        ([True, False], TEXT, ["True", "False"], None),
        (["a", None], object, ["a", None], None),
        ([], "int64", [], None),
    ],
)
def test_a_column_is_cast(column, dtype, values, result) -> None:
    table = pd.DataFrame({"x": column, "y": range(len(column))})
    cast = as_dtypes(table, {"x": dtype, "z": "int64"})
    expected = pd.api.types.pandas_dtype(result or dtype)
    assert cast["x"].dtype == expected
    if isinstance(expected, pd.CategoricalDtype):
        assert cast["x"].cat.categories.tolist() == expected.categories.tolist()
    plain = [None if pd.isna(value) else value for value in values]
    assert [None if pd.isna(value) else value for value in cast["x"]] == plain
    assert list(cast.columns) == ["x", "y"]
    assert list(table["x"]) == list(pd.DataFrame({"x": column})["x"]) or table["x"].isna().any()


def test_a_table_that_has_the_dtypes_is_the_same_object() -> None:
    table = strangers.people()
    assert as_dtypes(table, table) is table
    assert as_dtypes(table, None) is table


@pytest.mark.parametrize(
    ("column", "dtype", "message"),
    [
        (
            ["bos"],
            JOBS,
            "column 'x' holds 'bos', which is not among the categories that the model knows; did you mean 'boss'",
        ),
        (["03"], pd.CategoricalDtype(["3"]), "column 'x' holds '03', which is not among the categories"),
        ([7], CODES, "column 'x' holds 7, which is not among the categories that the model knows; they are 3, 1, 2"),
        (["many"], "int64", "column 'x' holds 'many', but the model takes numbers"),
        (["many"], "float64", "column 'x' holds 'many', but the model takes numbers"),
        (["maybe"], "bool", "column 'x' holds 'maybe', but the model takes true or false"),
        ([2], "bool", "column 'x' holds 2, but the model takes true or false"),
        (["soon"], "datetime64[ns]", "column 'x' holds 'soon', but the model takes dates"),
    ],
)
def test_a_value_that_does_not_fit_is_named(column, dtype, message: str) -> None:
    with pytest.raises(PeopleError, match=message):
        as_dtypes(pd.DataFrame({"x": column}), {"x": dtype})


@pytest.mark.parametrize(("dtype", "value"), [("int64", 2.5), ("int64", True), ("Int64", 2.5)])
def test_stored_values_that_are_no_integers_are_refused(dtype: str, value: object) -> None:
    schema = schema_of(pd.DataFrame({"x": pd.Series([1], dtype=dtype)}))
    assert frame_of([[1]], schema)["x"].tolist() == [1]
    with pytest.raises(PeopleError, match=f"x.*{value!r} is not an integer"):
        frame_of([[value]], schema)


@pytest.mark.parametrize("dtypes", [{"x": "category"}, {"x": "unheard of"}, ["int64"]])
def test_dtypes_that_are_none(dtypes) -> None:
    with pytest.raises(SettingError, match="dtypes"):
        BlackBox(lambda people: [], dtypes=dtypes)


@pytest.fixture
def texts(tmp_path: Path) -> pd.DataFrame:
    """The people as a CSV, as a stranger's problem reads it: categories are texts."""
    strangers.people(20).to_csv(tmp_path / "people.csv", index=False)
    return read_table(tmp_path / "people.csv", strangers.problem().features)


def expected() -> Plans:
    return ExactPlanner(strangers.problem(), BlackBox(strangers.lightgbm_model())).plan(strangers.people(20))


def test_texts_become_the_categories_of_the_training_data(texts: pd.DataFrame) -> None:
    pytest.importorskip("lightgbm")
    problem, model, like = strangers.problem(), strangers.lightgbm_model(), strangers.table()
    with pytest.raises(ModelError, match=r"The columns region, job hold texts: .* pass them as dtypes=.*--like FILE"):
        ExactPlanner(problem, BlackBox(lambda people: model.predict(people))).plan(texts)
    right = [plan.actions for plan in expected()]
    assert any(right)
    for plans in (
        ExactPlanner(problem, BlackBox(model)).plan(texts),
        ExactPlanner(problem, BlackBox(model)).plan(problem.read(texts, dtypes=like)),
        ExactPlanner(problem, BlackBox(model)).plan(problem.read(problem.read(texts), like.dtypes.to_dict())),
        ExactPlanner(problem, BlackBox(model, dtypes=like)).plan(texts),
        Recourse(problem, model, dtypes=like.dtypes.to_dict()).recommend(texts, "exact"),
    ):
        assert [plan.actions for plan in plans] == right
        assert all(plan.replay(problem, BlackBox(model, dtypes=like)).ok for plan in plans)
    with pytest.raises(SettingError, match="dtypes of its own"):
        Recourse(problem, BlackBox(model), dtypes=like)


def test_a_saved_recourse_is_loaded_with_dtypes(tmp_path: Path, texts: pd.DataFrame) -> None:
    pytest.importorskip("lightgbm")
    problem, model, like = strangers.problem(), strangers.lightgbm_model(), strangers.table()

    def decide(people: pd.DataFrame) -> np.ndarray:
        return np.asarray(model.predict(people))

    answers = BlackBox(decide).favourable(problem, like.head(60))
    surrogate = fit(problem, problem.read(like.head(60)).states, answers, FitSettings(members=2, steps=20, trees=3))
    Recourse(problem, decide, surrogate=surrogate, dtypes=like).save(tmp_path)
    loaded = Recourse.load(tmp_path, decide, dtypes=like)
    assert [plan.actions for plan in loaded.recommend(texts, "exact")] == [plan.actions for plan in expected()]


def test_the_hint_about_dtypes_names_columns_that_hold_texts() -> None:
    class Picky:
        name, batch, classes, columns = "picky", 1000, None, ["job", "savings"]

        def labels(self, people: pd.DataFrame) -> np.ndarray:
            raise ModelError("could not convert string to float")

        def scores(self, people: pd.DataFrame, favourable: object) -> np.ndarray:
            raise NotImplementedError

    class Helpful(Picky):
        def labels(self, people: pd.DataFrame) -> np.ndarray:
            raise ModelError("unknown categories: give dtypes=")

    person = {"income": 5, "savings": None, "job": "clerk", "owner": False, "opened": "2015-01-01"}
    with pytest.raises(ModelError, match=r"The columns job hold texts"):
        BlackBox(Picky()).favourable(strangers.problem(), person)
    with pytest.raises(ModelError, match=r"give dtypes=$"):
        BlackBox(Helpful()).favourable(strangers.problem(), person)


class Knowing:
    """A model that knows its dtypes."""

    name, batch, classes = "knowing", 1000, None
    dtypes = strangers.table().dtypes.to_dict()

    def labels(self, people: pd.DataFrame) -> np.ndarray:
        assert people.dtypes.to_dict() == {name: self.dtypes[name] for name in people.columns}
        return strangers.lightgbm_model().predict(people)

    def scores(self, people: pd.DataFrame, favourable: object) -> np.ndarray:
        raise NotImplementedError


def test_a_model_may_know_its_dtypes(texts: pd.DataFrame) -> None:
    pytest.importorskip("lightgbm")
    problem = strangers.problem()
    plans = ExactPlanner(problem, BlackBox(Knowing())).plan(texts)
    assert [plan.actions for plan in plans] == [plan.actions for plan in expected()]
    box = BlackBox(Knowing(), dtypes={"region": pd.CategoricalDtype(["south", "west"])})
    with pytest.raises(PeopleError, match="column 'region' holds 'north', which is not among the categories"):
        ExactPlanner(problem, box).plan(texts)
    assert box.dtypes["job"] == strangers.JOBS


def test_a_model_may_accept_other_categories(texts: pd.DataFrame) -> None:
    class Open(Knowing):
        dtypes = Knowing.dtypes | {"region": pd.CategoricalDtype(["south"])}
        closed_categories = False

        def labels(self, people: pd.DataFrame) -> np.ndarray:
            assert people["region"].cat.categories[0] == "south"
            return (people["region"] == "north").astype(int).to_numpy()

    box = BlackBox(Open())
    north = [region == "north" for region in texts["region"]]
    assert box.favourable(strangers.problem(), texts).tolist() == north
    assert any(north)
    assert as_dtypes(texts, {"region": REGION}, closed=False)["region"].cat.categories.tolist() == [
        "west",
        "south",
        "north",
    ]


def test_like_on_the_command_line(run, folder: Path, texts: pd.DataFrame) -> None:
    pytest.importorskip("lightgbm")
    pytest.importorskip("pyarrow")
    strangers.table().to_parquet("train.parquet")
    strangers.people(20).to_csv("strangers.csv", index=False)
    Path("credit.json").write_text(json.dumps(strangers.PROBLEM))
    Path("model.py").write_text(
        "import strangers\nclassifier = strangers.lightgbm_model()\n"
        "def model(people):\n    return classifier.predict(people)\n"
    )
    words = ("recommend", "credit.json", "--people", "strangers.csv", "--model", "model:model", "--json", "plans.json")
    assert "--like FILE" in run(*words).err
    assert "expects a Parquet file" in run(*words, "--like", "strangers.csv").err
    assert run(*words, "--like", "train.parquet").code == 0
    plans = Plans.load("plans.json")
    assert [plan.actions for plan in plans] == [plan.actions for plan in expected()]
    problem, box = Problem.load("credit.json"), BlackBox("model:model", dtypes=pd.read_parquet("train.parquet"))
    assert all(plan.replay(problem, box).ok for plan in plans)


TYPED = Problem.from_dict(
    {
        "counterplan": 1,
        "name": "typed",
        "max_actions": 2,
        "outcome": {"column": "ok", "values": ["no", "yes"], "favourable": "yes"},
        "features": {
            "owner": {"kind": "category", "values": [False, True]},
            "grade": {"kind": "ordered", "values": [1, 2, 3], "missing": True},
        },
        "functions": {
            "BUY": {"set": "owner", "arguments": [True], "when": "owner == false", "cost": 1},
            "LEARN": {"set": "grade", "arguments": "all", "when": "argument != grade", "cost": 1},
        },
    }
)
NATIVES = pd.DataFrame({"owner": [True, False, True, False], "grade": [1, 3, 3, 1]})
SPELLED = NATIVES.astype(str)
LOWER = SPELLED.assign(owner=SPELLED["owner"].str.lower())


def decides(people: pd.DataFrame) -> np.ndarray:
    """A function that would take the text "False" for true."""
    return np.where(people["owner"].map(bool) & (people["grade"].map(lambda grade: grade == 3)), "yes", "no")


@pytest.mark.parametrize(
    "people",
    [NATIVES, SPELLED, LOWER, SPELLED.astype(object), SPELLED.to_dict("records")],
    ids=["natives", "texts", "lower", "objects", "dicts"],
)
def test_a_function_receives_the_booleans_and_ints_of_the_problem(people) -> None:
    box = BlackBox(decides)
    assert box.favourable(TYPED, people).tolist() == [False, False, True, False]
    plans = ExactPlanner(TYPED, box).plan(people)
    assert [plan.cost for plan in plans] == [1, 1, 0, 2]
    assert all(plan.replay(TYPED, BlackBox(decides)).ok for plan in plans)


def test_texts_of_which_some_are_missing_are_cast_too() -> None:
    people = SPELLED.assign(grade=["1", None, "3", None])
    assert BlackBox(decides).favourable(TYPED, people).tolist() == [False, False, True, False]


def test_texts_remain_texts_where_the_model_or_dtypes_say_so() -> None:
    def spells(people: pd.DataFrame) -> np.ndarray:
        return np.where((people["owner"] == "False") & (people["grade"] == "3"), "yes", "no")

    expected = [False, True, False, False]
    assert BlackBox(spells, dtypes=SPELLED).favourable(TYPED, SPELLED).tolist() == expected
    categories = SPELLED.astype("category")  # a type of its own, which is not changed
    assert BlackBox(spells).favourable(TYPED, categories).tolist() == expected
    assert not BlackBox(spells).favourable(TYPED, SPELLED).any()


@pytest.mark.parametrize("train", [SPELLED, LOWER, NATIVES], ids=["texts", "lower", "natives"])
def test_a_pipeline_receives_texts_if_it_encodes_texts(train: pd.DataFrame) -> None:
    encoder = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore"))
    columns = make_column_transformer((encoder, ["owner", "grade"]))
    model = make_pipeline(columns, DecisionTreeClassifier(random_state=0))
    model.fit(train.astype(object), ["no", "yes", "yes", "no"])
    people = SPELLED if train is NATIVES else train
    assert BlackBox(model).favourable(TYPED, people).tolist() == [False, True, True, False]


@pytest.mark.parametrize(
    ("described", "message"),
    [
        ("category", "'category' does not describe one"),
        ("nonsense", "'nonsense' does not describe one"),
        (None, "None does not describe one"),
        ([1], r"\[1\] does not describe one"),
        ({"object": "x"}, "{'object': 'x'} does not describe one"),
        ({"categories": ["b"]}, "{'categories': .* does not describe one"),
        ({"categories": ["b"], "of": "str", "ordered": False}, r"\['a'\] are no values of the dtype category"),
        ("int64", r"\['a'\] are no values of the dtype int64"),
    ],
)
def test_stored_dtypes_that_do_not_exist_or_fit_are_named(described: Any, message: str) -> None:
    with pytest.raises(PeopleError, match=f"^column 'x': its dtype cannot be restored: {message}$"):
        frame_of([["a"]], (("x", described),))


def test_labels_are_integers_or_texts() -> None:
    people = pd.MultiIndex.from_tuples([(1, "a", 2.5)])
    assert [label_of(name) for name in (np.int64(3), "3", True, 2.5, people[0])] == [
        3,
        "3",
        "True",
        "2.5",
        "(1, 'a', 2.5)",
    ]
    assert label_of((np.int64(1), np.str_("b"))) == "(1, 'b')"
