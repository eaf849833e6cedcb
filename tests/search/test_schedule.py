"""When the steps of plans start and end."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import worlds
from counterplan import Problem
from counterplan.search.orders import NO_ACTION
from counterplan.search.schedule import schedule


def naive_schedule(problem: Problem, start: np.ndarray, actions: list[int]) -> list[tuple[float, float]]:
    """Start and duration of each step: the longest path over the steps before it that it conflicts with."""
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

    def conflict(i: int, j: int) -> bool:
        first, second = (transitions.functions[functions[place]] for place in (i, j))
        overlap = first.overlaps and second.overlaps
        return not (overlap and transitions.independent[functions[i], functions[j]])

    def longest(j: int) -> float:
        """The longest chain of steps that ends where step j starts."""
        return max([longest(i) + durations[i] for i in range(j) if conflict(i, j)], default=0.0)

    return [(longest(j), durations[j]) for j in range(len(actions))]


@settings(max_examples=150)
@given(st.data())
def test_a_step_starts_at_the_end_of_the_longest_chain_before_it(data: st.DataObject) -> None:
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


def test_steps_without_overlap_follow_each_other() -> None:
    def problem(**more: object) -> Problem:
        function = {"arguments": [1], "cost": 1, "duration": 3}
        return Problem.from_dict(
            {
                "counterplan": 1,
                "name": "two",
                "outcome": {"column": "loan", "values": ["no", "yes"], "favourable": "yes"},
                "max_actions": 2,
                "features": {"a": {"kind": "number"}, "b": {"kind": "number"}},
                "functions": {"A": {"add": "a"} | function, "B": {"add": "b"} | function | more},
            }
        )

    states, plan = np.zeros((1, 2)), np.array([[0, 1]])
    assert schedule(problem().transitions, states, plan).makespan == 3
    assert schedule(problem(overlaps=False).transitions, states, plan).makespan == 6
    assert schedule(problem(when="a == 1").transitions, states, plan).start.tolist() == [[0, 3]]
