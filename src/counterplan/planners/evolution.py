"""The evolutionary baseline: plans as random keys, evolved for each person from scratch.

Consequence-aware sequential counterfactuals (CSCF): a biased random-key genetic algorithm with two objectives, low cost
and high diversity. All people of a batch are evolved side by side in arrays; pymoo finds the Pareto front. Generations
and queries are here, decoding and genetic operators in `genetics`, which also names the axes of arrays.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import ClassVar

import numpy as np

from counterplan.blackbox import BlackBox, OracleSession, QueryBudgetExceeded
from counterplan.errors import SettingError
from counterplan.planners.base import PlanColumns, Planner, PlanningTask, is_whole
from counterplan.planners.genetics import Population, breed, evaluate, join, unique
from counterplan.plans import Status
from counterplan.problem import Problem
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.search.orders import NO_ACTION


@dataclass(frozen=True)
class EvolutionSettings:
    """Settings of the evolutionary baseline.

    Parameters
    ----------
    generations : int, default=50
        Number of generations.
    population : int, default=200
        Candidates evaluated in each generation.
    offspring : float, default=0.8
        Share of a generation that has parents; the others are random.
    bias : float, default=0.7
        Probability that a gene comes from the elite parent.
    batch_size : int, default=32
        People evolved at the same time.

    Raises
    ------
    SettingError
        If a value is out of range.

    Examples
    --------
    >>> from counterplan import EvolutionPlanner, EvolutionSettings, benchmarks
    >>> german = benchmarks.load("german")
    >>> for generations in (5, 25):
    ...     settings = EvolutionSettings(generations=generations, population=100)
    ...     planner = EvolutionPlanner(german.problem, german.model, settings=settings)
    ...     planner.plan(german.refused_test.iloc[[1]]).costs
    array([nan])
    array([20.])
    """

    generations: int = 50
    population: int = 200
    offspring: float = 0.8
    bias: float = 0.7
    batch_size: int = field(default=32, metadata={"key": "together"})

    def __post_init__(self) -> None:
        for name in ("generations", "population", "batch_size"):
            value = getattr(self, name)
            if not is_whole(value, 1):
                raise SettingError(f"'{name}' must be an integer, 1 or more, not {value!r}")
        for name in ("offspring", "bias"):
            value = getattr(self, name)
            number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
            if not (number and 0 <= value <= 1):
                raise SettingError(f"'{name}' must be a share, from 0 to 1, not {value!r}")

    @classmethod
    def preset(cls, name: str) -> EvolutionSettings:
        """Settings by name.

        Parameters
        ----------
        name : {"large", "small"}
            "large" is the default; "small" has 25 generations of 100.

        Returns
        -------
        EvolutionSettings
            The settings of that name.

        Raises
        ------
        SettingError
            If there is no preset of that name.

        Examples
        --------
        >>> from counterplan import EvolutionPlanner, EvolutionSettings, benchmarks
        >>> german = benchmarks.load("german")
        >>> small = EvolutionSettings.preset("small")
        >>> planner = EvolutionPlanner(german.problem, german.model, settings=small)
        >>> plans = planner.plan(german.refused_test.head(1))
        >>> planner.history_.evaluated.shape  # people and generations
        (1, 25)
        """
        if name == "large":
            return cls()
        if name == "small":
            return cls(generations=25, population=100)
        raise SettingError(f"there are no settings of evolution called {name!r}; there are large and small")


@dataclass(frozen=True)
class History:
    """Statistics of the last search for B people in each of G generations."""

    evaluated: Ints
    """[B, G] candidates, well-formed and legal, whose final state was looked up or queried."""
    queries: Ints
    """[B, G] distinct states among them that were not known for this person before."""
    feasible: Ints
    """[B, G] candidates that lead to a favourable state, earlier elites included."""
    best_cost: Floats
    """[B, G] cost of the cheapest feasible candidate; infinite if there is none."""
    model_rows: Ints
    """[G] rows sent to the model for all people."""

    @classmethod
    def empty(cls, people: int, generations: int) -> History:
        """Statistics before the first generation."""
        evaluated, queries, feasible = np.zeros((3, people, generations), np.intp)
        best_cost = np.full((people, generations), np.inf)
        return cls(evaluated, queries, feasible, best_cost, np.zeros(generations, np.intp))


class EvolutionPlanner(Planner):
    """Find plans by a genetic algorithm, as a baseline for other planners.

    Candidates are evolved for low cost and high diversity; the plan is the cheapest favourable one. The random numbers
    of a person follow from `seed` and the person's state, so that plans do not depend on other people.

    Parameters
    ----------
    problem : Problem
        The problem to plan for.
    box : BlackBox or model
        The model that is queried about the candidates.
    settings : EvolutionSettings or str, default="large"
        Settings, or the name of a preset: "large" or "small".
    seed : int, default=0
        Seed of the random numbers. The same seed gives the same plans.

    Attributes
    ----------
    history_ : History or None
        Statistics of the last search.

    Raises
    ------
    SettingError
        If a parameter is invalid, or pymoo is not installed.

    Examples
    --------
    >>> from counterplan import EvolutionPlanner, EvolutionSettings, benchmarks
    >>> german = benchmarks.load("german")
    >>> settings = EvolutionSettings(generations=10, population=50)
    >>> planner = EvolutionPlanner(german.problem, german.model, settings=settings)
    >>> planner.plan(german.refused_test.iloc[[2]])[0].verified
    True
    """

    name: ClassVar[str] = "evolution"

    def __init__(
        self, problem: Problem, box: BlackBox | object, *, settings: EvolutionSettings | str = "large", seed: int = 0
    ) -> None:
        super().__init__(problem, box)
        self.settings = EvolutionSettings.preset(settings) if isinstance(settings, str) else settings
        if not is_whole(seed):
            raise SettingError(f"'seed' must be an integer, zero or more, not {seed!r}")
        self.seed = int(seed)
        self.undominated = _undominated()
        self.history_: History | None = None

    @property
    def chunk_size(self) -> int:
        """See `Planner.chunk_size`."""
        return self.settings.batch_size

    def search(self, task: PlanningTask) -> PlanColumns:
        """See `Planner.search`."""
        columns = PlanColumns.empty(len(task), self.problem.max_actions)
        self.history_ = History.empty(len(task), self.settings.generations)
        oracle = _PersonalOracle(self.box.session(self.problem, task.people), len(task), task.budget)
        for first in range(0, len(task), self.settings.batch_size):
            rows = np.arange(first, min(first + self.settings.batch_size, len(task)))
            if task.budget != 0 and not oracle.spent:
                _Evolution(self, task.take(rows), oracle, rows).run(columns)
            task.progress(len(rows))
        columns.queries = oracle.count
        return columns

    @property
    def repeated_queries(self) -> int:
        """See `Planner.repeated_queries`: candidates that end in the same state as an earlier one."""
        return 0 if self.history_ is None else int((self.history_.evaluated - self.history_.queries).sum())


class _Evolution:
    """The evolution for a batch of people, the `rows` of the search."""

    def __init__(self, planner: EvolutionPlanner, task: PlanningTask, oracle: _PersonalOracle, rows: Ints) -> None:
        assert planner.history_ is not None
        self.planner, self.settings, self.history = planner, planner.settings, planner.history_
        self.transitions, self.max_actions = planner.problem.transitions, planner.problem.max_actions
        self.task, self.oracle, self.rows = task, oracle, rows
        self.random = [generator_of(planner.seed, start) for start in task.people.states]

    def run(self, columns: PlanColumns) -> None:
        """Evolve generation after generation; write the best plans of the last one to `columns`."""
        drawn = self.draw()
        population = self.evaluate(drawn[:, :, 2:], 0)
        self.record(population, 0)
        front = self.front(population)
        elite: Bools = drawn[:, :, 0].ravel() < 0.5  # the elites of the first generation are random
        for generation in range(1, self.settings.generations):
            if self.oracle.spent:
                break
            drawn = self.draw()
            genes = drawn[:, :, 2:]
            bred = round(self.settings.offspring * self.settings.population)
            genes[:, :bred] = breed(population, elite, drawn[:, :bred], self.settings.bias)
            fresh = self.evaluate(genes, generation)
            population = unique(join(population.take(front), fresh))
            elite = front = self.front(population)
            self.record(population, generation)
        self.store(population, columns)

    def draw(self) -> Floats:
        """[B, P, 2 + 2W] random numbers, each person's from their own stream: two for parents, the others for genes."""
        width = 2 + 2 * (len(self.transitions.functions) + 1)
        return np.stack([random.random((self.settings.population, width)) for random in self.random])

    def evaluate(self, genes: Floats, generation: int) -> Population:
        """Candidates with `genes` [B, P, 2W]; the queries are recorded."""
        before, sent = self.oracle.count[self.rows], self.oracle.box.queries
        task = self.task

        def query(states: Floats, person: Ints) -> Bools:
            self.history.evaluated[self.rows, generation] = np.bincount(person, minlength=len(self.rows))
            return self.oracle(states, self.rows[person])

        fresh = evaluate(self.planner.problem, task.people.states, task.allowed, genes, query, task.weights)
        self.history.queries[self.rows, generation] = self.oracle.count[self.rows] - before
        self.history.model_rows[generation] += self.oracle.box.queries - sent
        return fresh

    def front(self, population: Population) -> Bools:
        """The Pareto front [n] of each person's feasible candidates, or of all candidates if none is feasible."""
        has_feasible = np.zeros(len(self.rows), bool)
        has_feasible[population.person[population.feasible]] = True
        rated = np.flatnonzero(population.feasible | ~has_feasible[population.person])
        objectives = np.stack([population.cost, -population.diversity], axis=1)[rated]
        ends = np.searchsorted(population.person[rated], np.arange(len(self.rows) + 1))
        elite = np.zeros(len(population.person), bool)
        for first, last in pairwise(ends.tolist()):
            elite[rated[first + self.planner.undominated(objectives[first:last])]] = True
        return elite

    def record(self, population: Population, generation: int) -> None:
        """Record the state after a generation; later generations inherit it unless they are recorded."""
        good = np.flatnonzero(population.feasible)
        best = np.full(len(self.rows), np.inf)
        np.minimum.at(best, population.person[good], population.cost[good])
        self.history.best_cost[self.rows, generation:] = best[:, None]
        self.history.feasible[self.rows, generation] = np.bincount(population.person[good], minlength=len(self.rows))

    def store(self, population: Population, columns: PlanColumns) -> None:
        """Write everybody's cheapest feasible plan; ties are broken by length."""
        good = population.take(population.feasible)
        steps = (good.actions != NO_ACTION).sum(axis=1)
        order = np.lexsort((steps, good.cost, good.person))
        people, first = np.unique(good.person[order], return_index=True)
        plans = good.actions[order[first]]
        plans = np.where(plans == self.transitions.stop, NO_ACTION, plans)  # the final STOP is implicit
        rows, width = self.rows[people], min(self.max_actions, plans.shape[1])
        columns.actions[rows, :width] = plans[:, :width]
        columns.verified[rows] = True
        for row in rows.tolist():
            columns.status[row] = Status.FOUND


