"""What `fit` reports about its plans: honest, bounded, saved, and off on request."""

from __future__ import annotations

import json
import logging
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from counterplan import BlackBox, Quality, QualitySettings, Recourse, SettingError, Workspace, benchmarks

pytest.importorskip("jax")
from counterplan.surrogate.active_learning import LearningSettings
from quick import FIT

pytestmark = pytest.mark.usefixtures("steady_clock")

SYN = benchmarks.load("syn")
PEOPLE = SYN.train.head(300)
HASTY = LearningSettings(people=40, plans=40, rounds=1, validation=8, scores=False, fit=FIT)
GOOD = Quality(
    people=50, decided=50, feasible=40, helped=40, max_queries=15, cost_ratio=1.01, guided_queries=3.0,
    infeasible_queries=4.0, exact_queries=300.0, exact_seconds=0.1, seconds_per_row=5e-6, queries=9_000,
)  # fmt: skip


def fitted(model: Any = SYN.model, **options: Any) -> Recourse:
    return Recourse(SYN.problem, model).fit(PEOPLE, settings=options.pop("settings", HASTY), **options)


@pytest.fixture(scope="module")
def unassessed() -> Recourse:
    return fitted(quality=False)


QUERIED: list[int] = []
"""Number of rows of each call of `watched`."""


def watched(frame: pd.DataFrame) -> np.ndarray:
    QUERIED.append(len(frame))
    return SYN.model.labels(frame)


watched.identity = ""  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def assessed() -> Recourse:
    return fitted(watched)


def test_it_is_about_held_out_people_and_counted_apart(unassessed: Recourse, assessed: Recourse) -> None:
    recourse = assessed
    quality = recourse.quality_
    assert quality is not None
    assert quality.people == 50
    assert quality.helped <= quality.feasible <= quality.decided <= quality.people
    assert quality.cost_ratio is not None
    assert quality.cost_ratio >= 1
    assert recourse.n_queries_["quality"] == quality.queries <= 2_000
    assert sum(QUERIED) == recourse.box.queries == recourse.n_queries_["guided"] + quality.queries
    assert unassessed.quality_ is None
    assert "quality" not in unassessed.n_queries_
    states = SYN.problem.read(SYN.refused_test).states
    assert (unassessed.surrogate_.logit(states) == recourse.surrogate_.logit(states)).all(), "it changes nothing"  # type: ignore[union-attr]


@pytest.mark.parametrize("left", [0, 150, 700])
def test_a_budget_is_kept(left: int, unassessed: Recourse) -> None:
    needed = unassessed.n_queries_["guided"]
    recourse = fitted(settings=replace(HASTY, budget=needed + left))
    assert recourse.box.queries <= needed + left
    quality = recourse.quality_
    assert quality is not None
    assert quality.skipped
    assert (quality.people > 0) == (quality.queries > 0) == (left == 700)
    assert ("were not assessed" in str(quality)) == (left < 700)
    assert f"limited to {left} queries" in str(quality)


def test_a_slow_model_is_queried_less() -> None:
    now = [0.0]

    def slow(frame: pd.DataFrame) -> np.ndarray:
        now[0] += len(frame)
        return SYN.model.labels(frame)

    recourse = fitted(BlackBox(slow, clock=lambda: now[0]))
    assert recourse.quality_ is not None
    assert recourse.n_queries_["quality"] == 0
    assert "A query takes 1.0 s. The plans were not assessed" in str(recourse.quality_)


def test_the_sentence_is_honest() -> None:
    fast = "Your model answers 200,000 rows a second: exact planning costs 0.1 s a person and proves its answers."
    assert GOOD.advice == fast
    assert not GOOD.weak
    assert replace(GOOD, exact_seconds=20.0).advice == "Guided planning is good here."
    assert "Of 50 held-out refused people, 40 can be helped, as exact search proves; of these, guided" in str(GOOD)
    few, expensive = replace(GOOD, helped=35), replace(GOOD, cost_ratio=1.2)
    for weak in (few, expensive):
        assert weak.weak
        assert weak.advice == f"Guided planning is weak here; y{fast[1:]}"
        assert "weak" in str(replace(weak, exact_seconds=20.0))
    assert replace(few, exact_seconds=None, exhausted=5).advice.endswith("raise the budget of queries a person to 20.")
    assert replace(few, exact_seconds=None).advice.endswith("fit with more people or a larger budget.")
    assert "not known" in Quality(skipped="the plans were not assessed").advice
    assert "20 of 50 synthetic" in str(replace(GOOD, synthetic=20))


def test_it_is_saved_loaded_and_shown(assessed: Recourse, tmp_path: Path) -> None:
    assessed.save(tmp_path)
    loaded = Recourse.load(tmp_path, watched)
    assert loaded.quality_ == assessed.quality_
    assert loaded.n_queries_ == assessed.n_queries_
    assert loaded.box.seconds_per_row == assessed.quality_.seconds_per_row  # type: ignore[union-attr]
    assert "held-out refused people" in loaded._repr_html_()
    loaded.quality_ = None
    loaded.save(tmp_path)
    assert not (tmp_path / "quality.json").exists()
    assert Recourse.load(tmp_path, watched).quality_ is None


@pytest.mark.parametrize(
    "damage",
    ["", "{", "[]", "{}", '{"people": 1e999}', "9" * 200_000]
    + [
        json.dumps(asdict(GOOD) | change)
        for change in ({"helped": 41}, {"people": "50"}, {"cost_ratio": -1}, {"skipped": 3})
    ],
)
def test_a_damaged_record_is_ignored(damage: str, tmp_path: Path, unassessed: Recourse) -> None:
    unassessed.save(tmp_path)
    Workspace(tmp_path).write("quality.json", damage)
    assert Recourse.load(tmp_path, SYN.model).quality_ is None


def test_settings_are_checked() -> None:
    for wrong in ({"people": 0}, {"max_queries": -1}, {"seconds": float("nan")}):
        with pytest.raises(SettingError, match=f"'{next(iter(wrong))}'"):
            QualitySettings(**wrong)  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="'quality' must be True, False or QualitySettings"):
        fitted(quality=3)


def test_a_fit_that_does_not_pay_is_announced(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "counterplan"):
        recourse = fitted(quality=QualitySettings(people=10))
    assert recourse.quality_ is not None
    assert recourse.quality_.people == 10
    messages = [record.getMessage() for record in caplog.records if record.name == "counterplan"]
    assert "refused people here would take at most" in messages[0]
    assert messages[1].startswith("round 1: ")
    assert messages[2].startswith("quality: ")


@pytest.mark.usefixtures("blank_figures", "quick_fits")
def test_the_command_prints_it(run, folder: Path) -> None:
    people = pd.concat([pd.read_csv("people.csv")] * 3, ignore_index=True)
    people.assign(income=np.arange(len(people)) * 100 + 900).to_csv("many.csv", index=False)
    words = ("fit", "loan.yaml", "--people", "many.csv", "--model", "bank:decide", "--budget", "60")
    ran = run(*words, "--out", "one")
    assert "would take at most" in ran.err
    assert "The plans were not assessed" in ran.out
    ran = run(*words, "--out", "two", "--no-quality")
    assert "assessed" not in ran.out
    assert not (folder / "two" / "quality.json").exists()
