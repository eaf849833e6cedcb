"""Planners from elsewhere: a class that is passed in, and one that a package offers by name."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from counterplan import ExactPlanner, PlanError, Planner, Problem, Recourse, SettingError
from loans import LOAN, MANY

MODULE = """\
from counterplan import ExactPlanner

class Other(ExactPlanner):
    name = "other"

no_planner = 7
"""


@pytest.fixture
def recourse(tmp_path: Path) -> Recourse:
    (tmp_path / "loan.yaml").write_text(LOAN)
    rich = lambda people: np.where(people["income"] >= 2000, "yes", "no")  # noqa: E731
    return Recourse(Problem.load(tmp_path / "loan.yaml"), rich)


def offer(folder: Path, monkeypatch: pytest.MonkeyPatch, package: str, **names: str) -> None:
    """Install a package that offers planners."""
    told = folder / f"{package}-1.0.dist-info"
    told.mkdir(parents=True)
    (told / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    points = "".join(f"{name} = {value}\n" for name, value in names.items())
    (told / "entry_points.txt").write_text(f"[counterplan.planners]\n{points}")
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
    assert recourse.recommend(MANY, "other").plans == recourse.recommend(MANY, "exact").plans
    assert type(recourse.planner("exact")) is ExactPlanner, "our own names stay our own"
    with pytest.raises(SettingError, match=r"did you mean 'other'\?; there are .*evolution.*, seven"):
        recourse.planner("othr")
    with pytest.raises(PlanError, match="'seven' is offered as strange:no_planner, which is no"):
        recourse.planner("seven")
    with pytest.raises(PlanError, match=r"'gone' is offered as strange:gone, which fails: .*gone"):
        recourse.planner("gone")
    offer(tmp_path / "more", monkeypatch, "stranger", other="stranger:Other")
    with pytest.raises(PlanError, match="strange:Other and stranger:Other: uninstall one"):
        recourse.planner("other")


def test_the_command_line_knows_it_too(run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    offer(folder / "site", monkeypatch, "strangest", third="strangest:Other")
    ran = run("recommend", "loan.yaml", "--people", "people.csv", "--model", "bank:decide", "--planner", "third")
    assert ran.code == 0, ran.err
    assert "3 people: 2 found, 1 already favourable." in ran.out
