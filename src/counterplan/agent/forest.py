"""Batched Monte Carlo tree search: one tree per person, in arrays [B, N, A].

A simulation descends every tree from its root to a new leaf or to STOP, for all people at once. New leaves are
evaluated by the agent in one call, new STOPs by the black box in one call, either immediately or deferred until the
most promising ones are selected. B people, N nodes, A actions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from counterplan.agent.agent import Agent, Single
from counterplan.agent.network import Memory
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.search.costs import ActionCosts

Oracle = Callable[[Floats, Ints], Bools]
"""(states [n, F], people [n]) -> whether they are favourable [n]."""
NONE = -1
_TOLERANCE = 1e-7
"""Costs that differ by less are equal."""


@dataclass(frozen=True)
class ForestSettings:
    """Settings of Monte Carlo tree search.

    Parameters
    ----------
    exploration : float, default=1.0
        Weight of U, the exploration bonus in proportion to the agent's policy.
    temperature : float, default=3.0
        Softmax temperature of the policy.
    cost_bonus : float, default=0.0
        Weight of L = exp(−(cost + count)), which favours cheap and unused functions.
    stop_cost : float, default=0.0
        Cost of STOP in L.
    discount : float, optional
        If set, a success after T actions has the value discount^T, as in the paper; otherwise exp(−cost / scale).
    bounded : bool, default=True
        Prune nodes that cost as much as the best plan, answered STOPs, and redundant orders of actions.
    defer : bool, default=False
        Defer the queries of STOPs to `Forest.query_best`.
    stop_floor : float, default=0.0
        STOP is pruned where the agent gives it a lower probability.
    noise : float, default=0.0
        Share of random noise in the policy at the root, for training.
    noise_shape : float, default=0.3
        Shape parameter of the gamma distribution of the noise.
    failure_value : float, default=0.0
        Value that is backed up for a STOP that the black box refuses, and for plans beyond the maximum length. The text
        of the paper gives 0; its published code has −1, and so has the preset "paper": with 0, a refused STOP is worth
        as much as an action that was never tried.
    forced_stop : bool, default=True
        Whether STOP is the only action at the maximum length. Otherwise other actions remain possible there, and are
        failures, as in the paper.
    """

    exploration: float = 1.0
    temperature: float = 3.0
    cost_bonus: float = field(default=0.0, metadata={"key": "thrift"})
    stop_cost: float = 0.0
    discount: float | None = None
    bounded: bool = True
    defer: bool = False
    stop_floor: float = 0.0
    noise: float = 0.0
    noise_shape: float = 0.3
    failure_value: float = field(default=0.0, metadata={"added": True})
    forced_stop: bool = field(default=True, metadata={"added": True})


class Forest:
    """A search tree for each of B people at `states` [B, F], with the actions `allowed` [B, A].

    `cost_weights` [B, A] multiply the costs of actions; `best` [B] is the cost of a plan known before.
    """

    def __init__(
        self,
        agent: Agent,
        states: Floats,
        allowed: Bools,
        nodes: int,
        settings: ForestSettings,
        *,
        cost_weights: Floats | None = None,
        best: Floats | None = None,
        random: np.random.Generator | None = None,
    ) -> None:
        self.agent = agent
        self.transitions = agent.problem.transitions
        self.settings = settings
        self.max_actions = agent.problem.max_actions
        self.costs = ActionCosts(self.transitions, cost_weights)
        self.scale = None if cost_weights is None else cost_weights[:, :-1].mean(axis=1)
        """[B] mean weight, by which the agent's scale of costs is multiplied."""
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
        """[B, N] probability of STOP according to the agent."""
        self.pending = np.zeros((people, nodes), bool)
        """[B, N] STOPs whose query is deferred."""
        self.prior = np.zeros(shape, np.float32)
        self.action_cost = np.zeros(shape)
        self.legal = np.zeros(shape, bool)
        self.open = np.zeros(shape, bool)
        self.child = np.full(shape, NONE, np.int32)
        self.visits = np.zeros(shape, np.float32)
        self.total = np.zeros(shape, np.float32)
        self.size = np.zeros(people, np.intp)
        self.root = np.zeros(people, np.intp)
        self.exhausted = np.zeros(people, bool)
        self.best = np.full(people, np.inf) if best is None else best.copy()
        """[B] cost of the cheapest success known; only cheaper ones are searched for."""
        self.best_node = np.full(people, NONE, np.intp)
        self.refusals: list[tuple[Ints, Ints]] = []
        """(people, nodes) whose STOP was refused."""
        self._grow(np.arange(people), states, agent.start(people), None, np.full(people, NONE))
        self.open[:, 0, self.transitions.stop] = False  # everybody is refused as they are
        if settings.noise and random is not None:
            self.add_noise(random, np.arange(people))

    def simulate(self, people: Ints, oracle: Oracle | None = None) -> None:
        """One simulation for each of `people`: descend to a new leaf or a STOP, evaluate it, and back up its value."""
        people = people[~self.exhausted[people]]
        count = len(people)
        nodes = np.full((self.max_actions + 1, count), NONE, np.intp)
        actions = np.zeros((self.max_actions + 1, count), np.intp)
        dead_end = np.zeros(count, bool)
        row, node = np.arange(count), self.root[people]
        end, last = node.copy(), np.zeros(count, np.intp)
        for t in range(self.max_actions + 1):
            person = people[row]
            action, dead = self._choose(person, node)
            if dead.any():
                self._close(person[dead], node[dead])
                dead_end[row[dead]] = True
                row, node, action = row[~dead], node[~dead], action[~dead]
                person = people[row]
            nodes[t, row], actions[t, row] = node, action
            end[row], last[row] = node, action
            child = self.child[person, node, action]  # STOP never has one
            row, node = row[child != NONE], child[child != NONE].astype(np.intp)
            if not len(row):
                break
        value = np.zeros(count)
        stopped = np.flatnonzero((last == self.transitions.stop) & ~dead_end)
        if len(stopped):
            value[stopped] = self._stop(people[stopped], end[stopped], oracle)
        leaf = np.flatnonzero((last != self.transitions.stop) & ~dead_end)
        if len(leaf):
            too_long = self.depth[people[leaf], end[leaf]] >= self.max_actions
            value[leaf[too_long]] = self.settings.failure_value
            leaf = leaf[~too_long]
            value[leaf] = self._expand(people[leaf], end[leaf], last[leaf])
        for t in range(self.max_actions + 1):
            visited = np.flatnonzero((nodes[t] != NONE) & ~dead_end)
            if not len(visited):
                break
            edge = (people[visited], nodes[t, visited], actions[t, visited])
            self.visits[edge] += 1
            self.total[edge] += value[visited]

    def query_best(self, oracle: Oracle, min_relative_gain: float, queries_left: Ints) -> Ints:
        """Query each person's pending STOP with the largest probability × saving; returns the people queried.

        If a person has a plan, an expected saving below `min_relative_gain` of its cost is not queried.
        `queries_left` [B] limits the queries of each person.
        """
        probability = np.where(self.pending & (self.cost < self.best[:, None] - _TOLERANCE), self.likely, 0.0)
        people = np.arange(len(probability))
        solved = np.isfinite(self.best)
        most_likely = self.cost[people, probability.argmax(axis=1)]
        probable = np.where(probability >= 0.5, self.cost, np.inf).min(axis=1)
        reference = np.where(solved, self.best, 2 * np.minimum(probable, most_likely) + _TOLERANCE)
        saving = np.maximum(reference[:, None] - self.cost, 1e-3 * reference[:, None])
        gain = probability * np.where(np.isfinite(saving), saving, 0.0)
        node = gain.argmax(axis=1)
        threshold = np.where(solved, min_relative_gain * np.where(solved, self.best, 0.0), 0.0)
        chosen = np.flatnonzero((gain[people, node] > threshold) & (queries_left > 0))
        if len(chosen):
            self.pending[chosen, node[chosen]] = False
            self._query(chosen, node[chosen], oracle)
        return chosen

    def _choose(self, people: Ints, node: Ints) -> tuple[Ints, Bools]:
        """The action [n] with the largest Q + U + L at each node, and which nodes have none left."""
        visits = self.visits[people, node]
        score = self.total[people, node] / np.maximum(visits, 1)
        exploration = self.settings.exploration * np.sqrt(visits.sum(axis=1, keepdims=True) + 1)
        score += exploration * self.prior[people, node] / (1 + visits)
        if self.settings.cost_bonus:
            score += self.settings.cost_bonus * self._cost_bonus(people, node)
        valid = self.open[people, node]
        if self.settings.bounded:
            bound = self.best[people] - self.cost[people, node] - _TOLERANCE
            valid &= self.action_cost[people, node] < bound[:, None]
        score[~valid] = -np.inf
        return score.argmax(axis=1), np.logical_not(valid.any(axis=1))

    def _cost_bonus(self, people: Ints, node: Ints) -> Single:
        """L [n, A] = exp(−(cost + count)), count: number of calls of the function on the path to `node`."""
        functions = self.transitions.function_of
        count = np.zeros((len(people), len(self.transitions.functions) + 1), np.float32)
        at = node.copy()
        for _ in range(self.max_actions):
            action = self.by[people, at]
            used = np.flatnonzero(action != NONE)
            count[used, functions[action[used]]] += 1
            at[used] = self.parent[people[used], at[used]]
        cost = self.action_cost[people, node].copy()
        cost[:, self.transitions.stop] = self.settings.stop_cost
        return np.exp(-(cost + count[:, functions])).astype(np.float32)

    def _close(self, people: Ints, node: Ints) -> None:
        """Prune nodes without open actions; a tree is exhausted if its root is one."""
        at_root = node == self.root[people]
        self.exhausted[people[at_root]] = True
        person, at = people[~at_root], node[~at_root]
        self.open[person, self.parent[person, at], self.by[person, at]] = False

    def _expand(self, people: Ints, node: Ints, action: Ints) -> Floats:
        """Add the leaf after `action` at `node`; returns its value [n] according to the agent."""
        states = self.transitions.apply(self.state[people, node], action)
        memory = Memory(self.hidden[people, node], self.cell[people, node])
        return self._grow(people, states, memory, node, action)

    def _grow(self, people: Ints, states: Floats, memory: Memory, parent: Ints | None, action: Ints) -> Floats:
        """Add nodes with `states` [n, F]; returns their values [n]."""
        new = self.size[people]
        added = (people, new)
        legal = self.transitions.legal(states) & self.allowed[people]
        if parent is not None:
            self.cost[added] = self.cost[people, parent] + self.action_cost[people, parent, action]
            self.depth[added] = self.depth[people, parent] + 1
            self.parent[added], self.by[added] = parent, action
            self.child[people, parent, action] = new
            if self.settings.forced_stop:
                legal[self.depth[added] >= self.max_actions, :-1] = False
            if self.settings.bounded:
                legal &= self.transitions.in_order[self.transitions.function_of[action]]
        log_prior, value, memory = self.agent(states, memory, legal)
        prior = np.exp((log_prior - log_prior.max(axis=1, keepdims=True)) / self.settings.temperature) * legal
        self.prior[added] = prior / prior.sum(axis=1, keepdims=True)
        self.likely[added] = np.exp(log_prior[:, self.transitions.stop])
        self.action_cost[added] = self.costs.all(states, people)
        self.legal[added] = self.open[added] = legal
        if self.settings.stop_floor:
            self.open[people, new, self.transitions.stop] &= self.likely[added] >= self.settings.stop_floor
        self.state[added] = states
        self.hidden[added], self.cell[added] = memory
        self.size[people] += 1
        return self._discounted(people, new, value)

    def _discounted(self, people: Ints, node: Ints, value: npt.NDArray[np.floating] | float) -> Floats:
        """Value [n] at the root of `value` at `node`, discounted by the cost up to it."""
        if self.settings.discount is not None:
            return np.asarray(value, float) * np.ones(len(people))
        scale = self.agent.cost_scale if self.scale is None else self.agent.cost_scale * self.scale[people]
        return np.asarray(np.exp(-self.cost[people, node] / scale) * value, float)

    def _stop(self, people: Ints, node: Ints, oracle: Oracle | None) -> Floats:
        """Value [n] of STOP at `node`: queried, or estimated by the agent and left pending."""
        if self.settings.bounded or self.settings.defer:
            self.open[people, node, self.transitions.stop] = False
        if self.settings.defer or oracle is None:
            self.pending[people, node] = True
            return self._discounted(people, node, self.likely[people, node])
        favourable = self._query(people, node, oracle)
        if self.settings.discount is not None:
            success = self.settings.discount ** self.depth[people, node]
        else:
            success = self._discounted(people, node, 1.0)
        return np.where(favourable, success, self.settings.failure_value)

    def _query(self, people: Ints, node: Ints, oracle: Oracle) -> Bools:
        """Query the states of `node` [n]; favourable ones that are cheaper become the best plans."""
        favourable = oracle(self.state[people, node], people)
        better = favourable & (self.cost[people, node] < self.best[people] - _TOLERANCE)
        self.best[people[better]] = self.cost[people[better], node[better]]
        self.best_node[people[better]] = node[better]
        self.refusals.append((people[~favourable], node[~favourable]))
        return favourable

    def add_noise(self, random: np.random.Generator, people: Ints) -> None:
        """Mix noise into the policy at the roots of `people`, for exploration during training."""
        roots = (people, self.root[people])
        open_ = self.open[roots]
        noise = random.gamma(self.settings.noise_shape, size=open_.shape) * open_ + 1e-12
        noise /= noise.sum(axis=1, keepdims=True)
        share = self.settings.noise
        self.prior[roots] = ((1 - share) * self.prior[roots] + share * noise) * open_

    def paths(self, people: Ints, node: Ints) -> Ints:
        """Actions [n, T] from the initial state of each of `people` to `node`, padded with -1."""
        actions = np.full((len(people), self.max_actions), NONE, np.intp)
        at, depth = node.copy(), self.depth[people, node]
        for _ in range(self.max_actions):
            live = np.flatnonzero(depth > 0)
            actions[live, depth[live] - 1] = self.by[people[live], at[live]]
            at[live] = self.parent[people[live], at[live]]
            depth = depth - 1
        return actions
