"""Cards through the front door: distil, save, load, plan, and the same on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from counterplan import NotFittedError, Recourse, SettingError, StorageError, benchmarks
from counterplan.distillation.options import DistillOptions
from counterplan.scorecard import Scorecard
from counterplan.scorecard.io import to_json
from counterplan.storage.workspace import CARD, PROGRAM, Origin, Workspace

pytest.importorskip("jax")
from counterplan.surrogate.active_learning import LearningSettings
from quick import FIT

SYN = benchmarks.load("syn")
PEOPLE = SYN.train.head(400)
REFUSED = SYN.refused_test.head(12)
GUIDED = LearningSettings(people=60, plans=60, rounds=2, validation=12, fit=FIT)


@pytest.fixture(scope="module")
def recourse() -> Recourse:
    fitted = Recourse(SYN.problem, SYN.model).fit(PEOPLE, seed=1, settings=GUIDED)
    fitted.distil(PEOPLE, form="card", traces=200)
    return fitted


@pytest.fixture
def folder(recourse: Recourse, tmp_path: Path) -> Path:
    recourse.save(tmp_path)
    Workspace(tmp_path).save_origin(Origin("syn", 0))
    return tmp_path


def test_a_card_is_saved_and_loaded_with_everything_else(recourse: Recourse, folder: Path) -> None:
    card = recourse.card_
    assert card is not None
    assert "card" in repr(recourse)
    loaded = Recourse.load(folder, SYN.model)
    assert loaded.card_ is not None
    assert to_json(loaded.card_) == to_json(card)
    assert loaded.program_ is None
    with_queries, without = loaded.recommend(REFUSED, "card"), loaded.recommend(REFUSED, "card", budget=0, refused=True)
    assert all(plan.verified for plan in with_queries if plan.steps)
    assert without.counts["found"]
    assert without.queries == 0
    for plan in without:
        assert not plan.verified
        if plan.steps:
            because = [step.because for step in plan.steps if step.because is not None]
            assert [one.source for one in because] == ["card"] * len(plan.steps)
            assert sum(one.points or 0 for one in because) >= (because[0].needed or 0) > 0
            ends = SYN.problem.states([plan.steps[-1].after])
            assert card.points(ends)[0] >= card.needed
    assert loaded.explain(without).reasons["card"] == sum(len(plan.steps) for plan in without)
    loaded.save(folder)
    assert to_json(Scorecard.load(folder / CARD)) == to_json(card)


def test_a_new_fit_removes_the_card(folder: Path) -> None:
    loaded = Recourse.load(folder, SYN.model)
    assert loaded.card_ is not None
    loaded.fit(PEOPLE, seed=1, settings=GUIDED)
    assert loaded.card_ is None
    loaded.save(folder)
    assert not (folder / CARD).exists()
    with pytest.raises(NotFittedError, match="requires a card: call distil"):
        loaded.recommend(REFUSED, "card")
    with pytest.raises(NotFittedError, match="there is no card yet"):
        loaded.save_card(folder)


def test_a_card_of_another_problem_is_refused(recourse: Recourse, folder: Path, tmp_path: Path) -> None:
    data = json.loads((folder / CARD).read_text())
    data["problem"]["max_actions"] = 2
    (folder / CARD).write_text(json.dumps(data))
    with pytest.raises(StorageError, match=r"card\.json: the card was made for another problem"):
        assert Recourse.load(folder, SYN.model).card_


@pytest.mark.parametrize(
    "options", [{"rounds": 2}, {"prefer": "short"}, {"max_conditions": 2}, {"preset": "paper"}, {"survival": 4.0}]
)
def test_options_of_programs_are_not_for_cards(options: dict[str, object]) -> None:
    with pytest.raises(SettingError, match="for programs only, not for the form 'card'"):
        DistillOptions(form="card", **options)  # type: ignore[arg-type]


def test_a_form_that_does_not_exist() -> None:
    with pytest.raises(SettingError, match="there is no form 'crad'; did you mean 'card'"):
        DistillOptions(form="crad")


def test_the_card_on_the_command_line(folder: Path, tmp_path: Path, run) -> None:
    (folder / CARD).unlink()
    asked = run("distil", folder, "--form", "card", "--traces", 200)
    assert asked.code == 0
    assert "counterplan show" in asked.out
    assert "--form card" in asked.out
    shown = run("show", folder)
    assert shown.code == 0
    assert "Add up the points of your values" in shown.out
    assert json.loads(run("show", folder, "--json").out)["counterplan_card"] == 1
    for name in ("card.html", "card.py", "card.svg", "card.json"):
        assert run("export", folder, "--to", tmp_path / name).code == 0
        assert (tmp_path / name).stat().st_size > 1_000
    assert run("show", tmp_path / "card.json").out == shown.out
    plans = run("recommend", folder, "--planner", "card", "--budget", 0, "--refused", "--limit", 2)
    assert "points short on the card" in plans.out
    refused = run("export", folder, "--to", tmp_path / "trace.svg", "--person", 0)
    assert refused.code == 2
    assert "this is a card" in refused.err
    assert run("export", folder, "--to", tmp_path / "x.png").code == 2


def test_a_page_of_both(folder: Path, tmp_path: Path, run) -> None:
    assert run("distil", folder, "--traces", 200, "--rounds", 1).code == 0
    assert Workspace(folder).holds(PROGRAM)
    shown = run("show", folder).out
    assert "leaves" in shown
    assert f"There is a card as well: counterplan show {folder} --form card" in shown
    assert "Add up the points of your values" in run("show", folder, "--form", "card").out
    assert run("export", folder, "--to", tmp_path / "both.html").code == 0
    both = (tmp_path / "both.html").read_text()
    assert run("export", folder, "--to", tmp_path / "card.html", "--form", "card").code == 0
    assert len(both) > len((tmp_path / "card.html").read_text())


def test_mistakes_on_the_command_line(folder: Path, tmp_path: Path, run) -> None:
    wrong = run("show", folder, "--form", "crad")
    assert (wrong.code, "did you mean 'card'" in wrong.err) == (2, True)
    options = run("distil", folder, "--form", "card", "--rounds", 3)
    assert (options.code, "for programs only" in options.err) == (2, True)
    assert (folder / CARD).exists()
    missing = run("show", folder, "--form", "program")
    assert (missing.code, "there is no program yet" in missing.err) == (2, True)
    (folder / CARD).write_text('{"counterplan_card": 1}')
    damaged = run("show", folder)
    assert (damaged.code, "card.json: 'problem' is missing" in damaged.err) == (2, True)
    both = run("schema", "--card", "--program")
    assert both.code == 2
    assert json.loads(run("schema", "--card").out)["title"] == "counterplan card"
