"""Estimates around a fit: whether it pays, before it begins, and how good its plans are, afterwards."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from counterplan.planners import ExactPlanner, GuidedPlanner
from counterplan.planners.auto import STATE_SECONDS
from counterplan.plans import Plan, Plans, Status
from counterplan.plans.progress import duration
from counterplan.problem import People
from counterplan.recourse.quality import Quality, QualitySettings
from counterplan.search.state_count import count_states
from counterplan.search.synthetic import crossover

if TYPE_CHECKING:
    from counterplan.surrogate import Surrogate
    from counterplan.surrogate.active_learning import ActiveLearner

_FIRST_ROWS = 32
"""Queries that suffice to time the model."""
_COUNTED = 20
"""People whose states are counted."""
_STATES = 20_000
"""States after which counting ends."""
_FIT_SECONDS, _FIT_QUERIES = 20.0, 2_000
"""Typical CPU time and number of queries of a fit."""
_QUERIES, _TIMES = 2_000, 3
"""Most queries of an assessment, or as many times those of the fit, whichever is more."""
_FEWEST = 5
"""Fewest people worth an assessment."""


def payback_note(learner: ActiveLearner) -> str | None:
    """State that exact planning takes less time than the fit, if it does; None otherwise.

    The first people of the learner are queried now, which times the model; no other query is sent.
    """
    box, settings = learner.box, learner.settings
    if not box.cache_size:  # the queries would be repeated
        return None
    rows = np.arange(min(_FIRST_ROWS, len(learner.people), settings.people + settings.validation))
    favourable, known = learner.labelled_set.oracle(learner.people).query(learner.people.states[rows], rows)
    refused = rows[known & ~favourable]
    seconds = box.marginal_seconds
    if not len(refused) or seconds is None:
        return None
    states = learner.people.states[refused[:_COUNTED]]
    allowed = np.ones((len(states), len(learner.problem.transitions)), bool)
    count = count_states(learner.problem, states, allowed, limit=_STATES)
    people = round(len(learner.people) * len(refused) / len(rows))
    exact = people * count.mean * (seconds + STATE_SECONDS)
    fit = _FIT_SECONDS + _FIT_QUERIES * seconds
    if not count.complete or exact > fit:
        return None
    return (
        f"exact planning of the about {people:,} refused people here would take at most {duration(exact)}; fitting "
        f"takes about {duration(fit)}, which pays back for many more people, for programs, and where queries are few"
    )


def assess_quality(
    learner: ActiveLearner, surrogate: Surrogate, settings: QualitySettings, budget: int | None
) -> Quality:
    """Compare guided planning with exact search on held-out refused people.

    Parameters
    ----------
    learner : ActiveLearner
        The run that made the surrogate, which knows the people that it did not learn from.
    surrogate : Surrogate
    settings : QualitySettings
    budget : int, optional
        Queries that the budget of the fit leaves.

    Returns
    -------
    Quality
    """
    box, before = learner.box, learner.box.queries
    default = max(_QUERIES, _TIMES * learner.queries)
    limits = [default if settings.max_queries is None else settings.max_queries, budget, box.remaining_budget]
    limit = min(number for number in limits if number is not None)
    if box.seconds_per_row:
        limit = min(limit, int(min(settings.seconds / box.seconds_per_row, limit)))
    guided = GuidedPlanner(learner.problem, box, surrogate)
    per_person = guided.settings.max_queries or 0
    wanted = min(settings.people, limit // (2 * per_person + 4))
    limited = f"the assessment is limited to {limit:,} queries by the budget, the settings or the speed of the model"
    if wanted < _FEWEST:
        return Quality(seconds_per_row=box.seconds_per_row, skipped=f"the plans were not assessed: {limited}")
    people, synthetic = _held_out(learner, wanted)
    if not len(people):
        return Quality(
            seconds_per_row=box.seconds_per_row,
            queries=box.queries - before,
            skipped="the plans were not assessed: there are no refused people who were not learned from",
        )
    plans = guided.plan(people, refused=True)
    exact = _exact(learner, people, limit - (box.queries - before))
    quality = Quality(
        people=len(people),
        synthetic=synthetic,
        max_queries=per_person,
        seconds_per_row=box.seconds_per_row,
        queries=box.queries - before,
    )
    quality = _compared(quality, plans, exact)
    undecided = quality.people - quality.decided
    if not undecided:
        return quality
    return replace(quality, skipped=f"{undecided} more of the {quality.people} people are undecided: {limited}")


def _held_out(learner: ActiveLearner, wanted: int) -> tuple[People, int]:
    """Up to `wanted` refused people not learned from, and how many of them, the last ones, are synthetic."""
    learned = {state.tobytes() for state in learner.labelled_set.states + 0.0}
    fresh = np.arange(learner.next_person, len(learner.people))
    fresh = np.array(
        [row for row in fresh.tolist() if (learner.people.states[row] + 0.0).tobytes() not in learned], np.intp
    )
    real = _refused(learner, learner.people.take(fresh[: 4 * wanted]), wanted)
    missing = wanted - len(real)
    if not missing:
        return real, 0
    random = np.random.default_rng((learner.seed, 1))
    states, source = crossover(learner.problem, learner.people, 4 * missing, random)
    new = np.array([(state + 0.0).tobytes() not in learned for state in states], bool)
    crossed = People(real.features, states[new], learner.people.frame(states[new], source[new]))
    made_up = _refused(learner, crossed, missing)
    if not len(made_up):
        return real, 0
    table = pd.concat([real.table, made_up.table], ignore_index=True) if len(real) else made_up.table
    return People(real.features, np.concatenate([real.states, made_up.states]), table), len(made_up)


def _refused(learner: ActiveLearner, candidates: People, wanted: int) -> People:
    """The first `wanted` of `candidates` who are refused; queries no more of them than necessary."""
    session = learner.box.session(learner.problem, candidates, scores=learner.settings.scores)
    refused: list[int] = []
    for first in range(0, len(candidates), wanted):
        rows = np.arange(first, min(first + wanted, len(candidates)))
        refused += rows[~session(candidates.states[rows], rows)].tolist()
        if len(refused) >= wanted:
            break
    return candidates.take(np.array(refused[:wanted], np.intp))


@dataclass
class _ExactPlans:
    plans: list[Plan]
    seconds: float


def _exact(learner: ActiveLearner, people: People, limit: int) -> _ExactPlans:
    """Plan for as many of `people` with exact search as is likely to be possible with `limit` queries."""
    box = learner.box
    done = _ExactPlans([], 0.0)
    before = box.queries
    for person in range(len(people)):
        left = limit - (box.queries - before)
        expected = sum(plan.queries for plan in done.plans) / max(1, len(done.plans))
        if left < 1 or left < 1.5 * expected:
            break
        started = box.clock()
        planner = ExactPlanner(learner.problem, box, state_limit=left, scores=learner.settings.scores)
        done.plans += planner.plan(people.take(slice(person, person + 1)), refused=True)
        done.seconds += box.clock() - started
    return done


def _compared(quality: Quality, guided: Plans, exact: _ExactPlans) -> Quality:
    """The figures of plans for the same people; people not decided by exact search do not count."""
    pairs = [
        (mine, best) for mine, best in zip(guided, exact.plans, strict=False) if best.status is not Status.NOT_FOUND
    ]
    feasible = [(mine, best) for mine, best in pairs if best.status is Status.FOUND]
    helped = [(mine, best) for mine, best in feasible if mine.status is Status.FOUND]
    unhelped = [mine for mine, _ in feasible if mine.status is not Status.FOUND]
    ratios = [mine.cost / max(best.cost, 1e-9) if mine.cost > best.cost else 1.0 for mine, best in helped]
    return replace(
        quality,
        decided=len(pairs),
        feasible=len(feasible),
        helped=len(helped),
        exhausted=sum(mine.queries >= quality.max_queries for mine in unhelped),
        cost_ratio=_mean(ratios),
        guided_queries=_mean([mine.queries + 1 for mine, _ in feasible]),
        infeasible_queries=_mean([mine.queries + 1 for mine, best in pairs if best.status is Status.INFEASIBLE]),
        exact_queries=_mean([best.queries + 1 for best in exact.plans]),
        exact_seconds=exact.seconds / len(exact.plans) if exact.plans else None,
    )


def _mean(numbers: list[float] | list[int]) -> float | None:
    return float(np.mean(numbers)) if numbers else None
