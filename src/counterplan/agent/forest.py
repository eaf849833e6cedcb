"""Monte Carlo tree search for many people at once: one tree each, grown in step, held in arrays.

A simulation walks every tree from its root to a new leaf or to STOP, all people side by side. New leaves are judged by
the agent in one call, new STOPs by the black box in one call — at once, or later, when the most promising of them are
chosen. B people, N nodes, A actions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from counterplan.agent.agent import Agent, Single
from counterplan.agent.network import Memory
from counterplan.problem.transitions import Bools, Floats, Ints

Ask = Callable[[Floats, Ints], Bools]
"""(states [n, F], people [n]) -> whether they are favourable."""
NONE = -1
_HAIR = 1e-7
"""Costs that differ by less are the same."""


@dataclass(frozen=True)
class TreeSettings:
    """How a tree is grown."""

    exploration: float = 1.0
    """Weight of U: how far the agent's policy is trusted against what the tree has seen."""
    temperature: float = 3.0
    """The policy is flattened by this before search."""
    thrift: float = 0.0
    """Weight of L = exp(−(cost + count)), which draws the search to cheap and unused functions."""
    stop_cost: float = 0.0
    """What STOP costs in L."""
    discount: float | None = None
    """If set, a success is worth discount^T after T actions, as in the paper; otherwise exp(−cost / effort)."""
    bounded: bool = True
    """Whether to leave out what costs as much as the best plan known, answered STOPs, and idle orders of actions."""
    defer: bool = False
    """Whether STOPs wait for `Forest.question` instead of being asked when they are met."""
    stop_floor: float = 0.0
    """STOP is not tried where the agent finds it less likely than this."""
    noise: float = 0.0
    """Share of random noise in the policy at the root, for training."""
    noise_shape: float = 0.3


