"""The command line, as a user types it: what it prints, what it writes, and how it refuses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pytest

import worlds
from counterplan import Answers, ExactPlanner, PlanError, Plans, Problem, Program, Recourse, benchmarks
from counterplan.cli import main, recommending
from counterplan.program import Choice, Leaf

LOAN = """\
counterplan: 1
name: loan
outcome: {column: decision, values: [yes, no], favourable: yes}
max_actions: 2
features:
  income: {kind: number, unit: €, bins: auto}
  job: {kind: ordered, values: [none, clerk, manager]}
functions:
  EARN: {add: income, arguments: [500, 1000], cost: {base: 1, surcharge: [0, 0.5]}, phrase: "Earn {amount} more"}
  WORK: {set: job, arguments: all, when: argument > job, cost: 2}
"""
MODEL = """\
def decide(people):
    return ["yes" if row.income >= 2000 and row.job != "none" else "no" for row in people.itertuples()]

def score(people):
    return (people["income"] / 4000).to_list()
"""
PEOPLE = "name,income,job,decision\nann,1000,clerk,no\nbob,1600,none,no\neve,9000,manager,yes\n"


class Ran(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    def ran(*words: object) -> Ran:
        monkeypatch.setattr(sys, "argv", ["counterplan", *map(str, words)])
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 1
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return Ran(code, captured.out, captured.err)

    return ran


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "bank", raising=False)
    (tmp_path / "loan.yaml").write_text(LOAN)
    (tmp_path / "bank.py").write_text(MODEL)
    (tmp_path / "people.csv").write_text(PEOPLE)
    return tmp_path


def test_recommends_for_ones_own_problem(run, folder: Path) -> None:
    words = ("recommend", "loan.yaml", "--people", "people.csv", "--model", "bank:decide")
    ran = run(*words, "--json", "plans.json", "--csv", "plans.csv")
    assert ran.code == 0
    assert "1. Earn 1,000 € more    effort 1.5" in ran.out
    assert "Change job to clerk" in ran.out
    assert "3 people: 2 found, 1 already favourable." in ran.out
    plans = Plans.from_json((folder / "plans.json").read_text())
    assert [plan.cost for plan in plans] == [1.5, 3.0, 0]
    assert dict(plans[0].row)["name"] == "ann"
    table = pd.read_csv(folder / "plans.csv")
    assert table["function"].tolist()[:3] == ["EARN", "EARN", "WORK"]
    forbidden = run(*words, "--person", "1", "--forbid", "WORK")
    assert "No plan within the rules" in forbidden.out
    single = run(*words, "--forbid", "EARN=1000", "--limit", 1, "--json", "-")
    assert json.loads(single.out)["plans"][0]["steps"][1]["argument"] == 500
    spent = run(*words, "--person", "0", "--budget", "1", "--csv", "-")
    assert "not_found" in spent.out
    scored = run("recommend", "loan.yaml", "--people", "people.csv", "--model", "bank:score", "--threshold", 0.5)
    assert "3 people: 2 found, 1 already favourable." in scored.out


def test_recommends_for_a_benchmark(run) -> None:
    ran = run("recommend", "german", "--planner", "exact", "--person", "0")
    assert ran.code == 0
    assert ran.out.startswith("Person 0\nRefused.")
    benchmark = benchmarks.load("german")
    plan = ExactPlanner(benchmark.problem, benchmark.model).plan(benchmark.refused_test.head(1))[0]
    assert str(plan) in ran.out
    many = run("recommend", "german")
    assert many.out.count("Person ") == recommending.MOST_PRINTED
    assert "… and " in many.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("recommend germn", "did you mean 'german'"),
        ("recommend nothing.yaml", "nothing.yaml: there is no such file"),
        ("recommend german --planner magic", "there is no planner 'magic'"),
        ("recommend german --planner search", "needs an agent"),
        ("recommend german --planner guided", "needs a surrogate"),
        ("recommend german --planner program", "needs a program"),
        ("distil german", "'german' is not a folder that 'counterplan fit' wrote"),
        ("distil .", "is . what 'counterplan fit' wrote"),
        ("show .", "program.json: there is no program yet; make one with 'counterplan distil .'"),
        ("show german", "'german' is a benchmark; fit it first"),
        ("show nothing.json", "nothing.json: there is no such file"),
        ("show people.csv", "people.csv: not JSON"),
        ("export . --to page.html", "there is no program yet"),
        ("export loan.yaml", "Missing option '--to'"),
        ("recommend . ", "is . what 'counterplan fit' wrote"),
        ("fit loan.yaml --out learned", "--people FILE"),
        ("fit german --out bank.py --budget 20", "cannot be made a folder"),
        ("fit german --out german", "that is a benchmark's name"),
        ("fit german --out learned --preset papr", "there is no preset 'papr'"),
        ("fit german --out learned --method guide", "there is no method 'guide'; did you mean 'guided'"),
        ("fit german --out learned --method guided --preset paper", "these settings are not for the method 'guided'"),
        ("fit german --out learned --answers nothing.csv.gz", "nothing.csv.gz: there is no such file"),
        ("fit german --out learned --answers people.csv", "people.csv: these are not answers of counterplan"),
        ("recommend german --person 5000", "there is no person 5000"),
        ("recommend german --forbid FLY", "cannot forbid 'FLY'"),
        ("recommend german --people nobody.csv", "nobody.csv: there is no such file"),
        ("recommend german --people people.csv", "people.csv: the table lacks the columns"),
        ("recommend german --model nothing", "'nothing' is not a model"),
        ("recommend german --json nowhere/plans.json", "there is no folder nowhere"),
        ("recommend german --json both --csv both", "cannot both go to both"),
        ("recommend loan.yaml --people empty.csv --model bank:decide --person 0", "there is nobody in the table"),
        ("recommend german --limit 0", "greater than or equal to 1"),
        ("recommend loan.yaml", "--people FILE"),
        ("recommend loan.yaml --people people.csv", "--model MODULE:ATTR"),
        ("recommend loan.yaml --people people.csv --model bank:nothing", "has no attribute 'nothing'"),
        ("recommend loan.yaml --people people.csv --model bank:score", "set a threshold"),
        ("recommend broken.yaml --people people.csv --model bank:decide", "broken.yaml:7: features.job.kind"),
        ("recommend loan.yaml --people bad.csv --model bank:decide", "bad.csv: column 'job', row 1: 'clark'"),
        ("init people.csv --outcome decison", "did you mean 'decision'"),
        ("init people.csv --outcome decision --out loan.yaml", "loan.yaml: is already there"),
        ("check broken.yaml", "broken.yaml:7: features.job.kind"),
        ("check nothing.yaml", "there is no such file"),
        ("benchmarks syn german2", "there is no benchmark 'german2'"),
        ("fly", "No such command"),
    ],
)
def test_refuses_with_a_message_and_code_2(run, folder: Path, words: str, message: str) -> None:
    (folder / "broken.yaml").write_text(LOAN.replace("ordered", "sorted"))
    (folder / "empty.csv").write_text(PEOPLE.splitlines()[0] + "\n")
    (folder / "bad.csv").write_text(PEOPLE.replace("none", "clark"))
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    ran = run(*words.split())
    assert ran.code == 2
    assert message in " ".join(ran.err.split()) or message in ran.err
    after = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    assert after == before, "nothing is lost or half-written"


def test_checks(run, folder: Path) -> None:
    assert "5 actions; 0 warnings" in run("check", "loan.yaml").out
    (folder / "loan.yaml").write_text(LOAN.replace("arguments: all", "arguments: [none, clerk, manager]"))
    fine = run("check", "loan.yaml")
    assert fine.code == 0
    assert "loan.yaml: fine: 2 features, 2 functions, 5 actions; 1 warning" in fine.out
    assert "loan.yaml:10: functions.WORK.arguments: can never be legal for none" in fine.out
    broken = LOAN.replace("argument > job", "argument > jb").replace("kind: number", "kind: numbr")
    (folder / "broken.yaml").write_text(broken)
    ran = run("check", "broken.yaml", "--json")
    assert ran.code == 2
    told = json.loads(ran.out)
    assert [finding["line"] for finding in told["findings"] if finding["severity"] == "error"] == [6, 10]
    assert told["findings"][0]["place"] == ["features", "income", "kind"]
    for name in benchmarks.NAMES:
        assert run("check", worlds.benchmark_file(name)).code == 0


def test_starts_a_problem_file(run, folder: Path) -> None:
    ran = run("init", "people.csv", "--outcome", "decision")
    assert ran.code == 0
    assert "counterplan check people.yaml" in ran.out
    assert run("check", "people.yaml").code == 0
    assert run("init", "people.csv", "--outcome", "decision").code == 2
    assert run("init", "people.csv", "--outcome", "decision", "--force").code == 0


def test_prints_the_schema(run, folder: Path) -> None:
    schema = json.loads(run("schema").out)
    assert {"features", "functions", "causes", "outcome"} <= set(schema["properties"])
    run("schema", "--out", "schema.json")
    assert json.loads((folder / "schema.json").read_text()) == schema


def test_describes_benchmarks(run) -> None:
    rows = json.loads(run("benchmarks", "syn", "--people", 5, "--json").out)
    assert rows[0]["binary_features"] == 40
    assert rows[0]["refused"] == 5
    assert "binary features" in run("benchmarks", "syn", "--people", 5).out


def test_fits_and_recommends_from_what_was_learned(run, folder: Path) -> None:
    ran = run("fit", "german", "--out", "learned", "--budget", "600")
    assert ran.code == 0, ran.err
    assert "of validation people have a plan" in ran.out
    assert "counterplan recommend learned" in ran.out
    kept = {path.name for path in (folder / "learned").iterdir()}
    assert {"surrogate.safetensors", "surrogate.json", "problem.json", "answers.csv.gz", "learning.jsonl"} <= kept
    assert {"learning.png", "reliability.png"} <= kept
    assert not {"agent.json", "training.png"} & kept
    plans = json.loads(run("recommend", "learned", "--limit", 3, "--json", "-").out)["plans"]
    assert len(plans) == 3
    again = run("fit", "german", "--out", "learned", "--budget", "600", "--resume")
    assert again.code == 0
    assert again.out.splitlines()[0] == ran.out.splitlines()[0]
    other = run("fit", "german", "--out", "learned", "--budget", "600", "--resume", "--seed", "3")
    assert other.code == 2
    assert "holds answers of model of german" in other.err
    assert "start again with --force" in other.err
    assert "Interrupted" not in other.out
    again = run("fit", "german", "--out", "learned", "--budget", "600")
    assert again.code == 2
    assert "start again with --force (--answers learned/answers.csv.gz keeps" in again.err
    (folder / "learned" / "surrogate.safetensors").write_bytes(b"")
    broken = run("recommend", "learned", "--limit", 3)
    assert broken.code == 2
    assert "damaged or changed" in broken.err


def test_fits_an_agent_in_place_of_a_surrogate_or_beside_it(run, folder: Path) -> None:
    assert run("fit", "german", "--out", "learned", "--budget", "100").code == 0
    beside = run("fit", "german", "--out", "learned", "--method", "search", "--budget", "100", "--resume")
    assert beside.code == 0, beside.err
    assert "by search" in beside.out
    kept = {path.name for path in (folder / "learned").iterdir()}
    assert {"surrogate.json", "agent.json", "training.png", "metrics.jsonl"} <= kept
    for planner in ("search", "guided", "cascade"):
        assert "3 people" in run("recommend", "learned", "--limit", 3, "--planner", planner, "--refused").out
    before = {path.name: path.read_bytes() for path in (folder / "learned").iterdir()}
    assert run("fit", "german", "--out", "learned", "--method", "serch", "--force").code == 2
    assert {path.name: path.read_bytes() for path in (folder / "learned").iterdir()} == before
    instead = run("fit", "german", "--out", "learned", "--budget", "60", "--force")
    assert instead.code == 0, instead.err
    kept = {path.name for path in (folder / "learned").iterdir()}
    assert not {"agent.json", "agent.safetensors", "training.png", "training.npz"} & kept
    assert "needs an agent" in run("recommend", "learned", "--planner", "search").err


def test_fits_both_within_one_budget(run, folder: Path) -> None:
    ran = run("fit", "german", "--out", "learned", "--method", "both", "--budget", "200")
    assert ran.code == 2
    assert "raise it to train an agent too" in ran.err
    assert "3 people" in run("recommend", "learned", "--limit", 3).out, "the surrogate is kept"


def test_no_question_is_paid_for_twice(run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments):
        raise PlanError("the disk is full")

    run("fit", "german", "--out", "learned", "--budget", "400")
    answers = folder / "learned" / "answers.csv.gz"
    learned = answers.read_bytes()
    first = run("recommend", "learned", "--limit", 5)
    assert answers.read_bytes() != learned
    again = run("recommend", "learned", "--limit", 5)
    assert "5 people: 5 found. 0 questions asked" in again.out
    assert first.out.splitlines()[:-1] == again.out.splitlines()[:-1]
    kept = answers.read_bytes()
    run("recommend", "learned", "--limit", 5, "--budget", 0)
    assert answers.read_bytes() == kept
    afresh = run("recommend", "learned", "--limit", 5, "--ask-again")
    assert " 0 questions asked" not in afresh.out.splitlines()[-1]
    assert len(answers.read_bytes()) < len(kept)
    reused = run("fit", "german", "--out", "other", "--budget", "400", "--answers", "learned/answers.csv.gz")
    assert reused.code == 0, reused.err
    forced = run("fit", "german", "--out", "other", "--force", "--budget", "50", "--answers", "other/answers.csv.gz")
    assert forced.code == 0, forced.err
    monkeypatch.setattr(Answers, "save", refuse)
    unkept = run("recommend", "learned", "--limit", 9)
    assert unkept.code == 0
    assert "9 people" in unkept.out
    assert "The answers could not be kept: the disk is full" in unkept.err
    answers.write_bytes(b"broken")
    broken = run("recommend", "learned", "--limit", 5)
    assert broken.code == 2
    assert "nothing is lost but what its answers cost" in broken.err
    assert run("recommend", "learned", "--limit", 5, "--ask-again").code == 0


def test_another_models_answers_stay_as_they_are(run, folder: Path) -> None:
    (folder / "bank.py").write_text(MODEL + "\ndef lenient(people):\n    return ['yes'] * len(people)\n")
    words = ("--people", "people.csv", "--model")
    assert run("fit", "loan.yaml", *words, "bank:decide", "--out", "learned").code == 0
    answers = folder / "learned" / "answers.csv.gz"
    kept = answers.read_bytes()
    other = run("recommend", "learned", *words, "bank:lenient")
    assert "3 people: 3 already favourable" in other.out
    assert "--ask-again replaces them" in other.err
    assert len(other.err.splitlines()) == 1
    assert answers.read_bytes() == kept
    (folder / "loan.yaml").write_text(LOAN.replace("cost: 2", "cost: 3"))
    changed = run("fit", "loan.yaml", *words, "bank:decide", "--out", "learned", "--resume")
    assert changed.code == 2
    assert "was fitted to another problem" in changed.err
    (folder / "loan.yaml").write_text(LOAN)
    assert "nobody among" in run("fit", "loan.yaml", *words, "bank:lenient", "--out", "other").err
    assert "not of" in run("fit", "loan.yaml", *words, "bank:lenient", "--out", "third", "--answers", answers).err


def test_fits_ones_own_problem(run, folder: Path) -> None:
    words = ("--people", "people.csv", "--model", "bank:decide")
    assert run("fit", "loan.yaml", *words, "--out", "learned", "--budget", "100").code == 0
    for planner in ("guided", "cascade+exact"):
        ran = run("recommend", "learned", *words, "--planner", planner)
        assert ran.code == 0
        assert "3 people: 2 found, 1 already favourable." in ran.out
    assert "--model MODULE:ATTR" in run("recommend", "learned", "--people", "people.csv").err


IMPATIENT = """
rows = 0
def impatient(people):
    global rows
    rows += len(people)
    if rows > {rows}:
        raise {error}
    return decide(people)
