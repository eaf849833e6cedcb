"""The network: numpy and JAX agree, and policies are probabilities over what is legal."""

from __future__ import annotations

import numpy as np
import pytest

import worlds
from counterplan import SettingError, TrainingSettings
from counterplan.agent.agent import Agent, from_arrays, to_arrays
from counterplan.agent.network import Memory, NetworkConfig, forward, initial_params, log_policies

jnp = pytest.importorskip("jax.numpy")


@pytest.mark.parametrize("seed", range(5))
def test_numpy_and_jax_agree(seed: int) -> None:
    random = np.random.default_rng(seed)
    params = initial_params(17, 4, 11, NetworkConfig(24, 16), random)
    params = {name: value + random.normal(size=value.shape).astype(np.float32) for name, value in params.items()}
    membership = np.eye(4, dtype=np.float32)[np.sort(np.append(random.integers(0, 4, 7), range(4)))]
    x = random.normal(size=(50, 17)).astype(np.float32)
    memory = Memory(*random.normal(size=(2, 50, 16)).astype(np.float32))
    legal = (random.random((50, 11)) < 0.6).astype(np.float32)
    legal[:, -1] = 1
    results = []
    for xp in (np, jnp):
        heads, after = forward(xp, params, x, memory)
        functions, arguments = log_policies(xp, heads, legal, membership)
        results.append([*heads, *after, np.exp(functions), np.exp(arguments)])
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, np.asarray(theirs), atol=1e-4)
    functions, arguments = results[0][-2:]
    np.testing.assert_allclose(functions.sum(axis=1), 1, atol=1e-5)
    possible = legal @ membership > 0
    assert (functions[~possible] < 1e-12).all()
    assert (arguments[legal == 0] < 1e-12).all()
    np.testing.assert_allclose((arguments @ membership)[possible], 1, atol=1e-5)


def test_an_agent_sees_bits_and_numbers() -> None:
    problem = worlds.benchmark("syn")
    people = problem.read(worlds.random_people(problem, 1, 40))
    agent = Agent.new(problem, people, NetworkConfig(8, 8), np.random.default_rng(0))
    inputs = agent.inputs(people.states)
    assert inputs.shape == (40, 40 + 3)
    assert inputs.dtype == np.float32
    np.testing.assert_allclose(inputs[:, 40:].mean(axis=0), 0, atol=1e-4)
    legal = problem.transitions.legal(people.states)
    log_policy, value, memory = agent(people.states, agent.start(40), legal)
    np.testing.assert_allclose((np.exp(log_policy) * legal).sum(axis=1), 1, atol=1e-4)
    assert ((value > 0) & (value < 1)).all()
    assert memory.hidden.shape == (40, 8)
    other, _, _ = agent(people.states, memory, legal)
    assert np.abs(other - log_policy)[legal].max() > 1e-4, "the controller remembers"


def test_the_papers_agent_sees_bits_only() -> None:
    problem = worlds.benchmark("syn")
    people = problem.read(worlds.random_people(problem, 1, 40))
    config = TrainingSettings.preset("paper").network
    agent = Agent.new(problem, people, config, np.random.default_rng(0))
    np.testing.assert_array_equal(agent.inputs(people.states), agent.encoding(people.states))
    assert agent.inputs(people.states).dtype == np.float32
    moved = people.states.copy()
    moved[:, 3] = np.where(moved[:, 3] == 75_000, 85_000, 75_000)  # both are between 70,000 and 100,000
    again = moved.copy()
    again[:, 3] = 90_000
    np.testing.assert_array_equal(agent.inputs(moved), agent.inputs(again))
    arrays, facts = to_arrays(agent)
    assert from_arrays(problem, arrays, facts).config == config
    for wrong in ("papr", 1, None, ["paper"]):
        with pytest.raises((SettingError, TypeError)):
            from_arrays(problem, arrays, facts | {"preset": wrong})
    with pytest.raises(ValueError, match="encode1"):
        from_arrays(problem, arrays, facts | {"network": {"encoder": 64, "controller": 64}})


def test_agents_of_earlier_versions_load() -> None:
    problem = worlds.benchmark("syn")
    people = problem.read(worlds.random_people(problem, 1, 40))
    agent = Agent.new(problem, people, NetworkConfig(8, 8), np.random.default_rng(0))
    arrays, facts = to_arrays(agent)
    assert facts["network"] == {"encoder": 8, "controller": 8}, "nothing that earlier files do not have"
    loaded = from_arrays(problem, arrays, facts)
    np.testing.assert_array_equal(loaded.inputs(people.states), agent.inputs(people.states))
    with pytest.raises(SettingError, match="'numbers' is True or False"):
        NetworkConfig(numbers=1)  # type: ignore[arg-type]


def test_missing_numbers_are_no_obstacle() -> None:
    for seed in range(30):
        problem = worlds.Problem.from_dict(worlds.random_problem(seed))
        people = problem.read(worlds.random_people(problem, seed, 10))
        agent = Agent.new(problem, people, NetworkConfig(4, 4), np.random.default_rng(0))
        assert np.isfinite(agent.inputs(people.states)).all()
