"""An agent whose parts do not belong together cannot be constructed; every other one can predict."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import worlds
from altered import ALLOWED, altered
from counterplan import Problem, SettingError
from counterplan.agent import Agent, NetworkConfig
from counterplan.agent.agent import from_arrays, to_arrays


def untrained(problem: Problem, seed: int = 0) -> tuple[Agent, np.ndarray]:
    people = problem.read(worlds.random_people(problem, seed, 12))
    return Agent.new(problem, people, NetworkConfig(5, 4), np.random.default_rng(seed)), people.states


def predict(agent: Agent, states: np.ndarray) -> None:
    legal = agent.problem.transitions.legal(states)
    log_policy, value, memory = agent(states, agent.start(len(states)), legal)
    assert log_policy.shape == legal.shape
    assert value.shape == (len(states),)
    assert memory.cell.shape == (len(states), agent.config.controller)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("seed", [0, 5, 11])
def test_what_can_be_constructed_can_predict(seed: int) -> None:
    agent, states = untrained(Problem.from_dict(worlds.random_problem(seed)), seed)
    arrays, facts = to_arrays(agent)
    predict(from_arrays(agent.problem, arrays, facts), states)
    refused = accepted = 0
    for changed in altered(arrays, facts):
        try:
            built = from_arrays(agent.problem, *changed)
        except ALLOWED:
            refused += 1
        else:
            predict(built, states)
            accepted += 1
    assert refused > 10 * len(arrays)
    assert accepted


def test_parts_that_do_not_belong_together_are_refused() -> None:
    agent, _ = untrained(worlds.benchmark("syn"))
    params = agent.params
    for changes, message in (
        ({"config": NetworkConfig(5, 3)}, "shape"),
        ({"params": params | {"value.bias": params["value.bias"].astype(float)}}, "float32"),
        ({"params": params | {"more": params["value.bias"]}}, "needs the parameters"),
        ({"mean": agent.mean[:-1]}, "'mean' is an array of"),
        ({"scale": agent.scale * 0}, "positive"),
        ({"cost_scale": float("nan")}, "positive"),
        ({"encoding": replace(agent.encoding, cuts=agent.encoding.cuts[:-1])}, "cut points for"),
        ({"encoding": replace(agent.encoding, cuts=tuple(cuts[::-1] for cuts in agent.encoding.cuts))}, "increase"),
    ):
        with pytest.raises(ValueError, match=message):
            replace(agent, **changes)
    for size in (0, -1, 2.5, True, "8"):
        with pytest.raises(SettingError, match="number of units"):
            NetworkConfig(encoder=size)  # type: ignore[arg-type]