impatient.identity = ""
"""


@pytest.mark.parametrize(("error", "code"), [("KeyboardInterrupt", 130), ("RuntimeError('out of order')", 2)])
def test_answers_survive_a_fit_that_stops_before_anything_is_learned(run, folder: Path, error, code) -> None:
    many = pd.DataFrame({"income": [100 * i for i in range(60)], "job": ["none", "clerk"] * 30})
    many.to_csv(folder / "many.csv", index=False)
    (folder / "bank.py").write_text(MODEL + IMPATIENT.format(rows=70, error=error))
    words = ("fit", "loan.yaml", "--people", "many.csv", "--model", "bank:impatient", "--out", "learned")
    ran = run(*words)
    assert ran.code == code
    assert "60 answers kept in learned" in ran.err
    assert "--resume" in run(*words).err
    (folder / "bank.py").write_text(MODEL + IMPATIENT.format(rows=70, error=error).replace("rows += len(people)", ""))
    sys.modules.pop("bank")
    resumed = run(*words, "--resume")
    assert resumed.code == 0
    assert "those of" not in resumed.err


def test_a_run_that_spent_its_budget_goes_on_with_a_larger_one(run, folder: Path) -> None:
    first = run("fit", "german", "--out", "learned", "--budget", "1")
    assert first.code == 0
    assert "nothing could be validated; 1 question asked" in first.out
    assert "Warning: too few questions to validate what was learned: plans may fail" in first.err
    assert "--resume with a larger --budget goes on" in first.err
    second = run("fit", "german", "--out", "learned", "--budget", "600", "--resume")
    assert second.code == 0, second.err
    assert "of validation people have a plan" in second.out
    problem = Problem.load(worlds.benchmark_file("german"))
    kept = len(Answers.load(folder / "learned" / "answers.csv.gz", problem))
    assert 100 < kept <= 600
    both = run("fit", "german", "--out", "learned", "--budget", "600", "--resume", "--method", "both")
    assert both.code == 2
    assert "spent on the surrogate" in both.err
    assert "--resume with a larger --budget goes on" in both.err


MANY = pd.DataFrame({"income": [100 * i for i in range(60)], "job": ["none", "clerk"] * 30})


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize(("error", "code"), [("KeyboardInterrupt", 130), ("RuntimeError('out of order')", 2)])
def test_what_is_there_stays_until_there_is_something_to_replace_it(run, folder: Path, error: str, code: int) -> None:
    MANY.to_csv(folder / "many.csv", index=False)
    (folder / "bank.py").write_text(MODEL + IMPATIENT.format(rows=70, error=error))
    words = ("--people", "many.csv", "--out", "learned", "--model")
    assert run("fit", "loan.yaml", *words, "bank:decide", "--budget", "200").code == 0
    before = contents(folder / "learned")
    (folder / "loan.yaml").write_text(LOAN.replace("max_actions: 2", "max_actions: 1"))
    ran = run("fit", "loan.yaml", *words, "bank:impatient", "--force")
    assert ran.code == code
    assert "what is in learned stays as it is" in ran.err
    after = contents(folder / "learned")
    unfinished = after.pop("answers.unfinished.csv")
    assert after == before
    assert len(unfinished.splitlines()) == 62, "two lines of head, and 60 answers"
    (folder / "bank.py").write_text(MODEL + IMPATIENT.format(rows=10_000, error=error))
    sys.modules.pop("bank")
    new = run("fit", "loan.yaml", *words, "bank:impatient", "--force", "--answers", "learned/answers.unfinished.csv")
    assert new.code == 0, new.err
    assert "answers.unfinished.csv" not in contents(folder / "learned")
    problem = Problem.load("loan.yaml")
    kept = Answers.load(folder / "learned" / "answers.csv.gz", problem)
    assert sys.modules["bank"].rows == len(kept) - 60, "they were not asked again"
    assert Problem.from_dict(json.loads((folder / "learned" / "problem.json").read_text())).max_actions == 1


SLOW = """
import os, time
def slow(people):
    with open("asked", "a") as file:
        file.write(f"{len(people)} ")
    time.sleep(float(os.environ.get("PAUSE", 0)) * len(people))
    return decide(people)
