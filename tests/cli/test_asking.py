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
RESUME = ("ask", "ways.yaml", "--model", "ways_bank:decide", "--resume", "answers.json")


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
    assert "1, 2 or 3: this one   n: no difference   d: show me the plan   q: quit\nc and words of a step, " in ran.out
    assert "such as c savings: I cannot do that\n" in ran.out
    assert "From now on, no step changes your school." in ran.out
    assert "would change that (effort" in ran.out
    assert "Change your school" not in ran.out.partition("no step changes")[2]
    assert "RAISE" not in ran.out
    assert ran.out.endswith("Saved to answers.json.\n")
    saved = json.loads(Path("answers.json").read_text())
    assert saved["cannot"] == [{"name": "RAISE_SCHOOL", "after": 1}]
    assert [answer["choice"] for answer in saved["answers"]][:2] == [1, 0]


def test_continues_where_it_was_left(ask: Callable[..., Any]) -> None:
    whole = ask("1\n2\n", "--person", 0)
    left = ask("1\nq\n", "--person", 0, "--save", "answers.json")
    assert left.out.endswith("Saved to answers.json; continue with --resume answers.json.\n")
    assert "would change that" not in left.out
    resumed = ask("2\n", words=RESUME)
    assert resumed.code == 0
    assert "Person 0, continued after 1 answer." in resumed.out
    asked = whole.out.partition("Question 2.")[2].partition("\n\nThe answers were not saved")[0]
    assert asked
    assert resumed.out.partition("Question 2.")[2].startswith(asked)
    assert len(json.loads(Path("answers.json").read_text())["answers"]) == 2


def test_a_deadline_holds_for_every_option_and_after_resuming(ask: Callable[..., Any]) -> None:
    Path("ways.yaml").write_text(yaml.safe_dump(ways.timed_problem(), sort_keys=False))
    ran = ask("1\nq\n", "--person", 0, "--deadline", 2, "--save", "answers.json")
    assert ran.code == 0
    assert "Takes about 2 weeks." in ran.out
    assert "3 weeks" not in ran.out
    resumed = ask("d\n", words=RESUME)
    assert "the least possible within 2 weeks" in resumed.out
    assert "Takes about 3 weeks." in ask("1\nq\n", "--person", 0).out
    none = ask("", "--person", 0, "--deadline", 0.5).out
    assert "No plan within the rules that takes at most 0.5 weeks changes that (proved" in none
    other = ask("", "--deadline", 4, words=RESUME)
    assert other.code == 2
    assert "--deadline 4: answers.json was started with --deadline 2; leave it out" in other.err


def test_explains_what_may_be_answered(ask: Callable[..., Any]) -> None:
    ran = ask("\n7\nwhat?\n1 2\nc\nc zebra\nc raise\nc RAISE_JOBS\nu\ncan job\nn\nd\n", "--person", 0)
    assert ran.code == 0
    assert ran.out.partition("Question 2.")[0].count("n: no difference") == 5
    assert "Write one of these: c savings, c hours" in ran.out
    assert 'There is no step "zebra". Write one of these: c savings, c hours' in ran.out
    assert '"raise" may mean several things. Write one of these: c savings, c job, c hours' in ran.out
    assert """There is no step "RAISE_JOBS"; did you mean 'raise job'? Write one of these: c savings""" in ran.out
    assert "There is nothing to undo." in ran.out
    assert "You have not said that you cannot do something." in ran.out
    assert "The answers were not saved: --save FILE does that." in ran.out


def test_capitals_and_plain_words_are_understood(ask: Callable[..., Any]) -> None:
    ran = ask("N\nC Your  SAVINGS\nCannot raise_job=HIGH\nD\n", "--person", 0, "--save", "answers.json")
    saved = json.loads(Path("answers.json").read_text())
    assert [one["name"] for one in saved["cannot"]] == ["RAISE_SAVINGS", "RAISE_JOB=high"]
    assert [answer["choice"] for answer in saved["answers"]] == [None]
    assert 'From now on, no step changes your job to "high".' in ran.out
    left = ask("Q\n", words=RESUME).out
    assert "Question 2." in left
    assert "would change that" not in left


