"""The page in a real browser: Chromium, if there is one on this machine."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import browsing
import worlds
from browsing import CONTRAST, Open, plain, shoot
from counterplan.problem import Problem
from counterplan.program import Choice, Leaf, ModelCard, Program, Split, Test, leaves
from counterplan.program.export.document import page_data
from counterplan.program.export.html import program_part
from program import programs
from program.random_programs import random_program
from program.test_export import answered, expected, hostile, some_forbidden, wishes
from waiting import waiting

playwright = pytest.importorskip("playwright.sync_api", reason="pip install playwright to test the page")
pytestmark = browsing.needs_chromium
ASK = """([states, cannot]) => {
  const started = performance.now();
  const { recommend } = counterplan.parts.program;
  const plans = states.map((state) => recommend(state.map((number) => number ?? NaN), new Set(cannot)));
  return [plans, performance.now() - started];
}"""
LOAD = """(data) => {
  const world = makeWorld(data.world);
  counterplan.parts.program.recommend = makeRules(world, data.program).recommend;
}"""


def ask(page: Any, states: np.ndarray, cannot: list[str]) -> tuple[list[Any], float]:
    """What the page's script answers, and the milliseconds it took."""
    plans, took = page.evaluate(ASK, [plain(states), cannot])
    return [answered(plan) for plan in plans], took


@pytest.mark.parametrize("name", worlds.BENCHMARKS)
def test_script_agrees_on_every_benchmark(name: str, opened: Open) -> None:
    problem = worlds.benchmark(name)
    for seed, forbid in ((1, []), (2, some_forbidden(problem))):
        program = random_program(problem, seed, depth=4, stops=0.9)
        people = worlds.random_people(problem, seed, 300)
        plans, took = ask(opened(program), problem.read(people).states, forbid)
        assert plans == expected(program, people, forbid)
        print(f"{name}: {took / len(plans):.3f} ms a plan")


def test_script_agrees_on_a_real_program(opened: Open) -> None:
    program = programs.imitated()
    people = worlds.random_people(program.problem, 3, 500)
    plans, _ = ask(opened(program), program.problem.read(people).states, [])
    assert plans == expected(program, people)


@pytest.mark.parametrize("name", worlds.BENCHMARKS)
def test_script_agrees_on_distilled_programs(name: str, opened: Open) -> None:
    program = programs.distilled(name)
    page = opened(program)
    for forbid, count in wishes(program.problem):
        people = worlds.random_people(program.problem, 3, count)
        plans, _ = ask(page, program.problem.read(people).states, forbid)
        assert plans == expected(program, people, forbid)


def test_script_agrees_in_many_worlds(opened: Open) -> None:
    """Conditions, formulas, tables, bounds, missing values: whatever a problem file can say."""
    page = opened(programs.imitated())
    for seed in range(60):
        problem = Problem.from_dict(worlds.random_problem(seed))
        program = random_program(problem, seed, depth=2, stops=0.8)
        people = worlds.random_people(problem, seed, 10)
        page.evaluate(LOAD, page_data([program_part(program)]))
        assert ask(page, problem.read(people).states, [])[0] == expected(program, people), f"world {seed}"


def test_script_agrees_on_consequences_with_the_amount(opened: Open) -> None:
    problem = waiting()
    program, people = random_program(problem, 1, depth=3, stops=0.4), worlds.random_people(problem, 1, 60)
    plans, _ = ask(opened(program), problem.read(people).states, [])
    assert plans == expected(program, people)
    assert sum(status == "found" for status, *_ in plans) > 10


def test_plan_switch_and_no_plan(opened: Open) -> None:
    program = programs.imitated()
    page = opened(program)
    wanted = program.recommend(example_table(program))[0]
    assert [text.strip() for text in page.locator(".timeline .what").all_inner_texts()][:-1] == [
        step.text for step in wanted.steps
    ]
    assert f"because {wanted.steps[0].reason}" in page.locator("#program-result").inner_text()
    assert page.locator(".node.lit").count() == len(wanted.steps) + 2
    assert "Not checked with the model that decides. Have it checked" in page.locator("#program-result").inner_text()
    shoot(page, "desktop-light")

    age = page.get_by_label("Your age", exact=True)
    age.fill("20")
    person = example_table(program).assign(age=20)
    assert page.locator(".timeline .what").first.inner_text() == program.recommend(person)[0].steps[0].text
    age.fill("")
    assert "Please enter a whole number" in page.locator("form").inner_text()
    assert age.get_attribute("aria-invalid") == "true"
    assert page.locator(".timeline").count() == 0
    age.fill("57")

    for switch in page.get_by_role("switch").all():
        switch.check()
    playwright.expect(page.locator("#said")).to_have_text("No plan")
    told = page.locator("#program-result").inner_text()
    assert "No plan" in told
    assert "does not prove that there is none" in told
    shoot(page, "no-plan")
    page.get_by_role("button", name="Allow everything").click()
    assert page.locator(".timeline .what").first.inner_text() == wanted.steps[0].text
    assert page.evaluate("document.activeElement.id") == "plan"

    first = wanted.steps[0].function
    page.locator(f"#cannot-{list(program.nodes).index(first) - 1}").check()
    other = program.recommend(example_table(program), forbid=[first])[0]
    shown = [text.strip() for text in page.locator(".timeline .what").all_inner_texts()][:-1]
    assert shown == [step.text for step in other.steps]
    assert other.caution
    assert (
        f"Not checked with the model that decides. {other.caution} Have it"
        in page.locator("#program-result").inner_text()
    )


