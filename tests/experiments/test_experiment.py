"""A whole experiment on german, as small as it gets: through the command line, in processes of its own."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pandas as pd
import pytest
from rows_by_hand import TINY

from counterplan import BlackBox, Recourse, benchmarks
from counterplan.experiments import report
from counterplan.experiments.cells import cells_of
from counterplan.experiments.drawing import ReportFigure
from counterplan.experiments.folder import begin
from counterplan.experiments.methods import METHODS
from counterplan.experiments.rows import ExperimentRows
from counterplan.experiments.running import ExperimentRun
from counterplan.experiments.settings import ExperimentOptions, ExperimentSettings

OPTIONS = ExperimentOptions(("german",), (0,), people=6, quick=True)
WITHOUT_QUERIES = ("program", "policy", "paper_program", "paper_policy", "unsearched")
WORDS = ("--quick", "--benchmarks", "german", "--first-seed", "0", "--people", "6", "--jobs", "2")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an experiment that ran in two processes, without a report yet."""
    folder = tmp_path_factory.mktemp("experiment") / "out"
    begin(folder, OPTIONS, resume=False, force=False)
    ExperimentRun(OPTIONS, folder, TINY, 2, lambda progress: None).run().write(folder)
    return folder


@pytest.fixture(autouse=True)
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ExperimentSettings, "of", classmethod(lambda cls, options: TINY))


def test_has_a_row_for_each_person_and_method(finished: Path) -> None:
    results = pd.read_csv(finished / "results.csv")
    wanted = {method.name for method in METHODS}
    assert set(results["method"]) == wanted
    assert len(results) == 6 * len(wanted)
    assert not results.duplicated(["person", "method"]).any()
    good = results[results["success"]]
    assert (good["cost"] >= good["least_effort"] - 1e-6).all(), "nobody does better than the optimum"
    assert (results[results["method"].isin(WITHOUT_QUERIES)]["questions"] == 0).all()
    curves = pd.read_csv(finished / "curves.csv")
    assert set(zip(curves["method"], curves["knob"], curves["value"], strict=True)) == {
        ("paper_program", "traces", 10), ("paper_program", "traces", 30), ("guided", "budget", 0),
        ("guided", "budget", 2), ("search", "budget", 1), ("search", "budget", 3), ("exact", "budget", 1),
        ("exact", "budget", 20),
    }  # fmt: skip
    limited = curves[curves["knob"] == "budget"]
    assert (limited["questions"] <= limited["value"]).all()


def test_plans_are_judged_by_retrained_models(finished: Path) -> None:
    rows = ExperimentRows.read(finished).survival
    assert set(zip(rows["method"], rows["value"].fillna(-1), strict=True)) == {
        ("committee", 0), ("committee", 4), ("oracle", 0), ("oracle", 4), ("accepted", -1),
    }  # fmt: skip
    assert len(rows) == 5 * 6
    assert (rows["judged"] == 4).all()
    planned = rows[rows["method"] != "accepted"].pivot_table("held", "method", "value", "sum")
    assert planned.loc["oracle", 4] >= planned.loc["committee", 4]
    assert (planned[4] >= planned[0]).all()
    stated = rows[(rows["method"] == "oracle")]
    assert (stated["stated"] * 4 == stated["held"]).all(), "the oracle knows the judges"


def test_the_same_seed_gives_the_same_rows(finished: Path, tmp_path: Path) -> None:
    """The surrogate is learned and everybody planned for again, in one process instead of two."""
    again = tmp_path / "again"
    shutil.copytree(finished, again)
    kinds = ("agent", "program", "paper-agent", "unsearched-agent", "imitation")
    stays = {f"german-0-{kind}.json" for kind in kinds}
    for path in (again / "cells").iterdir():
        if path.name not in stays:
            path.unlink()
    shutil.rmtree(again / "learned" / "german-0" / "surrogate")
    begin(again, OPTIONS, resume=True, force=False)
    run = ExperimentRun(OPTIONS, again, TINY, 1, lambda progress: None)
    run.run().write(again)
    assert len(run.seconds) == len(cells_of(OPTIONS)) - len(stays)
    for path in finished.glob("*.csv"):
        if path.name != "timing.csv":
            assert path.read_bytes() == (again / path.name).read_bytes(), path.name


