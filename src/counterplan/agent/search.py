"""Plans from an agent and a forest: ours, which asks little and late, and the paper's, step by step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from counterplan.agent.agent import Agent, Single
from counterplan.agent.forest import NONE, Forest, TreeSettings
from counterplan.blackbox import MeteredOracle
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.search.orders import cheapest_orders


@dataclass(frozen=True)
class SearchSettings:
    """How plans are searched for. `SearchSettings.preset("paper")` is the paper's way."""

    simulations: int = 128
    """Most of them in one tree at the root; or, with `stepwise`, before each step."""
    round: int = 8
    """After so many simulations, the most promising STOPs are asked about."""
    patience: int = 2
    """Whoever has a plan, and nothing worth asking in so many rounds, is done."""
    price: float = 0.01
    """A saving of less than this share of the plan's cost is not worth a question."""
    questions: int = 10
    """Most questions about one person, unless a budget says less."""
    again: int = 4
    """Whoever has no plan by then gets a second search, this many times as large."""
    together: int = 256
    """People searched for at the same time."""
    stepwise: bool = False
    """Whether to decide step by step by visit counts, as the paper does."""
    tree: TreeSettings = field(default_factory=lambda: TreeSettings(defer=True))

    @classmethod
    def preset(cls, name: str) -> SearchSettings:
        """The settings called "default", or "paper": ten simulations a step, reward λ^T, L with STOP costing 1."""
        if name == "default":
            return cls()
        if name == "paper":
            tree = TreeSettings(
                exploration=0.5, temperature=1.0, thrift=1.0, stop_cost=1.0, discount=0.97, bounded=False
            )
            return cls(simulations=10, stepwise=True, questions=10_000, tree=tree)
        raise ValueError(f"unknown preset {name!r}: there are default and paper")


@dataclass
class Found:
    """What a search found: plans [B, T] filled up with -1, costs [B] (infinite: none), questions [B]."""

    actions: Ints
    cost: Floats
    questions: Ints
    visits: Single | None = None
    """[B, S, A] of a stepwise search: how often each action was tried at each step, as shares."""

    @classmethod
    def nothing(cls, people: int, longest: int) -> Found:
        """Nothing yet."""
        return cls(np.full((people, longest), NONE, np.intp), np.full(people, np.inf), np.zeros(people, np.intp))


def search(
    agent: Agent,
    states: Floats,
    allowed: Bools,
    ask: MeteredOracle,
    settings: SearchSettings,
    budget: int | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> Found:
    """Plans for refused people in `states` [B, F], who may take the actions `allowed` [B, A]; `ask` counts."""
    most = settings.questions if budget is None else budget
    found = Found.nothing(len(states), agent.problem.max_actions)
    for first in range(0, len(states), settings.together):
        rows = np.arange(first, min(first + settings.together, len(states)))
        one = stepwise if settings.stepwise else _one_tree
        one(agent, states, allowed, ask, settings, most, rows, found)
        progress(len(rows))
    found.questions = ask.count
    return found


def _one_tree(
    agent: Agent, states: Floats, allowed: Bools, ask: MeteredOracle, settings: SearchSettings, most: int, rows: Ints,
    found: Found,
) -> None:  # fmt: skip
    """One tree at the root of each person, and a larger one for those who get no plan from it."""
    for size in (1, settings.again):
        rounds = -(-settings.simulations * size // settings.round)
        forest = Forest(agent, states[rows], allowed[rows], rounds * settings.round + 1, settings.tree)
        idle = np.zeros(len(rows), np.intp)
        for _ in range(rounds):
            people = np.flatnonzero((idle < settings.patience) & (ask.count[rows] < most))
            if not len(people) or ask.exhausted:
                break
            for _ in range(settings.round):
                forest.simulate(people)
            idle[np.isfinite(forest.best)] += 1
            idle[_question(forest, ask, settings.price, most, rows)] = 0
        _keep(agent, states, forest, rows, found)
        rows = rows[np.isinf(found.cost[rows]) & (ask.count[rows] < most)]
        if not len(rows) or not settings.again or ask.exhausted:
            return


def _question(forest: Forest, ask: MeteredOracle, price: float, most: int, rows: Ints) -> Ints:
    """Ask while it is worth it; gives the people asked about."""
    asked = np.zeros(len(rows), bool)
    while not ask.exhausted:
        people = forest.question(lambda states, people: ask(states, rows[people]), price, most - ask.count[rows])
        asked[people] = True
        if not len(people):
            break
    return np.flatnonzero(asked)


def _keep(agent: Agent, states: Floats, forest: Forest, rows: Ints, found: Found) -> None:
    """Write down the best plan of each tree, in its cheapest order."""
    people = np.flatnonzero(forest.best_node != NONE)
    if len(people):
        trails = forest.trails(people, forest.best_node[people])
        found.actions[rows[people]] = cheapest_orders(agent.problem.transitions, states[rows[people]], trails)
        found.cost[rows[people]] = forest.best[people]


def stepwise(
    agent: Agent, states: Floats, allowed: Bools, ask: MeteredOracle, settings: SearchSettings, most: int, rows: Ints,
    found: Found, random: np.random.Generator | None = None,
) -> None:  # fmt: skip
    """Some simulations, then the step with the most visits — first its function, then its argument — and again."""
    longest, functions = agent.problem.max_actions, agent.membership
    stop = agent.problem.transitions.stop
    forest = Forest(agent, states[rows], allowed[rows], settings.simulations * (longest + 1) + 1, settings.tree)
    going = np.arange(len(rows))
    for t in range(longest + 1):
        if random is not None:
            forest.add_noise(random, going)
        for _ in range(settings.simulations):
            ready = going[ask.count[rows[going]] < most]
            forest.simulate(ready, lambda s, p: ask(s, rows[p]))
        visits = forest.visits[going, forest.root[going]]
        if found.visits is not None:
            found.visits[rows[going], t] = visits / np.maximum(visits.sum(axis=1, keepdims=True), 1)
        function = (visits @ functions).argmax(axis=1)
        action = np.where(agent.problem.transitions.function_of == function[:, None], visits, -1).argmax(axis=1)
        child = forest.child[going, forest.root[going], action]
        ended = (action == stop) | (child == NONE)
        _judge(forest, going[ended], rows, ask, most, found)
        forest.root[going[~ended]] = child[~ended]
        going = going[~ended]
    _judge(forest, going, rows, ask, most, found)


def _judge(forest: Forest, people: Ints, rows: Ints, ask: MeteredOracle, most: int, found: Found) -> None:
    """The plans that end at the roots of `people`: kept if the black box, asked now or before, says yes."""
    people = people[(ask.count[rows[people]] < most) & (forest.depth[people, forest.root[people]] > 0)]
    if not len(people):
        return
    node = forest.root[people]
    favourable = ask(forest.state[people, node], rows[people])
    good, at = people[favourable], node[favourable]
    found.actions[rows[good]] = forest.trails(good, at)
    found.cost[rows[good]] = forest.cost[good, at]
