"""Calibration of refits at the ends of plans that were made without the refit that judges them.

Counting the refits that agree overstates survival, because plans are chosen by these refits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from counterplan.blackbox import BlackBox, MeteredOracle
from counterplan.errors import SettingError
from counterplan.problem import People, Problem
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.survival.calibration import LogisticCalibration
from counterplan.survival.plan_ends import Chance, FrontierEnds
from counterplan.survival.refits import Refits

MAX_LEFT_OUT = 8
"""Most refits that are left out, one after the other."""
ROUNDS = 2
"""How often plans are made: each time with the calibration so far."""
INITIAL = LogisticCalibration(0.5, 0.0)
"""Calibration that the first plans are made with: the mean logit of models that plans were chosen by overstates."""
OVERSTATEMENT = 0.02
"""Subtracted from calibrated chances: refits by another seed overstate what holds for models of other people."""

PlanEnds = Callable[[Chance], tuple[Floats, Ints]]
"""Plans by a given chance, and returns the final states [n, F] and whose they are [n], such as `FrontierEnds`."""
Judge = Callable[[Floats, Ints], Bools]
"""Whether a model decides favourably about states [n, F] of the people `rows` [n]."""
Trial = tuple[PlanEnds, Chance, Judge]
"""Plans, the logit of the models that they are chosen by, and the model that judges their ends."""


def leave_one_out(
    refits: Refits,
    plan_ends: PlanEnds,
    problem: Problem,
    people: People,
    *,
    initial: LogisticCalibration = INITIAL,
    overstatement: float = OVERSTATEMENT,
) -> LogisticCalibration:
    """Calibrate the mean logit of refits at ends of plans for today's model, each refit judging plans without it.

    For each refit in turn, plans are made with the estimate of the others, and this refit decides about their ends. A
    logistic regression of its decisions on the logit of the others is the calibration.

    Parameters
    ----------
    refits : Refits
        The retrained models, two or more. At most eight of them, evenly spaced, are left out.
    plan_ends : callable
        Plans for `people` by a chance, which is a function of states [n, F] and rows [n], and returns final states that
        are favourable today, and their rows. It may return several plans for each person, by different weights.
    problem : Problem
    people : People
        The people to plan for, refused as they are.
    initial : LogisticCalibration, optional
        The calibration to start with.
    overstatement : float, default=0.02
        Subtracted from calibrated chances.

    Returns
    -------
    LogisticCalibration
        The initial one if nobody has a plan.

    Raises
    ------
    SettingError
        If there is only one refit; use `exchange_roles`.
    """
    if len(refits) < 2:
        raise SettingError("one refit cannot judge plans that others were made by; 'exchange_roles' uses today's model")
    trials: list[Trial] = []
    for judge in _some_of(len(refits)):
        logit = partial(refits.logit, problem, people, leave_out=judge)
        trials.append((plan_ends, logit, partial(_decides, refits, judge, problem, people)))
    return _calibrated(trials, initial, overstatement)


def exchange_roles(
    refits: Refits,
    today: BlackBox,
    problem: Problem,
    people: People,
    *,
    weights: Sequence[float],
    max_people: int = 40,
    max_states: int = 5_000,
    initial: LogisticCalibration = INITIAL,
) -> LogisticCalibration:
    """Calibrate refits with hardly a query to today's model: each of them in turn plays the model of today.

    Plans are made for one refit with the estimate of the others but one, which judges their ends. Of two refits, the
    one that plans are made for is also the estimate. So is a single refit, and today's model judges its plans, with one
    query for each. Estimates by fewer refits are less certain, so that nothing else is subtracted.

    Parameters
    ----------
    refits : Refits
        The retrained models. At most eight of them, evenly spaced, play each role.
    today : BlackBox
        The model of today.
    problem : Problem
    people : People
        Some people, refused or not.
    weights : sequence of float
        Weights of survival: one plan per person and weight.
    max_people : int, default=40
        Most people to plan for in each role.
    max_states : int, default=5_000
        Most states enumerated for one person.
    initial : LogisticCalibration, optional
        The calibration to start with.

    Returns
    -------
    LogisticCalibration
        The initial one if nobody has a plan.
    """
    count = len(refits)
    trials: list[Trial] = []
    now = refits.favourable(problem, people, people.states, np.arange(len(people)))
    for goal in _some_of(count):
        refused = people.take(np.flatnonzero(~now[:, goal])[:max_people])
        accepted = partial(_decides, refits, goal, problem, refused)
        ends = FrontierEnds(problem, refused, accepted, weights=weights, max_states=max_states)
        if count == 1:
            judged = MeteredOracle(today.session(problem, refused), len(refused))
            trials.append((ends, partial(refits.logit, problem, refused), judged))
        for judge in _some_of(count):
            if judge != goal:
                out = [goal, judge] if count > 2 else judge
                logit = partial(refits.logit, problem, refused, leave_out=out)
                trials.append((ends, logit, partial(_decides, refits, judge, problem, refused)))
    return _calibrated(trials, initial, 0.0)


def _some_of(count: int) -> Iterator[int]:
    """At most `MAX_LEFT_OUT` of the numbers below `count`, evenly spaced."""
    chosen = np.unique(np.linspace(0, count - 1, min(count, MAX_LEFT_OUT)).round().astype(int))
    return iter(chosen.tolist())


def _decides(refits: Refits, number: int, problem: Problem, people: People, states: Floats, rows: Ints) -> Bools:
    """Whether one refit decides favourably about `states` [n, F] of the people `rows` [n]."""
    return refits.favourable(problem, people, states, rows)[:, number]


def _calibrated(trials: Sequence[Trial], calibration: LogisticCalibration, overstatement: float) -> LogisticCalibration:
    """Fit a calibration to the decisions of judges, in rounds of plans with the calibration so far."""
    for _ in range(ROUNDS):
        logits, answers = [np.empty(0)], [np.empty(0, bool)]
        for plan_ends, logit, judge in trials:
            states, rows = plan_ends(partial(_chance, calibration, logit))
            if len(states):
                logits.append(logit(states, rows))
                answers.append(judge(states, rows))
        if len(logits) == 1:  # nobody has a plan
            return calibration
        calibration = LogisticCalibration.fit(np.concatenate(logits), np.concatenate(answers), overstatement)
    return calibration


def _chance(calibration: LogisticCalibration, logit: Chance, states: Floats, rows: Ints) -> Floats:
    """The calibrated chance [n] of `states` [n, F] of the people `rows` [n]."""
    return calibration.chance(logit(states, rows))
