"""Check problem files: errors, and warnings about valid problems that are likely mistakes."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from counterplan.problem.builder import build
from counterplan.problem.conditions import numbers_in
from counterplan.problem.dtypes import is_untyped, read_dtypes
from counterplan.problem.parts import Cause, Feature, Function
from counterplan.problem.problem import Problem
from counterplan.problem.source import Finding, Location, TooManyFindings
from counterplan.problem.transitions import Floats
from counterplan.problem.values import listed, text_of
from counterplan.problem.yaml_reader import read_source

T = TypeVar("T")
MAX_STATES = 200_000
"""Conditions over more combinations of values than this are evaluated on a sample of them."""
MAX_OPERATIONS = 1_000_000_000
"""States × arguments × operations of the conditions, over all functions; larger problems get smaller samples."""
MAX_CELLS = 200_000
"""States × (arguments + features) evaluated at a time."""
MAX_POINTS = 20_000
"""Thresholds × arguments around which a number is sampled."""
MAX_CALLS = 100_000
"""Actions × consequences; beyond, the legality of actions with consequences is not evaluated."""


def check(
    path: str | Path, people: pd.DataFrame | None = None, dtypes: Mapping[str, Any] | None = None
) -> tuple[Problem | None, list[Finding]]:
    """Check a problem file.

    Parameters
    ----------
    path : str or Path
        The YAML file.
    people : pandas.DataFrame, optional
        A table of people; warns where the values of a feature have another type than its column.
    dtypes : mapping of str to dtype, optional
        The dtypes that the model knows; warns where the values of a feature have another type, or are no categories.

    Returns
    -------
    problem : Problem or None
        None if the file has errors.
    findings : list of Finding
        Errors and warnings, sorted by line.
    """
    source = read_source(path)
    parts = build(source)
    problem = None if parts is None else Problem(parts)
    if problem is not None:
        with suppress(TooManyFindings):
            given = {} if people is None else {text_of(name): people[name] for name in people.columns}
            for message, location in [*lint(problem), *lint_types(problem, given, read_dtypes(dtypes))]:
                source.report(message, location, "warning")
    return problem, sorted(source.findings, key=lambda finding: (finding.line or 0, finding.severity))


def lint(problem: Problem) -> Iterator[tuple[str, Location]]:
    """Warnings about `problem`, each with its location in the file."""
    transitions = problem.transitions
    if not transitions.functions:
        yield "there are no functions yet, so there are no plans", ("functions",)
    checked = len(transitions) * sum(cause.sets for cause in transitions.causes) <= MAX_CALLS
    if not checked:
        yield "there are too many actions with consequences to check which can never be legal", ("functions",)
    for function in transitions.functions:
        location: Location = ("functions", function.name)
        feature = problem.features[function.target]
        if feature.protected:
            yield f"changes the protected feature {feature.name}", location
        if checked or not transitions.followers_of(function):
            yield from _never_legal(problem, function, location)
        if not function.overlaps and not transitions.has_durations:
            yield "'overlaps' has no effect: no function has a duration", (*location, "overlaps")
    for cause in transitions.causes:
        feature = problem.features[cause.target]
        if cause.sets and feature.protected and cause.source in transitions.mutable:
            name = problem.features[cause.source].name
            yield f"a change of {name} changes the protected feature {feature.name}", ("causes", cause.position)
        elif not cause.sets and cause.source in transitions.mutable and cause.target not in transitions.mutable:
            name = problem.features[cause.source].name
            message = f"functions change {name}, but none changes {feature.name}: the edge has no effect"
            yield f"{message}; is it {feature.name} that affects {name}?", ("causes", cause.position)
    changed = [transitions.changed_by(function) for function in transitions.functions]
    yield from _path_dependent(problem, changed)
    yield from _set_twice(problem, changed)
    yield from _unreachable(problem)
    for feature in problem.features:
        if feature.natives and {*map(type, feature.natives)} == {str} and {*map(str.lower, feature.values)} <= _TRUTHS:
            location = ("features", feature.name, "values")
            yield f"{listed(feature.values)}: these are texts; write true and false if they are booleans", location


def lint_types(
    problem: Problem, columns: Mapping[str, pd.Series[Any]], dtypes: Mapping[str, Any]
) -> Iterator[tuple[str, Location]]:
    """Warnings about features whose values have another type than a column of a table, or than a model expects."""
    for feature in problem.features:
        location: Location = ("features", feature.name, "values")
        kinds = {*map(type, feature.natives)}
        values = _NATIVES.get(kinds.pop()) if len(kinds) == 1 else None
        if values is None:
            continue
        held = None if feature.name not in columns else _kind_of(columns[feature.name])
        dtype = dtypes.get(feature.name)
        known = None if dtype is None else _kind_of(pd.Series([], dtype=dtype))
        if values == "booleans" and known == "numbers" and {*getattr(dtype, "categories", ())} <= {0, 1}:
            dtype = known = None  # booleans are cast to 0 and 1
        cast = held == "texts" and is_untyped(columns[feature.name])
        simple = all(_SIMPLE.fullmatch(value) for value in feature.values)
        advice = f"; the model receives {values}, unless it knows other types or they are given as dtypes" * cast
        for whose, kind, more in (("the data has", held, advice), ("the model expects", known, "")):
            if kind is not None and kind != values:
                way_out = _ADVICE.get((values, kind), more)
                way_out = _AS_INTEGERS if kind == "numbers" and values == "texts" and not simple else way_out
                yield f"these values are {values}, but {whose} {kind}{way_out}", location
        if isinstance(dtype, pd.CategoricalDtype) and (known is None or known == values):
            categories = {text_of(value) for value in dtype.categories}
            if unknown := [value for value in feature.values if value not in categories]:
                yield f"{listed(unknown)}: not among the categories that the model knows", location


_TRUTHS = {"true", "false"}
_NATIVES = {bool: "booleans", int: "numbers", str: "texts"}
_SIMPLE = re.compile("0|-?[1-9][0-9]{0,14}")
"""Texts that are whole numbers without quotes, unlike 1e3 and 007."""
_AS_INTEGERS = "; write them as whole numbers, such as 1000 for 1e3, or make the feature a number"
_ADVICE = {
    ("texts", "booleans"): "; write true and false, without quotes",
    ("texts", "numbers"): "; write them without quotes, or make the feature a number",
}


def _kind_of(column: pd.Series[Any]) -> str | None:
    """ "booleans", "numbers" or "texts"; None if a column holds something else, or nothing."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return _kind_of(pd.Series(column.dtype.categories))
    kind = pd.api.types
    if kind.is_object_dtype(column.dtype):
        found = {_NATIVES.get(type(value)) for value in column.dropna().unique()}
        return found.pop() if len(found) == 1 else None
    if kind.is_bool_dtype(column.dtype):
        return "booleans"
    if kind.is_numeric_dtype(column.dtype):
        return "numbers"
    return "texts" if kind.is_string_dtype(column.dtype) else None


