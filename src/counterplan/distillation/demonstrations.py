"""Demonstrations: refused people, real and synthetic, with the plans of a surrogate at several confidence levels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from counterplan.errors import PeopleError
from counterplan.parallel import WorkerLink, run_chunks
from counterplan.problem import People, Problem
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.search.change_sets import Hints
from counterplan.search.synthetic import synthesize
from counterplan.surrogate.acquisition import GuideSettings, Logit, guide_unverified
from counterplan.surrogate.surrogate import Surrogate


@dataclass(frozen=True)
class DemonstrationSettings:
    """Settings of demonstrations.

    Parameters
    ----------
    people : int, default=16_000
        Number of refused people; synthetic ones are added if there are too few.
    confidences : tuple of float, default=(0.5, 0.9, 0.97)
        Probability from which on a state is taken to be favourable, one for each set of plans. The first one is meant
        for the least cost.
    max_cautious : int, default=4_000
        Most people with plans at the other confidences, which only initialize the program.
    max_expansions : int, default=100_000
        Most expansions (states × actions) for one person.
    """

    people: int = 16_000
    confidences: tuple[float, ...] = field(default=(0.5, 0.9, 0.97), metadata={"key": "sure"})
    max_cautious: int = field(default=4_000, metadata={"key": "pupils"})
    max_expansions: int = field(default=100_000, metadata={"key": "steps"})


class Demonstrations(NamedTuple):
    """Demonstrated plans of B people."""

    starts: Floats
    """[B, F] initial states; real people come first."""
    least_cost: Floats
    """[B] cost of the cheapest plan."""
    plans: Ints
    """[P, B, T] plans at each confidence, padded with NO_ACTION; empty where there is none."""
    real: int
    """Number of real people."""
    hopeless: Floats = np.zeros((0, 0))
    """[H, F] initial states of people without a plan, by exhaustive search."""


_ATTEMPTS = 20
"""Draws of synthetic people; the refused ones are used."""
_BATCH_SIZE = 16_000
"""People × actions planned for at the same time."""


class _Chunk(NamedTuple):
    """People who are planned for at the same time."""

    starts: Floats
    """[n, F] initial states."""
    selected: Bools
    """[P, n] who is planned for at each confidence."""


class _Guide(NamedTuple):
    """How demonstrations are planned."""

    problem: Problem
    logit: Logit
    hints: Hints | None
    settings: GuideSettings
    confidences: tuple[float, ...]

    def plan(self, chunk: _Chunk, progress: Callable[[int], None]) -> tuple[Ints, Floats, Bools]:
        """Plans [P, n, T] and costs [P, n] at each confidence, and whether there is none at the first [1, n]."""
        levels = [(level, np.flatnonzero(rows)) for level, rows in zip(self.confidences, chunk.selected, strict=True)]
        found = guide_unverified(
            self.problem, chunk.starts, self.logit, self.settings, levels, hints=self.hints, progress=progress
        )
        actions, cost = np.stack([level.actions for level in found]), np.stack([level.cost for level in found])
        return actions, cost, np.isinf(found[0].lower_bound)[None]


def _plan_chunk(guide: _Guide, chunk: _Chunk, link: WorkerLink) -> tuple[Ints, Floats, Bools]:
    """In a worker process: see `_Guide.plan`."""
    return guide.plan(chunk, link.progress)


def demonstrate(
    problem: Problem,
    people: People,
    surrogate: Surrogate,
    settings: DemonstrationSettings,
    random: np.random.Generator,
    progress: Callable[[int, int], None] = lambda done, total: None,
    jobs: int = 1,
    *,
    logit: Logit | None = None,
) -> Demonstrations:
    """Plan on the surrogate for refused people like `people`, in `jobs` processes; those without one are dropped.

    People without one, by exhaustive search, are returned separately. `logit` gives the log odds [n]
    that the ends of plans [n, F] are successful; default: those of the surrogate.
    `progress` is called with the number of plans made so far and of all plans.
    """
    starts, real = refused_states(problem, people, surrogate, settings.people, random)
    cautious = np.arange(len(starts))
    if len(starts) > settings.max_cautious:
        cautious = np.sort(random.choice(len(starts), settings.max_cautious, replace=False))
    groups = [np.arange(len(starts)), *[cautious] * (len(settings.confidences) - 1)]
    total, done = sum(len(group) for group in groups), 0

    def advance(count: int) -> None:
        nonlocal done
        done += count
        progress(done, total)

    guided = GuideSettings(max_expansions=settings.max_expansions, batch_size=_BATCH_SIZE)
    context = _Guide(problem, logit or surrogate.logit, surrogate.hints, guided, settings.confidences)
    selected = np.stack([np.isin(np.arange(len(starts)), group) for group in groups])
    size = guided.people_at_once(problem)
    chunks = [_Chunk(starts[i : i + size], selected[:, i : i + size]) for i in range(0, len(starts), size)]
    if jobs > 1:
        parts = list(run_chunks(_plan_chunk, context, chunks, jobs, progress=advance))
    else:
        parts = [context.plan(chunk, advance) for chunk in chunks]
    plans, costs, hopeless = (np.concatenate(arrays, axis=1) for arrays in zip(*parts, strict=True))
    least = costs.min(axis=0)
    helped = np.isfinite(least)
    if not helped.any():
        raise PeopleError(
            "the surrogate has no plan for anyone among these people, so there is nothing to distil; "
            "fit it on more of them"
        )
    return Demonstrations(
        starts[helped], least[helped], plans[:, helped], int(helped[:real].sum()), starts[hopeless[0]]
    )


def refused_states(
    problem: Problem, people: People, surrogate: Surrogate, most: int, random: np.random.Generator
) -> tuple[Floats, int]:
    """At most `most` states [n, F] that the surrogate predicts to be refused, and how many, the first, are real.

    If there are too few people, synthetic ones are added.
    """
    rows = np.flatnonzero(surrogate.logit(people.states) < 0)
    if not len(rows):
        raise PeopleError(
            f"the surrogate predicts that none of the {len(people):,} people is refused; "
            "a program is distilled from people who are"
        )
    if len(rows) >= most:
        return people.states[np.sort(random.choice(rows, most, replace=False))], most
    states = people.states[rows]
    for _ in range(_ATTEMPTS):
        more, _ = synthesize(problem, people, 2 * (most - len(states)), random)
        states = np.concatenate([states, more[surrogate.logit(more) < 0]])[:most]
        if len(states) == most:
            break
    return states, len(rows)