def test_resuming_a_finished_one_only_makes_the_report(finished: Path, run, monkeypatch: pytest.MonkeyPatch) -> None:
    blank = {
        name: ReportFigure(name, name, "", b"", "<svg ></svg>") for _, _, names, _ in report.SECTIONS for name in names
    }
    monkeypatch.setattr(report, "all_figures", lambda rows: blank)
    before = {path: path.stat().st_mtime_ns for place in ("cells", "learned") for path in (finished / place).rglob("*")}
    ran = run("experiment", "--out", finished, "--resume")
    assert ran.code == 0
    assert "report.html" in ran.out
    assert {path: path.stat().st_mtime_ns for path in before} == before
    text = (finished / "report.html").read_text()
    assert "A quick run" in text
    assert str(finished) not in text
    results = (finished / "results.csv").read_text()
    (finished / "report.html").unlink()
    assert run("experiment", "--out", finished, "--report-only").code == 0
    assert (finished / "report.html").read_text() == text
    assert (finished / "results.csv").read_text() == results


def test_what_was_learned_can_be_used(finished: Path) -> None:
    benchmark = benchmarks.load("german")
    recourse = Recourse.load(finished / "learned" / "german-0" / "program", BlackBox(benchmark.model))
    plans = recourse.recommend(benchmark.refused_test.head(6), "program", refused=True)
    results = pd.read_csv(finished / "results.csv", keep_default_na=False)
    assert ["; ".join(plan.actions) for plan in plans] == results[results["method"] == "program"]["actions"].tolist()
    origin = json.loads((finished / "learned" / "german-0" / "program" / "origin.json").read_text())
    assert origin == {"benchmark": "german", "seed": 0}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--out german", "that is a benchmark's name"),
        ("--out new --benchmarks germn", "there is no benchmark 'germn'; did you mean 'german'"),
        ("--out new --benchmarks syn,syn", "named twice"),
        ("--out new --resume", "there is no experiment to go on with"),
        ("--out new --resume --force", "exclude each other"),
        ("--out new --report-only", "results.csv: there is no such file"),
        ("--out file", "file: cannot be created as a folder"),
        ("--out used", "continue with --resume, or start again with --force"),
        ("--out used --resume --seeds 3", "was started with other options \\(seeds 0, not 0, 1, 2\\)"),
        ("--out used --resume --benchmarks adult", "--benchmarks german --first-seed 0 --people 6 --resume"),
        ("--out damaged --resume", "experiment.json: damaged"),
        ("--out new --seeds 0", "Invalid value for '--seeds'"),
    ],
)
def test_refuses_what_makes_no_sense(
    finished: Path, run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    (tmp_path / "used").symlink_to(finished)
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "experiment.json").write_text("[]")
    ran = run("experiment", *words.split())
    assert ran.code == 2
    assert re.search(message, ran.err), ran.err


def test_says_at_once_what_is_not_installed(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: None if name == "pymoo" else real(name, *more))
    ran = run("experiment", "--out", tmp_path / "out", *WORDS)
    assert ran.code == 2
    assert "needs pymoo; pip install 'counterplan[train,experiments]'" in ran.err


def test_the_report_shows_the_trace_of_one_person(finished: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(finished, tmp_path / "out")
    trace, rows = folder / "learned" / "german-0" / "imitation" / "trace.svg", ExperimentRows.read(folder)

    def page() -> str:
        report.write(folder, rows)
        return (folder / "report.html").read_text()

    assert "INTERVENE" in trace.read_text()
    assert page().count("data:image/svg+xml;base64,") == 1
    trace.write_text("<svg><script>alert(1)</script></svg>")
    assert "<script" not in page(), "a drawing is an image"
    trace.write_bytes(b"<svg>\xff</svg>")
    assert "One person’s trace" not in page(), "a damaged drawing is left out"
    trace.unlink()
    assert "One person’s trace" not in page()