def example_table(program: Program) -> Any:
    return pd.DataFrame([(program.model_card.examples or ())[0]])


def test_keyboard_alone_is_enough(opened: Open) -> None:
    page = opened(programs.imitated())
    reached = []
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.id || document.activeElement.className"))
        visible = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert visible != "none" or reached[-1] == "skip", reached[-1]
        if reached[-1] == "feature-0":
            page.keyboard.press("ArrowUp")
            assert page.locator("#feature-0").input_value() == "58"
        if reached[-1] == "cannot-0":
            page.keyboard.press("Space")
            assert page.locator("#cannot-0").is_checked()
        if reached[-1] == "picture":
            break
    assert reached[:2] == ["skip", "example"]
    assert {"feature-0", "feature-8", "cannot-0", "cannot-5", "picture"} <= set(reached)


def test_every_control_has_a_name(opened: Open) -> None:
    page = opened(programs.imitated())
    nameless = page.evaluate(
        "[...document.querySelectorAll('input, select')].filter((it) => !it.labels?.length && !it.ariaLabel).length"
    )
    assert nameless == 0
    levels = page.evaluate("[...document.querySelectorAll('h1, h2, h3')].map((it) => Number(it.tagName[1]))")
    assert levels[0] == 1
    assert all(b - a <= 1 for a, b in itertools.pairwise(levels))
    assert page.locator("#said").get_attribute("aria-live") == "polite"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_and_dark(scheme: str, opened: Open) -> None:
    page = opened(programs.imitated(), color_scheme=scheme, reduced_motion="reduce")
    assert page.evaluate(CONTRAST) == []
    shoot(page, f"desktop-{scheme}")
    for switch in page.get_by_role("switch").all():
        switch.check()
    assert page.evaluate(CONTRAST) == []


