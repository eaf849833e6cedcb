"""The command line, as a user types it: what it prints, what it writes, and how it refuses."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import worlds
from counterplan import BlackBox, ExactPlanner, Plans, Problem, Program, Recourse, benchmarks
from counterplan.cli import recommending
from counterplan.program import Choice, Leaf
from loans import LOAN, MANY, PEOPLE

pytestmark = pytest.mark.usefixtures("quick_fits")


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
    assert "Without the steps that were ruled out, no plan within the rules changes that" in forbidden.out
    single = run(*words, "--forbid", "EARN=1000", "--limit", 1, "--json", "-")
    assert json.loads(single.out)["plans"][0]["steps"][1]["argument"] == 500
    spent = run(*words, "--person", "0", "--budget", "1", "--csv", "-")
    assert "not_found" in spent.out
    scored = run("recommend", "loan.yaml", "--people", "people.csv", "--model", "bank:score", "--threshold", 0.5)
    assert "3 people: 2 found, 1 already favourable." in scored.out


def test_checks_the_types_of_values_with_people_and_model(run, folder: Path) -> None:
    text = LOAN.replace("[none, clerk, manager]", '["1", "2", "3"]')
    (folder / "codes.yaml").write_text(text)
    (folder / "codes.csv").write_text("income,job\n100,1\n200,2\n")
    (folder / "typed.py").write_text(
        "class M:\n  name, batch, classes, dtypes = 'm', 9, None, {'job': 'int64'}\n"
        "  def labels(self, people): ...\n  def scores(self, people, f): ...\nm = M()\n"
    )
    assert "0 warnings" in run("check", "codes.yaml").out
    assert "these values are texts, but the data has numbers" in run("check", "codes.yaml", "--people", "codes.csv").out
    assert "texts, but the model expects numbers" in run("check", "codes.yaml", "--model", "typed:m").out


def test_checks_that_the_people_and_the_model_can_be_used(run, folder: Path) -> None:
    (folder / "sent.py").write_text(
        "import bank\n"
        "def fails(people):\n  raise ValueError('no such luck')\n"
        "def counts(people):\n  open('rows', 'a').write(f'{len(people)} ')\n  return bank.decide(people)\n"
        "def strict(people):\n  assert people['income'].notna().all(), 'a gap'\n  return bank.decide(people)\n"
    )
    MANY.to_csv(folder / "many.csv", index=False)
    words = ("check", "loan.yaml", "--people", "many.csv", "--model")
    fine = run(*words, "sent:counts")
    assert (fine.code, (folder / "rows").read_text()) == (0, "5 ")
    assert "fine" in fine.out
    failed = run(*words, "sent:fails")
    assert failed.code == 2
    assert "error: loan.yaml: model 'sent:fails' failed on 5 rows: ValueError: no such luck" in failed.err
    assert "fine" not in failed.out + failed.err
    scored = run(*words, "bank:score", "--json")
    assert not json.loads(scored.out)["ok"]
    assert "set a threshold" in json.loads(scored.out)["findings"][0]["message"]
    assert run(*words, "bank:score", "--threshold", 0.5).code == 0
    (folder / "gaps.yaml").write_text(LOAN.replace("bins: auto", "bins: auto, missing: true"))
    MANY.assign(income=[*MANY["income"][:-1], None]).to_csv(folder / "gaps.csv", index=False)
    assert "a gap" in run("check", "gaps.yaml", "--people", "gaps.csv", "--model", "sent:strict").err
    lacking = run("check", "loan.yaml", "--people", "gaps.csv")
    assert lacking.code == 2
    assert "gaps.csv: column 'income', row 59: the value is missing" in lacking.err


def test_recommends_within_a_deadline_and_what_is_faster(run) -> None:
    words = ("recommend", "german", "--planner", "exact", "--person", "14")
    within = run(*words, "--deadline", 6).out
    assert "the least possible within 6 months" in within
    assert "Takes about 3.6 months if you start now; steps 1 and 2 can run side by side." in within
    assert "Or faster: " in run(*words, "--pareto").out
    refused = run("recommend", "syn", "--person", "0", "--deadline", 6)
    assert "no action of the problem 'syn' takes time" in refused.err


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
        ("recommend german --planner search", "requires an agent"),
        ("recommend german --planner guided", "requires a surrogate"),
        ("recommend german --planner program", "requires a program"),
        ("distil german", "'german' is a benchmark; fit it first"),
        ("distil loan.yaml", "'loan.yaml' is not a folder that 'counterplan fit' wrote"),
        ("distil .", "is . what 'counterplan fit' wrote"),
        ("show .", "program.json: there is no program yet; make one with 'counterplan distil .'"),
        ("show german", "'german' is a benchmark; fit it first"),
        ("show nothing.json", "nothing.json: there is no such file"),
        ("show people.csv", "people.csv: not JSON"),
        ("export . --to page.html", "there is no program yet"),
        ("export loan.yaml", "Missing option '--to'"),
        ("recommend . ", "is . what 'counterplan fit' wrote"),
        ("fit loan.yaml --out learned", "--people FILE"),
        ("fit german --out bank.py --budget 20", "cannot be created as a folder"),
        ("fit german --out german", "that is a benchmark's name"),
        ("fit german --out learned --preset papr", "there is no preset 'papr'"),
        ("fit german --out learned --method guide", "there is no method 'guide'; did you mean 'guided'"),
        ("fit german --out learned --method guided --preset paper", "method='guided' expects LearningSettings"),
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
    report = json.loads(ran.out)
    assert [finding["line"] for finding in report["findings"] if finding["severity"] == "error"] == [6, 10]
    assert report["findings"][0]["place"] == ["features", "income", "kind"]
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
    assert "counterplan_program" in json.loads(run("schema", "--program").out)["properties"]


def test_describes_benchmarks(run) -> None:
    rows = json.loads(run("benchmarks", "syn", "--people", 5, "--json").out)
    assert rows[0]["binary_features"] == 40
    assert rows[0]["refused"] == 5
    assert "binary features" in run("benchmarks", "syn", "--people", 5).out


def test_fits_and_recommends_from_what_was_learned(run, folder: Path) -> None:
    ran = run("fit", "german", "--out", "learned", "--budget", "600")
    assert ran.code == 0, ran.err
    assert "margins of scores are predicted with a standard error of" in ran.out
    assert "validation people" not in ran.out, "the budget is spent on learning"
    assert "counterplan recommend learned" in ran.out
    kept = {path.name for path in (folder / "learned").iterdir()}
    assert {"surrogate.safetensors", "surrogate.json", "problem.json", "answers.csv.gz", "learning.jsonl"} <= kept
    for name in ("learning.png", "reliability.png"):
        assert (folder / "learned" / name).read_bytes().startswith(b"\x89PNG")
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
    assert "start again with --force (--answers learned/answers.csv.gz reuses" in again.err
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
    assert "requires an agent" in run("recommend", "learned", "--planner", "search").err


@pytest.mark.usefixtures("blank_figures")
def test_fits_both_within_one_budget(run, folder: Path) -> None:
    ran = run("fit", "german", "--out", "learned", "--method", "both", "--budget", "200")
    assert ran.code == 2
    assert "raise it to train an agent too" in ran.err
    assert "3 people" in run("recommend", "learned", "--limit", 3).out, "the surrogate is kept"


@pytest.mark.usefixtures("blank_figures")
def test_fits_ones_own_problem(run, folder: Path) -> None:
    words = ("--people", "people.csv", "--model", "bank:decide")
    assert run("fit", "loan.yaml", *words, "--out", "learned", "--budget", "100").code == 0
    for planner in ("guided", "cascade+exact"):
        ran = run("recommend", "learned", *words, "--planner", planner)
        assert ran.code == 0
        assert "3 people: 2 found, 1 already favourable." in ran.out
    assert "--model MODULE:ATTR" in run("recommend", "learned", "--people", "people.csv").err


@pytest.mark.parametrize("words", ["distil german", "show german", "export german --to page.html"])
def test_a_benchmarks_name_is_the_benchmark_and_a_folder_of_that_name_is_written_with_its_place(
    run, folder: Path, words: str
) -> None:
    german = benchmarks.load("german")
    stop = Leaf((Choice(german.problem.transitions.stop),))
    program = Program(german.problem, {"INTERVENE": stop})
    Recourse(german.problem, german.model, program=program).save(folder / "german")
    ran = run(*words.split())
    assert ran.code == 2
    assert "'german' is a benchmark; write ./german for the folder" in ran.err
    assert not (folder / "page.html").exists()
    there = run(*words.replace("german", "./german").split())
    assert "is a benchmark" not in there.err
    assert (there.code == 0) == ("distil" not in words), "there is nothing to distil from in it"
    assert "Refused." in run("recommend", "german", "--person", 0).out
    assert "./german: no people given" in run("recommend", "./german").err


@pytest.mark.usefixtures("blank_figures")
def test_fits_into_a_folder_with_the_name_of_a_benchmark_if_it_is_written_as_one(run, folder: Path) -> None:
    ran = run("fit", "german", "--out", "./german", "--budget", "60")
    assert ran.code == 0, ran.err
    assert "counterplan recommend ./german" in ran.out
    assert "counterplan distil ./german" in run("show", "./german").err


def test_runs_as_a_program() -> None:
    ran = subprocess.run([sys.executable, "-m", "counterplan", "--version"], capture_output=True, text=True, check=True)
    assert ran.stdout.startswith("counterplan 0.")


@pytest.mark.usefixtures("blank_figures")
def test_distils_shows_and_exports_a_program(run, folder: Path) -> None:
    assert run("fit", "syn", "--out", "learned", "--budget", "500").code == 0
    nothing = run("recommend", "learned", "--planner", "program", "--limit", 3)
    assert nothing.code == 2
    assert "requires a program" in nothing.err
    ran = run("distil", "learned", "--traces", 150, "--rounds", 1, "--prefer", "short", "--max-conditions", 3)
    assert ran.code == 0, ran.err
    assert "counterplan show learned" in ran.out
    assert "to fit: 5" in ran.out
    assert "INTERVENE" not in ran.out
    program = Program.load(folder / "learned" / "program.json")
    assert program.model_card.made_with["prefer"] == "short"
    assert program.model_card.made_with["distilling"]["tree"]["max_conditions"] == 3
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
    printed = run("recommend", "learned", "--planner", "program", "--refused", "--limit", 5).out
    assert "because" in printed
    assert "0 questions asked." in printed
    plans = json.loads(run("recommend", "learned", "--limit", 5, "--json", "-").out)["plans"]
    assert all(step["reason"] and step["because"]["source"] for plan in plans for step in plan["steps"])
    assert run("fit", "syn", "--out", "learned", "--budget", "60", "--force").code == 0
    assert not (folder / "learned" / "program.json").exists(), "it was made from what is gone"


@pytest.mark.usefixtures("blank_figures")
def test_distils_the_papers_program_with_and_without_protected_features(run, folder: Path) -> None:
    assert run("fit", "syn", "--out", "learned", "--preset", "paper", "--budget", "600").code == 0
    for words, hidden in (((), False), (("--no-protected",), True)):
        ran = run("distil", "learned", "--preset", "paper", "--traces", 15, *words)
        assert ran.code == 0, ran.err
        card = Program.load(folder / "learned" / "program.json").model_card
        assert bool(card.protected_avoided) == hidden
        assert card.made_with["agent"]["numbers"] is False, "the paper's agent sees binary features only"


def test_a_program_needs_no_model(run, folder: Path) -> None:
    problem = Problem.load("loan.yaml")
    numbers = {str(action): action.index for action in problem.transitions.actions}
    stop = Leaf((Choice(problem.transitions.stop),))
    begin = Leaf((Choice(numbers["EARN=1000"]),))
    program = Program(problem, {"INTERVENE": begin, "EARN": stop})
    box = BlackBox(lambda people: ["no"] * len(people))
    box.favourable(problem, MANY)
    Recourse(problem, box, program=program).save(folder / "learned")
    assert (folder / "learned" / "answers.csv.gz").exists()
    ran = run("recommend", "learned", "--people", "people.csv", "--planner", "program")
    assert ran.code == 0, ran.err
    assert "answers" not in ran.err, "nobody asks, so it does not matter whose they are"
    file = run("recommend", "learned/program.json", "--people", "people.csv", "--planner", "program")
    assert file.code == 2
    assert "learned/program.json: this is a program, not a problem. Read it with 'counterplan show" in file.err
    assert "is missing" not in file.err
    assert "Earn 1,000 € more" in ran.out
    assert "Not checked with the model. No question was asked." in ran.out
    other = run("recommend", "learned", "--people", "people.csv", "--planner", "cascade")
    assert other.code == 2
    assert "--model MODULE:ATTR" in other.err
    held = run("recommend", "learned", "--people", "people.csv", "--planner", "cascade", "--model", "bank:decide")
    assert held.code == 0
    assert "3 people: 1 found, 1 already favourable, 1 not found." in held.out


@pytest.fixture
def many_with_program(folder: Path) -> Path:
    """A folder with a program, and 57 people."""
    problem = Problem.load("loan.yaml")
    numbers = {str(action): action.index for action in problem.transitions.actions}
    begin, stop = Leaf((Choice(numbers["EARN=1000"]),)), Leaf((Choice(problem.transitions.stop),))
    program = Program(problem, {"INTERVENE": begin, "EARN": stop})
    Recourse(problem, lambda people: ["no"] * len(people), program=program).save(folder / "learned")
    MANY.head(57).to_csv("many.csv", index=False)
    return folder


@pytest.mark.parametrize("model", [(), ("--model", "bank:decide")])
def test_a_program_plans_in_chunks_of_bounded_memory(
    run, many_with_program: Path, monkeypatch: pytest.MonkeyPatch, model: tuple[str, ...]
) -> None:
    words = ("recommend", "learned", "--people", "many.csv", "--planner", "program", *model)
    run(*words)  # caches the answers of the model
    whole = run(*words, "--csv", "whole.csv", "--json", "whole.json")
    monkeypatch.setattr(recommending, "PROGRAM_CHUNK", 10)
    chunked = run(*words, "--csv", "chunked.csv")
    assert chunked.code == 0, chunked.err
    assert chunked.out == whole.out
    assert chunked.out.endswith(Plans.from_json(Path("whole.json").read_text()).to_text(20).split("\n\n")[-1] + "\n")
    pd.testing.assert_frame_equal(pd.read_csv("chunked.csv"), pd.read_csv("whole.csv"))
    printed = run(*words, "--csv", "-")
    assert printed.out == Path("chunked.csv").read_text()
    assert run(*words).out == whole.out
    assert not list(many_with_program.glob(".chunked*"))


def test_an_interrupted_program_leaves_the_finished_chunks(
    run, many_with_program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from counterplan.planners import ProgramPlanner

    monkeypatch.setattr(recommending, "PROGRAM_CHUNK", 10)
    search, calls = ProgramPlanner.search, 0

    def interrupted(self, *arguments):
        nonlocal calls
        calls += 1
        if calls == 3:
            raise KeyboardInterrupt if Path("interrupt").exists() else ValueError("a bug")
        return search(self, *arguments)

    monkeypatch.setattr(ProgramPlanner, "search", interrupted)
    words = ("recommend", "learned", "--people", "many.csv", "--planner", "program", "--csv", "plans.csv")
    with pytest.raises(ValueError, match="a bug"):
        run(*words)
    assert not list(many_with_program.glob("*plans*"))
    Path("interrupt").touch()
    calls = 0
    ran = run(*words)
    assert ran.code == 130
    assert "20 of 57 people are planned for" in ran.err
    assert pd.read_csv("plans.csv")["person"].nunique() == 20
