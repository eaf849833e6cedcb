"""Rollouts of an agent agree with a step-by-step reference on random problems."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import worlds
from counterplan.agent import Agent, NetworkConfig, SearchSettings
from counterplan.agent.forest import ForestSettings
from counterplan.agent.network import Memory
from counterplan.agent.rollout import greedy, policy_plans, rollout, sampling
from counterplan.problem import Problem
from counterplan.search.orders import NO_ACTION

SEEDS = range(40)


def untrained(seed: int, people: int = 12) -> tuple[Agent, np.ndarray]:
    """An agent with random weights, large enough that its policy is not uniform, and states."""
    problem = Problem.from_dict(worlds.random_problem(seed))
    read = problem.read(worlds.random_people(problem, seed, people))
    agent = Agent.new(problem, read, NetworkConfig(6, 5), np.random.default_rng(seed))
    return agent.with_params({name: 3 * value for name, value in agent.params.items()}), read.states


def reference(
    agent: Agent,
    state: np.ndarray,
    allowed: np.ndarray,
    pick: Callable[..., int],
    decisions: int,
    *,
    act_first: bool,
    ordered: bool = True,
) -> tuple[list[int], bool]:
    """The plan of one person, decision by decision."""
    transitions, plan = agent.problem.transitions, []
    memory, last = agent.start(1), len(transitions.functions)
    for t in range(decisions):
        legal = transitions.legal(state[None])[0] & allowed
        if ordered:
            legal &= transitions.in_order[last]
        if act_first and t == 0 and legal[:-1].any():
            legal[-1] = False
        log_policy, _, memory = agent(state[None], Memory(*memory), legal[None])
        action = pick(np.exp(log_policy[0]) * legal, t)
        if action == transitions.stop:
            return plan, True
        plan.append(action)
        last = transitions.function_of[action]
        state = transitions.apply(state[None], np.array([action]))[0]
    return plan, False


@pytest.mark.parametrize("seed", SEEDS)
def test_greedy(seed: int) -> None:
    agent, states = untrained(seed)
    transitions, longest = agent.problem.transitions, agent.problem.max_actions
    allowed = np.random.default_rng(seed).random((len(states), len(transitions))) < 0.8
    allowed[:, transitions.stop] = True

    def pick(probability: np.ndarray, t: int) -> int:
        spans = [*transitions.spans, slice(transitions.stop, None)]
        span = spans[int(np.argmax([probability[span].sum() for span in spans]))]
        return int(span.start + probability[span].argmax())

    result = rollout(agent, states, allowed, greedy(agent))
    for row, (state, may) in enumerate(zip(states, allowed, strict=True)):
        plan, stopped = reference(agent, state, may, pick, longest, act_first=False)
        assert result.actions[row].tolist() == plan + [NO_ACTION] * (longest - len(plan))
        assert result.stopped[row] == stopped


@pytest.mark.parametrize("seed", SEEDS)
def test_sampling(seed: int) -> None:
    agent, states = untrained(seed)
    longest = agent.problem.max_actions
    draws = np.random.default_rng(seed).random((longest + 1, len(states)))
    everything = np.ones(len(agent.problem.transitions), bool)
    choose = sampling(np.random.default_rng(seed))
    result = rollout(agent, states, everything, choose, decisions=longest + 1, act_first=True)
    for row, state in enumerate(states):

        def pick(probability: np.ndarray, t: int, row: int = row) -> int:
            cumulative = np.cumsum(probability.astype(float))
            return int(np.searchsorted(cumulative, draws[t, row] * cumulative[-1]))

        plan, stopped = reference(agent, state, everything, pick, longest + 1, act_first=True)
        assert result.stopped[row] == stopped
        assert result.actions[row].tolist() == (plan + [NO_ACTION] * longest)[:longest]


def test_sampled_frequencies_follow_the_policy() -> None:
    agent, states = untrained(3)
    crowd = np.repeat(states[:1], 20_000, axis=0)
    everything = np.ones(len(agent.problem.transitions), bool)
    first = rollout(agent, crowd, everything, sampling(np.random.default_rng(0)), decisions=1).actions[:, 0]
    legal = agent.problem.transitions.legal(states[:1])
    log_policy, _, _ = agent(states[:1], agent.start(1), legal)
    shares = np.bincount(np.where(first == NO_ACTION, legal.shape[1] - 1, first), minlength=legal.shape[1]) / len(crowd)
    np.testing.assert_allclose(shares, (np.exp(log_policy) * legal)[0], atol=0.015)


def test_plans_by_the_rules_of_the_papers_search() -> None:
    """Any order of actions; people whose plan does not end with STOP get none."""
    paper, unordered, unfinished = SearchSettings.preset("paper").tree, 0, 0
    for seed in SEEDS:
        agent, states = untrained(seed)
        longest, everything = agent.problem.max_actions, np.ones(len(agent.problem.transitions), bool)
        draws = np.random.default_rng(seed).random((longest + 1, len(states)))
        plans = policy_plans(agent, states, everything, sampling(np.random.default_rng(seed)), paper)
        bounded = policy_plans(agent, states, everything, sampling(np.random.default_rng(seed)), ForestSettings())
        default = rollout(agent, states, everything, sampling(np.random.default_rng(seed)))
        np.testing.assert_array_equal(bounded, default.actions)
        unordered += int((plans != bounded).any(axis=1).sum())
        for row, state in enumerate(states):

            def pick(probability: np.ndarray, t: int, row: int = row, draws: np.ndarray = draws) -> int:
                cumulative = np.cumsum(probability.astype(float))
                return int(np.searchsorted(cumulative, draws[t, row] * cumulative[-1]))

            plan, stopped = reference(agent, state, everything, pick, longest + 1, act_first=False, ordered=False)
            unfinished += not stopped
            wanted = plan if stopped else []
            assert plans[row].tolist() == wanted + [NO_ACTION] * (longest - len(wanted))
    assert unordered, "the rules make no difference"
    assert unfinished
