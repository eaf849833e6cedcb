from __future__ import annotations

import doctest
import sys
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterplan.drawing import Sheet, escaped, layout, text_width, texts, wrapped

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=80)


@given(TEXTS, st.floats(20, 400))
def test_wrapped_lines_fit_and_lose_nothing(text: str, width: float) -> None:
    lines = wrapped(text, width)
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert all(text_width(line) <= width or len(line) == 1 for line in lines)


def test_a_very_long_word_is_wrapped_at_once() -> None:
    assert len(wrapped("x" * 100_000, 200)) > 1_000


@given(TEXTS)
def test_any_text_is_valid_in_a_drawing(text: str) -> None:
    sheet = Sheet()
    sheet.text(0, 0, text)
    root = ET.fromstring(sheet.svg(text, text))
    assert {element.tag.split("}")[1] for element in root.iter()} == {"svg", "title", "desc", "style", "rect", "text"}
    assert "\u202e" not in escaped("\u202eall")


@st.composite
def graphs(draw: st.DrawFn) -> tuple[int, list[tuple[int, int]]]:
    count = draw(st.integers(1, 9))
    pairs = [(i, j) for j in range(count) for i in range(j)]
    return count, draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []


@given(graphs())
def test_nodes_are_apart_and_right_of_their_parents(graph: tuple[int, list[tuple[int, int]]]) -> None:
    count, edges = graph
    heights = {node: 20.0 + 10 * node for node in range(count)}
    placed = layout(heights, edges, gap=10)
    assert all(placed.columns[one] < placed.columns[other] for one, other in edges)
    areas = [(placed.columns[node], placed.middles[node], heights[node] / 2) for node in heights]
    for (source, target), passages in placed.passages.items():
        assert len(passages) == placed.columns[target] - placed.columns[source] - 1
        areas += [(placed.columns[source] + 1 + i, middle, 0.0) for i, middle in enumerate(passages)]
    for i, (column, middle, half) in enumerate(areas):
        assert half - 1e-6 <= middle <= placed.height - half + 1e-6
        for other, place, half_of_other in areas[:i]:
            assert other != column or abs(middle - place) >= half + half_of_other + 10 - 1e-6


def test_examples_in_docstrings_hold() -> None:
    for module in (texts, sys.modules[layout.__module__]):
        assert doctest.testmod(module).failed == 0


def test_the_same_graph_has_the_same_layout() -> None:
    edges = [(0, 2), (1, 2), (2, 3), (0, 3)]
    assert layout(dict.fromkeys(range(4), 20.0), edges) == layout(dict.fromkeys(range(4), 20.0), edges)
    assert layout({}, []).height == 0
    with pytest.raises(ValueError, match="cycle"):
        layout({0: 1.0, 1: 1.0}, [(0, 1), (1, 0)])
