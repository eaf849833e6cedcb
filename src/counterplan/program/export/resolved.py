"""A program as numbers for other interpreters: no names to look up, no expressions to parse."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from counterplan.problem import Problem
from counterplan.problem.parts import Cause, Feature, Function
from counterplan.problem.values import text_of
from counterplan.program.cautions import cautions, spoken
from counterplan.program.export.expressions import Resolver
from counterplan.program.parts import Choice, Leaf, Test, Tree
from counterplan.program.protocol import Artefact, ProgramLike


def problem_data(problem: Problem, derived: Sequence[Cause]) -> dict[str, Any]:
    """Features, functions and causes as JSON data; null is a missing value or an infinite bound.

    `derived` holds the causes of features that are computed from others.
    """
    transitions = problem.transitions
    return {
        "name": problem.name,
        "title": title(problem),
        "longest": problem.max_actions,
        **({"timeUnit": problem.time_unit} if problem.time_unit else {}),
        "features": [_feature(feature) for feature in problem.features],
        "functions": [_function(problem, index) for index in range(len(transitions.functions))],
        "causes": [_cause(problem, cause) for cause in transitions.causes],
        "derived": [transitions.causes.index(cause) for cause in derived],
    }


def program_data(program: ProgramLike) -> dict[str, Any]:
    """The trees of a program and its cautions as JSON data."""
    return {"nodes": [_node(program, name) for name in program.nodes], "cautions": cautions(program)._asdict()}


def title(problem: Problem) -> str:
    """The title of the problem, or its name."""
    return str(problem.to_dict().get("title") or problem.name)


def derived(artefact: Artefact) -> list[Cause]:
    """One consequence for each feature that follows from others: all of the problem, or those that the card names."""
    problem, names = artefact.problem, artefact.model_card.derived
    return [c for c in problem.transitions.derived if names is None or problem.features[c.target].name in names]


def bases(problem: Problem, function: Function) -> Mapping[str, float]:
    """The base costs by value that `base(…)` looks up in the condition of `function`."""
    feature = problem.features[function.target]
    if feature.is_number:
        return {}
    cost = problem.to_dict()["functions"][function.name]["cost"]
    if isinstance(cost, Mapping) and isinstance(cost["base"], Mapping):
        return {str(value): float(base) for value, base in cost["base"].items()}
    return {feature.values[int(i)]: float(base) for i, base in zip(function.arguments, function.base, strict=True)}


def _feature(feature: Feature) -> dict[str, Any]:
    return {
        "name": feature.name,
        "label": feature.label,
        "kind": feature.kind,
        "missing": feature.missing,
        "integer": feature.integer,
        "unit": feature.unit,
        "low": _finite(feature.low),
        "high": _finite(feature.high),
        "natives": list(feature.natives),
        "labels": list(feature.labels),
    }


def _function(problem: Problem, index: int) -> dict[str, Any]:
    transitions, function = problem.transitions, problem.transitions.functions[index]
    changed = transitions.changed_by(function)
    span, follows = transitions.spans[index], transitions.in_order[index, : transitions.stop]
    resolve = Resolver(problem.features, function, bases(problem, function))
    return {
        "name": function.name,
        "spoken": spoken(function.name),
        "target": function.target,
        "adds": function.adds,
        "arguments": function.arguments.tolist(),
        "natives": list(function.natives),
        "actions": [f"{function.name}={text_of(native)}" for native in function.natives],
        "when": resolve(function.when.tree),
        "base": function.base.tolist(),
        "surcharge": function.surcharge.tolist(),
        "phrase": function.phrase,
        "bounded": [cause.target for cause in transitions.followers_of(function)],
        "changes": sorted(changed),
        "reads": sorted(transitions.read_by(function, changed)),
        "skips": sorted({int(other) for other in transitions.function_of[:-1][~follows]}),
        "most": transitions.most_costs[span].tolist(),
        **(_times(problem, index) if problem.time_unit else {}),
    }


def _times(problem: Problem, index: int) -> dict[str, Any]:
    """The durations of a function, and the functions that it depends on or that depend on it."""
    transitions, function = problem.transitions, problem.transitions.functions[index]
    return {
        "timeBase": function.duration_base.tolist(),
        "timeSurcharge": function.duration_surcharge.tolist(),
        "dependent": np.flatnonzero(~transitions.independent[index]).tolist(),
        "overlaps": function.overlaps,
    }


def _cause(problem: Problem, cause: Cause) -> dict[str, Any]:
    resolve = Resolver(problem.features)
    return {
        "source": cause.source,
        "target": cause.target,
        "by_value": None if cause.scale is None or cause.scale.by_value is None else cause.scale.by_value.tolist(),
        "intervals": None
        if cause.scale is None or cause.scale.by_value is not None
        else [
            [_finite(low), low_in, _finite(high), high_in, scale]
            for low, low_in, high, high_in, scale in cause.scale.intervals
        ],
        "table": None if cause.table is None else [_finite(number) for number in cause.table.tolist()],
        "formula": None if cause.formula is None else resolve(cause.formula.tree),
    }


def _node(program: ProgramLike, name: str) -> dict[str, Any] | None:
    tree = program.trees.get(name)
    if tree is None:
        return None
    counter = iter(range(1 << 30))
    return _tree(program, tree, counter)


def _tree(program: ProgramLike, tree: Tree, counter: Any) -> dict[str, Any]:
    """A tree with its leaves numbered from yes to no."""
    if isinstance(tree, Leaf):
        return {"leaf": next(counter), "do": [_choice(program, choice) for choice in tree.choices]}
    yes = _tree(program, tree.yes, counter)
    return {"if": _test(tree.test), "then": yes, "else": _tree(program, tree.no, counter)}


def _test(test: Test) -> dict[str, Any]:
    if test.at_least is not None:
        return {"at": test.feature, "least": test.at_least}
    return {"at": test.feature, "among": None if test.among is None else list(test.among)}


def _choice(program: ProgramLike, choice: Choice) -> dict[str, Any]:
    """A function with an argument, by number, or with a target value; empty for STOP."""
    transitions = program.problem.transitions
    if choice.action == transitions.stop:
        return {}
    function = int(transitions.function_of[choice.action])
    if choice.reach is not None:
        return {"function": function, "reach": choice.reach}
    return {"function": function, "argument": choice.action - transitions.spans[function].start}


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
