"""The page of a card, or of a card and a program, in a real browser."""

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
from counterplan.errors import SettingError
from counterplan.problem import Problem
from counterplan.program.export.document import page_data
from counterplan.scorecard import CardFeature, Scorecard
from counterplan.scorecard.export.html import card_part, to_html
from counterplan.scorecard.wording import entry_texts
from program import programs
from program.test_export import hostile, some_forbidden
from scorecard import cards

playwright = pytest.importorskip("playwright.sync_api", reason="pip install playwright to test the page")
pytestmark = browsing.needs_chromium

PLAN = """([states, cannot, weights]) => {
  const { plan } = counterplan.parts.card;
  return states.map((state) => plan(state.map((number) => number ?? NaN), { cannot: new Set(cannot), weights }));
}"""
OTHERS = """([state, cannot, weights]) => {
  const { plan, alternatives } = counterplan.parts.card, start = state.map((number) => number ?? NaN);
  const options = { cannot: new Set(cannot), weights };
  return finish(alternatives(start, options, plan(start, options))).plans;
}"""
LOAD = "(data) => { counterplan.parts.card.plan = makePoints(makeWorld(data.world), data.card).plan; }"
HARDER = (0.25, 0.35, 1, 1.4, 2, 4)


def some_weights(problem: Problem, seed: int) -> dict[str, float]:
    rng = np.random.default_rng(seed)
    return {function.name: float(rng.choice(HARDER)) for function in problem.transitions.functions}


def answered(plan: dict[str, Any]) -> list[Any]:
    """What the page answers: status, steps with costs and texts, the whole cost, and the points in the end."""
    keys = ("function", "argument", "cost", "text", "start", "duration")
    steps = [[step.get(key) for key in keys] for step in plan["steps"]]
    return [plan["status"], steps, plan["cost"], plan["points"] if steps else None]


def expected(card: Scorecard, people: Any, forbid: Any = (), weights: Any = None) -> list[Any]:
    """The same of the card planner without queries."""
    answers = []
    for plan in cards.planned(card, people, forbid, weights):
        steps = [[step.function, step.argument, step.cost, step.text, step.start, step.duration] for step in plan.steps]
        points = int(card.points(card.problem.states([plan.steps[-1].after]))[0]) if steps else None
        answers.append(["found" if steps else "not_found", steps, plan.cost if steps else None, points])
    return answers


@pytest.mark.parametrize("name", worlds.BENCHMARKS)
def test_page_plans_as_the_card_planner(name: str, opened: Open) -> None:
    """A sample; `bench/page.py` compares 2,000 people of each benchmark."""
    card = cards.fitted(name)
    page, states = opened(to_html(card=card)), cards.refused(name)
    found = 0
    count = {"syn_long": 1, "taiwan": 8}.get(name, 25)
    for seed, forbid in enumerate(([], [], some_forbidden(card.problem), [card.problem.transitions.functions[1].name])):
        people = states.iloc[seed * count : (seed + 1) * count]
        weights = some_weights(card.problem, seed) if seed % 2 else {}
        answers = page.evaluate(PLAN, [plain(card.problem.read(people).states), forbid, weights])
        wanted = expected(card, people, forbid, weights)
        assert [answered(plan) for plan in answers] == wanted
        found += sum(status == "found" for status, *_ in wanted)
    assert found > count


def test_page_plans_in_many_worlds(opened: Open) -> None:
    """Conditions, formulas, tables, bounds, missing values, free actions: whatever a problem file can say."""
    page, found = opened(to_html(card=cards.fitted("german"))), 0
    for seed in range(60):
        problem = Problem.from_dict(worlds.random_problem(seed))
        card = cards.random_card(problem, seed)
        people = worlds.random_people(problem, seed, 8)
        weights = some_weights(problem, seed) if seed % 2 else {}
        forbid = [problem.transitions.functions[0].name] if seed % 5 == 4 else []
        page.evaluate(LOAD, page_data([card_part(card)]))
        answers = page.evaluate(PLAN, [plain(problem.read(people).states), forbid, weights])
        wanted = expected(card, people, forbid, weights)
        assert [answered(plan) for plan in answers] == wanted, f"world {seed}"
        found += sum(status == "found" for status, *_ in wanted)
    assert found > 110


