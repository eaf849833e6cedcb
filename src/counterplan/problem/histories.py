"""Learn the costs of actions from histories: values of the same people before and after some time.

Rarely made changes are costly. For each feature, a person chooses between the legal actions that change it and none of
them, by a conditional logit model: the odds of an action against no change are exp(−cost). If nearly nobody changes
several features, the choice is one between the actions of all features. The cost in a file is −log of the share of
people who take the action rather than change nothing, which is never negative, in units such that the median is that of
the costs it replaces.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from counterplan.errors import PeopleError
from counterplan.problem.frames import read_people
from counterplan.problem.problem import Problem
from counterplan.problem.tables import read_table
from counterplan.problem.transitions import Bools, Floats, Ints, Transitions
from counterplan.problem.values import did_you_mean, listed, text_of

AFTER = "_after"
"""The suffix of columns with later values."""
PRIOR = 0.5
"""Pseudo-observations of each action, and of no change instead of it: Jeffreys' prior of one action by itself."""
DEVIATIONS = 1.959963984540054
MOST_ITERATIONS = 100
MOST_TWICE = 0.01
"""If a smaller share of the people who change something change several features, they choose one change in all."""


@dataclass(frozen=True)
class LearnedCosts:
    """Costs of actions with 95 % intervals, and what they were learned from; arrays [A] without STOP.

    Attributes
    ----------
    cost, low, high : numpy.ndarray of shape (A,)
        The cost of each action and its interval; NaN if it was not learned.
    taken, exposed : numpy.ndarray of int of shape (A,)
        How many people took the action, and how many could.
    unmatched : int
        Changes that no action explains, which were left out.
    people : int
        The people in the table.
    unit : float
        The cost of a share that is smaller by the factor e.

    Examples
    --------
    >>> import pandas as pd
    >>> from counterplan import benchmarks
    >>> from counterplan.problem.histories import learn_costs
    >>> later = ["highly_skilled"] * 20 + ["skilled"] * 80
    >>> histories = pd.DataFrame({"job": "skilled", "job_after": later})
    >>> learned = learn_costs(benchmarks.load_problem("german"), histories)
    >>> known = learned.learned
    >>> learned.cost[known].round(1).tolist(), learned.taken[known].tolist()
    ([13.0], [20])
    """

    cost: Floats
    low: Floats
    high: Floats
    taken: Ints
    exposed: Ints
    unmatched: int
    people: int
    unit: float = 1.0

    @property
    def learned(self) -> Bools:
        """Which actions have a learned cost [A]."""
        return ~np.isnan(self.cost)

    def scaled(self, factor: float) -> LearnedCosts:
        """The costs in another unit."""
        cost, low, high = (costs * factor for costs in (self.cost, self.low, self.high))
        return replace(self, cost=cost, low=low, high=high, unit=self.unit * factor)


def read_histories(path: str | Path, problem: Problem) -> pd.DataFrame:
    """Read a table of histories with the types of the problem's values.

    Parameters
    ----------
    path : str or Path
        A CSV (also compressed) or Parquet file.
    problem : Problem
        Its features are the columns, without a suffix for values before, and with ``_after`` for values after.

    Returns
    -------
    pandas.DataFrame
        An argument for `learn_costs`.

    Raises
    ------
    PeopleError
        If the file cannot be read.

    Examples
    --------
    >>> import pandas as pd
    >>> from counterplan import benchmarks
    >>> from counterplan.problem.histories import read_histories
    >>> histories = pd.DataFrame({"job": ["skilled"], "job_after": ["highly_skilled"]})
    >>> histories.to_csv("histories.csv", index=False)
    >>> read_histories("histories.csv", benchmarks.load_problem("german"))
           job       job_after
    0  skilled  highly_skilled
    """
    features = [replace(feature, name=feature.name + after) for feature in problem.features for after in ("", AFTER)]
    return read_table(path, features)