"""


@pytest.mark.parametrize("method", ["guided", "search"])
def test_kill_9_in_the_first_round_loses_next_to_nothing(run, folder: Path, method: str) -> None:
    def asked() -> list[int]:
        return [int(rows) for rows in (folder / "asked").read_text().split()] if (folder / "asked").exists() else []

    many = MANY if method == "guided" else MANY[MANY["income"] < 1900]
    many.to_csv(folder / "many.csv", index=False)
    (folder / "bank.py").write_text(MODEL + SLOW)
    words = ["fit", "loan.yaml", "--people", "many.csv", "--model", "bank:slow", "--out", "learned"]
    words += ["--budget", "300", "--method", method]
    process = subprocess.Popen(
        [sys.executable, "-m", "counterplan", *words], cwd=folder, env=os.environ | {"PAUSE": "0.03"}
    )
    deadline = time.monotonic() + 60
    while len(asked()) < 2 and time.monotonic() < deadline:  # the first answers are there
        time.sleep(0.01)
    process.kill()
    process.wait()
    before = asked()
    assert len(before) >= 2
    assert not (folder / "learned" / "surrogate.json").exists()
    lost = before[-1]
    resumed = run(*words, "--resume")
    assert resumed.code == 0, resumed.err
    kept = Answers.load(folder / "learned" / "answers.csv.gz", Problem.load("loan.yaml"))
    assert sum(asked()) <= len(kept) + lost, "only what was being asked when it was killed was asked again"


CHANGING = """
from pathlib import Path
def service(people):
    generous = Path("generous").exists()
    return ["yes" if generous or answer == "yes" else "no" for answer in decide(people)]
