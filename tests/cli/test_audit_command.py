"""`counterplan audit`: the summary, the files, continuing, and messages."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pandas as pd
import pytest

from loans import IMPATIENT, MANY

WORDS = ("audit", "loan.yaml", "--people", "many.csv", "--model", "bank:decide", "--out", "out")
STRICTER = """
def stricter(people):
    return ["yes" if row.income >= 3000 and row.job == "manager" else "no" for row in people.itertuples()]
"""


@pytest.fixture
def bank(folder: Path) -> Path:
    """A folder with 60 people, two thirds of whom are refused, and a stricter model."""
    MANY.assign(region=["north", "south", "south"] * 20).to_csv(folder / "many.csv", index=False)
    (folder / "bank.py").write_text((folder / "bank.py").read_text() + STRICTER)
    return folder


def test_it_prints_a_summary_and_writes_files(run, bank: Path) -> None:
    ran = run(*WORDS, "--group", "job", "--group", "job*region", "--indispensable")
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert lines[0] == "Audit of model 'bank:decide' on loan: 60 people."
    assert "provably have none" in ran.out
    assert "job × region: clerk × north" in ran.out
    assert lines[-1] == "Wrote out/report.html, tables and data."
    data = json.loads((bank / "out" / "audit.json").read_text())
    assert data["summary"]["unknown"] == 0
    assert data["summary"]["people"] == 60
    rows = list(csv.DictReader((bank / "out" / "outcomes.csv").open()))
    people = pd.read_csv("many.csv")
    for row, income, job in zip(rows, people["income"], people["job"], strict=True):
        accepted = income >= 2000 and job != "none"
        reachable = income >= (0 if job != "none" else 1000)
        assert row["outcome"] == ("favourable" if accepted else "recourse" if reachable else "none")
    assert "<h1>" in (bank / "out" / "report.html").read_text()


def test_two_models_and_a_limit(run, bank: Path) -> None:
    ran = run(*WORDS, "--against", "bank:stricter", "--limit", 45, "--group", "region")
    assert ran.code == 0
    assert "45 people" in ran.out
    assert "With model 'bank:stricter'" in ran.out
    assert (bank / "out" / "comparison.csv").exists()


def test_one_model_with_two_thresholds(run, bank: Path) -> None:
    source = (bank / "bank.py").read_text()
    (bank / "bank.py").write_text(f"{source}\ndef score(people):\n    return people['income'].to_numpy() / 4000\n")
    words = [word.replace("decide", "score") for word in WORDS]
    ran = run(*words, "--threshold", 0.4, "--against", "bank:score", "--against-threshold", 0.9)
    assert (ran.code, ran.err) == (0, "")
    people = pd.read_csv("many.csv")
    between = ((people["income"] >= 1600) & (people["income"] < 3600)).sum()
    comparison = pd.read_csv(bank / "out" / "comparison.csv")
    assert comparison["newly_refused"].iloc[0] == between > 0
    assert "'bank:score' at a threshold of 0.4 against model 'bank:score' at a threshold of 0.9" in ran.out


def test_an_interrupted_audit_continues(run, bank: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("counterplan.audit.audit.CHUNK", 20)
    source = (bank / "bank.py").read_text()
    (bank / "bank.py").write_text(source + IMPATIENT.format(rows=200, error="KeyboardInterrupt"))
    words = [*WORDS]
    words[5] = "bank:impatient"
    ran = run(*words)
    assert ran.code == 130
    assert "Interrupted: finished parts are in out; run the command again with --resume" in ran.err
    assert 1 <= len(list((bank / "out" / "parts").iterdir())) <= 2
    assert run(*words).code == 2
    import bank as module  # type: ignore[import-not-found]

    module.rows = -10_000
    ran = run(*words, "--resume")
    assert ran.code == 0
    assert "60 people" in ran.out


def test_an_interrupt_before_the_first_part_is_said(run, bank: Path) -> None:
    source = (bank / "bank.py").read_text()
    (bank / "bank.py").write_text(source + IMPATIENT.format(rows=0, error="KeyboardInterrupt"))
    ran = run(*[word.replace("bank:decide", "bank:impatient") for word in WORDS])
    assert (ran.code, ran.err.strip()) == (130, "Interrupted.")


def test_the_same_model_twice_is_announced(run, bank: Path) -> None:
    ran = run(*WORDS, "--against", "bank:decide", "--relaxations", 0)
    assert ran.code == 0
    assert ran.err.startswith("Note: the other model is the same, with the same threshold")
    assert "UserWarning" not in ran.err
    assert (bank / "out" / "comparison.csv").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((*WORDS, "--group", "jobb"), "no column 'jobb' to group people by; did you mean 'job'?"),
        ((*WORDS, "--level", "2"), "'level'"),
        ((*WORDS, "--resume", "--force"), "use one of them"),
        ((*WORDS, "--survival", "high"), "survival"),
        ((*WORDS, "--against", "bank:nothing"), "nothing"),
        ((*WORDS, "--against-threshold", "0.5"), "name that model with --against"),
        (("audit", "loan.yaml", "--people", "many.csv", "--out", "out"), "--model"),
        (("audit", "loan.yaml", "--model", "bank:decide", "--out", "out"), "--people"),
        (("audit", "german", "--out", "german"), "that is a benchmark's name"),
        ((*WORDS[:-1], "many.csv"), "many.csv"),
    ],
)
def test_mistakes_are_messages(run, bank: Path, words: tuple[str, ...], message: str) -> None:
    ran = run(*words)
    assert ran.code == 2
    assert message in ran.err
    assert not (bank / "out" / "report.html").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--survival", "high", "--survival-at-least", "0.5"), "not both"),
        (("--resume",), "out: holds no audit to resume; leave --resume out"),
    ],
)
def test_what_is_refused_at_once_leaves_no_folder(run, bank: Path, options: tuple[str, ...], message: str) -> None:
    ran = run(*WORDS, *options)
    assert ran.code == 2
    assert message in ran.err
    assert not (bank / "out").exists()


def test_an_audit_that_failed_at_once_is_started_again(run, bank: Path) -> None:
    with open(bank / "bank.py", "a") as file:
        file.write("\ndef failing(people):\n    raise ConnectionError('down')\n")
    failed = run(*[word.replace("bank:decide", "bank:failing") for word in WORDS])
    assert failed.code == 2
    assert "--resume" not in failed.err
    assert run(*WORDS).code == 0


def test_a_used_folder_is_refused(run, bank: Path) -> None:
    (bank / "out").mkdir()
    (bank / "out" / "mine.txt").write_text("mine")
    ran = run(*WORDS)
    assert ran.code == 2
    assert "out: is not empty" in ran.err
    assert run(*WORDS, "--resume").code == 2
    assert run(*WORDS, "--force").code == 0
    assert (bank / "out" / "mine.txt").read_text() == "mine"
    changed = [*WORDS]
    changed[5] = "bank:stricter"
    ran = run(*changed, "--resume")
    assert ran.code == 2
    assert "something else: model" in ran.err
