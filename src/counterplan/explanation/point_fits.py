"""Points of several people who have plans, fitted to predictions about random legal plans of each."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from counterplan.blackbox import PersonAnswers
from counterplan.explanation.arrays import PlanGroup, stopped
from counterplan.explanation.personal import PersonalSurrogate, same_states
from counterplan.explanation.points import Points, Sample, fit_points
from counterplan.problem import Problem
from counterplan.problem.transitions import Floats, Ints
from counterplan.search.variations import PlanSampler, Variations
from counterplan.surrogate import Surrogate


class PointFits:
    """Points of n people who have plans, and the random legal plans that they were fitted to.

    Parameters
    ----------
    problem : Problem
    surrogate : Surrogate
    sampler : PlanSampler
    group : PlanGroup
        The plans.
    known : PersonAnswers
        Answers about these people.

    Attributes
    ----------
    states : array of shape [T + 1, n, F]
        The states before and after each step.
    plans : Variations
        The random plans, sorted by person.
    odds : array
        The log odds that each of them leads to a favourable decision.
    points : list of Points or None
        Points of each person; None if the plan cannot be explained by points.
    """

    def __init__(
        self, problem: Problem, surrogate: Surrogate, sampler: PlanSampler, group: PlanGroup, known: PersonAnswers
    ) -> None:
        starts, limits = group.people.states, group.limits
        self.group = group
        self.is_number = np.array([feature.is_number for feature in problem.features], bool)
        self.states = np.stack([*_states(problem, group)])
        self.predict = PersonalSurrogate(problem, surrogate, starts, known)
        constraints = () if limits is None else (limits.allowed, limits.cost_weights)
        self.plans = Variations.join(
            [sampler.plans(starts, *constraints), sampler.around(starts, group.actions, *constraints)]
        )
        expected, self.odds = self.predict(self.plans.states, self.plans.person)
        everybody = np.arange(len(starts))
        self.start_odds, _ = self.predict(starts, everybody)
        _, end_odds = self.predict(self.states[-1], everybody)
        own = group.costs[self.plans.person]
        relative = np.where(own > 0, self.plans.costs / np.where(own > 0, own, 1.0), 1.0)
        self.points: list[Points | None] = []
        for row in everybody.tolist():
            mine, answers = (slice(*np.searchsorted(a, [row, row + 1])) for a in (self.plans.person, known.rows))
            sample = Sample(self.plans.states[mine], relative[mine], expected[mine])
            states, favourable = known.states[answers], known.favourable[answers]
            end = self.states[-1, row]
            about_end = favourable[same_states(states, end)]
            if not len(about_end) and end_odds[row] > 0:  # not queried
                states, favourable = np.concatenate([states, end[None]]), np.append(favourable, True)
            usable = about_end.all() and (len(about_end) or end_odds[row] > 0)
            usable = usable and not favourable[same_states(states, starts[row])].any()
            arguments = (starts[row], float(self.start_odds[row]), problem.transitions.mutable, sample)
            self.points.append(fit_points(*arguments, states, favourable) if usable else None)

    def points_of(self, states: Floats, person: Ints) -> Ints:
        """The points [n] of `states` [n, F] of the people `person` [n]; 0 for people without points, and for changes
        that no plan of the sample makes."""
        result = np.zeros(len(states), np.intp)
        for row in np.unique(person).tolist():
            if (points := self.points[row]) is not None:
                mine = np.flatnonzero(person == row)
                result[mine] = np.where(points.covers(states[mine]), points(states[mine]), 0)
        return result

    def of_steps(self, row: int) -> Ints:
        """The points of each step of a person's plan."""
        points = self.points[row]
        assert points is not None
        return points.of_steps(self.states[: int(self.group.lengths[row]) + 1, row], self.is_number)


def _states(problem: Problem, group: PlanGroup) -> Iterator[Floats]:
    """The states [n, F] of the people, before and after each step."""
    states = group.people.states
    yield states
    for t in range(group.actions.shape[1]):
        states = problem.transitions.apply(states, stopped(problem, group.actions[:, t]))
        yield states
