"""Distillation of a scorecard from a surrogate: fit, points that are enough, and a trial on people held out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np
from threadpoolctl import threadpool_limits

from counterplan.blackbox import BlackBox
from counterplan.distillation.base import Distiller, Progress
from counterplan.distillation.demonstrations import Demonstrations, DemonstrationSettings, demonstrate
from counterplan.distillation.form import derived_features, value_ranges
from counterplan.distillation.options import DistillOptions
from counterplan.distillation.scorecard_ends import sample_ends
from counterplan.distillation.scorecard_fitting import ScorecardFitSettings, fit_entries
from counterplan.distillation.trial import EXAMPLES, DistillationOrigin, Trial, rounded_mean, trial_card
from counterplan.errors import NotFittedError, SettingError
from counterplan.planners.base import is_whole
from counterplan.planners.card import CardPlanner, cheapest_by_points
from counterplan.plans import Plans, Status
from counterplan.problem import Feature, People, Problem
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.program.model_card import ModelCard, WithoutFunction
from counterplan.scorecard import Scorecard
from counterplan.search.odds import sigmoid
from counterplan.search.orders import rollout
from counterplan.storage.settings import settings_to_dict
from counterplan.surrogate import Surrogate

CHECKED = 3
"""Queries about each person in the trial of plans that are checked."""


@dataclass(frozen=True)
class ScorecardOptions:
    """Options of the distillation of a scorecard.

    Parameters
    ----------
    seed : int, default=0
    protected : bool, default=False
        Whether protected features may have entries.
    people : int, default=3_000
        Number of refused people; synthetic ones are added if there are too few.
    ends : int, default=20
        Most ends of plans of one person that the card is fitted to.
    max_cost_ratio : float, default=1.5
        Largest cost of these plans, relative to the least.
    success : float, default=0.95
        Share of people whose plan is to hold if nothing is queried, according to the surrogate.
    fit : ScorecardFitSettings

    Raises
    ------
    SettingError
        If a value is out of range.
    """

    seed: int = 0
    protected: bool = False
    people: int = 3_000
    ends: int = 20
    max_cost_ratio: float = 1.5
    success: float = 0.95
    fit: ScorecardFitSettings = field(default_factory=ScorecardFitSettings)

    @classmethod
    def of(cls, options: DistillOptions) -> Self:
        """The options that `Recourse.distil` takes, for a card."""
        default = cls(seed=options.seed, protected=options.tests_protected)
        return default if options.traces is None else replace(default, people=options.traces)

    def __post_init__(self) -> None:
        if not is_whole(self.seed) or self.seed >= 2**32:
            raise SettingError(f"'seed' must be an integer from 0 to {2**32 - 1:,}, not {self.seed!r}")
        for name in ("people", "ends"):
            if not is_whole(getattr(self, name), 1):
                raise SettingError(f"'{name}' must be an integer, one or more, not {getattr(self, name)!r}")
        if not self.max_cost_ratio >= 1:
            raise SettingError(f"'max_cost_ratio' must be a number, one or more, not {self.max_cost_ratio!r}")
        if not 0 < self.success <= 1:
            raise SettingError(f"'success' must be a share, above 0 and at most 1, not {self.success!r}")


class _Plans(NamedTuple):
    """Plans of B people."""

    actions: Ints
    """[B, T]"""
    stopped: Bools
    """[B] whether there is a plan."""
    cost: Floats
    """[B]"""
    ends: Floats
    """[B, F] final states."""

    @classmethod
    def of(cls, problem: Problem, people: People, plans: Plans) -> _Plans:
        """Those that a planner returned."""
        actions = plans.columns.actions
        stopped = np.array([plan.status is Status.FOUND for plan in plans], bool)
        ends, cost, _ = rollout(problem.transitions, people.states, actions)
        return cls(actions, stopped, cost, ends)

    def take(self, rows: Bools) -> _Plans:
        """The plans of the people `rows` [B]."""
        return _Plans(self.actions[rows], self.stopped[rows], self.cost[rows], self.ends[rows])


class ScorecardDistiller(Distiller):
    """Distils one scorecard from `people`; some of them are held out for a trial.

    `queries` is the number of queries of the fit of the surrogate, by method; `jobs` is the number of processes.
    """

    def __init__(
        self,
        problem: Problem,
        people: People,
        box: BlackBox,
        surrogate: Surrogate | None,
        options: ScorecardOptions | None = None,
        *,
        progress: Progress = lambda what, done, total: None,
        queries: Mapping[str, int] | None = None,
        jobs: int = 1,
    ) -> None:
        self.options = options or ScorecardOptions()
        super().__init__(
            problem,
            people,
            box,
            agent=None,
            surrogate=surrogate,
            seed=self.options.seed,
            protected=self.options.protected,
            fitted="guided",
            progress=progress,
            queries=queries,
            jobs=jobs,
        )

    def run(self) -> Scorecard:
        """The card with its model card; on one thread, as the arrays are small."""
        with threadpool_limits(1):
            return self._run()

    def _run(self) -> Scorecard:
        if self.surrogate is None:
            raise NotFittedError(
                "a card is distilled with a surrogate: call fit(people, method='guided'), or 'counterplan fit "
                "--method guided', first"
            )
        features, options, surrogate = self.features(), self.options, self.surrogate
        _, held_out = self.hold_out(np.flatnonzero(surrogate.logit(self.people.states) < 0))
        others = np.setdiff1d(np.arange(len(self.people)), held_out)
        demonstrations = demonstrate(
            self.problem,
            self.people.take(others),
            surrogate,
            DemonstrationSettings(people=options.people, confidences=(0.5,)),
            self.random,
            lambda done, total: self.progress("demonstrating", done, total),
            self.jobs,
        )
        self.progress("distilling", 0, 1)
        ends = sample_ends(
            self.problem,
            demonstrations,
            surrogate.logit,
            self.random,
            per_person=options.ends,
            max_cost_ratio=options.max_cost_ratio,
        )
        entries, slope, shift = fit_entries(self.problem, ends.states, ends.logits, features, options.fit)
        card = Scorecard(self.problem, entries, needed=0, slope=slope, shift=shift)
        card = replace(card, needed=self.needed(card, demonstrations))
        self.progress("distilling", 1, 1)
        made_with = {"method": "additive points fitted to a surrogate", "settings": settings_to_dict(options)}
        return self.with_model_card(card, self.people.take(held_out), demonstrations, made_with)

    def features(self) -> list[Feature]:
        """The features that may have entries: those that are not protected and no copies of a category."""
        copies = {cause.target for cause in self.problem.transitions.derived if cause.table is not None}
        copies &= {self.index(name) for name in derived_features(self.problem, self.people.states)}
        found = [one for one in self.problem.features if one.index not in copies and one.index not in self.avoid]
        if not found:
            raise SettingError(
                f"every feature of {self.problem.name} is protected, so there is nothing to give points for; pass "
                "protected=True to allow it"
            )
        return found

    def index(self, name: str) -> int:
        """The index of a feature."""
        return next(one.index for one in self.problem.features if one.name == name)

    def needed(self, card: Scorecard, demonstrations: Demonstrations) -> int:
        """The points that are enough: the fewest with which plans hold for the demanded share of people.

        Plans of people who cannot reach them lead to the most points within reach.
        """
        assert self.surrogate is not None
        count = min(_NEEDED_PEOPLE, len(demonstrations.starts))
        rows = np.sort(self.random.choice(len(demonstrations.starts), count, replace=False))
        found = cheapest_by_points(card, demonstrations.starts[rows])
        chance = sigmoid(self.surrogate.logit(found.states))
        levels = np.unique(found.points)
        success = np.zeros(len(levels))
        for number in np.unique(found.person).tolist():
            own = found.person == number
            at = np.searchsorted(found.points[own], levels)  # points increase with cost
            success += np.append(chance[own], chance[own][-1])[at]
        demanded = min(self.options.success * count, success.max() - _NEGLIGIBLE * count)
        return int(levels[np.argmax(success >= demanded)])

    def with_model_card(
        self, card: Scorecard, held_out: People, demonstrations: Demonstrations, made_with: dict[str, Any]
    ) -> Scorecard:
        """The card with a model card from a trial on people who were held out."""
        self.progress("trying", 0, 1)
        trial, checked = self.try_card(card, held_out)
        origin = DistillationOrigin(
            starts=demonstrations.starts,
            real=demonstrations.real,
            made_with=made_with,
            seed=self.options.seed,
            queries=self.queries,
            avoided=[self.problem.features[index].name for index in self.avoid],
            examples=self.examples(card),
            ranges=value_ranges(self.problem, self.people.states),
            derived=derived_features(self.problem, self.people.states),
            model=self.model,
            favourable=tuple(sorted(self.box.favourable_outcomes(self.problem))),
            threshold=self.box.threshold,
        )
        model_card = trial_card(self.problem, trial, origin)
        used = {one.feature for one in card.features}
        tested = tuple(one.name for one in self.problem.features if one.protected and one.index in used)
        model_card = replace(model_card, protected_tested=tested, extra={**model_card.extra, "checked": checked})
        self.progress("trying", 1, 1)
        data = json.loads(json.dumps(model_card.to_data()))  # as it is read from a file
        return replace(card, model_card=ModelCard.from_data(data))

    def try_card(self, card: Scorecard, people: People) -> tuple[Trial, dict[str, Any]]:
        """The trial without queries, and the results of plans that are checked."""
        rows, unanswered = self.refused(people)
        people = people.take(rows)
        plans = self.plans(card, people)
        rows = np.flatnonzero(plans.stopped)
        holds, known = np.zeros(len(people), bool), np.ones(len(people), bool)
        holds[rows], known[rows] = self.query("its_plans", people, plans.ends[rows], rows)
        # Everyone after the last query is left out: people without a plan need none, and would be over-represented.
        known = np.logical_and.accumulate(known)
        people, unanswered = people.take(np.flatnonzero(known)), unanswered + int((~known).sum())
        best = self.planner().plan(people, refused=True, jobs=self.jobs)
        least = np.array([plan.cost if plan.status is Status.FOUND else np.inf for plan in best])
        self.queries["least_effort"] = sum(plan.queries for plan in best)
        if self.box.remaining_budget == 0:
            least[np.isinf(least)] = np.nan  # the search was cut short
        trial = Trial(
            states=people.states,
            run=plans.take(known),
            holds=holds[known],
            least_cost=least,
            encoding=self.problem.encoding(self.people),
            unanswered=unanswered,
            without=self.try_without(card, people),
        )
        return trial, self.try_checked(card, people, trial)

    def try_checked(self, card: Scorecard, people: People, trial: Trial) -> dict[str, Any]:
        """Success and cost ratio of plans that are checked with a few queries, as plain data."""
        found = CardPlanner(self.problem, self.box, card, queries=CHECKED).plan(people, refused=True)
        plans = _Plans.of(self.problem, people, found)
        self.queries["its_plans_checked"] = int(found.columns.queries.sum())
        both = plans.stopped & np.isfinite(trial.least_cost) & (trial.least_cost > 0)
        ratio = plans.cost[both] / np.minimum(trial.least_cost, plans.cost)[both]
        return {
            "queries": CHECKED,
            "success": rounded_mean(plans.stopped[trial.hopeful | plans.stopped]),
            "cost_ratio": rounded_mean(ratio),
            "mean_queries": rounded_mean(found.columns.queries.astype(float)),
        }

    def try_without(self, card: Scorecard, people: People) -> dict[str, WithoutFunction]:
        """By function: results for the people whose plan uses it, if they cannot; one query each."""
        transitions, usual = self.problem.transitions, self.plans(card, people)
        tried = {}
        for function, span in zip(transitions.functions, transitions.spans, strict=True):
            rows = np.flatnonzero(np.isin(usual.actions, np.arange(span.start, span.stop)).any(axis=1))
            if not len(rows):
                continue
            plans = self.plans(card, people.take(rows), function.name)
            given = np.flatnonzero(plans.stopped)
            holds, known = self.query("its_plans_without_something", people, plans.ends[given], rows[given])
            if known.all():
                tried[function.name] = WithoutFunction(len(rows), len(given), int(holds.sum()))
        return tried

    def plans(self, card: Scorecard, people: People, *forbid: str) -> _Plans:
        """The plans of the card for people, without queries."""
        found = CardPlanner(self.problem, None, card, queries=0).plan(people, refused=True, forbid=list(forbid))
        return _Plans.of(self.problem, people, found)

    def examples(self, card: Scorecard) -> list[Floats]:
        """Synthetic refused people with a plan, for the form of a page; none of them equals a real person there."""
        assert self.surrogate is not None
        states = self.problem.transitions.derive(self.synthetic(400))
        shown = self.shown(card)
        known = {state.tobytes() for state in self.people.states[:, shown]}
        fresh = np.array([state.tobytes() not in known for state in states[:, shown]], bool)
        states = states[fresh & (self.surrogate.logit(states) < 0)][: 10 * EXAMPLES]
        planned = cheapest_by_points(card, states)
        enough = np.unique(planned.person[planned.points >= card.needed])
        helped = enough[card.points(states[enough]) < card.needed]
        return list(states[helped][:EXAMPLES])

    def shown(self, card: Scorecard) -> list[int]:
        """The features that plans of a card depend on: with entries, changed, or needed for legality or cost."""
        transitions = self.problem.transitions
        found = {one.feature for one in card.features}
        for function in transitions.functions:
            found |= {function.target} | transitions.read_by(function, transitions.changed_by(function))
        return sorted(found)


_NEGLIGIBLE = 0.02
"""Success that is given up for fewer points, where the demanded success is out of reach."""
_NEEDED_PEOPLE = 400
"""People whose plans decide which number of points is enough."""
