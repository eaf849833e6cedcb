"""Plans as tables: DataFrame, CSV, Arrow and Parquet."""

from __future__ import annotations

import builtins
import csv
import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import worlds
from counterplan import BlackBox, Check, ExactPlanner, Plan, Plans, Reason, Robustness, SettingError, Status, Step
from counterplan.benchmarks import Benchmark
from counterplan.plans import tables
from counterplan.problem.values import visible


def test_a_frame_has_a_row_for_each_step(plans: Plans, longest: Plan) -> None:
    frame = plans.to_frame()
    assert len(frame) == sum(max(1, len(plan.steps)) for plan in plans)
    steps = frame[frame["person"] == longest.person]
    assert steps["step"].tolist() == list(range(1, len(longest.steps) + 1))
    assert steps["cost"].sum() == pytest.approx(longest.cost)
    assert steps["total_cost"].nunique() == 1
    assert frame[frame["status"] == "already_favourable"]["step"].eq(0).all()
    assert Plans(()).to_frame().columns.tolist() == frame.columns.tolist()


def robustness_of(plan: Plan) -> dict[str, object]:
    """The columns about retrained models and the check."""
    known = plan.robustness or Robustness()
    row: dict[str, object] = {
        "survival": known.survival,
        "survival_source": known.basis.source if known.basis else "",
        "survival_at_least": known.basis.at_least if known.basis else None,
        "survival_proved": known.proved,
        "cheapest_cost": known.cheapest_cost,
        "cheapest_survival": known.cheapest_survival,
        "cheapest_verified": known.cheapest_verified,
        "held": known.held,
        "judged": known.judged,
    }
    row = {name: np.nan if value is None else value for name, value in row.items()}
    check = plan.check or Check("", "", "2000-01-01")
    return row | {
        "model": check.model,
        "fingerprint": check.fingerprint,
        "checked_on": check.date if plan.check else "",
    }


def rows_of(plans: Plans, dtype: type | None = None) -> pd.DataFrame:
    """The table, row by row from the objects."""
    rows = []
    for plan in plans:
        head = {
            "person": plan.person,
            "status": plan.status.value,
            "total_cost": plan.cost if plan.steps else np.nan,
            "verified": plan.verified,
            "optimal": plan.optimal,
            "lower_bound": np.nan if plan.lower_bound is None else plan.lower_bound,
            "questions": plan.queries,
            "options": " | ".join(
                f"{option.text} (effort {option.cost:.1f}, {option.points} points; "
                f"{'checked with the model' if option.checked else 'likely, not checked'})"
                for option in plan.options
            ),
            "caution": plan.caution,
            **robustness_of(plan),
            "total_duration": plan.duration if plan.steps else np.nan,
            "time_unit": plan.time_unit,
            "deadline": np.nan if plan.deadline is None else plan.deadline,
        }
        for number, step in enumerate(plan.steps, 1):
            source = step.because.source if step.because else None
            points = step.because.points if step.because else None
            words = {"text": step.text, "reason": step.reason, "source": source}
            words["points"] = np.nan if points is None else float(points)
            place = {"step": number, "function": step.function, "argument": step.argument, "cost": step.cost}
            times = {"start": step.start, "duration": step.duration}
            rows.append(head | place | words | times)
        if not plan.steps:
            rows.append(head | {"step": 0})
    columns = ["person", "status", "total_cost", "verified", "optimal", "lower_bound", "questions", "step", "function"]
    columns += ["argument", "cost", "text", "reason", "source", "points", "options", "caution"]
    columns += robustness_of(Plan(1, Status.NOT_FOUND, {}))
    if any(plan.time_unit for plan in plans):
        columns += ["total_duration", "start", "duration", "time_unit", "deadline"]
    return pd.DataFrame(rows, columns=columns, dtype=dtype)


@settings(max_examples=12)
@given(st.data())
def test_tables_are_made_from_columns_as_from_objects(data: st.DataObject) -> None:
    problem = data.draw(worlds.problems())
    plans = ExactPlanner(problem, data.draw(worlds.black_boxes(problem))).plan(data.draw(worlds.people(problem)))
    for one in (plans, Plans(plans.plans)):
        expected = rows_of(one)
        pd.testing.assert_frame_equal(one.to_frame(), expected, check_dtype=bool(len(plans)))
        as_written = rows_of(one, object)
        assert one.to_csv() == as_written.to_csv(index=False)
        assert one.to_csv(header=False) == as_written.to_csv(index=False, header=False)


def test_an_argument_is_written_the_same_in_every_part_of_a_file(longest: Plan) -> None:
    """Whether somebody has no steps, so that a DataFrame would hold floats, depends on the chunk of a stream."""
    steps = tuple(replace(longest.steps[0], argument=argument) for argument in (20, 2.5, 3.0))
    found = Plans((replace(longest, steps=steps),))
    without = Plans((replace(longest, status=Status.NOT_FOUND, steps=()),))
    whole = (found + without).to_csv()
    assert whole == found.to_csv() + without.to_csv(header=False)
    assert [row["argument"] for row in cells(whole)] == ["20", "2.5", "3.0", ""]


