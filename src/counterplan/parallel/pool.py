"""A pool of worker processes that run a function on chunks of work, and may send requests to this process meanwhile."""

from __future__ import annotations

import atexit
import multiprocessing
import os
import signal
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from io import BytesIO
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import ForkingPickler
from types import ModuleType
from typing import Any, TypeVar

import numpy as np

from counterplan.blackbox import BlackBox
from counterplan.errors import CounterplanError, SettingError
from counterplan.parallel.remote_box import BoxSpec, RemoteBox, set_request

SINGLE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "JAX_PLATFORMS": "cpu",
}
"""Small arrays are slower on several threads, and the order of sums, and so their rounding, may differ."""

_POLL_SECONDS = 0.002
_WAKE_SECONDS = 0.5
"""Longest uninterrupted wait: a signal that another thread receives does not end a wait of the main thread."""

T = TypeVar("T")
Context = TypeVar("Context")
Chunk = TypeVar("Chunk")
Result = TypeVar("Result")
Work = Callable[[Context, Chunk, "WorkerLink"], Result]
"""A function of a module, which gets the context of the run, a chunk, and a link to the process that started it."""


def checked_jobs(jobs: object) -> int:
    """Validate a number of processes: 1 or more, or -1 for one process per core.

    Returns
    -------
    int
        1 or more; always 1 in a worker process, which has none of its own.

    Raises
    ------
    SettingError
        If it is something else.
    """
    if isinstance(jobs, bool) or not isinstance(jobs, (int, np.integer)) or (jobs < 1 and jobs != -1):
        raise SettingError(f"'jobs' must be a number of processes, 1 or more, or -1 for one per core; not {jobs!r}")
    if multiprocessing.current_process().daemon:
        return 1
    return int(jobs) if jobs > 0 else os.cpu_count() or 1