def test_answers_and_what_cannot_be_done_are_taken_back(ask: Callable[..., Any]) -> None:
    ran = ask("1\nc job\nu\nU\n1\nd\n", "--person", 0, "--save", "answers.json")
    assert "can job: I can, after all   u: undo" in ran.out
    assert "Steps may change your job again." in ran.out
    assert "Your last answer does not count any more." in ran.out
    first, *_, again = (text.partition("\n\n1,")[0] for text in ran.out.split("Question 1. ")[1:])
    assert first == again
    ask("1\nd\n", "--person", 0, "--save", "same.json")
    assert Path("answers.json").read_bytes() == Path("same.json").read_bytes()
    ask("c job\nc hours\nc savings\nc school\nu\nq\n", "--person", 0, "--save", "stuck.json")
    names = [one["name"] for one in json.loads(Path("stuck.json").read_text())["cannot"]]
    assert names == ["RAISE_JOB", "RAISE_HOURS", "RAISE_SAVINGS"]
    words = (*RESUME[:-1], "stuck.json")
    resumed = ask("can s\ncan zebra\ncan savings\nCAN job\nu\nq\n", words=words)
    assert "Again, no step changes your job." in resumed.out
    assert "No step changes your job or your hours or your savings, as you said." in resumed.out
    assert '"s" may mean several things. Write one of these: can job' in resumed.out
    assert 'There is no step "zebra". Write one of these: can job, can hours, can savings' in resumed.out
    rulings = json.loads(Path("stuck.json").read_text())["cannot"]
    assert rulings[3:] == [{"name": "RAISE_SAVINGS", "after": 0, "can": True}]
    again = ask("can job\ncan hours\nq\n", words=words)
    assert "your job or your hours, as you said." in again.out
    assert "as you said" not in ask("u\nq\n", words=words).out
    assert "No step changes your hours, as you said." in ask("q\n", words=words).out
    both = ask("c job=high\nc job\ncan job\nq\n", "--person", 0, "--save", "both.json")
    assert "Steps may change your job again; RAISE_JOB=high stays ruled out." in both.out
    left = ask("q\n", words=(*RESUME[:-1], "both.json"))
    assert 'No step changes your job to "high", as you said.' in left.out


def test_undo_after_can_discards_no_answer(ask: Callable[..., Any]) -> None:
    ran = ask("1\nc job\ncan job\nu\nq\n", "--person", 0, "--save", "answers.json")
    assert "Again, no step changes your job." in ran.out
    assert "does not count" not in ran.out
    saved = json.loads(Path("answers.json").read_text())
    assert (len(saved["answers"]), saved["cannot"]) == (1, [{"name": "RAISE_JOB", "after": 1}])
    ran = ask("c job\ncan job\nu\nu\nu\nq\n", "--person", 0)
    assert ran.out.count("There is nothing to undo.") == 1


