"""Candidate plans where there are too many states to enumerate: sets of changes, guided by a surrogate.

Backward search starts from every function's best change and drops expensive changes of little effect; forward search
is a beam search; local search then improves the best plans. No query is made: the caller selects which plans to query.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from counterplan.problem import Problem
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.search.changes import Changes, LegalPlans
from counterplan.search.orders import NO_ACTION

Logit = Callable[[Floats], Floats]

_LARGEST = 500.0
_SLACK = 0.3
"""Added to the logit gain of a change before dividing by it, so that tiny gains do not dominate."""


@dataclass(frozen=True)
class ChangeSetSettings:
    """Size of the search for change sets, for each person.

    Parameters
    ----------
    max_plans : int, default=48
        Most plans returned for one person.
    beam_width : int, default=8
        Plans kept after each step of the beam search.
    branching : int, default=24
        Changes tried on each plan of the beam and of the local search.
    anchors : int, default=2
        Nearest favourable states from which changes are dropped too.
    rounds : int, default=6
        Rounds of local search.
    min_logit : float, default=2.2
        Logit from which on a state is taken to be favourable.
    """

    max_plans: int = field(default=48, metadata={"key": "most"})
    beam_width: int = field(default=8, metadata={"key": "beam"})
    branching: int = field(default=24, metadata={"key": "wide"})
    anchors: int = 2
    rounds: int = 6
    min_logit: float = field(default=2.2, metadata={"key": "sure"})


class ChangeSets(NamedTuple):
    """Legal plans: person [n], actions [n, T] padded with NO_ACTION, cost [n], final states [n, F], their logit [n]."""

    person: Ints
    actions: Ints
    cost: Floats
    states: Floats
    logit: Floats

    def take(self, rows: Ints | Bools) -> ChangeSets:
        """The plans at `rows`."""
        person, actions, cost, states, logit = self
        return ChangeSets(person[rows], actions[rows], cost[rows], states[rows], logit[rows])

    @property
    def steps(self) -> Ints:
        """[n] number of actions."""
        return np.asarray((self.actions != NO_ACTION).sum(axis=1), np.intp)


class Hints(NamedTuple):
    """Results for other people: favourable states [n, F], and successful plans [K, T] padded with NO_ACTION."""

    anchors: Floats
    examples: Ints


def propose(
    problem: Problem,
    starts: Floats,
    allowed: Bools,
    logit: Logit,
    settings: ChangeSetSettings | None = None,
    *,
    anchors: Floats | None = None,
    examples: Ints | None = None,
    cost_weights: Floats | None = None,
) -> ChangeSets:
    """Promising plans of people at `starts` [B, F] according to `logit`, each person's best first; makes no query.

    Parameters
    ----------
    problem : Problem
    starts : array of shape [B, F]
        States of people.
    allowed : bool array of shape [B, A]
        Actions that each person may take.
    logit : callable
        Log odds [n] that states [n, F] are favourable.
    settings : ChangeSetSettings, optional
    anchors : array of shape [n, F], optional
        States known to be favourable.
    examples : int array of shape [K, T], optional
        Plans that succeeded for other people.
    cost_weights : array of shape [B, A], optional
        Factors on the cost of each action; None means 1.

    Returns
    -------
    ChangeSets
    """
    search = _ChangeSetSearch(problem, starts, allowed, logit, settings or ChangeSetSettings(), cost_weights)
    if len(starts) and search.changes.reachable.any():
        if examples is not None and len(examples):
            search.imitate(examples)
        search.backward(anchors)
        search.forward()
        search.climb()
        search.polish()
    return search.found


def best_states(problem: Problem, starts: Floats, allowed: Bools, logit: Logit) -> Floats:
    """States [B, F] of people at `starts` [B, F] after every change that increases `logit`, whatever their number."""
    search = _ChangeSetSearch(problem, starts, allowed, logit, ChangeSetSettings())
    return search.best().states if len(starts) else starts


class _ChangeSetSearch:
    """The search for a batch of people; `found` holds the most promising plans so far."""

    def __init__(
        self,
        problem: Problem,
        starts: Floats,
        allowed: Bools,
        logit: Logit,
        settings: ChangeSetSettings,
        cost_weights: Floats | None = None,
    ) -> None:
        self.transitions, self.settings, self.longest = problem.transitions, settings, problem.max_actions
        self.starts = starts
        self._logit = logit
        self.changes = Changes(problem, starts, allowed, cost_weights)
        self.costs = self.changes.costs
        self.now = self.logit(starts)
        self.found = ChangeSets(
            np.empty(0, np.intp), np.empty((0, self.longest), np.intp), np.empty(0), starts[:0], np.empty(0)
        )
        self._mixers = np.random.default_rng(0).integers(1, 2**63, starts.shape[1], np.uint64) | np.uint64(1)
        self.gain = np.full(self.changes.reachable.shape, -np.inf)
        """[B, A] logit gain of each change when it was last tried."""

    def logit(self, states: Floats) -> Floats:
        """The logit [n], finite."""
        return np.clip(np.nan_to_num(self._logit(states)), -_LARGEST, _LARGEST) if len(states) else np.empty(0)

    def imitate(self, examples: Ints) -> None:
        """Apply plans [K, T] that succeeded for other people, as far as they are legal."""
        person = np.repeat(np.arange(len(self.starts)), len(examples))
        self.evaluate(person, self.changes.make(person, np.tile(examples, (len(self.starts), 1))))

    def evaluate(self, person: Ints, made: LegalPlans) -> ChangeSets:
        """Plans with their cost and logit; those within the limit of steps are recorded."""
        plans = ChangeSets(person, made.actions, made.costs.sum(axis=1), made.states, self.logit(made.states))
        self.record(plans)
        return plans

    def change(self, plans: ChangeSets, parent: Ints, drop: Ints | int, add: Ints | int) -> ChangeSets:
        """New plans: those at `parent` [n], each with a step dropped or an action added; see `Changes.change`."""
        person = plans.person[parent]
        drop, add = (np.broadcast_to(np.asarray(x, np.intp), parent.shape) for x in (drop, add))
        return self.evaluate(person, self.changes.change(person, plans.actions[parent], drop, add))

    def record(self, plans: ChangeSets) -> None:
        """Keep the most promising plans of each person so far, each final state once."""
        fresh = plans.take(np.flatnonzero((plans.steps <= self.longest) & (plans.steps > 0)))
        actions = np.full((len(fresh.person), self.longest), NO_ACTION, np.intp)
        width = min(self.longest, fresh.actions.shape[1])
        actions[:, :width] = fresh.actions[:, :width]
        fresh = fresh._replace(actions=actions)
        joined = ChangeSets(*(np.concatenate(pair) for pair in zip(self.found, fresh, strict=True)))
        key = self.keys(joined)
        order = np.lexsort((joined.steps, joined.cost, key, joined.person))
        joined, key = joined.take(order), key[order]
        joined = joined.take((np.diff(key, prepend=~key[:1]) != 0) | (np.diff(joined.person, prepend=-1) != 0))
        rank = self.rank(joined)
        order = np.lexsort((rank, joined.person))
        self.found = joined.take(order[_nth(joined.person[order]) < self.settings.max_plans])

    def rank(self, plans: ChangeSets) -> Ints:
        """[n] rank of each plan among its person's: by acquisition value, by cost if likely, by cost if confident."""
        scores = [-self.acquisition(plans)]
        scores += [np.where(plans.logit >= least, plans.cost, np.inf) for least in (0.0, self.settings.min_logit)]
        rank = np.full(len(plans.person), len(plans.person))
        for score in scores:
            order = np.lexsort((score, plans.person))
            order = order[np.isfinite(score[order])]
            rank[order] = np.minimum(rank[order], _nth(plans.person[order]))
        return rank

    def keys(self, plans: ChangeSets) -> Ints:
        """[n] a hash of each final state."""
        bits = np.where(np.isnan(plans.states), np.nan, plans.states + 0.0).view(np.uint64)
        bits = (bits ^ (bits >> np.uint64(29))) * self._mixers
        mixed: Ints = (bits ^ (bits >> np.uint64(32))).sum(axis=1).view(np.int64)
        return mixed

    def acquisition(self, plans: ChangeSets) -> Floats:
        """[n] probability × saving against twice the cost of the cheapest confident plan, doubled if undominated."""
        probability = 1 / (1 + np.exp(-plans.logit))
        target = 2 * self.cheapest(plans, self.settings.min_logit)
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
        result: Floats = probability * saving * (1 + undominated)
        return result

    def cheapest(self, plans: ChangeSets, least: float) -> Floats:
        """[B] cost of each person's cheapest plan with at least this logit; infinite if there is none."""
        cost = np.full(len(self.starts), np.inf)
        good = plans.logit >= least
        np.minimum.at(cost, plans.person[good], plans.cost[good])
        return cost

    def top(self, plans: ChangeSets, score: Floats, count: int = 1) -> ChangeSets:
        """The `count` plans of each person with the highest finite `score` [n]."""
        order = np.lexsort((-score, plans.person))
        order = order[np.isfinite(score[order])]
        return plans.take(order[_nth(plans.person[order]) < count])

    def empty_plans(self) -> ChangeSets:
        """The empty plan of everybody."""
        everyone = np.arange(len(self.starts))
        empty = np.full((len(everyone), 1), NO_ACTION, np.intp)
        return ChangeSets(everyone, empty, np.zeros(len(everyone)), self.starts, self.now)

    def try_all(self, plans: ChangeSets) -> ChangeSets:
        """Every single change of `plans`, one of each person; updates `gain`."""
        parent, action = np.nonzero(self.changes.reachable[plans.person])
        more = self.change(plans, parent, NO_ACTION, action)
        self.gain[plans.person[parent], action] = more.logit - plans.logit[parent]
        return more

    def best(self) -> ChangeSets:
        """Every function's best change, where it increases the logit; the plans may be too long."""
        plans = self.empty_plans()
        self.try_all(plans)
        plans = self.evaluate(plans.person, self.changes.make(plans.person, self.best_of_functions()))
        unsure = np.flatnonzero(plans.logit < self.settings.min_logit)
        if len(unsure):
            gain = self.gain.copy()
            before = plans.take(unsure)
            self.try_all(before)
            more = self.best_of_functions()[before.person]
            both = np.concatenate([before.actions, more], axis=1)
            after = self.evaluate(before.person, self.changes.make(before.person, self.last_of_functions(both)))
            plans = _join(plans, after)
            plans = self.top(plans, plans.logit)
            self.gain = gain
        return plans

    def best_of_functions(self) -> Ints:
        """[B, W] chains of every function's best change, where its gain is positive."""
        spans = self.transitions.spans
        chosen = np.stack([span.start + self.gain[:, span].argmax(axis=1) for span in spans], axis=1)
        people = np.arange(len(self.starts))[:, None]
        chains = self.changes.chains[people, chosen]
        chains[self.gain[people, chosen] <= 0] = NO_ACTION
        return np.asarray(chains.reshape(len(self.starts), -1))

    def last_of_functions(self, actions: Ints) -> Ints:
        """Plans [n, W] with only the last occurrence of each action."""
        same = (actions[:, :, None] == actions[:, None, :]) & np.triu(np.ones((actions.shape[1],) * 2, bool), 1)
        return np.where(same.any(axis=2), NO_ACTION, actions)

    def backward(self, anchors: Floats | None) -> None:
        """Drop changes from the best changes, and from plans towards anchors, while the logit stays positive."""
        plans = self.best()
        if anchors is not None and len(anchors):
            plans = _join(plans, self.towards(anchors))
        while len(plans.person):
            plans = self.shorten(plans.take(plans.steps > self.longest), plans.take(plans.steps <= self.longest))

    def towards(self, anchors: Floats) -> ChangeSets:
        """Plans that bring people as close as possible to the nearest of `anchors` [n, F]."""
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
        return self.evaluate(person, self.changes.make(person, chains.reshape(len(person), -1)))

    def is_category(self, feature: int) -> bool:
        """Whether a feature is categorical and unordered."""
        return self.transitions.features[feature].kind == "category"

    def shorten(self, long: ChangeSets, short: ChangeSets) -> ChangeSets:
        """One round of dropping changes: several at once while a plan is too long, then the best single one."""
        results = []
        if len(long.person):
            ratio = self.estimate(long)
            excess = long.steps - self.longest
            rank = np.argsort(np.argsort(-ratio, axis=1, kind="stable"), axis=1)
            tries = []
            for number in (-(-excess // 2), -(-excess // 4), np.ones_like(excess)):
                actions = np.where(rank < number[:, None], NO_ACTION, long.actions)
                tries.append(self.evaluate(long.person, self.changes.make(long.person, actions)))
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

    def estimate(self, plans: ChangeSets) -> Floats:
        """[n, W] approximate saving per loss of logit if each step of `plans` is dropped."""
        row, step = np.nonzero(plans.actions != NO_ACTION)
        action = plans.actions[row, step]
        target = np.array([function.target for function in self.transitions.functions], np.intp)
        feature = target[self.transitions.function_of[action]]
        states = plans.states[row]
        states[np.arange(len(row)), feature] = self.starts[plans.person[row], feature]
        lost = plans.logit[row] - self.logit(states)
        cost = self.costs.weigh(self.transitions.most_costs[action], plans.person[row], action)
        ratio = np.full(plans.actions.shape, -np.inf)
        ratio[row, step] = cost / (np.maximum(lost, 0) + _SLACK)
        return ratio

    def forward(self) -> None:
        """Beam search that adds one change at a time; half of the beam is ranked by logit, half by logit and cost."""
        settings, beam = self.settings, self.empty_plans()
        for depth in range(self.longest):
            bound = 1.2 * self.cheapest(self.found, settings.min_logit)
            likely = np.minimum(self.cheapest(self.found, 0.0), bound)
            target = np.where(np.isfinite(likely), likely, self.typical())
            logit_per_cost = np.maximum(-self.now, 1.0) / np.maximum(target, 1e-9)
            made = [self.try_all(self.top(beam, beam.logit))]
            if depth:
                parent, action = self.promising(beam)
                made.append(self.change(beam, parent, NO_ACTION, action))
            grown = _join(*made)
            grown = grown.take((grown.steps <= self.longest) & (grown.cost < bound[grown.person]) & (grown.steps > 0))
            if not len(grown.person):
                break
            grown = grown.take(np.unique(self.keys(grown) ^ grown.person, return_index=True)[1])
            by_logit = self.top(grown, grown.logit, settings.beam_width - settings.beam_width // 2)
            mixed = grown.logit - logit_per_cost[grown.person] * grown.cost
            beam = _join(by_logit, self.top(grown, mixed, settings.beam_width // 2))

    def typical(self) -> Floats:
        """[B] cost of the most likely plan, as a first guess."""
        cost = np.ones(len(self.starts))
        top = self.top(self.found, self.found.logit)
        cost[top.person] = top.cost
        return cost

    def promising(self, plans: ChangeSets) -> tuple[Ints, Ints]:
        """Pairs of plans (their rows) and actions: those with the largest recent gain, absolute or per cost."""
        count = min(self.settings.branching // 2, len(self.transitions) - 1)
        value = np.where(self.changes.reachable, self.gain, -np.inf)
        per_cost = np.where(value > 0, value / (self.costs.least() + 1e-6), value)
        tops = [np.argsort(-x, axis=1, kind="stable")[:, :count] for x in (value, per_cost)]
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

    def climb(self) -> None:
        """Hill climbing on the logit for people without a confident plan, by exchanging one step for another."""
        for _ in range(self.settings.rounds):
            unsure = np.isinf(self.cheapest(self.found, self.settings.min_logit))
            plans = self.top(self.found, np.where(unsure[self.found.person], self.found.logit, -np.inf))
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
        """Local search on cost from the cheapest plans at three levels of logit: remove, swap, lower, prepare."""
        done = np.full((3, len(self.starts)), np.inf)
        for _ in range(self.settings.rounds):
            parts = []
            for level, least in enumerate((0.0, self.settings.min_logit / 2, self.settings.min_logit)):
                score = np.where(self.found.logit >= least, -self.found.cost, -np.inf)
                plans = self.top(self.found, score)
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

    def removals(self, plans: ChangeSets) -> tuple[Ints, Ints, Ints]:
        """Moves (row, step dropped, action added) that remove one step."""
        row, drop = np.nonzero(plans.actions != NO_ACTION)
        return row, drop, np.full(len(row), NO_ACTION)

    def swaps(self, plans: ChangeSets) -> tuple[Ints, Ints, Ints]:
        """Moves that exchange a step for a promising action, or add that action."""
        row, add = self.promising(plans)
        pair, drop = np.nonzero(plans.actions[row] != NO_ACTION)
        alone = np.full(len(row), NO_ACTION)
        return np.concatenate([row[pair], row]), np.concatenate([drop, alone]), np.concatenate([add[pair], add])

    def lower(self, plans: ChangeSets) -> tuple[Ints, Ints, Ints]:
        """Moves that exchange a step for another argument of its function."""
        row, drop = np.nonzero(plans.actions != NO_ACTION)
        function = self.transitions.function_of[plans.actions[row, drop]]
        pair, add = np.nonzero(function[:, None] == self.transitions.function_of[None, :])
        other = add != plans.actions[row, drop][pair]
        return row[pair[other]], drop[pair[other]], add[other]

    def prepare(self, plans: ChangeSets) -> tuple[Ints, Ints, Ints]:
        """Moves that add an action which makes another step of the plan cheaper."""
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
    """[n] number of preceding entries with the same `group` [n], which is sorted."""
    start = np.flatnonzero(np.diff(group, prepend=-1) != 0)
    return np.arange(len(group)) - np.repeat(start, np.diff(start, append=len(group)))


def _join(*parts: ChangeSets) -> ChangeSets:
    """Concatenate plans, padded to the same width."""
    width = max(part.actions.shape[1] for part in parts)
    wide = [
        part._replace(
            actions=np.pad(part.actions, ((0, 0), (0, width - part.actions.shape[1])), constant_values=NO_ACTION)
        )
        for part in parts
    ]
    return ChangeSets(*(np.concatenate(column) for column in zip(*wide, strict=True)))


def _where(good: Bools, yes: ChangeSets, no: ChangeSets) -> ChangeSets:
    """Row by row `yes` where `good` [n], else `no`."""
    both = _join(yes, no)
    return both.take(np.where(good, np.arange(len(good)), np.arange(len(good)) + len(good)))
