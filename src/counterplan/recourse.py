"""The front door: `Recourse(problem, model).fit(people).recommend(people)`."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from counterplan.agent import Agent, load_agent, save_agent
from counterplan.answers import FILE as ANSWERS
from counterplan.answers import Answers
from counterplan.blackbox import BlackBox
from counterplan.errors import PlanError
from counterplan.files import write_whole
from counterplan.keeping import files_of
from counterplan.plan import Plans
from counterplan.planners import CascadePlanner, ExactPlanner, GuidedPlanner, Planner, PolicyPlanner, SearchPlanner
from counterplan.planners.program import ProgramPlanner
from counterplan.problem import People, Problem
from counterplan.problem.values import did_you_mean
from counterplan.program import Program
from counterplan.surrogate import Surrogate, load_surrogate, save_surrogate

if TYPE_CHECKING:
    from counterplan.agent.training import Report, TrainingSettings
    from counterplan.distilling import Progress as DistilProgress
    from counterplan.surrogate.training import LearningSettings, Progress

    Settings = TrainingSettings | LearningSettings | str

METHODS = ("guided", "search", "both")
PLANNERS = ("guided", "program", "cascade", "search", "policy", "exact")
PROBLEM = "problem.json"
PROGRAM = "program.json"
QUESTIONS = "questions.json"


class Recourse:
    """A problem, a model, and what was learned about them.

    Once `fit` or `load` has made them, there are a `surrogate_` (method "guided"), an `agent_` ("search"), or both;
    once `distil` has, a `program_`.
    """

    def __init__(
        self,
        problem: Problem,
        model: BlackBox | object,
        *,
        agent: Agent | None = None,
        surrogate: Surrogate | None = None,
        program: Program | None = None,
    ) -> None:
        self.problem = problem
        self.box = model if isinstance(model, BlackBox) else BlackBox(model)
        self.agent_ = agent
        self.surrogate_ = surrogate
        self.program_ = program
        self.questions_: dict[str, int] = {}
        """How many questions `fit` took, by method."""
        self.unseen_: Answers | None = None
        """Answers that came too late for the surrogate to learn from: what it can be judged by."""

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
        answers: str | Path | Answers | None = None,
        progress: Callable[[Report | Progress], None] | None = None,
    ) -> Recourse:
        """Learn about the model from people; the same seed, people and answers, the same result.

        The method "guided" learns a surrogate of the model, from people of both outcomes; "search" trains an agent on
        people who were refused; "both" does one after the other. `settings` are LearningSettings (guided),
        TrainingSettings (search) or the name of a preset, "default" or "paper"; a tuple has some for both. They choose
        the method if none is named; else it is "guided". `budget` limits the questions to the model in all.

        With a `folder`, checkpoints and metrics are kept there, and `resume` goes on from them. `answers` that were
        paid for before are not asked again. Ctrl-C leaves the best so far.
        """
        from counterplan.agent.training import TrainingSettings
        from counterplan.surrogate.training import LearningSettings

        guide, agent = _settings(settings)
        chosen = method or ("both" if agent and guide else "search" if agent else "guided")
        if chosen not in METHODS:
            raise PlanError(
                f"there is no method '{chosen}'{did_you_mean(chosen, METHODS)}; there are {', '.join(METHODS)}"
            )
        if (chosen == "guided" and agent) or (chosen == "search" and guide):
            raise PlanError(f"these settings are not for the method '{chosen}' but for the other one")
        if budget is not None and budget < 1:
            raise PlanError("the budget of questions is a whole number, one or more")
        read = self.problem.read(people)
        told = self._told(answers)
        where = None if folder is None else Path(folder)
        if where is not None:
            try:
                where.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise PlanError(f"{where}: cannot be made a folder: {error.strerror}") from None
            if resume:  # what a round that broke off has asked
                self._recall(where)
        show = progress or (lambda report: None)
        if chosen != "search":
            how = guide or LearningSettings()
            how = how if budget is None else replace(how, budget=budget)
            asked = self._learn(read, how, seed, where, resume, told, show)
            budget = None if budget is None else budget - asked
        if chosen == "both":
            assert self.surrogate_ is not None
            refused = np.flatnonzero(self.surrogate_.logit(read.states) < 0)
            read = read.take(refused) if len(refused) else read
            if budget is not None and budget < 1:
                raise PlanError("the budget is spent on the surrogate; raise it to train an agent too, or fit 'guided'")
        if chosen != "guided":
            train = agent or TrainingSettings()
            train = train if budget is None else replace(train, budget=budget)
            self._train(read, train, seed, where, resume, show)
        return self

    def _learn(
        self, people: People, settings: LearningSettings, seed: int, folder: Path | None, resume: bool,
        answers: Answers | None, progress: Callable[[Progress], None],
    ) -> int:  # fmt: skip
        """Learn a surrogate; says how many questions that took."""
        from counterplan.surrogate.training import CHECKPOINT, Learning

        if resume and folder is not None and (folder / CHECKPOINT).exists():
            learning = Learning.resumed(self.problem, people, self.box, settings, seed, folder)
        else:
            learning = Learning(self.problem, people, self.box, settings, seed, folder, answers)

        before = self.surrogate_

        def show(report: Progress) -> None:
            if not learning.ledger.answers.all():  # otherwise nothing was learned
                self.surrogate_ = learning.best
                progress(report)

        self.program_ = None  # it was made from what was learned before
        try:
            learning.run(show)
        finally:
            self.surrogate_ = learning.best or self.surrogate_
            self.questions_["guided"] = learning.queries
            ledger, late = learning.ledger, slice(learning.learned, None)
            unseen = ledger.answers[late]
            self.unseen_ = Answers(ledger.states[late], unseen, ("",) * len(unseen), self.box.decider)
        if learning.ledger.answers.all():
            self.surrogate_ = before
            raise PlanError(
                f"nobody among {len(learning.ledger):,} people asked about was refused, so there is nothing to learn; "
                "hand in people who were, or see whether the favourable outcome is the right one"
            )
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
        try:
            training.run(progress)
        finally:
            self.agent_ = training.best_agent
            self.questions_["search"] = training.queries

    def _told(self, answers: str | Path | Answers | None) -> Answers | None:
        """Answers that were handed in, which the black box now remembers; another model's are refused."""
        if answers is None:
            return None
        told = answers if isinstance(answers, Answers) else Answers.load(answers, self.problem)
        if told.model not in ("", self.box.decider):
            raise PlanError(f"these are answers of {told.model}, not of {self.box.decider}")
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
        `traces` is then how many refused people, if need be invented ones, it is made for (default 4,000), and
        `rounds` how often it is improved. It balances success, effort and short rules; `prefer` one of "success",
        "effort" and "short". The preset "paper" imitates `traces` (default 250) of the agent's plans.
        `max_conditions` limits the features in a rule. No rule tests a protected feature unless `protected` says so.

        Some of the people are held back to try the program on, with real questions: see `program_.card`.
        """
        from counterplan.distilling import Distilling, Wishes

        wishes = Wishes(traces, rounds, max_conditions, prefer, preset, protected, seed)
        read, show = self.problem.read(people), progress or (lambda what, done, total: None)
        run = Distilling(self.problem, read, self.box, self.agent_, self.surrogate_, wishes, show, self.questions_)
        self.program_ = run.run()
        return self.program_

    def explain(self, plans: Plans, *, ask: bool = False) -> Plans:
        """The same plans with a reason for every step: the program's rule where it would do the same, else a contrast.

        A contrast says what follows without the step. It uses what the model is known to answer; `ask` allows one
        question a step for what is not known.
        """
        from counterplan.explaining import explain

        return explain(plans, self.problem, self.box, self.program_, self.surrogate_, ask=ask)

    def recommend(self, people: pd.DataFrame | People, planner: str | Planner | None = None, **wishes: Any) -> Plans:
        """A plan for each of `people`; `wishes` as for `Planner.plan`: forbid, allowed, budget, refused, progress.

        Without a `planner`, it is "guided" if there is a surrogate, else "cascade".
        """
        chosen = planner if isinstance(planner, Planner) else self.planner(planner)
        return chosen.plan(people, **wishes)

    def planner(self, name: str | None = None) -> Planner:
        """A planner by name: guided, program, search, policy, exact, paper, or several in a row.

        cascade is program (or, if there is none, policy), guided and search, as far as they are there; cascade+exact
        has a last resort.
        """
        name = name or ("cascade" if self.surrogate_ is None else "guided")
        if name == "exact":
            return ExactPlanner(self.problem, self.box)
        if name not in (*PLANNERS, "cascade+exact", "paper"):
            hint = did_you_mean(name, PLANNERS)
            raise PlanError(
                f"there is no planner '{name}'{hint}; there are {', '.join(PLANNERS)}, cascade+exact, paper"
            )
        made: dict[str, Planner] = {}
        if self.program_ is not None:
            made["program"] = ProgramPlanner(self.problem, self.box, self.program_)
        if self.agent_ is not None:
            made["policy"] = PolicyPlanner(self.problem, self.box, self.agent_)
        if self.surrogate_ is not None:
            made["guided"] = GuidedPlanner(self.problem, self.box, self.surrogate_)
        if self.agent_ is not None:
            made["search"] = SearchPlanner(self.problem, self.box, self.agent_)
            made["paper"] = SearchPlanner(self.problem, self.box, self.agent_, settings="paper")
        if name in made:
            return made[name]
        if name == "program":
            raise PlanError(
                "the planner 'program' needs a program: call distil(people), or 'counterplan distil DIR', first"
            )
        if not made or not name.startswith("cascade"):
            what, method = ("a surrogate", "guided") if name == "guided" else ("an agent", "search")
            if name.startswith("cascade"):
                what, method = "an agent or a surrogate", "guided"
            raise PlanError(
                f"the planner '{name}' needs {what}: call fit(people, method='{method}'), "
                f"or 'counterplan fit --method {method}', first"
            )
        made.pop("paper", None)
        if "program" in made:
            made.pop("policy", None)
        last = [ExactPlanner(self.problem, self.box)] if name == "cascade+exact" else []
        return CascadePlanner(self.problem, self.box, [*made.values(), *last])

    def save(self, folder: str | Path) -> None:
        """Keep in `folder` the problem, what was learned, and every answer paid for; the model stays with you."""
        if self.agent_ is None and self.surrogate_ is None and self.program_ is None:
            raise PlanError("there is nothing to save yet: call fit first")
        where = Path(folder)
        try:
            where.mkdir(parents=True, exist_ok=True)
            write_whole(where / PROBLEM, json.dumps(self.problem.to_dict(), ensure_ascii=False, indent=1))
            if self.agent_ is not None:
                save_agent(self.agent_, where)
            if self.surrogate_ is not None:
                save_surrogate(self.surrogate_, where)
            if self.questions_:
                write_whole(where / QUESTIONS, json.dumps(self.questions_))
            if self.program_ is not None:
                self.program_.save(where / PROGRAM)
            else:
                (where / PROGRAM).unlink(missing_ok=True)
            for what, there in (("agent", self.agent_), ("surrogate", self.surrogate_)):
                for name in files_of(what) if there is None else ():  # an earlier one goes with nothing here
                    (where / name).unlink(missing_ok=True)
        except OSError as error:
            raise PlanError(f"{where}: cannot be written: {error.strerror}") from None
        self.save_answers(where)

    def save_answers(self, folder: str | Path) -> int:
        """Keep in `folder` every answer that the black box remembers about the problem; says how many there are."""
        known = Answers.remembered(self.box, self.problem)
        if len(known):
            known.save(Path(folder) / ANSWERS, self.problem)
        return len(known)

    @classmethod
    def load(cls, folder: str | Path, model: BlackBox | object, *, answers: bool = True) -> Recourse:
        """What `save` kept, with the model it is to be used with.

        Answers that were kept are not asked again, if the model has the same name. One that has changed all the same
        needs `answers=False`: everything is asked afresh.
        """
        where, problem = Path(folder), load_problem(folder)
        agent, surrogate = ((where / files_of(what)[1]).exists() for what in ("agent", "surrogate"))
        program = load_program(where, problem) if (where / PROGRAM).exists() else None
        recourse = cls(
            problem,
            model,
            agent=load_agent(where, problem) if agent else None,
            surrogate=load_surrogate(where, problem) if surrogate or not (agent or program) else None,
            program=program,
        )
        recourse.questions_ = _load_questions(where / QUESTIONS)
        if answers:
            recourse._recall(where)
        return recourse

    def _recall(self, folder: Path) -> None:
        """Have the black box remember the answers that are kept in `folder`, unless they are another model's."""
        if (folder / ANSWERS).exists():
            told = load_answers(folder, self.problem)
            if told.model == self.box.decider:
                told.tell(self.box, self.problem)


