"""Alternatives with a surrogate: chances of candidates are corrected by all answers about the person."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from counterplan.personal.alternative_search import QueryLimits
from counterplan.problem import Problem
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.search.change_sets import ChangeSetSettings, Hints, propose
from counterplan.search.frontier import Frontier, Labels
from counterplan.search.orders import NO_ACTION
from counterplan.surrogate.belief import Answers
from counterplan.surrogate.pool import Pool

LIMITS = QueryLimits(query_cost=0.04, min_chance=0.015, per_alternative=12)
"""What alternatives may cost in queries."""
_HARDER = 10.0
"""Weight of a function of the first plan, relative to the others, for change sets without it."""
_LARGEST_LOGIT = 500.0


class PoolChances:
    """Chances by a surrogate and the answers about each person.

    Parameters
    ----------
    pool : Pool
        Without states.
    logit : callable
        Log odds [n] that states [n, F] are favourable.
    answers : callable
        Answers with margins, from states [n, F], people [n] and decisions [n].
    """

    learns = True

    def __init__(
        self, pool: Pool, logit: Callable[[Floats], Floats], answers: Callable[[Floats, Ints, Bools], Answers]
    ) -> None:
        self._pool, self._logit, self._answers = pool, logit, answers

    def add(self, labels: Labels, states: Floats) -> None:
        """See `Chances.add`."""
        self._pool.add(labels, np.clip(np.nan_to_num(self._logit(states)), -_LARGEST_LOGIT, _LARGEST_LOGIT))

    def values(self) -> Floats:
        """See `Chances.values`."""
        return self._pool.probability

    def observe(self, at: Ints, states: Floats, favourable: Bools) -> None:
        """See `Chances.observe`."""
        self._pool.open[at] = False
        if self._pool.conditioned:
            self._pool.observe(at, self._answers(states, self._pool.person[at], favourable))


def change_set_candidates(
    problem: Problem,
    frontier: Frontier,
    people: Ints,
    actions: Ints,
    logit: Callable[[Floats], Floats],
    settings: ChangeSetSettings,
    hints: Hints | None,
) -> Labels:
    """Candidates of `people` [n] with too many states to enumerate: change sets for other weights.

    Each function of a person's plan `actions` [B, T] in turn is made much harder than the others, so that change sets
    without it are found.
    """
    transitions, known = problem.transitions, hints._asdict() if hints else {}
    weights = frontier.costs.weights
    own = np.ones((len(people), len(transitions))) if weights is None else weights[people]
    row, step = np.nonzero(actions[people] != NO_ACTION)
    who = people[row]
    function = transitions.function_of[actions[who, step]]
    harder = np.where(transitions.function_of == function[:, None], _HARDER, 1.0) * own[row]
    starts, allowed = frontier.starts[who], frontier.allowed[who]
    made = propose(problem, starts, allowed, logit, settings, cost_weights=harder, **known)
    owner = who[made.person]
    labels = frontier.labels(owner, made.actions, made.states, frontier.cost_of_plans(owner, made.actions))
    return labels.take(np.unique(labels.key, return_index=True)[1])
