"""A problem as Python source, for modules that programs and cards are exported to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources.abc import Traversable
from typing import Any

from counterplan.problem import Problem
from counterplan.problem.parts import Cause, Feature, Function
from counterplan.program.export.expressions import Resolver, number, numbers, python
from counterplan.program.export.resolved import bases


def world_source(problem: Problem, names: Mapping[str, str]) -> str:
    """The features, functions and causes of a problem; `names` are the identifiers of its functions."""
    transitions = problem.transitions
    features = [feature.name for feature in problem.features]
    lines = ["_WORLD = _World(", f"    longest={problem.max_actions},", "    features={"]
    lines += [f"        {feature.name!r}: {_feature(feature)}," for feature in problem.features]
    lines += ["    },", "    functions={"]
    for function in transitions.functions:
        bounded = tuple(features[cause.target] for cause in transitions.followers_of(function))
        source = _function(problem, function, f"can_{names[function.name]}", bounded)
        lines += [f"        {function.name!r}: {source},"]
    lines += ["    },", "    causes=["]
    lines += [f"        {_cause(cause, features, i)}," for i, cause in enumerate(transitions.causes)]
    unit = [f"    time_unit={problem.time_unit!r},"] if problem.time_unit else []
    return "\n".join([*lines, "    ],", *unit, ")"]) + "\n"


def identifiers(names: Sequence[str]) -> dict[str, str]:
    """A Python identifier for each node; with its number where it would not be unique or characters are lost."""
    plain = [re.sub(r"[^a-z0-9_]", "_", name.lower()) for name in names]
    unique = [text == name.lower() and plain.count(text) == 1 for text, name in zip(plain, names, strict=True)]
    return {name: text if unique[i] else f"{text}_{i}" for i, (name, text) in enumerate(zip(names, plain, strict=True))}


def quoted(text: str) -> str:
    """Text for one line of a docstring."""
    return repr(text)[1:-1].replace('"', '\\"')


def condition_source(problem: Problem, function: Function, identifier: str) -> str:
    """The function of a person and an argument that tells whether `function` is legal."""
    resolve = Resolver(problem.features, function, bases(problem, function))
    docstring = f'"""{quoted(str(function.when))}"""'
    return f"def {identifier}(p, x):\n    {docstring}\n    return {_source(problem, resolve(function.when.tree))}\n"


def _source(problem: Problem, data: Any) -> str:
    text = python(data, [feature.name for feature in problem.features])
    return text[1:-1] if text.startswith("(") and isinstance(data, list) else text


def consequence_sources(problem: Problem) -> Iterator[str]:
    """The functions for the formulas of causes, and for their factors on costs."""
    for i, cause in enumerate(problem.transitions.causes):
        if cause.formula is not None:
            source = _source(problem, Resolver(problem.features)(cause.formula.tree))
            yield f"def consequence_{i}(p, x, b):\n    return {source}\n"
        if cause.scale is not None:
            yield _scale(cause, i)


def _scale(cause: Cause, index: int) -> str:
    """The factor of a cause on costs, as a function of its value `n`."""
    assert cause.scale is not None
    if cause.scale.by_value is not None:
        body = f"    return {tuple(cause.scale.by_value.tolist())!r}[-1 if isnan(n) else int(n)]\n"
        return f"def easier_{index}(n):\n{body}"
    lines = [f"def easier_{index}(n):"]
    for low, low_in, high, high_in, scale in cause.scale.intervals:
        bounds = [f"n {'>=' if low_in else '>'} {_bound(low)}", f"n {'<=' if high_in else '<'} {_bound(high)}"]
        finite = [bound for bound, end in zip(bounds, (low, high), strict=True) if abs(end) != float("inf")]
        lines.append(f"    if {' and '.join(finite) or 'not isnan(n)'}:\n        return {scale!r}")
    return "\n".join([*lines, "    return 1.0\n"])


def _bound(end: float) -> str:
    return number(end) if abs(end) != float("inf") else repr(end)


def runtime_source(path: Traversable) -> str:
    """The part of a file of the runtime that goes into modules."""
    return path.read_text(encoding="utf-8").split("# --- from here on\n", 1)[1]


def _feature(feature: Feature) -> str:
    attributes = {
        "unit": feature.unit,
        "integer": feature.integer,
        "missing": feature.missing,
        "low": feature.low if abs(feature.low) != float("inf") else None,
        "high": feature.high if abs(feature.high) != float("inf") else None,
        "values": feature.natives,
        "labels": feature.labels,
    }
    keywords = [
        f"{key}={value!r}" for key, value in attributes.items() if not (value is None or value is False or value == ())
    ]
    return f"_Feature({', '.join([repr(feature.kind), repr(feature.label), *keywords])})"


def _function(problem: Problem, function: Function, can: str, bounded: tuple[str, ...]) -> str:
    arrays = (function.base, function.surcharge)
    parts = [
        repr(problem.features[function.target].name),
        repr(function.adds),
        numbers(function.arguments.tolist()),
        repr(function.natives),
        *(repr(tuple(array.tolist())) for array in arrays),
        repr(function.phrase),
        can,
        *([f"bounded={bounded!r}"] if bounded else []),
        *(_times(problem, function) if problem.time_unit else []),
    ]
    return f"_Function({', '.join(parts)})"


def _times(problem: Problem, function: Function) -> Iterator[str]:
    """The arguments about the durations of a function."""
    transitions = problem.transitions
    independent = transitions.independent[transitions.functions.index(function)]
    names = tuple(other.name for other, free in zip(transitions.functions, independent, strict=True) if not free)
    yield f"time_base={tuple(function.duration_base.tolist())!r}"
    yield f"time_surcharge={tuple(function.duration_surcharge.tolist())!r}"
    yield f"dependent={names!r}"
    if not function.overlaps:
        yield "overlaps=False"


def _cause(cause: Cause, names: list[str], index: int) -> str:
    parts = [repr(names[cause.source]), repr(names[cause.target])]
    parts += [f"scale=easier_{index}"] if cause.scale is not None else []
    parts += [f"table={_table(cause)}"] if cause.table is not None else []
    parts += [f"formula=consequence_{index}"] if cause.formula is not None else []
    return f"_Cause({', '.join(parts)})"


def _table(cause: Cause) -> str:
    assert cause.table is not None
    return f"({', '.join('nan' if value != value else number(value) for value in cause.table.tolist())},)"
