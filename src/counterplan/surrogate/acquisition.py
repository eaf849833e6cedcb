"""Acquisition of queries for planning with a surrogate.

Transitions and costs are known; only the goal test, the black box, is expensive. States are therefore enumerated in
order of cost without queries. A query costs some λ, a share of the cost of the plan. Each goes to the state with the
least index ``cost + λ / probability`` (Weitzman's reservation value: a query is worth its cost if the best plan costs
more than that), until no index is below the cost of the best plan. An objective may add to the cost of a plan, such as
a penalty for an end that may not last; its value then takes the place of the cost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import cast

import numpy as np

from counterplan.blackbox import MeteredOracle
from counterplan.errors import SettingError
from counterplan.personal.alternative_search import AlternativeSearch, candidate_frontier
from counterplan.personal.alternatives import Alternatives
from counterplan.problem import Problem
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.search.change_sets import ChangeSetSettings, Hints, propose
from counterplan.search.frontier import Frontier, Labels
from counterplan.search.objective import Objective
from counterplan.search.odds import lasting_odds
from counterplan.search.orders import NO_ACTION
from counterplan.search.outcome import SearchOutcome
from counterplan.search.timed_frontier import open_frontier
from counterplan.surrogate.alternatives import LIMITS, PoolChances, change_set_candidates
from counterplan.surrogate.belief import Answers, ErrorModel
from counterplan.surrogate.pool import Pool
from counterplan.surrogate.score_link import ScoreLink

Logit = Callable[[Floats], Floats]
"""Log odds [n] that states [n, F] are favourable; wrong ones cost queries, never correctness."""

_LARGEST_LOGIT = 500.0
_TINY = 1e-6
_HORIZON = 4.0
"""A person without a plan is given up where plans cost this many times as much as the cheapest confident state."""
_LIKELY = 0.5
"""Probability from which on a state is likely favourable."""
_ALL = slice(None)


@dataclass(frozen=True)
class GuideSettings:
    """Settings of the guided planner.

    With `min_gain` and `min_chance` 0, no limit of queries and no limit of expansions, plans are proved optimal.

    Parameters
    ----------
    min_gain : float, optional
        Smallest expected saving, in units of cost, that is worth a query. None: `min_relative_gain` × the cost of the
        plan.
    min_relative_gain : float, default=0.015
        Smallest expected saving that is worth a query, as a share of the cost of the plan.
    confidence : float, default=0.9
        Probability from which on a state is taken to be favourable.
    min_chance : float, default=0.01
        A person without a plan is queried as long as some state has at least this probability.
    max_queries : int or None, default=15
        Most queries about one person, unless a budget is given.
    max_expansions : int or None, default=460_000
        Most expansions (states × actions) for one person; beyond it, change sets are proposed.
    batch_size : int, default=3_200
        People × actions planned for at the same time.
    change_sets : ChangeSetSettings
        Settings of the search beyond `max_expansions`.

    Raises
    ------
    SettingError
        If a value is out of range.

    Examples
    --------
    >>> from counterplan import GuidedPlanner, GuideSettings, Scorecard, benchmarks
    >>> from counterplan.scorecard import CardFeature
    >>> german = benchmarks.load("german")
    >>> savings = CardFeature(4, (), (0, 0, 5, 8, 10))
    >>> purpose = CardFeature(8, (), (0, 0, 0, 0, 0, 0, 0, 8))
    >>> card = Scorecard(german.problem, (savings, purpose), needed=8, slope=0.5, shift=3.0)
    >>> for max_queries in (2, 15):
    ...     settings = GuideSettings(max_queries=max_queries)
    ...     planner = GuidedPlanner(
    ...         german.problem, german.model, card.logit, settings=settings
    ...     )
    ...     plans = planner.plan(german.refused_test.iloc[[0, 2]])
    ...     print(plans.costs, plans.queries_per_person)  # one of them before planning
    [15. 15.] [3 3]
    [10.  5.] [9 3]
    """

    min_gain: float | None = field(default=None, metadata={"key": "price"})
    min_relative_gain: float = field(default=0.015, metadata={"key": "share"})
    confidence: float = field(default=0.9, metadata={"key": "sure"})
    min_chance: float = 0.01
    max_queries: int | None = field(default=15, metadata={"key": "questions"})
    max_expansions: int | None = field(default=460_000, metadata={"key": "steps"})
    batch_size: int = field(default=3_200, metadata={"key": "together"})
    change_sets: ChangeSetSettings = field(default_factory=ChangeSetSettings, metadata={"key": "sets"})

    def __post_init__(self) -> None:
        for name in ("min_gain", "min_relative_gain"):
            value = getattr(self, name)
            if not ((_is_number(value) and value >= 0) or (name == "min_gain" and value is None)):
                raise SettingError(f"'{name}' must be a number, zero or more, not {value!r}")
        if not (_is_number(self.confidence) and 0 < self.confidence <= 1):
            raise SettingError(f"'confidence' must be a probability, above 0 and at most 1, not {self.confidence!r}")
        for name, least in (("max_queries", 0), ("max_expansions", 1), ("batch_size", 1)):
            value = getattr(self, name)
            if value is None and name != "batch_size":
                continue
            if not (isinstance(value, Integral) and int(value) >= least):
                way_out = "" if name == "batch_size" else ", or None for no limit"
                raise SettingError(f"'{name}' must be an integer, {least} or more{way_out}; not {value!r}")

    def people_at_once(self, problem: Problem) -> int:
        """Number of people planned for at the same time."""
        return max(1, self.batch_size // len(problem.transitions))


def guide(
    problem: Problem,
    states: Floats,
    allowed: Bools,
    logit: Logit,
    oracle: MeteredOracle,
    settings: GuideSettings,
    *,
    budget: int | None = None,
    cost_weights: Floats | None = None,
    errors: ErrorModel | None = None,
    link: ScoreLink | None = None,
    hints: Hints | None = None,
    objective: Objective | None = None,
    alternatives: Alternatives | None = None,
    deadline: float | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> SearchOutcome:
    """Plan for people who are refused, with a surrogate that selects the queries.

    Parameters
    ----------
    problem : Problem
    states : array of shape [B, F]
    allowed : bool array of shape [B, A]
        Actions that each person may take.
    logit : callable
        Log odds [n] that states [n, F] are favourable.
    oracle : MeteredOracle
        Answers and counts queries.
    settings : GuideSettings
    budget : int, optional
        Most queries about one person; `settings.max_queries` if None.
    cost_weights : array of shape [B, A], optional
        Factors on the cost of each action; None means 1.
    errors : ErrorModel, optional
        Correlation of the surrogate's errors. If given, predictions are corrected by the answers about the same person.
    link : ScoreLink, optional
        Converts scores of the model, where `oracle` knows them, to the units of `logit`.
    hints : Hints, optional
        Favourable states and successful plans of other people, for people with too many states to enumerate.
    objective : Objective, optional
        What plans minimize; the cost by default. The least cost of a person, which it refers to, is estimated by the
        cheapest state that is more likely favourable than not.
    alternatives : Alternatives, optional
        Which other plans each person gets; none by default.
    deadline : float, optional
        Longest duration of a plan; None for any.
    progress : callable, optional
        Called with the number of people finished since the last call.

    Returns
    -------
    SearchOutcome

    Raises
    ------
    SettingError
        If `logit` does not give one number for each state.
    """
    checked = _checked(logit)
    max_queries = settings.max_queries if budget is None else budget
    outcome = SearchOutcome.empty(len(states), problem.max_actions)
    batch_size = settings.people_at_once(problem)
    everybody = np.arange(len(states))
    margins = np.full(len(states), np.nan) if link is None else link.margin(oracle.known_scores(states, everybody))
    for first in range(0, len(states), batch_size):
        rows = everybody[first : first + batch_size]
        weights = None if cost_weights is None else cost_weights[rows]
        frontier = open_frontier(problem, states[rows], allowed[rows], weights, deadline)
        search = _GuidedSearch(frontier, checked, oracle, settings, max_queries, hints, errors, link, objective)
        search.observe_starts(margins[rows])
        search.run(rows, outcome)
        if alternatives is not None:
            alone = candidate_frontier(problem, states[rows], allowed[rows], weights, deadline, alternatives)
            search.add_alternatives(alone, alternatives, budget, outcome)
        progress(len(rows))
    return outcome


def guide_unverified(
    problem: Problem,
    states: Floats,
    logit: Logit,
    settings: GuideSettings,
    levels: Sequence[tuple[float, Ints]],
    *,
    hints: Hints | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> list[SearchOutcome]:
    """Plan without queries at several confidence levels.

    The plans of each level are those of `guide` with a budget of 0, with less work: states are enumerated only up to
    the first confident one, which is the cheapest, and each level continues the enumeration of the one before.

    Parameters
    ----------
    problem : Problem
    states : array of shape [B, F]
    logit : callable
        Log odds [n] that states [n, F] are favourable.
    settings : GuideSettings
        Its `confidence` is not used.
    levels : sequence of (float, int array of shape [n])
        Confidences in increasing order, each with the rows of the people to plan for: a subset of the rows of the level
        before.
    hints : Hints, optional
        As for `guide`.
    progress : callable, optional
        Called with the number of plans searched for since the last call.

    Returns
    -------
    list of SearchOutcome
        Actions and costs for each level. The lower bound is infinite where every state was enumerated and none is
        confident, otherwise 0.
    """
    checked = _checked(logit)
    outcomes = [SearchOutcome.empty(len(states), problem.max_actions) for _ in levels]
    batch_size = settings.people_at_once(problem)
    for first in range(0, len(states), batch_size):
        rows = np.arange(first, min(first + batch_size, len(states)))
        allowed = np.ones((len(rows), len(problem.transitions)), bool)
        search = _UnverifiedSearch(Frontier(problem, states[rows], allowed), checked, settings, hints)
        selected = [np.isin(rows, people) for _, people in levels]
        for level, (confidence, outcome) in enumerate(zip((c for c, _ in levels), outcomes, strict=True)):
            continued = selected[level + 1] if level + 1 < len(levels) else np.zeros(len(rows), bool)
            search.search(confidence, selected[level], continued)
            outcome.actions[rows], outcome.cost[rows] = search.actions, search.cost
            outcome.lower_bound[rows] = np.where(search.exhausted, np.inf, 0.0)
            progress(int(selected[level].sum()))
    return outcomes


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _checked(logit: Logit) -> Logit:
    """`logit` with its return values checked: one number for each state."""

    def checked(states: Floats) -> Floats:
        returned = logit(states)
        try:
            odds = np.asarray(returned, float)
        except (TypeError, ValueError):
            kind = type(returned).__name__
            raise SettingError(f"the surrogate must return log odds, one number for each state, not {kind}") from None
        if odds.shape != (len(states),):
            raise SettingError(
                f"the surrogate must return log odds, one number for each state; for {len(states):,} states it "
                f"returned an array of shape {odds.shape}"
            )
        return odds

    return checked


class _GuidedSearch:
    """The search for a batch of people: enumerate states, query one state of each person, repeat."""

    def __init__(
        self,
        frontier: Frontier,
        logit: Logit,
        oracle: MeteredOracle,
        settings: GuideSettings,
        max_queries: int | None,
        hints: Hints | None,
        errors: ErrorModel | None = None,
        link: ScoreLink | None = None,
        objective: Objective | None = None,
    ) -> None:
        self.link, self.objective = link, objective
        problem, count = frontier.problem, len(frontier.starts)
        self.problem, self.logit, self.oracle, self.settings = problem, logit, oracle, settings
        self.hints, self.frontier, self.pool = hints, frontier, Pool(frontier, errors)
        self.rows = np.arange(count)
        self.max_queries = np.iinfo(np.intp).max if max_queries is None else max_queries
        limit = settings.max_expansions
        self.max_states = None if limit is None else max(1, limit // len(problem.transitions))
        """Most states enumerated for one person, if there is a limit."""
        self.actions = np.full((count, problem.max_actions), NO_ACTION, np.intp)
        self.cost = np.full(count, np.inf)
        """[B] cost of the best plan so far."""
        self.value = np.full(count, np.inf)
        """[B] value of the best plan so far: its cost, unless there is an objective."""
        self.target = np.full(count, np.inf)
        """[B] value to undercut: that of the plan, or a horizon; infinite as long as there is no estimate."""
        self.least, self.least_chance = np.full(count, np.inf), np.full(count, np.nan)
        """[B] with an objective, the estimated least cost of a favourable state, and its chance to stay favourable."""
        self.dropped = np.full(count, np.inf)
        """[B] least cost of the states that were removed from the pool without a query."""
        self.ceiling = frontier.costs.ceiling(count, problem.max_actions)
        self.best_value = np.zeros(count)
        """[B] largest acquisition value in the pool: by how much the least index is below the target."""
        self.bound = np.zeros(count)
        """[B] lower bound on the cost of states that were not enumerated."""
        self.enumerated = np.zeros(count, np.intp)
        self.full = np.zeros(count, bool)
        """[B] whether the limit of states was reached, or the next bucket exceeds it."""
        self.queries = np.zeros(count, np.intp)
        self.proposed = np.zeros(count, bool)
        self.active = np.ones(count, bool)

    def observe_starts(self, margins: Floats) -> None:
        """Condition beliefs on the refusals of the people as they are, with `margins` [B] where scores are known."""
        if self.pool.conditioned:
            refused = Answers(np.zeros(len(margins), bool), np.where(margins < 0, margins, np.nan))
            self.pool.observe_starts(self.logit(self.frontier.starts), refused)

    def run(self, rows: Ints, outcome: SearchOutcome) -> None:
        """Search until no query is worth its cost; write the plans to `outcome` at `rows` [B]."""
        self.rows = rows
        while self.active.any():
            self.expand()
            self.propose()
            if not self.max_queries:
                self.accept_unverified()
                break
            self.query()
        outcome.actions[rows], outcome.cost[rows], outcome.queries[rows] = self.actions, self.cost, self.queries
        outcome.verified[rows] = np.isfinite(self.cost) & (self.max_queries > 0)
        outcome.lower_bound[rows] = self.lower_bound()
        if self.objective is not None:
            outcome.least[rows], outcome.least_chance[rows] = self.least, self.least_chance

    def expand(self) -> None:
        """Enumerate states in order of cost until everybody's best query is known or the limit is reached."""
        frontier = self.frontier
        frontier.finished = ~self.active
        frontier.active = self.needs_expansion() & ~self.full
        frontier.resume()
        while frontier.active.any():
            frontier.limit = None if self.max_states is None else self.max_states - self.enumerated
            labels = frontier.advance()
            active = frontier.active
            self.bound[active] = np.maximum(self.bound[active], frontier.lower_bound[active])
            if labels is None:
                break
            self.add(labels.where(labels.cost * frontier.unit < self.value[labels.person]))
            if self.max_states is not None:
                self.full |= frontier.truncated | (self.enumerated >= self.max_states)
            frontier.active = active & self.needs_expansion() & ~self.full

    def needs_expansion(self) -> Bools:
        """[B] whether a state not enumerated yet may have a larger acquisition value than the best one known."""
        needed: Bools = self.active & np.isfinite(self.bound)
        possible = self.target[needed] - self.bound[needed] - self.query_cost()[needed]
        needed[needed] = possible > self.best_value[needed]
        return needed

    def min_gain(self) -> Floats:
        """[B] smallest expected saving that is worth a query; 0 without a plan, which is worth any query."""
        given = self.settings.min_gain
        solved = np.isfinite(self.value)
        relative = self.settings.min_relative_gain * np.where(solved, self.value, 0.0)
        return relative if given is None else np.where(solved, given, 0.0)

    def query_cost(self) -> Floats:
        """[B] what a query costs in the index, λ: a share of the cost of the plan, or of the cheapest confident state.

        `min_gain` replaces it if the number of queries is not limited.
        """
        reference = np.where(np.isfinite(self.value), self.value, self.target / _HORIZON)
        relative = self.settings.min_relative_gain * np.where(np.isfinite(reference), reference, 0.0)
        given = self.settings.min_gain
        unlimited = self.max_queries == np.iinfo(np.intp).max
        return relative if given is None or not unlimited else np.full(len(relative), float(given))

    def add(self, labels: Labels) -> None:
        """Add enumerated states to the pool; the first confident one sets a target."""
        if not len(labels):
            return
        self.enumerated += np.bincount(labels.person, minlength=len(self.enumerated))
        self.add_to_pool(labels, self.logit(self.frontier.full_states(labels)))
        self.estimate_least(slice(len(self.pool) - len(labels), len(self.pool)))
        without_target = np.isinf(self.target)
        if without_target.any():
            self.update_target(without_target)
        added = slice(len(self.pool) - len(labels), len(self.pool))
        self.best_value = np.maximum(self.best_value, self.values(added))

    def add_to_pool(self, labels: Labels, odds: Floats) -> None:
        """Add states with clipped log odds [n] to the pool."""
        chance: Floats | float = np.nan
        if self.objective is not None:
            chance = self.objective.chance(self.frontier.full_states(labels), self.rows[labels.person])
        self.pool.add(labels, np.clip(np.nan_to_num(odds), -_LARGEST_LOGIT, _LARGEST_LOGIT), chance)

    def estimate_least(self, part: slice) -> None:
        """Where it is not known, estimate the least cost of a favourable state by the likely ones in a `part`."""
        if self.objective is None:
            return
        pool, confidence = self.pool, min(_LIKELY, self.settings.confidence)
        likely = pool.open[part] & (pool.probability[part] >= confidence) & np.isinf(self.least)[pool.person[part]]
        if likely.any():
            at = pool.best(np.where(likely, -pool.cost[part], -np.inf), part)
            self.least[pool.person[at]], self.least_chance[pool.person[at]] = pool.cost[at], pool.chance[at]

    def pool_values(self, part: slice = _ALL) -> Floats:
        """[n] values of a `part` of the pool: costs, unless there is an objective.

        Where the least cost is not known yet, the value is the cost.
        """
        pool = self.pool
        cost = pool.cost[part]
        if self.objective is None:
            return cost
        least = self.least[pool.person[part]]
        unknown = np.isinf(least) & (self.objective.at_least is None)
        least = np.where(unknown, 0.0, least)
        return self.objective.values(cost, pool.chance[part], least, self.ceiling[pool.person[part]])

    def update_target(self, people: Bools, estimate: bool = False) -> None:
        """Set the target of `people` [B] without a plan to a multiple of the value of their best confident state.

        If there is none, it is estimated, with `estimate`, by the most likely one.
        """
        pool, people, value = self.pool, people & np.isinf(self.cost), self.pool_values()
        selected = pool.open & people[pool.person]
        target = np.full(len(people), np.inf)
        confident = selected & (pool.probability >= self.settings.confidence)
        np.minimum.at(target, pool.person[confident], _HORIZON * value[confident] + _TINY)
        if estimate:
            at = pool.best(np.where(selected & np.isinf(target)[pool.person], pool.odds, -np.inf))
            target[pool.person[at]] = _HORIZON * value[at] + _TINY
        self.target[people] = target[people]
        self.best_value[people] = self.values(_ALL)[people]

    def values(self, part: slice) -> Floats:
        """[B] largest acquisition value in a `part` of the pool."""
        best = np.zeros(len(self.cost))
        np.maximum.at(best, self.pool.person[part], self.acquisition(part))
        return best

    def acquisition(self, part: slice) -> Floats:
        """[n] by how much the index in a `part` of the pool is below the target; 0 where a query is not worth its cost.

        States that are worth a query although their index is above the target come last, by expected saving.
        """
        pool = self.pool
        person, chance = pool.person[part], pool.probability[part]
        target = np.where(np.isinf(self.target), 0.0, self.target)[person]
        saving = np.maximum(target - self.pool_values(part), 0.0)
        below = saving - self.query_cost()[person] / np.maximum(chance, _TINY)
        worth = pool.open[part] & (chance * saving > self.min_gain()[person])
        value: Floats = np.where(worth, np.where(below > 0, below, _TINY * chance * saving), 0.0)
        return value

    def propose(self) -> None:
        """Add change sets to the pool, for people with too many states to enumerate."""
        people = np.flatnonzero(self.needs_expansion() & ~self.proposed & self.full)
        if not len(people):
            return
        self.proposed[people] = True
        frontier, hints = self.frontier, self.hints._asdict() if self.hints else {}
        weights = None if frontier.costs.weights is None else frontier.costs.weights[people]
        starts, allowed = frontier.starts[people], frontier.allowed[people]
        settings = self.settings.change_sets
        made = propose(self.problem, starts, allowed, self.lasting_logit, settings, cost_weights=weights, **hints)
        labels = frontier.labels(people[made.person], made.actions, made.states, made.cost)
        fresh = ~frontier.look_up(labels.key)[0] & frontier.within(labels)
        odds = made.logit if self.objective is None else self.logit(made.states)
        self.add_to_pool(labels.take(fresh), odds[fresh])
        self.estimate_least(_ALL)
        changed = np.zeros(len(self.active), bool)
        changed[people] = True
        self.update_target(changed)
        self.best_value = self.values(_ALL)

    def lasting_logit(self, states: Floats) -> Floats:
        """Log odds [n] that `states` [n, F] are favourable and stay so, as far as that depends on the state alone."""
        odds = self.logit(states)
        if self.objective is None or self.objective.of_states is None:
            return odds
        return lasting_odds(odds, self.objective.of_states(states))

    def query(self) -> None:
        """Query everybody's best state; people without one that is worth a query become inactive."""
        self.update_target(self.active & np.isinf(self.target), estimate=True)
        value = self.acquisition(_ALL)
        value[~self.active[self.pool.person]] = 0.0
        last = np.isinf(self.cost) & (self.queries > 0) & (self.queries == self.max_queries - 1)
        score = np.where(last[self.pool.person], self.pool.odds, value)  # the last query goes to the most likely state
        at = self.pool.best(np.where(value > 0, score, -np.inf))
        person = self.pool.person[at]
        selected = self.queries[person] < self.max_queries
        chance = np.zeros(len(self.cost))
        np.maximum.at(chance, self.pool.person, self.pool.open * self.pool.probability)
        selected &= np.isfinite(self.cost[person]) | (chance[person] >= self.settings.min_chance)
        at, person = at[selected], person[selected]
        expandable = np.isinf(self.cost) & np.isfinite(self.bound) & ~self.full
        self.active &= expandable & (self.queries < self.max_queries)
        self.active[person] = True
        if len(at):
            states = self.frontier.full_states(self.pool.labels(at))
            favourable, known = self.oracle.query(states, self.rows[person])
            self.queries[person[known]] += 1
            self.pool.open[at[known]] = False
            if self.pool.conditioned:
                answers = self.answers(states[known], self.rows[person[known]], favourable[known])
                self.pool.observe(at[known], answers)
            self.store(at[favourable])
            self.drop_useless()
            self.active &= not self.oracle.exhausted
        self.update_target(self.active)
        self.best_value = self.values(_ALL)
        queried = np.zeros(len(self.active), bool)
        queried[person] = True
        self.active &= queried | (self.needs_expansion() & ~self.full)

    def answers(self, states: Floats, rows: Ints, favourable: Bools) -> Answers:
        """Answers about `states` [n, F] of the people `rows` [n], with margins where scores are known and agree."""
        if self.link is None:
            return Answers(favourable, np.full(len(rows), np.nan))
        margin = self.link.margin(self.oracle.known_scores(states, rows))
        return Answers(favourable, np.where((margin >= 0) == favourable, margin, np.nan))

    def store(self, at: Ints) -> None:
        """Store the paths to these states of the pool as the best plans."""
        if len(at):
            person = self.pool.person[at]
            self.actions[person] = self.frontier.actions(self.pool.labels(at))
            self.cost[person] = self.pool.cost[at]
            cheaper = self.pool.cost[at] < self.least[person]
            self.least[person[cheaper]] = self.pool.cost[at[cheaper]]
            self.least_chance[person[cheaper]] = self.pool.chance[at[cheaper]]
            self.value[person] = self.target[person] = self.pool_values()[at]

    def drop_useless(self) -> None:
        """Remove states from the pool that are not better than the plan."""
        pool = self.pool
        useful = self.pool_values() < self.value[pool.person]
        if self.objective is not None:
            lost = pool.open & ~useful
            np.minimum.at(self.dropped, pool.person[lost], pool.cost[lost])
        pool.keep(useful)

    def accept_unverified(self) -> None:
        """Without queries: store the best confident state, or else the most likely one, if it is likely."""
        pool = self.pool
        self.store(pool.best(np.where(pool.probability >= 0.5, pool.odds, -np.inf)))
        confident = pool.probability >= self.settings.confidence
        self.store(pool.best(np.where(confident, -self.pool_values(), -np.inf)))

    def add_alternatives(
        self, frontier: Frontier, alternatives: Alternatives, budget: int | None, outcome: SearchOutcome
    ) -> None:
        """Search for alternatives to the plans found, with a `frontier` of the same people, not advanced yet."""
        pool = Pool(frontier, belief=self.pool.belief)

        def answers(states: Floats, people: Ints, favourable: Bools) -> Answers:
            return self.answers(states, self.rows[people], favourable)

        def change_sets(people: Ints) -> Labels:
            settings = self.settings.change_sets
            return change_set_candidates(self.problem, frontier, people, self.actions, self.logit, settings, self.hints)

        confidence = self.settings.confidence
        search = AlternativeSearch(
            frontier,
            alternatives,
            self.actions,
            self.oracle.query,
            self.rows,
            PoolChances(pool, self.logit, answers),
            LIMITS if self.max_queries else replace(LIMITS, confidence=confidence),
            max_states=self.max_states or np.iinfo(np.intp).max,
            max_queries=np.full(len(self.rows), np.iinfo(np.intp).max) if budget is None else budget - self.queries,
            propose=change_sets,
        )
        found = search.run()
        outcome.queries[self.rows] += search.queries
        outcome.alternatives = [*(outcome.alternatives or []), *found]
        outcome.incomplete[self.rows] = search.incomplete

    def lower_bound(self) -> Floats:
        """[B] proved lower bound on the cost of a plan."""
        pool, bound = self.pool, np.minimum(self.bound, self.dropped)
        np.minimum.at(bound, pool.person[pool.open], pool.cost[pool.open])
        return np.asarray(np.minimum(bound, self.cost))


