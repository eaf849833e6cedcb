"""Searches of the training of an agent: one for each group of people, in this process or in a worker."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from counterplan.agent.agent import Agent
from counterplan.agent.forest import Forest, ForestSettings
from counterplan.agent.rollout import Choose, policy_plans, sampling
from counterplan.agent.search import CountingOracle, SearchSettings, TreeSearch
from counterplan.blackbox import MeteredOracle
from counterplan.parallel import WorkerLink
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.search.orders import NO_ACTION, rollout
from counterplan.search.outcome import SearchOutcome


class GroupSettings(NamedTuple):
    """How groups are searched for; see `TrainingSettings`."""

    tree: ForestSettings
    search: SearchSettings
    simulations: int
    queries_per_search: int
    explore: str = "tree"

    @property
    def replaces(self) -> bool:
        """Whether every successful plan is archived, not only cheaper ones."""
        return self.explore == "policy" or self.search.stepwise


@dataclass(frozen=True)
class GroupSearch:
    """A search for one group of people, with everything that determines its result but the answers."""

    number: int
    group: Ints
    """[n] rows of the people in training."""
    starts: Floats
    """[n, F] their initial states."""
    best: Floats
    """[n] costs of their plans in the archive."""
    agent: Agent
    known: int
    """Number of answers that were known when the search was planned: these do not count as queries."""
    limit: int
    """Most queries."""

    def run(self, settings: GroupSettings, oracle: CountingOracle, random: np.random.Generator) -> GroupResult:
        """Search for everybody."""
        if settings.explore == "policy":
            return self._sampled(settings, oracle, random)
        if settings.search.stepwise:
            return self._stepwise(settings, oracle, random)
        allowed = np.ones((len(self.group), len(self.agent.problem.transitions)), bool)
        size = settings.simulations + 1
        forest = Forest(self.agent, self.starts, allowed, size, settings.tree, best=self.best, random=random)
        for _ in range(settings.simulations):
            forest.simulate(np.flatnonzero(oracle.count < settings.queries_per_search), oracle)
            if oracle.exhausted:
                break
        better = np.flatnonzero(forest.best_node >= 0)
        plans = forest.paths(better, forest.best_node[better])
        refused, refusals = np.empty(0, np.intp), plans[:0]
        if forest.refusals:
            refused = np.concatenate([person for person, _ in forest.refusals])
            refusals = forest.paths(refused, np.concatenate([node for _, node in forest.refusals]))
        return GroupResult(better, plans, len(better), refused, refusals, oracle.exhausted)

    def _stepwise(self, settings: GroupSettings, oracle: CountingOracle, random: np.random.Generator) -> GroupResult:
        """The paper's training: one episode for each person."""
        people, problem = len(self.group), self.agent.problem
        actions = len(problem.transitions)
        found = SearchOutcome.empty(people, problem.max_actions)
        found.visits = np.zeros((people, problem.max_actions + 1, actions), np.float32)
        allowed, chosen = np.ones((people, actions), bool), replace(settings.search, tree=settings.tree)
        trees = TreeSearch(self.agent, self.starts, allowed, oracle, chosen, settings.queries_per_search, found)
        trees.stepwise(np.arange(people), random)
        return self._found(found, oracle)

    def _sampled(self, settings: GroupSettings, oracle: CountingOracle, random: np.random.Generator) -> GroupResult:
        """Training without search: traces sampled from the policy."""
        found = SearchOutcome.empty(len(self.group), self.agent.problem.max_actions)
        for _ in range(settings.simulations):
            follow_policy(self.agent, sampling(random), self.starts, oracle, found, settings.tree)
            if oracle.exhausted:
                break
        return self._found(found, oracle)

    def _found(self, found: SearchOutcome, oracle: CountingOracle) -> GroupResult:
        """The successful plans, which replace earlier ones."""
        solved = np.flatnonzero(np.isfinite(found.cost))
        improved = int((found.cost < self.best - 1e-6).sum())
        none, visits = np.empty(0, np.intp), None if found.visits is None else found.visits[solved]
        return GroupResult(solved, found.actions[solved], improved, none, found.actions[:0], oracle.exhausted, visits)


