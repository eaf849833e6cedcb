"""Plans from a surrogate: states in order of cost, and questions only where they pay.

The world is known — actions, preconditions, costs — and only the goal test, the black box, is dear. So states are
enumerated without asking, and the next question goes to the one with the largest chance × saving.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Integral, Real

import numpy as np

from counterplan.blackbox import MeteredOracle
from counterplan.errors import PlanError
from counterplan.problem import Problem
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.search.change_sets import ChangeSetSettings, Hints, propose
from counterplan.search.frontier import Frontier, Labels
from counterplan.search.orders import NO_ACTION
from counterplan.surrogate.pool import Pool

Logit = Callable[[Floats], Floats]
"""The log odds [n] that states [n, F] are favourable, as somebody believes; wrong ones only cost questions."""

_LARGEST_LOGIT = 500.0
_TINY = 1e-6
_EVERYTHING = slice(None)


@dataclass(frozen=True)
class GuideSettings:
    """How questions are chosen. With price 0, no limit of questions and enough states, plans are proved optimal."""

    price: float | None = None
    """What a question costs in units of effort: a smaller gain is not worth one. None: `share` of the plan's cost."""
    share: float = 0.015
    sure: float = 0.9
    """The chance from which on a state is believed to be favourable."""
    questions: int | None = 10
    """Most questions about one person, unless a budget says less."""
    steps: int | None = 460_000
    """Most steps (states × actions) looked at for one person; beyond them, sets of changes are considered."""
    together: int = 3_200
    """People × actions planned for at the same time."""
    sets: ChangeSetSettings = field(default_factory=ChangeSetSettings)

    def __post_init__(self) -> None:
        for name in ("price", "share"):
            value = getattr(self, name)
            if not ((_is_number(value) and value >= 0) or (name == "price" and value is None)):
                raise PlanError(f"'{name}' is what a question costs, zero or more, not {value!r}")
        if not (_is_number(self.sure) and 0 < self.sure <= 1):
            raise PlanError(f"'sure' is a chance, above 0 and at most 1, not {self.sure!r}")
        for name, least in (("questions", 0), ("steps", 1), ("together", 1)):
            value = getattr(self, name)
            if value is None and name != "together":
                continue
            if not (isinstance(value, Integral) and int(value) >= least):
                way_out = "" if name == "together" else ", or None for no limit"
                raise PlanError(f"'{name}' is a whole number, {least} or more{way_out}; not {value!r}")


@dataclass
class Guided:
    """What was found for B people: plans [B, T] filled up with NO_ACTION, costs [B] (infinite: none)."""

    actions: Ints
    cost: Floats
    verified: Bools
    lower_bound: Floats
    """[B] no plan costs less; infinite if it is proved that there is none."""
    questions: Ints

    @classmethod
    def nothing(cls, people: int, longest: int) -> Guided:
        """Nothing found yet."""
        return cls(
            np.full((people, longest), NO_ACTION, np.intp), np.full(people, np.inf), np.zeros(people, bool),
            np.zeros(people), np.zeros(people, np.intp),
        )  # fmt: skip


