from __future__ import annotations

import ast
import dataclasses
import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import worlds
from counterplan.benchmarks import suite
from counterplan.errors import SettingError, StorageError
from counterplan.problem import Problem
from counterplan.program import ModelCard
from counterplan.scorecard.export import FORMATS, export, to_python, to_svg
from scorecard.cards import fitted, random_card
from scorecard.planning import best_plans, exported_plans, module_of, wishes
from scorecard.test_scorecard import CARD, PEOPLE
from waiting import waiting

HOSTILE = "</script><img src=x onerror=alert(1)>\"'\n\\`${1}]]>-->"


@pytest.mark.parametrize(("name", "count"), [("german", 78), ("adult", 20), ("syn", 40), ("syn_long", 6)])
def test_the_module_plans_as_exact_search_does(name: str, count: int) -> None:
    card = fitted(name)
    people = card.problem.read(suite.load(name).refused_test.head(count).reset_index(drop=True))
    plans = exported_plans(card, people)
    assert plans == best_plans(card, people)
    assert sum(status == "found" for status, *_ in plans) > 0.9 * len(plans)


@pytest.mark.parametrize(("name", "count"), [("german", 30), ("syn", 5)])
def test_the_module_plans_with_weights_and_without_forbidden_actions(name: str, count: int) -> None:
    card = fitted(name)
    people = card.problem.read(suite.load(name).refused_test.head(count).reset_index(drop=True))
    forbid, weights = wishes(card.problem, len(people), 1)
    assert exported_plans(card, people, forbid, weights) == best_plans(card, people, forbid, weights)


@settings(max_examples=40)
@given(st.integers(0, 10**6))
def test_the_module_plans_as_exact_search_does_in_every_world(seed: int) -> None:
    """Conditions, formulas, tables, bounds, missing values, actions without cost: whatever a problem file can say."""
    problem = Problem.from_dict(worlds.random_problem(seed))
    card, people = random_card(problem, seed), problem.read(worlds.random_people(problem, seed, 6))
    assert exported_plans(card, people) == best_plans(card, people)
    forbid, weights = wishes(problem, 6, seed)
    assert exported_plans(card, people, forbid, weights) == best_plans(card, people, forbid, weights)


@pytest.mark.parametrize("seed", range(4))
def test_the_module_plans_with_consequences_with_the_amount(seed: int) -> None:
    problem = waiting()
    card, people = random_card(problem, seed), problem.read(worlds.random_people(problem, seed, 12))
    plans = exported_plans(card, people)
    assert plans == best_plans(card, people)
    assert any(status == "found" for status, *_ in plans)


def test_the_module_says_what_is_wrong() -> None:
    module = module_of(CARD)
    person: Any = PEOPLE[0] | {"owner": None}
    for given_, message in (
        ({"cannot": ["FLY"]}, "no function or action 'FLY'"),
        ({"weights": {"FLY": 1}}, "no function or action 'FLY'"),
        ({"weights": {"EARN": 0}}, "the weight of EARN is a number from"),
        ({"weights": {"EARN": float("nan")}}, "the weight of EARN is a number from"),
        ({"weights": [1]}, "weights are a dict"),
    ):
        with pytest.raises(ValueError, match=message):
            module.plan(person, **given_)
    with pytest.raises(ValueError, match="the person lacks"):
        module.points({})
    plan = module.plan(person)
    assert (plan["status"], plan["steps"], plan["needed"]) == ("not_found", [], 24)
    assert plan["caution"] == "There is no way to enough points in at most 2 steps."


def test_steps_have_points_that_add_up() -> None:
    card = fitted("german")
    module, problem = module_of(card), card.problem
    for state in problem.read(suite.load("german").refused_test.head(20)).states:
        plan = module.plan(problem.describe(state))
        assert plan["points"] + sum(step["points"] for step in plan["steps"]) >= plan["needed"] == card.needed
        assert plan["cost"] == pytest.approx(sum(step["cost"] for step in plan["steps"]))


def test_a_search_that_takes_too_long_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    card = fitted("german")
    module, problem = module_of(card), card.problem
    person = problem.describe(problem.read(suite.load("german").refused_test.head(1)).states[0])
    monkeypatch.setattr(module, "_MOST_LABELS", 3)
    assert module.plan(person)["status"] == "not_found"
    assert "There may still be a way" in module.plan(person)["caution"]


def test_python_needs_nothing_but_python_39(tmp_path: Path) -> None:
    card = fitted("german")
    card.export(tmp_path / "points.py")
    tree = ast.parse((tmp_path / "points.py").read_text("utf-8"), feature_version=(3, 9))
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    imported |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert imported <= {"__future__", "bisect", "difflib", "heapq", "math", "re", "collections.abc", "typing"}
    called = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    assert not called & {"eval", "exec", "compile", "__import__", "open"}
    example = card.model_card.to_data()["examples"][0]
    code = f"import sys; sys.path[:0] = ['.']; import points; print(points.plan({example!r})['status'])"
    ran = subprocess.run([sys.executable, "-I", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ran.stdout == "found\n"


def test_the_text_fits_a_page() -> None:
    for name in ("german", "syn", "syn_long"):
        lines = fitted(name).to_text().splitlines()
        assert len(lines) <= 60
        assert max(map(len, lines)) <= 100
    text = str(fitted("german"))
    assert "your housing              free   0    rent  31    own   50" in text
    assert f"With {fitted('german').needed:,} points or more, the decision should be favourable." in text
    assert "No points for your sex." in text
    assert repr(CARD) == "Scorecard('loan': 3 features, 10 entries)"


def test_the_drawing_holds_every_entry() -> None:
    card = fitted("german")
    svg = ET.fromstring(to_svg(card))
    texts = [element.text for element in svg.iter() if element.tag.endswith("}text")]
    assert [text for text in texts if text and text.isdigit()] == [
        str(points) for one in card.features for points in one.points
    ]
    assert "prefers-color-scheme: dark" in to_svg(card)


def test_no_text_breaks_out() -> None:
    problem = worlds.benchmark("german").to_dict() | {"title": HOSTILE}
    problem["features"]["age"] |= {"label": HOSTILE, "unit": HOSTILE}
    card = random_card(Problem.from_dict(problem), 3)
    card = dataclasses.replace(card, model_card=ModelCard.from_data({"cannot": [HOSTILE, '"""'], HOSTILE: HOSTILE}))
    for element in ET.fromstring(to_svg(card)).iter():
        assert element.tag.split("}")[1] in {"svg", "title", "desc", "style", "rect", "text"}
    shown = card._repr_html_()
    assert "<script" not in shown
    assert shown.count("<img") == 1
    ast.parse(to_python(card))
    assert card.to_text()


def test_extension_decides(tmp_path: Path) -> None:
    card = fitted("german")
    for extension in FORMATS:
        export(card, tmp_path / f"german{extension}")
    assert json.loads((tmp_path / "german.json").read_text("utf-8"))["counterplan_card"] == 1
    with pytest.raises(SettingError, match=r"a card is exported to \.json, \.html, \.py, \.svg"):
        card.export(tmp_path / "german.pdf")
    with pytest.raises(StorageError, match="cannot be written"):
        card.export(tmp_path / "nowhere" / "german.py")
