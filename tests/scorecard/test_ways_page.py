"""Several ways out, and questions about what is hard, on the page of a card in a real browser."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import browsing
from browsing import CONTRAST, Open, plain, shoot
from counterplan.problem import Problem
from counterplan.scorecard import CardFeature, Scorecard
from counterplan.scorecard.export.html import to_html
from program import programs
from program.test_export import hostile
from scorecard import cards

playwright = pytest.importorskip("playwright.sync_api", reason="pip install playwright to test the page")
pytestmark = browsing.needs_chromium

DRAWS = "counterplan.parts.card.ways.draws"
PARTICLES = "counterplan.parts.card.interview.particles"
OTHERS = """([state, cannot, weights]) => {
  const { plan, ways } = counterplan.parts.card, start = state.map((number) => number ?? NaN);
  const options = { cannot: new Set(cannot), weights };
  const { plans, pool, complete } = finish(ways.others(start, options, plan(start, options)));
  return { plans, pool, usual: pool.map(ways.usual), complete };
}"""
CHOOSE = """([state, weights, choices]) => {
  const { interview, ways } = counterplan.parts.card, start = state.map((number) => number ?? NaN), answers = [];
  let known = [];
  const questions = choices.map((choice) => {
    const { pool, plans } = finish(interview.question(start, { weights, strict: true }, answers, known));
    const picked = interview.choose(pool, weights, answers), keys = pool.map(ways.keyOf);
    const compared = answers.map(({ shown }) => shown.map((key) => keys.indexOf(key)));
    known = pool;
    if (plans) answers.push(interview.answer(plans, choice));
    return { usual: pool.map(ways.usual), picked, compared, answers: [...answers],
      posterior: interview.posterior(weights, answers), learned: interview.learned(weights, answers) };
  });
  return questions;
}"""
NOW = "#interview-now"
HARD = (0.25, 0.35, 0.5, 0.7, 1, 1.4, 2, 2.8, 4)
"""The positions of the sliders."""


def names(card: Scorecard) -> list[str]:
    return [function.name for function in card.problem.transitions.functions]


def example(card: Scorecard) -> pd.DataFrame:
    return pd.DataFrame([(card.model_card.examples or ())[0]])


def used(plan: dict[str, Any]) -> set[str]:
    return {step["function"] for step in plan["steps"]}


def first_of_least(values: dict[int, float]) -> int | None:
    """The first of the plans with the least cost, apart from rounding."""
    least = min(values.values(), default=0.0)
    return next((plan for plan, value in values.items() if value <= least * (1 + 1e-9)), None)


def greedy(costs: np.ndarray, chances: np.ndarray, first: int, most: int, gain: float, fits: Any) -> list[int]:
    """Plans added one by one to minimize the expected least cost; costs [P, D], chances [D]."""
    picked = [first]
    while len(picked) < most:
        least = costs[picked].min(axis=0)
        values = {
            plan: np.minimum(least, costs[plan]) @ chances
            for plan in range(len(costs))
            if plan not in picked and fits(plan, picked)
        }
        best = first_of_least(values)
        if best is None or least @ chances - values[best] < gain:
            break
        picked.append(best)
    return picked


def test_draws_are_log_normal_and_always_the_same(opened: Open) -> None:
    card = cards.fitted("german")
    page = opened(to_html(card=card))
    for place, sigma, count in ((DRAWS, 0.7, 128), (PARTICLES, 0.8, 1000)):
        drawn = np.log(page.evaluate(place))
        assert drawn.shape == (count, len(names(card)))
        assert np.abs(drawn.std(axis=0) - sigma).max() < 3.5 * sigma / np.sqrt(2 * count)
        assert np.abs(np.corrcoef(drawn.T) - np.eye(drawn.shape[1])).max() < 3.5 / np.sqrt(count)
        page.reload()
        assert (np.log(page.evaluate(place)) == drawn).all()
    assert np.allclose(np.mean(page.evaluate(PARTICLES), axis=0), 1), "nothing is learned from no answers"
    assert np.abs(np.log(page.evaluate(DRAWS)).mean(axis=0)).max() < 3.5 * 0.7 / np.sqrt(128)


@pytest.mark.parametrize("name", ["german", "adult"])
def test_other_ways_minimize_the_expected_least_cost(name: str, opened: Open) -> None:
    card = cards.fitted(name)
    page, several = opened(to_html(card=card)), 0
    functions, draws = names(card), np.array(page.evaluate(DRAWS))
    people = cards.refused(name).head(6)
    for row, state in enumerate(plain(card.problem.read(people).states)):
        weights = {functions[0]: 2.0, functions[-1]: 0.5} if row % 2 else {}
        forbid = [functions[1]] if row % 3 == 2 else []
        found = page.evaluate(OTHERS, [state, forbid, weights])
        own = np.array([weights.get(function, 1.0) for function in functions])
        if not found["pool"]:
            continue
        pool, usual = found["pool"], np.array(found["usual"])
        costs = usual * own @ draws.T
        assert np.allclose(usual @ own, [plan["cost"] for plan in pool])

        def fits(plan: int, picked: list[int], pool: list[dict[str, Any]] = pool) -> bool:
            dear = pool[plan]["cost"] > 2.5 * pool[0]["cost"]
            return not dear and all(used(pool[plan]) != used(pool[other]) for other in picked)

        picked = greedy(costs, np.full(len(draws), 1 / len(draws)), 0, 3, 0.01 * pool[0]["cost"], fits)
        assert [plan["path"] for plan in found["plans"]] == [pool[plan]["path"] for plan in picked[1:]]
        assert not any(used(plan) & set(forbid) for plan in pool)
        several += len(picked) > 1
    assert several > 2


def test_candidates_are_the_plans_of_the_draws(opened: Open) -> None:
    card, weights = cards.fitted("german"), {"CHANGE_SAVINGS": 2.0}
    page, functions, person = opened(to_html(card=card)), names(card), example(card)
    found = page.evaluate(OTHERS, [plain(card.problem.read(person).states)[0], [], weights])
    assert found["complete"]
    wanted = {
        tuple((step.function, step.argument) for step in cards.planned(card, person, weights=own)[0].steps)
        for draw in [[1.0] * len(functions), *page.evaluate(DRAWS)[:48]]
        for own in [{name: factor * weights.get(name, 1.0) for name, factor in zip(functions, draw, strict=True)}]
    }
    plans = {tuple((step["function"], step["argument"]) for step in plan["steps"]) for plan in found["pool"]}
    assert plans == wanted
    assert len(plans) > 3
    first = cards.planned(card, person, weights=weights)[0]
    assert found["usual"][0] == [
        sum(step.cost / weights.get(name, 1.0) for step in first.steps if step.function == name) for name in functions
    ]


@pytest.mark.parametrize("name", ["german", "adult"])
def test_questions_and_posterior_are_those_of_the_choice_model(name: str, opened: Open) -> None:
    card, rng = cards.fitted(name), np.random.default_rng(5)
    page, functions, asked = opened(to_html(card=card)), names(card), 0
    particles = np.array(page.evaluate(PARTICLES))
    for row, state in enumerate(plain(card.problem.read(cards.refused(name).head(8)).states)):
        weights = {functions[0]: 2.0} if row % 2 else {}
        own = particles * [weights.get(function, 1.0) for function in functions]
        choices = [None if rng.random() < 0.25 else int(rng.integers(2)) for _ in range(3)]
        before = np.full(len(particles), 1 / len(particles))
        for found in page.evaluate(CHOOSE, [state, weights, choices]):
            logs = np.zeros(len(particles))
            for answer in found["answers"]:
                costs = own @ np.array(answer["costs"]).T
                chances = np.exp(-8 * (costs / costs.min(axis=1, keepdims=True) - 1))
                chances = np.log(chances / chances.sum(axis=1, keepdims=True))
                logs += chances.mean(axis=1) if answer["chosen"] is None else chances[:, answer["chosen"]]
            posterior = np.exp(logs) / np.exp(logs).sum()
            assert np.allclose(found["posterior"], posterior)
            assert np.allclose(list(found["learned"].values()), posterior @ own)

            costs = np.array(found["usual"]) @ own.T
            first = first_of_least(dict(enumerate(costs @ before)))
            assert first is not None

            def fits(
                plan: int, picked: list[int], first: int = first, compared: list[list[int]] = found["compared"]
            ) -> bool:
                return len(picked) > 1 or not any({plan, first} <= set(shown) for shown in compared)

            picked = greedy(costs, before, first, 3, 0.01 * (costs[first] @ before), fits)
            assert (found["picked"] or {"picked": [first]})["picked"] == picked
            asked += len(picked) > 1
            before = posterior
    assert asked > 4


def test_a_posterior_of_no_effort_or_impossible_answers_is_one(opened: Open) -> None:
    page = opened(to_html(card=cards.fitted("german")))
    free = [{"shown": ["1", "2"], "costs": [[0] * 6, [5, *[0] * 5]], "chosen": chosen} for chosen in (0, 1, 1, None)]
    posterior = page.evaluate("(answers) => counterplan.parts.card.interview.posterior({}, answers)", free)
    assert np.allclose(posterior, 1 / 1000)


def start(page: Any) -> None:
    page.get_by_role("button", name="Ask me").click()
    playwright.expect(page.locator(f"{NOW} h3")).to_be_visible()


def heading(page: Any) -> str:
    return str(page.locator(f"{NOW} h3").inner_text())


def cards_shown(page: Any) -> list[list[str]]:
    return [way.locator("ul span").all_inner_texts() for way in page.locator(".choices > li").all()]


def answer_all(page: Any, choice: int, most: int = 12) -> int:
    """Choose the card of this number until the questions end; the number of answers."""
    for count in range(most):
        if heading(page).startswith("Done"):
            return count
        assert heading(page).startswith(f"Question {count + 1}: which would be eas")
        assert page.evaluate("document.activeElement.textContent") == heading(page), "the focus follows"
        assert 2 <= page.locator(".choices > li").count() <= 3
        page.locator(".choose").nth(choice).click()
        playwright.expect(page.locator(f"{NOW} h3")).to_have_text(_next(count))
    raise AssertionError("the questions do not end")


def _next(count: int) -> re.Pattern[str]:
    return re.compile(f"^(Question {count + 2}|Done: {count + 1} answer)")


def weights_of(page: Any) -> dict[str, float]:
    """The weights that the page plans with."""
    return dict(page.evaluate("counterplan.wishes.weights"))


def plan_shown(page: Any) -> list[str]:
    return [text.strip() for text in page.locator("#card-result .timeline .what").all_inner_texts()][:-1]


@pytest.mark.parametrize("choice", [0, 1])
def test_answers_set_the_sliders_and_the_plan(choice: int, opened: Open) -> None:
    card = cards.fitted("german")
    page, person = opened(to_html(card=card)), example(card)
    page.locator("#hard-0").fill("6")
    assert weights_of(page) == {names(card)[0]: 2.0}
    start(page)
    count = answer_all(page, choice)
    learned = weights_of(page)
    assert all(0.25 <= weight <= 4 for weight in learned.values())
    assert len(learned) > 1
    assert plan_shown(page) == [step.text for step in cards.planned(card, person, weights=learned)[0].steps]
    for index, name in enumerate(names(card)):
        position, weight = int(page.locator(f"#hard-{index}").input_value()), learned.get(name, 1.0)
        assert abs(np.log(HARD[position] / weight)) <= min(abs(np.log(np.array(HARD) / weight))) + 1e-12
    said = page.locator("#interview-said")
    playwright.expect(said).to_contain_text("the plan above")
    assert said.get_attribute("aria-live") == "polite"
    assert page.evaluate("document.activeElement.textContent") == f"Done: {count} answer{'s' * (count > 1)}"
    page.locator("#hard-1").fill("8")
    playwright.expect(page.get_by_role("button", name="Ask me")).to_be_visible()
    assert weights_of(page) == learned | {names(card)[1]: 4.0}, "the other sliders stay as they were set"


def test_answers_can_be_taken_back(opened: Open) -> None:
    card = cards.fitted("german")
    page = opened(to_html(card=card))
    before = plan_shown(page)
    start(page)
    assert page.get_by_role("button", name="Undo").count() == 0
    asked = [cards_shown(page)]
    while not heading(page).startswith("Done"):
        was = len(asked)
        page.locator(".choose").last.click()
        playwright.expect(page.locator(f"{NOW} h3")).to_have_text(_next(was - 1))
        asked.append(cards_shown(page))
    assert weights_of(page)
    for number in range(len(asked) - 1, 0, -1):
        page.get_by_role("button", name="Undo").click()
        playwright.expect(page.locator(f"{NOW} h3")).to_contain_text(f"Question {number}:")
        assert cards_shown(page) == asked[number - 1]
        assert weights_of(page) == {}
    assert plan_shown(page) == before
    answer_all(page, 0)
    page.get_by_role("button", name="Start over").click()
    playwright.expect(page.locator(f"{NOW} h3")).to_contain_text("Question 1:")
    assert cards_shown(page) == asked[0]
    assert page.evaluate("document.activeElement.textContent") == heading(page)
    assert weights_of(page) == {}
    page.get_by_role("button", name="Stop asking").click()
    playwright.expect(page.get_by_role("button", name="Ask me")).to_be_focused()


def test_steps_that_cannot_be_done_are_avoided_until_taken_back(opened: Open) -> None:
    card = cards.fitted("german")
    page = opened(to_html(card=card))
    start(page)
    question, left = cards_shown(page), len(names(card))
    step = page.locator(".choices ul li").first
    text = step.locator("span").inner_text()
    step.get_by_role("button", name=f"I cannot do this: {text}").click()
    playwright.expect(page.locator(".choices")).not_to_contain_text(text)
    boxes = page.locator("#doing input[type=checkbox]:checked")
    assert boxes.count() == 1
    index = int(str(boxes.get_attribute("id")).removeprefix("cannot-"))
    assert text not in plan_shown(page)
    assert heading(page).startswith("Question 1:"), "that was no choice"
    assert page.evaluate("document.activeElement.textContent") == heading(page)
    page.get_by_role("button", name="Undo").click()
    playwright.expect(page.locator(".choices")).to_contain_text(text)
    assert cards_shown(page) == question
    assert not page.locator(f"#cannot-{index}").is_checked()

    for _ in range(left):
        if page.locator(".choices").count() == 0:
            break
        text = page.locator(".choices ul span").first.inner_text()
        page.locator(".choices .plain").first.click()
        playwright.expect(page.locator(".choices", has_text=text)).to_have_count(0)
    playwright.expect(page.locator(f"{NOW} h3")).to_have_text(re.compile("^(Done|No way is left)"))
    page.get_by_role("button", name="Start over").click()
    playwright.expect(page.locator(".choices")).to_be_visible()
    assert boxes.count() == 0
    assert cards_shown(page) == question


def shared_step_card() -> Scorecard:
    """Enough points take the first change and one of two others."""
    problem = Problem.from_dict(
        {
            "counterplan": 1,
            "name": "shared",
            "outcome": {"column": "ok", "values": ["no", "yes"], "favourable": "yes"},
            "max_actions": 3,
            "features": {f"f{i}": {"kind": "category", "values": ["a", "b"]} for i in range(3)},
            "functions": {f"SET_{i}": {"set": f"f{i}", "arguments": ["b"], "cost": 5 + i} for i in range(3)},
        }
    )
    rows = tuple(CardFeature(i, (), (0, points)) for i, points in enumerate((10, 5, 5)))
    return Scorecard(problem, rows, 15, 0.1, 1.5)


def test_no_way_is_left(opened: Open) -> None:
    page = opened(to_html(card=shared_step_card()))
    start(page)
    question = cards_shown(page)
    assert len(question) == 2
    page.locator(".choices .plain").first.click()
    playwright.expect(page.locator(f"{NOW} h3")).to_have_text("No way is left")
    assert page.locator("#cannot-0").is_checked()
    assert "No plan was found without what you cannot do." in page.locator("#interview-said").inner_text()
    page.get_by_role("button", name="Undo").click()
    playwright.expect(page.locator(f"{NOW} h3")).to_contain_text("Question 1:")
    assert cards_shown(page) == question
    page.locator("#cannot-0").check()
    playwright.expect(page.locator(f"{NOW} h3")).to_have_text("No way is left")
    page.get_by_role("button", name="Allow a change").click()
    playwright.expect(page.locator(f"{NOW} h3")).to_contain_text("Question 1:")
    assert cards_shown(page) == question
    assert page.evaluate("document.activeElement.id") == "plan", "the focus is not taken from elsewhere"
    page.locator("#cannot-1").check()
    playwright.expect(page.locator(f"{NOW} h3")).to_have_text("No questions for you")
    page.locator("#cannot-1").uncheck()
    playwright.expect(page.get_by_role("button", name="Ask me")).to_be_visible()
    page.locator("#cannot-0").check()
    assert page.locator("#interview").is_hidden()


def test_no_difference_is_not_asked_again(opened: Open) -> None:
    page = opened(to_html(card=cards.fitted("german")))
    start(page)
    asked = []
    for count in range(10):
        if heading(page).startswith("Done"):
            break
        asked.append(cards_shown(page))
        page.get_by_role("button", name="About the same").click()
        playwright.expect(page.locator(f"{NOW} h3")).to_have_text(_next(count))
    assert heading(page).startswith("Done")
    assert all(one != other for one, other in itertools.combinations(asked, 2))


def test_the_question_follows_the_form(opened: Open) -> None:
    card = cards.fitted("german")
    page = opened(to_html(card=card))
    start(page)
    choices = page.locator(".choices")
    question = choices.inner_text()
    page.locator("#example").click()
    playwright.expect(choices).not_to_have_text(question, use_inner_text=True)
    field = page.locator("input[type=number]").first
    was = field.input_value()
    field.fill("")
    assert page.locator("#interview").is_hidden(), "nobody is asked while the form has a mistake"
    field.fill(was)
    playwright.expect(page.locator("#interview")).to_be_visible()


def test_one_way_leaves_nothing_to_ask(opened: Open) -> None:
    card = cards.fitted("german")
    page, person = opened(to_html(card=card)), example(card)
    needed = {step.function for step in cards.planned(card, person)[0].steps}
    for index, name in enumerate(names(card)):
        if name not in needed:
            page.locator(f"#cannot-{index}").check()
    playwright.expect(page.locator("#others-note")).to_have_text(
        "No other way comes close: each does nearly the same, or takes much more effort."
    )
    assert page.locator("#ways > li").count() == 0
    page.get_by_role("button", name="Ask me").click()
    playwright.expect(page.locator(f"{NOW} h3")).to_have_text("No questions for you")
    assert weights_of(page) == {}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_questions_on_a_phone_by_keyboard(scheme: str, opened: Open) -> None:
    page = opened(
        to_html(card=cards.fitted("german")),
        viewport={"width": 360, "height": 740},
        color_scheme=scheme,
        reduced_motion="reduce",
    )
    page.get_by_role("button", name="Ask me").focus()
    page.keyboard.press("Enter")
    playwright.expect(page.locator(".choices")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.evaluate(CONTRAST) == []
    shoot(page, f"interview-phone-{scheme}")
    for _ in range(10):
        if heading(page).startswith("Done"):
            break
        number = int(heading(page).split()[1].rstrip(":"))
        page.keyboard.press("Tab")
        while "choose" not in page.evaluate("document.activeElement.className"):
            page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        playwright.expect(page.locator(f"{NOW} h3")).to_have_text(_next(number - 1))
    assert heading(page).startswith("Done")
    assert page.evaluate(CONTRAST) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    shoot(page, f"interview-done-{scheme}")


def test_rules_ask_nothing(opened: Open) -> None:
    page = opened(to_html(program=programs.imitated(), card=cards.fitted("german")))
    playwright.expect(page.get_by_role("button", name="Ask me")).to_be_visible()
    page.get_by_role("tab", name="By rules").click()
    assert page.locator("#interview").is_hidden()
    assert page.get_by_role("link", name="Not sure? Answer a few questions.").is_hidden()


def test_questions_about_strangers_texts(opened: Open) -> None:
    program = hostile()
    asked = 0
    for seed in range(12):
        card = replace(cards.random_card(program.problem, seed), model_card=program.model_card)
        page = opened(to_html(card=card))
        button = page.get_by_role("button", name="Ask me")
        if not button.is_visible():
            continue
        button.click()
        playwright.expect(page.locator(f"{NOW} h3")).to_be_visible()
        asked += page.locator(".choices").count()
        assert page.locator("img").count() == 0
        assert page.locator("script").count() == 2
    assert asked
