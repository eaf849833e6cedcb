"""Linear algebra on one thread."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache

from threadpoolctl import ThreadpoolController


def one_blas_thread() -> AbstractContextManager[object]:
    """Compute products of matrices on one thread; models that have threads of another kind keep them.

    The matrices of planners are small: several threads take up to twice the CPU time, are no faster, and round
    differently, so that plans would depend on the number of cores.

    Returns
    -------
    context manager
    """
    return _controller().limit(limits=1, user_api="blas")  # type: ignore[no-any-return]


@cache
def _controller() -> ThreadpoolController:
    """The libraries that are loaded now; to list them takes milliseconds."""
    return ThreadpoolController()
