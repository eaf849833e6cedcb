"""Benchmarks and planners of other packages: by entry point, or as `module:name`.

Each is identified by the name that the user gave, so that every process can load it again.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from counterplan import benchmarks
from counterplan.benchmarks import NAMES, Benchmark
from counterplan.errors import CounterplanError, ModelError, SettingError
from counterplan.experiments.methods import BY_NAME
from counterplan.models.adapters import import_attribute
from counterplan.planners import Planner
from counterplan.plugins import load_plugin, planner_plugin, plugin_names
from counterplan.problem.values import did_you_mean
from counterplan.recourse import OWN

GROUP = "counterplan.benchmarks"
_NAME = re.compile(r"[\w.-]+(:\w+)?")


def as_file_name(name: str) -> str:
    """A name as part of a file name that is valid on any system."""
    return name.replace(":", "@")


def load_benchmark(name: str, seed: int) -> Benchmark:
    """Load a benchmark.

    Parameters
    ----------
    name : str
        A built-in benchmark, one of an installed package, or `module:function`.
    seed : int

    Raises
    ------
    SettingError
        If there is no such benchmark, or if its function raises or returns something else.
    """
    if name in NAMES:
        return benchmarks.load(name, seed)
    try:
        benchmark = benchmark_maker(name)(seed)
    except CounterplanError:
        raise
    except Exception as error:  # external code may raise anything
        raise SettingError(f"the benchmark '{name}' fails with seed {seed}: {type(error).__name__}: {error}") from error
    if not isinstance(benchmark, Benchmark):
        raise SettingError(
            f"the benchmark '{name}' returns {type(benchmark).__name__!r}, not a counterplan.benchmarks.Benchmark"
        )
    return benchmark


def benchmark_maker(name: str) -> Callable[[int], Any]:
    """The function from a seed to a benchmark; a SettingError if there is none of that name."""
    maker = _by_module("benchmark", name)
    if maker is None:
        plugin = load_plugin("benchmark", name, GROUP)
        if plugin is None:
            known = (*NAMES, *plugin_names(GROUP))
            raise SettingError(
                f"there is no benchmark '{name}'{did_you_mean(name, known)}; there are {', '.join(known)}, and your "
                "own as module:function"
            )
        maker, _ = plugin
    if not callable(maker) or isinstance(maker, type):
        raise SettingError(f"the benchmark '{name}' is not a function from a seed to a Benchmark")
    return maker  # type: ignore[no-any-return]


def planner_class(name: str) -> type[Planner]:
    """The planner class of a name; a SettingError if there is none."""
    if name in OWN or name in BY_NAME:
        raise SettingError(f"the planner '{name}' is built in; built-in planners are always compared")
    planner = _by_module("planner", name)
    if planner is None:
        planner = planner_plugin(name)
    if planner is None:
        known = plugin_names()
        offered = f"; installed packages offer {', '.join(known)}" if known else "; no installed package offers any"
        raise SettingError(
            f"there is no planner '{name}'{did_you_mean(name, known)}{offered}, and your own is module:Class"
        )
    if not (isinstance(planner, type) and issubclass(planner, Planner)):
        raise SettingError(f"the planner '{name}' is not a subclass of counterplan.Planner")
    return planner


def _by_module(kind: str, name: str) -> Any:
    """The object that `module:name` refers to; None for a name of another form."""
    if not _NAME.fullmatch(name):
        raise SettingError(f"'{name}' is neither the name of a {kind} nor module:name")
    if ":" not in name:
        return None
    try:
        return import_attribute(*name.split(":"))
    except ModelError as error:
        raise SettingError(f"the {kind} '{name}': {error}") from None


@cache
def source_of(name: str, planner: bool = False) -> str:
    """A hash of the file that defines a benchmark or planner: cells of another version of it are not reused."""
    defined: Any = planner_class(name) if planner else benchmark_maker(name)
    file = getattr(sys.modules.get(getattr(defined, "__module__", "")), "__file__", None)
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()[:16] if file else ""
