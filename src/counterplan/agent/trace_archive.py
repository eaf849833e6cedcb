"""Training data of the agent: the cheapest successful plan found for each person, and recent refused ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from counterplan.agent.agent import Agent, Single
from counterplan.problem.transitions import Floats, Ints
from counterplan.search.orders import NO_ACTION, cheapest_orders, rollout

_CHUNK = 512


class TraceBatch(NamedTuple):
    """n plans step by step, as the network sees them; S = max_actions + 1 steps, STOP included."""

    inputs: Single
    """[n, S, D]"""
    legal: Single
    """[n, S, A]"""
    policy: Single
    """[n, S, A] target policy: 1 for the action taken, or the visit shares of the search."""
    cost_to_go: Single
    """[n, S] the cost of the remaining steps."""
    mask: Single
    """[n, S] 1 for the steps of the plan, 0 for padding."""

    @classmethod
    def empty(cls, agent: Agent, count: int) -> TraceBatch:
        """Space for `count` plans."""
        steps, inputs = agent.problem.max_actions + 1, agent.input_size
        actions = len(agent.problem.transitions)
        return cls(
            np.zeros((count, steps, inputs), np.float32),
            np.ones((count, steps, actions), np.float32),
            np.zeros((count, steps, actions), np.float32),
            np.zeros((count, steps), np.float32),
            np.zeros((count, steps), np.float32),
        )

    @classmethod
    def from_plans(
        cls,
        agent: Agent,
        starts: Floats,
        actions: Ints,
        policy: Single | None = None,
        *,
        ordered: bool = True,
        forced_stop: bool = True,
    ) -> TraceBatch:
        """Replay plans `actions` [n, T] (padded with NO_ACTION) from `starts` [n, F].

        Without a `policy` [n, S, A], the target policy is the actions themselves. With `ordered`, redundant orders of
        independent functions count as illegal; with `forced_stop`, everything but STOP after a plan of full length.
        """
        transitions = agent.problem.transitions
        steps = agent.problem.max_actions + 1
        count = len(starts)
        inputs, legal = [], []
        chosen = np.full((count, steps), transitions.stop, np.intp)
        chosen[:, :-1] = np.where(actions == NO_ACTION, transitions.stop, actions)
        costs = np.zeros((count, steps))
        states, last = starts, np.full(count, len(transitions.functions))
        rows = np.arange(count)
        for t in range(steps):
            possible = transitions.legal(states)
            if ordered:
                possible &= transitions.in_order[last]
            if forced_stop and t == steps - 1:
                possible[:, :-1] = False
            inputs.append(agent.inputs(states))
            legal.append(possible)
            costs[:, t] = transitions.cost(states)[rows, chosen[:, t]]
            last = transitions.function_of[chosen[:, t]]
            states = transitions.apply(states, chosen[:, t])
        length = (actions != NO_ACTION).sum(axis=1)
        return cls(
            np.stack(inputs, axis=1),
            np.stack(legal, axis=1).astype(np.float32),
            np.eye(len(transitions), dtype=np.float32)[chosen] if policy is None else policy,
            np.cumsum(costs[:, ::-1], axis=1)[:, ::-1].astype(np.float32),
            (np.arange(steps) <= length[:, None]).astype(np.float32),
        )

    def write(self, rows: Ints, batch: TraceBatch) -> None:
        """Overwrite `rows` [k] with another batch of k plans."""
        for array, new in zip(self, batch, strict=True):
            array[rows] = new


@dataclass
class TraceArchive:
    """The cheapest successful plan of each of P training people, and the last R plans that ended in a refusal."""

    agent: Agent
    starts: Floats
    """[P, F]"""
    cost: Floats
    """[P] infinite for people without a plan."""
    plans: Ints
    """[P, T]"""
    traces: TraceBatch
    """Of the P people."""
    refused_people: Ints
    """[R]"""
    refused_plans: Ints
    """[R, T] a ring buffer: the oldest are overwritten."""
    refusals: TraceBatch
    """Of the R refused plans."""
    ordered: bool = True
    """Whether plans are stored in their cheapest order, and searched for without redundant orders."""
    forced_stop: bool = True
    """Whether STOP is the only action after a plan of full length."""
    refusals_written: int = 0

    @classmethod
    def empty(
        cls, agent: Agent, starts: Floats, max_refusals: int, *, ordered: bool = True, forced_stop: bool = True
    ) -> TraceArchive:
        """An archive for people in `starts` [P, F] with room for `max_refusals` refused plans."""
        people, longest = len(starts), agent.problem.max_actions
        return cls(
            agent,
            starts,
            cost=np.full(people, np.inf),
            plans=np.full((people, longest), NO_ACTION, np.intp),
            traces=TraceBatch.empty(agent, people),
            refused_people=np.zeros(max_refusals, np.intp),
            refused_plans=np.full((max_refusals, longest), NO_ACTION, np.intp),
            refusals=TraceBatch.empty(agent, max_refusals),
            ordered=ordered,
            forced_stop=forced_stop,
        )

    def _replayed(self, people: Ints, actions: Ints, policy: Single | None = None) -> TraceBatch:
        """Traces of plans `actions` [n, T] of `people` [n]."""
        return TraceBatch.from_plans(
            self.agent, self.starts[people], actions, policy, ordered=self.ordered, forced_stop=self.forced_stop
        )

    def add(self, people: Ints, actions: Ints, policy: Single | None = None) -> None:
        """Store successful plans `actions` [n, T] of `people` [n]; see `TraceBatch.from_plans` for `policy`."""
        if not len(people):
            return
        if self.ordered:
            actions = cheapest_orders(self.agent.problem.transitions, self.starts[people], actions)
        batch = self._replayed(people, actions, policy)
        _, self.cost[people], _ = rollout(self.agent.problem.transitions, self.starts[people], actions)
        self.plans[people] = actions
        self.traces.write(people, batch)

    def add_refusals(self, people: Ints, actions: Ints) -> None:
        """Store plans `actions` [n, T] whose final states the black box refused."""
        people, actions = people[-len(self.refused_people) :], actions[-len(self.refused_people) :]
        if not len(people):
            return
        slots = (self.refusals_written + np.arange(len(people))) % len(self.refused_people)
        self.refused_people[slots], self.refused_plans[slots] = people, actions
        self.refusals.write(slots, self._replayed(people, actions))
        self.refusals_written += len(people)

    def rebuild(self) -> None:
        """Recompute `traces` and `refusals` from the plans, after these were loaded."""
        for rows in np.array_split(self.solved, len(self.solved) // _CHUNK + 1):
            policy = None if self.ordered else self.traces.policy[rows]
            self.traces.write(rows, self._replayed(rows, self.plans[rows], policy))
        filled = np.arange(min(self.refusals_written, len(self.refused_people)))
        for rows in np.array_split(filled, len(filled) // _CHUNK + 1):
            self.refusals.write(rows, self._replayed(self.refused_people[rows], self.refused_plans[rows]))

    @property
    def solved(self) -> Ints:
        """The people with a plan."""
        return np.flatnonzero(np.isfinite(self.cost))

    def values(self, people: Ints, discount: float | None) -> Single:
        """Target value [n, S] of each step of the plans of `people`: exp(−cost to go / cost scale), or discount^T."""
        if discount is None:
            values: Single = np.exp(-self.traces.cost_to_go[people] / self.cost_scale)
            return values
        length = self.traces.mask[people].sum(axis=1, keepdims=True) - 1
        return np.broadcast_to(discount**length, self.traces.mask[people].shape).astype(np.float32)

    @property
    def cost_scale(self) -> float:
        """The mean cost of the plans."""
        return max(float(self.cost[self.solved].mean()), 1e-6)
