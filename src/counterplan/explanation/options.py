"""What else would do: cheaper or different changes that were queried and are favourable, or are likely to be."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement, product

import numpy as np

from counterplan.blackbox import PersonAnswers
from counterplan.explanation.arrays import PlanGroup, stopped
from counterplan.explanation.personal import same_states
from counterplan.explanation.point_fits import PointFits
from counterplan.explanation.points import LIKELY
from counterplan.plans import PlanOption
from counterplan.problem import Problem
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.search.orders import NO_ACTION, cheapest_orders, rollout
from counterplan.search.schedule import schedule, to_units
from counterplan.search.variations import Variations

MOST = 3
"""Options of one person."""
CHANCE = 0.95
"""Least predicted chance of an option that was not queried."""
LIKELY_ODDS = math.log(CHANCE / (1 - CHANCE))
_COST_RATIO = 3.0
"""Most that an option may cost, in units of the cost of the plan."""
_DRAWN = 24
"""Random plans of one person that are considered: the cheapest."""
_SUMMANDS = 3
"""Most actions that are combined to change a number by a given amount."""
_WAYS = 8
"""Most sets of actions that are tried in order to reach a known state."""
_EPSILON = 1e-9


class OptionFinder:
    """Finds options for people whose plans are explained by points.

    Candidates are the random plans that points were fitted to, the same without one of their steps, and plans to states
    that are known to be favourable. Options are legal, in their cheapest order, within the constraints and
    the deadline of the person, and cost at most three times as much as the plan. None is known to be unfavourable; one
    that was not queried has at least `LIKELY` points and a predicted chance of `CHANCE`.

    Parameters
    ----------
    problem : Problem
    """

    def __init__(self, problem: Problem) -> None:
        self.problem, self.transitions = problem, problem.transitions
        self._position = np.empty(len(self.transitions.functions), np.intp)
        self._position[self.transitions.parents_first] = np.arange(len(self._position))
        self._follows = {cause.target for cause in self.transitions.causes if cause.sets}
        self._sums: dict[tuple[int, float], list[tuple[int, ...]]] = {}

    def find(
        self, group: PlanGroup, fits: PointFits, known: PersonAnswers, people: Ints
    ) -> list[tuple[PlanOption, ...]]:
        """Options of the `people` [m] of a group, who have points.

        People whose constraints are not known have none: they may be unable to make a change.
        """
        if group.limits is None or not len(people):
            return [()] * len(people)
        drawn = self._drawn(group, fits)
        ways = [*self._shortened(drawn), *self._to_known(group, fits, known)]
        found = self._in_time(group, Variations.join([drawn, self._legal(group, ways)]))
        judged = _Judged(group, fits, known, found)
        chosen = judged.plans.take(np.array([*self._chosen(group, judged)], np.intp))
        by_person: dict[int, list[PlanOption]] = {}
        for row, option in self._worded(group, fits, known, chosen):
            by_person.setdefault(row, []).append(option)
        return [tuple(sorted(by_person.get(row, ()), key=_preference)) for row in people.tolist()]

    def _drawn(self, group: PlanGroup, fits: PointFits) -> Variations:
        """The cheapest likely ones of the random plans, some for each person."""
        plans, cost = fits.plans, group.costs[fits.plans.person]
        same = self._uses(plans.actions) >= self._uses(group.actions)[plans.person]
        different = (plans.costs < cost - _EPSILON) | ~same.all(axis=1)
        within = plans.costs <= _COST_RATIO * cost + _EPSILON
        rows = np.flatnonzero(different & within & (fits.odds >= LIKELY_ODDS))
        rows = rows[fits.points_of(fits.plans.states[rows], fits.plans.person[rows]) >= LIKELY]
        rows = rows[np.lexsort((fits.plans.costs[rows], fits.plans.person[rows]))]
        person = fits.plans.person[rows]
        return fits.plans.take(rows[np.arange(len(rows)) - np.searchsorted(person, person) < _DRAWN])

    def _uses(self, actions: Ints) -> Bools:
        """Which functions [n, f] plans [n, T] use."""
        uses = np.zeros((len(actions), len(self.transitions.functions) + 1), bool)
        uses[np.arange(len(actions))[:, None], self.transitions.function_of[actions]] = True  # NO_ACTION is STOP there
        return uses[:, :-1]

    def _shortened(self, plans: Variations) -> Iterator[tuple[int, Sequence[int]]]:
        """Person and actions of `plans`, each without one of its steps."""
        for row, actions in zip(plans.person.tolist(), plans.actions.tolist(), strict=True):
            taken = [action for action in actions if action != NO_ACTION]
            if len(taken) > 1:
                yield from ((row, taken[:t] + taken[t + 1 :]) for t in range(len(taken)))

    def _to_known(self, group: PlanGroup, fits: PointFits, known: PersonAnswers) -> Iterator[tuple[int, Sequence[int]]]:
        """Person and actions of plans that may lead to states which are known to be favourable."""
        ends = fits.states[-1]
        others = known.favourable & ~same_states(known.states, ends[known.rows])
        for i in np.flatnonzero(others).tolist():
            row = int(known.rows[i])
            if fits.points[row] is not None:
                yield from ((row, way) for way in self._ways(group.people.states[row], known.states[i]))

    def _ways(self, start: Floats, end: Floats) -> Iterator[Sequence[int]]:
        """Sets of actions, parents first, that change what differs; consequences may follow or be changed as well."""
        changed = np.flatnonzero(~((start == end) | (np.isnan(start) & np.isnan(end)))).tolist()
        for features in (changed, [feature for feature in changed if feature not in self._follows]):
            each = [self._changes(feature, float(start[feature]), float(end[feature])) for feature in features]
            for number, way in enumerate(product(*(one for one in each if one))):
                if number >= _WAYS:
                    break
                actions = [action for part in way for action in part]
                yield sorted(actions, key=lambda action: self._position[self.transitions.function_of[action]])
            if features == changed and not self._follows.intersection(changed):
                return

    def _changes(self, feature: int, before: float, after: float) -> list[tuple[int, ...]]:
        """Actions that together change a feature from `before` to `after`; empty if there are none."""
        made: list[tuple[int, ...]] = []
        for function, span in zip(self.transitions.functions, self.transitions.spans, strict=True):
            if function.target != feature:
                continue
            if not function.adds:
                made += [(span.start + i,) for i in np.flatnonzero(function.arguments == after).tolist()]
            elif math.isfinite(after - before):
                made += self._summing(span, function.arguments, round(after - before, 6))
        return made

    def _summing(self, span: slice, arguments: Floats, amount: float) -> list[tuple[int, ...]]:
        """The shortest sets of actions of one function whose arguments add up to `amount`."""
        key = span.start, amount
        if key not in self._sums:
            self._sums[key] = []
            for count in range(1, min(_SUMMANDS, self.problem.max_actions) + 1):
                for which in combinations_with_replacement(range(len(arguments)), count):
                    if abs(sum(arguments[i] for i in which) - amount) < 1e-6:
                        self._sums[key].append(tuple(span.start + i for i in which))
                if self._sums[key]:
                    break
        return self._sums[key]

    def _legal(self, group: PlanGroup, ways: Sequence[tuple[int, Sequence[int]]]) -> Variations:
        """The plans among `ways`, persons and actions, that are legal and allowed."""
        limits = group.limits
        assert limits is not None
        most = self.problem.max_actions
        ways = [(row, way) for row, way in ways if 0 < len(way) <= most]
        person = np.array([row for row, _ in ways], np.intp)
        actions = np.full((len(ways), most), NO_ACTION, np.intp)
        for i, (_, way) in enumerate(ways):
            actions[i, : len(way)] = way
        weights = None if limits.cost_weights is None else limits.cost_weights[person]
        states, costs, legal = rollout(self.transitions, group.people.states[person], actions, weights)
        if limits.allowed is not None:
            legal &= limits.allowed[person[:, None], actions].all(axis=1)  # NO_ACTION is STOP there
        return Variations(person, actions, costs, states).take(legal)

    def _in_time(self, group: PlanGroup, plans: Variations) -> Variations:
        """The plans that end before the deadline of their person."""
        latest = to_units(group.deadlines)[plans.person]
        if not self.problem.time_unit or not np.isfinite(group.deadlines).any():
            return plans
        makespan = schedule(self.transitions, group.people.states[plans.person], plans.actions).makespan
        return plans.take(to_units(makespan) <= latest)

    def _chosen(self, group: PlanGroup, judged: _Judged) -> Iterator[int]:
        """The options among the candidates: cheaper than the plan, or with other functions, up to `MOST` each."""
        plans = judged.plans
        own = [self._functions(actions) for actions in group.actions]
        taken: dict[int, list[frozenset[int]]] = {}
        for i in np.lexsort((~judged.checked, plans.costs, plans.person)).tolist():
            row = int(plans.person[i])
            if not judged.usable[i] or len(taken.setdefault(row, [])) == MOST:
                continue
            functions = self._functions(plans.actions[i])
            cheaper = plans.costs[i] < group.costs[row] - _EPSILON
            if any(other <= functions for other in taken[row]) or (own[row] <= functions and not cheaper):
                continue
            taken[row].append(functions)
            yield i

    def _functions(self, actions: Ints) -> frozenset[int]:
        return frozenset(self.transitions.function_of[actions[actions != NO_ACTION]].tolist())

    def _worded(
        self, group: PlanGroup, fits: PointFits, known: PersonAnswers, plans: Variations
    ) -> Iterator[tuple[int, PlanOption]]:
        """Person and option for each of `plans`, in the cheapest order."""
        limits = group.limits
        assert limits is not None
        starts = group.people.states[plans.person]
        weights = None if limits.cost_weights is None else limits.cost_weights[plans.person]
        actions = cheapest_orders(self.transitions, starts, plans.actions, weights)
        states, costs, _ = rollout(self.transitions, starts, actions, weights)
        plans = self._in_time(group, Variations(plans.person, actions, costs, states))
        starts, actions, costs = group.people.states[plans.person], plans.actions, plans.costs
        judged = _Judged(group, fits, known, plans)
        texts: list[list[str]] = [[] for _ in actions]
        before = starts
        for t in range(actions.shape[1]):
            after = self.transitions.apply(before, stopped(self.problem, actions[:, t]))
            for i in np.flatnonzero(actions[:, t] != NO_ACTION).tolist():
                texts[i].append(self.transitions.describe_step(int(actions[i, t]), before[i], after[i]))
            before = after
        for i, row in enumerate(plans.person.tolist()):
            names = tuple(str(self.transitions.actions[action]) for action in actions[i] if action != NO_ACTION)
            cost, points = round(float(costs[i]), 9), int(judged.points[i])
            yield row, PlanOption(names, " → ".join(texts[i]), cost, points, bool(judged.checked[i]))


class _Judged:
    """Candidates with what is known about them: points [n], whether they were queried and are favourable [n]."""

    def __init__(self, group: PlanGroup, fits: PointFits, known: PersonAnswers, plans: Variations) -> None:
        self.plans = plans
        self.points = fits.points_of(plans.states, plans.person)
        answers = {
            (row, state.tobytes()): favourable
            for row, state, favourable in zip(known.rows.tolist(), known.states, known.favourable.tolist(), strict=True)
        }
        rows = zip(plans.person.tolist(), plans.states + 0.0, strict=True)
        found = [answers.get((row, state.tobytes())) for row, state in rows]
        self.checked = np.array([favourable is True for favourable in found], bool)
        likely = np.array([favourable is None for favourable in found], bool) & (self.points >= LIKELY)
        rows_likely = np.flatnonzero(likely)
        likely[rows_likely] = fits.predict(plans.states[rows_likely], plans.person[rows_likely])[1] >= LIKELY_ODDS
        cost, bound = group.costs[plans.person], group.plans.lower_bounds[group.rows][plans.person]
        within = (plans.costs <= _COST_RATIO * cost + _EPSILON) & (plans.costs >= bound - _EPSILON)
        other = ~same_states(plans.states, fits.states[-1][plans.person])
        other &= ~same_states(plans.states, group.people.states[plans.person])
        self.usable: Bools = (self.checked | likely) & within & other


def _preference(option: PlanOption) -> tuple[float, bool, int, tuple[str, ...]]:
    return option.cost, not option.checked, len(option.actions), option.actions