HOSTILE = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", '=HYPERLINK("http://x","y")']


def cells(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


@pytest.mark.parametrize("text", HOSTILE)
def test_no_cell_is_a_formula(text: str) -> None:
    step = Step(text, text, 1.0, text, {}, {}, text, Reason("rule"))
    plans = Plans((Plan(text, Status.FOUND, {}, (step,), caution=text),))
    (row,) = cells(plans.to_csv())
    for column in ("person", "function", "argument", "text", "reason", "caution"):
        assert row[column] == visible(f"'{text}")
    assert plans.to_frame()["text"].tolist() == [text], "only spreadsheets need the mark"


def test_control_characters_of_labels_are_visible(longest: Plan) -> None:
    plans = Plans((replace(longest, person="a\x1b[2Jb\u202ec"), replace(longest, person="d\re")))
    for text in (plans.to_csv(), plans.to_text()):
        assert "a\ufffd[2Jb\ufffdc" in text
        assert "d\ufffde" in text
        assert not {"\x1b", "\u202e", "\r"} & {*text}


def test_numbers_stay_numbers(longest: Plan) -> None:
    steps = (replace(longest.steps[0], argument=-5000, cost=-1.5), replace(longest.steps[0], argument="-5000"))
    first, second = cells(Plans((replace(longest, steps=steps),)).to_csv())
    assert (first["argument"], first["cost"]) == ("-5000", "-1.5")
    assert second["argument"] == "'-5000", "this one is text"


def test_arrow(plans: Plans) -> None:
    pa = pytest.importorskip("pyarrow")
    table, frame = plans.to_arrow(), plans.to_frame()
    assert table.column_names == frame.columns.tolist()
    assert table.schema.field("person").type == pa.int64()
    assert table.schema.field("argument").type == pa.string()
    assert table["person"].to_pylist() == frame["person"].tolist()
    assert table["text"].to_pylist() == [None if pd.isna(text) else text for text in frame["text"]]
    assert table["total_cost"].null_count == frame["total_cost"].isna().sum() > 0
    assert Plans.from_json(plans.to_json()).to_arrow().equals(table), "from objects as from columns"
    assert Plans(()).to_arrow().num_rows == 0
    named = Plans((replace(plans[0], person="ann"), plans[1])).to_arrow()
    assert named["person"].to_pylist() == ["ann", str(plans[1].person)]


def test_save_by_extension(plans: Plans, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    for name in ("plans.json", "plans.csv", "plans.parquet", "plans.html", "PLANS.JSON"):
        plans.save(tmp_path / name)
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600, "plans are personal data"
    assert (tmp_path / "plans.json").read_text() == plans.to_json()
    assert (tmp_path / "plans.csv").read_text() == plans.to_csv()
    assert (tmp_path / "plans.html").read_text() == plans.to_html()
    read = pd.read_parquet(tmp_path / "plans.parquet")
    assert read["cost"].sum() == pytest.approx(plans.to_frame()["cost"].sum())
    assert len(list(tmp_path.iterdir())) == 5, "no temporary file is left"
    for wrong in ("plans.txt", "plans", "plans.json.gz"):
        with pytest.raises(SettingError, match=r"\.json, \.csv, \.parquet, \.html"):
            plans.save(tmp_path / wrong)


def test_without_pyarrow_the_extra_is_named(plans: Plans, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = builtins.__import__

    def without_pyarrow(name: str, *more: object, **options: object) -> object:
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return original(name, *more, **options)

    expected = plans.to_csv()
    monkeypatch.setattr(builtins, "__import__", without_pyarrow)
    for act in (plans.to_arrow, lambda: plans.save(tmp_path / "plans.parquet")):
        with pytest.raises(SettingError, match=r"pip install 'counterplan\[parquet\]'"):
            act()
    assert not list(tmp_path.iterdir())
    assert plans.to_csv() == expected


def test_many_people_share_the_words(german: Benchmark, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each distinct change is put into words once, however many people make it."""
    people = pd.concat([german.refused_test.head(10)] * 20, ignore_index=True)
    plans = ExactPlanner(german.problem, BlackBox(german.model)).plan(people)
    transitions = type(german.problem.transitions)
    calls = []
    describe = transitions.describe_step
    monkeypatch.setattr(transitions, "describe_step", lambda *arguments: (calls.append(1), describe(*arguments))[1])
    frame = plans.to_frame()
    assert len(calls) == frame["text"].nunique() < len(frame) / 10


def test_equal_rows_are_written_once(german: Benchmark, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each distinct cell of a CSV file is formatted once, however many people share it."""
    people = pd.concat([german.refused_test.head(10)] * 20, ignore_index=True)
    plans = ExactPlanner(german.problem, BlackBox(german.model)).plan(people)
    calls = []
    cell = tables.cell
    monkeypatch.setattr(tables, "cell", lambda value: (calls.append(value), cell(value))[1])
    text = plans.to_csv()
    assert len(calls) < len(text.splitlines())
    rows = [line.partition(",")[2] for line in text.splitlines()[1:]]
    assert rows == rows[: len(rows) // 20] * 20