service.identity = ""
"""


def test_answers_that_were_replaced_do_not_come_back(run, folder: Path) -> None:
    MANY.to_csv(folder / "many.csv", index=False)
    (folder / "bank.py").write_text(MODEL + CHANGING)
    words = ("--people", "many.csv", "--model", "bank:service")
    assert run("fit", "loan.yaml", *words, "--out", "learned", "--budget", "200").code == 0
    assert (folder / "learned" / "learning.npz").exists()
    (folder / "generous").touch()
    stale = run("recommend", "learned", *words)
    assert "60 people: 60 already favourable" not in stale.out
    fresh = run("recommend", "learned", *words, "--ask-again")
    assert "60 people: 60 already favourable" in fresh.out
    assert "Removed learning.npz from learned" in fresh.err
    again = run("fit", "loan.yaml", *words, "--out", "learned", "--budget", "200", "--resume")
    assert "nobody among" in again.err, "the model refuses nobody any more, and that is what is learned"
    kept = Answers.load(folder / "learned" / "answers.csv.gz", Problem.load("loan.yaml"))
    assert kept.favourable.all()


TRAINED = """
import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
people = pd.DataFrame({{"income": np.arange(0, 6000, 100.0)}})
model = LogisticRegression(max_iter=1000).fit(people, np.where(people["income"] >= {limit}, "yes", "no"))
"""


def test_a_retrained_model_is_asked_again(run, folder: Path) -> None:
    MANY.to_csv(folder / "many.csv", index=False)
    (folder / "bank.py").write_text(TRAINED.format(limit=2_000))
    words = ("--people", "many.csv", "--model", "bank:model")
    assert run("fit", "loan.yaml", *words, "--out", "learned", "--budget", "200").code == 0
    same = run("recommend", "learned", *words)
    assert same.err == ""
    (folder / "bank.py").write_text(TRAINED.format(limit=5_000))
    sys.modules.pop("bank")
    other = run("recommend", "learned", *words)
    assert "they are not used" in other.err
    assert len(other.err.splitlines()) == 1
    assert other.out.splitlines()[-1] != same.out.splitlines()[-1]
    changed = run("fit", "loan.yaml", *words, "--out", "learned", "--budget", "200", "--resume")
    assert changed.code == 2
    assert "holds answers of model 'bank:model'" in changed.err
    assert "start again with --force" in changed.err
    replaced = run("recommend", "learned", *words, "--ask-again")
    assert "they are not used" not in replaced.err
    assert run("recommend", "learned", *words).err == ""


def test_what_cannot_be_written_is_told(run, folder: Path) -> None:
    (folder / "learned").mkdir()
    (folder / "learned" / "learning.jsonl").mkdir()
    ran = run("fit", "german", "--out", "learned", "--budget", "60", "--force")
    assert ran.code == 2
    assert "learning.jsonl: cannot be" in ran.err
    MANY.to_csv(folder / "many.csv", index=False)
    (folder / "bank.py").write_text(MODEL + IMPATIENT.format(rows=0, error="RuntimeError('asked')"))
    if Path("/proc/self").exists():
        words = ("--people", "many.csv", "--model", "bank:impatient", "--out", "/proc")
        unwritable = run("fit", "loan.yaml", *words)
        assert unwritable.code == 2
        assert "/proc: nothing can be written there" in unwritable.err, "before anything is asked"


def test_an_interrupted_fit_is_usable_and_goes_on(run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from counterplan.surrogate.training import Learning

    advance = Learning.advance

    def impatient(self):
        if self.round == 1:
            raise KeyboardInterrupt
        return advance(self)

    monkeypatch.setattr(Learning, "advance", impatient)
    words = ("fit", "german", "--out", "learned", "--budget", "1200")
    ran = run(*words)
    assert ran.code == 130
    assert "Interrupted in 1 round" in ran.out
    assert "--resume goes on" in ran.err
    assert "3 people" in run("recommend", "learned", "--limit", 3).out
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    resumed = run(*words, "--resume")
    assert resumed.code == 0
    whole = run("fit", "german", "--out", "whole", "--budget", "1200")
    assert whole.out.splitlines()[0] == resumed.out.splitlines()[0]
    kept = [(folder / name / "surrogate.safetensors").read_bytes() for name in ("learned", "whole")]
    assert kept[0] == kept[1]


def test_what_is_done_survives_an_interruption(run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recommending, "SLICE", 1)
    calls = 0
    plan = ExactPlanner.plan

    def impatient(self, *arguments, **settings):
        nonlocal calls
        calls += 1
        if calls == 3:
            raise KeyboardInterrupt
        return plan(self, *arguments, **settings)

    monkeypatch.setattr(ExactPlanner, "plan", impatient)
    ran = run("recommend", "german", "--json", "kept.json")
    assert ran.code == 130
    assert "2 of 78 people" in ran.err
    assert len(Plans.from_json((folder / "kept.json").read_text())) == 2


def test_what_is_done_survives_a_model_that_fails(run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recommending, "SLICE", 1)
    flaky = (
        MODEL
        + """
