"""Commands that are stopped, killed, refused or find damage: no answer is lost, and the message names the way out."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

import worlds
from counterplan import ExactPlanner, LabelledStates, Plans, Problem, Program, StorageError
from counterplan.cli import recommending
from counterplan.errors import CounterplanError, SettingError
from counterplan.program import Choice, Leaf
from counterplan.storage.files import write_whole
from loans import IMPATIENT, LOAN, MANY, MODEL, SLOW

pytestmark = pytest.mark.usefixtures("blank_figures", "quick_fits")
COMMAND = [sys.executable, "-c", "import quick; from counterplan.cli import main\nwith quick.quick_fits(): main()"]
"""Runs `counterplan` with small settings, in a process of its own."""
TESTS = {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])}
"""The environment of such processes, which import `quick`."""


def test_no_query_is_sent_twice(run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments):
        raise StorageError("the disk is full")

    run("fit", "german", "--out", "learned", "--budget", "400")
    answers = folder / "learned" / "answers.csv.gz"
    learned = answers.read_bytes()
    first = run("recommend", "learned", "--limit", 5)
    assert answers.read_bytes() != learned
    again = run("recommend", "learned", "--limit", 5)
    assert "5 people: 5 found." in again.out
    assert re.search(r" 0 questions asked, \d+ answered from memory\.\n$", again.out)
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
    monkeypatch.setattr(LabelledStates, "save", refuse)
    unkept = run("recommend", "learned", "--limit", 9)
    assert unkept.code == 0
    assert "9 people" in unkept.out
    assert "The answers could not be saved: the disk is full" in unkept.err
    answers.write_bytes(b"broken")
    broken = run("recommend", "learned", "--limit", 5)
    assert broken.code == 2
    assert "nothing is lost but the queries that it saves" in broken.err
    assert run("recommend", "learned", "--limit", 5, "--ask-again").code == 0


def test_answers_of_another_model_are_unchanged(run, folder: Path) -> None:
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


@pytest.mark.parametrize(("error", "code"), [("KeyboardInterrupt", 130), ("RuntimeError('out of order')", 2)])
def test_answers_survive_a_fit_that_stops_before_anything_is_learned(run, folder: Path, error, code) -> None:
    many = pd.DataFrame({"income": [100 * i for i in range(60)], "job": ["none", "clerk"] * 30})
    many.to_csv(folder / "many.csv", index=False)
    (folder / "bank.py").write_text(MODEL + IMPATIENT.format(rows=70, error=error))
    words = ("fit", "loan.yaml", "--people", "many.csv", "--model", "bank:impatient", "--out", "learned")
    ran = run(*words)
    assert ran.code == code
    assert "60 answers saved in learned" in ran.err
    assert "--resume" in run(*words).err
    (folder / "bank.py").write_text(MODEL + IMPATIENT.format(rows=70, error=error).replace("rows += len(people)", ""))
    sys.modules.pop("bank")
    resumed = run(*words, "--resume")
    assert resumed.code == 0
    assert "those of" not in resumed.err


def test_a_fit_that_exhausted_its_budget_resumes_with_a_larger_one(run, folder: Path) -> None:
    first = run("fit", "german", "--out", "learned", "--budget", "1")
    assert first.code == 0
    assert "nothing could be validated; 1 query" in first.out
    assert "Warning: too few queries to validate the surrogate: plans may fail" in first.err
    assert "--resume with a larger --budget continues" in first.err
    second = run("fit", "german", "--out", "learned", "--budget", "600", "--resume")
    assert second.code == 0, second.err
    assert "margins of scores are predicted" in second.out
    problem = Problem.load(worlds.benchmark_file("german"))
    kept = len(LabelledStates.load(folder / "learned" / "answers.csv.gz", problem))
    assert 100 < kept <= 600
    spent = run("fit", "german", "--out", "learned", "--budget", str(kept), "--resume", "--method", "both")
    assert spent.code == 2
    assert "spent on the surrogate" in spent.err
    assert "--resume with a larger --budget continues" in spent.err


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize(("error", "code"), [("KeyboardInterrupt", 130), ("RuntimeError('out of order')", 2)])
def test_results_stay_until_there_are_new_ones_to_replace_them(run, folder: Path, error: str, code: int) -> None:
    MANY.to_csv(folder / "many.csv", index=False)
    (folder / "bank.py").write_text(MODEL + IMPATIENT.format(rows=70, error=error))
    words = ("--people", "many.csv", "--out", "learned", "--model")
    assert run("fit", "loan.yaml", *words, "bank:decide", "--budget", "200").code == 0
    before = contents(folder / "learned")
    (folder / "loan.yaml").write_text(LOAN.replace("max_actions: 2", "max_actions: 1"))
    ran = run("fit", "loan.yaml", *words, "bank:impatient", "--force")
    assert ran.code == code
    assert "so learned is unchanged" in ran.err
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
    kept = LabelledStates.load(folder / "learned" / "answers.csv.gz", problem)
    assert sys.modules["bank"].rows == len(kept) - 60, "they were not asked again"
    assert Problem.from_dict(json.loads((folder / "learned" / "problem.json").read_text())).max_actions == 1


@pytest.mark.parametrize("method", ["guided", "search"])
def test_kill_9_in_the_first_round_loses_next_to_nothing(run, folder: Path, method: str) -> None:
    def asked() -> list[int]:
        return [int(rows) for rows in (folder / "asked").read_text().split()] if (folder / "asked").exists() else []

    many = MANY if method == "guided" else MANY[MANY["income"] < 1900]
    many.to_csv(folder / "many.csv", index=False)
    (folder / "bank.py").write_text(MODEL + SLOW)
    words = ["fit", "loan.yaml", "--people", "many.csv", "--model", "bank:slow", "--out", "learned"]
    words += ["--budget", "100", "--method", method]
    process = subprocess.Popen([*COMMAND, *words], cwd=folder, env=os.environ | TESTS | {"PAUSE": "0.03"})
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
    kept = LabelledStates.load(folder / "learned" / "answers.csv.gz", Problem.load("loan.yaml"))
    assert sum(asked()) <= len(kept) + lost, "only what was being asked when it was killed was asked again"


CHANGING = """
from pathlib import Path
def service(people):
    generous = Path("generous").exists()
    return ["yes" if generous or answer == "yes" else "no" for answer in decide(people)]
