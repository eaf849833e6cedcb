"""Running an experiment: cells in several processes, those done before not again, and how long is left to wait."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from counterplan.errors import CounterplanError, PlanError
from counterplan.experiments import cells
from counterplan.experiments.cells import Cell, cells_of, estimate, needed_by
from counterplan.experiments.context import require_extras
from counterplan.experiments.folder import command_of
from counterplan.experiments.rows import Rows
from counterplan.experiments.settings import Options, Settings

ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "JAX_PLATFORMS": "cpu",
}
"""Small arrays are slower on several threads, and sums may come out differently, as they may on a GPU."""


_DOUBT = 10.0
"""The first estimates count as much as so many seconds of experience."""


@dataclass
class Progress:
    """How an experiment stands."""

    total: int
    done: int = 0
    left: float | None = None
    """About how many seconds more it will take."""
    last: str = ""
    running: tuple[str, ...] = ()


Show = Callable[[Progress], None]


@dataclass
class Run:
    """One run of an experiment. With no `jobs` at all, everything is done in this process."""

    options: Options
    folder: Path
    settings: Settings
    jobs: int
    show: Show
    told: list[str] = field(default_factory=list)
    """What has to be said of cells that were there."""
    sheets: dict[Cell, dict[str, Any]] = field(default_factory=dict)
    pace: dict[Cell, float] = field(default_factory=dict)
    """How long the cells of this run took."""
    progress: Progress = field(default_factory=lambda: Progress(0))

    def run(self) -> Rows:
        """Do every cell that is not done, and give all rows."""
        everything = cells_of(self.options)
        waiting = [cell for cell in everything if not self._take(cell)]
        self.progress = Progress(len(everything), len(everything) - len(waiting))
        if waiting:
            require_extras()
            with _one_thread(), self._workers() as do:
                self._do(waiting, do)
        sources = {self.sheets[cell]["made_with"]["source"] for cell in everything}
        if sources != {cells.source()}:
            self.told.append("some cells were made by another state of the code; --force makes all of them again")
        return Rows.collected(self.sheets[cell]["sheet"] for cell in everything)

    def _take(self, cell: Cell) -> bool:
        """Take over a cell that is done, if it can be used."""
        found = cells.kept(cell, self.settings, self.folder)
        if isinstance(found, str):
            self.told.append(f"{cell.file} is {found}, and is made again")
        elif found is not None:
            self.sheets[cell] = found
            return True
        return False

    def _do(self, waiting: list[Cell], do: Callable[[Cell], Future[float]]) -> None:
        rank = _ranks(waiting)
        open_ones = sorted(waiting, key=lambda cell: -rank[cell])
        running: dict[Future[float], Cell] = {}
        failed: dict[Cell, CounterplanError] = {}
        while open_ones or running:
            for cell in [c for c in open_ones if self._ready(c)]:
                if len(running) >= max(1, self.jobs):
                    break
                open_ones.remove(cell)
                running[do(cell)] = cell
                self._tell(open_ones, running)
            if not running:
                break  # what is left needs something that failed
            for future in wait(running, return_when=FIRST_COMPLETED, timeout=None).done:
                cell = running.pop(future)
                try:
                    self.pace[cell] = future.result()
                except CounterplanError as error:
                    failed[cell] = error
                    continue
                except BrokenProcessPool:
                    raise PlanError(
                        f"a process that worked on {cell} has ended (is there enough memory?); --resume goes on"
                    ) from None
                if not self._take(cell):
                    raise PlanError(f"{cell.file}: was done, but cannot be read again; --resume tries once more")
                self.progress.done += 1
                self.progress.last = f"{cell}: {self.pace[cell]:.1f} s"
                self._tell(open_ones, running)
        if failed:
            first, why = next(iter(failed.items()))
            raise PlanError(
                f"{len(failed)} of {self.progress.total} cells failed, {first} first: {why}\n--resume tries them again"
            )

    def _ready(self, cell: Cell) -> bool:
        needed = (Cell(cell.benchmark, cell.seed, kind) for kind in needed_by(cell.kind))
        return all(other in self.sheets for other in needed)

    def _tell(self, open_ones: list[Cell], running: Mapping[Future[float], Cell]) -> None:
        """Say how it stands; what is left is estimated by the pace so far."""
        self.progress.running = tuple(str(cell) for cell in running.values())
        if self.pace:
            left = sum(map(self._expected, open_ones)) + sum(map(self._expected, running.values())) / 2
            self.progress.left = left / max(1, self.jobs)
        self.show(self.progress)

    def _expected(self, cell: Cell) -> float:
        """How long a cell will take, by the pace of its kind so far, or of all kinds."""
        alike = [other for other in self.pace if other.kind == cell.kind] or list(self.pace)
        known = sum(map(estimate, alike)) + _DOUBT
        return estimate(cell) * (sum(self.pace[other] for other in alike) + _DOUBT) / known

    @contextmanager
    def _workers(self) -> Iterator[Callable[[Cell], Future[float]]]:
        """A way to have cells done; whatever ends this, no process stays behind."""
        what = (self.settings, self.folder, command_of(self.options))
        if not self.jobs:
            yield lambda cell: _done_here(cell, *what)
            return
        before = set(multiprocessing.active_children())
        context = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(self.jobs, mp_context=context, initializer=_start_worker)
        try:
            yield lambda cell: pool.submit(cells.do, cell, *what)
        except BaseException:
            for process in set(multiprocessing.active_children()) - before:
                process.terminate()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _done_here(cell: Cell, *what: Any) -> Future[float]:
    future: Future[float] = Future()
    try:
        future.set_result(cells.do(cell, *what))
    except Exception as error:
        future.set_exception(error)
    return future


@contextmanager
def _one_thread() -> Iterator[None]:
    """Within this, processes that are started compute on one thread each, whatever the user's shell says."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(ONE_THREAD)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            os.environ |= {} if value is None else {name: value}


def _start_worker() -> None:
    """Ctrl-C is for the process that waits; and nobody works on when that one is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def watch() -> None:
        assert parent is not None
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _ranks(waiting: list[Cell]) -> dict[Cell, float]:
    """How long it takes from the start of a cell to the end of the longest chain that waits for it."""
    rank: dict[Cell, float] = {}
    for cell in reversed(waiting):
        after = [
            rank[other]
            for other in waiting
            if (other.benchmark, other.seed) == (cell.benchmark, cell.seed) and cell.kind in needed_by(other.kind)
        ]
        rank[cell] = estimate(cell) + max(after, default=0.0)
    return rank
