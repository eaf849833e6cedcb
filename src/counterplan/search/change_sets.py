"""Promising plans where there are too many states to enumerate: a plan is a set of changes, found by a surrogate.

Backward from everything at its best, dropping what costs much and matters little; forward, a beam; then the best are
polished. Nobody is asked: what is worth a question is for the caller to choose.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from counterplan.problem import Problem
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.search.changes import Changes, Followed
from counterplan.search.orders import NO_ACTION

Logit = Callable[[Floats], Floats]

_LARGEST = 500.0
_SLACK = 0.3
"""Added to the logit that a change brings, so that one that brings next to nothing is not worth everything."""


@dataclass(frozen=True)
class ChangeSetSettings:
    """How widely sets of changes are searched for each person."""

    most: int = 48
    """Plans handed back for one person."""
    beam: int = 8
    wide: int = 24
    """Changes tried on each plan of the beam, and on each plan that is polished."""
    anchors: int = 2
    """Favourable states, the nearest ones, from which changes are dropped too."""
    rounds: int = 6
    """Times that the best plans are polished, or, if none is sure, improved."""
    sure: float = 2.2
    """The logit from which on a state is believed to be favourable."""


class Candidates(NamedTuple):
    """Legal plans of people: whose [n], actions [n, T] filled with NO_ACTION, cost [n], final states, their logit."""

    person: Ints
    actions: Ints
    cost: Floats
    states: Floats
    logit: Floats

    def take(self, which: Ints | Bools) -> Candidates:
        """Some of them."""
        person, actions, cost, states, logit = self
        return Candidates(person[which], actions[which], cost[which], states[which], logit[which])

    @property
    def steps(self) -> Ints:
        """[n] how many actions each has."""
        return np.asarray((self.actions != NO_ACTION).sum(axis=1), np.intp)


class Hints(NamedTuple):
    """What worked for others: favourable states [n, F], and plans [K, T] filled with NO_ACTION."""

    anchors: Floats
    examples: Ints


def propose(
    problem: Problem, starts: Floats, allowed: Bools, logit: Logit, settings: ChangeSetSettings | None = None, *,
    anchors: Floats | None = None, examples: Ints | None = None,
) -> Candidates:  # fmt: skip
    """Plans of people in `starts` [B, F] that are promising by `logit`, each person's best first; asks nobody.

    Only `allowed` [B, A] actions are taken. `anchors` [n, F] are states known to be favourable, `examples` [K, T] plans
    that worked for others.
    """
    search = _Search(problem, starts, allowed, logit, settings or ChangeSetSettings())
    if len(starts) and search.changes.reachable.any():
        if examples is not None and len(examples):
            search.imitate(examples)
        search.backward(anchors)
        search.forward()
        search.climb()
        search.polish()
    return search.found


def best_states(problem: Problem, starts: Floats, allowed: Bools, logit: Logit) -> Floats:
    """The states [B, F] of people in `starts` [B, F] when every change is made that `logit` favours, however many."""
    search = _Search(problem, starts, allowed, logit, ChangeSetSettings())
    return search.best().states if len(starts) else starts


class _Search:
    """The search for some people at once; whatever it comes across and may be of use is in `found`."""

    def __init__(
        self, problem: Problem, starts: Floats, allowed: Bools, logit: Logit, settings: ChangeSetSettings
    ) -> None:
        self.transitions, self.settings, self.longest = problem.transitions, settings, problem.max_actions
        self.starts = starts
        self._logit = logit
        self.changes = Changes(problem, starts, allowed)
        self.now = self.logit(starts)
        self.found = Candidates(
            np.empty(0, np.intp), np.empty((0, self.longest), np.intp), np.empty(0), starts[:0], np.empty(0)
        )
        self._mixers = np.random.default_rng(0).integers(1, 2**63, starts.shape[1], np.uint64) | np.uint64(1)
        self.gain = np.full(self.changes.reachable.shape, -np.inf)
        """[B, A] what each change added to the logit when it was last tried."""

    def logit(self, states: Floats) -> Floats:
        """The logit [n], finite."""
        return np.clip(np.nan_to_num(self._logit(states)), -_LARGEST, _LARGEST) if len(states) else np.empty(0)

    def imitate(self, examples: Ints) -> None:
        """Follow plans [K, T] that worked for others, as far as they are legal here."""
        person = np.repeat(np.arange(len(self.starts)), len(examples))
        self.weigh(person, self.changes.make(person, np.tile(examples, (len(self.starts), 1))))

    def weigh(self, person: Ints, made: Followed) -> Candidates:
        """Plans with their cost and logit; those that are short enough are noted."""
        plans = Candidates(person, made.actions, made.prices.sum(axis=1), made.states, self.logit(made.states))
        self.note(plans)
        return plans

    def change(self, plans: Candidates, parent: Ints, drop: Ints | int, add: Ints | int) -> Candidates:
        """New plans: those at `parent` [n], each without a step or with an action more; see `Changes.change`."""
        person = plans.person[parent]
        drop, add = (np.broadcast_to(np.asarray(x, np.intp), parent.shape) for x in (drop, add))
        return self.weigh(person, self.changes.change(person, plans.actions[parent], drop, add))

    def note(self, plans: Candidates) -> None:
        """Keep of all plans found so far the `most` promising of each person, each final state once."""
        fresh = plans.take(np.flatnonzero((plans.steps <= self.longest) & (plans.steps > 0)))
        actions = np.full((len(fresh.person), self.longest), NO_ACTION, np.intp)
        width = min(self.longest, fresh.actions.shape[1])
        actions[:, :width] = fresh.actions[:, :width]
        fresh = fresh._replace(actions=actions)
        joined = Candidates(*(np.concatenate(pair) for pair in zip(self.found, fresh, strict=True)))
        key = self.keys(joined)
        order = np.lexsort((joined.steps, joined.cost, key, joined.person))
        joined, key = joined.take(order), key[order]
        joined = joined.take((np.diff(key, prepend=~key[:1]) != 0) | (np.diff(joined.person, prepend=-1) != 0))
        rank = self.rank(joined)
        order = np.lexsort((rank, joined.person))
        self.found = joined.take(order[_nth(joined.person[order]) < self.settings.most])

    def rank(self, plans: Candidates) -> Ints:
        """[n] how promising each plan is among its person's: by worth, and among the likely and the sure by cost."""
        scores = [-self.worth(plans)]
        scores += [np.where(plans.logit >= least, plans.cost, np.inf) for least in (0.0, self.settings.sure)]
        rank = np.full(len(plans.person), len(plans.person))
        for score in scores:
            order = np.lexsort((score, plans.person))
            order = order[np.isfinite(score[order])]
            rank[order] = np.minimum(rank[order], _nth(plans.person[order]))
        return rank

    def keys(self, plans: Candidates) -> Ints:
        """[n] a hash of each final state."""
        bits = np.where(np.isnan(plans.states), np.nan, plans.states + 0.0).view(np.uint64)
        bits = (bits ^ (bits >> np.uint64(29))) * self._mixers
        mixed: Ints = (bits ^ (bits >> np.uint64(32))).sum(axis=1).view(np.int64)
        return mixed

    def worth(self, plans: Candidates) -> Floats:
        """[n] chance × saving against twice the cost of the cheapest sure plan, double for what nothing dominates."""
        chance = 1 / (1 + np.exp(-plans.logit))
        target = 2 * self.cheapest(plans, self.settings.sure)
        likeliest = np.lexsort((-plans.logit, plans.person))
        likeliest = likeliest[_nth(plans.person[likeliest]) == 0]
        person = plans.person[likeliest]
        target[person] = np.minimum(target[person], 4 * plans.cost[likeliest] + 1e-6)
        saving = np.maximum(target[plans.person] - plans.cost, 1e-9)
        order = np.lexsort((-plans.logit, plans.cost, plans.person))
        shift = plans.person[order] * 4 * _LARGEST  # a running maximum that starts again with each person
        height = plans.logit[order] + shift
        above = np.maximum.accumulate(np.concatenate([[-np.inf], height[:-1]]))
        undominated = np.empty(len(order), bool)
        undominated[order] = (height > above) | (above < shift - 2 * _LARGEST)
        result: Floats = chance * saving * (1 + undominated)
        return result

    def cheapest(self, plans: Candidates, least: float) -> Floats:
        """[B] the cost of each person's cheapest plan with at least this logit; infinite if there is none."""
        cost = np.full(len(self.starts), np.inf)
        good = plans.logit >= least
        np.minimum.at(cost, plans.person[good], plans.cost[good])
        return cost

    def chosen(self, plans: Candidates, score: Floats, most: int = 1) -> Candidates:
        """The `most` plans of each person with the highest finite `score` [n]."""
        order = np.lexsort((-score, plans.person))
        order = order[np.isfinite(score[order])]
        return plans.take(order[_nth(plans.person[order]) < most])

    def nothing(self) -> Candidates:
        """Everybody as they are, with the empty plan."""
        everyone = np.arange(len(self.starts))
        empty = np.full((len(everyone), 1), NO_ACTION, np.intp)
        return Candidates(everyone, empty, np.zeros(len(everyone)), self.starts, self.now)

    def try_all(self, plans: Candidates) -> Candidates:
        """Every single change of `plans`, one of each person; what it brings is the new `gain`."""
        parent, action = np.nonzero(self.changes.reachable[plans.person])
        more = self.change(plans, parent, NO_ACTION, action)
        self.gain[plans.person[parent], action] = more.logit - plans.logit[parent]
        return more

    # Backward

    def best(self) -> Candidates:
        """Everybody with every function's best change, as long as that helps; the plans may be too long."""
        plans = self.nothing()
        self.try_all(plans)
        plans = self.weigh(plans.person, self.changes.make(plans.person, self.best_of_functions()))
        unsure = np.flatnonzero(plans.logit < self.settings.sure)
        if len(unsure):
            gain = self.gain.copy()
            before = plans.take(unsure)
            self.try_all(before)
            more = self.best_of_functions()[before.person]
            both = np.concatenate([before.actions, more], axis=1)
            after = self.weigh(before.person, self.changes.make(before.person, self.last_of_functions(both)))
            plans = _join(plans, after)
            plans = self.chosen(plans, plans.logit)
            self.gain = gain
        return plans

    def best_of_functions(self) -> Ints:
        """[B, W] the chains of every function's best change, of those that bring something."""
        spans = self.transitions.spans
        chosen = np.stack([span.start + self.gain[:, span].argmax(axis=1) for span in spans], axis=1)
        people = np.arange(len(self.starts))[:, None]
        chains = self.changes.chains[people, chosen]
        chains[self.gain[people, chosen] <= 0] = NO_ACTION
        return np.asarray(chains.reshape(len(self.starts), -1))

    def last_of_functions(self, actions: Ints) -> Ints:
        """Plans [n, W] in which an action that is there twice stands only once, where it comes last."""
        same = (actions[:, :, None] == actions[:, None, :]) & np.triu(np.ones((actions.shape[1],) * 2, bool), 1)
        return np.where(same.any(axis=2), NO_ACTION, actions)

    def backward(self, anchors: Floats | None) -> None:
        """Drop changes from everything at its best, and from the nearest anchors, until no more can be spared."""
        plans = self.best()
        if anchors is not None and len(anchors):
            plans = _join(plans, self.towards(anchors))
        while len(plans.person):
            plans = self.shorten(plans.take(plans.steps > self.longest), plans.take(plans.steps <= self.longest))

    def towards(self, anchors: Floats) -> Candidates:
        """Plans that make people as much as possible like the nearest of `anchors` [n, F]."""
        mutable = self.transitions.mutable
        apart = np.stack([(self.starts[:, i, None] != anchors[None, :, i]) for i in mutable]).sum(axis=0)
        near = np.argsort(apart, axis=1, kind="stable")[:, : self.settings.anchors]
        person = np.repeat(np.arange(len(self.starts)), near.shape[1])
        goal, start = anchors[near.ravel()], self.starts[person]
        wanted = np.full((len(person), len(self.transitions.functions)), NO_ACTION, np.intp)
        for i, (function, span) in enumerate(zip(self.transitions.functions, self.transitions.spans, strict=True)):
            now, then = start[:, function.target], goal[:, function.target]
            after = now[:, None] + function.arguments if function.adds else function.arguments[None, :]
            distance = np.nan_to_num(np.abs(after - then[:, None]), nan=np.inf)
            nearest = distance.argmin(axis=1)
            useful = distance.min(axis=1) < np.nan_to_num(np.abs(now - then), nan=np.inf)
            exact = function.adds or not self.is_category(function.target) or (distance.min(axis=1) == 0)
            wanted[useful & exact, i] = span.start + nearest[useful & exact]
        chains = self.changes.chains[person[:, None], wanted]
        chains[wanted == NO_ACTION] = NO_ACTION
        return self.weigh(person, self.changes.make(person, chains.reshape(len(person), -1)))

    def is_category(self, feature: int) -> bool:
        """Whether a feature's values have no distances."""
        return self.transitions.features[feature].kind == "category"

    def shorten(self, long: Candidates, short: Candidates) -> Candidates:
        """One round of dropping changes: many at once while a plan is too long, then one by one while it is sure."""
        results = []
        if len(long.person):
            ratio = self.estimate(long)
            excess = long.steps - self.longest
            rank = np.argsort(np.argsort(-ratio, axis=1, kind="stable"), axis=1)
            tries = []
            for number in (-(-excess // 2), -(-excess // 4), np.ones_like(excess)):
                actions = np.where(rank < number[:, None], NO_ACTION, long.actions)
                tries.append(self.weigh(long.person, self.changes.make(long.person, actions)))
            result = tries[2]
            for better in (tries[1], tries[0]):
                good = (better.logit >= 0) | (result.logit < 0)
                result = _where(good, better, result)
            results.append(result)
        if len(short.person):
            parent, drop = np.nonzero(short.actions != NO_ACTION)
            less = self.change(short, parent, drop, NO_ACTION)
            ratio = (short.cost[parent] - less.cost) / (np.maximum(short.logit[parent] - less.logit, 0) + _SLACK)
            ratio[(less.logit < 0) | (less.steps == 0)] = -np.inf
            order = np.lexsort((-ratio, parent))
            order = order[(_nth(parent[order]) == 0) & np.isfinite(ratio[order])]
            results.append(less.take(order))
        return _join(*results)

    def estimate(self, plans: Candidates) -> Floats:
        """[n, W] about how much each step of `plans` saves for what it takes from the logit, if it is dropped."""
        row, step = np.nonzero(plans.actions != NO_ACTION)
        action = plans.actions[row, step]
        target = np.array([function.target for function in self.transitions.functions], np.intp)
        feature = target[self.transitions.function_of[action]]
        states = plans.states[row]
        states[np.arange(len(row)), feature] = self.starts[plans.person[row], feature]
        lost = plans.logit[row] - self.logit(states)
        price = self.transitions.most_costs[action]
        ratio = np.full(plans.actions.shape, -np.inf)
        ratio[row, step] = price / (np.maximum(lost, 0) + _SLACK)
        return ratio

    # Forward

    def forward(self) -> None:
        """A beam of plans that grow by one change at a time, half of it by logit, half by logit and cost."""
        settings, beam = self.settings, self.nothing()
        for depth in range(self.longest):
            bound = 1.2 * self.cheapest(self.found, settings.sure)
            likely = np.minimum(self.cheapest(self.found, 0.0), bound)
            aim = np.where(np.isfinite(likely), likely, self.typical())
            toll = np.maximum(-self.now, 1.0) / np.maximum(aim, 1e-9)
            top = self.chosen(beam, beam.logit)
            made = [self.try_all(top)]
            if depth:
                parent, action = self.promising(beam)
                made.append(self.change(beam, parent, NO_ACTION, action))
            grown = _join(*made)
            grown = grown.take((grown.steps <= self.longest) & (grown.cost < bound[grown.person]) & (grown.steps > 0))
            if not len(grown.person):
                break
            grown = grown.take(np.unique(self.keys(grown) ^ grown.person, return_index=True)[1])
            by_logit = self.chosen(grown, grown.logit, settings.beam - settings.beam // 2)
            mixed = grown.logit - toll[grown.person] * grown.cost
            beam = _join(by_logit, self.chosen(grown, mixed, settings.beam // 2))

    def typical(self) -> Floats:
        """[B] what a plan might cost if nothing is known: that of the likeliest."""
        cost = np.ones(len(self.starts))
        top = self.chosen(self.found, self.found.logit)
        cost[top.person] = top.cost
        return cost

    def promising(self, plans: Candidates) -> tuple[Ints, Ints]:
        """Pairs of plans (their rows) and actions: those that lately brought most, in all or for their cost."""
        wide = min(self.settings.wide // 2, len(self.transitions) - 1)
        value = np.where(self.changes.reachable, self.gain, -np.inf)
        per_cost = np.where(value > 0, value / (self.transitions.least_costs + 1e-6), value)
        tops = [np.argsort(-x, axis=1, kind="stable")[:, :wide] for x in (value, per_cost)]
        actions = np.concatenate(tops, axis=1)
        actions.sort(axis=1)
        fresh = np.diff(actions, axis=1, prepend=-1) != 0
        fresh &= np.isfinite(np.take_along_axis(value, actions, axis=1))
        row, column = np.nonzero(fresh[plans.person])
        action = actions[plans.person[row], column]
        new = ~(plans.actions[row] == action[:, None]).any(axis=1)
        adds = np.array([*(function.adds for function in self.transitions.functions), False])
        new |= adds[self.transitions.function_of[action]]
        return row[new], action[new]

    # Climb and polish

    def climb(self) -> None:
        """Where nothing is sure: change the likeliest plans for likelier ones, one step against another."""
        for _ in range(self.settings.rounds):
            unsure = np.isinf(self.cheapest(self.found, self.settings.sure))
            plans = self.chosen(self.found, np.where(unsure[self.found.person], self.found.logit, -np.inf))
            if not len(plans.person):
                return
            row, drop, add = self.swaps(plans)
            more = self.change(plans, row, drop, add)
            more = more.take(more.steps <= self.longest)
            best = np.full(len(self.starts), -np.inf)
            np.maximum.at(best, more.person, more.logit)
            if not (best[plans.person] > plans.logit + 1e-6).any():
                return

    def polish(self) -> None:
        """Make the cheapest plans that are likely, likelier and sure cheaper still: remove, lower, swap, prepare."""
        done = np.full((3, len(self.starts)), np.inf)
        for _ in range(self.settings.rounds):
            parts = []
            for level, least in enumerate((0.0, self.settings.sure / 2, self.settings.sure)):
                score = np.where(self.found.logit >= least, -self.found.cost, -np.inf)
                plans = self.chosen(self.found, score)
                better = plans.cost < done[level, plans.person] - 1e-9
                done[level, plans.person] = plans.cost
                parts.append(plans.take(better))
            plans = _join(*parts)
            plans = plans.take(np.unique(self.keys(plans) ^ plans.person, return_index=True)[1])
            if not len(plans.person):
                return
            moves = [self.removals(plans), self.swaps(plans), self.lower(plans), self.prepare(plans)]
            row, drop, add = (np.concatenate(part) for part in zip(*moves, strict=True))
            self.change(plans, row, drop, add)

    def removals(self, plans: Candidates) -> tuple[Ints, Ints, Ints]:
        """Moves (row, step dropped, action added): any one step less."""
        row, drop = np.nonzero(plans.actions != NO_ACTION)
        return row, drop, np.full(len(row), NO_ACTION)

    def swaps(self, plans: Candidates) -> tuple[Ints, Ints, Ints]:
        """Moves: any step against any promising action, or that action alone."""
        row, add = self.promising(plans)
        pair, drop = np.nonzero(plans.actions[row] != NO_ACTION)
        alone = np.full(len(row), NO_ACTION)
        return np.concatenate([row[pair], row]), np.concatenate([drop, alone]), np.concatenate([add[pair], add])

    def lower(self, plans: Candidates) -> tuple[Ints, Ints, Ints]:
        """Moves: any step against another argument of its function."""
        row, drop = np.nonzero(plans.actions != NO_ACTION)
        function = self.transitions.function_of[plans.actions[row, drop]]
        pair, add = np.nonzero(function[:, None] == self.transitions.function_of[None, :])
        other = add != plans.actions[row, drop][pair]
        return row[pair[other]], drop[pair[other]], add[other]

    def prepare(self, plans: Candidates) -> tuple[Ints, Ints, Ints]:
        """Moves: an action more that makes another step of the plan cheaper."""
        functions = self.transitions.functions
        scales = {(cause.source, cause.target) for cause in self.transitions.causes if cause.scale is not None}
        helps = np.array([[(f.target, g.target) in scales for g in functions] + [False] for f in functions], bool)
        used = np.zeros((len(plans.person), len(functions) + 1), bool)
        row, step = np.nonzero(plans.actions != NO_ACTION)
        used[row, self.transitions.function_of[plans.actions[row, step]]] = True
        helpful = np.zeros_like(used)
        helpful[:, :-1] = (used.astype(float) @ helps.T.astype(float)) > 0
        row, add = np.nonzero(helpful[:, self.transitions.function_of] & self.changes.reachable[plans.person])
        return row, np.full(len(row), NO_ACTION), add


def _nth(group: Ints) -> Ints:
    """[n] how many entries just before have the same `group` [n], which is sorted."""
    start = np.flatnonzero(np.diff(group, prepend=-1) != 0)
    return np.arange(len(group)) - np.repeat(start, np.diff(start, append=len(group)))


def _join(*parts: Candidates) -> Candidates:
    """All plans, filled up to the same width."""
    width = max(part.actions.shape[1] for part in parts)
    wide = [
        part._replace(
            actions=np.pad(part.actions, ((0, 0), (0, width - part.actions.shape[1])), constant_values=NO_ACTION)
        )
        for part in parts
    ]
    return Candidates(*(np.concatenate(column) for column in zip(*wide, strict=True)))


def _where(good: Bools, yes: Candidates, no: Candidates) -> Candidates:
    """Row by row one or the other."""
    both = _join(yes, no)
    return both.take(np.where(good, np.arange(len(good)), np.arange(len(good)) + len(good)))
