"""How a program written as Python is run: the text of this file, from the line below, follows that of `runtime`."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from counterplan.program.export.runtime import (
    State,
    _actions_of,
    _apply,
    _cost,
    _legal,
    _names,
    _read,
    _rounded,
    _step_text,
    _text_of,
    _timed,
    _World,
)

# --- from here on


class _Choice(NamedTuple):
    function: str
    argument: Any = None
    goal: float | None = None


def do(function: str, argument: Any) -> _Choice:
    """A function with this argument."""
    return _Choice(function, argument)


def reach(function: str, goal: float) -> _Choice:
    """A function with the smallest change that brings its feature to `goal` or beyond, or else the largest."""
    return _Choice(function, goal=goal)


stop = _Choice("STOP")


class _Program(NamedTuple):
    world: _World
    nodes: Mapping[str, Callable[[State], tuple[int, Sequence[_Choice]]]]
    """Each gives the number of a rule, and what it would do, the best first."""
    because: Mapping[str, Sequence[Sequence[str]]]
    """Why, in words: of each rule of each node, for each thing it would do."""
    without: Mapping[str, str]
    """What is to be said of other plans than usual, where one function is forbidden."""
    otherwise: str
    """And where anything else is."""


def _plan(program: _Program, person: Mapping[str, Any], cannot: Collection[str]) -> dict[str, Any]:
    state, cannot = _read(program.world, person), _names(program.world, cannot)
    actions = {name: set(_actions_of(program.world, name)) for name in program.world.functions}
    plan = _run(program, state, cannot)
    caution = plan.pop("given_up", "")
    unrestricted = _run(program, state, ()) if cannot and plan["steps"] else plan
    if _actions(plan) != _actions(unrestricted):
        forbidden = {name: names if name in cannot else names & cannot for name, names in actions.items()}
        affected = [name for name in actions if forbidden[name]]
        alone = len(affected) == 1 and forbidden[affected[0]] == actions[affected[0]]
        caution = program.without[affected[0]] if alone else program.otherwise
    return {**plan, "caution": caution}


def _actions(plan: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(step["function"], _text_of(step["argument"])) for step in plan["steps"]]


def _run(program: _Program, state: State, cannot: Collection[str]) -> dict[str, Any]:
    world, node = program.world, "INTERVENE"
    steps: list[dict[str, Any]] = []
    taken: list[tuple[str, int, State]] = []
    while node in program.nodes:
        rule, choices = program.nodes[node](state)
        chosen = _choose(world, state, choices, cannot, len(steps))
        if chosen is None:
            break
        rank, which = chosen
        reason, node = program.because[node][rule][rank], choices[rank].function
        if node == "STOP":
            cost = round(math.fsum(step["cost"] for step in steps), 9)
            return _timed(world, {"status": "found", "steps": steps, "cost": cost, "reason": reason}, taken)
        cost, after = _cost(world, node, which, state), _apply(world, node, which, state)
        value, text = world.functions[node].values[which], _step_text(world, node, which, state, after)
        steps.append({"function": node, "argument": value, "cost": cost, "text": text, "reason": reason})
        taken.append((node, which, state))
        state = after
    given_up = {} if steps or choices else {"given_up": program.because[node][rule][0]}
    return {"status": "not_found", "steps": [], "cost": None, "reason": None, **given_up}


def _choose(
    world: _World, state: State, choices: Sequence[_Choice], cannot: Collection[str], done: int
) -> tuple[int, int] | None:
    """The number of the first choice that is possible, and the place of its argument."""
    for rank, choice in enumerate(choices):
        name = choice.function
        if name == "STOP" and done:
            return rank, 0
        if name == "STOP" or name in cannot or done == world.longest:
            continue
        function, goal = world.functions[name], choice.goal
        possible = [
            i
            for i, action in enumerate(_actions_of(world, name))
            if action not in cannot and _legal(world, name, i, state)
        ]
        if goal is None:
            which = [i for i in possible if _text_of(function.values[i]) == _text_of(choice.argument)]
        else:
            sign = -1 if all(argument < 0 for argument in function.arguments) else 1
            after = [sign * _rounded(state[function.target] + argument) for argument in function.arguments]
            enough = [i for i in possible if after[i] >= sign * goal]
            which = sorted(enough, key=after.__getitem__) or sorted(possible, key=lambda i: -after[i])
        if which:
            return rank, which[0]
    return None