def test_other_ways_do_without_something(opened: Open) -> None:
    """Each does without a function of every plan before it, and is the cheapest one that does."""
    card = cards.fitted("german")
    page, several = opened(to_html(card=card)), 0
    for row in range(5):
        person = cards.refused("german").iloc[row : row + 1]
        state = plain(card.problem.read(person).states)[0]
        first = page.evaluate(PLAN, [[state], [], {}])[0]
        others = page.evaluate(OTHERS, [state, [], {}])
        assert len(others) <= 3
        several += len(others) > 1
        plans, done = [first, *others], [{step["function"] for step in plan["steps"]} for plan in [first, *others]]
        assert all(not before <= after for before, after in itertools.combinations(done, 2))
        assert [plan["cost"] for plan in plans] == sorted(plan["cost"] for plan in plans)
        for rank in range(1, min(len(plans) + 1, 3)):
            without = {frozenset(some) for some in itertools.product(*done[:rank])}
            others_of = [cards.planned(card, person, sorted(some))[0] for some in without]
            least = min((plan.cost for plan in others_of if plan.steps and not plan.caution), default=None)
            assert (plans[rank]["cost"] if rank < len(plans) else None) == least
    assert several > 2


def shown(page: Any, selector: str = "#card-result .timeline .what") -> list[str]:
    return [text.strip() for text in page.locator(selector).all_inner_texts()]


def test_points_plan_and_other_ways_are_shown(opened: Open) -> None:
    card = cards.fitted("german")
    page, person = opened(to_html(card=card)), example(card)
    plan, now = cards.planned(card, person)[0], int(card.points(card.problem.read(person).states)[0])
    result = page.locator("#card-result")
    assert f"You have {now} of {card.needed} points. {card.needed - now} points short." in result.inner_text()
    assert shown(page)[:-1] == [step.text for step in plan.steps]
    totals = card.points(card.problem.states([step.after for step in plan.steps])).tolist()
    for before, after in itertools.pairwise([now, *totals]):
        assert f"+{after - before} points" in result.inner_text()
        assert f"{after} so far" in result.inner_text()
    assert "Worked out from points; not checked with the model that decides." in result.inner_text()
    playwright.expect(page.locator("#ways > li").first).to_be_visible()
    assert 1 <= page.locator("#ways > li").count() <= 3
    assert "more effort" in page.locator("#ways").inner_text() or "same effort" in page.locator("#ways").inner_text()
    playwright.expect(page.locator("#said")).to_contain_text(f"{now} of {card.needed} points. Plan: ")
    assert page.locator("#points-sum").inner_text() == str(now)
    assert page.locator("#points-then").inner_text() == f"+{totals[-1] - now}"
    assert page.locator(".entry-now").count() == len(card.features)
    assert page.locator(".entry-then").count() == len({step.function for step in plan.steps})
    shoot(page, "card-light")


def example(card: Scorecard) -> pd.DataFrame:
    return pd.DataFrame([(card.model_card.examples or ())[0]])


def test_own_effort_changes_the_plan(opened: Open) -> None:
    card = cards.fitted("german")
    page, person = opened(to_html(card=card)), example(card)
    first = cards.planned(card, person)[0].steps[0].function
    names = [function.name for function in card.problem.transitions.functions]
    slider = page.locator(f"#hard-{names.index(first)}")
    slider.fill("8")
    assert slider.get_attribute("aria-valuetext") == "much harder for me: four times the effort"
    harder = cards.planned(card, person, weights={first: 4.0})[0]
    assert shown(page)[:-1] == [step.text for step in harder.steps]
    assert f"effort {harder.cost:.1f} for you, in all" in page.locator("#card-result").inner_text()
    page.locator(f"#cannot-{names.index(first)}").check()
    without = cards.planned(card, person, [first])[0]
    assert shown(page)[:-1] == [step.text for step in without.steps]
    assert slider.is_disabled()
    page.get_by_role("button", name="Reset").click()
    assert shown(page)[:-1] == [step.text for step in cards.planned(card, person)[0].steps]
    assert slider.input_value() == "4"
    assert not slider.is_disabled()


def test_nothing_helps_is_said_plainly(opened: Open) -> None:
    card = cards.fitted("german")
    page, person = opened(to_html(card=card)), example(card)
    for box in page.get_by_role("checkbox", name="I cannot do this").all():
        box.check()
    result = page.locator("#card-result")
    assert "Nothing that is possible for you leads to" in result.inner_text()
    playwright.expect(page.locator("#said")).to_contain_text("No plan")
    page.get_by_role("button", name="Allow everything").click()
    assert shown(page)[:-1] == [step.text for step in cards.planned(card, person)[0].steps]
    assert page.evaluate("document.activeElement.id") == "plan"

    near = replace(card, needed=10**6)
    page = opened(to_html(card=near))
    best = cards.planned(near, person)[0]
    assert shown(page)[:-1] == [step.text for step in best.steps]
    assert "1000000 are out of your reach, and these are the most within it" in result.inner_text()

    page = opened(to_html(card=replace(card, needed=10**6, shift=10**6 * card.slope)))
    assert "Nothing that is possible for you leads to 1,000,000 points" in result.inner_text()
    assert page.locator("#others").is_hidden()
    page = opened(to_html(card=replace(card, needed=1)))
    assert "You have enough points already" in result.inner_text()
    assert shown(page)[:-1] == [step.text for step in cards.planned(replace(card, needed=1), person)[0].steps]
    assert "because that is more than you have" in result.inner_text(), "a refused person needs more than they have"


