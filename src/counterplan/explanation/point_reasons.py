"""Reasons by points: a group of plans, each explained by points that were fitted for its person.

Applicants read the sentences; they are plain on purpose.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from counterplan.blackbox import BlackBox, PersonAnswers
from counterplan.explanation.arrays import PlanGroup
from counterplan.explanation.contrasts import Clause, Contrasts
from counterplan.explanation.options import OptionFinder
from counterplan.explanation.personal import people_of
from counterplan.explanation.point_fits import PointFits
from counterplan.explanation.points import NEEDED
from counterplan.plans import Coded, PlanOption, Reason, StepReason
from counterplan.problem import Problem
from counterplan.problem.transitions import Ints
from counterplan.search.variations import PlanSampler
from counterplan.surrogate import Surrogate

_PLANS, _VARIATIONS = 320, 80
"""Random plans of each person, and variations of their own plan, that points are fitted to."""
_AT_ONCE = 64
"""People whose variations are in memory at the same time."""
_SEED = 0


class PointReasons(NamedTuple):
    """Plans that are explained by points: m of them, with n steps in all."""

    plans: Ints
    """[m] the plans, within the group."""
    people: Ints
    """[n] the plan of each step, within the group."""
    steps: Ints
    """[n]"""
    reasons: Coded[StepReason]
    """[n]"""
    options: Coded[tuple[PlanOption, ...]]
    """[m] what else would do."""


class PointExplainer:
    """Explains the plans of groups by points.

    A plan is explained if points agree with every cached answer about its person, the final state is not known to be
    unfavourable, and, if it was not queried, the surrogate predicts it to be favourable.

    Parameters
    ----------
    problem : Problem
    box : BlackBox
        The model, whose cached answers are used.
    surrogate : Surrogate
        Model of the black box.
    """

    def __init__(self, problem: Problem, box: BlackBox, surrogate: Surrogate) -> None:
        self.problem, self.box, self.surrogate = problem, box, surrogate
        self.sampler = PlanSampler(problem, np.random.default_rng(_SEED), _PLANS, _VARIATIONS)
        self.options = OptionFinder(problem)

    def explain(self, group: PlanGroup) -> Iterator[PointReasons]:
        """Reasons of the plans that points can explain, some people at a time; no queries are sent."""
        for first, fits, known in self.fits(group):
            yield self._explain(fits, known, first)

    def fits(self, group: PlanGroup) -> Iterator[tuple[int, PointFits, PersonAnswers]]:
        """The first of some people, their points, and the answers about them."""
        known = self.box.session(self.problem, group.people).known_answers(self.problem.transitions.mutable)
        for first in range(0, len(group.rows), _AT_ONCE):
            rows = np.arange(first, min(first + _AT_ONCE, len(group.rows)))
            own = people_of(known, rows)
            yield first, PointFits(self.problem, self.surrogate, self.sampler, group.take(rows), own), own

    def _explain(self, fitted: PointFits, known: PersonAnswers, first: int) -> PointReasons:
        group = fitted.group
        plans = np.array([row for row, points in enumerate(fitted.points) if points is not None], np.intp)
        by_plan = [fitted.of_steps(row) for row in plans.tolist()]
        people = np.repeat(plans, [len(gains) for gains in by_plan])
        steps = np.concatenate([np.empty(0, np.intp), *(np.arange(len(gains)) for gains in by_plan)])
        made = self._reasons(group, people, steps, by_plan)
        options = self.options.find(group, fitted, known, plans)
        return PointReasons(
            first + plans,
            first + people,
            steps,
            Coded(np.arange(len(made)), made),
            Coded.of(one or None for one in options),
        )

    def _reasons(self, group: PlanGroup, people: Ints, steps: Ints, by_plan: Sequence[Ints]) -> list[StepReason]:
        """Reasons of `steps` [n] of `people` [n], with their points plan by plan."""
        gains = np.concatenate([np.empty(0, np.intp), *by_plan])
        lengths = np.array([len(plan) for plan in by_plan], np.intp)
        ends, lengths = (
            np.repeat(of, lengths) for of in (np.array([plan.sum() for plan in by_plan], np.intp), lengths)
        )
        others = self._contrasts(group, people, steps)
        made: list[StepReason] = []
        for row, t, gain, end, length in zip(*(a.tolist() for a in (people, steps, gains, ends, lengths)), strict=True):
            facts: tuple[dict[str, Any], ...] = ({"points": gain, "total": end, "needed": NEEDED},)
            enabling = [clause for clause in others[row, t] if "needed_by" in clause[1] or "cheaper" in clause[1]]
            clauses = enabling if enabling or gain > 0 else others[row, t]
            joined = "; ".join(text for text, _ in clauses)
            text = _gain_text(gain, length)
            if joined:
                text += f"; {joined}" if not enabling else f", {'and' if gain > 0 else 'but'} {joined}"
            made.append((text, Reason("points", "", (*facts, *(data for _, data in clauses)), gain, NEEDED)))
        return made

    def _contrasts(self, group: PlanGroup, people: Ints, steps: Ints) -> dict[tuple[int, int], list[Clause]]:
        """Contrasts of `steps` [n] of `people` [n], by person and step within the group."""
        if not len(people):
            return {}
        open_ = np.zeros(group.open.shape, bool)
        open_[people, steps] = True
        contrasts = Contrasts(self.problem, group.with_open(open_), self.box, self.surrogate, ask=False)
        places = zip(contrasts.row.tolist(), contrasts.t.tolist(), strict=True)
        return {place: contrasts.clauses(i) for i, place in enumerate(places)}


def _gain_text(gain: int, steps: int) -> str:
    """The points of one of so many steps in words."""
    if gain == 0:
        return "it brings no points itself (estimated)"
    if gain < 0:
        return f"it takes {_count(-gain)} away (estimated)"
    if steps == 1 or gain >= NEEDED:
        return f"it brings {_count(gain)}; {NEEDED} are needed (estimated)"
    return f"it brings {gain} of the {NEEDED} points needed (estimated)"


def _count(points: int) -> str:
    return "1 point" if points == 1 else f"{points} points"
