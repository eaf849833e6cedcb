"""The evolutionary baseline: plans written as random keys and bred, for each person from scratch.

Consequence-aware sequential counterfactuals (CSCF): a biased random-key genetic algorithm with two objectives, little
cost and much diversity. All people of a group are bred side by side in arrays; pymoo finds who is not dominated.
Letters: B people, P candidates of each, W functions with STOP, n candidates of anybody.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, NamedTuple

import numpy as np

from counterplan.blackbox import BlackBox, BudgetSpent, Questions
from counterplan.errors import PlanError
from counterplan.paths.orders import NO_ACTION
from counterplan.plan import Status
from counterplan.planners.base import Planner, Progress, Result, is_whole
from counterplan.problem import People, Problem
from counterplan.problem.transitions import Bools, Floats, Ints, Transitions

ACTIVE = 0.5
"""A function whose order key is at most this is part of the plan."""
FAILED = 100.0
"""What a step costs that is not legal, and every step after it."""
INFEASIBLE = 10.0
"""What the cost of a plan is multiplied with that does not lead to a favourable state."""
_DECIMALS = 9
"""Objectives are rounded to so many decimals, so that no two candidates differ by the order of a sum alone."""


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

    def search(self, people: People, allowed: Bools, budget: int | None, progress: Progress) -> Result:
        """See `Planner.search`."""
        result = Result.empty(len(people), self.problem.max_actions)
        self.history_ = History.empty(len(people), self.settings.generations)
        asking = _Asking(self.box.about(self.problem, people), len(people), budget)
        for first in range(0, len(people), self.settings.together):
            rows = np.arange(first, min(first + self.settings.together, len(people)))
            if budget != 0 and not asking.spent:
                _Group(self, people.states[rows], allowed[rows], asking, rows, result).run()
            progress(len(rows))
        result.questions = asking.count
        return result


class Candidates(NamedTuple):
    """Plans as they are bred: whose [n], random keys [n, 2W], actions [n, W], the objectives [n] and outcome [n]."""

    person: Ints
    genes: Floats
    actions: Ints
    cost: Floats
    diversity: Floats
    feasible: Bools

    def take(self, which: Ints | Bools) -> Candidates:
        """Some of them."""
        person, genes, actions, cost, apart, feasible = self
        return Candidates(person[which], genes[which], actions[which], cost[which], apart[which], feasible[which])


class _Group:
    """The evolution for some people at once."""

    def __init__(
        self, planner: EvolutionPlanner, starts: Floats, allowed: Bools, asking: _Asking, rows: Ints, result: Result
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
            pool = without_copies(_join(pool.take(front), fresh))
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

    def __init__(self, questions: Questions, people: int, budget: int | None) -> None:
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
        except BudgetSpent as stop:
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


def decode(transitions: Transitions, genes: Floats) -> Ints:
    """The plans [n, W], filled up with NO_ACTION, that random keys [n, 2W] stand for: W order keys, W value keys.

    Active functions come in the order of their keys, each at most once; the value keys belong to the positions of the
    plan, and choose among all arguments of what stands there.
    """
    order, value = np.split(genes, 2, axis=1)
    function = np.argsort(order, axis=1, kind="stable")
    active = np.take_along_axis(order, function, axis=1) <= ACTIVE
    sizes = np.bincount(transitions.function_of)
    starts = np.cumsum(sizes) - sizes
    argument = np.minimum((value * sizes[function]).astype(np.intp), sizes[function] - 1)
    return np.where(active, starts[function] + argument, NO_ACTION)


def well_formed(transitions: Transitions, actions: Ints) -> Bools:
    """Which plans [n, W] end with STOP; an empty one does not."""
    length = (actions != NO_ACTION).sum(axis=1)
    ended: Bools = (actions[np.arange(len(actions)), length - 1] == transitions.stop) & (length > 0)
    return ended


def evaluate(
    problem: Problem, starts: Floats, allowed: Bools, genes: Floats, ask: Callable[[Floats, Ints], Bools]
) -> Candidates:
    """The candidates of refused people in `starts` [B, F] that have these `genes` [B, P, 2W].

    `ask` is told states [n, F] and whose they are [n]: where well-formed, legal plans lead, if that is anywhere new. A
    plan that is not known to be favourable costs ten times as much.
    """
    people, size, _ = genes.shape
    person, genes = np.repeat(np.arange(people), size), genes.reshape(people * size, -1)
    actions = decode(problem.transitions, genes)
    trails = follow(problem.transitions, starts, person, actions, allowed, problem.max_actions)
    asked = np.flatnonzero(well_formed(problem.transitions, actions) & trails.legal & trails.moved)
    favourable = np.zeros(len(person), bool)
    favourable[asked] = ask(trails.states[asked], person[asked])
    cost = np.round(trails.prices.sum(axis=1) * np.where(favourable, 1.0, INFEASIBLE), _DECIMALS)
    apart = diversity(problem.transitions, trails.trail.reshape(people, size, *trails.trail.shape[1:]))
    return Candidates(person, genes, actions, cost, apart.ravel(), favourable)


class Trails(NamedTuple):
    """Where plans lead: final states [n, F], what each position costs [n, W], whether all of it is legal [n] and
    leads away [n], and the changeable features after each position [n, W, M]."""

    states: Floats
    prices: Floats
    legal: Bools
    moved: Bools
    trail: Floats


def follow(
    transitions: Transitions, starts: Floats, person: Ints, actions: Ints, allowed: Bools, longest: int
) -> Trails:
    """Take the `actions` [n, W] of each `person` [n] from `starts` [B, F], as far as they are legal.

    Nothing is legal that is not `allowed` [B, A], or comes after `longest` steps. What is not stops the plan: it and
    all that would follow cost 100 each.
    """
    states = starts[person]
    mutable = transitions.mutable
    prices = np.zeros(actions.shape)
    legal = np.ones(len(actions), bool)
    steps = np.zeros(len(actions), np.intp)
    trail = np.empty((*actions.shape, len(mutable)))
    for t in range(actions.shape[1]):
        there = actions[:, t] != NO_ACTION
        prices[there & ~legal, t] = FAILED
        rows = np.flatnonzero(there & legal)
        chosen = actions[rows, t]
        after, cost, possible = transitions.step(states[rows], chosen)
        steps[rows] += chosen != transitions.stop
        possible &= allowed[person[rows], chosen] & (steps[rows] <= longest)
        prices[rows, t] = np.where(possible, cost, FAILED)
        states[rows[possible]] = after[possible]
        legal[rows[~possible]] = False
        trail[:, t] = states[:, mutable]
    before = starts[person]
    moved = ((states != before) & ~(np.isnan(states) & np.isnan(before))).any(axis=1)
    return Trails(states, prices, legal, moved, trail)


def diversity(transitions: Transitions, trail: Floats) -> Floats:
    """[B, P] how far the way of each candidate is from those of the others: the sum of their Gower distances.

    `trail` [B, P, W, M] has the changeable features after each position. The distance of two is the mean over
    positions and features of: for numbers, the difference as a share of the range that the batch has; for categories,
    whether they differ.
    """
    numbers = [transitions.features[i].is_number for i in transitions.mutable]
    total = _differing(trail[..., [not number for number in numbers]])
    for column in np.flatnonzero(numbers):
        total += _differences(trail[..., column])
    return np.round(total / np.prod(trail.shape[2:]), _DECIMALS)


def _differing(values: Floats) -> Floats:
    """[B, P] over positions and features, how many other candidates have another of the categories [B, P, W, M]."""
    people, size, width, count = values.shape
    code = np.where(np.isnan(values), -1, values).astype(np.intp) + 1
    kinds = int(code.max(initial=0)) + 1
    code += kinds * np.arange(width * count).reshape(width, count)
    code += kinds * width * count * np.arange(people)[:, None, None, None]
    same = np.bincount(code.ravel())[code] if code.size else code
    return np.asarray((size - same).sum(axis=(2, 3)), float)


def _differences(values: Floats) -> Floats:
    """[B, P] over positions, how far numbers [B, P, W] are from those of the other candidates, in ranges.

    A missing one is as far from a known one as can be. In order of size, sums of differences follow from sums.
    """
    size = values.shape[1]
    known = ~np.isnan(values)
    low = np.where(known, values, np.inf).min(axis=(1, 2), keepdims=True)
    spread = np.where(known, values, -np.inf).max(axis=(1, 2), keepdims=True) - low
    shares = np.divide(values - low, spread, out=np.where(known, 0.0, np.nan), where=known & (spread > 0))
    shares = np.ascontiguousarray(shares.swapaxes(1, 2))
    order = np.argsort(shares, axis=2, kind="stable")  # missing ones last
    ordered = np.nan_to_num(np.take_along_axis(shares, order, axis=2))
    upto = np.cumsum(ordered, axis=2)
    there = known.sum(axis=1)[:, :, None]
    rank = np.arange(size)
    apart = ordered * (2 * rank + 2 - there) - 2 * upto + upto[:, :, -1:] + (size - there)
    result = np.empty_like(shares)
    np.put_along_axis(result, order, np.where(rank < there, apart, there), axis=2)
    return np.asarray(result.sum(axis=1), float)


def breed(pool: Candidates, elite: Bools, drawn: Floats, bias: float) -> Floats:
    """Genes [B, K, 2W] of children, each of an elite and of another candidate of the same person.

    Of the random numbers `drawn` [B, K, 2 + 2W], two choose the parents and the others from whom each gene comes. If
    all candidates are of one sort, both parents are.
    """
    order = np.lexsort((~elite, pool.person))
    count = np.bincount(pool.person, minlength=len(drawn))
    first = np.cumsum(count) - count
    elites = np.bincount(pool.person[elite], minlength=len(drawn))
    others = count - elites
    noble = first + np.where(elites, 0, elites), np.where(elites, elites, others)
    common = first + np.where(others, elites, 0), np.where(others, others, elites)
    parents = [
        pool.genes[order[start[:, None] + (drawn[:, :, i] * size[:, None]).astype(np.intp)]]
        for i, (start, size) in enumerate((noble, common))
    ]
    children: Floats = np.where(drawn[:, :, 2:] < bias, *parents)
    return children


def without_copies(pool: Candidates) -> Candidates:
    """The candidates in the order of people, and of those alike in both objectives and outcome only the first."""
    order = np.lexsort((pool.feasible, pool.diversity, pool.cost, pool.person))
    same = np.ones(len(order), bool)
    same[:1] = False
    for column in (pool.person, pool.cost, pool.diversity, pool.feasible):
        same[1:] &= column[order[1:]] == column[order[:-1]]
    kept = np.sort(order[~same])
    return pool.take(kept[np.argsort(pool.person[kept], kind="stable")])


def _join(*parts: Candidates) -> Candidates:
    return Candidates(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _undominated() -> Callable[[Floats], Ints]:
    """pymoo's way to find the points [k] of [n, 2] that no other one is better than in everything."""
    try:
        from pymoo.util.nds.non_dominated_sorting import find_non_dominated
    except ImportError as error:
        raise PlanError("the planner 'evolution' needs pymoo; pip install 'counterplan[experiments]'") from error
    found: Callable[[Floats], Ints] = find_non_dominated
    return found
