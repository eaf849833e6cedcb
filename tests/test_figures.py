"""The figures of the documentation that follow from code alone are up to date, load nothing, and fit their area."""

from __future__ import annotations

import importlib.util
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "figures"
NAMES = ("agent", "distillation", "data-flow", "causal-graph", "orders", "trace", "plan")


@pytest.fixture(scope="module")
def figures() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_figures", FOLDER / "make_figures.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_all_figures_are_tested(figures: ModuleType) -> None:
    assert set(figures.FIGURES) == {f"{name}.svg" for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_figures_are_up_to_date(figures: ModuleType, name: str) -> None:
    assert (FOLDER / f"{name}.svg").read_text("utf-8") == figures.FIGURES[f"{name}.svg"](), "run 'make figures'"


@pytest.mark.parametrize("name", NAMES)
def test_figures_load_nothing_and_have_a_background_for_both_themes(name: str) -> None:
    text = (FOLDER / f"{name}.svg").read_text("utf-8")
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"url\(|@import|href|<script|<image", text)
    assert 'class="ground"' in text
    assert "prefers-color-scheme: dark" in text
    root = ET.fromstring(text)
    width, height = float(root.get("width", 0)), float(root.get("height", 0))
    for element in root.iter():
        if element.get("x") and element.get("y"):
            assert 0 <= float(element.get("x", 0)) <= width
            assert 0 <= float(element.get("y", 0)) <= height


@pytest.mark.parametrize("name", NAMES)
def test_figures_are_shown(name: str) -> None:
    pages = "".join(page.read_text("utf-8") for page in (ROOT / "docs").rglob("*.md"))
    readme = (ROOT / "README.md").read_text("utf-8")
    assert re.search(rf"\]\((\.\./)?figures/{name}\.svg\)", pages) or f"](docs/figures/{name}.svg)" in readme


def test_every_figure_of_the_folder_is_shown() -> None:
    pages = "".join(page.read_text("utf-8") for page in [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"])
    drawn = {path.name for path in FOLDER.iterdir() if path.suffix in (".png", ".svg")}
    assert {name for name in drawn if f"figures/{name})" not in pages} == set()


def test_the_two_orders_cost_15_and_28() -> None:
    texts = ["".join(element.itertext()) for element in ET.parse(FOLDER / "orders.svg").iter()]
    assert {"15", "28", "cost 15 × 0.4 = 6", "cost 8 × 0.5 = 4"} <= set(texts)
