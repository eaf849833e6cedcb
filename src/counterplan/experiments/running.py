"""Run an experiment: schedule cells over processes, reuse finished ones, estimate the remaining time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from counterplan.batch.engines import DaskEngine, Engine, InProcess, ProcessEngine
from counterplan.errors import CounterplanError, StorageError
from counterplan.experiments import cells
from counterplan.experiments.cells import Cell, cells_of, estimate, needed_by
from counterplan.experiments.context import require_extras
from counterplan.experiments.folder import command_of
from counterplan.experiments.rows import ExperimentRows
from counterplan.experiments.settings import ExperimentOptions, ExperimentSettings
from counterplan.parallel import single_thread

_WAKE_SECONDS = 0.5
"""Longest uninterrupted wait: a signal that another thread receives does not end a wait of the main thread."""
_PRIOR_SECONDS = 10.0
"""Weight of the prior estimates, in seconds of experience."""


@dataclass
class ExperimentProgress:
    """The progress of an experiment."""

    total: int
    done: int = 0
    seconds_left: float | None = None
    """Estimated; None before the first cell is done."""
    last: str = ""
    running: tuple[str, ...] = ()


ProgressCallback = Callable[[ExperimentProgress], None]


@dataclass
class ExperimentRun:
    """One run of an experiment.

    Parameters
    ----------
    options : ExperimentOptions
    folder : Path
        A folder prepared with `folder.begin`.
    settings : ExperimentSettings
    jobs : int
        Number of processes; 0 runs everything in this process.
    show : callable
        Called with the progress whenever a cell starts or ends.
    cluster : str, optional
        Run the cells on a Dask cluster: the address of its scheduler, or "local" for one with `jobs` processes.
    """

    options: ExperimentOptions
    folder: Path
    settings: ExperimentSettings
    jobs: int
    show: ProgressCallback
    cluster: str | None = None
    warnings: list[str] = field(default_factory=list)
    """About cells that cannot be reused."""
    records: dict[Cell, dict[str, Any]] = field(default_factory=dict)
    seconds: dict[Cell, float] = field(default_factory=dict)
    """Wall time of the cells of this run."""
    progress: ExperimentProgress = field(default_factory=lambda: ExperimentProgress(0))

    def run(self) -> ExperimentRows:
        """Run every cell that is not finished, and return all rows.

        Raises
        ------
        CounterplanError
            If cells fail; all cells that do not depend on them are run first.
        """
        everything = cells_of(self.options)
        waiting = [cell for cell in everything if not self._reuse(cell)]
        self.progress = ExperimentProgress(len(everything), len(everything) - len(waiting))
        if waiting:
            require_extras()
            with single_thread(), self._engine() as engine:
                self._schedule(waiting, engine)
        sources = {self.records[cell]["made_with"]["source"] for cell in everything}
        if sources != {cells.source()}:
            self.warnings.append("some cells were made by another state of the code; --force makes all of them again")
        return ExperimentRows.collected(self.records[cell]["sheet"] for cell in everything)

    def _reuse(self, cell: Cell) -> bool:
        """Load a finished cell, if it can be reused."""
        content = cells.load_cell(cell, self.settings, self.folder)
        if isinstance(content, str):
            self.warnings.append(f"{cell.file} is {content}, and is made again")
        elif content is not None:
            self.records[cell] = content
            return True
        return False

    def _schedule(self, waiting: list[Cell], engine: Engine) -> None:
        rank = _ranks(waiting)
        arguments = (self.settings, self.folder if self.cluster is None else self.folder.absolute())
        pending = sorted(waiting, key=lambda cell: -rank[cell])
        running: dict[Future[float], Cell] = {}
        failed: dict[Cell, CounterplanError] = {}
        while pending or running:
            for cell in [cell for cell in pending if self._ready(cell)]:
                if len(running) >= engine.slots:
                    break
                pending.remove(cell)
                running[engine.submit(cells.run_cell, cell, *arguments, command_of(self.options))] = cell
                self._report(pending, running, engine.slots)
            if not running:
                break  # all pending cells depend on one that failed
            for future in wait(running, return_when=FIRST_COMPLETED, timeout=_WAKE_SECONDS).done:
                cell = running.pop(future)
                try:
                    self.seconds[cell] = future.result()
                except CounterplanError as error:
                    failed[cell] = error
                    continue
                except engine.died:
                    raise CounterplanError(
                        f"the process that ran {cell} has ended (is there enough memory?); continue with --resume"
                    ) from None
                if not self._reuse(cell):
                    raise StorageError(f"{cell.file}: was written, but cannot be read; try again with --resume")
                self.progress.done += 1
                self.progress.last = f"{cell}: {self.seconds[cell]:.1f} s"
                self._report(pending, running, engine.slots)
        if failed:
            first, reason = next(iter(failed.items()))
            raise CounterplanError(
                f"{len(failed)} of {self.progress.total} cells failed, {first} first: {reason}\n"
                "--resume tries them again"
            )

    def _ready(self, cell: Cell) -> bool:
        needed = (Cell(cell.benchmark, cell.seed, kind) for kind in needed_by(cell.kind))
        return all(other in self.records for other in needed)

    def _report(self, pending: list[Cell], running: Mapping[Future[float], Cell], slots: int) -> None:
        """Report the progress; the remaining time is extrapolated from the pace so far."""
        self.progress.running = tuple(str(cell) for cell in running.values())
        if self.seconds:
            left = sum(map(self._expected, pending)) + sum(map(self._expected, running.values())) / 2
            self.progress.seconds_left = left / slots
        self.show(self.progress)

    def _expected(self, cell: Cell) -> float:
        """Expected seconds of a cell, from the pace of its kind so far, or of all kinds."""
        similar = [other for other in self.seconds if other.kind == cell.kind] or list(self.seconds)
        prior = sum(map(estimate, similar)) + _PRIOR_SECONDS
        return estimate(cell) * (sum(self.seconds[other] for other in similar) + _PRIOR_SECONDS) / prior

    def _engine(self) -> Engine:
        """What runs the cells; no process outlives its context."""
        if self.cluster is not None:
            return DaskEngine(self.cluster, max(1, self.jobs))
        return ProcessEngine(self.jobs, import_main=True) if self.jobs else InProcess()


def _ranks(waiting: list[Cell]) -> dict[Cell, float]:
    """Estimated seconds from the start of a cell to the end of the longest chain of cells that depend on it."""
    rank: dict[Cell, float] = {}
    for cell in reversed(waiting):
        after = [
            rank[other]
            for other in waiting
            if (other.benchmark, other.seed) == (cell.benchmark, cell.seed) and cell.kind in needed_by(other.kind)
        ]
        rank[cell] = estimate(cell) + max(after, default=0.0)
    return rank
