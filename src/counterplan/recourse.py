"""The front door: `Recourse(problem, model).fit(people).recommend(people)`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from counterplan.errors import PlanError
from counterplan.planners import (
    CascadePlanner,
    EvolutionPlanner,
    ExactPlanner,
    GuidedPlanner,
    Planner,
    PolicyPlanner,
    ProgramPlanner,
    SearchPlanner,
)
from counterplan.planners.base import is_whole
from counterplan.plans.plan import Plans
from counterplan.plugins import planner_plugin, plugin_names
from counterplan.problem import People
from counterplan.problem.values import did_you_mean
from counterplan.program import Program
from counterplan.storage.answer_cache import FILE as ANSWERS
from counterplan.storage.answer_cache import LabelledStates
from counterplan.storage.checkpoints import OtherRun
from counterplan.storage.files import writable
from counterplan.storage.workspace import METHODS, Learned, drop_checkpoints
from counterplan.storage.write_ahead import WriteAheadLog
from counterplan.surrogate.acquisition import GuideSettings

if TYPE_CHECKING:
    from counterplan.agent.training import Report, TrainingSettings
    from counterplan.distillation.distiller import Progress as DistilProgress
    from counterplan.surrogate.active_learning import LearningSettings, Progress

    Settings = TrainingSettings | LearningSettings | str

PLANNERS = ("guided", "program", "cascade", "search", "policy", "exact", "evolution")
OWN = (*PLANNERS, "cascade+exact", "paper")


class Recourse(Learned):
    """A problem, a model, and what was learned about them.

    Once `fit` or `load` has made them, there are a `surrogate_` (method "guided"), an `agent_` ("search"), or both;
    once `distil` has, a `program_`.
    """

    def fit(
        self,
        people: pd.DataFrame | People,
        *,
        method: str | None = None,
        seed: int = 0,
        settings: Settings | tuple[Settings, ...] = "default",
        budget: int | None = None,
        folder: str | Path | None = None,
        resume: bool = False,
        answers: str | Path | LabelledStates | None = None,
        progress: Callable[[Report | Progress], None] | None = None,
    ) -> Recourse:
        """Learn about the model from people; the same seed, people and answers, the same result.

        The method "guided" learns a surrogate of the model, from people of both outcomes; "search" trains an agent on
        people who were refused; "both" does one after the other. `settings` are LearningSettings (guided),
        TrainingSettings (search) or the name of a preset, "default" or "paper"; a tuple has some for both. They choose
        the method if none is named; else it is "guided". `budget` limits the questions to the model in all.

        With a `folder`, answers, checkpoints and metrics are kept there, and `resume` goes on from them, also with
        another budget, but not with another model. `answers` that were paid for before are learned from and not asked
        again. Ctrl-C leaves the best so far.
        """
        how = _Fit.wished(method, settings, budget, seed)
        read = self.problem.read(people)
        told = self._told(answers)
        if folder is None and resume:
            raise PlanError("there is nothing to resume without a folder: name the one that was fitted in")
        where = None if folder is None else writable(folder)
        if self._afresh and where is not None:
            drop_checkpoints(where)
            self._afresh = resume = False
        self._journal = WriteAheadLog(self.problem, self.box.model_id, where)
        if resume and where is not None:
            self._recall(where)
            if self.foreign_model_ is not None:
                raise PlanError(
                    f"{where / ANSWERS}: holds answers of {self.foreign_model_}, not of {self.box.model_id}; "
                    "start again with --force"
                )
            try:
                self._take_up(self._journal)
            except PlanError as error:
                raise PlanError(f"{error}; start again with --force") from None
        if told is not None:
            self._journal(self.problem.query_fingerprint, told.by_key)
        show = progress or (lambda report: None)
        try:
            with self.box.noting(self._journal):
                self._fit(how, read, where, resume, told, show)
        finally:
            self._paid |= self._journal.known
            self._journal.flush()
        return self

    def _fit(
        self, how: _Fit, people: People, folder: Path | None, resume: bool, answers: LabelledStates | None,
        show: Callable[[Report | Progress], None],
    ) -> None:  # fmt: skip
        """Learn a surrogate, train an agent, or both within one budget."""
        self.budget_spent_ = False
        if how.method == "search":
            self._train(people, how.agent, how.seed, folder, resume, show)
            return
        asked = self._learn(people, how.guide, how.seed, folder, resume, answers, show)
        if how.method == "guided":
            return
        agent = how.agent
        if how.budget is not None:
            agent = replace(agent, budget=how.budget - asked)
            if agent.budget < 1:
                self.budget_spent_ = True
                raise PlanError("the budget is spent on the surrogate; raise it to train an agent too, or fit 'guided'")
        assert self.surrogate_ is not None
        refused = np.flatnonzero(self.surrogate_.logit(people.states) < 0)
        some = people.take(refused) if len(refused) else people
        try:
            self._train(some, agent, how.seed, folder, resume, show)
        except OtherRun as other:  # a surrogate that has learned more takes others to be refused
            if other.what != "different people":
                raise
            self._train(some, agent, how.seed, folder, False, show)

    def _learn(
        self, people: People, settings: LearningSettings, seed: int, folder: Path | None, resume: bool,
        answers: LabelledStates | None, progress: Callable[[Progress], None],
    ) -> int:  # fmt: skip
        """Learn a surrogate; says how many questions that took."""
        from counterplan.surrogate.active_learning import CHECKPOINT, ActiveLearner

        if resume and folder is not None and (folder / CHECKPOINT).exists():
            learning = ActiveLearner.resumed(self.problem, people, self.box, settings, seed, folder, answers)
        else:
            learning = ActiveLearner(self.problem, people, self.box, settings, seed, folder, answers)

        def show(report: Progress) -> None:
            self.surrogate_ = learning.best
            progress(report)

        self.program_ = None  # it was made from what was learned before
        try:
            learning.run(show)
        finally:
            self.surrogate_ = learning.best or self.surrogate_
            self.n_queries_["guided"] = learning.queries
            self.budget_spent_ |= learning.limited
            ledger, late = learning.ledger, slice(learning.learned, None)
            unseen = ledger.answers[late]
            self.holdout_answers_ = LabelledStates(ledger.states[late], unseen, ("",) * len(unseen), self.box.model_id)
        return learning.queries

    def _train(
        self, people: People, settings: TrainingSettings, seed: int, folder: Path | None, resume: bool,
        progress: Callable[[Report], None],
    ) -> None:  # fmt: skip
        """Train an agent."""
        from counterplan.agent.training import CHECKPOINT, Training

        if resume and folder is not None and (folder / CHECKPOINT).exists():
            training = Training.resumed(self.problem, people, self.box, settings, seed, folder)
        else:
            training = Training(self.problem, people, self.box, settings, seed, folder)

        def show(report: Report) -> None:
            self.agent_ = training.best_agent
            progress(report)

        try:
            training.run(show)
        finally:
            self.agent_ = training.best_agent
            self.n_queries_["search"] = training.queries
            self.budget_spent_ |= training.limited

    def _told(self, answers: str | Path | LabelledStates | None) -> LabelledStates | None:
        """Answers that were handed in, which the black box now remembers; another model's are refused."""
        if answers is None:
            return None
        if not isinstance(answers, (str, Path, LabelledStates)):
            raise PlanError(f"answers are Answers, or the path of a file of them, not {answers!r}")
        told = answers if isinstance(answers, LabelledStates) else LabelledStates.load(answers, self.problem)
        if told.model not in ("", self.box.model_id):
            raise PlanError(f"these are answers of {told.model}, not of {self.box.model_id}")
        told.tell(self.box, self.problem)
        return told

    def distil(
        self,
        people: pd.DataFrame | People,
        *,
        traces: int | None = None,
        rounds: int | None = None,
        max_conditions: int | None = None,
        prefer: str | None = None,
        preset: str = "default",
        protected: bool = False,
        seed: int = 0,
        progress: DistilProgress | None = None,
    ) -> Program:
        """Write what was learned down as a program, kept as `program_`: the same seed and people, the same program.

        The "default" preset searches for the program that does best on the surrogate, which takes no question;
        `traces` is then how many refused people, if need be invented ones, it is made for (default 16,000), and
        `rounds` how often it is improved. It balances success, effort and short rules; `prefer` one of "success",
        "effort" and "short". The preset "paper" imitates `traces` (default 250) of the agent's plans.
        `max_conditions` limits the features that a rule tests. No rule tests a protected feature unless `protected`
        says so.

        Some of the people are held back to try the program on, with real questions: see `program_.card`.
        """
        from counterplan.distillation.distiller import ProgramDistiller
        from counterplan.distillation.options import DistillOptions

        wishes = DistillOptions(traces, rounds, max_conditions, prefer, preset, protected, seed)
        read, show = self.problem.read(people), progress or (lambda what, done, total: None)
        run = ProgramDistiller(
            self.problem, read, self.box, self.agent_, self.surrogate_, wishes,
            progress=show, queries=self.n_queries_,
        )  # fmt: skip
        self.program_ = run.run()
        return self.program_

    def explain(self, plans: Plans, *, ask: bool = False) -> Plans:
        """The same plans with a reason for every step: the program's rule where it would do the same, else a contrast.

        A contrast says what follows without the step. It uses what the model is known to answer; `ask` allows one
        question a step for what is not known.
        """
        from counterplan.explanation.explain import explain

        return explain(plans, self.problem, self.box, self.program_, self.surrogate_, ask=ask)

    def recommend(
        self,
        people: pd.DataFrame | People,
        planner: str | Planner | type[Planner] | None = None,
        *,
        price: float | None = None,
        **wishes: Any,
    ) -> Plans:
        """A plan for each of `people`; `wishes` as for `Planner.plan`: forbid, allowed, budget, refused, progress.

        Without a `planner`, it is "guided" if there is a surrogate, else "cascade"; `price` as for `planner`.
        """
        if isinstance(planner, Planner):
            if price is not None:
                raise PlanError("a price belongs to a planner by name; this one has settings of its own")
            return planner.plan(people, **wishes)
        return self.planner(planner, price=price).plan(people, **wishes)

    def planner(self, name: str | type[Planner] | None = None, *, price: float | None = None) -> Planner:
        """A planner by name: guided, program, search, policy, exact, evolution, paper, or several in a row; also one of
        another package, by the name of its entry point in the group `counterplan.planners`, or a class of your own.

        cascade is program (or, if there is none, policy), guided and search, as far as they are there; cascade+exact
        has a last resort. `price` is what a question costs in units of effort: "guided", also in a cascade, asks one
        only if it may save more.
        """
        guide = None if price is None else GuideSettings(price=_price(price))
        if price is not None and name not in (None, "guided", "cascade", "cascade+exact"):
            raise PlanError(f"a price of questions is for the planner 'guided' or a cascade, not for {name!r}")
        problem, box, agent = self.problem, self.box, self.agent_
        usual = "cascade" if self.surrogate_ is None else "guided"
        match usual if name is None else name:
            case "exact":
                return ExactPlanner(problem, box)
            case "evolution":
                return EvolutionPlanner(problem, box)
            case "guided" if self.surrogate_ is not None:
                return GuidedPlanner(problem, box, self.surrogate_, settings=guide)
            case "program" if (program := self.program_) is not None:
                return ProgramPlanner(problem, box, program)
            case "search" if agent is not None:
                return SearchPlanner(problem, box, agent)
            case "paper" if agent is not None:
                return SearchPlanner(problem, box, agent, settings="paper")
            case "policy" if agent is not None:
                return PolicyPlanner(problem, box, agent)
            case "cascade" if parts := self._in_a_row(price):
                return CascadePlanner(problem, box, parts)
            case "cascade+exact" if parts := self._in_a_row(price):
                return CascadePlanner(problem, box, [*parts, ExactPlanner(problem, box)])
            case type() as own if issubclass(own, Planner):
                return own(problem, box)
            case str(other) if other not in OWN and (theirs := planner_plugin(other)):
                return theirs(problem, box)
            case other:
                raise PlanError(_lacking(other))

    def _in_a_row(self, price: float | None) -> list[Planner]:
        """The parts of a cascade, from the one that asks least."""
        there = {"program": self.program_, "policy": self.agent_, "guided": self.surrogate_, "search": self.agent_}
        if self.program_ is not None:
            del there["policy"]
        return [
            self.planner(name, price=price if name == "guided" else None)
            for name, learned in there.items()
            if learned is not None
        ]


