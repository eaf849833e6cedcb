"""Independent fits on several threads: JAX and scikit-learn release the interpreter lock while they compute."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from threadpoolctl import threadpool_limits


def on_threads(fits: Sequence[Callable[[], Any]], jobs: int) -> list[Any]:
    """Results of `fits`, in order, on `jobs` threads; each computes on one thread, so that results are the same."""
    with threadpool_limits(1):
        if jobs == 1:
            return [fit() for fit in fits]
        with ThreadPoolExecutor(jobs) as threads:
            return list(threads.map(_single_threaded, fits))


def _single_threaded(fit: Callable[[], Any]) -> Any:
    with threadpool_limits(1, user_api="openmp"):  # this limit holds for the thread that sets it
        return fit()