def follow_policy(
    agent: Agent, choose: Choose, starts: Floats, oracle: CountingOracle, found: SearchOutcome, tree: ForestSettings
) -> None:
    """Query the plans of the policy for people at `starts` [B, F]; cheaper successes replace those in `found`."""
    transitions = agent.problem.transitions
    actions = policy_plans(agent, starts, np.ones(len(transitions), bool), choose, tree, act_first=True)
    planned = np.flatnonzero((actions != NO_ACTION).any(axis=1))
    ends, cost, _ = rollout(transitions, starts[planned], actions[planned])
    better = oracle(ends, planned) & (cost < found.cost[planned] - 1e-6)
    found.actions[planned[better]] = actions[planned[better]]
    found.cost[planned[better]] = cost[better]


class GroupResult(NamedTuple):
    """Result of a search for a group of n people."""

    solved: Ints
    """[m] people with a plan to archive."""
    plans: Ints
    """[m, T]"""
    improved: int
    """Number of people whose plan became cheaper."""
    refused: Ints
    """[r] people with a plan that was refused."""
    refused_plans: Ints
    """[r, T]"""
    exhausted: bool
    """Whether a budget did not suffice."""
    visits: npt.NDArray[np.float32] | None = None
    """[m, T + 1, A] of a stepwise search: shares of visits of each action at each step."""


class KnownAnswers:
    """The first `count` of the answers of a run, and new ones, which are not added to the run yet."""

    def __init__(self, answers: AnswerLog, count: int) -> None:
        self._positions, self._count = answers.position, count
        self.new: dict[bytes, bool] = {}

    def __contains__(self, key: bytes) -> bool:
        return key in self.new or self._positions.get(key, self._count) < self._count

    def update(self, answers: Iterable[tuple[bytes, bool]]) -> None:
        """Add answers."""
        self.new.update(answers)


class AnswerLog(dict[bytes, bool]):
    """Answers by query key, with the position at which each was added."""

    def __init__(self, answers: Mapping[bytes, bool] | None = None) -> None:
        super().__init__()
        self.position: dict[bytes, int] = {}
        self.update({} if answers is None else answers)

    def update(self, answers: Any) -> None:
        """Add answers, at the end if they are new."""
        for key, answer in dict(answers).items():
            self.position.setdefault(key, len(self.position))
            self[key] = answer


class Exchange(NamedTuple):
    """A query of a worker: states [n, F] of people [n] of the group that is searched for in search `number`."""

    number: int
    states: Floats
    rows: Ints


class _RemoteOracle:
    """The oracle of a group in a worker: queries are sent, and counted, by the process that started it."""

    def __init__(self, number: int, people: int, link: WorkerLink) -> None:
        self.count: Ints = np.zeros(people, np.intp)
        self.exhausted = False
        self._number, self._link = number, link

    def __call__(self, states: Floats, rows: Ints) -> Bools:
        favourable, self.count, self.exhausted = self._link.request(Exchange(self._number, states, rows))
        return favourable  # type: ignore[no-any-return]


def answer(oracle: MeteredOracle, exchange: Exchange) -> tuple[Bools, Ints, bool]:
    """The reply to a worker's query."""
    return oracle(exchange.states, exchange.rows), oracle.count, oracle.exhausted


def search_in_worker(context: tuple[GroupSettings, int], search: GroupSearch, link: WorkerLink) -> GroupResult:
    """In a worker process: run a search."""
    settings, seed = context
    oracle = _RemoteOracle(search.number, len(search.group), link)
    return search.run(settings, oracle, generator_of(seed, search.number))


def generator_of(seed: int, number: int) -> np.random.Generator:
    """Random generator of a search."""
    return np.random.default_rng([seed, number])
