"""One surrogate that knows every outcome, from surrogates of some targets and the states that they were fitted on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from counterplan.problem import Problem
from counterplan.problem.targets import Target
from counterplan.search.change_sets import Hints
from counterplan.storage.answer_cache import LabelledStates
from counterplan.surrogate.active_learning import LearningSettings
from counterplan.surrogate.fitting import fit
from counterplan.surrogate.surrogate import Surrogate


def with_all_outcomes(
    problem: Problem, learned: Mapping[Target, Surrogate], known: LabelledStates, settings: LearningSettings, seed: int
) -> Surrogate:
    """Return one surrogate for all targets, without queries.

    Parameters
    ----------
    problem : Problem
        The problem.
    learned : mapping of frozenset of str to Surrogate
        Surrogates by target, each for `problem.with_target(target)`.
    known : LabelledStates
        All labelled states, as answers about `problem`.
    settings : LearningSettings
        How surrogates are fitted.
    seed : int
        Seed of the random generator.

    Returns
    -------
    Surrogate
        For the favourable outcomes of the problem, with a head for each outcome and for each target in `learned`.
        Where there is none, it is fitted to the labelled states, this outcome against all others.
    """
    default = problem.outcome.favourable
    heads: dict[Target, Surrogate] = {}
    for target in dict.fromkeys([default, *(frozenset([value]) for value in problem.outcome.values), *learned]):
        if target in learned:
            heads[target] = replace(learned[target], heads={})
            continue
        goal = problem.with_target(target)
        answers = known.for_target(problem, goal)
        states = answers.states[-settings.max_answers :]
        favourable = answers.favourable[-settings.max_answers :]
        hints = Hints(states[favourable][-settings.anchors :], np.empty((0, problem.max_actions), np.intp))
        heads[target] = replace(fit(goal, states, favourable, settings.fit, seed), hints=hints)
    return replace(heads.pop(default), heads=heads)