def learn_costs(
    problem: Problem, histories: pd.DataFrame, absent: Mapping[str, Sequence[float]] | None = None
) -> LearnedCosts:
    """Learn costs from values of the same people before and after.

    Parameters
    ----------
    problem : Problem
        Its functions define the actions and who can take them.
    histories : pandas.DataFrame
        One row per person. The column of a feature has its value before, the column with the suffix ``_after`` its
        value after. Everybody belongs in the table, also people who changed nothing.
    absent : mapping of str to sequence of float, optional
        By feature, numbers that stand for a missing value.

    Returns
    -------
    LearnedCosts
        In units such that the median is that of the problem's own base costs and surcharges.

    Raises
    ------
    PeopleError
        If the table has no feature with both columns that a function changes, lacks people, or has other values than
        the problem.

    Examples
    --------
    >>> import pandas as pd
    >>> from counterplan import Problem
    >>> from counterplan.problem.histories import learn_costs
    >>> problem = Problem.from_dict({
    ...     "counterplan": 1, "name": "loan", "max_actions": 1,
    ...     "outcome": {"column": "loan", "values": ["no", "yes"], "favourable": "yes"},
    ...     "features": {"job": {"kind": "category", "values": ["none", "clerk", "pilot"]}},
    ...     "functions": {
    ...         "WORK": {"set": "job", "arguments": ["clerk", "pilot"], "cost": 10}
    ...     },
    ... })
    >>> later = ["clerk"] * 20 + ["pilot"] * 2 + ["none"] * 78
    >>> learned = learn_costs(problem, pd.DataFrame({"job": "none", "job_after": later}))
    >>> learned.cost.round(1).tolist(), learned.taken.tolist()
    ([6.2, 13.8], [20, 2])
    """
    before, after, seen = _states(problem, histories, absent or {})
    transitions = problem.transitions
    count = len(transitions) - 1
    cost, error = np.full(count, np.nan), np.full(count, np.nan)
    taken, exposed = np.zeros(count, np.intp), np.zeros(count, np.intp)
    legal = transitions.legal(before)[:, :count]
    features = np.flatnonzero(seen).tolist()
    actions_of = {feature: _actions(transitions, feature) for feature in features}
    choices = {feature: _choices(problem, feature, (before, after), legal) for feature in features}
    changes = np.sum([choice >= 0 for choice in choices.values()], axis=0)
    single = bool((changes > 1).sum() <= MOST_TWICE * (changes > 0).sum())
    for feature, choice in choices.items():
        actions = actions_of[feature]
        used = (choice >= _NONE) & legal[:, actions].any(axis=1)
        if single:  # whoever changed another feature did not choose between this one and no change
            used &= (changes == 0) | (choice >= 0)
        taken[actions] = np.bincount(choice[used & (choice >= 0)], minlength=len(actions))
        exposed[actions] = legal[np.ix_(used, actions)].sum(axis=0)
        cost[actions], error[actions] = fit_choices(legal[np.ix_(used, actions)], taken[actions])
    unmatched = int(sum((choice == _UNMATCHED).sum() for choice in choices.values()))
    never = exposed == 0
    cost[never] = error[never] = np.nan
    if never.all():
        raise PeopleError("nobody in the histories could take any action of the problem")
    ends = (cost, cost - DEVIATIONS * error, cost + DEVIATIONS * error)
    with np.errstate(invalid="ignore"):
        middle, low, high = (np.logaddexp(0.0, end) for end in ends)  # −log(e^−c / (1 + e^−c))
    present = np.concatenate([function.base + function.surcharge for function in transitions.functions])
    factor = float(np.median(present[~never]) / np.median(middle[~never])) or 1.0
    return LearnedCosts(middle, low, high, taken, exposed, unmatched, len(before)).scaled(factor)


_NONE, _UNMATCHED, _UNKNOWN = -1, -2, -3
"""No change, a change that no action explains, and a missing value."""


def _states(
    problem: Problem, histories: pd.DataFrame, absent: Mapping[str, Sequence[float]]
) -> tuple[Floats, Floats, Bools]:
    """States before and after [B, F], NaN where there is no column, and the features [F] whose costs are learned."""
    columns = {text_of(name): name for name in histories.columns}
    if not len(histories):
        raise PeopleError("the histories have no rows; give one for each person, before and after in the same row")
    states = np.full((2, len(histories), len(problem.features)), np.nan)
    for feature in problem.features:
        for which, name in enumerate((feature.name, feature.name + AFTER)):
            if name in columns:
                alone = replace(feature, name=name, index=0, missing=True, low=-np.inf, high=np.inf)
                states[which, :, feature.index] = read_people([alone], histories[[columns[name]]]).states[:, 0]
        if feature.name in absent:
            codes: Sequence[float] = absent[feature.name]
            if not feature.is_number:
                texts = {text_of(code) for code in codes}
                codes = [index for index, value in enumerate(feature.values) if value in texts]
            column = states[:, :, feature.index]
            column[np.isin(column, codes)] = np.nan
    changed = {function.target for function in problem.transitions.functions}
    names = [problem.features[index].name for index in sorted(changed)]
    seen = np.array([f.index in changed and {f.name, f.name + AFTER} <= {*columns} for f in problem.features])
    halves = [name for name in names if (name in columns) != (name + AFTER in columns)]
    if halves:
        lacking = [name + AFTER if name in columns else name for name in halves]
        others = {*columns} - {f.name + after for f in problem.features for after in ("", AFTER)}
        hints = [f"'{name}'{did_you_mean(name, others).replace('; ', ' (').replace('?', '?)')}" for name in lacking]
        raise PeopleError(
            f"the histories lack the column{'s' if len(lacking) > 1 else ''} {listed(hints)}: a column with the name "
            f"of a feature has values before, one with '{AFTER}' at its end values after; leave out both for a feature "
            "whose costs are not to be learned"
        )
    if not seen.any():
        raise PeopleError(
            f"the histories have no column of a feature that functions change, before and after: {listed(names)}, each "
            f"with a column such as '{names[0]}{AFTER}'"
            if names
            else "the problem has no functions whose costs could be learned"
        )
    return states[0], states[1], seen


