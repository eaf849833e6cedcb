"""Whom a program is distilled from: refused people, real and invented, and what a surrogate's plans for them are.

The surrogate answers for free, so that nobody is asked. Teachers differ in how sure they want to be.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from counterplan.errors import PlanError
from counterplan.problem import People, Problem
from counterplan.problem.transitions import Floats, Ints
from counterplan.search.orders import NO_ACTION
from counterplan.search.synthetic import synthesize
from counterplan.surrogate.acquisition import GuideSettings, guide
from counterplan.surrogate.surrogate import Surrogate


@dataclass(frozen=True)
class DemonstrationSettings:
    """Whom to teach with, and how carefully."""

    people: int = 16_000
    """So many refused people, if need be invented ones."""
    sure: tuple[float, ...] = (0.5, 0.9, 0.97)
    """A teacher for each: how sure it is that its plans work. The first one tells the least effort."""
    pupils: int = 4_000
    """Most people for whom the others plan too: from them a program only starts."""
    steps: int = 100_000
    """Most steps looked at for one person."""


class Demonstrations(NamedTuple):
    """What `Distillation` learns from: people as they are [B, F], their least effort [B], and plans [P, B, T]."""

    starts: Floats
    least: Floats
    plans: Ints
    real: int
    """How many people really exist; they come first."""


_TRIES = 20
"""Times that people are invented, of whom the refused ones are kept."""


class _Nobody:
    """Is never asked."""

    spent = False


def demonstrate(
    problem: Problem,
    people: People,
    surrogate: Surrogate,
    settings: DemonstrationSettings,
    random: np.random.Generator,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Demonstrations:
    """Refused people like `people`, with the plans of teachers; whoever has none of these is left out.

    `progress` is told how many plans are made, and of how many.
    """
    starts, real = refused(problem, people, surrogate, settings.people, random)
    pupils = np.arange(len(starts))
    if len(starts) > settings.pupils:
        pupils = np.sort(random.choice(len(starts), settings.pupils, replace=False))
    groups = [np.arange(len(starts)), *[pupils] * (len(settings.sure) - 1)]
    total, done = sum(len(group) for group in groups), 0

    def advance(some: int) -> None:
        nonlocal done
        done += some
        progress(done, total)

    nobody: Any = _Nobody()
    plans = np.full((len(groups), len(starts), problem.max_actions), NO_ACTION)
    costs = np.full((len(groups), len(starts)), np.inf)
    for teacher, (sure, group) in enumerate(zip(settings.sure, groups, strict=True)):
        careful = GuideSettings(confidence=sure, max_expansions=settings.steps)
        allowed = np.ones((len(group), len(problem.transitions)), bool)
        found = guide(
            problem, starts[group], allowed, surrogate.logit, nobody, careful, budget=0, hints=surrogate.hints,
            progress=advance,
        )  # fmt: skip
        plans[teacher, group], costs[teacher, group] = found.actions, found.cost
    least = costs.min(axis=0)
    helped = np.isfinite(least)
    if not helped.any():
        raise PlanError(
            "the surrogate knows no plan for anybody among these people, so there is nothing to distil; "
            "fit it on more of them"
        )
    return Demonstrations(starts[helped], least[helped], plans[:, helped], int(helped[:real].sum()))


def refused(
    problem: Problem, people: People, surrogate: Surrogate, most: int, random: np.random.Generator
) -> tuple[Floats, int]:
    """At most so many states [n, F] that the surrogate finds refused, and how many of them (the first) are real.

    If there are too few people, others are invented.
    """
    rows = np.flatnonzero(surrogate.logit(people.states) < 0)
    if not len(rows):
        raise PlanError(
            f"the surrogate finds none of the {len(people):,} people refused; "
            "a program is distilled from people who are"
        )
    if len(rows) >= most:
        return people.states[np.sort(random.choice(rows, most, replace=False))], most
    states = people.states[rows]
    for _ in range(_TRIES):
        more = synthesize(problem, people, 2 * (most - len(states)), random)
        states = np.concatenate([states, more[surrogate.logit(more) < 0]])[:most]
        if len(states) == most:
            break
    return states, len(rows)