service.identity = ""
"""


def test_replaced_answers_do_not_come_back(run, folder: Path) -> None:
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
    kept = LabelledStates.load(folder / "learned" / "answers.csv.gz", Problem.load("loan.yaml"))
    assert kept.favourable.all()


TRAINED = """
import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
people = pd.DataFrame({{"income": np.arange(0, 6000, 100.0)}})
model = LogisticRegression(max_iter=1000).fit(people, np.where(people["income"] >= {limit}, "yes", "no"))
"""


def test_a_retrained_model_is_queried_again(run, folder: Path) -> None:
    MANY.to_csv(folder / "many.csv", index=False)
    (folder / "bank.py").write_text(TRAINED.format(limit=2_000))
    words = ("--people", "many.csv", "--model", "bank:model")
    assert run("fit", "loan.yaml", *words, "--out", "learned", "--budget", "200").code == 0
    same = run("recommend", "learned", *words)
    assert same.err == ""
    (folder / "bank.py").write_text(TRAINED.format(limit=5_000) + "# retrained\n")  # another size: no stale bytecode
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


def test_an_unwritable_file_is_reported(run, folder: Path) -> None:
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
        assert "/proc: no file can be written there" in unwritable.err, "before anything is asked"


def test_an_interrupted_fit_is_usable_and_resumes(run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from counterplan.surrogate.active_learning import ActiveLearner

    advance = ActiveLearner.advance

    def impatient(self):
        if self.round == 1:
            raise KeyboardInterrupt
        return advance(self)

    monkeypatch.setattr(ActiveLearner, "advance", impatient)
    words = ("fit", "german", "--out", "learned", "--budget", "1200")
    ran = run(*words)
    assert ran.code == 130
    assert "Interrupted in 1 round" in ran.out
    assert "--resume continues" in ran.err
    assert "3 people" in run("recommend", "learned", "--limit", 3).out
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    resumed = run(*words, "--resume")
    assert resumed.code == 0
    whole = run("fit", "german", "--out", "whole", "--budget", "1200")
    assert whole.out.splitlines()[0] == resumed.out.splitlines()[0]
    kept = [(folder / name / "surrogate.safetensors").read_bytes() for name in ("learned", "whole")]
    assert kept[0] == kept[1]


def test_finished_plans_survive_an_interrupt(run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recommending, "CHUNK", 1)
    calls = 0
    plan = ExactPlanner.plan

    def impatient(self, *arguments, **settings):
        nonlocal calls
        calls += 1
        if calls == 3:
            raise KeyboardInterrupt
        return plan(self, *arguments, **settings)

    monkeypatch.setattr(ExactPlanner, "plan", impatient)
    ran = run("recommend", "german", "--planner", "exact", "--json", "kept.json")
    assert ran.code == 130
    assert "2 of 78 people" in ran.err
    assert len(Plans.from_json((folder / "kept.json").read_text())) == 2


def test_finished_plans_survive_a_model_that_fails(run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recommending, "CHUNK", 1)
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
def fit_once(run, bank: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Fits, and gives a folder with the results; other tests that fit the same get a copy of them."""

    def fit(model: str, *more: str) -> Path:
        kept = tmp_path_factory.getbasetemp() / "fits" / "_".join([model, *more])
        if not kept.exists():
            assert run(*fit_words(model, *more)).code == 0
            (bank / "asked").unlink(missing_ok=True)
            shutil.copytree(bank / "learned", kept)
        shutil.rmtree(bank / "learned", ignore_errors=True)
        shutil.copytree(kept, bank / "learned")
        return bank / "learned"

    return fit