calls = 0
def flaky(people):
    global calls
    calls += 1
    if calls > 5:
        raise RuntimeError("out of order")
    return decide(people)
"""
    )
    (folder / "bank.py").write_text(flaky)
    ran = run("recommend", "loan.yaml", "--people", "people.csv", "--model", "bank:flaky", "--json", "kept.json")
    assert ran.code == 2
    assert "out of order" in ran.err
    assert len(Plans.from_json((folder / "kept.json").read_text())) == 1


def test_runs_as_a_program() -> None:
    ran = subprocess.run([sys.executable, "-m", "counterplan", "--version"], capture_output=True, text=True, check=True)
    assert ran.stdout.startswith("counterplan 0.")


def test_distils_shows_and_exports_a_program(run, folder: Path) -> None:
    assert run("fit", "syn", "--out", "learned", "--budget", "500").code == 0
    nothing = run("recommend", "learned", "--planner", "program", "--limit", 3)
    assert nothing.code == 2
    assert "needs a program" in nothing.err
    ran = run("distil", "learned", "--traces", 150, "--rounds", 1, "--prefer", "short", "--max-conditions", 3)
    assert ran.code == 0, ran.err
    assert "counterplan show learned" in ran.out
    assert "to fit: 5" in ran.out
    assert "INTERVENE" not in ran.out
    program = Program.load(folder / "learned" / "program.json")
    assert program.card["made_with"]["prefer"] == "short"
    assert program.card["made_with"]["distilling"]["tree"]["max_conditions"] == 3
    shown = run("show", "learned").out
    assert shown.startswith(program.to_text())
    assert "what it cannot do" in shown
    assert run("show", "learned/program.json").out == shown
    assert run("show", "learned", "--json").out == (folder / "learned" / "program.json").read_text()
    for ending in ("html", "py", "svg", "dot", "json"):
        assert f"Wrote page.{ending}" in run("export", "learned", "--to", f"page.{ending}").out
        assert (folder / f"page.{ending}").stat().st_size > 500
    unknown = run("export", "learned", "--to", "page.doc")
    assert unknown.code == 2
    assert ".html, .py, .svg, .dot" in unknown.err
    assert "there is no folder nowhere" in run("export", "learned", "--to", "nowhere/page.html").err
    for words, message in (("--prefer sucess", "did you mean 'success'"), ("--preset paper", "imitates an agent")):
        wrong = run("distil", "learned", *words.split())
        assert wrong.code == 2
        assert message in wrong.err
    told = run("recommend", "learned", "--planner", "program", "--refused", "--limit", 5).out
    assert "because" in told
    assert "0 questions asked." in told
    plans = json.loads(run("recommend", "learned", "--limit", 5, "--json", "-").out)["plans"]
    assert all(step["reason"] and step["because"]["source"] for plan in plans for step in plan["steps"])
    assert run("fit", "syn", "--out", "learned", "--budget", "500", "--force").code == 0
    assert not (folder / "learned" / "program.json").exists(), "it was made from what is gone"


def test_a_program_needs_no_model(run, folder: Path) -> None:
    problem = Problem.load("loan.yaml")
    numbers = {str(action): action.index for action in problem.transitions.actions}
    stop = Leaf((Choice(problem.transitions.stop),))
    begin = Leaf((Choice(numbers["EARN=1000"]),))
    program = Program(problem, {"INTERVENE": begin, "EARN": stop})
    Recourse(problem, lambda people: ["no"] * len(people), program=program).save(folder / "learned")
    ran = run("recommend", "learned", "--people", "people.csv", "--planner", "program")
    assert ran.code == 0, ran.err
    assert "Earn 1,000 € more" in ran.out
    assert "Not checked with the model. No question was asked." in ran.out
    other = run("recommend", "learned", "--people", "people.csv", "--planner", "cascade")
    assert other.code == 2
    assert "--model MODULE:ATTR" in other.err
    held = run("recommend", "learned", "--people", "people.csv", "--planner", "cascade", "--model", "bank:decide")
    assert held.code == 0
    assert "3 people: 1 found, 1 already favourable, 1 not found." in held.out


OTHERS = """
def other(people):
    return ["yes" if row.income >= 3000 else "no" for row in people.itertuples()]
