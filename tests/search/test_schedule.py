"""When the steps of plans start and end."""

from __future__ import annotations

from itertools import permutations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import worlds
from counterplan import Problem
from counterplan.search.orders import NO_ACTION
from counterplan.search.schedule import StepSchedule, schedule


def naive_schedule(problem: Problem, start: np.ndarray, actions: list[int]) -> list[tuple[float, float]]:
    """Start and duration of each step in the first of the shortest orders that keep dependent steps in order."""
    transitions = problem.transitions
    state, durations, functions = start[None], [], []
    for action in actions:
        function = transitions.functions[transitions.function_of[action]]
        argument = action - transitions.spans[transitions.functions.index(function)].start
        scale = 1.0
        for cause in transitions.causes:
            if cause.scale is not None and cause.target == function.target:
                scale *= float(cause.scale(state[:, cause.source])[0])
        taken = function.duration_surcharge[argument] + function.duration_base[argument] * scale
        durations.append(round(float(taken), 6))
        functions.append(transitions.functions.index(function))
        state = transitions.apply(state, np.array([action]))

    def dependent(i: int, j: int) -> bool:
        return not transitions.independent[functions[i], functions[j]]

    def conflict(i: int, j: int) -> bool:
        first, second = (transitions.functions[functions[place]] for place in (i, j))
        return not (first.overlaps and second.overlaps) or dependent(i, j)

    def starts(order: tuple[int, ...]) -> list[float]:
        """[T] each step starts at the end of the longest chain before it."""
        times: dict[int, float] = {}
        for place, j in enumerate(order):
            times[j] = max([times[i] + durations[i] for i in order[:place] if conflict(i, j)], default=0.0)
        return [times[j] for j in range(len(order))]

    steps = range(len(actions))
    orders = [
        order
        for order in permutations(steps)
        if all(order.index(i) < order.index(j) for i in steps for j in steps if i < j and dependent(i, j))
    ]
    longest = [max([one + durations[j] for j, one in enumerate(starts(order))], default=0.0) for order in orders]
    best = min(range(len(orders)), key=lambda nth: round(longest[nth], 6))
    return list(zip(starts(orders[best]), durations, strict=True))


@settings(max_examples=150)
@given(st.data())
def test_steps_start_as_the_shortest_order_permits(data: st.DataObject) -> None:
    problem = data.draw(worlds.timed_problems())
    states = problem.read(data.draw(worlds.people(problem))).states
    seed = data.draw(st.integers(0, 10**6))
    actions = worlds.random_plan_actions(problem, states, np.random.default_rng(seed)).actions
    actions = np.where(actions == problem.transitions.stop, NO_ACTION, actions)
    times = schedule(problem.transitions, states, actions)
    for row, plan in enumerate(actions.tolist()):
        steps = [action for action in plan if action != NO_ACTION]
        expected = naive_schedule(problem, states[row], steps)
        found = list(zip(times.start[row].tolist(), times.duration[row].tolist(), strict=True))[: len(steps)]
        np.testing.assert_allclose(np.array(found), np.array(expected), atol=1e-9)
        longest = max([start + duration for start, duration in expected], default=0.0)
        np.testing.assert_allclose(times.makespan[row], longest, atol=1e-9)


def problem_of(*functions: dict[str, object]) -> Problem:
    """Each function adds to a feature of its own and takes 3 months."""
    names = "abcdefghij"[: len(functions)]
    common = {"arguments": [1], "cost": 1, "duration": 3}
    return Problem.from_dict(
        {
            "counterplan": 1,
            "name": "some",
            "outcome": {"column": "loan", "values": ["no", "yes"], "favourable": "yes"},
            "max_actions": max(2, len(functions)),
            "time_unit": "months",
            "features": {name: {"kind": "number"} for name in names},
            "functions": {
                name.upper(): {"add": name} | common | more for name, more in zip(names, functions, strict=True)
            },
        }
    )


def times_of(problem: Problem, actions: list[int]) -> StepSchedule:
    return schedule(problem.transitions, np.zeros((1, len(problem.features))), np.array([actions]))


def test_steps_without_overlap_follow_each_other() -> None:
    assert times_of(problem_of({}, {}), [0, 1]).makespan == 3
    assert times_of(problem_of({}, {"overlaps": False}), [0, 1]).makespan == 6
    assert times_of(problem_of({}, {"when": "a == 1"}), [0, 1]).start.tolist() == [[0, 3]]


def test_a_step_without_overlap_waits_for_those_that_can_run_side_by_side() -> None:
    """The duration does not depend on the order in which the plan lists independent steps."""
    problem = problem_of({}, {"overlaps": False}, {})
    assert times_of(problem, [0, 1, 2]).start.tolist() == [[0, 3, 0]]
    for order in permutations(range(3)):
        assert times_of(problem, list(order)).makespan == 6
    needed = problem_of({}, {"overlaps": False}, {"when": "b == 1"})
    assert times_of(needed, [0, 1, 2]).start.tolist() == [[3, 0, 3]], "the first step can wait for the second"


def test_a_scale_of_nothing_makes_no_step_wait() -> None:
    """B scales the base cost of A; steps wait for each other only if there is something to scale."""
    file = problem_of({}, {}).to_dict() | {"causes": [{"from": "b", "to": "a", "scale": [{"below": 1, "scale": 0.5}]}]}
    for cost, duration, makespan in (
        ({"base": 0, "surcharge": 5}, 3, 3),
        ({"base": 1}, 3, 6),
        ({"base": 0, "surcharge": 5}, {"base": 3}, 6),
    ):
        changed = {"A": file["functions"]["A"] | {"cost": cost, "duration": duration}}
        problem = Problem.from_dict(file | {"functions": file["functions"] | changed})
        assert times_of(problem, [1, 0]).makespan == makespan


def test_long_plans_are_scheduled_in_their_own_order() -> None:
    problem = problem_of(*[{"overlaps": nth % 2 == 0} for nth in range(10)])
    assert times_of(problem, list(range(8)) + [NO_ACTION] * 2).makespan == 15
    assert times_of(problem, list(range(10))).makespan == 30
    alone = problem_of(*[{"overlaps": False}] * 8)
    assert times_of(alone, list(range(8))).makespan == 24