@pytest.fixture
def learned(fit_once) -> Path:
    return fit_once("bank:decide")


PLANNED = ("--people", "many.csv", "--model", "bank:decide")


def killed(folder: Path, *words: str, asked: int = 3) -> int:
    """Run a command whose model is slow, and kill it; gives how many answers it got."""
    process = subprocess.Popen([*COMMAND, *words], cwd=folder, env=os.environ | TESTS | {"PAUSE": "0.03"})
    rows: list[int] = []
    deadline = time.monotonic() + 60
    while len(rows) < asked and time.monotonic() < deadline:
        time.sleep(0.01)
        rows = [int(row) for row in (folder / "asked").read_text().split()] if (folder / "asked").exists() else []
    process.kill()
    process.wait()
    assert len(rows) >= asked
    return sum(rows[:-1])


def test_resuming_with_another_model_is_refused_and_loses_no_answer(run, bank: Path) -> None:
    killed(bank, *fit_words("bank:slow"))
    before = contents(bank / "learned")
    assert set(before) == {"answers.unfinished.csv"}
    plain = run(*fit_words("bank:slow"))
    assert "--answers learned/answers.unfinished.csv reuses its queries" in plain.err
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
    assert "so learned is unchanged" in ran.err
    after = contents(learned)
    assert after.pop("answers.unfinished.csv")
    assert after == before


def test_a_model_without_answers_is_reported(run, learned: Path) -> None:
    before = contents(learned)
    ran = run(*fit_words("bank:silent", "--force"))
    assert "is unchanged" in ran.err
    assert "answers.unfinished.csv" not in ran.err
    assert contents(learned) == before
    fresh = run(*fit_words("bank:silent"), "--out", "fresh")
    assert "returned no answer" in fresh.err
    assert "kept" not in fresh.err


