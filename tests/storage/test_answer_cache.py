"""Answers that were paid for survive on disk, exactly."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import worlds
from counterplan import BlackBox, ExactPlanner, Problem, StorageError, benchmarks
from counterplan.storage.answer_cache import LabelledStates
from counterplan.storage.write_ahead import FILE as JOURNAL
from counterplan.storage.write_ahead import WriteAheadLog


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_what_is_kept_is_never_asked_again(tmp_path: Path, data: st.DataObject) -> None:
    problem = data.draw(worlds.problems())
    people = data.draw(worlds.people(problem))
    people["an extra"] = [f"x{i}" for i in range(len(people))]
    model = data.draw(worlds.black_boxes(problem))
    box = BlackBox(model)
    first = ExactPlanner(problem, box).plan(people)
    kept = LabelledStates.from_cache(box, problem)
    kept.save(tmp_path / "answers.csv.gz", problem)
    read = LabelledStates.load(tmp_path / "answers.csv.gz", problem)
    assert read.keys == kept.keys
    assert (read.favourable == kept.favourable).all()
    other = BlackBox(model)
    read.add_to_cache(other, problem)
    again = ExactPlanner(problem, other).plan(people)
    assert other.queries == 0
    assert [plan.actions for plan in again] == [plan.actions for plan in first]


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    benchmark = benchmarks.load("syn")
    box = BlackBox(benchmark.model)
    box.favourable(benchmark.problem, benchmark.test.head(20))
    path = tmp_path / "answers.csv.gz"
    LabelledStates.from_cache(box, benchmark.problem).save(path, benchmark.problem)
    return path


def test_anybody_can_read_the_file(kept: Path) -> None:
    table = pd.read_csv(kept, skiprows=1)
    benchmark = benchmarks.load("syn")
    assert list(table["job"]) == list(benchmark.test["job"].head(20))
    assert np.isin(table["counterplan: favourable"], [0, 1]).all()


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda raw: raw[: len(raw) // 2], "damaged"),
        (lambda raw: b"nothing", "not answers"),
        (lambda raw: gzip.compress(b"a,b\n1,2\n"), "not answers"),
        (lambda raw: gzip.compress(gzip.decompress(raw).replace(b'answers": 1', b'answers": 9')), "version 9"),
        (lambda raw: gzip.compress(gzip.decompress(raw).replace(b",1,", b",maybe,")), "damaged"),
    ],
)
def test_a_damaged_file_is_named(kept: Path, spoil, message: str) -> None:
    kept.write_bytes(spoil(kept.read_bytes()))
    with pytest.raises(StorageError, match=message) as error:
        LabelledStates.load(kept, benchmarks.load("syn").problem)
    assert str(kept) in str(error.value)


@pytest.mark.parametrize("where", ["header", "row"])
def test_a_small_file_with_millions_of_columns_is_refused(kept: Path, where: str) -> None:
    head, header, *rows = gzip.decompress(kept.read_bytes()).split(b"\n")
    if where == "header":
        header += b"," * 3_000_000
    else:
        rows[0] += b"," * 3_000_000
    kept.write_bytes(gzip.compress(b"\n".join([head, header, *rows])))
    with pytest.raises(StorageError, match=r"more columns than the problem|a line is longer than"):
        LabelledStates.load(kept, benchmarks.load("syn").problem)


def test_other_problems_and_missing_files_are_refused(kept: Path) -> None:
    with pytest.raises(StorageError, match="another problem"):
        LabelledStates.load(kept, benchmarks.load("german").problem)
    with pytest.raises(StorageError, match="no such file"):
        LabelledStates.load(kept.parent / "nothing.csv.gz", benchmarks.load("syn").problem)


def test_a_journal_that_breaks_off_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    benchmark = benchmarks.load("syn")
    box = BlackBox(benchmark.model)
    journal = WriteAheadLog(benchmark.problem, box.model_id, tmp_path)
    with box.recording(journal):
        box.favourable(benchmark.problem, benchmark.test.head(20))
        box.favourable(benchmark.problem, benchmark.test.head(40))
    journal.flush()
    path = tmp_path / JOURNAL
    whole = LabelledStates.load(path, benchmark.problem)
    assert whole.by_key == box.cached_answers(benchmark.problem)
    raw = path.read_bytes()
    path.write_bytes(raw[:-7])
    later = WriteAheadLog(benchmark.problem, box.model_id, tmp_path)
    left = later.recover()
    assert left is not None
    assert left.keys == whole.keys[:-1]
    for spoilt in (b"", raw[:10], raw[:10] + b"\n"):
        path.write_bytes(spoilt)
        assert WriteAheadLog(benchmark.problem, box.model_id, tmp_path).recover() is None
    path.write_bytes(raw)
    with pytest.raises(StorageError, match="holds answers of model of syn, not of another model"):
        WriteAheadLog(benchmark.problem, "another model", tmp_path).recover()
    with pytest.raises(StorageError, match="about another problem"):
        WriteAheadLog(benchmarks.load("german").problem, box.model_id, tmp_path).recover()
    assert path.read_bytes() == raw


def test_answers_are_about_features_and_outcome_whatever_can_be_done(tmp_path: Path) -> None:
    benchmark = benchmarks.load("syn")
    problem, data = benchmark.problem, benchmark.problem.to_dict()
    box = BlackBox(benchmark.model)
    box.favourable(problem, benchmark.test.head(20))
    LabelledStates.from_cache(box, problem).save(tmp_path / "answers.csv.gz", problem)
    dearer = Problem.from_dict(data | {"max_actions": 1, "functions": dict(list(data["functions"].items())[:1])})
    assert dearer.fingerprint != problem.fingerprint
    box.favourable(dearer, benchmark.test.head(20))
    assert box.queries == 20, "nothing new"
    assert len(LabelledStates.load(tmp_path / "answers.csv.gz", dearer)) == 20
    names = list(data["features"])
    features = {name: data["features"][name] for name in [*names[1:], names[0]]}
    with pytest.raises(StorageError, match="its features or its outcome differ"):
        LabelledStates.load(tmp_path / "answers.csv.gz", Problem.from_dict(data | {"features": features}))
