"""The evolutionary baseline: plans written as random keys and bred, for each person from scratch.

Consequence-aware sequential counterfactuals (CSCF): a biased random-key genetic algorithm with two objectives, little
cost and much diversity. All people of a group are bred side by side in arrays; pymoo finds who is not dominated.
Here are the generations and what is asked; what genes mean and what becomes of them is in `breeding`, with its letters.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np

from counterplan.blackbox import BlackBox, OracleSession, QueryBudgetExceeded
from counterplan.errors import PlanError
from counterplan.planners.base import PlanColumns, Planner, Progress, is_whole
from counterplan.planners.genetics import Candidates, breed, evaluate, join, without_copies
from counterplan.plans import Status
from counterplan.problem import People, Problem
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.search.orders import NO_ACTION


@dataclass(frozen=True)
class EvolutionSettings:
    """How candidates are bred. `EvolutionSettings.preset("small")` breeds fewer, as the paper's second setting does."""

    generations: int = 50
    population: int = 200
    """Candidates evaluated in each generation."""
    offspring: float = 0.8
    """The share of a generation that has parents; the others are random."""
    bias: float = 0.7
    """The chance that a gene comes from the elite parent."""
    together: int = 32
    """People bred for at the same time."""

    def __post_init__(self) -> None:
        for name in ("generations", "population", "together"):
            value = getattr(self, name)
            if not is_whole(value, 1):
                raise PlanError(f"'{name}' is a whole number, 1 or more, not {value!r}")
        for name in ("offspring", "bias"):
            value = getattr(self, name)
            number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
            if not (number and 0 <= value <= 1):
                raise PlanError(f"'{name}' is a share, from 0 to 1, not {value!r}")

    @classmethod
    def preset(cls, name: str) -> EvolutionSettings:
        """The settings called "large", the default, or "small": 25 generations of 100."""
        if name == "large":
            return cls()
        if name == "small":
            return cls(generations=25, population=100)
        raise PlanError(f"there are no settings of evolution called {name!r}; there are large and small")


@dataclass(frozen=True)
class History:
    """What became of the B people last searched for, in each of G generations."""

    asked: Ints
    """[B, G] candidates, well-formed and legal, whose end the black box or its memory was asked about."""
    questions: Ints
    """[B, G] different states among them that had not been asked about for this person before."""
    feasible: Ints
    """[B, G] candidates that lead to a favourable state, elites of before included."""
    best: Floats
    """[B, G] the cost of the cheapest of these; infinite if there are none."""
    rows: Ints
    """[G] rows that were sent to the model for all people together, by its meter."""

    @classmethod
    def empty(cls, people: int, generations: int) -> History:
        """Nothing has happened yet."""
        asked, questions, feasible = np.zeros((3, people, generations), np.intp)
        best = np.full((people, generations), np.inf)
        return cls(asked, questions, feasible, best, np.zeros(generations, np.intp))


class EvolutionPlanner(Planner):
    """Breeds plans for low cost and diversity; gives the cheapest favourable one that it came across.

    `settings` is an EvolutionSettings or a preset's name. A person's random numbers follow from `seed` and their own
    state, so nobody's plan depends on who else is planned for.
    """

    name: ClassVar[str] = "evolution"

    def __init__(
        self, problem: Problem, box: BlackBox | object, *, settings: EvolutionSettings | str = "large", seed: int = 0
    ) -> None:
        super().__init__(problem, box)
        self.settings = EvolutionSettings.preset(settings) if isinstance(settings, str) else settings
        if not is_whole(seed):
            raise PlanError(f"the seed is a whole number, zero or more, not {seed!r}")
        self.seed = int(seed)
        self.undominated = _undominated()
        self.history_: History | None = None

    def search(self, people: People, allowed: Bools, budget: int | None, progress: Progress) -> PlanColumns:
        """See `Planner.search`."""
        result = PlanColumns.empty(len(people), self.problem.max_actions)
        self.history_ = History.empty(len(people), self.settings.generations)
        asking = _Asking(self.box.session(self.problem, people), len(people), budget)
        for first in range(0, len(people), self.settings.together):
            rows = np.arange(first, min(first + self.settings.together, len(people)))
            if budget != 0 and not asking.spent:
                _Group(self, people.states[rows], allowed[rows], asking, rows, result).run()
            progress(len(rows))
        result.queries = asking.count
        return result

    @property
    def asked_again(self) -> int:
        """See `Planner.asked_again`: here, candidates that end where one of before did."""
        return 0 if self.history_ is None else int((self.history_.asked - self.history_.questions).sum())