class WorkerLink:
    """What a worker process uses to communicate with the process that started it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def request(self, content: Any) -> Any:
        """Send a request, and wait for the reply."""
        self._connection.send(("request", content))
        return self._connection.recv()

    def progress(self, done: int) -> None:
        """Report progress."""
        self._connection.send(("progress", done))


def run_chunks(
    work: Work[Context, Chunk, Result],
    context: Context,
    chunks: Sequence[Chunk],
    jobs: int,
    *,
    serve: Callable[[Any], Any] | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> Iterator[Result]:
    """Run `work` on each of `chunks` in worker processes.

    Parameters
    ----------
    work : callable
        A function of a module.
    context : object
        Sent to each process once.
    chunks : sequence
    jobs : int
        Number of processes, 2 or more.
    serve : callable, optional
        Called in this process with each request of a worker; its result is the reply.
    progress : callable, optional
        Called in this process with what workers report as progress.

    Yields
    ------
    object
        The result for each chunk, in the order of `chunks`, as soon as it and those before it are there.

    Raises
    ------
    SettingError
        If the context or a chunk cannot be sent to another process.
    CounterplanError
        If a process ends unexpectedly. Errors of `work` and of `serve` are raised as they are.
    """
    with worker_team(work, context, min(jobs, max(1, len(chunks))), serve=serve, progress=progress) as team:
        for number, chunk in enumerate(chunks):
            team.submit(number, chunk)
        for number in range(len(chunks)):
            yield team.result(number)


@contextmanager
def worker_team(
    work: Work[Context, Chunk, Result],
    context: Context,
    jobs: int,
    *,
    serve: Callable[[Any], Any] | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> Iterator[WorkerTeam]:
    """Worker processes that run `work` on chunks which are submitted one by one; see `run_chunks`."""
    with _pool(jobs) as pool:
        yield WorkerTeam(pool, (work, context), serve, progress)


class WorkerTeam:
    """The processes of a pool for one kind of work. Requests are served while this process waits for something."""

    def __init__(
        self, pool: _Pool, context: Any, serve: Callable[[Any], Any] | None, progress: Callable[[int], None]
    ) -> None:
        self._serve, self._progress = serve, progress
        self._waiting: deque[tuple[int, Any]] = deque()
        self._results: dict[int, Any] = {}
        self._busy: list[Connection] = []
        self._ready = list(pool.connections)
        packed = _packed(("context", context))
        with _noticing_ends():
            for connection in self._ready:
                connection.send_bytes(packed)

    def submit(self, number: int, chunk: Any) -> None:
        """Add a chunk; its result has this number."""
        self._waiting.append((number, chunk))
        self._assign()

    def result(self, number: int) -> Any:
        """Wait for the result of a chunk."""
        while number not in self._results:
            self._communicate()
        return self._results.pop(number)

    def wait(self, future: Future[T]) -> T:
        """Wait for the result of another thread."""
        while not future.done():
            self._communicate(_POLL_SECONDS)
        return future.result()

    def _assign(self) -> None:
        """Send waiting chunks to processes that have none."""
        while self._waiting and self._ready:
            connection = self._ready.pop(0)
            packed = _packed(("chunk", self._waiting.popleft()))
            with _noticing_ends():
                connection.send_bytes(packed)
            self._busy.append(connection)

    def _communicate(self, timeout: float = _WAKE_SECONDS) -> None:
        """Receive messages of workers, and reply to requests."""
        for connection in wait(self._busy, timeout):
            assert isinstance(connection, Connection)
            with _noticing_ends():
                kind, content = connection.recv()
            if kind == "progress":
                self._progress(content)
            elif kind == "request":
                assert self._serve is not None
                reply = self._serve(content)
                with _noticing_ends():
                    connection.send(reply)
            elif kind == "result":
                number, result = content
                self._results[number] = result
                self._busy.remove(connection)
                self._ready.append(connection)
                self._assign()
            else:
                raise _as_error(kind, content)


@contextmanager
def _noticing_ends() -> Iterator[None]:
    """Within the block, an error of a connection means that a worker process has ended."""
    try:
        yield
    except (EOFError, OSError):
        raise CounterplanError(
            "a worker process has ended unexpectedly (is there enough memory?); use fewer jobs"
        ) from None


class _Pool:
    """Worker processes, which serve one team after the other."""

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs
        self.processes: list[BaseProcess] = []
        self.connections: list[Connection] = []
        context = multiprocessing.get_context("spawn")
        with single_thread(), hidden_main():
            for _ in range(jobs):
                here, there = context.Pipe()
                process = context.Process(target=_worker, args=(there,), daemon=True)
                process.start()
                there.close()
                self.processes.append(process)
                self.connections.append(here)

    @property
    def alive(self) -> bool:
        return all(process.is_alive() for process in self.processes)

    def close(self) -> None:
        """End all processes."""
        for connection in self.connections:
            connection.close()
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.join()


_idle: list[_Pool] = []
"""At most one pool is kept for the next run: processes take a second or two to start."""


@contextmanager
def _pool(jobs: int) -> Iterator[_Pool]:
    """A pool of `jobs` processes. It is kept for the next run, unless this one fails or is interrupted."""
    pool = _idle.pop() if _idle else None
    if pool is not None and (pool.jobs != jobs or not pool.alive):
        pool.close()
        pool = None
    pool = pool or _Pool(jobs)
    try:
        yield pool
    except BaseException:
        pool.close()
        raise
    if _idle:
        pool.close()
    else:
        _idle.append(pool)


if hasattr(os, "register_at_fork"):  # the workers of a forked process belong to its parent
    os.register_at_fork(after_in_child=_idle.clear)


@atexit.register
def close_workers() -> None:
    """End the worker processes that are kept for the next run."""
    while _idle:
        _idle.pop().close()


def _packed(message: Any) -> bytes:
    buffer = BytesIO()
    try:
        _Pickler(buffer).dump(message)
    except Exception as error:  # of any object of a user
        raise SettingError(
            "with more than one job, everything but the model is sent to other processes, and this cannot be: "
            f"{error}; use jobs=1, or put classes and functions in a module"
        ) from error
    return buffer.getvalue()


class _Pickler(ForkingPickler):
    """Replaces a black box, which stays in this process, by that of the worker."""

    def reducer_override(self, obj: Any) -> Any:
        return (RemoteBox, (BoxSpec.of(obj),)) if isinstance(obj, BlackBox) else NotImplemented


def _worker(connection: Connection) -> None:
    """Run chunks until the process that started this one closes the connection."""
    leave_interrupts_to_parent()
    link = WorkerLink(connection)
    set_request(link.request)
    work: Any = None
    while True:
        try:
            kind, content = connection.recv()
            if kind == "context":
                function, context = content
                work = partial(function, context)
                continue
            number, chunk = content
            connection.send(("result", (number, work(chunk, link))))
        except (EOFError, OSError):
            return
        except Exception as error:
            _report(connection, error)


def _report(connection: Connection, error: Exception) -> None:
    """Send an error; one that cannot be sent, or not be read, as text."""
    try:
        ForkingPickler.loads(ForkingPickler.dumps(error))
        connection.send(("error", error))
    except Exception:
        connection.send(("failure", "".join(traceback.format_exception_only(error)).strip()))


def _as_error(kind: str, content: Any) -> Exception:
    if kind == "error":
        assert isinstance(content, Exception)
        if isinstance(content, (CounterplanError, MemoryError)):
            return content
        content = f"{type(content).__name__}: {content}"
        if "'__main__'" in content:
            content += ". With more than one job, put your own classes and functions in a module"
    return CounterplanError(f"a worker process failed: {content}")


def leave_interrupts_to_parent() -> None:
    """In a worker process: ignore Ctrl-C, and end when the process that started this one has ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def watch() -> None:
        assert parent is not None
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def single_thread() -> Iterator[None]:
    """Processes that are started within the block compute on one thread each."""
    before = {name: os.environ.get(name) for name in SINGLE_THREAD}
    os.environ.update(SINGLE_THREAD)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            os.environ |= {} if value is None else {name: value}


@contextmanager
def hidden_main() -> Iterator[None]:
    """Processes that are started within the block do not import the user's script, which need not be importable."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