class _PersonalOracle:
    """Query each state of each person once, and at most `budget` states of each person.

    States that are not known count as refused. `spent` is true once the budget of the black box is exhausted.
    """

    def __init__(self, session: OracleSession, people: int, budget: int | None) -> None:
        self.session, self.box = session, session.box
        self.max_queries = np.inf if budget is None else budget
        self.known: list[dict[bytes, bool]] = [{} for _ in range(people)]
        self.count: Ints = np.zeros(people, np.intp)
        self.spent = False

    def __call__(self, states: Floats, rows: Ints) -> Bools:
        """Whether `states` [n, F] of the people `rows` [n] are known to be favourable."""
        keys = list(zip(rows.tolist(), self.session.keys(states, rows), strict=True))
        first: dict[tuple[int, bytes], int] = {}
        for i, (row, key) in enumerate(keys):
            if key not in self.known[row] and (row, key) not in first and self.count[row] < self.max_queries:
                first[row, key] = i
                self.count[row] += 1
        fresh = np.fromiter(first.values(), np.intp, len(first))
        try:
            answers, is_known = self.session(states[fresh], rows[fresh]), np.ones(len(fresh), bool)
        except QueryBudgetExceeded as stop:
            answers, is_known, self.spent = stop.answers, stop.known, True
        np.subtract.at(self.count, rows[fresh[~is_known]], 1)
        for (row, key), answer, known in zip(first, answers.tolist(), is_known.tolist(), strict=True):
            if known:
                self.known[row][key] = answer
        return np.array([self.known[row].get(key, False) for row, key in keys], bool)


def generator_of(seed: int, state: Floats) -> np.random.Generator:
    """Random generator of a person in `state` [F], independent of other people."""
    plain = np.where(np.isnan(state), np.nan, state + 0.0)  # canonical NaN and zero
    digest = hashlib.blake2b(plain.tobytes(), digest_size=16).digest()
    return np.random.default_rng([seed, *np.frombuffer(digest, "<u4").tolist()])


def _undominated() -> Callable[[Floats], Ints]:
    """pymoo's non-dominated sorting: indices [k] of undominated points [n, 2]."""
    try:
        from pymoo.util.nds.non_dominated_sorting import find_non_dominated
    except ImportError as error:
        raise SettingError("planner 'evolution' requires pymoo: pip install 'counterplan[experiments]'") from error
    found: Callable[[Floats], Ints] = find_non_dominated
    return found
