"""Plans by tree search with an agent: with deferred queries (the default), or step by step (the paper)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from counterplan.agent.agent import Agent
from counterplan.agent.forest import NONE, Forest, ForestSettings
from counterplan.blackbox import MeteredOracle
from counterplan.errors import SettingError
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.search.orders import cheapest_orders
from counterplan.search.outcome import SearchOutcome


@dataclass(frozen=True)
class SearchSettings:
    """Settings of the search planner. `SearchSettings.preset("paper")` gives those of the paper.

    Parameters
    ----------
    simulations : int, default=128
        Most simulations in the tree of one person; with `stepwise`, simulations before each step.
    round_size : int, default=8
        Simulations between two rounds of queries.
    patience : int, default=2
        Stop searching for a person with a plan after this many rounds without a query.
    min_relative_gain : float, default=0.01
        Expected savings below this share of the plan's cost are not queried.
    max_queries : int, default=10
        Most queries about one person, unless a budget is given.
    retry_factor : int, default=4
        People without a plan are searched for again with this many times as many simulations; 0 for no retry.
    batch_size : int, default=256
        People searched for at the same time.
    stepwise : bool, default=False
        Choose the plan step by step by visit counts, as in the paper.
    tree : ForestSettings
    """

    simulations: int = 128
    round_size: int = field(default=8, metadata={"key": "round"})
    patience: int = 2
    min_relative_gain: float = field(default=0.01, metadata={"key": "price"})
    max_queries: int = field(default=10, metadata={"key": "questions"})
    retry_factor: int = field(default=4, metadata={"key": "again"})
    batch_size: int = field(default=256, metadata={"key": "together"})
    stepwise: bool = False
    tree: ForestSettings = field(default_factory=lambda: ForestSettings(defer=True))

    @classmethod
    def preset(cls, name: str) -> SearchSettings:
        """Settings by name.

        Parameters
        ----------
        name : {"default", "paper"}
            "paper" has ten simulations a step, the reward λ^T, −1 for a refused STOP, and L with a cost of 1 for STOP.

        Raises
        ------
        SettingError
            If there is no preset of that name.
        """
        if name == "default":
            return cls()
        if name == "paper":
            tree = ForestSettings(
                exploration=0.5,
                temperature=1.0,
                cost_bonus=1.0,
                stop_cost=1.0,
                discount=0.97,
                bounded=False,
                failure_value=-1.0,
                forced_stop=False,
            )
            return cls(simulations=10, stepwise=True, max_queries=10_000, tree=tree)
        raise SettingError(f"unknown preset {name!r}: there are default and paper")


def search(
    agent: Agent,
    states: Floats,
    allowed: Bools,
    oracle: MeteredOracle,
    settings: SearchSettings,
    budget: int | None = None,
    *,
    cost_weights: Floats | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> SearchOutcome:
    """Search plans for people who are refused.

    Parameters
    ----------
    agent : Agent
    states : array of shape [B, F]
    allowed : bool array of shape [B, A]
        Actions that each person may take.
    oracle : MeteredOracle
        Answers and counts queries.
    settings : SearchSettings
    budget : int, optional
        Most queries about one person; `settings.max_queries` if None.
    cost_weights : array of shape [B, A], optional
        Factors on the cost of each action; None means 1.
    progress : callable, optional
        Called with the number of people finished since the last call.

    Returns
    -------
    SearchOutcome
    """
    max_queries = settings.max_queries if budget is None else budget
    outcome = SearchOutcome.empty(len(states), agent.problem.max_actions)
    trees = TreeSearch(agent, states, allowed, oracle, settings, max_queries, outcome, cost_weights)
    for first in range(0, len(states), settings.batch_size):
        rows = np.arange(first, min(first + settings.batch_size, len(states)))
        if settings.stepwise:
            trees.stepwise(rows)
        else:
            trees.deferred(rows)
        progress(len(rows))
    outcome.queries = oracle.count
    outcome.verified = np.isfinite(outcome.cost)
    return outcome


class CountingOracle(Protocol):
    """What a search needs of a `MeteredOracle`."""

    count: Ints
    exhausted: bool

    def __call__(self, states: Floats, rows: Ints) -> Bools:
        """Whether states [n, F] of people [n] are known to be favourable."""


@dataclass(frozen=True)
class TreeSearch:
    """Tree search for people at `states` [B, F]; plans are written to `outcome`."""

    agent: Agent
    states: Floats
    allowed: Bools
    oracle: CountingOracle
    settings: SearchSettings
    max_queries: int
    outcome: SearchOutcome
    cost_weights: Floats | None = None

    def forest(self, rows: Ints, nodes: int) -> Forest:
        """New trees for the people `rows`, with at most `nodes` nodes each."""
        weights = None if self.cost_weights is None else self.cost_weights[rows]
        return Forest(
            self.agent, self.states[rows], self.allowed[rows], nodes, self.settings.tree, cost_weights=weights
        )

    def deferred(self, rows: Ints) -> None:
        """One tree for each of the people `rows`, and a larger one for those who get no plan from it."""
        settings, oracle, outcome = self.settings, self.oracle, self.outcome
        for factor in (1, settings.retry_factor):
            rounds = -(-settings.simulations * factor // settings.round_size)
            forest = self.forest(rows, rounds * settings.round_size + 1)
            idle = np.zeros(len(rows), np.intp)
            for _ in range(rounds):
                people = np.flatnonzero((idle < settings.patience) & (oracle.count[rows] < self.max_queries))
                if not len(people) or oracle.exhausted:
                    break
                for _ in range(settings.round_size):
                    forest.simulate(people)
                idle[np.isfinite(forest.best)] += 1
                idle[self._query(forest, rows)] = 0
            self._store(forest, rows)
            rows = rows[np.isinf(outcome.cost[rows]) & (oracle.count[rows] < self.max_queries)]
            if not len(rows) or not settings.retry_factor or oracle.exhausted:
                return

    def _query(self, forest: Forest, rows: Ints) -> Ints:
        """Query pending STOPs while their expected gain is large enough; returns the people queried."""
        oracle, queried = self.oracle, np.zeros(len(rows), bool)
        while not oracle.exhausted:
            people = forest.query_best(
                lambda states, people: oracle(states, rows[people]),
                self.settings.min_relative_gain,
                self.max_queries - oracle.count[rows],
            )
            queried[people] = True
            if not len(people):
                break
        return np.flatnonzero(queried)

    def _store(self, forest: Forest, rows: Ints) -> None:
        """Store the best plan of each tree, in its cheapest order."""
        people = np.flatnonzero(forest.best_node != NONE)
        if len(people):
            paths = forest.paths(people, forest.best_node[people])
            at = rows[people]
            weights = None if self.cost_weights is None else self.cost_weights[at]
            transitions = self.agent.problem.transitions
            self.outcome.actions[at] = cheapest_orders(transitions, self.states[at], paths, weights)
            self.outcome.cost[at] = forest.best[people]

    def stepwise(self, rows: Ints, random: np.random.Generator | None = None) -> None:
        """Repeat simulations and the step with the most visits, first its function, then its argument.

        People whose plan reaches the maximum length without STOP get none.
        """
        agent, oracle, outcome = self.agent, self.oracle, self.outcome
        max_actions, functions = agent.problem.max_actions, agent.membership
        stop = agent.problem.transitions.stop
        forest = self.forest(rows, self.settings.simulations * (max_actions + 1) + 1)
        unfinished = np.arange(len(rows))
        for t in range(max_actions + 1):
            if random is not None:
                forest.add_noise(random, unfinished)
            for _ in range(self.settings.simulations):
                ready = unfinished[oracle.count[rows[unfinished]] < self.max_queries]
                forest.simulate(ready, lambda states, people: oracle(states, rows[people]))
            visits = forest.visits[unfinished, forest.root[unfinished]]
            if outcome.visits is not None:
                outcome.visits[rows[unfinished], t] = visits / np.maximum(visits.sum(axis=1, keepdims=True), 1)
            function = (visits @ functions).argmax(axis=1)
            action = np.where(agent.problem.transitions.function_of == function[:, None], visits, -1).argmax(axis=1)
            self._verify(forest, unfinished[action == stop], rows)
            child = forest.child[unfinished, forest.root[unfinished], action]  # STOP never has one
            unfinished, child = unfinished[child != NONE], child[child != NONE]
            forest.root[unfinished] = child

    def _verify(self, forest: Forest, people: Ints, rows: Ints) -> None:
        """Query the plans that end at the roots of `people`; favourable ones are stored."""
        oracle, outcome = self.oracle, self.outcome
        in_budget = oracle.count[rows[people]] < self.max_queries
        people = people[in_budget & (forest.depth[people, forest.root[people]] > 0)]
        if not len(people):
            return
        node = forest.root[people]
        favourable = oracle(forest.state[people, node], rows[people])
        solved, at = people[favourable], node[favourable]
        outcome.actions[rows[solved]] = forest.paths(solved, at)
        outcome.cost[rows[solved]] = forest.cost[solved, at]
