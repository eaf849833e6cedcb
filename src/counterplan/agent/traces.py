"""What the agent learns from: for each training person the cheapest successful plan seen, and trails that failed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from counterplan.agent.agent import Agent, Single
from counterplan.problem.transitions import Floats, Ints
from counterplan.search.orders import NO_ACTION, cheapest_orders, rollout


class TrainingBatch(NamedTuple):
    """Plans step by step, as the network sees them; S = max_actions + 1 steps, STOP included."""

    inputs: Single
    """[n, S, D]"""
    legal: Single
    """[n, S, A]"""
    policy: Single
    """[n, S, A] what to do: 1 for the action taken, or how often the search came by each."""
    to_go: Single
    """[n, S] the cost of what is left to do."""
    real: Single
    """[n, S] 1 for the steps of the plan, 0 beyond."""


def training_batch(
    agent: Agent, starts: Floats, actions: Ints, policy: Single | None = None, ordered: bool = True
) -> TrainingBatch:
    """What there is to learn from plans `actions` [n, T] (filled up with -1) that begin at `starts` [n, F].

    Without a `policy` [n, S, A], the actions themselves are to be imitated. `ordered` leaves out idle orders of
    independent functions from what is legal.
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
        if t == steps - 1:
            possible[:, :-1] = False
        inputs.append(agent.inputs(states))
        legal.append(possible)
        costs[:, t] = transitions.cost(states)[rows, chosen[:, t]]
        last = transitions.function_of[chosen[:, t]]
        states = transitions.apply(states, chosen[:, t])
    length = (actions != NO_ACTION).sum(axis=1)
    return TrainingBatch(
        np.stack(inputs, axis=1),
        np.stack(legal, axis=1).astype(np.float32),
        np.eye(len(transitions), dtype=np.float32)[chosen] if policy is None else policy,
        np.cumsum(costs[:, ::-1], axis=1)[:, ::-1].astype(np.float32),
        (np.arange(steps) <= length[:, None]).astype(np.float32),
    )


@dataclass
class Archive:
    """The cheapest successful plan of each of P training people, and the last trails that ended in a refusal."""

    agent: Agent
    starts: Floats
    cost: Floats
    """[P] infinite for people without a plan."""
    plans: Ints
    """[P, T]"""
    book: TrainingBatch
    refused_people: Ints
    refused_trails: Ints
    """[R] and [R, T]: whose, and by which actions; the oldest are overwritten."""
    refused: TrainingBatch
    ordered: bool = True
    """Whether plans are kept in their cheapest order, and searched for without idle orders."""
    written: int = 0

    @classmethod
    def empty(cls, agent: Agent, starts: Floats, memory: int, ordered: bool = True) -> Archive:
        """Nothing known yet; `memory` trails of refusals will be kept."""
        people, longest = len(starts), agent.problem.max_actions
        nothing = np.full((people, longest), NO_ACTION, np.intp)
        none = np.full((memory, longest), NO_ACTION, np.intp)
        return cls(
            agent, starts, np.full(people, np.inf), nothing, _blank(agent, people), np.zeros(memory, np.intp), none,
            _blank(agent, memory), ordered,
        )  # fmt: skip

    def add(self, people: Ints, actions: Ints, policy: Single | None = None) -> None:
        """Store plans `actions` [n, T] of `people` [n]; see `lessons` for `policy`."""
        if not len(people):
            return
        if self.ordered:
            actions = cheapest_orders(self.agent.problem.transitions, self.starts[people], actions)
        learned = training_batch(self.agent, self.starts[people], actions, policy, self.ordered)
        _, self.cost[people], _ = rollout(self.agent.problem.transitions, self.starts[people], actions)
        self.plans[people] = actions
        _write(self.book, people, learned)

    def add_refusals(self, people: Ints, trails: Ints) -> None:
        """Store trails [n, T] at whose end the black box refused."""
        people, trails = people[-len(self.refused_people) :], trails[-len(self.refused_people) :]
        if not len(people):
            return
        at = (self.written + np.arange(len(people))) % len(self.refused_people)
        self.refused_people[at], self.refused_trails[at] = people, trails
        _write(self.refused, at, training_batch(self.agent, self.starts[people], trails, ordered=self.ordered))
        self.written += len(people)

    def rebuild(self) -> None:
        """Fill the lessons again from plans and trails, after they were read from a file."""
        solved = np.flatnonzero(np.isfinite(self.cost))
        for part in np.array_split(solved, len(solved) // 512 + 1):
            policy = None if self.ordered else self.book.policy[part]
            _write(
                self.book, part, training_batch(self.agent, self.starts[part], self.plans[part], policy, self.ordered)
            )
        filled = np.arange(min(self.written, len(self.refused_people)))
        for part in np.array_split(filled, len(filled) // 512 + 1):
            starts = self.starts[self.refused_people[part]]
            learned = training_batch(self.agent, starts, self.refused_trails[part], ordered=self.ordered)
            _write(self.refused, part, learned)

    @property
    def solved(self) -> Ints:
        """The people with a plan."""
        return np.flatnonzero(np.isfinite(self.cost))

    def values(self, people: Ints, discount: float | None) -> Single:
        """What each step of the plans of `people` is worth [n, S]: exp(−cost to go / effort), or discount^T."""
        if discount is None:
            worth: Single = np.exp(-self.book.to_go[people] / self.effort)
            return worth
        length = self.book.real[people].sum(axis=1, keepdims=True) - 1
        return np.broadcast_to(discount**length, self.book.real[people].shape).astype(np.float32)

    @property
    def effort(self) -> float:
        """The mean cost of the plans."""
        return max(float(self.cost[self.solved].mean()), 1e-6)


def _blank(agent: Agent, count: int) -> TrainingBatch:
    steps, inputs = agent.problem.max_actions + 1, len(agent.encoding) + len(agent.mean)
    actions = len(agent.problem.transitions)
    return TrainingBatch(
        np.zeros((count, steps, inputs), np.float32),
        np.ones((count, steps, actions), np.float32),
        np.zeros((count, steps, actions), np.float32),
        np.zeros((count, steps), np.float32),
        np.zeros((count, steps), np.float32),
    )


def _write(into: TrainingBatch, at: Ints, learned: TrainingBatch) -> None:
    for name in TrainingBatch._fields:
        getattr(into, name)[at] = getattr(learned, name)