@dataclass(frozen=True)
class _Fit:
    """What a call of `fit` asks for, once it makes sense."""

    method: str
    guide: LearningSettings
    agent: TrainingSettings
    budget: int | None
    """For all together; for one method alone, it is in its settings."""
    seed: int

    @classmethod
    def wished(
        cls, method: str | None, settings: Settings | tuple[Settings, ...], budget: int | None, seed: int
    ) -> _Fit:
        """Settings choose the method if none is named; a PlanError says so if something makes no sense."""
        from counterplan.agent.training import TrainingSettings
        from counterplan.surrogate.active_learning import LearningSettings

        guide, agent = _settings(settings)
        chosen = method or ("both" if agent and guide else "search" if agent else "guided")
        if chosen not in METHODS:
            hint = did_you_mean(str(chosen), METHODS)
            raise PlanError(f"there is no method '{chosen}'{hint}; there are {', '.join(METHODS)}")
        if (chosen == "guided" and agent) or (chosen == "search" and guide):
            raise PlanError(f"these settings are not for the method '{chosen}' but for the other one")
        if budget is not None and not is_whole(budget, 1):
            raise PlanError(f"the budget of questions is a whole number, one or more, not {budget!r}")
        if not is_whole(seed):
            raise PlanError(f"the seed is a whole number, zero or more, not {seed!r}")
        guide, agent = guide or LearningSettings(), agent or TrainingSettings()
        if budget is not None:
            budget = int(budget)
            guide, agent = replace(guide, budget=budget), replace(agent, budget=budget)
        return cls(chosen, guide, agent, budget, int(seed))


