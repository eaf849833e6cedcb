"""External benchmarks and planners: run, resumed, reported and rejected like built-in ones."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from rows_by_hand import TINY, by_hand

from counterplan import CounterplanError
from counterplan.batch import engines
from counterplan.benchmarks.registry import load_benchmark
from counterplan.experiments import cells, figures, report
from counterplan.experiments.budgets import query_usage
from counterplan.experiments.cells import Cell, fingerprint
from counterplan.experiments.drawing import ReportFigure, report_style
from counterplan.experiments.findings import findings
from counterplan.experiments.folder import options_in
from counterplan.experiments.rows import ExperimentRows
from counterplan.experiments.settings import FIRST_SEED, ExperimentOptions, ExperimentSettings, planner_class
from counterplan.experiments.tables import all_tables
from counterplan.plugins import source_of

KINDS = dict(cells._KINDS)
MODULE = """
import numpy as np
import pandas as pd

from counterplan import ExactPlanner, Problem
from counterplan.benchmarks import Benchmark
from counterplan.benchmarks.models import RuleModel

PROBLEM = '''
counterplan: 1
name: phone
max_actions: 2
outcome: {column: contract, values: [granted, refused], favourable: granted}
features:
  age: {kind: number, integer: true, protected: true, bins: auto}
  income: {kind: number, minimum: 0, bins: auto}
functions:
  EARN: {add: income, arguments: [100, 400], cost: {base: [5, 16]}}
'''


def phone(seed):
    random = np.random.default_rng(seed)
    with open("phone.yaml", "w") as file:
        file.write(PROBLEM)
    problem = Problem.load("phone.yaml")
    rule = RuleModel(problem, "income >= 1000")
    people = pd.DataFrame({"age": random.integers(18, 80, 200), "income": random.integers(400, 1600, 200) * 1.0})
    people["contract"] = rule.labels(people)
    return Benchmark("phone", seed, problem, rule, people.iloc[:120], people.iloc[120:])


class Mine(ExactPlanner):
    name = "mine"


class Needs(ExactPlanner):
    requires = ("surrogate",)

    def __init__(self, problem, box, surrogate):
        super().__init__(problem, box)
        assert len(surrogate.logit(problem.read(phone(0).test).states)) == 80


class Unknown(ExactPlanner):
    requires = ("oracle",)


class Breaks(ExactPlanner):
    def search(self, *what):
        raise ZeroDivisionError("oh")


def wrong(seed):
    return seed


def fails(seed):
    raise RuntimeError("no people today")


seven = 7
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a module, which a package offers too; of counterplan's own cells only the people are done."""
    (tmp_path / "phones.py").write_text(MODULE)
    info = tmp_path / "phones-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: phones\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[counterplan.benchmarks]\nphone = phones:phone\ngerman = phones:wrong\nbroken = phones:gone\n"
        "[counterplan.planners]\nmine = phones:Mine\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "phones", raising=False)
    source_of.cache_clear()
    monkeypatch.setattr(cells, "_KINDS", {"people": cells._KINDS["people"]})
    blank = {
        name: ReportFigure(name, name, "", b"", "<svg ></svg>") for _, _, names, _ in report.SECTIONS for name in names
    }
    monkeypatch.setattr(report, "all_figures", lambda rows: blank)
    return tmp_path


