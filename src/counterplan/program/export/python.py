"""A program as a Python module: nothing but the standard library, one function, readable as code."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from importlib.resources import files

from counterplan.problem.parts import Feature
from counterplan.program.cautions import cautions
from counterplan.program.export.expressions import number, numbers
from counterplan.program.export.model_card_summary import limits, summary
from counterplan.program.export.reasons import reasons
from counterplan.program.export.resolved import title
from counterplan.program.export.world_source import (
    condition_source,
    consequence_sources,
    identifiers,
    quoted,
    runtime_source,
    world_source,
)
from counterplan.program.parts import INTERVENE, Choice, Leaf, Test, Tree
from counterplan.program.protocol import ProgramLike

_HEAD = '''from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from math import inf, isnan, nan
from typing import Any, NamedTuple

__all__ = ["recommend"]


def recommend(person: dict, cannot: set = frozenset()) -> dict:
    """What `person`, a dict of the features below, can do to turn the decision around. Other keys are ignored.

    `cannot` holds what must stay as it is: functions ("{name}") or actions ("{action}").
    Gives "status" ("found" or "not_found"), "steps" (each with "function", "argument", "cost", "text", "reason"),
    "cost" (of all steps), "reason" (why it stops there) and "caution" (why the plan is less certain than others, where
    `cannot` makes it another one). If things take time, steps have "start" and "duration", and the plan has "duration"
    (of all steps, side by side where they can be) and "time_unit". Nothing is asked of any model.
    """
    return _plan(_PROGRAM, person, cannot)


# The rules: where a run goes from each node. `p` holds numbers: a category is the rank of its value, NaN is missing.
'''


def to_python(program: ProgramLike) -> str:
    """The module as text."""
    transitions = program.problem.transitions
    nodes = identifiers(program.nodes)
    example = transitions.actions[0]
    parts = [
        _docstring(program),
        _HEAD.replace("{name}", quoted(example.function)).replace("{action}", quoted(str(example))),
        *(_node(program, name, nodes[name]) for name in program.nodes if name in program.trees),
        "# What can be done, and when: `x` is the argument.\n",
        *(
            condition_source(program.problem, function, f"can_{nodes[function.name]}")
            for function in transitions.functions
        ),
        *consequence_sources(program.problem),
        "# How it is run.",
        runtime_source(files(__package__) / "runtime.py"),
        runtime_source(files(__package__) / "program_runtime.py").lstrip(),
        "# What there is.\n",
        world_source(program.problem, nodes),
        _rules(program, nodes),
    ]
    return "\n\n".join(parts)


def _docstring(program: ProgramLike) -> str:
    lines = [f"What would turn the decision around: {title(program.problem)}.", ""]
    lines += [f"{name}: {value}" for name, value in summary(program)]
    lines += ["", "What it cannot do:", *(f"- {line}" for line in limits(program))]
    lines += ["", "Written by counterplan; it runs by itself and asks nobody."]
    return '"""' + "\n".join(quoted(line) for line in lines) + '\n"""'


def _node(program: ProgramLike, name: str, identifier: str) -> str:
    head = "Where everybody begins." if name == INTERVENE else f"After {quoted(name)}."
    body = "\n".join(_branch(program, program.trees[name], itertools.count(), "    "))
    return f'def after_{identifier}(p):\n    """{head}"""\n{body}\n'


def _branch(program: ProgramLike, tree: Tree, numbered: Iterator[int], indent: str, word: str = "if") -> Iterator[str]:
    if isinstance(tree, Leaf):
        yield f"{indent}return {next(numbered)}, [{', '.join(_choice(program, choice) for choice in tree.choices)}]"
        return
    deeper = indent + "    "
    yield f"{indent}{word} {_test(program.problem.features[tree.test.feature], tree.test)}"
    yield from _branch(program, tree.yes, numbered, deeper)
    if isinstance(tree.no, Leaf):
        yield f"{indent}else:"
        yield from _branch(program, tree.no, numbered, deeper)
    else:
        yield from _branch(program, tree.no, numbered, indent, "elif")


def _test(feature: Feature, test: Test) -> str:
    """A test as code, with a comment on the meaning of its numbers."""
    value = f"p[{feature.name!r}]"
    if test.at_least is not None:
        means = "" if feature.is_number else f"  # at least {feature.natives[int(-(-test.at_least // 1))]!r}"
        return f"{value} >= {number(float(test.at_least))}:{means}"
    if test.among is not None:
        means = ", ".join(repr(feature.natives[index]) for index in test.among)
        return f"{value} in {numbers([float(index) for index in test.among])}:  # {means}"
    return f"isnan({value}):"


def _choice(program: ProgramLike, choice: Choice) -> str:
    transitions = program.problem.transitions
    if choice.action == transitions.stop:
        return "stop"
    action = transitions.actions[choice.action]
    if choice.reach is not None:
        return f"reach({action.function!r}, {number(float(choice.reach))})"
    return f"do({action.function!r}, {action.argument!r})"


def _rules(program: ProgramLike, nodes: dict[str, str]) -> str:
    lines = ["_PROGRAM = _Program(", "    world=_WORLD,", "    nodes={"]
    lines += [f"        {name!r}: after_{nodes[name]}," for name in program.nodes if name in program.trees]
    lines += ["    },", "    because={"]
    for name, leaf_reasons in reasons(program).items():
        lines += [f"        {name!r}: [", *(f"            {texts!r}," for texts in leaf_reasons), "        ],"]
    notes = cautions(program)
    lines += ["    },", "    without={"]
    lines += [f"        {name!r}: {text!r}," for name, text in zip(program.nodes[1:], notes.without, strict=True)]
    return "\n".join([*lines, "    },", f"    otherwise={notes.otherwise!r},", ")"]) + "\n"
