"""Roll out an agent's policy: one action after another from given states, without search and without queries."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from counterplan.agent.agent import Agent, Single
from counterplan.agent.forest import ForestSettings
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.search.orders import NO_ACTION

Choose = Callable[[Single, Bools], Ints]
"""Selects an action [B] from the policy's log probabilities [B, A] and the mask of legal actions [B, A]."""


class Rollout(NamedTuple):
    """Plans of B people, rolled out in parallel."""

    actions: Ints
    """[B, T] padded with NO_ACTION."""
    stopped: Bools
    """[B] whether the agent chose STOP within the given number of decisions."""


def rollout(
    agent: Agent,
    states: Floats,
    allowed: Bools,
    choose: Choose,
    *,
    decisions: int | None = None,
    act_first: bool = False,
    ordered: bool = True,
) -> Rollout:
    """Follow the agent's policy until it chooses STOP.

    Parameters
    ----------
    agent : Agent
        The policy.
    states : ndarray of shape (B, F)
        Initial states.
    allowed : ndarray of shape (B, A) or (A,)
        Mask of the actions that may be used; illegal ones are masked out in addition.
    choose : callable
        Selects one action per person, see `greedy` and `sampling`. It is called once per decision with all B rows, also
        for people who have stopped, so that the number of random draws does not depend on who has.
    decisions : int, optional
        How often the policy is queried; the problem's `max_actions` by default. With ``max_actions + 1`` the policy
        itself has to choose STOP after a plan of full length, and `stopped` tells who did.
    act_first : bool, default=False
        Whether STOP is masked out as first action of people who have another one.
    ordered : bool, default=True
        Whether redundant orders of independent functions are masked out, as in a bounded tree search.

    Returns
    -------
    Rollout
        The chosen actions, without STOP, and who stopped.
    """
    transitions, longest = agent.problem.transitions, agent.problem.max_actions
    actions = np.full((len(states), longest), NO_ACTION, np.intp)
    memory, active = agent.start(len(states)), np.ones(len(states), bool)
    last = np.full(len(states), len(transitions.functions))
    for t in range(longest if decisions is None else decisions):
        legal = transitions.legal(states) & allowed
        if ordered:
            legal &= transitions.in_order[last]
        if act_first and t == 0:
            legal[:, transitions.stop] = ~legal[:, :-1].any(axis=1)
        log_policy, _, memory = agent(states, memory, legal)
        action = choose(log_policy, legal)
        active &= action != transitions.stop
        if t < longest:
            actions[active, t] = action[active]
        action = np.where(active, action, transitions.stop)
        last = transitions.function_of[action]
        states = transitions.apply(states, action)
    return Rollout(actions, ~active)


def policy_plans(
    agent: Agent, states: Floats, allowed: Bools, choose: Choose, tree: ForestSettings, *, act_first: bool = False
) -> Ints:
    """Plans [B, T] of the policy by the rules of a tree search: its orders of actions, and whether STOP is forced.

    Parameters are those of `rollout`. Without `tree.forced_stop`, people whose plan reaches the maximum length without
    STOP get none.
    """
    decisions = agent.problem.max_actions + (not tree.forced_stop)
    made = rollout(agent, states, allowed, choose, decisions=decisions, act_first=act_first, ordered=tree.bounded)
    if tree.forced_stop:
        return made.actions
    return np.where(made.stopped[:, None], made.actions, NO_ACTION)


def greedy(agent: Agent) -> Choose:
    """Select the most probable function, then its most probable argument."""
    function_of, membership = agent.problem.transitions.function_of, agent.membership

    def choose(log_policy: Single, legal: Bools) -> Ints:
        probability = np.exp(log_policy) * legal
        function = (probability @ membership).argmax(axis=1)
        actions: Ints = np.where(function_of == function[:, None], probability, -1.0).argmax(axis=1)
        return actions

    return choose


def sampling(random: np.random.Generator) -> Choose:
    """Sample actions, function and argument at once, in proportion to their probabilities."""

    def choose(log_policy: Single, legal: Bools) -> Ints:
        cumulative = np.cumsum(np.exp(log_policy.astype(float)) * legal, axis=1)
        actions: Ints = (cumulative < (random.random(len(legal)) * cumulative[:, -1])[:, None]).sum(axis=1)
        return actions

    return choose
