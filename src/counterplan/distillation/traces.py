"""Traces of an agent, sampled from its policy."""

from __future__ import annotations

import numpy as np

from counterplan.agent import Agent
from counterplan.agent.rollout import rollout, sampling
from counterplan.problem.transitions import Floats, Ints
from counterplan.search.orders import NO_ACTION


def sample_traces(agent: Agent, states: Floats, random: np.random.Generator) -> Ints:
    """A trace [B, T] for each of `states` [B, F], padded with NO_ACTION; empty where the agent does not stop in time.

    Function and argument are sampled at once, as their probabilities multiply.
    """
    everything = np.ones(len(agent.problem.transitions), bool)
    decisions = agent.problem.max_actions + 1
    traces = rollout(agent, states, everything, sampling(random), decisions=decisions, act_first=True)
    return np.where(traces.stopped[:, None], traces.actions, NO_ACTION)