def _actions(transitions: Transitions, feature: int) -> Ints:
    """The actions that set or add to a feature, whose consequences aside."""
    targets = np.array([function.target for function in transitions.functions])
    return np.flatnonzero(targets[transitions.function_of[:-1]] == feature)


def _choices(problem: Problem, feature: int, states: tuple[Floats, Floats], legal: Bools) -> Ints:
    """For each person [B], which of the actions on `feature` explains the change between two `states` [B, F].

    A category has to become the value itself. A number chooses the nearest result in its direction, or no change
    if that is nearer. `legal` is [B, A]; people whose value is missing are not known.
    """
    before, after = states
    actions = _actions(problem.transitions, feature)
    now, later, possible = before[:, feature], after[:, feature], legal[:, actions]
    results = np.stack(
        [problem.transitions.apply(before, np.full(len(before), action))[:, feature] for action in actions], axis=1
    )
    if problem.features[feature].is_number:
        same_way = np.sign(results - now[:, None]) == np.sign(later - now)[:, None]
        distance = np.where(possible & same_way, np.abs(results - later[:, None]), np.inf)
        nearest = distance.argmin(axis=1)
        least = distance[np.arange(len(now)), nearest]
        chosen = np.where(np.isinf(least), _UNMATCHED, np.where(least <= np.abs(later - now), nearest, _NONE))
    else:
        reaches = possible & (results == later[:, None])
        chosen = np.where(reaches.any(axis=1), reaches.argmax(axis=1), _UNMATCHED)
    chosen = np.where(now != later, chosen, _NONE)
    return np.where(np.isnan(now) | np.isnan(later), _UNKNOWN, chosen).astype(np.intp)


def fit_choices(legal: Bools, taken: Sequence[int] | Ints) -> tuple[Floats, Floats]:
    """Fit a conditional logit model with one cost for each alternative; no change costs 0.

    Parameters
    ----------
    legal : numpy.ndarray of bool of shape (n, K)
        The alternatives that each person could choose, besides no change.
    taken : sequence of int of shape (K,)
        How many people chose each.

    Returns
    -------
    cost, error : numpy.ndarray of shape (K,)
        Maximum a posteriori costs under Jeffreys' prior of each alternative by itself, and standard errors from the
        information at the maximum.
    """
    patterns, counts = np.unique(legal, axis=0, return_counts=True)
    chosen = np.asarray(taken, float) + PRIOR
    cost = np.zeros(legal.shape[1])
    value, gradient, information = _posterior(cost, patterns, counts, chosen)
    for _ in range(MOST_ITERATIONS):
        step = np.linalg.solve(information, gradient)
        size = 1.0
        while True:
            proposed = cost - size * step
            moved = _posterior(proposed, patterns, counts, chosen)
            if moved[0] <= value + 1e-12 * abs(value) or size < 1e-6:
                break
            size /= 2
        cost, (value, gradient, information) = proposed, moved
        if np.abs(size * step).max() < 1e-9:
            break
    error: Floats = np.sqrt(np.diag(np.linalg.inv(information)))
    return cost, error


def _posterior(cost: Floats, patterns: Bools, counts: Ints, chosen: Floats) -> tuple[float, Floats, Floats]:
    """The negative log posterior of costs [K], its gradient [K] and its Hessian [K, K]; `patterns` [G, K] occur
    `counts` [G] times, and alternatives are `chosen` [K] times, the prior included."""
    weights = np.where(patterns, np.exp(-cost), 0.0)
    total = 1.0 + weights.sum(axis=1)
    shares = weights / total[:, None]
    alone = 1.0 / (1.0 + np.exp(cost))
    value = float(chosen @ cost + counts @ np.log(total) + 2 * PRIOR * np.log1p(np.exp(-cost)).sum())
    gradient = chosen - counts @ shares - 2 * PRIOR * alone
    hessian = np.diag(counts @ shares + 2 * PRIOR * alone * (1 - alone)) - (shares * counts[:, None]).T @ shares
    return value, gradient, hessian


def remarks(costs: LearnedCosts, actions: slice) -> list[tuple[float, str]]:
    """The cost of each of some actions for a file, with its interval and the people it is learned from."""

    def remark(action: int) -> str:
        interval = f"{_rounded(costs.low[action])} to {_rounded(costs.high[action])} (95 %)"
        return f"{interval}, from {costs.taken[action]:,} of {costs.exposed[action]:,} people who could"

    return [(_rounded(costs.cost[action]), remark(action)) for action in range(actions.start, actions.stop)]


def _rounded(number: Any) -> float:
    """Two decimals, or as many as a small cost needs to stay positive."""
    return round(float(number), 2) or float(f"{float(number):.1g}")
