"""The report: self-contained, escaped, with a section for whatever was audited, and readable in a browser."""

from __future__ import annotations

import base64
import csv
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from counterplan import Audit, AuditResult
from counterplan.audit.charts import heat_map, histogram, nice_ticks, share_chart
from counterplan.audit.section import Section
from loans import two_ways

HOSTILE = '<script>alert("x")</script>'


def decide(people: pd.DataFrame) -> list[str]:
    return ["yes" if row.income - row.debt >= 30 else "no" for row in people.itertuples()]


def again(people: pd.DataFrame) -> list[str]:
    return decide(people)


@pytest.fixture(scope="module")
def result() -> AuditResult:
    rng = np.random.default_rng(0)
    people = pd.DataFrame({"income": rng.integers(0, 50, 120) * 1.0, "debt": rng.integers(0, 90, 120) * 1.0})
    people["town"] = rng.choice([HOSTILE, "=cmd()", "c" * 300], 120)
    return Audit(two_ways(), decide, against=again, groups=["town"], indispensable=True).run(people)


def test_it_is_self_contained_and_escaped(result: AuditResult) -> None:
    page = result.to_html()
    assert "<script" not in page
    assert not re.search(r"(src|href)=[\"']?(https?:)?//", page)
    assert "&lt;script&gt;" in page
    anchors = re.findall(r'href="#([\w-]+)"', page)
    assert anchors == re.findall(r'<section id="([\w-]+)"', page)
    for key in ("summary", "groups", "costs", "differences", "functions", "comparison", "methods"):
        assert key in anchors
    for word in (result.about["model"], result.about["people"], "Wilson", "Holm", "Newcombe"):
        assert word in page


def test_sections_can_be_added(result: AuditResult, tmp_path: Path) -> None:
    table = pd.DataFrame({"relaxation": [HOSTILE, "=b"], "people": [3, 1], "share": [0.75, np.nan]})
    result.add_section(Section.of_table("relaxations", "Why people have no recourse", "A & B.", table))
    try:
        page = result.to_html()
        assert page.index("Why people have no recourse</h2>") < page.index("Definitions and methods</h2>")
        assert "<td>75 %</td>" in page
        result.save(tmp_path)
    finally:
        result.extra.clear()
    rows = list(csv.DictReader((tmp_path / "relaxations.csv").open()))
    assert rows[1]["relaxation"] == "'=b"
    assert result.to_dict()["about"]["name"] == "ways"


def test_tables_are_written(result: AuditResult, tmp_path: Path) -> None:
    result.save(tmp_path)
    rows = list(csv.DictReader((tmp_path / "outcomes.csv").open()))
    assert len(rows) == 120
    assert {row["town"] for row in rows} == {HOSTILE, "'=cmd()", "c" * 300}
    for name in ("groups", "differences", "functions", "comparison", "transitions"):
        assert list(csv.reader((tmp_path / f"{name}.csv").open()))


@pytest.mark.parametrize("draw", [share_chart, heat_map])
def test_long_labels_differ_in_figures(draw: Callable[..., str]) -> None:
    middle = "works in the department of " * 4
    labels = ["short", f"a {middle} north", f"a {middle} south", f"b {'x' * 900} c", f"b {'x' * 901} c"]
    rows = pd.DataFrame({"group": labels, "refused": 20, "recourse_share": 0.5, "recourse_low": 0.4})
    rows = rows.assign(recourse_high=0.6, none_share=0.5, unknown_share=0.0)
    arguments = ("recourse", "shares", "few") if draw is share_chart else (5, "few")
    image = draw(rows, *arguments)
    shown = re.findall(r">([^<>]+)</text>", base64.b64decode(image.split("base64,")[1].split('"')[0]).decode())
    first, second, *others = [text for text in shown if "…" in text]
    assert (first[-5:], second[-5:]) == ("north", "south")
    assert [text[-3:] for text in others] == ["(1)", "(2)"]


@pytest.mark.parametrize("values", [[], [0.0], [0.0, 0.0], [1e-6, 2e6], [3.0, 4.5, 4.5]])
def test_any_costs_can_be_drawn(values: list[float]) -> None:
    assert histogram(np.array(values), "costs", "cost").startswith("<img")


@pytest.mark.parametrize("high", [1e-9, 0.3, 1, 47, 1e12])
def test_ticks_are_round_and_few(high: float) -> None:
    ticks = nice_ticks(high)
    assert 2 <= len(ticks) <= 8
    assert ticks[-1] <= high * 1.0001
