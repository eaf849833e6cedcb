"""Reasons by points: a group of plans, each explained by points that were fitted for its person.

Applicants read the sentences; they are plain on purpose.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from counterplan.blackbox import BlackBox, PersonAnswers
from counterplan.explanation.arrays import PlanGroup
from counterplan.explanation.contrasts import Contrasts
from counterplan.explanation.options import OptionFinder
from counterplan.explanation.personal import people_of
from counterplan.explanation.point_fits import PointFits
from counterplan.explanation.points import NEEDED
from counterplan.plans import Coded, PlanOption, Reason, StepReason
from counterplan.problem import Problem
from counterplan.problem.transitions import Bools, Ints
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
        known = self.box.session(self.problem, group.people).known_answers(self.problem.transitions.mutable)
        for first in range(0, len(group.rows), _AT_ONCE):
            rows = np.arange(first, min(first + _AT_ONCE, len(group.rows)))
            yield self._explain(group.take(rows), people_of(known, rows), first)

    def _explain(self, group: PlanGroup, known: PersonAnswers, first: int) -> PointReasons:
        fitted = PointFits(self.problem, self.surrogate, self.sampler, group, known)
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
        useless = np.zeros(group.open.shape, bool)
        useless[people[gains <= 0], steps[gains <= 0]] = True
        others = self._contrasts(group, useless)
        made: list[StepReason] = []
        for row, t, gain, end, length in zip(*(a.tolist() for a in (people, steps, gains, ends, lengths)), strict=True):
            facts: tuple[dict[str, Any], ...] = ({"points": gain, "total": end, "needed": NEEDED},)
            text = _gain_text(gain, length)
            if gain <= 0:
                contrast, because = others[row, t]
                assert because is not None
                text, facts = _with_contrast(text, contrast or "", because), facts + because.conditions
            made.append((text, Reason("points", "", facts, gain, NEEDED)))
        return made

    def _contrasts(self, group: PlanGroup, open_: Bools) -> dict[tuple[int, int], StepReason]:
        """Contrasts of the steps where `open_` [n, T] is true, by person and step within the group."""
        if not open_.any():
            return {}
        contrasts = Contrasts(self.problem, group.with_open(open_), self.box, self.surrogate, ask=False)
        _, _, reasons = contrasts.reasons()
        places = zip(contrasts.row.tolist(), contrasts.t.tolist(), strict=True)
        return dict(zip(places, reasons.values, strict=True))


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


def _with_contrast(text: str, contrast: str, because: Reason) -> str:
    """A step without points, and what it is there for."""
    useful = any("needed_by" in fact or "cheaper" in fact for fact in because.conditions)
    return f"{text}, but {contrast}" if useful else f"{text}; {contrast}"
