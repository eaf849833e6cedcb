"""Code in the how-to guides: every Python block runs, and its output is the one on the page.

`SOURCE_DATE_EPOCH=1794873600 python tests/test_doc_pages.py how-to/weights.md` writes the outputs into a page.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import shown
from packages import required
from test_doc_pages import outputs

FOLDER = Path(__file__).parents[1] / "docs" / "how-to"
PAGES = sorted(path.name for path in FOLDER.glob("*.md"))
PACKAGES = {"mlflow.md": ("mlflow", "mlflow.sklearn"), "boosters.md": ("lightgbm", "xgboost", "catboost")}
"""Packages that the code of a page needs and the library does not."""
MAX_LINES = 101
_BLOCK = re.compile(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", re.DOTALL)


@pytest.mark.parametrize("page", PAGES)
def test_guides_print_what_they_show(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in PACKAGES.get(page, ()):
        required(package)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("no_proxy", "*")
    text = (FOLDER / page).read_text("utf-8")
    blocks = _BLOCK.findall(text)
    assert any(output for _, output in blocks)
    for (code, output), printed in zip(blocks, outputs(code for code, _ in blocks), strict=True):
        if output and not shown.same(printed, output, learned=".fit(" in text):
            assert printed.strip() == output.strip(), f"{page}: {code}"


@pytest.mark.parametrize("page", PAGES)
def test_guides_are_short_and_say_their_goal_first(page: str) -> None:
    lines = (FOLDER / page).read_text("utf-8").splitlines()
    assert len(lines) < MAX_LINES
    assert lines[0].startswith("# ")
    assert lines[2].startswith("Goal: ")
    assert "## What can go wrong" in lines