class _UnverifiedSearch(_GuidedSearch):
    """A search without queries, which can be repeated at a higher confidence."""

    def __init__(self, frontier: Frontier, logit: Logit, settings: GuideSettings, hints: Hints | None) -> None:
        super().__init__(frontier, logit, cast(MeteredOracle, None), settings, 0, hints)
        self.continued = self.active
        """[B] whether the search will be repeated."""

    def search(self, confidence: float, active: Bools, continued: Bools) -> None:
        """Search for the people `active` [B], in the states enumerated so far and beyond."""
        self.settings = replace(self.settings, confidence=confidence)
        self.active, self.continued = active, continued
        self.actions = np.full_like(self.actions, NO_ACTION)
        self.cost, self.value, self.target = (np.full(len(active), np.inf) for _ in range(3))
        self.update_target(active)
        self.expand()
        self.propose()
        self.accept_unverified()
        self.actions[~active], self.cost[~active] = NO_ACTION, np.inf

    @property
    def exhausted(self) -> Bools:
        """[B] whether every state was enumerated and none is confident."""
        return np.asarray(self.active & np.isinf(self.bound) & np.isinf(self.target) & ~self.full)

    def needs_expansion(self) -> Bools:
        """[B] whether no confident state is known yet."""
        needed: Bools = self.active & np.isfinite(self.bound) & np.isinf(self.target)
        self.frontier.finished |= ~needed & ~self.continued
        return needed

    def values(self, part: slice) -> Floats:
        """Zeros [B]: nothing is queried."""
        return np.zeros(len(self.cost))
