"""What looks wrong in a problem that can nevertheless be used."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from counterplan.problem.builder import build
from counterplan.problem.conditions import numbers_in
from counterplan.problem.parts import Cause, Feature, Function
from counterplan.problem.problem import Problem
from counterplan.problem.source import Finding, Location, read_source
from counterplan.problem.transitions import Floats
from counterplan.problem.values import listed, text_of

MOST_STATES = 200_000
"""A condition over more combinations of values than this is tried on a sample of them."""


def check(path: str | Path) -> tuple[Problem | None, list[Finding]]:
    """The problem in a file, if it has no errors, and every finding: errors and warnings, by line."""
    source = read_source(path)
    parts = build(source)
    problem = None if parts is None else Problem(parts)
    if problem is not None:
        for message, location in lint(problem):
            source.report(message, location, "warning")
    return problem, sorted(source.findings, key=lambda finding: (finding.line or 0, finding.severity))


def lint(problem: Problem) -> Iterator[tuple[str, Location]]:
    """Warnings about `problem`, each with its location in the file."""
    transitions = problem.transitions
    if not transitions.functions:
        yield "there are no functions yet, so nobody can be helped", ("functions",)
    for function in transitions.functions:
        location: Location = ("functions", function.name)
        feature = problem.features[function.target]
        if feature.protected:
            yield f"changes the protected feature {feature.name}", location
        never = _never_legal(problem, function)
        if len(never) == len(function.natives):
            yield "can never be legal: its condition holds for no value of the features it mentions", location
        elif never and not _end_of_scale(feature, function, never):
            yield f"can never be legal for {listed(never)}", (*location, "arguments")
    for cause in transitions.causes:
        feature = problem.features[cause.target]
        if cause.sets and feature.protected and cause.source in transitions.mutable:
            name = problem.features[cause.source].name
            yield f"a change of {name} changes the protected feature {feature.name}", ("causes", cause.position)
    yield from _set_twice(problem)
    yield from _unreachable(problem)


def _never_legal(problem: Problem, function: Function) -> list[str]:
    states = _sample_states(problem, function)
    fine = np.zeros(len(function.natives), bool)
    index = problem.transitions.functions.index(function)
    for chunk in np.array_split(states, max(1, len(states) // 20_000)):
        fine |= problem.transitions.legal(chunk)[:, problem.transitions.spans[index]].any(axis=0)
    return [text_of(native) for native, possible in zip(function.natives, fine, strict=True) if not possible]


def _end_of_scale(feature: Feature, function: Function, never: list[str]) -> bool:
    """Whether `arguments: all` with a condition like `argument > feature` explains why one value is never legal."""
    ends = (feature.values[0], feature.values[-1]) if feature.kind == "ordered" else ()
    return function.every and len(never) == 1 and never[0] in ends


def _sample_states(problem: Problem, function: Function) -> Floats:
    """States [N, F] with every combination of values that could matter to the legality of `function`."""
    names = function.when.tree.names()
    for cause in problem.transitions.causes:
        if cause.formula is not None:  # what it gives must lie within bounds
            names |= cause.formula.tree.names()
    involved = [f for f in problem.features if f.name in names or f.index == function.target]
    points = [_points(feature, function) for feature in involved]
    count = math.prod(len(values) for values in points)
    if count <= MOST_STATES:
        combinations = np.array(list(itertools.product(*points)))
    else:
        random = np.random.default_rng(0)
        combinations = np.stack([random.choice(values, MOST_STATES) for values in points], axis=1)
    states = np.array([_points(feature, function)[0] for feature in problem.features])
    states = np.tile(states, (len(combinations), 1))
    states[:, [feature.index for feature in involved]] = combinations
    return states


def _points(feature: Feature, function: Function) -> list[float]:
    """Every value of a category; for a number, points on each side of wherever a condition could change."""
    missing = [math.nan] if feature.missing else []
    if not feature.is_number:
        return [*map(float, range(len(feature.natives))), *missing]
    marks = {*numbers_in(function.when.tree), *(feature.bins or ()), feature.low, feature.high, 0.0}
    marks = {mark for mark in marks if math.isfinite(mark)}
    sizes = [float(number) for number in function.arguments] if function.adds else []
    span = max([1.0, *map(abs, marks), *map(abs, sizes)])
    around = {mark + shift for mark in marks for size in [0.0, *sizes] for shift in (-size - 1, -size, 1 - size)}
    around |= {-10 * span, 10 * span}
    around = {point for point in around if math.isfinite(point)}
    if feature.integer:
        around = {float(whole) for point in around for whole in (math.floor(point), math.ceil(point))}
    inside = sorted(point for point in around if feature.low <= point <= feature.high) or [feature.low]
    between = [] if feature.integer else [low / 2 + high / 2 for low, high in itertools.pairwise(inside)]
    return [*inside, *between, *missing]


def _unreachable(problem: Problem) -> Iterator[tuple[str, Location]]:
    """Values of a category that actions change, but that no action, table or cause ever gives."""
    transitions = problem.transitions
    for feature in problem.features:
        setters = [f for f in transitions.functions if f.target == feature.index]
        if feature.is_number or not setters:
            continue
        given = {int(number) for function in setters for number in function.arguments}
        given |= {int(number) for cause in transitions.causes for number in _set_by(cause, feature)}
        never = [value for i, value in enumerate(feature.values) if i not in given]
        if never:
            yield f"no action leads to {listed(never)}", ("features", feature.name, "values")


def _set_twice(problem: Problem) -> Iterator[tuple[str, Location]]:
    for feature in problem.features:
        setters = [c.position for c in problem.transitions.causes if c.sets and c.target == feature.index]
        if len(setters) > 1:
            message = f"{feature.name} is set by more than one cause; the later one counts, in causal order"
            yield message, ("causes", max(setters))


def _set_by(cause: Cause, feature: Feature) -> list[float]:
    if cause.target != feature.index or cause.table is None:
        return []
    return [float(number) for number in cause.table if not math.isnan(number)]