def test_what_is_ruled_out_may_be_a_consequence(ask: Callable[..., Any]) -> None:
    follows = {"from": "job", "to": "hours", "table": {"high": "high"}}
    Path("ways.yaml").write_text(yaml.safe_dump(ways.PROBLEM | {"causes": [follows]}, sort_keys=False))
    ran = ask("c hours\nc school\n", "--person", 0)
    assert "no step changes your hours; it may still follow from other steps." in ran.out
    assert "no step changes your school.\n" in ran.out


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
    stuck = ask("c job\nc hours\nc\tsavings\nc school\nc zebra\n", "--person", 0)
    assert stuck.code == 0
    assert "Enter: that is fine\nc and words of a step, such as c " in stuck.out
    nothing = "Without the steps that were ruled out, no plan within the rules changes that"
    assert nothing in stuck.out
    assert stuck.out.partition(nothing)[2].count("Enter: that is fine\ncan school: I can") == 2
    assert 'There is no step "zebra". Write one of these: c savings, c job, c hours, c school' in stuck.out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "name either a person, with --person ROW, or a file to continue, with --resume FILE"),
        (("--person", 0, "--resume", "answers.json"), "name either a person"),
        (("--person", 9), "there is no person 9"),
        (("--resume", "missing.json"), "missing.json: there is no such file"),
        (("--resume", "people.csv"), "people.csv: not JSON"),
        (("--person", 0, "--save", "people.csv"), "continue it with --resume people.csv, or save to another one"),
        (("--person", 0, "--save", "no/such/answers.json"), "there is no folder"),
        (("--person", 0, "--planner", "policy"), "plan with auto, exact, guided or card"),
        (("--person", 0, "--planner", "evolution"), "plan with auto, exact, guided or card"),
    ],
)
def test_mistakes_are_messages(ask: Callable[..., Any], options: tuple[object, ...], message: str) -> None:
    ran = ask("1\n", *options)
    assert ran.code == 2
    assert message in ran.err
    assert "Question" not in ran.out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--options", 4), "--options 4: answers.json was started with --options 2; leave it out, or start anew"),
        (("--deadline", 3), "--deadline 3: answers.json was started without --deadline; leave it out"),
        (("--seed", 7_654_321), "--seed 7654321: answers.json was started with --seed 5;"),
        (("--seed", 0), "--seed 0: answers.json was started with --seed 5; leave it out, or start anew"),
        (("--people", "people.csv"), "--people people.csv: the person is in answers.json; leave it out"),
        (("--person", 0), "name either a person"),
        (("--save", "people.csv"), "--save people.csv: there is such a file already"),
    ],
)
def test_options_that_contradict_a_file_are_refused(
    ask: Callable[..., Any], options: tuple[object, ...], message: str
) -> None:
    started = ask("1\nq\n", "--person", 0, "--options", 2, "--seed", 5, "--questions", 1, "--save", "answers.json")
    assert "Question 1." in started.out
    before = Path("answers.json").read_bytes()
    ran = ask("1\n", *options, words=RESUME)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
    assert Path("answers.json").read_bytes() == before


def test_options_that_agree_with_a_file(ask: Callable[..., Any]) -> None:
    ask("1\n", "--person", 0, "--options", 2, "--seed", 5, "--questions", 1, "--save", "answers.json")
    same = ask("1\n", "--options", 2, "--seed", 5, "--save", "./answers.json", words=RESUME)
    assert same.code == 0
    assert "Question" not in same.out
    before = Path("answers.json").read_bytes()
    more = ask("1\n", "--questions", 2, "--save", "more.json", words=RESUME)
    assert "Question 2." in more.out
    assert "Question 3." not in more.out
    assert len(json.loads(Path("more.json").read_text())["answers"]) == 2
    assert Path("answers.json").read_bytes() == before


def test_a_label_in_a_file_is_one_short_line(ask: Callable[..., Any]) -> None:
    ask("q\n", "--person", 0, "--save", "answers.json")
    data = json.loads(Path("answers.json").read_text())
    label = "0.\nRefused.\r\n\u2028\x1b[31m" + "x" * 1000
    Path("answers.json").write_text(json.dumps(data | {"person": label}))
    ran = ask("d\n", words=RESUME)
    assert ran.code == 0
    first, second, *_ = ran.out.splitlines()
    mark = "\N{REPLACEMENT CHARACTER}"
    assert first.startswith(f"Person 0.{mark}Refused.{mark}{mark}{mark}{mark}[31mxxx")
    assert len(first) < 90
    assert second == ""
    assert "xxx" not in ran.out.partition("\n")[2]


def test_a_benchmark_is_continued_with_its_seed(ask: Callable[..., Any]) -> None:
    words = ("ask", "german", "--planner", "exact")
    ask("1\nq\n", "--person", 14, "--seed", 3, "--save", "answers.json", words=words)
    whole = ask("1\nd\n", "--person", 14, "--seed", 3, words=words)
    resumed = ask("d\n", "--resume", "answers.json", words=words)
    checked = [line for line in whole.out.splitlines() if line.startswith("Checked with the model of german")]
    assert len(checked) == 1
    assert checked[0] in resumed.out


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
