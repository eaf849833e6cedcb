"""Progress as lines where there is no terminal, and `progress=True` in Python."""

from __future__ import annotations

import io
import sys
import time

import pytest

from counterplan import AutoPlanner, Recourse, SettingError, benchmarks
from counterplan.plans.progress import ProgressBar, ProgressLines, duration, progress_bar

GERMAN = benchmarks.load("german")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_line_at_least_every_30_seconds() -> None:
    now, lines = [0.0], []
    bar = ProgressLines("Planning", 10, write=lines.append, clock=lambda: now[0])
    for _ in range(7):
        now[0] += 10
        bar.advance()
    assert lines == ["Planning, 3 of 10 (30 s)", "Planning, 6 of 10 (60 s)"]
    now[0] += 29
    bar.update(8, 20, label="Learning\x1b", detail="round 2")
    assert "\x1b" not in lines[-1]
    assert lines[-1].endswith("8 of 20, round 2 (99 s)")
    assert len(lines) == 3


def test_lines_appear_also_while_nothing_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar("Learning", seconds=0.01) as bar:
        assert not bar.shown
        end = time.monotonic() + 5
        text = ""
        while "Learning" not in text and time.monotonic() < end:
            time.sleep(0.01)
            text += capsys.readouterr().err
    assert "Learning (0 s)" in text


def test_progress_is_shown_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    people = GERMAN.refused_test.head(5)
    for progress, shown in ((True, True), (False, False), (None, False)):
        screen = Terminal()
        monkeypatch.setattr(sys, "stderr", screen)
        recourse = Recourse(GERMAN.problem, GERMAN.model)
        plans = recourse.recommend(people, progress=progress)
        assert ("Planning" in screen.getvalue()) == shown
        recourse.explain(plans, progress=progress)
        assert ("Explaining" in screen.getvalue()) == shown
    done: list[int] = []
    recourse.explain(recourse.recommend(people, progress=done.append), progress=done.append)
    assert sum(done) == 2 * len(people)
    with pytest.raises(SettingError, match="'progress' must be True, False or a function, not 3"):
        AutoPlanner(GERMAN.problem, GERMAN.model).plan(people, progress=3)  # type: ignore[arg-type]


def test_durations() -> None:
    assert [duration(seconds) for seconds in (3e-6, 0.025, 0.4, 12.3, 600, 36_000)] == [
        "3 µs", "25 ms", "0.4 s", "12 s", "10 min", "10 h",
    ]  # fmt: skip


def test_a_bar_that_shows_nothing() -> None:
    bar = ProgressBar()
    bar.advance()
    bar.update(1, 2, label="a", detail="b")
    assert not bar.shown