class Forest:
    """A search tree for each of B people, who may take the actions `allowed` [B, A]."""

    def __init__(
        self,
        agent: Agent,
        states: Floats,
        allowed: Bools,
        nodes: int,
        settings: TreeSettings,
        *,
        best: Floats | None = None,
        random: np.random.Generator | None = None,
    ) -> None:
        self.agent = agent
        self.transitions = agent.problem.transitions
        self.settings = settings
        self.longest = agent.problem.max_actions
        people, shape = len(states), (len(states), nodes, len(self.transitions))
        self.allowed = allowed
        self.state = np.zeros((people, nodes, states.shape[1]))
        self.hidden = np.zeros((people, nodes, agent.config.controller), np.float32)
        self.cell = np.zeros_like(self.hidden)
        self.cost = np.zeros((people, nodes))
        self.depth = np.zeros((people, nodes), np.intp)
        self.parent = np.zeros((people, nodes), np.intp)
        self.by = np.full((people, nodes), NONE, np.intp)
        self.likely = np.zeros((people, nodes), np.float32)
        """[B, N] how sure the agent is that here is the place to stop."""
        self.waiting = np.zeros((people, nodes), bool)
        self.prior = np.zeros(shape, np.float32)
        self.price = np.zeros(shape)
        self.legal = np.zeros(shape, bool)
        self.open = np.zeros(shape, bool)
        self.child = np.full(shape, NONE, np.int32)
        self.visits = np.zeros(shape, np.float32)
        self.total = np.zeros(shape, np.float32)
        self.size = np.zeros(people, np.intp)
        self.root = np.zeros(people, np.intp)
        self.exhausted = np.zeros(people, bool)
        self.best = np.full(people, np.inf) if best is None else best.copy()
        """[B] the cost of the cheapest success known; only cheaper ones are looked for."""
        self.best_node = np.full(people, NONE, np.intp)
        self.refusals: list[tuple[Ints, Ints]] = []
        """(people, nodes) whose STOP was refused."""
        self._grow(np.arange(people), states, agent.start(people), None, np.full(people, NONE))
        self.open[:, 0, self.transitions.stop] = False  # everybody here is refused as they are
        if settings.noise and random is not None:
            self.add_noise(random, np.arange(people))

    def simulate(self, people: Ints, ask: Ask | None = None) -> None:
        """Walk the trees of `people` once, grow each by a leaf or come to one STOP, and tell the way back."""
        people = people[~self.exhausted[people]]
        count = len(people)
        ways = np.full((self.longest + 1, count), NONE, np.intp)
        acts = np.zeros((self.longest + 1, count), np.intp)
        lost = np.zeros(count, bool)
        walking, node = np.arange(count), self.root[people]
        end, last = node.copy(), np.zeros(count, np.intp)
        for t in range(self.longest + 1):
            who = people[walking]
            action, dead = self._choose(who, node)
            if dead.any():
                self._close(who[dead], node[dead])
                lost[walking[dead]] = True
                walking, node, action = walking[~dead], node[~dead], action[~dead]
                who = people[walking]
            ways[t, walking], acts[t, walking] = node, action
            end[walking], last[walking] = node, action
            child = self.child[who, node, action]  # STOP never has one
            walking, node = walking[child != NONE], child[child != NONE].astype(np.intp)
            if not len(walking):
                break
        value = np.zeros(count)
        stopped = np.flatnonzero((last == self.transitions.stop) & ~lost)
        if len(stopped):
            value[stopped] = self._arrive(people[stopped], end[stopped], ask)
        leaf = np.flatnonzero((last != self.transitions.stop) & ~lost)
        if len(leaf):
            value[leaf] = self._expand(people[leaf], end[leaf], last[leaf])
        for t in range(self.longest + 1):
            on = np.flatnonzero((ways[t] != NONE) & ~lost)
            if not len(on):
                break
            where = (people[on], ways[t, on], acts[t, on])
            self.visits[where] += 1
            self.total[where] += value[on]

    def question(self, ask: Ask, price: float, room: Ints) -> Ints:
        """Ask about each person's most promising waiting STOP: the one with the largest chance × saving.

        Once somebody has a plan, a saving of less than `price` of its cost is not worth a question. `room` [B] is how
        many questions each person has left. Gives the people asked about.
        """
        chance = np.where(self.waiting & (self.cost < self.best[:, None] - _HAIR), self.likely, 0.0)
        people = np.arange(len(chance))
        solved = np.isfinite(self.best)
        surest = self.cost[people, chance.argmax(axis=1)]
        probable = np.where(chance >= 0.5, self.cost, np.inf).min(axis=1)
        reference = np.where(solved, self.best, 2 * np.minimum(probable, surest) + _HAIR)
        saving = np.maximum(reference[:, None] - self.cost, 1e-3 * reference[:, None])
        gain = chance * np.where(np.isfinite(saving), saving, 0.0)
        node = gain.argmax(axis=1)
        worth = gain[people, node] > np.where(solved, price * np.where(solved, self.best, 0.0), 0.0)
        chosen = np.flatnonzero(worth & (room > 0))
        if len(chosen):
            self.waiting[chosen, node[chosen]] = False
            self._answer(chosen, node[chosen], ask)
        return chosen

    def _choose(self, people: Ints, node: Ints) -> tuple[Ints, Bools]:
        """The action [n] with the largest Q + U + L at each node, and which nodes have none left."""
        visits = self.visits[people, node]
        score = self.total[people, node] / np.maximum(visits, 1)
        curiosity = self.settings.exploration * np.sqrt(visits.sum(axis=1, keepdims=True) + 1)
        score += curiosity * self.prior[people, node] / (1 + visits)
        if self.settings.thrift:
            score += self.settings.thrift * self._thrift(people, node)
        valid = self.open[people, node]
        if self.settings.bounded:
            room = self.best[people] - self.cost[people, node] - _HAIR
            valid &= self.price[people, node] < room[:, None]
        score[~valid] = -np.inf
        return score.argmax(axis=1), np.logical_not(valid.any(axis=1))

    def _thrift(self, people: Ints, node: Ints) -> Single:
        """L [n, A] = exp(−(cost + count)), count: how often the function was already called on the way here."""
        functions = self.transitions.function_of
        count = np.zeros((len(people), len(self.transitions.functions) + 1), np.float32)
        at = node.copy()
        for _ in range(self.longest):
            action = self.by[people, at]
            used = np.flatnonzero(action != NONE)
            count[used, functions[action[used]]] += 1
            at[used] = self.parent[people[used], at[used]]
        price = self.price[people, node].copy()
        price[:, self.transitions.stop] = self.settings.stop_cost
        return np.exp(-(price + count[:, functions])).astype(np.float32)

    def _close(self, people: Ints, node: Ints) -> None:
        """A node with nothing left to try is not entered again; a root with nothing left is the end."""
        at_root = node == self.root[people]
        self.exhausted[people[at_root]] = True
        who, at = people[~at_root], node[~at_root]
        self.open[who, self.parent[who, at], self.by[who, at]] = False

    def _expand(self, people: Ints, node: Ints, action: Ints) -> Floats:
        """Grow a leaf by `action` after `node`; its value [n] as the agent sees it."""
        states = self.transitions.apply(self.state[people, node], action)
        memory = Memory(self.hidden[people, node], self.cell[people, node])
        return self._grow(people, states, memory, node, action)

    def _grow(self, people: Ints, states: Floats, memory: Memory, parent: Ints | None, action: Ints) -> Floats:
        new = self.size[people]
        here = (people, new)
        legal = self.transitions.legal(states) & self.allowed[people]
        if parent is not None:
            self.cost[here] = self.cost[people, parent] + self.price[people, parent, action]
            self.depth[here] = self.depth[people, parent] + 1
            self.parent[here], self.by[here] = parent, action
            self.child[people, parent, action] = new
            legal[self.depth[here] >= self.longest, :-1] = False
            if self.settings.bounded:
                legal &= self.transitions.in_order[self.transitions.function_of[action]]
        log_prior, value, memory = self.agent(states, memory, legal)
        prior = np.exp((log_prior - log_prior.max(axis=1, keepdims=True)) / self.settings.temperature) * legal
        self.prior[here] = prior / prior.sum(axis=1, keepdims=True)
        self.likely[here] = np.exp(log_prior[:, self.transitions.stop])
        self.price[here] = self.transitions.cost(states)
        self.legal[here] = self.open[here] = legal
        if self.settings.stop_floor:
            self.open[people, new, self.transitions.stop] &= self.likely[here] >= self.settings.stop_floor
        self.state[here] = states
        self.hidden[here], self.cell[here] = memory
        self.size[people] += 1
        return self._worth(people, new, value)

    def _worth(self, people: Ints, node: Ints, value: npt.NDArray[np.floating] | float) -> Floats:
        """What a node is worth, if from there on it is worth `value`."""
        if self.settings.discount is not None:
            return np.asarray(value, float) * np.ones(len(people))
        return np.asarray(np.exp(-self.cost[people, node] / self.agent.cost_scale) * value, float)

    def _arrive(self, people: Ints, node: Ints, ask: Ask | None) -> Floats:
        """What STOP at `node` is worth: asked now, or guessed and left waiting."""
        if self.settings.bounded or self.settings.defer:
            self.open[people, node, self.transitions.stop] = False
        if self.settings.defer or ask is None:
            self.waiting[people, node] = True
            return self._worth(people, node, self.likely[people, node])
        favourable = self._answer(people, node, ask)
        if self.settings.discount is not None:
            return np.where(favourable, self.settings.discount ** self.depth[people, node], 0.0)
        return np.where(favourable, self._worth(people, node, 1.0), 0.0)

    def _answer(self, people: Ints, node: Ints, ask: Ask) -> Bools:
        favourable = ask(self.state[people, node], people)
        better = favourable & (self.cost[people, node] < self.best[people] - _HAIR)
        self.best[people[better]] = self.cost[people[better], node[better]]
        self.best_node[people[better]] = node[better]
        self.refusals.append((people[~favourable], node[~favourable]))
        return favourable

    def add_noise(self, random: np.random.Generator, people: Ints) -> None:
        """Mix noise into the policy at the roots of `people`, so that training tries what the agent would not."""
        here = (people, self.root[people])
        open_ = self.open[here]
        noise = random.gamma(self.settings.noise_shape, size=open_.shape) * open_ + 1e-12
        noise /= noise.sum(axis=1, keepdims=True)
        share = self.settings.noise
        self.prior[here] = ((1 - share) * self.prior[here] + share * noise) * open_

    def trails(self, people: Ints, node: Ints) -> Ints:
        """The actions [n, T] from the first node of each of `people` to `node`, filled up with -1."""
        actions = np.full((len(people), self.longest), NONE, np.intp)
        at, depth = node.copy(), self.depth[people, node]
        for _ in range(self.longest):
            live = np.flatnonzero(depth > 0)
            actions[live, depth[live] - 1] = self.by[people[live], at[live]]
            at[live] = self.parent[people[live], at[live]]
            depth = depth - 1
        return actions