def test_a_model_that_grants_nothing_needs_people_with_a_favourable_decision(run, bank: Path) -> None:
    ran = run(*fit_words("bank:nobody"), "--budget", "1000")
    assert ran.code == 0, ran.err
    assert "add people with a favourable decision" in ran.err
    assert "who were refused" not in ran.err


def test_kill_9_while_planning_loses_next_to_nothing(run, bank: Path, fit_once) -> None:
    fit_once("bank:slow")
    MANY.assign(income=MANY["income"] + 7).to_csv(bank / "others.csv", index=False)
    words = ("recommend", "learned", "--people", "others.csv", "--model", "bank:slow")
    answered = killed(bank, *words)
    assert answered
    assert (bank / "learned" / "answers.unfinished.csv").exists()
    problem = Problem.load("loan.yaml")
    left = len(LabelledStates.load(bank / "learned" / "answers.unfinished.csv", problem))
    assert left
    kept = len(LabelledStates.load(bank / "learned" / "answers.csv.gz", problem))
    (bank / "asked").unlink()
    assert run(*words).code == 0
    asked = sum(int(rows) for rows in (bank / "asked").read_text().split())
    assert not (bank / "learned" / "answers.unfinished.csv").exists()
    assert len(LabelledStates.load(bank / "learned" / "answers.csv.gz", problem)) == kept + left + asked