def everybody(people):
    return ["yes"] * len(people)
def nobody(people):
    return ["no"] * len(people)
def silent(people):
    return [None] * len(people)
"""


@pytest.fixture
def bank(run, folder: Path) -> Path:
    MANY.to_csv(folder / "many.csv", index=False)
    (folder / "bank.py").write_text(MODEL + OTHERS + SLOW + IMPATIENT.format(rows=70, error="RuntimeError('no')"))
    return folder


def fit_words(model: str, *more: str, problem: str = "loan.yaml") -> tuple[str, ...]:
    return "fit", problem, "--people", "many.csv", "--out", "learned", "--budget", "150", "--model", model, *more


@pytest.fixture
def learned(run, bank: Path) -> Path:
    assert run(*fit_words("bank:decide")).code == 0
    return bank / "learned"


def killed(folder: Path, *words: str, asked: int = 3) -> int:
    """Run a command whose model is slow, and kill it; gives how many answers it got."""
    env = os.environ | {"PAUSE": "0.03"}
    process = subprocess.Popen([sys.executable, "-m", "counterplan", *words], cwd=folder, env=env)
    rows: list[int] = []
    deadline = time.monotonic() + 60
    while len(rows) < asked and time.monotonic() < deadline:
        time.sleep(0.01)
        rows = [int(row) for row in (folder / "asked").read_text().split()] if (folder / "asked").exists() else []
    process.kill()
    process.wait()
    assert len(rows) >= asked
    return sum(rows[:-1])


def test_going_on_with_another_model_is_refused_and_loses_no_answer(run, bank: Path) -> None:
    killed(bank, *fit_words("bank:slow"))
    before = contents(bank / "learned")
    assert set(before) == {"answers.unfinished.csv"}
    plain = run(*fit_words("bank:slow"))
    assert "--answers learned/answers.unfinished.csv keeps what was paid for" in plain.err
    ran = run(*fit_words("bank:other", "--resume"))
    assert ran.code == 2
    assert "answers.unfinished.csv: holds answers of model 'bank:slow'" in ran.err
    assert "start again with --force" in ran.err
    assert contents(bank / "learned") == before
    (bank / "learned" / "answers.unfinished.csv").unlink()
    assert run(*fit_words("bank:impatient")).code == 2
    before = contents(bank / "learned")
    assert set(before) == {"answers.csv.gz"}
    ran = run(*fit_words("bank:other", "--resume"))
    assert ran.code == 2
    assert "answers.csv.gz: holds answers of model 'bank:impatient'" in ran.err
    assert contents(bank / "learned") == before


def test_a_model_that_refuses_nobody_replaces_nothing(run, learned: Path) -> None:
    before = contents(learned)
    ran = run(*fit_words("bank:everybody", "--force"))
    assert ran.code == 2
    assert "nobody among 60 people asked about was refused" in ran.err
    assert "what is in learned stays as it is" in ran.err
    after = contents(learned)
    assert after.pop("answers.unfinished.csv")
    assert after == before


def test_a_model_without_answers_is_told_as_it_is(run, learned: Path) -> None:
    before = contents(learned)
    ran = run(*fit_words("bank:silent", "--force"))
    assert "stays as it is" in ran.err
    assert "answers.unfinished.csv" not in ran.err
    assert contents(learned) == before
    fresh = run(*fit_words("bank:silent"), "--out", "fresh")
    assert "gave no answer" in fresh.err
    assert "kept" not in fresh.err


def test_a_model_that_grants_nothing_needs_people_with_a_favourable_decision(run, bank: Path) -> None:
    ran = run(*fit_words("bank:nobody"), "--budget", "1000")
    assert ran.code == 0, ran.err
    assert "hand in people with a favourable decision too" in ran.err
    assert "who were refused" not in ran.err


def test_kill_9_while_planning_loses_next_to_nothing(run, bank: Path) -> None:
    assert run(*fit_words("bank:slow")).code == 0
    (bank / "asked").unlink()
    MANY.assign(income=MANY["income"] + 7).to_csv(bank / "others.csv", index=False)
    words = ("recommend", "learned", "--people", "others.csv", "--model", "bank:slow")
    answered = killed(bank, *words)
    assert answered
    assert (bank / "learned" / "answers.unfinished.csv").exists()
    problem = Problem.load("loan.yaml")
    left = len(Answers.load(bank / "learned" / "answers.unfinished.csv", problem))
    assert left
    kept = len(Answers.load(bank / "learned" / "answers.csv.gz", problem))
    (bank / "asked").unlink()
    assert run(*words).code == 0
    asked = sum(int(rows) for rows in (bank / "asked").read_text().split())
    assert not (bank / "learned" / "answers.unfinished.csv").exists()
    assert len(Answers.load(bank / "learned" / "answers.csv.gz", problem)) == kept + left + asked


def test_answers_are_kept_whatever_ends_planning(run, learned: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    MANY.assign(income=MANY["income"] + 7).to_csv("others.csv", index=False)
    answers = learned / "answers.csv.gz"
    before = len(Answers.load(answers, Problem.load("loan.yaml")))

    def fail(*_: object) -> None:
        raise PlanError("something else")

    monkeypatch.setattr("counterplan.planners.base.plans_from", fail)
    assert run("recommend", "learned", "--people", "others.csv", "--model", "bank:decide").code == 2
    assert len(Answers.load(answers, Problem.load("loan.yaml"))) > before
    assert not (learned / "answers.unfinished.csv").exists()


def test_other_costs_cost_no_question(run, learned: Path) -> None:
    (learned.parent / "loan.yaml").write_text(LOAN.replace("cost: 2", "cost: 3"))
    ran = run(*fit_words("bank:decide", "--resume"))
    assert ran.code == 2
    assert "was fitted to another problem" in ran.err
    assert "--answers learned/answers.csv.gz keeps what was paid for" in ran.err
    again = run(*fit_words("bank:decide", "--force", "--answers", "learned/answers.csv.gz"))
    assert again.code == 0, again.err


@pytest.mark.parametrize("name", ["surrogate.json", "surrogate.safetensors", "problem.json", "learning.jsonl"])
def test_what_the_checkpoint_holds_comes_back_from_it(run, learned: Path, name: str) -> None:
    before = contents(learned)
    (learned / name).write_bytes(before[name][:20])
    if name != "learning.jsonl":
        ran = run("recommend", "learned", "--people", "many.csv", "--model", "bank:decide")
        assert ran.code == 2
        assert "--resume" in ran.err
    ran = run(*fit_words("bank:decide", "--resume"))
    assert ran.code == 0, ran.err
    assert "Learned in" in ran.out
    assert contents(learned)[name] == before[name]


def test_damage_is_told_with_a_way_out(run, learned: Path) -> None:
    (learned / "learning.npz").write_bytes(b"garbage")
    ran = run(*fit_words("bank:decide", "--resume"))
    assert ran.code == 2
    assert "pickle" not in ran.err
    assert "learning.npz: the file is damaged" in ran.err
    assert "start again with --force" in ran.err
    (learned / "learning.npz").unlink()
    (learned / "program.json").write_text("{")
    words = ("recommend", "learned", "--people", "many.csv", "--model", "bank:decide")
    guided = run(*words)
    assert guided.code == 0, guided.err
    assert "60 people: " in guided.out
    assert "The plans have no reasons: learned/program.json" in guided.err
    assert run(*words, "--planner", "program").code == 2


def test_asking_again_without_a_question_replaces_nothing(run, learned: Path) -> None:
    before = contents(learned)
    words = ("recommend", "learned", "--people", "many.csv", "--model", "bank:decide")
    ran = run(*words, "--ask-again", "--budget", "0")
    assert ran.code == 0
    assert "Nothing was asked, so the answers in learned stay as they are" in ran.err
    assert contents(learned) == before
    assert run(*words, "--price", "0").code == 0
    wrong = run(*words, "--price", "1", "--planner", "exact")
    assert wrong.code == 2
    assert "a price of questions is for the planner 'guided' or a cascade" in wrong.err
