"""Benchmarks and planners that are not counterplan's own: offered by an installed package, or `module:name`.

Both are known by the word that was typed for them, so that every process can find them again.
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
from counterplan.errors import CounterplanError, ModelError, PlanError
from counterplan.experiments.methods import BY_NAME
from counterplan.models.adapters import import_attribute
from counterplan.planners import Planner
from counterplan.plugins import load_plugin, planner_plugin, plugin_names
from counterplan.problem.values import did_you_mean
from counterplan.recourse import OWN

GROUP = "counterplan.benchmarks"
_WORD = re.compile(r"[\w.-]+(:\w+)?")


def as_file_name(word: str) -> str:
    """A word as part of a file's name on any system."""
    return word.replace(":", "@")


def load_benchmark(word: str, seed: int) -> Benchmark:
    """The benchmark of that name; a PlanError says so if what makes it gives something else."""
    if word in NAMES:
        return benchmarks.load(word, seed)
    try:
        made = benchmark_maker(word)(seed)
    except CounterplanError:
        raise
    except Exception as error:  # whatever goes wrong in somebody else's code
        raise PlanError(f"the benchmark '{word}' fails with seed {seed}: {type(error).__name__}: {error}") from error
    if not isinstance(made, Benchmark):
        raise PlanError(f"the benchmark '{word}' gives {type(made).__name__!r}, not a counterplan.benchmarks.Benchmark")
    return made


def benchmark_maker(word: str) -> Callable[[int], Any]:
    """The function from a seed to a benchmark that a word stands for; a PlanError says so if there is none."""
    found = _named("benchmark", word)
    if found is None:
        there = load_plugin("benchmark", word, GROUP)
        if there is None:
            known = (*NAMES, *plugin_names(GROUP))
            raise PlanError(
                f"there is no benchmark '{word}'{did_you_mean(word, known)}; there are {', '.join(known)}, and your "
                "own as module:function"
            )
        found, _ = there
    if not callable(found) or isinstance(found, type):
        raise PlanError(f"the benchmark '{word}' is no function from a seed to a Benchmark")
    return found  # type: ignore[no-any-return]


def planner_class(word: str) -> type[Planner]:
    """The planner that a word stands for; a PlanError says so if there is none."""
    if word in OWN or word in BY_NAME:
        raise PlanError(f"the planner '{word}' is counterplan's own; those are compared without being asked for")
    found = _named("planner", word)
    if found is None:
        found = planner_plugin(word)
    if found is None:
        known = plugin_names()
        there = f"; installed packages offer {', '.join(known)}" if known else "; no installed package offers any"
        raise PlanError(f"there is no planner '{word}'{did_you_mean(word, known)}{there}, and your own is module:Class")
    if not (isinstance(found, type) and issubclass(found, Planner)):
        raise PlanError(f"the planner '{word}' is no counterplan.Planner")
    return found


def _named(what: str, word: str) -> Any:
    """What `module:name` stands for; None if the word is of another form."""
    if not _WORD.fullmatch(word):
        raise PlanError(f"'{word}' is no name of a {what}, nor module:name")
    if ":" not in word:
        return None
    try:
        return import_attribute(*word.split(":"))
    except ModelError as error:
        raise PlanError(f"the {what} '{word}': {error}") from None


@cache
def source_of(word: str, planner: bool = False) -> str:
    """A hash of the file that a benchmark or planner comes from: what it made before that changed is not believed."""
    found: Any = planner_class(word) if planner else benchmark_maker(word)
    file = getattr(sys.modules.get(getattr(found, "__module__", "")), "__file__", None)
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()[:16] if file else ""