@pytest.fixture
def in_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells run in threads of this process, which imported everything already."""
    monkeypatch.setattr(engines, "ProcessPoolExecutor", lambda jobs, **_: ThreadPoolExecutor(jobs))


@pytest.mark.usefixtures("in_threads")
def test_a_planner_gets_what_it_requires(here: Path, run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ExperimentSettings, "of", classmethod(lambda cls, options: replace(TINY, people=20)))
    monkeypatch.setattr(cells, "_KINDS", {kind: KINDS[kind] for kind in ("people", "surrogate")})
    ran = run("experiment", *words("phones:phone", "phones:Needs"))
    assert ran.code == 0, ran.err
    rows = ExperimentRows.read(here / "out")
    assert rows.results["method"].value_counts().to_dict() == {"exact": 20, "phones:Needs": 20}
    usage = query_usage(rows)["phones:phone", "phones:Needs"]
    assert usage.training.mean > 0, "the queries of the surrogate are its own"
    ran = run("experiment", *words("phones:phone", "phones:Unknown"), "--out", "other")
    assert ran.code != 0
    assert "requires 'oracle', which does not exist" in ran.err + ran.out


def words(benchmark: str, *planners: str) -> list[str]:
    return ["--out", "out", "--quick", "--jobs", "1", "--benchmarks", benchmark, "--planners", ",".join(planners)]


@pytest.mark.parametrize(("benchmark", "planner"), [("phones:phone", "phones:Mine"), ("phone", "mine")])
def test_a_benchmark_and_a_planner_of_ones_own_run_in_processes(here: Path, run, benchmark: str, planner: str) -> None:
    ran = run("experiment", *words(benchmark, planner))
    assert ran.code == 0, ran.err
    results = ExperimentRows.read(here / "out").results
    assert set(results["benchmark"]) == {benchmark}
    assert results["method"].value_counts().to_dict() == {"exact": 20, planner: 20}
    exact, mine = (results[results["method"] == method].reset_index() for method in ("exact", planner))
    assert mine["cost"].equals(exact["cost"])
    page = (here / "out" / "report.html").read_text()
    assert f"<dt>{planner}</dt>" in page
    assert all(planner in (here / "out" / "tables" / f"{key}.csv").read_text() for key in ("everybody", "questions"))
    assert options_in(here / "out") == ExperimentOptions((benchmark,), (FIRST_SEED,), quick=True, planners=(planner,))
    assert not list((here / "out").rglob("*:*")), "a name that not every system takes"
    before = {path: path.stat().st_mtime_ns for path in (here / "out" / "cells").iterdir()}
    assert len(before) == 2
    assert run("experiment", "--out", "out", "--resume", "--jobs", "1").code == 0
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_what_others_changed_is_not_believed(here: Path) -> None:
    def prints() -> list[str]:
        source_of.cache_clear()
        told = (("phone", "people"), ("german", "plan-mine"), ("german", "people"))
        return [fingerprint(Cell(name, 0, kind), ExperimentSettings()) for name, kind in told]

    before = prints()
    assert prints() == before
    (here / "phones.py").write_text(MODULE + "\n# changed\n")
    assert [one == other for one, other in zip(before, prints(), strict=True)] == [False, False, True]


@pytest.mark.usefixtures("in_threads")
@pytest.mark.parametrize(
    ("benchmark", "planner", "message"),
    [
        ("phon", "mine", "there is no benchmark 'phon'; did you mean 'phone'"),
        ("phones:fone", "mine", "the benchmark 'phones:fone': module 'phones' has no attribute 'fone'"),
        ("fones:phone", "mine", "cannot import module 'fones'"),
        ("phones:seven", "mine", "is not a function from a seed to a Benchmark"),
        ("phones:wrong", "mine", "the benchmark 'phones:wrong' returns 'int', not a counterplan.benchmarks.Benchmark"),
        ("phones:fails", "mine", f"fails with seed {FIRST_SEED}: RuntimeError: no people today"),
        ("broken", "mine", "the benchmark 'broken' is offered as phones:gone, which fails"),
        ("../phone", "mine", "'../phone' is neither the name of a benchmark nor MODULE:NAME"),
        ("phone", "min", "there is no planner 'min'; did you mean 'mine'?; installed packages offer mine"),
        ("phone", "phones:phone", "the planner 'phones:phone' is not a subclass of counterplan.Planner"),
        ("phone", "search", "the planner 'search' is counterplan's own"),
        ("phone", "mine,mine", "named twice"),
        ("phone", "phones:Breaks", "phones:Breaks fails: ZeroDivisionError: oh"),
    ],
)
def test_errors_name_the_external_benchmark_or_planner(
    here: Path, run, benchmark: str, planner: str, message: str
) -> None:
    ran = run("experiment", *words(benchmark, planner))
    assert ran.code == 2
    assert message in " ".join(ran.err.split())


def test_our_own_names_cannot_be_taken(here: Path) -> None:
    assert load_benchmark("german", 0).name == "german"
    assert load_benchmark("phone", 0).name == "phone"
    with pytest.raises(CounterplanError, match="counterplan's own"):
        planner_class("exact")


def test_the_report_covers_an_external_benchmark_and_method() -> None:
    """All tables, sentences and figures, with the rows of german under another name and search under one more."""
    rows = by_hand()
    tables = {name: getattr(rows, name) for name in vars(rows)}
    for name in ("results", "queries", "timing"):
        theirs = tables[name][tables[name]["method"] == "search"].assign(method="theirs")
        tables[name] = pd.concat([tables[name], theirs], ignore_index=True)
    others = {name: table.assign(benchmark="phone") for name, table in tables.items()}
    both = ExperimentRows(**{name: pd.concat([tables[name], others[name]], ignore_index=True) for name in tables})
    for some, names in ((ExperimentRows(**others), {"phone"}), (both, {"german", "phone"})):
        made = all_tables(some)
        everybody = {heading: {row[0]: row[1:6] for row in body} for heading, body in made["everybody"].sections}
        assert set(everybody) == names
        assert everybody["phone"]["theirs"] == everybody["phone"]["search"]
        assert [row[0] for _, body in made["targets"].sections for row in body] == ["german"] * 2 * ("german" in names)
        assert findings(some)
        assert "<dt>theirs</dt>" in report._methods(some)
    with report_style():
        for spec in figures.FIGURES:
            spec.draw(both)
    alone = " ".join(findings(ExperimentRows(**others)))
    assert "published" not in alone
    assert "expected values of" not in alone