class _Group:
    """The evolution for some people at once."""

    def __init__(
        self,
        planner: EvolutionPlanner,
        starts: Floats,
        allowed: Bools,
        asking: _Asking,
        rows: Ints,
        result: PlanColumns,
    ) -> None:
        assert planner.history_ is not None
        self.planner, self.settings, self.history = planner, planner.settings, planner.history_
        self.transitions, self.longest = planner.problem.transitions, planner.problem.max_actions
        self.starts, self.allowed, self.asking, self.rows, self.result = starts, allowed, asking, rows, result
        self.random = [generator_of(planner.seed, start) for start in starts]

    def run(self) -> None:
        """Breed generation after generation, and give everybody the best of the last one."""
        drawn = self.draw()
        pool = self.evaluate(drawn[:, :, 2:], 0)
        self.note(pool, 0)
        front = self.front(pool)
        elite: Bools = drawn[:, :, 0].ravel() < 0.5  # the first parents are elites by chance
        for generation in range(1, self.settings.generations):
            if self.asking.spent:
                break
            drawn = self.draw()
            genes = drawn[:, :, 2:]
            bred = round(self.settings.offspring * self.settings.population)
            genes[:, :bred] = breed(pool, elite, drawn[:, :bred], self.settings.bias)
            fresh = self.evaluate(genes, generation)
            pool = without_copies(join(pool.take(front), fresh))
            elite = front = self.front(pool)
            self.note(pool, generation)
        self.settle(pool)

    def draw(self) -> Floats:
        """[B, P, 2 + 2W] random numbers, everybody's from their own stream: for two parents, and for genes."""
        width = 2 + 2 * (len(self.transitions.functions) + 1)
        return np.stack([random.random((self.settings.population, width)) for random in self.random])

    def evaluate(self, genes: Floats, generation: int) -> Candidates:
        """The candidates with these `genes` [B, P, 2W], with what asking about them took written down."""
        before, sent = self.asking.count[self.rows], self.asking.box.queries

        def ask(states: Floats, person: Ints) -> Bools:
            self.history.asked[self.rows, generation] = np.bincount(person, minlength=len(self.rows))
            return self.asking(states, self.rows[person])

        fresh = evaluate(self.planner.problem, self.starts, self.allowed, genes, ask)
        self.history.questions[self.rows, generation] = self.asking.count[self.rows] - before
        self.history.rows[generation] += self.asking.box.queries - sent
        return fresh

    def front(self, pool: Candidates) -> Bools:
        """The elites [n]: of each person's feasible candidates, or of all if none is, those that nobody dominates."""
        hopeful = np.zeros(len(self.rows), bool)
        hopeful[pool.person[pool.feasible]] = True
        rated = np.flatnonzero(pool.feasible | ~hopeful[pool.person])
        objectives = np.stack([pool.cost, -pool.diversity], axis=1)[rated]
        ends = np.searchsorted(pool.person[rated], np.arange(len(self.rows) + 1))
        elite = np.zeros(len(pool.person), bool)
        for first, last in pairwise(ends.tolist()):
            elite[rated[first + self.planner.undominated(objectives[first:last])]] = True
        return elite

    def note(self, pool: Candidates, generation: int) -> None:
        """Write down how far things are after a generation; if it is the last, that is how they stay."""
        good = np.flatnonzero(pool.feasible)
        best = np.full(len(self.rows), np.inf)
        np.minimum.at(best, pool.person[good], pool.cost[good])
        self.history.best[self.rows, generation:] = best[:, None]
        self.history.feasible[self.rows, generation] = np.bincount(pool.person[good], minlength=len(self.rows))

    def settle(self, pool: Candidates) -> None:
        """Everybody's cheapest feasible plan; of equals the shorter one."""
        good = pool.take(pool.feasible)
        steps = (good.actions != NO_ACTION).sum(axis=1)
        order = np.lexsort((steps, good.cost, good.person))
        people, first = np.unique(good.person[order], return_index=True)
        plans = good.actions[order[first]]
        plans = np.where(plans == self.transitions.stop, NO_ACTION, plans)  # STOP comes last, and is understood
        rows, width = self.rows[people], min(self.longest, plans.shape[1])
        self.result.actions[rows, :width] = plans[:, :width]
        self.result.verified[rows] = True
        for row in rows.tolist():
            self.result.status[row] = Status.FOUND


class _Asking:
    """Asks about each state of each person once, and about no more of them than `budget` says.

    What is not known counts as refused. `spent` is true once the black box may be asked nothing any more.
    """

    def __init__(self, questions: OracleSession, people: int, budget: int | None) -> None:
        self.questions, self.box = questions, questions.box
        self.most = np.inf if budget is None else budget
        self.known: list[dict[bytes, bool]] = [{} for _ in range(people)]
        self.count: Ints = np.zeros(people, np.intp)
        self.spent = False

    def __call__(self, states: Floats, rows: Ints) -> Bools:
        """Whether `states` [n, F] of the people `rows` [n] are known to be favourable."""
        named = list(zip(rows.tolist(), self.questions.keys(states, rows), strict=True))
        first: dict[tuple[int, bytes], int] = {}
        for i, (row, key) in enumerate(named):
            if key not in self.known[row] and (row, key) not in first and self.count[row] < self.most:
                first[row, key] = i
                self.count[row] += 1
        fresh = np.fromiter(first.values(), np.intp, len(first))
        try:
            answers, told = self.questions(states[fresh], rows[fresh]), np.ones(len(fresh), bool)
        except QueryBudgetExceeded as stop:
            answers, told, self.spent = stop.answers, stop.known, True
        np.subtract.at(self.count, rows[fresh[~told]], 1)
        for (row, key), answer, known in zip(first, answers.tolist(), told.tolist(), strict=True):
            if known:
                self.known[row][key] = answer
        return np.array([self.known[row].get(key, False) for row, key in named], bool)


def generator_of(seed: int, state: Floats) -> np.random.Generator:
    """The random numbers of a person in `state` [F]: the same whoever else is there."""
    plain = np.where(np.isnan(state), np.nan, state + 0.0)  # one NaN, one zero
    digest = hashlib.blake2b(plain.tobytes(), digest_size=16).digest()
    return np.random.default_rng([seed, *np.frombuffer(digest, "<u4").tolist()])


def _undominated() -> Callable[[Floats], Ints]:
    """pymoo's way to find the points [k] of [n, 2] that no other one is better than in everything."""
    try:
        from pymoo.util.nds.non_dominated_sorting import find_non_dominated
    except ImportError as error:
        raise PlanError("the planner 'evolution' needs pymoo; pip install 'counterplan[experiments]'") from error
    found: Callable[[Floats], Ints] = find_non_dominated
    return found