def _settings(
    settings: Settings | tuple[Settings, ...],
) -> tuple[LearningSettings | None, TrainingSettings | None]:
    """What `settings` say about a surrogate, and about an agent; the default preset says nothing."""
    from counterplan.agent.training import TrainingSettings
    from counterplan.surrogate.training import LearningSettings

    guide, agent = None, None
    for one in settings if isinstance(settings, tuple) else (settings,):
        if isinstance(one, LearningSettings):
            guide = one
        elif not isinstance(one, str):
            agent = one
        elif (preset := TrainingSettings.preset(one)) != TrainingSettings():
            agent = preset
    return guide, agent


def _load_questions(path: Path) -> dict[str, int]:
    """How many questions a fit took, as far as that was written down."""
    try:
        told = json.loads(path.read_text())
        return {method: int(told[method]) for method in METHODS if method in told}
    except (OSError, ValueError, TypeError):
        return {}


def load_answers(folder: Path, problem: Problem) -> Answers:
    """The answers kept in `folder`."""
    try:
        return Answers.load(folder / ANSWERS, problem)
    except PlanError as error:
        raise PlanError(f"{error}. Remove the file: nothing is lost but what its answers cost") from None


def load_program(folder: str | Path, problem: Problem | None = None) -> Program:
    """The program kept in `folder`; a PlanError says so if there is none, or it is about another `problem`."""
    path = Path(folder) / PROGRAM
    if not path.exists():
        raise PlanError(f"{path}: there is no program yet; make one with 'counterplan distil {folder}'")
    program = Program.load(path)
    if problem is not None and program.problem.fingerprint != problem.fingerprint:
        raise PlanError(f"{path}: the program was made for another problem than {problem.name}; distil it again")
    return program


def load_problem(folder: str | Path) -> Problem:
    """The problem that a saved Recourse is about."""
    path = Path(folder) / PROBLEM
    try:
        data = json.loads(path.read_text())
    except FileNotFoundError:
        raise PlanError(f"{path}: there is no such file; is {folder} what 'counterplan fit' wrote?") from None
    except (OSError, ValueError) as error:
        raise PlanError(f"{path}: cannot be read ({error})") from None
    return Problem.from_dict(data, str(path))
