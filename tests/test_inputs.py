"""Names of problems, people and models, as users write them."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from counterplan import ModelError, PeopleError, Problem, Recourse, SettingError, benchmarks
from counterplan.inputs import folder_or_file, load_problem_file, resolve
from counterplan.program import Choice, Leaf, Program
from counterplan.storage.workspace import Origin
from loans import LOAN


@pytest.fixture
def learned(folder: Path) -> Path:
    """A folder with a program for the loan problem."""
    problem = Problem.load("loan.yaml")
    program = Program(problem, {"INTERVENE": Leaf((Choice(problem.transitions.stop),))})
    Recourse(problem, lambda people: ["no"] * len(people), program=program).save(folder / "learned")
    return folder / "learned"


def test_a_benchmark_brings_people_and_model() -> None:
    syn = benchmarks.load("syn", 3)
    inputs = resolve("syn", seed=3)
    assert inputs.origin == Origin("syn", 3)
    assert inputs.workspace is None
    pd.testing.assert_frame_equal(inputs.table, syn.refused_test)
    assert len(resolve("syn", split="train").table) == len(syn.train)
    assert inputs.box.favourable(inputs.problem, inputs.take(limit=5).people()).tolist() == [False] * 5
    mine = resolve("syn", people=syn.test.head(3), model=lambda people: ["granted"] * len(people))
    assert mine.origin == Origin(None, 0)
    assert mine.box.favourable(mine.problem, mine.people()).all()


def test_a_problem_file_needs_people_and_a_model(folder: Path) -> None:
    inputs = resolve("loan.yaml", "people.csv", "bank:decide")
    assert inputs.problem.name == "loan"
    assert inputs.box.favourable(inputs.problem, inputs.people()).tolist() == [False, False, True]
    table = pd.read_csv("people.csv")
    assert resolve("loan.yaml", table, "bank:decide").table is table
    with pytest.raises(SettingError, match="no people given"):
        resolve("loan.yaml")
    with pytest.raises(SettingError, match="no model given"):
        resolve("loan.yaml", "people.csv")
    without = resolve("loan.yaml", "people.csv", model_required=False)
    assert not without.has_model
    with pytest.raises(ModelError, match="there is no model to query"):
        without.box.favourable(without.problem, without.people())
    with pytest.raises(SettingError, match="'loans' is neither a problem file"):
        resolve("loans", "people.csv")


def test_a_black_box_by_name_is_used_as_it_is(folder: Path) -> None:
    code = "from counterplan import BlackBox\nfrom bank import score\nbox = BlackBox(score, threshold=0.3, budget=7)\n"
    (folder / "boxed.py").write_text(code)
    inputs = resolve("loan.yaml", "people.csv", "boxed:box")
    assert (inputs.box.threshold, inputs.box.budget) == (0.3, 7)
    assert inputs.box.favourable(inputs.problem, inputs.people()).tolist() == [False, True, True]
    assert resolve("loan.yaml", "people.csv", "boxed:box", threshold=0.3).box is inputs.box
    assert resolve("loan.yaml", "people.csv", inputs.box).box is inputs.box
    with pytest.raises(SettingError, match=r"boxed:box is a BlackBox, which has a threshold of its own \(0.3\)"):
        resolve("loan.yaml", "people.csv", "boxed:box", threshold=0.5)


def test_a_learned_folder_knows_its_problem(learned: Path) -> None:
    inputs = resolve("learned", "people.csv", "bank:decide")
    assert inputs.workspace is not None
    assert inputs.workspace.folder == Path("learned")
    assert inputs.problem.fingerprint == Problem.load("loan.yaml").fingerprint
    Path("other.yaml").write_text(LOAN.replace("cost: 2", "cost: 3"))
    other = resolve("learned", "people.csv", "bank:decide", problem="other.yaml")
    assert other.problem.fingerprint == Problem.load("other.yaml").fingerprint
    with pytest.raises(SettingError, match="is for use with a learned folder"):
        resolve("loan.yaml", "people.csv", "bank:decide", problem="other.yaml")


def test_a_fitted_benchmark_brings_people_and_model_too(tmp_path: Path) -> None:
    syn = benchmarks.load("syn", 2)
    program = Program(syn.problem, {"INTERVENE": Leaf((Choice(syn.problem.transitions.stop),))})
    recourse = Recourse(syn.problem, syn.model, program=program)
    recourse.save(tmp_path)
    assert recourse.workspace is not None
    recourse.workspace.save_origin(Origin("syn", 2))
    inputs = resolve(tmp_path, seed=7)
    pd.testing.assert_frame_equal(inputs.table, syn.refused_test)


def test_people_are_chosen_by_row_and_number(folder: Path) -> None:
    inputs = resolve("loan.yaml", "people.csv", "bank:decide")
    assert inputs.take([2, 0]).table["name"].tolist() == ["eve", "ann"]
    assert inputs.take([2, 0], 1).table["name"].tolist() == ["eve"]
    with pytest.raises(PeopleError, match="there is no person 3: the rows are 0 to 2"):
        inputs.take([3])
    with pytest.raises(PeopleError, match="there is nobody in the table"):
        inputs.take(limit=0).take([0])


def test_errors_name_the_file_of_the_people(folder: Path) -> None:
    Path("bad.csv").write_text("income,job\n1,clark\n")
    with pytest.raises(PeopleError, match=r"^bad\.csv: column 'job', row 0"):
        resolve("loan.yaml", "bad.csv", "bank:decide").people()


def test_a_program_is_not_a_problem(learned: Path) -> None:
    with pytest.raises(SettingError, match="this is a program, not a problem"):
        load_problem_file("learned/program.json")


def test_the_name_of_a_benchmark_is_the_benchmark(folder: Path) -> None:
    assert folder_or_file("learned") == Path("learned")
    with pytest.raises(SettingError, match="fit it first"):
        folder_or_file("german")
    Path("german").mkdir()
    with pytest.raises(SettingError, match=r"write \./german"):
        folder_or_file("german")
