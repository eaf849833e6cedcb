"""Plans as HTML: escaped, self-contained, without scripts."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser

import pytest

from counterplan import Plan, Plans, Status, Step

HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(1)>&\x1b[31m'


class Page(HTMLParser):
    """Collects tags, attributes and text, and checks that every tag is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attributes}
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_a_plan_is_a_timeline(longest: Plan) -> None:
    reasoned = replace(longest, steps=tuple(replace(step, reason="you are young") for step in longest.steps))
    page = Page(reasoned._repr_html_())
    assert "li" in page.tags
    for step in longest.steps:
        assert step.text in page.text
        assert f"effort {step.cost:.1f}" in page.text
    assert page.text.count("because you are young") == len(longest.steps)
    assert "on 17 November 2026: favourable." in page.text
    loose = Page(replace(longest, verified=False, optimal=False, caution="It might rain.")._repr_html_())
    assert "Not checked with the model" in loose.text
    assert "It might rain." in loose.text


@pytest.mark.parametrize("status", [status for status in Status if status is not Status.FOUND])
def test_without_steps_the_text_is_shown(status: Status) -> None:
    plan = Plan(1, status, {}, queries=3)
    assert Page(plan._repr_html_()).text == str(plan)


def test_plans_are_a_table_of_the_first_rows(plans: Plans) -> None:
    page = Page(plans._repr_html_())
    assert f"60 people: {plans.counts['found']} found" in page.text
    assert "… and 50 more." in page.text
    for plan in plans[:10]:
        for step in plan.steps:
            assert step.text in page.text
    assert "nothing to do" in Page(Plans(())._repr_html_()).text
    assert len(plans._repr_html_()) < 20_000


def test_the_page_has_every_plan(plans: Plans) -> None:
    page = Page(plans.to_html())
    assert {"html", "style", "h1", "h2"} <= page.tags
    for plan in plans:
        assert f"Person {plan.person}" in page.text
        assert all(step.text in page.text for step in plan.steps)


def test_hostile_names_are_text() -> None:
    step = Step(HOSTILE, HOSTILE, 1.0, HOSTILE, {}, {}, HOSTILE)
    found = Plan(HOSTILE, Status.FOUND, {}, (step,), caution=HOSTILE)
    plans = Plans((found, Plan(HOSTILE, Status.NOT_FOUND, {})))
    for text in (found._repr_html_(), plans._repr_html_(), plans.to_html()):
        page = Page(text)
        assert page.tags.isdisjoint({"script", "img"})
        assert not {name for name in page.attributes if name.startswith("on") or name in ("src", "href")}
        assert "<script>alert(1)</script>" in page.text
        assert "\x1b" not in text
