"""The command `ask`: questions on a terminal, answers from a pipe, and how it ends."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from counterplan import Program
from counterplan.program import Choice, Leaf
from personal import ways

MODEL = """\
LEVELS = {"low": 0, "middle": 1, "high": 2}

def decide(people):
    with open("sent", "a") as file:
        file.write("." * len(people))
    rows = people[["savings", "job", "hours", "school"]].to_dict("records")
    return ["yes" if sum(LEVELS[value] for value in row.values()) >= 3 else "no" for row in rows]
"""
WORDS = ("ask", "ways.yaml", "--model", "ways_bank:decide", "--people", "people.csv", "--planner", "exact")


@pytest.fixture
def ask(run: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Runs the command with lines of input, in a folder with a problem, a model and people."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "ways_bank", raising=False)
    Path("ways.yaml").write_text(yaml.safe_dump(ways.PROBLEM, sort_keys=False))
    Path("ways_bank.py").write_text(MODEL)
    header = ",".join(ways.POOR)
    Path("people.csv").write_text("\n".join([header, *(",".join(one.values()) for one in (ways.POOR, ways.RICH))]))

    def asked(lines: str, *options: object, words: tuple[str, ...] = WORDS) -> Any:
        monkeypatch.setattr(sys, "stdin", io.StringIO(lines))
        return run(*words, *options)

    return asked


def test_asks_until_the_input_ends_and_shows_the_plan(ask: Callable[..., Any]) -> None:
    ran = ask("2\nc school\n1\n", "--person", 0, "--save", "answers.json")
    assert ran.code == 0
    assert "Question 1. Which would be easier for you?\n\n  1.  Change your " in ran.out
    assert "1, 2 or 3: this one   n: no difference   c NAME: I cannot do that" in ran.out
    assert "No plan has RAISE_SCHOOL from now on." in ran.out
    assert "would change that (effort" in ran.out
    assert "[RAISE_SCHOOL]" not in ran.out.partition("from now on")[2]
    assert ran.out.endswith("Saved to answers.json.\n")
    saved = json.loads(Path("answers.json").read_text())
    assert saved["cannot"] == ["RAISE_SCHOOL"]
    assert [answer["choice"] for answer in saved["answers"]][:2] == [1, 0]


def test_continues_where_it_was_left(ask: Callable[..., Any]) -> None:
    whole = ask("1\n2\n", "--person", 0)
    left = ask("1\nq\n", "--person", 0, "--save", "answers.json")
    assert left.out.endswith("Saved to answers.json; continue with --resume answers.json.\n")
    assert "would change that" not in left.out
    words = ("ask", "ways.yaml", "--model", "ways_bank:decide", "--resume", "answers.json")
    resumed = ask("2\n", words=words)
    assert resumed.code == 0
    assert "Person 0, continued after 1 answer." in resumed.out
    asked = whole.out.partition("Question 2.")[2].partition("\n\nThe answers were not saved")[0]
    assert asked
    assert resumed.out.partition("Question 2.")[2].startswith(asked)
    assert len(json.loads(Path("answers.json").read_text())["answers"]) == 2


def test_explains_what_may_be_answered(ask: Callable[..., Any]) -> None:
    ran = ask("\n7\nwhat?\n1 2\nc\nc zebra\nc raise\nc RAISE_JOBS\nn\nd\n", "--person", 0)
    assert ran.code == 0
    assert ran.out.partition("Question 2.")[0].count("n: no difference") == 5
    assert "What can you not do? Write c and one of these: RAISE_" in ran.out
    assert "There is no step zebra." in ran.out
    assert "There is no step RAISE_JOBS; did you mean 'RAISE_JOB'?" in ran.out
    assert "The answers were not saved: --save FILE does that." in ran.out


def test_an_interrupt_saves_the_answers(ask: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted(io.StringIO):
        def readline(self, *_: Any) -> str:
            line = super().readline()
            if not line:
                raise KeyboardInterrupt
            return line

    monkeypatch.setattr(io, "StringIO", Interrupted)
    ran = ask("1\n", "--person", 0, "--save", "answers.json")
    assert ran.code == 130
    assert "continue with --resume answers.json" in ran.out
    assert len(json.loads(Path("answers.json").read_text())["answers"]) == 1


def test_people_without_questions(ask: Callable[..., Any]) -> None:
    assert "already favourable: nothing needs to change" in ask("", "--person", 1).out
    assert "There is nothing" not in ask("", "--person", 0, "--questions", 0).out
    stuck = ask("c job\nc hours\nc savings\nc school\n", "--person", 0)
    assert stuck.code == 0
    assert "Enter: that is fine   c NAME: I cannot do that" in stuck.out
    assert "No plan within the rules changes that" in stuck.out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "name either a person, with --person ROW, or a file to continue, with --resume FILE"),
        (("--person", 0, "--resume", "answers.json"), "name either a person"),
        (("--person", 9), "there is no person 9"),
        (("--resume", "missing.json"), "missing.json: there is no such file"),
        (("--resume", "people.csv"), "people.csv: not JSON"),
        (("--person", 0, "--save", "no/such/answers.json"), "there is no folder"),
        (("--person", 0, "--planner", "policy"), "agent"),
    ],
)
def test_mistakes_are_messages(ask: Callable[..., Any], options: tuple[object, ...], message: str) -> None:
    ran = ask("1\n", *options)
    assert ran.code == 2
    assert message in ran.err
    assert "Question" not in ran.out


def test_answers_of_the_model_are_recorded_in_the_folder(ask: Callable[..., Any]) -> None:
    recourse = ways.recourse()
    stop = Leaf((Choice(recourse.problem.transitions.stop),))
    recourse.program_ = Program(recourse.problem, {"INTERVENE": stop})
    recourse.save("learned")
    words = ("ask", "learned", "--model", "ways_bank:decide", "--people", "people.csv", "--planner", "exact")
    first = ask("1\n", "--person", 0, words=words)
    sent = Path("sent").read_text()
    assert len(sent) > 10
    assert ask("1\n", "--person", 0, words=words).out == first.out
    assert Path("sent").read_text() == sent
