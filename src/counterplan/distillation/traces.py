"""Traces of an agent, sampled from its policy."""

from __future__ import annotations

import numpy as np

from counterplan.agent import Agent
from counterplan.problem.transitions import Floats, Ints
from counterplan.search.orders import NO_ACTION


def sample_traces(agent: Agent, states: Floats, random: np.random.Generator) -> Ints:
    """A trace [B, T] for each of `states` [B, F], padded with NO_ACTION; empty where the agent does not stop in time.

    Function and argument are sampled at once, as their probabilities multiply.
    """
    transitions, longest = agent.problem.transitions, agent.problem.max_actions
    actions = np.full((len(states), longest), NO_ACTION, np.intp)
    memory, running = agent.start(len(states)), np.ones(len(states), bool)
    last = np.full(len(states), len(transitions.functions))
    for t in range(longest + 1):
        legal = transitions.legal(states) & transitions.in_order[last]
        if t == 0:
            legal[:, transitions.stop] = ~legal[:, :-1].any(axis=1)
        log_policy, _, memory = agent(states, memory, legal)
        cumulative = np.cumsum(np.exp(log_policy.astype(float)) * legal, axis=1)
        action = (cumulative < (random.random(len(states)) * cumulative[:, -1])[:, None]).sum(axis=1)
        running &= action != transitions.stop
        if t < longest:
            actions[running, t] = action[running]
        action = np.where(running, action, transitions.stop)
        last = transitions.function_of[action]
        states = transitions.apply(states, action)
    actions[running] = NO_ACTION
    return actions
