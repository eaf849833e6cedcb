"""`counterplan check --data`: doubts with lines, as text and JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

GRAPH = "causes:\n  - {from: income, to: job}\n"


@pytest.fixture
def questioned(folder: Path) -> Path:
    """A folder whose problem says that incomes cause jobs, and people whose jobs cause incomes."""
    (folder / "graph.yaml").write_text((folder / "loan.yaml").read_text() + GRAPH)
    random = np.random.default_rng(0)
    job = random.integers(0, 3, 1_500)
    income = np.array([900.0, 2_000.0, 5_000.0])[job] + 300 * random.normal(size=1_500)
    names = np.array(["none", "clerk", "manager"])
    table = pd.DataFrame({"income": income.round(), "job": names[job], "town": random.integers(0, 9, 1_500)})
    table.to_csv(folder / "table.csv", index=False)
    return folder


def test_doubts_have_lines_and_do_not_fail(run, questioned: Path) -> None:
    pytest.importorskip("causallearn")
    line = (questioned / "graph.yaml").read_text().splitlines().index("  - {from: income, to: job}") + 1
    ran = run("check", "graph.yaml", "--data", "table.csv", "--seed", "1")
    assert (ran.code, ran.err) == (0, "")
    assert f"doubt: graph.yaml:{line}: causes[0]: income → job may point the wrong way: job → income" in ran.out
    assert "1 doubt from 1,500 people" in ran.out.splitlines()[-1]
    assert ran.out == run("check", "graph.yaml", "--data", "table.csv", "--seed", "1").out


def test_doubts_as_json_have_the_numbers(run, questioned: Path) -> None:
    pytest.importorskip("causallearn")
    ran = run("check", "graph.yaml", "--data", "table.csv", "--json")
    found = json.loads(ran.out)
    assert (ran.code, found["ok"], found["people"]) == (0, True, 1_500)
    assert [note[:16] for note in found["notes"]] == ["these are doubts"]
    (doubt,) = found["doubts"]
    assert (doubt["kind"], doubt["edges"], doubt["place"]) == ("direction", [["income", "job"]], ["causes", 0])
    assert doubt["gain"] > 4.6
    assert doubt["recurs"] >= 0.8
    assert doubt["people"] == 1_500
    assert "doubts" not in json.loads(run("check", "graph.yaml", "--json").out)


def test_without_the_extra(run, questioned: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("causallearn", "causallearn.utils", "causallearn.utils.cit"):
        monkeypatch.setitem(sys.modules, name, None)
    ran = run("check", "graph.yaml", "--data", "table.csv")
    assert ran.code == 2
    assert "needs causal-learn; pip install 'counterplan[causal]'" in ran.err
    assert run("check", "graph.yaml").code == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--alpha", "0.1"), "give people by --data"),
        (("--share", "0.1"), "give people by --data"),
        (("--data", "none.csv"), "none.csv"),
        (("--data", "table.csv", "--alpha", "2"), "alpha"),
        (("--data", "table.csv", "--share", "0"), "share"),
        (("--data", "table.csv", "--share", "0.5"), "table.csv: share needs the outcomes"),
        (("--data", "bad.csv"), "bad.csv: "),
        (("--data", "half.csv"), "half.csv: "),
    ],
)
def test_mistakes(run, questioned: Path, words: tuple[str, ...], message: str) -> None:
    pytest.importorskip("causallearn")
    (questioned / "bad.csv").write_text("income,job\n10,pilot\n")
    (questioned / "half.csv").write_text("income\n10\n")
    ran = run("check", "graph.yaml", *words)
    assert ran.code == 2
    assert message in ran.err


def test_files_with_errors_are_not_questioned(run, questioned: Path) -> None:
    (questioned / "broken.yaml").write_text(
        (questioned / "graph.yaml").read_text().replace("from: income", "from: wage")
    )
    ran = run("check", "broken.yaml", "--data", "table.csv")
    assert ran.code == 2
    assert "wage" in ran.err
    assert "doubt" not in ran.out
