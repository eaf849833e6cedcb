"""People in every common form of a table give the same plans."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import strangers
from counterplan import BlackBox, ExactPlanner, PeopleError, Plans, Problem, Recourse
from counterplan.inputs import resolve

pa = pytest.importorskip("pyarrow")
pl = pytest.importorskip("polars")


def plain() -> pd.DataFrame:
    """People with numpy dtypes, without categoricals."""
    return strangers.people(12).reset_index(drop=True).astype({"job": object, "region": object})


def records() -> list[dict[str, Any]]:
    rows = plain().astype(object).to_dict("records")
    return [{name: None if pd.isna(value) else value for name, value in row.items()} for row in rows]


def decide(people: pd.DataFrame) -> np.ndarray:
    """Fails on values of other types than in a table of numpy dtypes."""
    assert type(people) is pd.DataFrame
    assert {type(bool(owner)) for owner in people["owner"]} == {bool}
    assert not any(isinstance(owner, str) for owner in people["owner"])
    rich = people["income"].to_numpy(float) + people["savings"].astype(float).fillna(0).to_numpy(float) >= 2500
    employed = people["job"].astype(object).isin(["manager", "clerk"]).to_numpy()
    return (rich & (employed | people["owner"].to_numpy(bool)) & (people["region"] != "west").to_numpy()).astype(int)


TABLES: dict[str, Callable[[], Any]] = {
    "numpy": plain,
    "nullable": lambda: plain().convert_dtypes(),
    "arrow dtypes": lambda: plain().convert_dtypes(dtype_backend="pyarrow"),
    "categoricals": lambda: strangers.people(12),
    "polars": lambda: pl.DataFrame(records()),
    "polars with enums": lambda: pl.DataFrame(records()).with_columns(
        job=pl.col("job").cast(pl.Enum(["none", "manager", "clerk"])), region=pl.col("region").cast(pl.Categorical)
    ),
    "Arrow": lambda: pa.Table.from_pylist(records()),
    "Arrow with dictionaries": lambda: pa.Table.from_pandas(strangers.people(12), preserve_index=False),
    "Arrow batch": lambda: pa.RecordBatch.from_pylist(records()),
    "dicts": records,
    "tuple of dicts": lambda: tuple(records()),
}


@pytest.fixture(scope="module")
def expected() -> Plans:
    plans = ExactPlanner(strangers.problem(), BlackBox(decide)).plan(plain())
    assert plans.counts["found"] > 5
    return plans


@pytest.mark.parametrize("form", TABLES)
def test_every_table_gives_the_same_plans(form: str, expected: Plans) -> None:
    problem, people = strangers.problem(), TABLES[form]()
    plans = ExactPlanner(problem, BlackBox(decide)).plan(people)
    assert [plan.actions for plan in plans] == [plan.actions for plan in expected]
    assert [plan.start for plan in plans] == [plan.start for plan in expected]
    assert plans.queries == expected.queries
    assert all(plan.replay(problem, BlackBox(decide)).ok for plan in plans)
    assert all(plan.replay(problem, BlackBox(decide)).ok for plan in Plans.from_json(plans.to_json()))


@pytest.mark.parametrize("form", ["categoricals", "polars with enums", "Arrow with dictionaries"])
def test_categoricals_of_every_table_are_those_of_lightgbm(form: str) -> None:
    pytest.importorskip("lightgbm")
    problem, model = strangers.problem(), strangers.lightgbm_model()
    plans = ExactPlanner(problem, BlackBox(model)).plan(TABLES[form]())
    right = ExactPlanner(problem, BlackBox(model)).plan(strangers.people(12))
    assert any(plan.actions for plan in right)
    assert [plan.actions for plan in plans] == [plan.actions for plan in right]
    assert all(plan.replay(problem, BlackBox(model)).ok for plan in plans)


def test_one_dict_is_one_person(expected: Plans) -> None:
    recourse = Recourse(strangers.problem(), decide)
    for row, person in enumerate(records()):
        assert recourse.recommend(person, "exact")[0].actions == expected[row].actions
    assert len(recourse.recommend([], "exact")) == 0
    assert recourse.box.favourable(recourse.problem, records()).shape == (12,)


def test_tables_are_resolved_like_files(tmp_path) -> None:
    (tmp_path / "credit.json").write_text(json.dumps(strangers.PROBLEM))
    inputs = resolve(tmp_path / "credit.json", pl.DataFrame(records()), decide)
    assert len(inputs.take(limit=3).people()) == 3


@pytest.mark.parametrize(
    ("people", "message"),
    [
        (3, "not as int"),
        (None, "not as NoneType"),
        ("people.csv", "not as str"),
        (pd.Series([1]), "not as Series"),
        ([1], "not as a list of int"),
        ({"income": [1, 2]}, "not as a dict of columns; pandas.DataFrame"),
        (pl.DataFrame({"income": [1]}).lazy(), "not as LazyFrame; collect it first"),
        (pl.DataFrame({"income": [1]}), "lacks the columns savings"),
    ],
)
def test_anything_else_is_refused(people: Any, message: str) -> None:
    with pytest.raises(PeopleError, match=message.replace("columns savings", "columns 'savings'")):
        strangers.problem().read(people)


def test_without_pyarrow_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def to_pandas(self: Any, **options: Any) -> None:
        raise ModuleNotFoundError("pyarrow is required")

    table = pl.DataFrame(records())
    monkeypatch.setattr(type(table), "to_pandas", to_pandas)
    with pytest.raises(PeopleError, match=r"DataFrame needs pyarrow: pip install 'counterplan\[parquet\]'"):
        strangers.problem().read(table)


def test_a_problem_reads_the_same_states(expected: Plans) -> None:
    problem: Problem = strangers.problem()
    for make in TABLES.values():
        np.testing.assert_array_equal(problem.read(make()).states, problem.read(plain()).states)