def guide(
    problem: Problem, states: Floats, allowed: Bools, logit: Logit, ask: MeteredOracle, settings: GuideSettings,
    budget: int | None = None, progress: Callable[[int], None] = lambda done: None, hints: Hints | None = None,
) -> Guided:  # fmt: skip
    """Plans for refused people in `states` [B, F], who may take the actions `allowed` [B, A].

    `hints` of what worked for others help people whose states are too many to enumerate.
    """
    logit = _checked(logit)
    most = settings.questions if budget is None else budget
    found = Guided.nothing(len(states), problem.max_actions)
    together = max(1, settings.together // len(problem.transitions))
    for first in range(0, len(states), together):
        rows = np.arange(first, min(first + together, len(states)))
        _Group(problem, states[rows], allowed[rows], logit, ask, settings, most, rows, found, hints).run()
        progress(len(rows))
    return found


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _checked(logit: Logit) -> Logit:
    """The same, but whatever is not one number for each state is said to be wrong."""

    def checked(states: Floats) -> Floats:
        said = logit(states)
        try:
            odds = np.asarray(said, float)
        except (TypeError, ValueError):
            kind = type(said).__name__
            raise PlanError(f"the surrogate gives log odds, one number for each state, not {kind}") from None
        if odds.shape != (len(states),):
            raise PlanError(
                f"the surrogate gives log odds, one number for each state; for {len(states):,} states it gave an array "
                f"of shape {odds.shape}"
            )
        return odds

    return checked


class _Group:
    """The search for some people at once: grow, ask one question each, and again."""

    def __init__(
        self,
        problem: Problem,
        states: Floats,
        allowed: Bools,
        logit: Logit,
        ask: MeteredOracle,
        settings: GuideSettings,
        most: int | None,
        rows: Ints,
        found: Guided,
        hints: Hints | None,
    ) -> None:
        count = len(rows)
        self.problem, self.logit, self.ask, self.settings = problem, logit, ask, settings
        self.rows, self.found, self.hints = rows, found, hints
        self.most = np.iinfo(np.intp).max if most is None else most
        self.limit = None if settings.steps is None else max(1, settings.steps // len(problem.transitions))
        """Most states enumerated for one person, if there is a limit."""
        self.frontier = Frontier(problem, states, allowed)
        self.pool = Pool(self.frontier)
        self.cost = np.full(count, np.inf)
        """[B] of the cheapest plan that was confirmed."""
        self.target = np.full(count, np.inf)
        """[B] what a plan has to undercut: the confirmed cost, or a guess; infinite as long as nobody can guess."""
        self.best_value = np.zeros(count)
        """[B] chance × saving of the best question there is."""
        self.floor = np.zeros(count)
        """[B] no state that was not enumerated costs less."""
        self.seen = np.zeros(count, np.intp)
        self.full = np.zeros(count, bool)
        """[B] whose states are too many: all that may be were enumerated, or more lie ahead at once than may be."""
        self.asked = np.zeros(count, np.intp)
        self.proposed = np.zeros(count, bool)
        self.active = np.ones(count, bool)

    def run(self) -> None:
        """Until nothing is worth asking any more."""
        while self.active.any():
            self.grow()
            self.propose()
            if not self.most:
                self.believe()
                break
            self.question()
        self.conclude()

    def grow(self) -> None:
        """Enumerate states, cheapest first, until everybody's best question is known or their states are too many."""
        frontier = self.frontier
        frontier.done = ~self.active
        frontier.growing = self.hungry() & ~self.full
        frontier.wake()
        while frontier.growing.any():
            frontier.room = None if self.limit is None else self.limit - self.seen
            labels = frontier.advance()
            growing = frontier.growing
            self.floor[growing] = np.maximum(self.floor[growing], frontier.reached)
            if labels is None:
                break
            self.add(labels.where(labels.cost * frontier.unit < self.cost[labels.person]))
            if self.limit is not None:
                self.full |= frontier.cut | (self.seen >= self.limit)
            frontier.growing = growing & self.hungry() & ~self.full

    def hungry(self) -> Bools:
        """[B] for whom a state not seen yet might be worth more than the best question known."""
        wants: Bools = self.active & np.isfinite(self.floor)
        hope = self.target[wants] - self.floor[wants]
        wants[wants] = hope > np.maximum(self.best_value, self.price())[wants]
        return wants

    def price(self) -> Floats:
        """[B] what a question costs; to whoever has no plan yet, nothing."""
        price = np.zeros(len(self.cost))
        known = np.isfinite(self.cost)
        price[known] = self.settings.share * self.cost[known] if self.settings.price is None else self.settings.price
        return price

    def add(self, labels: Labels) -> None:
        """Put states that were enumerated into the pool; the first that is surely favourable sets a target."""
        if not len(labels):
            return
        self.seen += np.bincount(labels.person, minlength=len(self.seen))
        self.into_pool(labels, self.logit(self.frontier.full_states(labels)))
        aimless = np.isinf(self.target)
        if aimless.any():
            self.aim(aimless)
        newer = slice(len(self.pool) - len(labels), len(self.pool))
        self.best_value = np.maximum(self.best_value, self.values(newer))

    def into_pool(self, labels: Labels, odds: Floats) -> None:
        self.pool.add(labels, np.clip(np.nan_to_num(odds), -_LARGEST_LOGIT, _LARGEST_LOGIT))

    def aim(self, people: Bools, guess: bool = False) -> None:
        """Set the target of `people` [B] who have no plan to twice the cost of their cheapest sure state.

        Where there is none, it is set, as a `guess`, to twice the cost of the likeliest one.
        """
        pool, people = self.pool, people & np.isinf(self.cost)
        mine = pool.open & people[pool.person]
        target = np.full(len(people), np.inf)
        sure = mine & (pool.chance >= self.settings.sure)
        np.minimum.at(target, pool.person[sure], 2 * pool.cost[sure] + _TINY)
        if guess:
            at = pool.best(np.where(mine & np.isinf(target)[pool.person], pool.odds, -np.inf))
            target[pool.person[at]] = 2 * pool.cost[at] + _TINY
        self.target[people] = target[people]
        self.best_value[people] = self.values(_EVERYTHING)[people]

    def values(self, part: slice) -> Floats:
        """[B] the largest worth in a `part` of the pool."""
        best = np.zeros(len(self.cost))
        np.maximum.at(best, self.pool.person[part], self.worth(part))
        return best

    def worth(self, part: slice) -> Floats:
        """[n] chance × saving in a `part` of the pool; nothing for what was asked, or whose person has no target."""
        pool = self.pool
        target = np.where(np.isinf(self.target), 0.0, self.target)[pool.person[part]]
        return pool.open[part] * pool.chance[part] * np.maximum(target - pool.cost[part], 0.0)

    def propose(self) -> None:
        """For those whose states are too many: sets of changes that the surrogate believes in."""
        people = np.flatnonzero(self.hungry() & ~self.proposed & self.full)
        if not len(people):
            return
        self.proposed[people] = True
        starts, allowed = self.frontier.starts[people], self.frontier.allowed[people]
        hints = self.hints._asdict() if self.hints else {}
        made = propose(self.problem, starts, allowed, self.logit, self.settings.sets, **hints)
        labels = self.frontier.labels(people[made.person], made.actions, made.states, made.cost)
        fresh = ~self.frontier.look_up(labels.key)[0]
        self.into_pool(labels.take(fresh), made.logit[fresh])
        again = np.zeros(len(self.active), bool)
        again[people] = True
        self.aim(again)
        self.best_value = self.values(_EVERYTHING)

    def question(self) -> None:
        """Ask everybody's best question; whoever has none that is worth its price is done."""
        self.aim(self.active & np.isinf(self.target), guess=True)
        worth = self.worth(_EVERYTHING)
        worth[~self.active[self.pool.person]] = 0.0
        last = np.isinf(self.cost) & (self.asked > 0) & (self.asked == self.most - 1)
        score = np.where(last[self.pool.person], self.pool.odds, worth)  # a last chance goes to the likeliest
        at = self.pool.best(np.where(worth > 0, score, -np.inf))
        person = self.pool.person[at]
        wanted = (worth[at] > self.price()[person]) & (self.asked[person] < self.most)
        at, person = at[wanted], person[wanted]
        growing = np.isinf(self.cost) & np.isfinite(self.floor) & ~self.full
        self.active &= growing & (self.asked < self.most)
        self.active[person] = True
        if len(at):
            favourable, known = self.ask.query(self.frontier.full_states(self.pool.labels(at)), self.rows[person])
            self.asked[person[known]] += 1
            self.pool.open[at[known]] = False
            self.keep(at[favourable])
            self.pool.drop(self.cost)
            self.active &= not self.ask.exhausted
        self.aim(self.active)
        self.best_value = self.values(_EVERYTHING)

    def keep(self, at: Ints) -> None:
        """The plans that lead to these states of the pool are the best so far."""
        if len(at):
            person = self.pool.person[at]
            self.found.actions[self.rows[person]] = self.frontier.actions(self.pool.labels(at))
            self.cost[person] = self.target[person] = self.pool.cost[at]

    def believe(self) -> None:
        """Without a question: the cheapest state that is sure, or else the likeliest one that is likely."""
        pool = self.pool
        self.keep(pool.best(np.where(pool.chance >= 0.5, pool.odds, -np.inf)))
        self.keep(pool.best(np.where(pool.chance >= self.settings.sure, -pool.cost, -np.inf)))

    def conclude(self) -> None:
        """Write down costs, bounds and counts."""
        rows, found, pool = self.rows, self.found, self.pool
        found.cost[rows] = self.cost
        found.questions[rows] = self.asked
        found.verified[rows] = np.isfinite(self.cost) & (self.most > 0)
        bound = self.floor.copy()
        np.minimum.at(bound, pool.person[pool.open], pool.cost[pool.open])
        found.lower_bound[rows] = np.minimum(bound, self.cost)
