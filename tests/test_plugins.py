"""Planners of other packages: a class that is passed in, and one that a package offers by name."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest

from counterplan import ExactPlanner, NotFittedError, Planner, Problem, Recourse, SettingError, benchmarks
from counterplan.planners import registry
from counterplan.planners.registry import BUILT_IN, foreign_names, planner_class
from loans import LOAN, MANY

MODULE = """\
from counterplan import ExactPlanner, GuidedPlanner

class Other(ExactPlanner):
    name = "other"

class Careful(GuidedPlanner):
    name = "careful"  # requires a surrogate, as its base class does

class Odd(ExactPlanner):
    requires = ("oracle",)

no_planner = 7
"""


@pytest.fixture
def recourse(tmp_path: Path) -> Recourse:
    (tmp_path / "loan.yaml").write_text(LOAN)
    rich = lambda people: np.where(people["income"] >= 2000, "yes", "no")  # noqa: E731
    return Recourse(Problem.load(tmp_path / "loan.yaml"), rich)


def offer(folder: Path, monkeypatch: pytest.MonkeyPatch, package: str, **names: str) -> None:
    """Install a package that offers planners."""
    metadata = folder / f"{package}-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    points = "".join(f"{name} = {value}\n" for name, value in names.items())
    (metadata / "entry_points.txt").write_text(f"[counterplan.planners]\n{points}")
    (folder / f"{package}.py").write_text(MODULE)
    monkeypatch.delitem(sys.modules, package, raising=False)
    monkeypatch.syspath_prepend(folder)


def test_a_class_of_ones_own(recourse: Recourse) -> None:
    class Mine(ExactPlanner):
        name = "mine"

    planner = recourse.planner(Mine)
    assert isinstance(planner, Mine)
    assert planner.box is recourse.box
    plans = recourse.recommend(MANY, Mine)
    assert plans.plans == recourse.recommend(MANY, "exact").plans
    with pytest.raises(SettingError, match="price"):
        recourse.planner(Mine, price=1)
    with pytest.raises(SettingError, match="there is no planner"):
        recourse.planner(int)  # type: ignore[arg-type]


def test_a_planner_by_the_name_a_package_gives_it(recourse: Recourse, tmp_path: Path, monkeypatch) -> None:
    names = {"other": "strange:Other", "exact": "strange:Other", "seven": "strange:no_planner", "gone": "strange:gone"}
    offer(tmp_path, monkeypatch, "strange", **names)
    planner = recourse.planner("other")
    assert type(planner).__name__ == "Other"
    assert isinstance(planner, Planner)
    assert recourse.recommend(MANY, "other").plans == recourse.recommend(MANY, ExactPlanner).plans
    with pytest.warns(UserWarning, match=r"strange:Other cannot be used as planner 'exact'.*reserved"):
        assert type(recourse.planner("exact")) is ExactPlanner, "a built-in name stays built-in"
    assert foreign_names() == ["gone", "other", "seven"]
    with pytest.raises(SettingError, match=r"did you mean 'other'\?; there are .*evolution.*, seven"):
        recourse.planner("othr")
    with pytest.raises(SettingError, match="the planner 'seven' is not a subclass of"):
        recourse.planner("seven")
    with pytest.raises(SettingError, match=r"'gone' is offered as strange:gone, which fails: .*gone"):
        recourse.planner("gone")
    offer(tmp_path / "more", monkeypatch, "stranger", other="stranger:Other")
    with pytest.raises(SettingError, match="strange:Other and stranger:Other: uninstall one"):
        recourse.planner("other")


def test_the_command_line_knows_it_too(run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    offer(folder / "site", monkeypatch, "strangest", third="strangest:Other")
    ran = run("recommend", "loan.yaml", "--people", "people.csv", "--model", "bank:decide", "--planner", "third")
    assert ran.code == 0, ran.err
    assert "3 people: 2 found, 1 already favourable." in ran.out


def test_a_planner_of_another_package_may_require_a_surrogate(recourse: Recourse, tmp_path: Path, monkeypatch) -> None:
    offer(tmp_path, monkeypatch, "careful", careful="careful:Careful", odd="careful:Odd")
    message = r"planner 'careful' requires a surrogate: call fit\(people, method='guided'\) or run 'counterplan fit"
    with pytest.raises(NotFittedError, match=message):
        recourse.planner("careful")
    with pytest.raises(SettingError, match="requires 'oracle', which does not exist; there are surrogate"):
        recourse.planner("odd")
    recourse.surrogate_ = surrogate = lambda states: np.zeros(len(states))
    planner = recourse.planner("careful")
    assert planner.surrogate is surrogate
    assert recourse.recommend(MANY, type(planner)).counts["found"] > 0


def test_built_in_planners_are_entry_points_of_the_same_group() -> None:
    classes = {name: planner_class(name) for name in BUILT_IN}
    assert {name: planner.name for name, planner in classes.items()} == {name: name for name in BUILT_IN}
    assert {name: planner.requires for name, planner in classes.items() if planner.requires} == {
        "guided": ("surrogate",),
        "search": ("agent",),
        "policy": ("agent",),
        "program": ("program",),
        "card": ("card",),
    }


@pytest.mark.parametrize("points", [[], [EntryPoint("exact", "counterplan.planning:Moved", "counterplan.planners")]])
def test_outdated_metadata_are_named(recourse: Recourse, monkeypatch, points: list[EntryPoint]) -> None:
    monkeypatch.setattr(registry.PLANNERS.__class__, "points", lambda self, name: points)
    with pytest.raises(SettingError, match=r"'exact' is not in the metadata of the installed counterplan.*install"):
        recourse.planner("exact")


def test_names_that_are_configurations(recourse: Recourse) -> None:
    syn = benchmarks.load("syn")
    with pytest.raises(NotFittedError, match="planner 'cascade' requires an agent or a surrogate"):
        recourse.planner("cascade")
    with pytest.raises(NotFittedError, match="planner 'paper' requires an agent: call fit"):
        recourse.planner("paper")
    fitted = Recourse(syn.problem, syn.model)
    fitted.surrogate_ = lambda states: np.zeros(len(states))
    assert [planner.name for planner in fitted.planner("cascade+exact").planners] == ["guided", "exact"]
    assert fitted.planner("cascade", price=3).planners[0].settings.min_gain == 3
