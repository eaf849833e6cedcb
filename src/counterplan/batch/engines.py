"""Engines: what runs partitions, or the cells of an experiment: this process, other processes, or a Dask cluster."""

from __future__ import annotations

import logging
import multiprocessing
import signal
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from multiprocessing import resource_tracker
from multiprocessing.process import BaseProcess
from types import TracebackType
from typing import Any, Self, TypeVar

from counterplan.errors import SettingError
from counterplan.parallel import hidden_main, leave_interrupts_to_parent, single_thread

LOCAL = "local"
"""Name of a Dask cluster on this machine."""
CONNECT_SECONDS = 15.0
"""Longest wait for a scheduler, and for its first worker."""
_LOGGERS = ("distributed", "tornado")
"""Loggers of Dask, which adds handlers to them, those of its event loop included."""
_PROBE_SECONDS = 5.0
"""Longest wait for a scheduler that was reached before."""
LEAST_MEMORY = 250_000_000
"""Least limit of memory of a worker of a local cluster, in bytes."""
_REFRESH_SECONDS = 5.0
"""Time between two counts of the threads of a cluster, which may grow."""
_RETRIES = 2
"""How often Dask repeats a call after an unexpected error; the death of a worker is not one."""

R = TypeVar("R")


class Engine(ABC):
    """Runs functions of modules on plain data, several at a time; a context manager.

    Attributes
    ----------
    died : tuple of exception types
        Raised by a future if the process that ran it has died.
    """

    died: tuple[type[BaseException], ...] = ()

    @abstractmethod
    def __enter__(self) -> Self: ...

    @abstractmethod
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...

    @property
    @abstractmethod
    def slots(self) -> int:
        """Number of calls that run at a time."""

    @abstractmethod
    def submit(self, function: Callable[..., R], *arguments: Any) -> Future[R]:
        """Schedule a call."""

    @property
    def restarts(self) -> bool:
        """Whether calls in flight are lost with a process, so that they are to be repeated after `restart`."""
        return False

    def restart(self) -> None:  # noqa: B027 -- most engines need none
        """Replace processes that have died."""

    def why_lost(self, call: str) -> str:
        """Why a call, which this text describes, is lost for good, and what to do about it."""
        return (
            f"{call}: the process that works on it has died more than once (is there enough memory?); use smaller "
            "partitions or fewer jobs"
        )


