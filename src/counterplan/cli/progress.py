"""The progress display of all commands: a bar on the error stream if that is a terminal, otherwise nothing."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from counterplan.problem.values import visible

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class ProgressBar:
    """One line of progress: a label, a bar, steps done of a total, time remaining, and details.

    Attributes
    ----------
    shown : bool
        Whether anything is displayed.
    """

    def __init__(self, display: Progress | None, task: TaskID | None) -> None:
        self._display, self._task = display, task

    @property
    def shown(self) -> bool:
        """Whether anything is displayed."""
        return self._display is not None

    def advance(self, steps: int = 1) -> None:
        """Count steps as done."""
        if self._display is not None and self._task is not None:
            self._display.advance(self._task, steps)

    def update(
        self, done: int, total: int | None = None, *, label: str | None = None, detail: str | None = None
    ) -> None:
        """Set the steps done and, if given, their total, the label and the details."""
        if self._display is None or self._task is None:
            return
        self._display.update(
            self._task, completed=done, total=total, description=None if label is None else visible(label)
        )
        if detail is not None:
            self._display.update(self._task, detail=visible(detail))


@contextmanager
def progress_bar(label: str, total: int | None = None) -> Iterator[ProgressBar]:
    """Display progress on the error stream while the context is active.

    Parameters
    ----------
    label : str
        What is being done.
    total : int, optional
        Number of steps, if it is known.

    Yields
    ------
    ProgressBar
    """
    if not sys.stderr.isatty():
        yield ProgressBar(None, None)
        return
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
        yield ProgressBar(display, display.add_task(visible(label), total=total, detail=""))
