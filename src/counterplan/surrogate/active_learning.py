"""Learn a surrogate in rounds of queries, fits and validations.

With decisions only, learning is active: people and random plans are labelled first, then the states that the planner
would query, until plans for validation people no longer improve. A model that also gives scores is learned from people
and random plans alone, with far fewer queries, until the out-of-fold error no longer decreases.

A checkpoint holds everything that determines what comes next, so an interrupted run resumes to the same surrogate.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from counterplan.blackbox import BlackBox
from counterplan.errors import PeopleError, SettingError
from counterplan.problem import People, Problem
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.search.change_sets import Hints
from counterplan.search.outcome import SearchOutcome
from counterplan.search.probes import probes
from counterplan.search.synthetic import crossover, random_walk
from counterplan.storage.answer_cache import LabelledStates
from counterplan.storage.arrays import ArraySpec, require_integer, require_number, validate_arrays
from counterplan.storage.checkpoints import LEARNING, CheckpointFormat
from counterplan.surrogate.acquisition import GuideSettings
from counterplan.surrogate.belief import PROBIT
from counterplan.surrogate.fitting import FitSettings, fit
from counterplan.surrogate.labelled_set import LabelledSet
from counterplan.surrogate.round_planning import Planning, plan_in_parallel
from counterplan.surrogate.score_fitting import ScoreFitSettings, fit_scores
from counterplan.surrogate.score_link import ScoreLink
from counterplan.surrogate.surrogate import PARTS, Surrogate, from_arrays, to_arrays

CHECKPOINT, METRICS = LEARNING
_MIN_ROUND = 16
"""A round plans for at least this many people."""
_PLANS_EACH = 3
_VALIDATION_QUERIES = 6
"""Queries left for each validation person that suffice for a validation at the end."""
_MIN_SCORE_ROUNDS = 3
"""Errors of fewer rounds are too noisy to compare."""
_RESERVE = 1.5
"""This many times the queries of a validation are reserved for the last one and for the choice of parts."""
_FORMAT = CheckpointFormat(
    CHECKPOINT,
    METRICS,
    plain={
        "round": "round",
        "stale_rounds": "worse",
        "next_person": "next_person",
        "n_fitted": "learned",
        "finished": "finished",
        "initialization_truncated": "cut",
    },
    arrays={
        "validation": "validation",
        "query_pool": "pupils",
        "least_cost": "least",
        "best_cost": "best_cost",
        "best_queries": "best_questions",
        "unbiased": "unbiased",
    },
)
"""Attributes of a learner in a checkpoint, with the keys they are stored by."""


@dataclass(frozen=True)
class LearningSettings:
    """Settings of `ActiveLearner`; the defaults serve every benchmark.

    Parameters
    ----------
    budget : int, default=10_000
        Maximum number of queries in all.
    people : int, default=240
        People labelled as they are, in the first round.
    plans : int, default=240
        Final states of random plans labelled in the first round.
    probes : int, default=64
        Pairs of a refused and a favourable state between which the decision boundary is located in the first round, in
        problems with more than `probe_above` actions.
    probe_above : int, default=100
        Number of actions above which random plans are unlikely to be favourable.
    validation : int, default=48
        Refused people held out to select the best surrogate.
    growth : float, default=0.3
        Each round grows the labelled set by about this share.
    scores : bool, default=True
        Whether to learn from the model's scores, if it gives any that agree with its decisions.
    score_growth : float, default=1.0
        The same as `growth` if scores are learned from.
    score_tolerance : float, default=0.17
        Learning from scores ends after a round that decreased the standard error by less than this share.
    score_precision : float, default=0.12
        Learning from scores ends at this standard error, in log odds: smaller ones hardly improve plans.
    max_answers : int, default=20_000
        Maximum number of answers to fit on; the last ones are used.
    anchors : int, default=1_000
        Favourable states stored as hints.
    examples : int, default=200
        Plans that worked stored as hints.
    rounds : int, default=20
        Maximum number of rounds.
    patience : int, default=4
        Learning from decisions ends after this many rounds without improvement; half as many with synthetic people.
    tolerance : float, default=0.004
        Minimum improvement of the validation score, in shares of the least cost known.
    query_cost : float, default=0.02
        Cost of one query in the validation score.
    guide : GuideSettings
        How validation people are planned for.
    acquisition : GuideSettings
        How other people are planned for in a round: the queries of these plans become training data.
    fit : FitSettings
        How a surrogate is fitted to decisions.
    score_fit : ScoreFitSettings
        How a surrogate is fitted to scores.

    Examples
    --------
    >>> from counterplan import LearningSettings, Recourse, benchmarks
    >>> german = benchmarks.load("german")
    >>> settings = LearningSettings(budget=100, people=40, plans=40, scores=False)
    >>> recourse = Recourse(german.problem, german.model)
    >>> _ = recourse.fit(german.train, settings=settings, quality=False)
    >>> len(recourse.answers_), recourse.budget_spent_
    (100, True)
    """

    budget: int = 10_000
    people: int = 240
    plans: int = 240
    probes: int = 64
    probe_above: int = field(default=100, metadata={"key": "many"})
    validation: int = 48
    growth: float = 0.3
    scores: bool = True
    score_growth: float = 1.0
    score_tolerance: float = 0.17
    score_precision: float = 0.12
    max_answers: int = field(default=20_000, metadata={"key": "most"})
    anchors: int = 1_000
    examples: int = 200
    rounds: int = 20
    patience: int = 4
    tolerance: float = field(default=0.004, metadata={"key": "better"})
    query_cost: float = field(default=0.02, metadata={"key": "price"})
    guide: GuideSettings = field(default_factory=GuideSettings)
    acquisition: GuideSettings = field(
        default_factory=lambda: GuideSettings(min_relative_gain=0.03, max_queries=3, max_expansions=150_000),
        metadata={"key": "teach"},
    )
    fit: FitSettings = field(default_factory=FitSettings)
    score_fit: ScoreFitSettings = field(default_factory=ScoreFitSettings)


@dataclass(frozen=True)
class LearningProgress:
    """Progress after a round; also one line of the metrics file, whose keys are these names."""

    round: int
    queries: int
    known: int
    """Size of the labelled set, provided answers included."""
    success: float | None = None
    """Share of validation people with a plan; None if there are none, or they were not queried."""
    cost: float = 0.0
    """Mean cost of these plans."""
    questions: float = 0.0
    """Mean number of queries about a validation person."""
    error: float | None = None
    """Out-of-fold standard error of the margins near the decision boundary, if scores are learned from."""

    @classmethod
    def from_metrics(cls, row: Mapping[str, Any]) -> LearningProgress:
        """A line of the metrics file; ValueError if it is damaged."""
        known = {field.name for field in fields(cls)}
        optional = {name for name in ("success", "error") if row.get(name) is None}
        numbers = {name: require_number(row, name) for name in known - optional if name in row}
        if not row.keys() <= known or not {"round", "queries", "known"} <= numbers.keys():
            raise ValueError("the metrics of a round are incomplete")
        return cls(**{name: row[name] for name in row})

    def __str__(self) -> str:
        found = []
        if self.error is not None:
            found.append(f"margins of scores are predicted with a standard error of {self.error:.2g}")
        if self.success is not None:
            found.append(
                f"{self.success:.0%} of validation people have a plan, mean cost {self.cost:.1f}, "
                f"{self.questions:.1f} queries each"
            )
        queries = f"{self.queries:,} {'query' if self.queries == 1 else 'queries'}"
        return "; ".join([*(found or ["nothing could be validated"]), queries])


class ActiveLearner:
    """Learns a surrogate in rounds: query, fit, validate.

    The first round labels people as they are and the ends of random plans. Each later round plans for people not
    planned for before, with the current surrogate, and adds the queries of these plans to the labelled set. If the
    model gives scores, later rounds label more people and random plans instead, and only the last one is validated.

    Parameters
    ----------
    problem : Problem
        The problem.
    people : People
        People, most of them refused by the black box.
    box : BlackBox
        The model.
    settings : LearningSettings
        Settings.
    seed : int
        Seed of the random generator.
    folder : Path, optional
        Folder for checkpoints and metrics.
    answers : LabelledStates, optional
        Answers of an earlier run, which cost no queries.

    Attributes
    ----------
    best : Surrogate or None
        The surrogate that was best on validation people; usable at any time, also after an interrupt.
    queries : int
        Different queries of this run.

    Raises
    ------
    PeopleError
        If there are no people.
    """

    def __init__(
        self,
        problem: Problem,
        people: People,
        box: BlackBox,
        settings: LearningSettings,
        seed: int,
        folder: Path | None = None,
        *,
        answers: LabelledStates | None = None,
        jobs: int = 1,
    ) -> None:
        if not len(people):
            raise PeopleError("there is nobody to learn from: pass people, most of them refused")
        self.problem, self.box, self.settings, self.seed, self.folder = problem, box, settings, seed, folder
        self.jobs = jobs
        self.random = np.random.default_rng(seed)
        self.people = people.take(self.random.permutation(len(people)))
        self.people_hash = hashlib.sha256(self.people.states.tobytes()).hexdigest()
        self.labelled_set = LabelledSet(problem, box, settings.budget, with_scores=settings.scores)
        if answers is not None and len(answers):
            self.labelled_set.provide(answers)
        self.validation: Ints = np.empty(0, np.intp)
        """Rows of `people` who are held out."""
        self.query_pool: Ints = np.empty(0, np.intp)
        """Rows of `people` who are known to be refused and were not planned for yet."""
        self.unbiased: Ints = np.empty(0, np.intp)
        """Indices of the labelled states that were not selected by looking at the model: people and random plans."""
        self.next_person = 0
        self.link: ScoreLink | None = None
        """Converts the model's scores to margins; None if only decisions are learned from."""
        self.surrogate: Surrogate | None = None
        self.best: Surrogate | None = None
        self.n_fitted = self._n_fitted_last = 0
        """How many of the labelled states existed when the best surrogate was fitted, and the last one."""
        self.least_cost = self.best_cost = np.empty(0)
        """[V] the least cost of a plan known for each validation person, and the best surrogate's."""
        self.best_queries = np.empty(0)
        """[V] the best surrogate's queries about each validation person."""
        self.round = self.stale_rounds = 0
        self.finished = self.initialization_truncated = False
        """Whether learning has ended, and whether the budget did not suffice for the first round."""
        self.metrics: list[dict[str, Any]] = []
        self.successful_plans: Counter[tuple[int, ...]] = Counter()
        """How often each plan was verified."""

    @property
    def queries(self) -> int:
        """Different queries of this run, including those answered from the box's cache."""
        return self.labelled_set.queries

    @property
    def holdout(self) -> LabelledStates:
        """Answers that arrived after the best surrogate was fitted: an unbiased test set for it."""
        late = slice(self.n_fitted, None)
        answers = self.labelled_set.answers[late]
        return LabelledStates(self.labelled_set.states[late], answers, ("",) * len(answers), self.box.model_id)

    def run(self, progress: Callable[[LearningProgress], None] = lambda report: None) -> Surrogate:
        """Learn until converged or out of budget.

        Parameters
        ----------
        progress : callable, optional
            Called with a LearningProgress after each round.

        Returns
        -------
        Surrogate
            The surrogate that was best on validation people.

        Raises
        ------
        PeopleError
            If nobody was refused.
        SettingError
            If the budget allows no query.
        """
        while not self.finished:
            progress(self.advance())
            if self.folder is not None:
                self.save()
        assert self.best is not None
        return self.best

    def advance(self) -> LearningProgress:
        """One round: query, fit, and validate."""
        if self.surrogate is None:
            self._initialize()
        elif self.link is not None:
            self._sample(round(self.settings.score_growth * len(self.labelled_set)))
        else:
            self._plan(self._next_people(), self.settings.acquisition, self.surrogate)
        self.surrogate = replace(self._fitted(), hints=self._hints())
        error = self._compare_errors(self.surrogate)
        report = self._validate(self.surrogate) if error is None else self._report(error=error)
        self.metrics.append(asdict(report))
        self.round += 1
        self.finished = self.converged or self.out_of_budget
        if self.finished:
            if error is None:
                self._choose_parts()
                report = replace(report, queries=self.queries, known=len(self.labelled_set))
            elif self.settings.budget - self.queries >= _VALIDATION_QUERIES * len(self.validation):
                report = replace(self._validate(self.surrogate), round=report.round, error=error)
                if self.labelled_set.out_of_budget:  # an incomplete validation counts people as failures
                    report = self._report(round=report.round, error=error)
            self.metrics[-1] = asdict(report)
        return report

    def _compare_errors(self, surrogate: Surrogate) -> float | None:
        """The standard error of a surrogate of scores, which becomes the best one; None if it is not one of scores.

        Learning ends if it is precise, or after a round that did not clearly decrease the error: a round multiplies the
        answers, so that one suffices to tell.
        """
        if surrogate.link is None:
            return None
        error, settings = PROBIT / surrogate.link.unit, self.settings
        before = self.metrics[-1].get("error") if self.round >= _MIN_SCORE_ROUNDS - 1 else None
        stale = before is not None and error > (1 - settings.score_tolerance) * before
        if stale or error <= settings.score_precision:
            self.stale_rounds = settings.patience
        self.best, self.n_fitted = surrogate, self._n_fitted_last
        return error

    def _report(self, **measures: Any) -> LearningProgress:
        """A report of this round."""
        measures = {"round": self.round, **measures}
        return LearningProgress(queries=self.queries, known=len(self.labelled_set), **measures)

    def _fitted(self) -> Surrogate:
        """A surrogate fitted to the latest answers: to their scores, if all have one that agrees."""
        labelled, settings = self.labelled_set, self.settings
        latest, self._n_fitted_last = slice(-settings.max_answers, None), len(labelled)
        states, answers, scores = labelled.states[latest], labelled.answers[latest], labelled.scores[latest]
        self.link = self._link()
        if self.link is not None:
            return fit_scores(self.problem, states, scores, self.link, settings.score_fit, self.seed, jobs=self.jobs)
        before = self.surrogate if self.surrogate is not None and self.surrogate.link is None else None
        return fit(self.problem, states, answers, settings.fit, self.seed, before, jobs=self.jobs)

    def _link(self) -> ScoreLink | None:
        """How the scores known so far convert to margins; None if there are none that can be learned from."""
        labelled, latest = self.labelled_set, slice(-self.settings.max_answers, None)
        if not self.settings.scores:
            return None
        cutoff = self.box.decision(self.problem).cutoff
        return ScoreLink.from_answers(labelled.scores[latest], labelled.answers[latest], cutoff)

    @property
    def unused_scores(self) -> str | None:
        """Why scores that the model gives are not learned from; None if they are, or there are none."""
        scores = self.labelled_set.scores
        known = np.isfinite(scores)
        if self.link is not None or not self.settings.scores or not known.any():
            return None
        if not known.all():
            return f"{(~known).sum():,} of {len(known):,} answers have no score; scores of all are needed"
        return "they take too few values, or disagree with the decisions at every cutoff"

    @property
    def converged(self) -> bool:
        """Whether the maximum number of rounds is reached, or patience has run out."""
        return self.round >= self.settings.rounds or self.stale_rounds >= self.settings.patience

    @property
    def out_of_budget(self) -> bool:
        """Whether too few queries are left for another round."""
        if self.link is not None:
            return self.settings.budget - self.queries < _MIN_ROUND
        return self.labelled_set.out_of_budget or self._affordable_people() < _MIN_ROUND

    @property
    def stopped_by_budget(self) -> bool:
        """Whether learning ended because the budget was exhausted; with a larger one it can be resumed."""
        return self.finished and self.out_of_budget and not self.converged

    def _initialize(self) -> None:
        """Label people as they are, hold out some of those refused, and label ends of random plans of the others."""
        settings = self.settings
        few = settings.people // 2 if settings.scores else settings.people
        refused = self._query_as_they_are(few + settings.validation)
        scored = self._link() is not None
        if not scored and few < settings.people:
            refused = np.concatenate([refused, self._query_as_they_are(settings.people - few)])
        held = min(settings.validation, len(refused) // 3)
        self.validation, self.query_pool = refused[:held], refused[held:]
        self.least_cost = self.best_cost = np.full(held, np.inf)
        self.best_queries = np.zeros(held)
        if len(self.query_pool):
            if scored:
                self._sample(settings.people - few + settings.plans)
            else:
                self._query_random_plans(settings.plans)
            if len(self.problem.transitions) > settings.probe_above:
                self._probe()
        self.initialization_truncated = self.labelled_set.out_of_budget
        if not len(self.labelled_set):
            raise SettingError("the budget allows no query: raise the budget")
        if self.labelled_set.answers.all():
            more = "raise the budget, " if self.initialization_truncated else ""
            raise PeopleError(
                f"nobody among {len(self.labelled_set):,} people asked about was refused, so there is nothing to "
                f"learn; {more}hand in people who were, or see whether the favourable outcome is the right one"
            )

    def _query_as_they_are(self, count: int) -> Ints:
        """Query the next people as they are; return the rows of those refused."""
        rows = np.arange(self.next_person, min(self.next_person + count, len(self.people)))
        self.next_person += len(rows)
        favourable, known = self._query_unbiased(self.people.states[rows], rows)
        return rows[known & ~favourable]

    def _query_unbiased(self, states: Floats, rows: Ints) -> tuple[Bools, Bools]:
        """Query `states` [n, F] of the people `rows` [n], which do not depend on the model: favourable, and known."""
        before = len(self.labelled_set)
        answered = self.labelled_set.oracle(self.people).query(states, rows)
        self.unbiased = np.concatenate([self.unbiased, np.arange(before, len(self.labelled_set))])
        return answered

    def _sample(self, count: int) -> None:
        """Query people as they are, and about `_PLANS_EACH` ends of random plans of each of those refused.

        `count` is the number of queries, or all that are left if these are hardly more.
        """
        left = self.settings.budget - self.queries
        count = left if left < 1.5 * count else count
        before, refused = self.queries, len(self.query_pool) + len(self.validation)
        people = round(count * min(0.5, 1 / (1 + _PLANS_EACH * refused / max(1, self.next_person))))
        self.query_pool = np.concatenate([self.query_pool, self._query_as_they_are(people)])
        self._query_random_plans(count - (self.queries - before))

    def _query_random_plans(self, count: int) -> None:
        """Query the ends of so many random plans of people who are known to be refused, the same number for each."""
        rows = np.resize(self.random.permutation(self.query_pool), max(0, count))
        ends = random_walk(self.problem, self.people.states[rows], self.random)
        self._query_unbiased(ends, rows)

    def _probe(self) -> None:
        """Locate the boundary between the query pool and favourable states: of others, or far beyond any plan."""
        oracle = self.labelled_set.oracle(self.people)
        rows = self.query_pool[self.random.integers(len(self.query_pool), size=self.settings.plans)]
        if not self.labelled_set.answers.any():
            far = self.people.states[rows]
            for _ in range(-(-len(self.problem.transitions.functions) // self.problem.max_actions)):
                far = random_walk(self.problem, far, self.random)
            oracle.query(far, rows)
        favourable = self.labelled_set.states[self.labelled_set.answers]
        if not len(favourable):
            return
        rows = rows[: self.settings.probes]
        partners = favourable[self.random.integers(len(favourable), size=len(rows))]

        def query(states: Floats, which: Ints) -> Bools:
            return oracle(states, rows[which])

        probes(self.problem, self.people.states[rows], partners, query, self.random)

    def _next_people(self) -> People:
        """People to plan for: those known to be refused, then those predicted to be, then synthetic ones."""
        assert self.surrogate is not None
        per_person = max(1.0, 0.7 * (self.settings.acquisition.max_queries or 1))
        labelled = max(self.queries, self.settings.people + self.settings.plans)
        count = max(_MIN_ROUND, round(self.settings.growth * labelled / per_person))
        count = max(0, min(count, self._affordable_people()))
        rows, self.query_pool = self.query_pool[:count], self.query_pool[count:]
        need = count - len(rows)
        if need:
            fresh = np.arange(self.next_person, min(self.next_person + 4 * need, len(self.people)))
            likely = fresh[self.surrogate.logit(self.people.states[fresh]) < 0][:need]
            self.next_person = int(likely[-1]) + 1 if len(likely) == need else self.next_person + len(fresh)
            rows = np.concatenate([rows, likely])
        people = self.people.take(rows)
        if len(rows) == count:
            return people
        states, source = crossover(self.problem, self.people, 4 * (count - len(rows)), self.random)
        likely = np.flatnonzero(self.surrogate.logit(states) < 0)[: count - len(rows)]
        states, source = states[likely], source[likely]
        tables = [people.table, self.people.frame(states, source)]
        return People(people.features, np.concatenate([people.states, states]), pd.concat(tables))

    def _affordable_people(self) -> int:
        """How many people can be planned for so that the budget still covers a validation afterwards."""
        per_person = self.metrics[-1]["questions"] if self.metrics else 0.0
        left = self.settings.budget - self.queries - _RESERVE * per_person * len(self.validation)
        return int(left / max(1, self.settings.acquisition.max_queries or 1))

    def _plan(self, people: People, settings: GuideSettings, surrogate: Surrogate) -> SearchOutcome:
        """Plan for `people` with a surrogate; every query is added to the labelled set."""
        planning = Planning(self.problem, surrogate, settings)
        most = len(people) * (settings.max_queries or self.settings.budget)
        affordable = self.box.budget is None and self.queries + most <= self.settings.budget
        several = self.jobs > 1 and len(people) > settings.people_at_once(self.problem)
        if several and affordable and self.box.cache_size:
            found = plan_in_parallel(planning, people, self.labelled_set, self.jobs)
        else:
            found = planning.plan(people.states, self.labelled_set.oracle(people))
        for plan in found.actions[found.verified].tolist():
            self.successful_plans[tuple(plan)] += 1
        return found

    def _hints(self) -> Hints:
        """The plans that were verified most often, and the latest favourable states."""
        plans = [list(plan) for plan, _ in self.successful_plans.most_common(self.settings.examples)]
        anchors = self.labelled_set.states[self.labelled_set.answers][-self.settings.anchors :]
        return Hints(anchors, np.array(plans, np.intp).reshape(len(plans), self.problem.max_actions))

    def _validate(self, surrogate: Surrogate) -> LearningProgress:
        """Plan for validation people; `surrogate` becomes the best one unless an earlier one was clearly better."""
        found = self._plan(self.people.take(self.validation), self.settings.guide, surrogate)
        solved = np.isfinite(found.cost)
        exhausted = self.labelled_set.out_of_budget
        validated = len(solved) > 0 and not (exhausted and not found.queries.any())
        if exhausted and self.best is not None:  # an incomplete validation is not comparable
            self.stale_rounds += 1
        else:
            self.least_cost = np.minimum(self.least_cost, found.cost)
            before = self._score(self.best_cost, self.best_queries) if self.best else np.inf
            score = self._score(found.cost, found.queries)
            if score < before + self.settings.tolerance:
                self.best, self.n_fitted = surrogate, self._n_fitted_last
            if score < before:
                self.best_cost, self.best_queries = found.cost, found.queries.astype(float)
            stale = 2 if self.next_person == len(self.people) else 1
            self.stale_rounds = 0 if score < before - self.settings.tolerance else self.stale_rounds + stale
        return self._report(
            success=float(solved.mean()) if validated else None,
            cost=float(found.cost[solved].mean()) if solved.any() else 0.0,
            questions=float(found.queries.mean()) if len(solved) else 0.0,
        )

    def _score(self, cost: Floats, queries: Floats | Ints) -> float:
        """Mean ratio of `cost` [V] to the least one known (a failure counts 2), plus the cost of the `queries` [V]."""
        known = np.isfinite(self.least_cost)
        if not known.any():
            return 2.0
        ratio = np.minimum(cost[known] / np.maximum(self.least_cost[known], 1e-9), 2.0)
        return float(ratio.mean() + self.settings.query_cost * queries.mean())

    def _choose_parts(self) -> None:
        """Use networks or trees alone if they plan clearly better for validation people than both together."""
        assert self.best is not None
        if self.labelled_set.out_of_budget:
            return
        results = {}
        people = self.people.take(self.validation)
        for parts in PARTS:
            found = self._plan(people, self.settings.guide, self.best.with_parts(parts))
            self.least_cost = np.minimum(self.least_cost, found.cost)
            results[parts] = found
        if not self.labelled_set.out_of_budget:
            scores = {parts: self._score(found.cost, found.queries) for parts, found in results.items()}
            scores["both"] -= 3 * self.settings.tolerance
            self.best = self.best.with_parts(min(scores, key=lambda parts: scores[parts]))

    def save(self) -> None:
        """Write a checkpoint and the metrics, each whole or not at all."""
        assert self.surrogate is not None
        assert self.best is not None
        facts: dict[str, Any] = {
            "spent": self.labelled_set.out_of_budget,
            "worked": [[list(plan), count] for plan, count in self.successful_plans.items()],
        }
        arrays = self.labelled_set.to_arrays()
        for name, surrogate in (("now", self.surrogate), ("best", self.best)):
            parts, facts[name] = to_arrays(surrogate)
            arrays |= {f"{name}.{key}": value for key, value in parts.items()}
        _FORMAT.write(self, arrays, facts)

    def _plan_count(self, plan: Any, count: Any) -> tuple[tuple[int, ...], int]:
        """An entry of `successful_plans` as read; ValueError if it is not a plan of the problem, or not a count."""
        actions = np.array(plan)
        spec = ArraySpec(np.int64, (self.problem.max_actions,), low=-1, high=len(self.problem.transitions) - 1)
        validate_arrays({"plan": actions}, {"plan": spec})
        return tuple(actions.tolist()), require_integer({"count": count}, "count")

    @classmethod
    def resumed(
        cls,
        problem: Problem,
        people: People,
        box: BlackBox,
        settings: LearningSettings,
        seed: int,
        folder: Path,
        *,
        answers: LabelledStates | None = None,
        jobs: int = 1,
    ) -> ActiveLearner:
        """Restore a run from its checkpoint.

        A run that had ended continues if `settings.budget` is larger now, or if `answers` has new ones. One whose
        budget did not suffice for the first round starts again, if it is larger now, with the answers it has. With a
        smaller budget nothing is lost.

        Parameters
        ----------
        problem, people, box, settings, seed, folder
            As they were passed to the run; only the budget may differ.
        answers : LabelledStates, optional
            Answers to add, which cost no queries.

        Returns
        -------
        ActiveLearner
            The run as it was when the checkpoint was written.

        Raises
        ------
        StorageError
            If the checkpoint is missing, damaged or of another run.
        """
        stored = _FORMAT.read(folder)
        with stored.reporting_damage():
            stored.require(problem, box, settings, seed)
            run = cls(problem, people, box, settings, seed, folder, jobs=jobs)
            stored.require_people(run.people_hash)
            rows = ArraySpec(np.intp, ("*",), low=0, high=len(run.people) - 1)
            stored.arrays.setdefault("unbiased", np.empty(0, np.intp))  # older ones do not have it
            held = dict.fromkeys(("least", "best_cost", "best_questions"), ArraySpec(float, ("held",)))
            stored.validate({"validation": replace(rows, shape=("held",)), "pupils": rows, **held})
            stored.restore(run)
            for row in run.metrics:
                LearningProgress.from_metrics(row)
            run.labelled_set.restore(stored.arrays)
            stored.validate({"unbiased": ArraySpec(np.intp, ("*",), low=0, high=len(run.labelled_set) - 1)})
            if run.initialization_truncated and stored.budget < settings.budget:
                return cls(problem, people, box, settings, seed, folder, answers=answers, jobs=jobs)
            require_integer(stored.facts, "learned", high=len(run.labelled_set))
            run.labelled_set.out_of_budget = stored.facts["spent"] is True
            run.successful_plans = Counter(dict(run._plan_count(*entry) for entry in stored.facts["worked"]))
            run.surrogate = from_arrays(problem, stored.with_prefix("now."), stored.facts["now"])
            run.best = from_arrays(problem, stored.with_prefix("best."), stored.facts["best"])
            run.link = run.surrogate.link
            if stored.budget != settings.budget:
                run.labelled_set.out_of_budget = run.queries >= settings.budget
                run.finished = run.converged or run.out_of_budget
        known = len(run.labelled_set)
        if answers is not None and len(answers):
            run.labelled_set.provide(answers)
        run.finished &= len(run.labelled_set) == known
        return run