class InProcess(Engine):
    """Runs every call in this process, when it is submitted."""

    slots = 1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to end."""

    def submit(self, function: Callable[..., R], *arguments: Any) -> Future[R]:
        """See `Engine.submit`."""
        future: Future[R] = Future()
        try:
            future.set_result(function(*arguments))
        except Exception as error:
            future.set_exception(error)
        return future


class ProcessEngine(Engine):
    """Runs calls in processes of this machine, which end with the context.

    Parameters
    ----------
    jobs : int
        Number of processes.
    import_main : bool, default=False
        Whether processes import the user's script, which then has to be importable.
    """

    died = (BrokenProcessPool,)
    restarts = True

    def __init__(self, jobs: int, *, import_main: bool = False) -> None:
        self.jobs, self.import_main = jobs, import_main
        self._pool: ProcessPoolExecutor | None = None
        self._before: set[BaseProcess] = set()

    @property
    def slots(self) -> int:
        """See `Engine.slots`."""
        return self.jobs

    def __enter__(self) -> Self:
        self._before = {*multiprocessing.active_children()}
        context = multiprocessing.get_context("spawn")
        self._pool = ProcessPoolExecutor(self.jobs, mp_context=context, initializer=leave_interrupts_to_parent)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._pool is not None
        if kind is not None:
            for process in {*multiprocessing.active_children()} - self._before:
                process.terminate()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def submit(self, function: Callable[..., R], *arguments: Any) -> Future[R]:
        """See `Engine.submit`."""
        assert self._pool is not None
        # processes are started when they are needed
        with single_thread(), nullcontext() if self.import_main else hidden_main():
            return self._pool.submit(function, *arguments)

    def restart(self) -> None:
        """See `Engine.restart`."""
        assert self._pool is not None
        self._pool.shutdown(wait=True, cancel_futures=True)
        context = multiprocessing.get_context("spawn")
        self._pool = ProcessPoolExecutor(self.jobs, mp_context=context, initializer=leave_interrupts_to_parent)


class DaskEngine(Engine):
    """Runs calls on a Dask cluster, which schedules them, repeats those of dead workers, and limits memory.

    Parameters
    ----------
    address : str
        Address of a scheduler, such as "tcp://host:8786"; or "local" for a cluster on this machine, which ends with
        the context.
    jobs : int, optional
        Number of worker processes of a local cluster.
    memory : str, default="auto"
        Memory limit of each worker of a local cluster, such as "2GB".

    Raises
    ------
    SettingError
        If Dask is not installed, or no scheduler answers at the address.
    """

    def __init__(self, address: str, jobs: int = 1, memory: str = "auto") -> None:
        self.address, self.jobs, self.memory = address, jobs, memory
        self._distributed = _import_distributed()
        self.died = (self._distributed.KilledWorker, CancelledError)
        self._client: Any = None
        self._cluster: Any = None
        self._executor: Executor | None = None
        self._slots, self._counted = 1, 0.0
        self._context = ExitStack()

    @property
    def dashboard(self) -> str:
        """Address of the dashboard; empty if there is none."""
        return str(self._client.dashboard_link or "") if self._client is not None else ""

    @property
    def slots(self) -> int:
        """See `Engine.slots`."""
        if time.monotonic() - self._counted > _REFRESH_SECONDS:
            with suppress(OSError, RuntimeError):
                self._slots = max(1, sum(self._client.nthreads().values()))
            self._counted = time.monotonic()
        return self._slots

    def __enter__(self) -> Self:
        if self.address == LOCAL:
            _require_memory(self.memory)
        self._context.enter_context(_silent_logs())
        try:
            if self.address == LOCAL:
                with single_thread(), hidden_main(), _plain_allocation(), _interrupts_blocked():
                    self._cluster = self._distributed.LocalCluster(
                        n_workers=self.jobs,
                        threads_per_worker=1,
                        processes=True,
                        protocol="tcp://",
                        host="127.0.0.1",
                        memory_limit=self.memory,
                        dashboard_address=":0",
                        silence_logs=logging.ERROR,
                    )
            self._client = self._distributed.Client(self._cluster or self.address, timeout=CONNECT_SECONDS)
            self._client.wait_for_workers(1, timeout=CONNECT_SECONDS)
        except (OSError, ValueError, TypeError) as error:  # a timeout is an OSError
            self._close()
            raise SettingError(self._unreachable(error)) from None
        except BaseException:
            self._close()
            raise
        self._executor = self._client.get_executor(pure=False, retries=_RETRIES)
        return self

    def _unreachable(self, error: Exception) -> str:
        reason = " ".join(str(error).split()) or type(error).__name__
        if self._client is not None:
            return f"--cluster {self.address}: the scheduler has no worker after {CONNECT_SECONDS:.0f} s; start some"
        return (
            f"--cluster {self.address}: no Dask scheduler can be reached there ({reason}); give the address that "
            f"'dask scheduler' printed, such as tcp://host:8786, or '{LOCAL}'"
        )

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._executor is not None and kind is not None:
            with suppress(Exception):  # the scheduler may have gone
                self._executor.shutdown(wait=False)
        self._close()

    def _close(self) -> None:
        for part in (self._client, self._cluster):
            if part is not None:
                with suppress(Exception):
                    part.close(timeout=CONNECT_SECONDS)
        self._context.close()

    def why_lost(self, call: str) -> str:
        """See `Engine.why_lost`: its worker has died repeatedly, or the scheduler is gone."""
        if self._scheduler_answers():
            return super().why_lost(call)
        return f"--cluster {self.address}: the scheduler does not answer any more; start it and its workers again"

    def _scheduler_answers(self) -> bool:
        client = self._client
        try:
            address = client.scheduler.address
            other = self._distributed.Client(
                address, timeout=_PROBE_SECONDS, security=client.security, set_as_default=False
            )
        except (OSError, AttributeError):  # a closed client has no scheduler
            return False
        other.close(timeout=_PROBE_SECONDS)
        return True

    def submit(self, function: Callable[..., R], *arguments: Any) -> Future[R]:
        """See `Engine.submit`."""
        assert self._executor is not None
        return self._executor.submit(function, *arguments)


def open_engine(cluster: str | None, jobs: int, *, memory: str = "auto") -> Engine:
    """Choose an engine.

    Parameters
    ----------
    cluster : str or None
        "local", the address of a Dask scheduler, or None for plain processes.
    jobs : int
        Number of processes; 1 without a cluster is this process.
    memory : str
        Memory limit of each worker of a local cluster.

    Returns
    -------
    Engine
        A context manager.

    Raises
    ------
    SettingError
        If Dask is needed and not installed.
    """
    if cluster is not None:
        return DaskEngine(cluster, jobs, memory)
    return ProcessEngine(jobs) if jobs > 1 else InProcess()


def _require_memory(limit: str) -> None:
    """Raise a SettingError if a limit of memory is none, or so small that Dask would restart its workers forever."""
    from dask.utils import parse_bytes

    if limit == "auto":
        return
    try:
        size = parse_bytes(limit)
    except (ValueError, TypeError) as error:
        raise SettingError(f"--memory {limit}: {error}; give a size such as 2GB") from None
    if size < LEAST_MEMORY:
        raise SettingError(
            f"--memory {limit}: a worker needs at least {LEAST_MEMORY // 10**6} MB before it plans for anybody"
        )


@contextmanager
def _silent_logs() -> Iterator[None]:
    """Within this context, Dask prints no logs, whose tracebacks would hide the message; files get them as before."""
    names = [name for name in [*logging.root.manager.loggerDict] if name.partition(".")[0] in _LOGGERS]
    handlers = {handler for name in names for handler in logging.getLogger(name).handlers}
    levels = [(handler, handler.level) for handler in handlers if type(handler) is logging.StreamHandler]
    for handler, _ in levels:
        handler.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for handler, level in levels:
            handler.setLevel(level)


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Threads that are started within this context, and all their processes, never get Ctrl-C.

    A terminal sends it to all processes. This thread gets it after the context, and ends the others.
    """
    if not hasattr(signal, "pthread_sigmask") or threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[int] = []

    def remember(number: int, _: object) -> None:
        if received:
            raise KeyboardInterrupt
        received.append(number)

    resource_tracker.ensure_running()  # which unblocks the signal in the thread that needs it first
    handler = signal.signal(signal.SIGINT, remember)  # threads of libraries receive it too
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        signal.signal(signal.SIGINT, signal.SIG_DFL if handler is None else handler)
    if received:
        signal.raise_signal(signal.SIGINT)


def _plain_allocation() -> Any:
    """Within this context, workers are configured to allocate memory as other processes do.

    Dask lets them return every freed block to the system. Large arrays, which partitions allocate and free all the
    time, then take twice as long.
    """
    import dask

    place = "distributed.nanny.pre-spawn-environ"
    kept = {name: value for name, value in dask.config.get(place, {}).items() if not name.startswith("MALLOC_")}
    return dask.config.set({place: kept})


def _import_distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise SettingError("a cluster needs Dask: pip install 'counterplan[cluster]'") from None
    return distributed
