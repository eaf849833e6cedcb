"""Benchmarks by name: built-in ones, and those of other packages by entry point or as MODULE:FUNCTION."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from counterplan.benchmarks.suite import NAMES, Benchmark, load
from counterplan.errors import CounterplanError, SettingError
from counterplan.plugins import BENCHMARKS
from counterplan.problem.values import did_you_mean


def load_benchmark(word: str, seed: int) -> Benchmark:
    """Load a benchmark.

    Parameters
    ----------
    word : str
        Name of a built-in benchmark, of an entry point of another package, or MODULE:FUNCTION.
    seed : int

    Returns
    -------
    Benchmark

    Raises
    ------
    SettingError
        If there is no such benchmark, or its function fails or returns something else.
    """
    if word in NAMES:
        return load(word, seed)
    try:
        made = benchmark_function(word)(seed)
    except CounterplanError:
        raise
    except Exception as error:  # any failure of another package
        raise SettingError(f"the benchmark '{word}' fails with seed {seed}: {type(error).__name__}: {error}") from error
    if not isinstance(made, Benchmark):
        raise SettingError(
            f"the benchmark '{word}' returns {type(made).__name__!r}, not a counterplan.benchmarks.Benchmark"
        )
    return made


def benchmark_function(word: str) -> Callable[[int], Any]:
    """The function from a seed to a benchmark that a word names.

    Raises
    ------
    SettingError
        If there is none.
    """
    found = BENCHMARKS.find(word)
    if found is None:
        known = (*NAMES, *BENCHMARKS.names())
        raise SettingError(
            f"there is no benchmark '{word}'{did_you_mean(word, known)}; there are {', '.join(known)}, and your own as "
            "module:function"
        )
    if not callable(found) or isinstance(found, type):
        raise SettingError(f"the benchmark '{word}' is not a function from a seed to a Benchmark")
    return found  # type: ignore[no-any-return]
