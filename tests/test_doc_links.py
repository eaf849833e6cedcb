"""Links between the pages lead to files of the repository, so that they work there as well as on the site."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted((*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")))
_LINK = re.compile(r"\]\(([^)\s#:]+)(?:#[^)\s]*)?\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_to_files(page: Path) -> None:
    linked = _LINK.findall(page.read_text("utf-8"))
    assert [address for address in linked if not (page.parent / address).exists()] == []
