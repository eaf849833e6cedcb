"""A program as a Python module: nothing but the standard library, one function, readable as code."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import Any

from counterplan.problem.parts import Cause, Feature, Function
from counterplan.program.cautions import cautions
from counterplan.program.export.expressions import Resolver, number, numbers, python
from counterplan.program.export.model_card_summary import limits, summary
from counterplan.program.export.reasons import reasons
from counterplan.program.export.resolved import bases, title
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
    `cannot` makes it another one). Nothing is asked of any model.
    """
    return _plan(_WORLD, person, cannot)


# The rules: where a run goes from each node. `p` holds numbers: a category is the rank of its value, NaN is missing.
'''


def to_python(program: ProgramLike) -> str:
    """The module as text."""
    transitions = program.problem.transitions
    nodes = _identifiers(program.nodes)
    example = transitions.actions[0]
    parts = [
        _docstring(program),
        _HEAD.replace("{name}", _quoted(example.function)).replace("{action}", _quoted(str(example))),
        *(_node(program, name, nodes[name]) for name in program.nodes if name in program.trees),
        "# What can be done, and when: `x` is the argument.\n",
        *(_can(program, function, f"can_{nodes[function.name]}") for function in transitions.functions),
        *_formulas(program),
        "# How it is run.",
        _runtime(),
        "# What there is.\n",
        _world(program, nodes),
    ]
    return "\n\n".join(parts)


def _identifiers(names: Sequence[str]) -> dict[str, str]:
    """A Python identifier for each node; with its number where it would not be unique or characters are lost."""
    plain = [re.sub(r"[^a-z0-9_]", "_", name.lower()) for name in names]
    unique = [text == name.lower() and plain.count(text) == 1 for text, name in zip(plain, names, strict=True)]
    return {name: text if unique[i] else f"{text}_{i}" for i, (name, text) in enumerate(zip(names, plain, strict=True))}


def _quoted(text: str) -> str:
    """Text for one line of a docstring."""
    return repr(text)[1:-1].replace('"', '\\"')


def _docstring(program: ProgramLike) -> str:
    lines = [f"What would turn the decision around: {title(program.problem)}.", ""]
    lines += [f"{name}: {value}" for name, value in summary(program)]
    lines += ["", "What it cannot do:", *(f"- {line}" for line in limits(program))]
    lines += ["", "Written by counterplan; it runs by itself and asks nobody."]
    return '"""' + "\n".join(_quoted(line) for line in lines) + '\n"""'


def _node(program: ProgramLike, name: str, identifier: str) -> str:
    head = "Where everybody begins." if name == INTERVENE else f"After {_quoted(name)}."
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


def _can(program: ProgramLike, function: Function, identifier: str) -> str:
    resolve = Resolver(program.problem.features, function, bases(program.problem, function))
    docstring = f'"""{_quoted(str(function.when))}"""'
    return f"def {identifier}(p, x):\n    {docstring}\n    return {_source(program, resolve(function.when.tree))}\n"


def _source(program: ProgramLike, data: Any) -> str:
    text = python(data, [feature.name for feature in program.problem.features])
    return text[1:-1] if text.startswith("(") and isinstance(data, list) else text


def _formulas(program: ProgramLike) -> Iterator[str]:
    for i, cause in enumerate(program.problem.transitions.causes):
        if cause.formula is not None:
            source = _source(program, Resolver(program.problem.features)(cause.formula.tree))
            yield f"def consequence_{i}(p):\n    return {source}\n"
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


def _runtime() -> str:
    text = files(__package__).joinpath("runtime.py").read_text(encoding="utf-8")
    return text.split("# --- from here on\n", 1)[1]


def _world(program: ProgramLike, nodes: dict[str, str]) -> str:
    transitions = program.problem.transitions
    names = [feature.name for feature in program.problem.features]
    lines = ["_WORLD = _World(", f"    longest={program.problem.max_actions},", "    features={"]
    lines += [f"        {feature.name!r}: {_feature(feature)}," for feature in program.problem.features]
    lines += ["    },", "    functions={"]
    for function in transitions.functions:
        bounded = tuple(names[cause.target] for cause in transitions.followers_of(function))
        lines += [f"        {function.name!r}: {_function(function, names, f'can_{nodes[function.name]}', bounded)},"]
    lines += ["    },", "    causes=["]
    lines += [f"        {_cause(cause, names, i)}," for i, cause in enumerate(transitions.causes)]
    lines += ["    ],", "    nodes={"]
    for name in program.nodes:
        if name in program.trees:
            lines.append(f"        {name!r}: after_{nodes[name]},")
    lines += ["    },", "    because={"]
    for name, leaf_reasons in reasons(program).items():
        lines += [f"        {name!r}: [", *(f"            {texts!r}," for texts in leaf_reasons), "        ],"]
    notes = cautions(program)
    lines += ["    },", "    without={"]
    lines += [f"        {name!r}: {text!r}," for name, text in zip(program.nodes[1:], notes.without, strict=True)]
    return "\n".join([*lines, "    },", f"    otherwise={notes.otherwise!r},", ")"]) + "\n"


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


def _function(function: Function, names: list[str], can: str, bounded: tuple[str, ...]) -> str:
    arrays = (function.base, function.surcharge)
    parts = [
        repr(names[function.target]),
        repr(function.adds),
        numbers(function.arguments.tolist()),
        repr(function.natives),
        *(repr(tuple(array.tolist())) for array in arrays),
        repr(function.phrase),
        can,
        *([f"bounded={bounded!r}"] if bounded else []),
    ]
    return f"_Function({', '.join(parts)})"


def _cause(cause: Cause, names: list[str], index: int) -> str:
    parts = [repr(names[cause.source]), repr(names[cause.target])]
    parts += [f"scale=easier_{index}"] if cause.scale is not None else []
    parts += [f"table={_table(cause)}"] if cause.table is not None else []
    parts += [f"formula=consequence_{index}"] if cause.formula is not None else []
    return f"_Cause({', '.join(parts)})"


def _table(cause: Cause) -> str:
    assert cause.table is not None
    return f"({', '.join('nan' if value != value else number(value) for value in cause.table.tolist())},)"