def test_no_other_way_is_said_plainly(opened: Open) -> None:
    card = cards.fitted("german")
    page, person = opened(to_html(card=card)), example(card)
    used = {step.function for step in cards.planned(card, person)[0].steps}
    for index, function in enumerate(card.problem.transitions.functions):
        if function.name not in used:
            page.locator(f"#cannot-{index}").check()
    playwright.expect(page.locator("#others-note")).to_have_text(
        "There is no other way to enough points without something that the plan above does."
    )
    assert page.locator("#ways > li").count() == 0


def test_long_searches_end_and_say_so(opened: Open) -> None:
    """A search that takes many turns: the page stays responsive, a later answer replaces it, and it gives up."""
    card = slow_card()
    page = opened(to_html(card=card))
    playwright.expect(page.locator("#card-result")).to_contain_text("Working it out")
    longest = page.evaluate(
        """() => new Promise((done) => {
          let last = performance.now(), longest = 0, turns = 0;
          const tick = () => {
            const now = performance.now();
            longest = Math.max(longest, now - last);
            last = now;
            if ((turns += 1) < 40) setTimeout(tick); else done(longest);
          };
          tick();
        })"""
    )
    assert longest < 500
    page.evaluate("counterplan.data.card.needed = 0")
    gave = page.evaluate("counterplan.parts.card.plan(counterplan.data.examples[0], { limit: 2000 }).status")
    assert gave == "gave_up"


def slow_card(features: int = 40) -> Scorecard:
    """Very many ways to too few points, all of different cost."""
    problem = Problem.from_dict(
        {
            "counterplan": 1,
            "name": "many",
            "outcome": {"column": "ok", "values": ["no", "yes"], "favourable": "yes"},
            "max_actions": 12,
            "features": {f"f{i}": {"kind": "category", "values": ["a", "b", "c"]} for i in range(features)},
            "functions": {
                f"SET_{i}": {"set": f"f{i}", "arguments": ["b", "c"], "cost": {"base": 1 + i / 97}}
                for i in range(features)
            },
        }
    )
    rows = tuple(CardFeature(i, (), (0, 50 + i % 7, 53 + i % 5)) for i in range(features))
    return Scorecard(problem, rows, 12 * 56 - 1, 0.1, 1.0)


def test_both_are_shown_in_tabs(opened: Open) -> None:
    card, program = cards.fitted("german"), programs.imitated()
    page = opened(to_html(program=program, card=card))
    points, rules = page.get_by_role("tab", name="By points"), page.get_by_role("tab", name="By rules")
    assert points.get_attribute("aria-selected") == "true"
    assert page.locator("#program-result").is_hidden()
    assert "The rules lead to" in page.locator("#card-result").inner_text()
    points.focus()
    page.keyboard.press("ArrowRight")
    assert rules.get_attribute("aria-selected") == "true"
    assert page.evaluate("document.activeElement.id") == "tab-program"
    assert page.locator("#card-result").is_hidden()
    assert page.locator("#points").is_hidden()
    first = (card.model_card.examples or ())[0]
    wanted = program.recommend(pd.DataFrame([first]))[0]
    assert shown(page, "#program-result .timeline .what")[:-1] == [step.text for step in wanted.steps]
    page.locator("#cannot-0").check()
    other = program.recommend(pd.DataFrame([first]), forbid=[program.nodes[1]])[0]
    assert shown(page, "#program-result .timeline .what")[:-1] == [step.text for step in other.steps]
    assert page.evaluate(CONTRAST) == []
    shoot(page, "both-rules")


def test_keyboard_alone_is_enough(opened: Open) -> None:
    page = opened(to_html(card=cards.fitted("german")))
    reached = []
    for _ in range(50):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.id || document.activeElement.className"))
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none" or reached[-1] == "skip"
        if reached[-1] == "hard-0":
            page.keyboard.press("ArrowRight")
            assert page.locator("#hard-0").get_attribute("aria-valuetext") == "a little harder for me"
        if reached[-1] == "cannot-1":
            page.keyboard.press("Space")
            assert page.locator("#cannot-1").is_checked()
        if reached[-1] == "cannot-5":
            break
    assert {"skip", "example", "reset", "hard-0", "cannot-0", "cannot-5"} <= set(reached)
    assert "hard-1" not in reached, "what one cannot do is not weighed"


