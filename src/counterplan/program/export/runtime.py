"""What a program or card written as Python needs to run: the text of this file, from the line below, goes into modules.

Reading people, and legality, costs, effects and words of actions. It uses nothing but the standard library of
Python 3.9, and knows nothing of counterplan.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from math import inf, isnan, nan
from typing import Any, NamedTuple

# --- from here on

State = dict[str, float]
"""A person in numbers: a category is the rank of its value, what is not known is NaN."""


class _Feature(NamedTuple):
    kind: str
    label: str
    unit: str | None = None
    integer: bool = False
    missing: bool = False
    low: float = -inf
    high: float = inf
    values: Sequence[Any] = ()
    labels: Sequence[str] = ()


class _Function(NamedTuple):
    target: str
    adds: bool
    arguments: Sequence[float]
    values: Sequence[Any]
    base: Sequence[float]
    surcharge: Sequence[float]
    phrase: str
    can: Callable[[State, float], bool]
    bounded: Sequence[str] = ()
    """Features that follow from its own and must stay within bounds."""
    time_base: Sequence[float] = ()
    time_surcharge: Sequence[float] = ()
    dependent: Sequence[str] = ()
    """Functions whose steps must stay before or after its own."""
    overlaps: bool = True


class _Cause(NamedTuple):
    source: str
    target: str
    scale: Callable[[float], float] | None = None
    table: Sequence[float] | None = None
    formula: Callable[[State, float, State], float] | None = None
    """Of the person after the action, its argument, and the person before it."""


class _World(NamedTuple):
    longest: int
    features: Mapping[str, _Feature]
    functions: Mapping[str, _Function]
    causes: Sequence[_Cause]
    time_unit: str = ""
    """The unit of times; empty if nothing takes time."""


def _actions_of(world: _World, name: str) -> list[str]:
    """The names of the actions of a function."""
    return [f"{name}={_text_of(value)}" for value in world.functions[name].values]


def _names(world: _World, given: Collection[str]) -> set[str]:
    """Names of functions and actions as a set; one alone may be given as text."""
    names = {given} if isinstance(given, str) else set(given or ())
    known = {*world.functions, *(action for name in world.functions for action in _actions_of(world, name))}
    for name in names:
        if name not in known:
            raise ValueError(f"there is no function or action {name!r}; there are {', '.join(world.functions)}")
    return names


def _legal(world: _World, name: str, which: int, state: State) -> bool:
    function = world.functions[name]
    now, argument = state[function.target], float(function.arguments[which])
    if function.adds:
        feature, after = world.features[function.target], _rounded(now + argument)
        if not (feature.low <= after <= feature.high and after != now):
            return False
    elif now == argument:
        return False
    if not function.can(state, argument):
        return False
    then = _apply(world, name, which, state) if function.bounded else state
    return all(_within(world.features[other], then[other]) for other in function.bounded)


def _within(feature: _Feature, number: float) -> bool:
    return feature.missing if isnan(number) else math.isfinite(number) and feature.low <= number <= feature.high


def _cost(world: _World, name: str, which: int, state: State) -> float:
    return round(_exact_cost(world, name, which, state), 9)


def _exact_cost(world: _World, name: str, which: int, state: State) -> float:
    function = world.functions[name]
    return function.surcharge[which] + function.base[which] * _scale(world, function, state)


def _scale(world: _World, function: _Function, state: State) -> float:
    scale = 1.0
    for cause in world.causes:
        if cause.target == function.target and cause.scale is not None:
            scale *= cause.scale(state[cause.source])
    return scale


def _timed(world: _World, plan: dict[str, Any], taken: Sequence[tuple[str, int, State]]) -> dict[str, Any]:
    """The plan with the time of each step, if anything takes time."""
    if not world.time_unit:
        return plan
    durations, names = [], [name for name, _, _ in taken]
    for name, which, state in taken:
        function = world.functions[name]
        lasts = function.time_surcharge[which] + function.time_base[which] * _scale(world, function, state)
        durations.append(round(lasts * 10**6))
    starts = _earliest_starts(world, names, durations)
    for step, start, units in zip(plan["steps"], starts, durations, strict=True):
        step.update({"start": start / 10**6, "duration": units / 10**6})
    longest = max((start + units for start, units in zip(starts, durations, strict=True)), default=0)
    return {**plan, "duration": longest / 10**6, "time_unit": world.time_unit}


def _earliest_starts(world: _World, names: Sequence[str], durations: Sequence[int]) -> list[int]:
    """When steps start in the order that takes the least time; those that depend on each other stay in order.

    A plan of more than 8 steps keeps its order.
    """
    functions, steps = [world.functions[name] for name in names], range(len(names))
    dependent = [[names[other] in functions[step].dependent for other in steps] for step in steps]
    conflict = [
        [dependent[step][other] or not (functions[step].overlaps and functions[other].overlaps) for other in steps]
        for step in steps
    ]
    best: list[int] = []
    least = sum(durations) + 1
    pending: list[dict[int, int]] = [{}]
    while pending:
        starts = pending.pop()
        end = max((start + durations[step] for step, start in starts.items()), default=0)
        alone = sum(durations[step] for step in steps if not functions[step].overlaps and step not in starts)
        if end + alone >= least:
            continue
        if len(starts) == len(steps):
            best, least = [starts[step] for step in steps], end
            if len(steps) > 8:
                break
            continue
        left, last = [step for step in steps if step not in starts], next(reversed(starts), -1)
        for step in reversed(left):
            waits = any(dependent[other][step] for other in left if other < step)
            if not waits and (last < step or conflict[last][step]):
                ends = [start + durations[other] for other, start in starts.items() if conflict[other][step]]
                pending.append({**starts, step: max(ends, default=0)})
    return best


def _apply(world: _World, name: str, which: int, state: State) -> State:
    function, after = world.functions[name], dict(state)
    argument = float(function.arguments[which])
    after[function.target] = _rounded(state[function.target] + argument) if function.adds else argument
    for cause in world.causes:
        before, now = state[cause.source], after[cause.source]
        if before == now or (isnan(before) and isnan(now)):
            continue
        if cause.formula is not None:
            after[cause.target] = _computed(world, cause, after, argument, state)
        elif cause.table is not None and not isnan(now) and not isnan(cause.table[int(now)]):
            after[cause.target] = cause.table[int(now)]
    return after


def _computed(world: _World, cause: _Cause, after: State, argument: float, before: State) -> float:
    """The value of the formula of a cause."""
    assert cause.formula is not None
    value = cause.formula(after, argument, before)
    return _whole(value) if world.features[cause.target].integer else _rounded(value)


def _step_text(world: _World, name: str, which: int, before: State, after: State) -> str:
    function = world.functions[name]
    target, feature, argument = function.target, world.features[function.target], function.arguments[which]
    words = {
        "argument": _in_words(feature, argument),
        "amount": _in_words(feature, abs(argument)),
        "before": _in_words(feature, before[target]),
        "after": _in_words(feature, after[target]),
    }
    return re.sub(r"\{(argument|amount|before|after)\}", lambda match: words[match.group(1)], function.phrase)


def _in_words(feature: _Feature, number: float) -> str:
    if isnan(number):
        return "unknown"
    if feature.kind != "number":
        return feature.labels[int(number)]
    text = _number_in_words(number)
    return f"{text} {feature.unit}" if feature.unit else text


def _number_in_words(number: float) -> str:
    if float(number).is_integer():
        return f"{int(number):,}"
    if abs(number) < 0.01:
        return f"{number:.4g}"
    return f"{number:,.4f}".rstrip("0").rstrip(".")


def _read(world: _World, person: Mapping[str, Any]) -> State:
    """The features of a person; what else is there is no matter, unless it looks like the name of one that is not."""
    if not isinstance(person, Mapping):
        raise ValueError(f"a person is a dict with a value for each feature, not {type(person).__name__}")
    absent = [name for name in world.features if name not in person]
    if absent:
        others = [str(name) for name in person if name not in world.features]
        lacking = ", ".join(repr(name) + _meant(name, others) for name in absent)
        raise ValueError(f"the person lacks {lacking}; there are the features {', '.join(world.features)}")
    return {name: _number(name, feature, person[name]) for name, feature in world.features.items()}


def _meant(name: str, others: Sequence[str]) -> str:
    close = difflib.get_close_matches(name, others, n=1)
    return f"; did you mean {close[0]!r}" if close else ""


def _number(name: str, feature: _Feature, value: Any) -> float:
    value = value.item() if hasattr(value, "item") else value  # a number of numpy's
    if _is_missing(value):
        if feature.missing:
            return nan
        raise ValueError(f"{name} is not known, and must be")
    if feature.kind != "number":
        texts = [_text_of(other) for other in feature.values]
        if _text_of(value) not in texts:
            raise ValueError(f"{name} is one of {', '.join(texts)}; not {value!r}")
        return float(texts.index(_text_of(value)))
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{name} is a number; not {value!r}")
    if abs(value) > 2**53 or not _within(feature, value) or (feature.integer and value != int(value)):
        kind = "a whole number" if feature.integer else "a number"
        kind += "" if feature.low == -inf else f", at least {_number_in_words(feature.low)}"
        kind += "" if feature.high == inf else f", at most {_number_in_words(feature.high)}"
        shown = "one of so many digits" if abs(value) > 2**53 else repr(value)
        raise ValueError(f"{name} is {kind}; not {shown}")
    return float(value)


def _is_missing(value: Any) -> bool:
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas' NA is neither
        return True


def _text_of(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _rounded(number: float) -> float:
    """To nine decimals, so that two ways to one value give one value."""
    return round(number * 1e9) / 1e9 if abs(number) < 2**53 / 1e9 else number


def _whole(number: float) -> float:
    return float(round(number)) if math.isfinite(number) else number


def _over(number: float, by: float) -> float:
    return number / by if by != 0 else nan


def _look_up(table: Sequence[float], rank: float) -> float:
    return 0.0 if isnan(rank) else table[int(rank)]