def _price(price: object) -> float:
    """What a question costs, once it makes sense."""
    number = isinstance(price, (int, float, np.integer, np.floating)) and not isinstance(price, bool)
    if not number or not 0 <= float(price) < np.inf:  # type: ignore[arg-type]
        raise PlanError(f"the price of a question is a number of units of effort, zero or more, not {price!r}")
    return float(price)  # type: ignore[arg-type]


def _settings(
    settings: Settings | tuple[Settings, ...],
) -> tuple[LearningSettings | None, TrainingSettings | None]:
    """What `settings` say about a surrogate, and about an agent; the default preset says nothing."""
    from counterplan.agent.training import TrainingSettings
    from counterplan.surrogate.active_learning import LearningSettings

    guide, agent = None, None
    for one in settings if isinstance(settings, tuple) else (settings,):
        if isinstance(one, LearningSettings):
            guide = one
        elif isinstance(one, TrainingSettings):
            agent = one
        elif not isinstance(one, str):
            raise PlanError(f"settings are LearningSettings, TrainingSettings or the name of a preset, not {one!r}")
        elif (preset := TrainingSettings.preset(one)) != TrainingSettings():
            agent = preset
    return guide, agent


def _lacking(planner: object) -> str:
    """Why there is no such planner."""
    match planner:
        case "program":
            return "the planner 'program' needs a program: call distil(people), or 'counterplan distil DIR', first"
        case "guided":
            what, method = "a surrogate", "guided"
        case "search" | "policy" | "paper":
            what, method = "an agent", "search"
        case "cascade" | "cascade+exact":
            what, method = "an agent or a surrogate", "guided"
        case _:
            known = (*OWN, *plugin_names())
            return f"there is no planner '{planner}'{did_you_mean(str(planner), known)}; there are {', '.join(known)}"
    return (
        f"the planner '{planner}' needs {what}: call fit(people, method='{method}'), "
        f"or 'counterplan fit --method {method}', first"
    )