def test_every_control_has_a_name(opened: Open) -> None:
    page = opened(to_html(card=cards.fitted("taiwan")))
    nameless = "(it) => !it.labels?.length && !it.ariaLabel && !it.getAttribute('aria-labelledby')"
    assert page.evaluate(f"[...document.querySelectorAll('input, select')].filter({nameless}).length") == 0
    levels = page.evaluate("[...document.querySelectorAll('h1, h2, h3')].map((it) => Number(it.tagName[1]))")
    assert levels[0] == 1
    assert all(b - a <= 1 for a, b in itertools.pairwise(levels))


def test_a_thing_that_several_functions_change_can_be_kept(opened: Open) -> None:
    card = cards.fitted("taiwan")
    page = opened(to_html(card=card))
    names = [function.name for function in card.problem.transitions.functions]
    bill = next(feature.label for feature in card.problem.features if feature.name == "bill")
    keep = page.get_by_role("checkbox", name=f"Keep {bill} as it is")
    keep.check()
    assert page.locator(f"#cannot-{names.index('PAY_DOWN')}").is_checked()
    page.locator(f"#cannot-{names.index('TAKE_INSTALMENT_LOAN')}").uncheck()
    assert not keep.is_checked()
    assert page.evaluate("(box) => box.indeterminate", keep.element_handle())


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_and_dark(scheme: str, opened: Open) -> None:
    page = opened(to_html(card=cards.fitted("german")), color_scheme=scheme, reduced_motion="reduce")
    playwright.expect(page.locator("#ways > li").first).to_be_visible()
    assert page.evaluate(CONTRAST) == []
    shoot(page, f"card-{scheme}")
    for box in page.get_by_role("checkbox", name="I cannot do this").all():
        box.check()
    assert page.evaluate(CONTRAST) == []


@pytest.mark.parametrize("name", ["german", "taiwan"])
def test_fits_a_phone(name: str, opened: Open) -> None:
    card = cards.fitted(name)
    page = opened(to_html(card=card), viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.locator("#peek").click()
    playwright.expect(page.locator("#peek")).to_be_hidden()
    shoot(page, f"card-phone-{name}")


def test_strangers_texts_stay_texts(opened: Open) -> None:
    program = hostile()
    card = replace(cards.random_card(program.problem, 3), model_card=program.model_card)
    text = to_html(program=program, card=card)
    assert text.count("<script") == text.count("</script>") == 2
    page = opened(text)
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 2
    assert "<img src=x onerror=alert(1)>" in page.locator("form").inner_text()


def test_many_features_with_long_names(opened: Open) -> None:
    """A file of a stranger: 200 features, labels without spaces."""
    features = {f"f{i}": {"kind": "category", "values": ["a", "b" * 80], "label": f"{i}{'x' * 90}"} for i in range(200)}
    data = {
        "counterplan": 1,
        "name": "wide",
        "outcome": {"column": "ok", "values": ["no", "yes"], "favourable": "yes"},
        "max_actions": 3,
        "features": features,
        "functions": {f"S{i}": {"set": f"f{i}", "arguments": ["b" * 80], "cost": 1 + i} for i in range(60)},
    }
    rows = tuple(CardFeature(i, (), (0, 10)) for i in range(200))
    card = Scorecard(Problem.from_dict(data), rows, 30, 0.1, 1.0)
    page = opened(to_html(card=card), viewport={"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert len(shown(page)) == 4
    assert "effort 6.0 in all" in page.locator("#card-result").inner_text()


def test_whatever_is_entered_gets_an_answer(opened: Open) -> None:
    page = opened(to_html(card=cards.fitted("german")))
    for field in page.locator("input[type=number]").all():
        was = field.input_value()
        for typed in ("1e999", "-1e300", "999999999999", "0", "1.5", "e", ""):
            field.fill("")
            field.press_sequentially(typed)
            told = page.locator("#card-result").inner_text()
            assert "points" in told or "as soon as this is corrected" in told, typed
            assert "NaN" not in told
            assert "Infin" not in told
        field.fill(was)


def test_a_page_needs_one_problem() -> None:
    card = cards.fitted("german")
    with pytest.raises(SettingError, match="needs a program, a card or both"):
        to_html()
    with pytest.raises(SettingError, match="different problems"):
        to_html(program=programs.distilled("syn"), card=card)
    assert to_html(card=card) == to_html(card=card)


def test_entries_are_told_in_words() -> None:
    card = cards.fitted("german")
    feature = next(f for f in card.problem.features if f.name == "duration")
    assert feature.integer
    row = CardFeature(feature.index, (12.0, 13.0, 24.0), (5, 4, 3, 0))
    assert entry_texts(feature, row) == ["below 12 months", "12 months", "13 to 23 months", "24 months or more"]
    loose = replace(feature, integer=False, unit=None)
    assert entry_texts(loose, row) == ["below 12", "12 to below 13", "13 to below 24", "24 or more"]
