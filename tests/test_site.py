"""The documentation site builds without warnings, documents every public name, and loads nothing from elsewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import browsing
import counterplan

pytest.importorskip("mkdocs")
pytest.importorskip("material")
ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built") / "site"
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return folder


class Loaded(HTMLParser):
    """The addresses that a browser fetches for a page."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        if tag in ("script", "img", "iframe", "source", "video", "audio", "embed"):
            self.addresses.append(attributes.get("src") or "")
        elif tag == "link" and attributes.get("rel") not in ("canonical", "next", "prev"):
            self.addresses.append(attributes.get("href") or "")


def test_loads_nothing_from_elsewhere(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 15
    for page in pages:
        loaded = Loaded()
        loaded.feed(page.read_text("utf-8"))
        assert len(loaded.addresses) > 3
        for address in filter(None, loaded.addresses):
            assert not re.match(r"\w+:|//", address), f"{page.name} loads {address}"
            assert page.name == "404.html" or (page.parent / address.split("?")[0]).exists(), f"{page}: {address}"
    for style in site.rglob("*.css"):
        assert not re.search(r"(url\(|@import)\s*['\"]?(https?:)?//", style.read_text("utf-8")), style.name


def test_documents_every_public_name(site: Path) -> None:
    pages = "".join(page.read_text("utf-8") for page in (site / "api").glob("*.html"))
    for name in counterplan.__all__:
        assert re.search(rf'id="counterplan\.{name}[".]', pages), f"{name} is on no page of docs/api"


@browsing.needs_chromium
def test_search_works_without_a_server(site: Path, browser: Any) -> None:
    page = browser.new_page()
    fetched: list[str] = []
    errors: list[str] = []
    page.on("request", lambda request: fetched.append(request.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto((site / "index.html").as_uri())
    page.click("input[name=query]")
    page.keyboard.type("surrogate")
    page.wait_for_selector(".md-search-result__item", timeout=20_000)
    page.close()
    assert errors == []
    assert [url for url in fetched if not url.startswith(("file:", "data:", "blob:", "about:"))] == []
