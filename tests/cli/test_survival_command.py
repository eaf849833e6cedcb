"""`counterplan survival`: plans of a file under retrained models."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

RETRAINED = """
def stricter(people):
    return ["yes" if row.income >= 2000 and row.job == "manager" else "no" for row in people.itertuples()]

def offline(people):
    raise RuntimeError("offline")
"""
WORDS = ("survival", "plans.json", "--problem", "loan.yaml", "--model")


@pytest.fixture
def planned(run, folder: Path) -> Path:
    """A folder with plans for ann and bob; eve is accepted as she is."""
    (folder / "bank.py").write_text((folder / "bank.py").read_text() + RETRAINED)
    command = "recommend loan.yaml --people people.csv --model bank:decide --planner exact --json plans.json"
    assert run(*command.split()).code == 0
    return folder


def test_the_report_is_printed_and_written(run, planned: Path) -> None:
    ran = run(*WORDS, "bank:stricter", "--model", "bank:decide", "--model", "bank:offline", "--out", "held.csv")
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert lines[0] == "3 people, 1 retrained model."
    assert lines[1] == "2 plans: 0% hold on average; 0 under every model, 2 under none."
    assert lines[2] == "1 already favourable: 100% stays so on average; 1 under every model, 0 under none."
    assert lines[3] == "  model 'bank:stricter': 1 of 3 hold"
    assert lines[4] == "  model 'bank:decide': 3 of 3 hold; used for planning: not counted"
    assert "  model 'bank:offline': could not be checked: " in lines[5]
    assert lines[6] == "Wrote held.csv."
    rows = list(csv.DictReader((planned / "held.csv").open()))
    assert [row["model 'bank:stricter'"] for row in rows] == ["does not hold", "does not hold", "holds"]
    assert [row["checked"] for row in rows] == ["1", "1", "1"]
    assert run(*WORDS, "bank:stricter", "--out", "held.json").code == 0
    assert [person["held"] for person in json.loads((planned / "held.json").read_text())["people"]] == [0, 0, 1]


def test_scores_are_compared_with_the_threshold(run, planned: Path) -> None:
    for threshold, held in ((0.5, "3 of 3"), (0.9, "1 of 3")):
        assert f"'bank:score': {held} hold" in run(*WORDS, "bank:score", "--threshold", threshold).out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("survival", "plans.json", "--problem", "loan.yaml"), "--model"),
        (("survival", "plans.json", "--model", "bank:decide"), "pass problem="),
        (("survival", "none.json", "--problem", "loan.yaml", "--model", "bank:decide"), "none.json"),
        (("survival", "people.csv", "--problem", "loan.yaml", "--model", "bank:decide"), ".json and .parquet"),
        (("survival", "held.json", "--problem", "loan.yaml", "--model", "bank:decide"), "not plans of counterplan"),
        ((*WORDS, "bank:nobody"), "nobody"),
        ((*WORDS, "bank:decide", "--out", "held.txt"), ".csv or .json"),
        ((*WORDS, "bank:decide", "--out", "nowhere/held.csv"), "nowhere"),
        (("survival", "plans.json", "--problem", "lone.yaml", "--model", "bank:decide"), "lone.yaml"),
    ],
)
def test_what_cannot_be_read_is_a_message(run, planned: Path, words: tuple[str, ...], message: str) -> None:
    (planned / "held.json").write_text("{}")
    ran = run(*words)
    assert ran.code == 2
    assert message in ran.err
    assert not ran.out
