"""The notebooks of docs/gallery: each script runs in a folder of its own, and the notebook has its outputs."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import packages
import shown
from test_doc_pages import ROOT, notebooks  # noqa: F401 -- a fixture

GALLERY = ROOT / "docs" / "gallery"
NAMES = sorted(path.stem for path in GALLERY.glob("*.py"))
NEEDED = {
    "asking_a_person": ("matplotlib",),
    "audit": ("matplotlib",),
    "bank_boosted_trees": ("lightgbm", "matplotlib"),
    "hiring": ("matplotlib",),
    "plan_that_lasts": ("matplotlib",),
    "portfolio_on_a_cluster": ("distributed", "jax", "matplotlib", "pyarrow"),
}
"""Packages of each notebook that are not dependencies of the library."""
MOST_CELLS = 12


def texts(cell: dict[str, Any]) -> list[str]:
    """The outputs of a cell; of a figure only that there is one."""
    return ["".join(output["text"]) if "text" in output else "a figure" for output in cell.get("outputs", ())]


@pytest.mark.parametrize("name", NAMES)
def test_the_notebook_is_up_to_date(name: str, notebooks: ModuleType, tmp_path: Path) -> None:  # noqa: F811
    for package in NEEDED.get(name, ()):
        packages.required(package)
    made = notebooks.notebook((GALLERY / f"{name}.py").read_text("utf-8"), tmp_path)
    stored = json.loads((GALLERY / f"{name}.ipynb").read_text("utf-8"))
    assert [cell["source"] for cell in made["cells"]] == [cell["source"] for cell in stored["cells"]], "make notebook"
    for cell, old in zip(made["cells"], stored["cells"], strict=True):
        if not shown.same("\n".join(texts(cell)), "\n".join(texts(old)), learned=True):
            assert texts(cell) == texts(old)


@pytest.mark.parametrize("name", NAMES)
def test_every_code_cell_is_explained(name: str, notebooks: ModuleType) -> None:  # noqa: F811
    kinds = [kind for kind, _ in notebooks.cells((GALLERY / f"{name}.py").read_text("utf-8"))]
    assert kinds[::2] == ["markdown"] * len(kinds[::2])
    assert kinds[1::2] == ["code"] * len(kinds[1::2])
    assert kinds.count("code") <= MOST_CELLS


def test_the_index_lists_every_notebook() -> None:
    index = (GALLERY / "index.md").read_text("utf-8")
    assert [name for name in NAMES if f"({name}.ipynb)" not in index] == []


def test_figures_are_files_of_the_page(notebooks: ModuleType) -> None:  # noqa: F811
    made = json.loads((GALLERY / "hiring.ipynb").read_text("utf-8"))
    images = notebooks.images(made, "hiring")
    assert all(image.startswith(b"\x89PNG") for image in images.values())
    assert all(f"]({name})" in notebooks.page(made, "hiring") for name in images)
