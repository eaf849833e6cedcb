"""Distillation of a program for a problem and a model: policy search or imitation, then a trial on people held out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from counterplan.agent import Agent
from counterplan.agent.search import SearchSettings
from counterplan.blackbox import BlackBox
from counterplan.distillation.base import Distiller, Progress
from counterplan.distillation.demonstrations import DemonstrationSettings, demonstrate
from counterplan.distillation.form import derived_features, value_ranges
from counterplan.distillation.imitation import ImitationSettings, imitate, pairs_of
from counterplan.distillation.options import DistillOptions
from counterplan.distillation.policy_search import PolicySearch
from counterplan.distillation.traces import TraceSampler
from counterplan.distillation.trial import EXAMPLES, Origin, Trial, card_of
from counterplan.errors import NotFittedError, PeopleError
from counterplan.plans import Status
from counterplan.problem import People, Problem
from counterplan.problem.transitions import Floats, Ints
from counterplan.program import ModelCard, Program
from counterplan.program.export.model_card_summary import used
from counterplan.program.model_card import WithoutFunction
from counterplan.search.odds import lasting_odds
from counterplan.storage.settings import settings_to_dict
from counterplan.surrogate import Surrogate
from counterplan.surrogate.acquisition import Logit
from counterplan.survival.estimator import SurvivalEstimator

TRACES = 250
"""Traces that the paper samples."""


@dataclass(frozen=True)
class _Made:
    """A program before its trial, with what its card says about its making."""

    program: Program
    starts: Floats
    """[B, F] initial states of the people that it was made from."""
    real: int
    """Number of real people, who come first."""
    made_with: dict[str, Any]


@dataclass(frozen=True)
class _LastingLogit:
    """Log odds that states are favourable and stay so; an object, so that worker processes can have it."""

    surrogate: Surrogate
    survival: SurvivalEstimator
    power: float

    def __call__(self, states: Floats) -> Floats:
        """Log odds [n] of `states` [n, F]."""
        chance = self.survival.of_states(states)
        assert chance is not None
        return lasting_odds(self.surrogate.logit(states), chance, self.power)


class ProgramDistiller(Distiller):
    """Distils one program from `people`; some of them are held out for a trial.

    `survival` estimates the survival of the ends of plans, if `options` give it weight. `queries` is the number of
    queries of the fit, by method; `jobs` is the number of processes.
    """

    def __init__(
        self,
        problem: Problem,
        people: People,
        box: BlackBox,
        agent: Agent | None,
        surrogate: Surrogate | None,
        options: DistillOptions,
        *,
        survival: SurvivalEstimator | None = None,
        progress: Progress = lambda what, done, total: None,
        queries: Mapping[str, int] | None = None,
        jobs: int = 1,
    ) -> None:
        super().__init__(
            problem,
            people,
            box,
            agent=agent,
            surrogate=surrogate,
            seed=options.seed,
            protected=options.tests_protected,
            fitted="search" if options.preset == "paper" else "guided",
            progress=progress,
            queries=queries,
            jobs=jobs,
        )
        self.options, self.survival = options, survival

    def run(self) -> Program:
        """The program with its card; on one thread, as the arrays are too small for more."""
        with threadpool_limits(1):
            return self.by_imitation() if self.options.preset == "paper" else self.by_policy_search()

    def by_policy_search(self) -> Program:
        """The default method: policy search, evaluated on the surrogate."""
        if self.surrogate is None:
            raise NotFittedError(
                "a program is distilled with a surrogate: call fit(people, method='guided'), or 'counterplan fit "
                "--method guided', first; an agent alone is enough for preset='paper'"
            )
        options, surrogate = self.options, self.surrogate
        demonstrating = DemonstrationSettings()
        if options.traces is not None:
            demonstrating = replace(demonstrating, people=options.traces)
        _, held_out = self.hold_out(np.flatnonzero(surrogate.logit(self.people.states) < 0))
        others = np.setdiff1d(np.arange(len(self.people)), held_out)
        logit = self.success_logit(surrogate)
        demonstrations = demonstrate(
            self.problem,
            self.people.take(others),
            surrogate,
            demonstrating,
            self.random,
            lambda done, total: self.progress("demonstrating", done, total),
            self.jobs,
            logit=logit,
        )
        settings = options.settings()
        search = PolicySearch(self.problem, demonstrations, logit, settings, self.random, self.avoid, self.jobs)
        trees = search.run(lambda done: self.progress("distilling", done, settings.rounds))
        made_with: dict[str, Any] = {
            "method": "policy search on a surrogate",
            "prefer": options.preference,
            "teaching": settings_to_dict(demonstrating),
            "distilling": settings_to_dict(settings),
        }
        if options.survival:
            made_with["survival"] = options.survival
        program = Program(self.problem, trees).simplified()
        made = _Made(program, demonstrations.starts, demonstrations.real, made_with)
        return self.with_card(made, self.people.take(held_out))

    def success_logit(self, surrogate: Surrogate) -> Logit:
        """The log odds that a state is favourable, and, if survival has weight, that it stays so."""
        if not self.options.survival:
            return surrogate.logit
        survival = None if self.survival is None else self.survival.prepare(self.people)
        if survival is None or survival.of_states(self.people.states[:0]) is None:
            raise NotFittedError(
                "a program toward survival needs an estimate that depends on the state alone: fit with people whose "
                "table has the column of the outcome"
            )
        if not survival.portable:
            self.jobs = 1
        return _LastingLogit(surrogate, survival, self.options.survival_power)

    def by_imitation(self) -> Program:
        """The paper's method: traces of the agent with its search, and a scikit-learn tree in each node."""
        if self.agent is None:
            raise NotFittedError(
                "the paper's program imitates an agent: call fit(people, method='search', settings='paper'), or "
                "'counterplan fit --preset paper', first"
            )
        refused, unknown = self.refused(self.people)
        rows, held_out = self.hold_out(refused)
        if not len(rows):
            raise PeopleError(
                f"a program is distilled from refused people, and none of these {len(self.people):,} is known to be; "
                "pass others"
            )
        settings, options = SearchSettings.preset("paper"), self.options
        imitating = ImitationSettings()
        if options.max_conditions is not None:
            imitating = replace(imitating, max_depth=min(imitating.max_depth, options.max_conditions))

        def fit(starts: Floats, actions: Ints) -> Program:
            pairs = pairs_of(self.problem, starts, actions)
            return Program(self.problem, imitate(self.problem, pairs, imitating, options.seed, self.avoid))

        sampler = TraceSampler(self.problem, self.people.take(rows), self.box, self.agent, settings, self.random)
        traces = sampler.sample(
            options.traces or TRACES, fit, lambda done, total: self.progress("sampling", done, total)
        )
        self.queries["traces"] = sampler.queries
        if not len(traces.starts):
            raise PeopleError(
                "the agent found no plan for anyone among these people, so there is nothing to distil; train it "
                "longer, or on more people"
            )
        made_with = {
            "method": "imitation of an agent's traces, as in the paper",
            "traces": len(traces.starts),
            "people_not_asked_about": unknown or None,
            "agent": settings_to_dict(self.agent.config),
            "search": settings_to_dict(settings),
            "imitating": settings_to_dict(imitating),
        }
        made = _Made(fit(traces.starts, traces.actions), traces.starts, traces.real, made_with)
        return self.with_card(made, self.people.take(held_out), refused=True)

    def with_card(self, made: _Made, held_out: People, refused: bool = False) -> Program:
        """The program with a card from a trial on people who were held out, and may be known to be `refused`."""
        self.progress("trying", 0, 1)
        trial = self.try_program(made.program, held_out, refused)
        origin = Origin(
            starts=made.starts,
            real=made.real,
            made_with=made.made_with,
            seed=self.options.seed,
            queries=self.queries,
            avoided=[self.problem.features[index].name for index in self.avoid],
            examples=self.examples(made.program),
            ranges=value_ranges(self.problem, self.people.states),
            derived=derived_features(self.problem, self.people.states),
            model=self.model,
            favourable=tuple(sorted(self.box.favourable_outcomes(self.problem))),
            threshold=self.box.threshold,
        )
        card = json.loads(json.dumps(card_of(made.program, trial, origin).to_data()))  # as it is read from a file
        self.progress("trying", 1, 1)
        return replace(made.program, model_card=ModelCard.from_data(card))

    def try_program(self, program: Program, people: People, refused: bool) -> Trial:
        """Query the final state of each person's plan, and search for the least cost."""
        unanswered = 0
        if not refused:
            rows, unanswered = self.refused(people)
            people = people.take(rows)
        run = program.run(people.states)
        rows = np.flatnonzero(run.stopped)
        holds, known = np.zeros(len(people), bool), np.ones(len(people), bool)
        holds[rows], known[rows] = self.query("its_plans", people, run.states[rows], rows)
        # Everyone after the last query is left out: people without a plan need none, and would be over-represented.
        known = np.logical_and.accumulate(known)
        plans = self.planner().plan(people.take(np.flatnonzero(known)), refused=True, jobs=self.jobs)
        least = np.full(len(people), np.inf)
        least[known] = [plan.cost if plan.status is Status.FOUND else np.inf for plan in plans]
        self.queries["least_effort"] = sum(plan.queries for plan in plans)
        if self.box.remaining_budget == 0:
            least[np.isinf(least)] = np.nan  # the search was cut short
        states, unanswered = people.states[known], unanswered + int((~known).sum())
        return Trial(
            states=states,
            run=program.run(states),
            holds=holds[known],
            least_cost=least[known],
            encoding=self.problem.encoding(self.people),
            unanswered=unanswered,
            without=self.try_without(program, people.take(np.flatnonzero(known))),
        )

    def try_without(self, program: Program, people: People) -> dict[str, WithoutFunction]:
        """By function: results for the people whose plan uses it, if they cannot; one query each."""
        transitions, usual = self.problem.transitions, program.run(people.states)
        tried = {}
        for function, span in zip(transitions.functions, transitions.spans, strict=True):
            rows = np.flatnonzero(np.isin(usual.actions, np.arange(span.start, span.stop)).any(axis=1))
            allowed = np.broadcast_to(self.problem.allowed(function.name), (len(rows), len(transitions)))
            run = program.run(people.states[rows], allowed)
            given = np.flatnonzero(run.stopped)
            holds, known = self.query("its_plans_without_something", people, run.states[given], rows[given])
            if len(rows) and known.all():
                tried[function.name] = WithoutFunction(len(rows), len(given), int(holds.sum()))
        return tried

    def examples(self, program: Program) -> list[Floats]:
        """Synthetic people with a plan, for the form of a page; none of them equals a real person there."""
        states = self.problem.transitions.derive(self.synthetic(400))
        shown = [feature.index for feature in used(program)]
        known = {state.tobytes() for state in self.people.states[:, shown]}
        fresh = np.array([state.tobytes() not in known for state in states[:, shown]], bool)
        if self.surrogate is not None:
            fresh &= self.surrogate.logit(states) < 0
        states = states[fresh]
        return list(states[program.run(states).stopped][:EXAMPLES])