def test_fits_a_phone(opened: Open) -> None:
    page = opened(programs.imitated(), viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.locator("#peek").click()
    playwright.expect(page.locator("#peek")).to_be_hidden()
    shoot(page, "phone")


def test_whatever_is_entered_gets_an_answer(opened: Open) -> None:
    """Numbers far beyond anybody, texts, nothing: a plan, an honest no, or a word of what is wrong."""
    page = opened(programs.imitated())
    for field in page.locator("input[type=number]").all():
        was = field.input_value()
        for typed in ("1e999", "-1e300", "999999999999", "0", "-0", "1.5", "e", ""):
            field.fill("")
            field.press_sequentially(typed)
            told = page.locator("#program-result").inner_text()
            assert "effort" in told or "No plan" in told or "as soon as this is corrected" in told, typed
            finite = page.evaluate(
                "counterplan.data && !document.getElementById('program-result').innerText.match(/NaN|Infin/)"
            )
            assert finite, typed
        field.fill("")
        field.press_sequentially("1e999")
        assert field.get_attribute("aria-invalid") == "true"
        field.fill(was)
        assert field.get_attribute("aria-invalid") == "false"


def test_numbers_beyond_what_the_program_knows_are_remarked_on(opened: Open) -> None:
    page = opened(programs.imitated())
    age, odd = page.get_by_label("Your age", exact=True), page.locator("#feature-0-odd")
    slider = page.get_by_label("Your age, slider")
    low, high = (int(slider.get_attribute(end)) for end in ("min", "max"))
    assert odd.get_attribute("id") in age.get_attribute("aria-describedby")
    for typed in ("-5", "1000000000", str(high + 1)):
        age.fill(typed)
        assert "Is that right? Most people have" in odd.inner_text(), typed
        assert age.get_attribute("aria-invalid") == "false"
        assert page.locator("#program-result").inner_text().strip()
        assert "as soon as this is corrected" not in page.locator("#program-result").inner_text()
    assert page.evaluate(CONTRAST) == []
    for typed in (str(low), str(high), "40"):
        age.fill(typed)
        assert odd.inner_text() == "", typed
    age.fill("")
    assert odd.inner_text() == "", "what is wrong is said once"


def test_the_card_is_told_in_order(opened: Open) -> None:
    """How well the program does comes first, groups are a table, settings are folded away."""
    program = programs.imitated()
    card = program.model_card.to_data() | {
        "people": {"invented": 30, "real": 50},
        "made_with": {"method": "a test", "tree": {"leaf_price": 0.0003}},
        "protected_avoided": ["sex"],
        "questions": {"to_fit": 1200, "its_plans": 50},
    }
    page = opened(replace(program, model_card=ModelCard.from_data(card)))
    shown = page.locator("section.wide").inner_text()
    names = page.locator("section.wide > .columns dt").all_inner_texts()
    assert names[:2] == ["People it was made from", "Plans that worked, of people with a known plan"]
    assert "50 real, 30 invented" in shown
    assert "1,250" in shown
    assert "that the program was made from: 50 real and 30 invented" in page.locator("main").inner_text()
    count = sum(1 for tree in program.trees.values() for _ in leaves(tree))
    assert f"A program of {count} plain rules" in shown
    assert "small" not in shown
    assert "a few questions" not in shown
    assert "leaf price" not in shown
    assert "transitions" not in shown.lower()
    assert page.locator("section.wide th[scope=row]").all_inner_texts() == ["female", "male"]
    page.get_by_text("How it was made").click()
    assert "leaf price 0.0003" in page.locator("section.wide").inner_text()


def test_strangers_texts_stay_texts(opened: Open) -> None:
    page = opened(hostile())
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 2
    assert "<img src=x onerror=alert(1)>" in page.locator("form").inner_text()


RATIO = {
    "counterplan": 1,
    "name": "card",
    "outcome": {"column": "ok", "values": ["yes", "no"], "favourable": "yes"},
    "max_actions": 2,
    "features": {
        "limit": {"kind": "number", "label": "your limit", "integer": True, "minimum": 1000, "maximum": 90000},
        "bill": {"kind": "number", "label": "your bill", "integer": True, "unit": "€"},
        "share": {"kind": "number", "label": "the share in use", "integer": True, "unit": "%", "maximum": 200},
        "age": {"kind": "number", "label": "your age", "integer": True},
        "town": {"kind": "category", "label": "your town", "values": ["here", "there"]},
        "distance": {"kind": "number", "label": "the distance", "integer": True},
    },
    "functions": {
        "PAY": {"add": "bill", "arguments": [-1000, -5000], "cost": 3},
        "MOVE": {"set": "town", "arguments": ["here", "there"], "cost": 5},
    },
    "causes": [
        {"from": "bill", "to": "share", "formula": "100 * bill / limit"},
        {"from": "limit", "to": "share", "formula": "100 * bill / limit"},
        {"from": "town", "to": "distance", "table": {"here": 1, "there": 90}},
    ],
}


def ratio_program(**card: Any) -> Program:
    """Pays 5,000 where the share is at least 50 %, and otherwise 1,000."""
    problem = Problem.from_dict(RATIO)
    names = {str(action): Choice(action.index) for action in problem.transitions.actions}
    tree = Split(Test(2, at_least=50.0), Leaf((names["PAY=-5000"],)), Leaf((names["PAY=-1000"],)))
    person = {"limit": 20000, "bill": 12000, "share": 7, "age": 40, "town": "here", "distance": 5}
    trees = {"INTERVENE": tree, "PAY": Leaf((names["STOP"],))}
    return Program(problem, trees, ModelCard.from_data({"examples": [person]} | card))


def test_derived_features_are_computed_and_not_asked(opened: Open) -> None:
    page = opened(ratio_program())
    share, plan = page.locator("output#feature-2"), page.locator(".timeline .what").first
    assert page.locator("input#feature-2").count() == 0
    assert share.inner_text() == "60 %", "not the 7 % of the example"
    assert "Worked out from your limit and your bill." in page.locator("form").inner_text()
    assert "5,000" in plan.inner_text()
    page.get_by_role("spinbutton", name="Your bill").fill("4000")
    assert share.inner_text() == "20 %"
    assert "1,000" in plan.inner_text()
    page.get_by_role("spinbutton", name="Your limit").fill("1000")
    assert share.inner_text() == "400 %"
    assert "This should be at most 200. Please check your limit and your bill." in page.locator("form").inner_text()
    assert page.locator(".timeline").count() == 0


def test_features_that_people_contradict_are_asked(opened: Open) -> None:
    page = opened(ratio_program(derived=[]))
    assert page.locator("output").count() == 0
    assert page.locator("input#feature-2").input_value() == "7"
    assert "1,000" in page.locator(".timeline .what").first.inner_text()


@pytest.mark.parametrize(
    ("card", "limit", "bill"),
    [
        ({"ranges": {"bill": [-400, 31000], "limit": [5000, 60000]}}, (1000, 90000), (-400, 31000)),
        ({"ranges": {"bill": [0, 9000]}}, (1000, 90000), (0, 12000)),
        ({"ranges": {"bill": [9000, 0]}}, (1000, 90000), (0, 24000)),
        ({}, (1000, 90000), (0, 24000)),
    ],
)
def test_sliders_follow_bounds_and_people(card: dict[str, Any], limit: Any, bill: Any) -> None:
    """A bound of the problem, else the range of the people, widened to what the examples have."""
    fields = {field["feature"]: field for field in page_data([program_part(ratio_program(**card))])["fields"]}
    assert (fields[0]["low"], fields[0]["high"]) == limit
    assert fields[1]["low"] <= bill[0]
    assert fields[1]["high"] >= bill[1]
    assert fields[1]["high"] - fields[1]["low"] <= 1.3 * (bill[1] - bill[0])
    assert fields[2]["from"] == [0, 1]
