"""A card as a Python module: nothing but the standard library, two functions."""

from __future__ import annotations

import math
from collections.abc import Collection
from importlib.resources import files
from itertools import pairwise

from counterplan.problem import Problem
from counterplan.problem.parts import Cause, Feature
from counterplan.program.export.expressions import number, numbers
from counterplan.program.export.resolved import title
from counterplan.program.export.world_source import (
    condition_source,
    consequence_sources,
    identifiers,
    quoted,
    runtime_source,
    world_source,
)
from counterplan.scorecard.parts import CardFeature
from counterplan.scorecard.protocol import ScorecardParts
from counterplan.scorecard.wording import limits, making, meaning, performance
from counterplan.search.costs import ActionCosts
from counterplan.search.frontier import cost_unit

_HEAD = '''from __future__ import annotations

import difflib
import heapq
import math
import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from math import inf, isnan, nan
from typing import Any, NamedTuple

__all__ = ["plan", "points"]


def plan(person: dict, cannot: set = frozenset(), weights: dict = {}) -> dict:  # noqa: B006
    """The cheapest way of `person`, a dict of the features below, to enough points. Other keys are ignored.

    `cannot` holds what must stay as it is: functions ("{name}") or actions ("{action}").
    `weights` says how hard things are for this person: factors on the effort of functions or actions, 1 if not given.
    Gives "status" ("found"; "not_found" if there is no way, or the search took too long), "steps" (each
    with "function", "argument", "cost", "points", "text"), "cost" (of all steps), "points" (as it is), "needed" and
    "caution". If things take time, steps have "start" and "duration", and the plan has "duration" (of all steps, side
    by side where they can be) and "time_unit". Nothing is asked of any model.
    """
    return _plan(_CARD, person, cannot, weights)


def points(person: dict) -> dict:
    """The points of `person`: in all ("points"), those that are "needed", and by feature ("parts")."""
    parts = _points(_CARD, _read(_WORLD, person))
    return {"points": sum(parts.values()), "needed": _CARD.needed, "parts": parts}


# What can be done, and when: `p` is the person in numbers, a category is the rank of its value; `x` is the argument.
'''


def to_python(card: ScorecardParts) -> str:
    """The module as text."""
    problem = card.problem
    transitions = problem.transitions
    names = identifiers([function.name for function in transitions.functions])
    example = transitions.actions[0]
    program, here = files("counterplan.program.export"), files(__package__)
    parts = [
        _docstring(card),
        _HEAD.replace("{name}", quoted(example.function)).replace("{action}", quoted(str(example))),
        *(condition_source(problem, function, f"can_{names[function.name]}") for function in transitions.functions),
        *consequence_sources(problem),
        "# How it plans.",
        runtime_source(program / "runtime.py"),
        *(runtime_source(here / name).lstrip() for name in ("bound.py", "solver.py")),
        "# What there is.\n",
        world_source(problem, names),
        _card(card),
    ]
    return "\n\n".join(parts)


def _docstring(card: ScorecardParts) -> str:
    lines = [f"What would turn the decision around: {title(card.problem)}.", "", meaning(card)]
    lines += [line for line in (performance(card), making(card)) if line]
    lines += ["", "What it cannot do:", *(f"- {line}" for line in limits(card))]
    lines += ["", "Written by counterplan; it runs by itself and asks nobody."]
    return '"""' + "\n".join(quoted(line) for line in lines) + '\n"""'


def _card(card: ScorecardParts) -> str:
    problem = card.problem
    transitions, names = problem.transitions, [feature.name for feature in problem.features]
    changed = {function.name: transitions.changed_by(function) for function in transitions.functions}
    lines = ["_CARD = _Card(", "    world=_WORLD,", f"    needed={card.needed},", f"    even={card.even},"]
    lines += [f"    unit={cost_unit(ActionCosts(transitions), problem.max_actions)!r},", "    entries={"]
    lines += [f"        {names[one.feature]!r}: {_entries(one)}," for one in card.features]
    lines += ["    },", "    changes={"]
    lines += [f"        {name!r}: {_named(names, features)}," for name, features in changed.items()]
    lines += ["    },", "    reads={"]
    for function in transitions.functions:
        reads = transitions.read_by(function, changed[function.name]) | changed[function.name]
        reads |= {cause.target for cause in transitions.followers_of(function)}
        lines += [f"        {function.name!r}: {_named(names, reads)},"]
    lines += ["    },", f"    closed={_closed(problem)!r},", "    derived={"]
    for cause in transitions.derived:
        if cause.formula is not None:
            lines += [f"        {names[cause.target]!r}: {_named(names, transitions.read_in(cause))},"]
    lines += ["    },", "    factors=["]
    lines += [f"        {_numbers(_representatives(cause, problem.features))}," for cause in transitions.causes]
    return "\n".join([*lines, "    ],", ")"]) + "\n"


def _entries(one: CardFeature) -> str:
    parts = [numbers(one.edges), repr(one.points), *([] if one.missing is None else [repr(one.missing)])]
    return f"_Entries({', '.join(parts)})"


def _named(names: list[str], features: Collection[int]) -> str:
    return repr(tuple(names[index] for index in sorted(features)))


def _closed(problem: Problem) -> tuple[str, ...]:
    """The functions whose legality depends on no feature that can be changed but their own."""
    mutable = {problem.features[index].name for index in problem.transitions.mutable.tolist()}
    return tuple(
        function.name
        for function in problem.transitions.functions
        if not (function.when.tree.names() & mutable) - {problem.features[function.target].name}
    )


def _representatives(cause: Cause, features: tuple[Feature, ...]) -> list[float]:
    """Numbers of a cause's source, one at least for each of its factors on costs: ends of intervals, and between."""
    if cause.scale is None:
        return []
    if cause.scale.by_value is not None:
        return [*(float(rank) for rank in range(len(features[cause.source].natives))), math.nan]
    ends = sorted({end for low, _, high, _, _ in cause.scale.intervals for end in (low, high) if math.isfinite(end)})
    between = [(low + high) / 2 for low, high in pairwise(ends)]
    outside = [ends[0] - 1, ends[-1] + 1] if ends else [0.0]
    return [*sorted({*ends, *between, *outside}), math.nan]


def _numbers(values: list[float]) -> str:
    return f"({', '.join('nan' if value != value else number(value) for value in values)}{',' * (len(values) == 1)})"