def _never_legal(problem: Problem, function: Function, location: Location) -> Iterator[tuple[str, Location]]:
    """Warn about arguments that are legal in no state."""
    transitions = problem.transitions
    legal = np.zeros(len(function.natives), bool)
    index = transitions.functions.index(function)
    size, chunks = _sample_states(problem, function)
    for states in chunks:
        legal |= transitions.legal_arguments(states, index).any(axis=0)
        if legal.all():
            return
    never = [text_of(native) for native, possible in zip(function.natives, legal, strict=True) if not possible]
    which = "" if len(never) == len(function.natives) else f" for {listed(never)}"
    if never and size is not None:
        yield f"is legal{which} in none of {size:,} sampled states", (*location, "when")
    elif never and not which:
        yield "can never be legal: its condition holds for no value of the features it mentions", location
    elif never and not _end_of_scale(problem.features[function.target], function, never):
        yield f"can never be legal{which}", (*location, "arguments")


def _sample_size(problem: Problem, function: Function) -> int:
    """How many states to evaluate, such that all functions together need at most `MAX_OPERATIONS`."""
    transitions = problem.transitions
    trees = [function.when.tree, *(c.formula.tree for c in transitions.followers_of(function) if c.formula)]
    work = len(transitions.functions) * len(function.natives) * sum(tree.size() for tree in trees)
    return max(100, min(MAX_STATES, MAX_OPERATIONS // work))


def _end_of_scale(feature: Feature, function: Function, never: list[str]) -> bool:
    """Whether `arguments: all` with a condition like `argument > feature` explains the one argument never legal."""
    ends = (feature.values[0], feature.values[-1]) if feature.kind == "ordered" else ()
    return function.every and len(never) == 1 and never[0] in ends


def _sample_states(problem: Problem, function: Function) -> tuple[int | None, Iterator[Floats]]:
    """States [n, F] in chunks with all combinations of values that may matter to the legality of `function`.

    If there are too many combinations, a random sample of them; its size comes first, None for all combinations.
    """
    names = function.when.tree.names()
    for cause in problem.transitions.followers_of(function):
        if cause.formula is not None:  # its result must lie within bounds
            names |= cause.formula.tree.names()
    involved = [f for f in problem.features if f.name in names or f.index == function.target]
    points = [_points(feature, function) for feature in involved]
    count, most = math.prod(len(values) for values in points), _sample_size(problem, function)
    rows = max(1, min(count, MAX_CELLS // (len(problem.features) + len(function.natives))))
    if count <= most:
        combinations: Iterator[Floats] = map(np.array, _batched(itertools.product(*points), rows))
    else:
        random = np.random.default_rng(0)
        sizes = [min(rows, most - start) for start in range(0, most, rows)]
        combinations = (np.stack([random.choice(values, n) for values in points], axis=1) for n in sizes)
    columns = [feature.index for feature in involved]
    states = np.tile([min(max(0.0, f.low), f.high) if f.is_number else 0.0 for f in problem.features], (rows, 1))

    def chunks() -> Iterator[Floats]:
        for values in combinations:
            states[: len(values), columns] = values
            yield states[: len(values)]

    return (None if count <= most else most), chunks()


def _batched(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Split `items` into lists of at most `size`."""
    iterator = iter(items)
    while batch := list(itertools.islice(iterator, size)):
        yield batch


def _points(feature: Feature, function: Function) -> list[float]:
    """Every value of a category; for a number, points on each side of every threshold."""
    missing = [math.nan] if feature.missing else []
    if not feature.is_number:
        return [*map(float, range(len(feature.natives))), *missing]
    marks = {*numbers_in(function.when.tree), *(feature.bins or ()), feature.low, feature.high, 0.0}
    marks = set(_thinned(sorted(mark for mark in marks if math.isfinite(mark)), MAX_POINTS))
    sizes = [float(number) for number in function.arguments] if function.adds else []
    sizes = _thinned(sizes, max(1, MAX_POINTS // max(1, len(marks))))
    span = max([1.0, *map(abs, marks), *map(abs, sizes)])
    around = {mark + shift for mark in marks for size in [0.0, *sizes] for shift in (-size - 1, -size, 1 - size)}
    around |= {-10 * span, 10 * span}
    around = {point for point in around if math.isfinite(point)}
    if feature.integer:
        around = {float(whole) for point in around for whole in (math.floor(point), math.ceil(point))}
    inside = sorted(point for point in around if feature.low <= point <= feature.high) or [feature.low]
    between = [] if feature.integer else [low / 2 + high / 2 for low, high in itertools.pairwise(inside)]
    return [*inside, *between, *missing]


def _thinned(numbers: list[float], most: int) -> list[float]:
    """At most about `most` of `numbers`, evenly spaced."""
    return numbers if len(numbers) <= most else numbers[:: -(-len(numbers) // most)]


def _unreachable(problem: Problem) -> Iterator[tuple[str, Location]]:
    """Values that no action and no cause leads to, of categories that actions change."""
    reached: dict[int, set[float]] = {}
    for function in problem.transitions.functions:
        reached.setdefault(function.target, set()).update(function.arguments.tolist())
    for cause in problem.transitions.causes:
        if cause.table is not None and cause.target in reached:
            reached[cause.target].update(cause.table[~np.isnan(cause.table)].tolist())
    for feature in problem.features:
        if feature.is_number or feature.index not in reached:
            continue
        never = [value for i, value in enumerate(feature.values) if i not in reached[feature.index]]
        if never:
            yield f"no action leads to {listed(never)}", ("features", feature.name, "values")


def _path_dependent(problem: Problem, changed: Sequence[set[int]]) -> Iterator[tuple[str, Location]]:
    """Formulas with `argument` or `before(…)` that no function triggers, or that likely take a value for a change."""
    for cause in problem.transitions.causes:
        if cause.formula is None or not cause.path_dependent:
            continue
        location: Location = ("causes", cause.position, "formula")
        pairs = zip(problem.transitions.functions, changed, strict=True)
        functions = [function for function, features in pairs if cause.source in features]
        if not functions:
            source = problem.features[cause.source].name
            yield f"no function changes {source}, so this formula is never evaluated", location
        setting = [function for function in functions if not function.adds]
        adds = len(setting) < len(functions) or problem.features[cause.target].name in cause.formula.tree.names()
        if cause.formula.tree.uses("argument") and setting and adds:
            feature, names = problem.features[setting[0].target].name, listed(function.name for function in setting)
            yield (
                f"'argument' is the new value of {feature} in {names}, not the change; "
                f"write {feature} - before({feature}) for the change",
                location,
            )


def _set_twice(problem: Problem, changed: Sequence[set[int]]) -> Iterator[tuple[str, Location]]:
    """Features that more than one cause sets, unless they agree by the same formula, or no function triggers two."""
    setters: dict[int, list[Cause]] = {}
    for cause in problem.transitions.causes:
        if cause.sets:
            setters.setdefault(cause.target, []).append(cause)
    for feature in problem.features:
        causes = setters.get(feature.index, [])
        if len(causes) < 2:
            continue
        location: Location = ("causes", max(cause.position for cause in causes))
        formulas = {None if cause.formula is None else str(cause.formula) for cause in causes}
        adding = [c.formula is not None and feature.name in c.formula.tree.current_names() for c in causes]
        together = any(sum(cause.source in features for cause in causes) > 1 for features in changed)
        if all(adding) and together:
            yield (
                f"{feature.name} is set by more than one cause in one step, each with the value of {feature.name} that "
                f"the last one gave; write before({feature.name}) for its value before the step",
                location,
            )
        elif all(cause.path_dependent or adds for cause, adds in zip(causes, adding, strict=True)) and not together:
            continue
        elif len(formulas) > 1 or None in formulas:
            yield f"{feature.name} is set by more than one cause; the later one counts, in causal order", location
