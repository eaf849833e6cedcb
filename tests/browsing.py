"""Pages in a real browser: Chromium, if there is one on this machine. `conftest.py` has the fixtures."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from counterplan.program import Program
from counterplan.program.export import to_html

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needs_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason="the page is tested in Chromium, and there is none: install chromium"
)
QUIET = [f"--{word}" for word in ("disable-background-networking", "disable-component-update", "disable-sync")]
DESKTOP = {"viewport": {"width": 1280, "height": 900}}
SCREENS = os.environ.get("COUNTERPLAN_SCREENSHOTS")
"""A folder for pictures, for people to look at."""
SLOWDOWN = float(os.environ.get("COUNTERPLAN_SLOWDOWN", "1"))
"""How many times slower the browser computes, which shows tests that do not wait for the page."""
Open = Callable[..., Any]
"""Opens the page of a program, or one that is given as text, from disk."""


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser that is closed in the end."""
    from playwright.sync_api import sync_playwright

    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as play:
        running = play.chromium.launch(executable_path=CHROMIUM, args=QUIET + sandbox)
        yield running
        running.close()


@contextmanager
def opening(browser: Any, tab: Any, path: Path) -> Iterator[Open]:
    """Opens pages at `path`; whatever they complain of or ask the network for is a failure."""
    wrong: list[str] = []
    listeners: dict[str, Callable[[Any], None]] = {
        "console": lambda message: wrong.append(message.text),
        "pageerror": lambda error: wrong.append(str(error)),
        "request": lambda request: None if request.url == path.as_uri() else wrong.append(request.url),
        "dialog": lambda dialog: wrong.append("a dialog"),
    }
    contexts, pages = [], []

    def open_page(made: Program | str, **settings: Any) -> Any:
        text = made if isinstance(made, str) else to_html(made)
        path.write_text(text, encoding="utf-8", errors="replace")
        if settings:
            contexts.append(browser.new_context(**DESKTOP | settings))
        page = contexts[-1].new_page() if settings else tab
        if page not in pages:
            pages.append(page)
            for event, listener in listeners.items():
                page.on(event, listener)
            if SLOWDOWN > 1:
                page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": SLOWDOWN})
        page.goto(path.as_uri())
        return page

    yield open_page
    for page in pages:
        for event, listener in listeners.items():
            page.remove_listener(event, listener)
    for context in contexts:
        context.close()
    tab.goto("about:blank")
    assert not wrong


def plain(states: np.ndarray) -> list[list[float | None]]:
    """States [B, F] as the scripts of a page get them."""
    return [[None if np.isnan(number) else number for number in state] for state in states.tolist()]


def shoot(page: Any, name: str) -> None:
    """A picture of the whole page, if pictures are wanted."""
    if SCREENS:
        page.screenshot(path=str(Path(SCREENS) / f"{name}.png"), full_page=True)


CONTRAST = """() => {
  const rgb = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = (c) => {
    const [r, g, b] = c.slice(0, 3).map((v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (it) => {
    for (; it; it = it.parentElement) {
      const found = rgb(getComputedStyle(it).backgroundColor);
      if (found.length === 3 || found[3] > 0) return found;
    }
    return [255, 255, 255];
  };
  const low = [];
  for (const it of document.querySelectorAll("body *:not(svg *, script, noscript *, option)")) {
    const own = [...it.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!own || !it.getClientRects().length) continue;
    const [a, b] = [light(rgb(getComputedStyle(it).color)), light(behind(it))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) low.push(`${it.tagName}.${it.className} ${(a + 0.05) / (b + 0.05)}`);
  }
  return low;
}"""
"""Texts whose contrast is too low."""