def test_answers_are_saved_however_planning_ends(run, learned: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    MANY.assign(income=MANY["income"] + 7).to_csv("others.csv", index=False)
    answers = learned / "answers.csv.gz"
    before = len(LabelledStates.load(answers, Problem.load("loan.yaml")))

    def fail(*_: object, **__: object) -> None:
        raise SettingError("something else")

    monkeypatch.setattr("counterplan.planners.base.Plans.from_columns", fail)
    assert run("recommend", "learned", "--people", "others.csv", "--model", "bank:decide").code == 2
    assert len(LabelledStates.load(answers, Problem.load("loan.yaml"))) > before
    assert not (learned / "answers.unfinished.csv").exists()


def test_a_fit_with_other_costs_needs_no_query(run, learned: Path) -> None:
    (learned.parent / "loan.yaml").write_text(LOAN.replace("cost: 2", "cost: 3"))
    ran = run(*fit_words("bank:decide", "--resume"))
    assert ran.code == 2
    assert "was fitted to another problem" in ran.err
    assert "--answers learned/answers.csv.gz reuses its queries" in ran.err
    again = run(*fit_words("bank:decide", "--force", "--answers", "learned/answers.csv.gz"))
    assert again.code == 0, again.err


DYING = """
import os, signal, sys
from pathlib import Path
from counterplan.distillation import distiller
from counterplan.cli import main
where, replace = sys.argv.pop(1), os.replace
def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)
if hasattr(distiller, where):
    setattr(distiller, where, die)
os.replace = lambda old, new: die() if Path(new).name == where else replace(old, new)
main()
"""
"""Kills itself in a step of distilling, or just before a file is there under its name."""


def distil_words(*more: str, folder: str = "learned") -> tuple[str, ...]:
    return "distil", folder, "--people", "others.csv", "--model", "bank:slow", "--traces", "60", "--rounds", "1", *more


def test_kill_9_while_distilling_leaves_what_was_there(run, bank: Path, fit_once) -> None:
    MANY.assign(income=MANY["income"] + 7).to_csv(bank / "others.csv", index=False)
    fit_once("bank:slow")
    shutil.copytree(bank / "learned", bank / "fitted")
    shutil.copytree(bank / "learned", bank / "whole")
    assert run(*distil_words(folder="whole")).code == 0
    whole = contents(bank / "whole")
    assert run(*distil_words("--seed", "1", folder="fitted")).code == 0
    before = contents(bank / "fitted")
    assert before["program.json"] != whole["program.json"]
    for where in ("demonstrate", "answers.csv.gz", "program.json"):
        shutil.rmtree(bank / "learned")
        shutil.copytree(bank / "fitted", bank / "learned")
        ran = subprocess.run([sys.executable, "-c", DYING, where, *distil_words()], cwd=bank)
        assert ran.returncode == -signal.SIGKILL
        after = {name: data for name, data in contents(bank / "learned").items() if not name.startswith(".")}
        after.pop("answers.unfinished.csv", None)
        assert set(after) == set(before)
        changed = {name for name in after if after[name] != before[name]}
        assert changed <= {"answers.csv.gz"}, "the program of before, and what it was made from, is whole"
        assert run(*distil_words()).code == 0
        assert (bank / "learned" / "program.json").read_bytes() == whole["program.json"], "as if nothing had happened"
        assert not (bank / "learned" / "answers.unfinished.csv").exists()


def test_kill_9_while_a_program_is_tried_loses_next_to_nothing(run, bank: Path, fit_once) -> None:
    MANY.assign(income=MANY["income"] + 7).to_csv(bank / "others.csv", index=False)
    fit_once("bank:slow")
    assert killed(bank, *distil_words(), asked=2)
    problem = Problem.load("loan.yaml")
    left = len(LabelledStates.load(bank / "learned" / "answers.unfinished.csv", problem))
    kept = len(LabelledStates.load(bank / "learned" / "answers.csv.gz", problem))
    assert left
    assert not (bank / "learned" / "program.json").exists()
    (bank / "asked").unlink()
    assert run(*distil_words()).code == 0
    asked = sum(int(rows) for rows in (bank / "asked").read_text().split())
    assert len(LabelledStates.load(bank / "learned" / "answers.csv.gz", problem)) == kept + left + asked


@pytest.mark.parametrize("name", ["surrogate.json", "surrogate.safetensors", "problem.json", "learning.jsonl"])
def test_a_damaged_surrogate_is_restored_from_its_checkpoint(run, learned: Path, name: str) -> None:
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


@pytest.mark.parametrize("name", ["agent.json", "agent.safetensors"])
def test_a_damaged_agent_is_restored_from_its_checkpoint(run, learned: Path, fit_once, name: str) -> None:
    search = ("--resume", "--method", "search", "--budget", "60")
    fit_once("bank:decide", *search)
    before = contents(learned)
    (learned / name).write_bytes(before[name][:-20])
    for words in (fit_words("bank:decide", "--resume"), ("recommend", "learned", *PLANNED)):
        ran = run(*words)
        assert ran.code == 2
        assert f"learned/{name}" in ran.err or f", {name}: damaged" in ran.err
        assert "'counterplan fit --method search' with --resume restores it" in ran.err
    ran = run(*fit_words("bank:decide", *search))
    assert ran.code == 0, ran.err
    after = contents(learned)
    assert {file: after[file] for file in ("agent.json", "agent.safetensors", "surrogate.json")} == {
        file: before[file] for file in ("agent.json", "agent.safetensors", "surrogate.json")
    }
    (learned / name).write_bytes(b"")
    (learned / "training.npz").unlink()
    ran = run(*fit_words("bank:decide", *search))
    assert ran.code == 2
    assert "or with --force starts again" in ran.err
    assert run(*fit_words("bank:decide", *search[1:], "--force")).code == 0
    assert run("recommend", "learned", *PLANNED, "--planner", "search").code == 0


@pytest.mark.parametrize("target", ["bank.py/plans.EXT", "nowhere/plans.EXT", "/proc/plans.EXT", "taken.EXT"])
def test_an_unwritable_output_is_reported_before_any_query(run, folder: Path, target: str) -> None:
    if target.startswith("/proc") and not Path("/proc/self").exists():
        pytest.skip("every folder can be written to here")
    (folder / "bank.py").write_text("def asked(people):\n    raise RuntimeError('asked')\n")
    problem = Problem.load("loan.yaml")
    begin, stop = Leaf((Choice(0),)), Leaf((Choice(problem.transitions.stop),))
    Program(problem, {"INTERVENE": begin, "EARN": stop}).save("program.json")
    commands = [("recommend", "loan.yaml", "--people", "people.csv", "--model", "bank:asked")] * 2
    commands.append(("export", "program.json"))
    for words, switch, ending in zip(commands, ("--json", "--csv", "--to"), ("json", "csv", "html"), strict=True):
        path = target.replace("EXT", ending)
        (folder / f"taken.{ending}").mkdir()
        before = sorted(folder.rglob("*"))
        ran = run(*words, switch, path)
        assert ran.code == 2
        assert path in ran.err or "/proc: no file can be written there" in ran.err
        assert any(way in ran.err for way in ("there is no folder", "cannot be written", "no file can be written"))
        assert sorted(folder.rglob("*")) == before


def test_plans_are_shown_even_if_they_cannot_be_written(run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("counterplan.storage.files.os.replace", full)
    words = ("recommend", "loan.yaml", "--people", "people.csv", "--model", "bank:decide")
    ran = run(*words, "--json", "plans.json", "--csv", "plans.csv")
    assert ran.code == 2
    assert "3 people: 2 found, 1 already favourable." in ran.out
    assert [line.split(": ")[-2:] for line in ran.err.splitlines()] == [
        ["cannot be written", os.strerror(errno.ENOSPC)]
    ] * 2
    assert not [path for path in folder.iterdir() if "plans" in path.name], "no half-written file is left"


def test_only_regular_files_are_replaced(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    (folder / "link").symlink_to("plans.json")
    with pytest.raises(CounterplanError, match="pipe: cannot be written: it exists and is not a regular file"):
        write_whole(folder / "pipe", "text")
    write_whole(folder / "link", "text")
    assert (folder / "link").is_symlink()
    assert (folder / "plans.json").read_text() == "text"


def test_messages_about_damage_name_the_way_out(run, learned: Path) -> None:
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


def test_asking_again_without_a_query_replaces_nothing(run, learned: Path) -> None:
    before = contents(learned)
    words = ("recommend", "learned", "--people", "many.csv", "--model", "bank:decide")
    ran = run(*words, "--ask-again", "--budget", "0")
    assert ran.code == 0
    assert "No query was sent, so the answers in learned are unchanged" in ran.err
    assert contents(learned) == before
    assert run(*words, "--price", "0").code == 0
    wrong = run(*words, "--price", "1", "--planner", "exact")
    assert wrong.code == 2
    assert "'price' applies to the planners 'auto' and 'guided' and to cascades" in wrong.err


def test_distil_reports_an_unwritable_folder_before_any_query(run, learned: Path) -> None:
    (learned.parent / "bank.py").write_text("def decide(people):\n    raise RuntimeError('queried')\n")
    (learned / "program.json").mkdir()
    before = sorted(learned.rglob("*"))
    ran = run("distil", "learned", *PLANNED)
    assert ran.code == 2
    assert "program.json: cannot be written" in ran.err
    assert sorted(learned.rglob("*")) == before


def test_other_costs_need_no_new_fit(run, learned: Path) -> None:
    (learned.parent / "costly.yaml").write_text(LOAN.replace("cost: 2", "cost: 30"))
    before = contents(learned)
    ran = run("recommend", "learned", *PLANNED, "--problem", "costly.yaml", "--person", 18, "--json", "plans.json")
    assert ran.code == 0, ran.err
    assert ran.err == ""
    after = contents(learned)
    assert {name for name in before if after[name] != before[name]} <= {"answers.csv.gz"}
    assert Plans.from_json(Path("plans.json").read_text())[0].cost > 30
    (learned.parent / "other.yaml").write_text(LOAN.replace("none, clerk", "nothing, clerk"))
    ran = run("recommend", "learned", *PLANNED, "--problem", "other.yaml")
    assert ran.code == 2
    assert "only costs, limits, conditions and actions may change" in ran.err or "nothing" in ran.err
