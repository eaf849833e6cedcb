"""Progress of long computations: a bar in a terminal or a notebook, otherwise a line from time to time.

The command line and every Python function with a parameter `progress` display progress through this module.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any

from counterplan.errors import SettingError
from counterplan.problem.values import visible

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

LINE_SECONDS = 30.0
"""Most seconds between two lines of progress where no bar can be displayed."""

Clock = Callable[[], float]


class ProgressBar:
    """Progress that is not displayed; subclasses display it.

    Attributes
    ----------
    shown : bool
        Whether a bar is displayed.
    """

    shown = False

    def advance(self, steps: int = 1) -> None:
        """Count steps as done."""

    def update(
        self, done: int, total: int | None = None, *, label: str | None = None, detail: str | None = None
    ) -> None:
        """Set the steps done and, if given, their total, the label and the details."""


class _RichBar(ProgressBar):
    """A bar of rich: a label, a bar, steps done of a total, time remaining, and details."""

    shown = True

    def __init__(self, display: Progress, task: TaskID) -> None:
        self._display, self._task = display, task

    def advance(self, steps: int = 1) -> None:
        self._display.advance(self._task, steps)

    def update(
        self, done: int, total: int | None = None, *, label: str | None = None, detail: str | None = None
    ) -> None:
        description = None if label is None else visible(label)
        self._display.update(self._task, completed=done, total=total, description=description)
        if detail is not None:
            self._display.update(self._task, detail=visible(detail))


class ProgressLines(ProgressBar):
    """A line of progress whenever `seconds` have passed since the last one, for output that is not a terminal.

    Parameters
    ----------
    label : str
        What is being done.
    total : int, optional
        Number of steps, if it is known.
    write : callable
        Writes one line.
    clock : callable
        Seconds since some moment.
    seconds : float
        Time between two lines.
    """

    def __init__(
        self,
        label: str,
        total: int | None = None,
        *,
        write: Callable[[str], None],
        clock: Clock = time.monotonic,
        seconds: float = LINE_SECONDS,
    ) -> None:
        self._label, self._done, self._total, self._detail = label, 0, total, ""
        self._write, self._clock, self._seconds = write, clock, seconds
        self._started = self._last = clock()
        self._lock = threading.Lock()

    def advance(self, steps: int = 1) -> None:
        """Count steps as done."""
        self._done += steps
        self.tick()

    def update(
        self, done: int, total: int | None = None, *, label: str | None = None, detail: str | None = None
    ) -> None:
        """Set the steps done and, if given, their total, the label and the details."""
        self._done = done
        self._total = self._total if total is None else total
        self._label = self._label if label is None else label
        self._detail = self._detail if detail is None else detail
        self.tick()

    def tick(self) -> None:
        """Write a line if it is time for one."""
        with self._lock:
            now = self._clock()
            if now - self._last >= self._seconds:
                self._last = now
                self._write(visible(self._line(now - self._started)))

    def _line(self, elapsed: float) -> str:
        parts = [self._label]
        if self._total:
            parts.append(f"{self._done:,} of {self._total:,}")
        elif self._done:
            parts.append(f"{self._done:,} done")
        parts += [self._detail] if self._detail else []
        return f"{', '.join(parts)} ({elapsed:.0f} s)"


def duration(seconds: float) -> str:
    """Format a duration: "3 µs", "25 ms", "0.4 s", "12 min", "3 h"."""
    for most, unit, name in ((1e-3, 1e-6, "µs"), (0.1, 1e-3, "ms"), (120, 1, "s"), (7200, 60, "min")):
        if seconds < most:
            number = seconds / unit
            return f"{number:.1f} {name}" if number < 10 and name == "s" else f"{number:,.0f} {name}"
    return f"{seconds / 3600:,.0f} h"


@contextmanager
def progress_bar(
    label: str, total: int | None = None, *, clock: Clock = time.monotonic, seconds: float = LINE_SECONDS
) -> Iterator[ProgressBar]:
    """Display progress on the error stream while the context is active.

    A terminal or a notebook shows a bar; otherwise a line is written at least every `seconds`, also while nothing is
    reported.

    Parameters
    ----------
    label : str
        What is being done.
    total : int, optional
        Number of steps, if it is known.
    clock : callable, optional
        Seconds since some moment.
    seconds : float, default=30
        Most seconds between two lines.

    Yields
    ------
    ProgressBar
    """
    if sys.stderr.isatty() or _in_notebook():
        with _rich_bar(label, total) as bar:
            yield bar
        return
    lines, ended = ProgressLines(label, total, write=_write_line, clock=clock, seconds=seconds), threading.Event()

    def tick() -> None:
        while not ended.wait(seconds):
            lines.tick()

    threading.Thread(target=tick, name="counterplan progress", daemon=True).start()
    try:
        yield lines
    finally:
        ended.set()


@contextmanager
def reporting(
    progress: bool | Callable[..., None] | None,
    label: str,
    total: int | None = None,
    *,
    display: Callable[[ProgressBar], Callable[..., None]],
) -> Iterator[Callable[..., None]]:
    """Resolve the parameter `progress` of a function to a callback.

    Parameters
    ----------
    progress : bool, callable or None
        True for a progress bar, False or None for nothing; a callable is used as it is.
    label : str
        What is being done.
    total : int, optional
        Number of steps, if it is known.
    display : callable
        Makes the callback that displays reports on a progress bar.

    Yields
    ------
    callable

    Raises
    ------
    SettingError
        If `progress` is something else.
    """
    if progress is not None and not isinstance(progress, bool) and not callable(progress):
        raise SettingError(f"'progress' must be True, False or a function, not {progress!r}")
    with ExitStack() as stack:
        if progress is True:
            yield display(stack.enter_context(progress_bar(label, total)))
        else:
            yield progress if callable(progress) else _ignore


def stage_display(bar: ProgressBar) -> Callable[[str, int, int], None]:
    """Callback that displays the name of a stage, the steps done and their total."""

    def show(stage: str, done: int, total: int) -> None:
        bar.update(done, total, label=stage.capitalize())

    return show


def _ignore(*report: Any) -> None:
    """Ignore a report."""


def _write_line(text: str) -> None:
    with suppress(OSError, UnicodeEncodeError, ValueError):
        sys.stderr.write(text + "\n")
        sys.stderr.flush()


def _in_notebook() -> bool:
    """Whether the code runs in a Jupyter kernel."""
    shell = sys.modules.get("IPython")
    current = None if shell is None else shell.get_ipython()
    return type(current).__name__ == "ZMQInteractiveShell"


@contextmanager
def _rich_bar(label: str, total: int | None) -> Iterator[ProgressBar]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[detail]}", markup=False),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as display:
        yield _RichBar(display, display.add_task(visible(label), total=total, detail=""))
