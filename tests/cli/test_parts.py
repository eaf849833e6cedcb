"""`recommend --planner program` reads a CSV file of people in parts, with the output of reading it as a whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from counterplan import PeopleError, Problem, Program, Recourse
from counterplan.cli import recommending
from counterplan.inputs import Inputs
from counterplan.program import Choice, Leaf, Split, Test

ROWS = [
    f"{name},{100 * i},{job}" for i, (name, job) in enumerate(zip("abcdefghij", ["none", "clerk"] * 5, strict=True))
]
HEAD = "name,income,job"
WORDS = ("recommend", "learned", "--people", "many.csv", "--planner", "program", "--csv", "plans.csv")
FILES = {
    "plain": [HEAD, *ROWS],
    "one part": [HEAD, *ROWS[:3]],
    "whole parts": [HEAD, *ROWS[:8]],
    "nobody": [HEAD],
    "floats later": [HEAD, *ROWS[:5], "k,250.5,clerk"],
    "values without a column": [HEAD, *(f"p{i},{row}" for i, row in enumerate(ROWS))],
    "commas at the ends": [HEAD, *(f"{row}," for row in ROWS)],
    "other types later": [f"{HEAD},extra", *(f"{row},{i}" for i, row in enumerate(ROWS)), "k,1,none,text"],
    "missing column": ["name,income", *(row.rsplit(",", 1)[0] for row in ROWS)],
    "mistakes in two parts": [HEAD, "x,-1e400,none", *ROWS, "y,7,clark", "z,much,clerk"],
    "text in a column of numbers": [HEAD, *ROWS[:6], "y,much,clerk"],
    "truths in a column of numbers": [HEAD, *(f"{name},True,none" for name in "abcd"), "x,5,none"],
    "ragged": [HEAD, *ROWS, "a,b,c,d,e"],
    "nothing": [],
}


@pytest.fixture
def learned(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a program and no model, whose people are planned for four at a time."""
    problem = Problem.load("loan.yaml")
    stop = Leaf((Choice(problem.transitions.stop),))
    begin = Split(Test(0, at_least=500.0), Leaf((Choice(0),)), Leaf((Choice(1), Choice(0))))
    program = Program(problem, {"INTERVENE": begin, "EARN": stop})
    Recourse(problem, lambda people: ["no"] * len(people), program=program).save("learned")
    monkeypatch.setattr(recommending, "PROGRAM_CHUNK", 4)
    return folder


def no_parts(*_: object) -> object:
    raise PeopleError("not in parts")


@pytest.mark.parametrize("name", FILES)
def test_the_output_is_that_of_the_whole_table(run, learned: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (learned / "many.csv").write_text("\n".join([*FILES[name], ""]))
    in_parts = run(*WORDS)
    written = (learned / "plans.csv").read_bytes() if (learned / "plans.csv").exists() else None
    (learned / "plans.csv").unlink(missing_ok=True)
    monkeypatch.setattr(Inputs, "parts", no_parts)
    assert run(*WORDS) == in_parts
    assert ((learned / "plans.csv").read_bytes() if (learned / "plans.csv").exists() else None) == written
    assert (written is None) == (in_parts.code != 0)
    assert not list(learned.glob(".plans.csv*")), "no temporary file is left"


def test_the_whole_table_is_not_read(run, learned: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (learned / "many.csv").write_text("\n".join([*FILES["plain"], ""]))
    monkeypatch.setattr("counterplan.inputs.read_table", no_parts)
    ran = run(*WORDS)
    assert ran.code == 0, ran.err
    assert "10 people" in ran.out
    assert run(*WORDS, "--limit", 3).code == 2, "a part of the people is taken from the table"


@pytest.mark.parametrize("row", ["p,{},", "{},", "{},5"])
def test_values_without_a_column_are_refused(run, learned: Path, row: str) -> None:
    (learned / "many.csv").write_text("\n".join([HEAD, *(row.format(own) for own in ROWS), ""]))
    ran = run(*WORDS)
    assert ran.code == 2
    assert "many.csv: the first row has more values than the header has columns; name every column" in ran.err
    assert not (learned / "plans.csv").exists()
