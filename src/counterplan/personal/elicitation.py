"""`Elicitation`: learn by questions which actions are hard for one person, and plan with that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from counterplan.errors import NotFittedError, PeopleError, SettingError, StorageError
from counterplan.personal.alternatives import Alternatives
from counterplan.personal.deadline import checked_deadline
from counterplan.personal.elicitation_file import (
    MAX_OPTIONS,
    MAX_QUESTIONS,
    MIN_OPTIONS,
    AnsweredQuestion,
    Option,
    RuledOut,
    SavedElicitation,
    person_data,
    read_elicitation,
    saved_person,
    write_elicitation,
)
from counterplan.personal.learned_text import learned_text
from counterplan.personal.personal_planner import PersonalPlanner, PlannerSource, personal_planner
from counterplan.personal.preferences import ChoiceModel, Preferences
from counterplan.personal.question import Question
from counterplan.personal.weights import MAX_WEIGHT, MIN_WEIGHT
from counterplan.plans import Plan, Status
from counterplan.problem import People, PeopleTable, Problem
from counterplan.problem.transitions import Floats
from counterplan.problem.values import listed, one_line
from counterplan.search.orders import NO_ACTION, costs_by_function
from counterplan.storage.json_files import MAX_SEED

DRAWS = 256
"""Particles by which options are chosen."""
_TINY = 1e-12


class Elicitation:
    """Ask one person which plans would be easier, learn which functions are hard for them, and plan with that.

    Every question shows two to four plans that the model has confirmed; the person chooses one, or says that they
    cannot do something. Choices update a posterior over the weights of functions (`ChoiceModel`). The plans of a
    question maximize the expected utility of selection: minus the expected cost of the easiest of them. The plan is the
    one with the least expected cost, that is, the cheapest under the posterior means of the weights.

    Parameters
    ----------
    recourse : Recourse
        Plans, and has the problem and the model.
    person : DataFrame, Series, dict or People
        One person.
    options : int, default=3
        Most plans of a question, from 2 to 4.
    planner : str or Planner, optional
        How to plan, with several plans for each person: "auto", "exact", "guided", "card", a cascade with one of them,
        or a planner. Default: "auto".
    seed : int, default=0
        Seed of the sample from the posterior. The same seed and answers give the same questions.
    max_questions : int, default=10
        Most questions, at most 50.
    min_gain : float, default=0.001
        A question is asked if it is expected to save at least this share of the cost of the plan.
    choice_model : ChoiceModel, optional
        Prior of the weights, and noise of the choices.
    deadline : float, optional
        The longest time that a plan may take, in the problem's unit.

    Raises
    ------
    PeopleError
        If `person` is not one person of the problem.
    SettingError
        If a parameter is invalid, or the planner finds one plan for each person only.
    NotFittedError
        If the planner needs something that was not learned yet.

    Examples
    --------
    >>> from counterplan import Elicitation, Recourse, benchmarks
    >>> german = benchmarks.load("german")
    >>> recourse = Recourse(german.problem, german.model)
    >>> elicitation = Elicitation(recourse, german.refused_test.iloc[[14]], planner="exact")
    >>> question = elicitation.question()
    >>> [option.verified for option in question.options]
    [True, True, True]
    >>> elicitation.answer(1)
    >>> elicitation.cannot("CHANGE_JOB")
    >>> any(step.function == "CHANGE_JOB" for step in elicitation.plan().steps)
    False
    >>> elicitation.undo()
    >>> elicitation.cannot_do, elicitation.answers
    ([], 1)
    """

    def __init__(
        self,
        recourse: PlannerSource,
        person: PeopleTable | People | pd.Series[Any],
        *,
        options: int = 3,
        planner: str | PersonalPlanner | None = None,
        seed: int = 0,
        max_questions: int = 10,
        min_gain: float = 0.001,
        choice_model: ChoiceModel | None = None,
        deadline: float | None = None,
    ) -> None:
        _require_whole("options", options, MIN_OPTIONS, MAX_OPTIONS)
        _require_whole("seed", seed, 0, MAX_SEED)
        _require_whole("max_questions", max_questions, 0, MAX_QUESTIONS)
        if isinstance(min_gain, bool) or not isinstance(min_gain, (int, float)) or not 0 <= min_gain <= 1:
            raise SettingError(f"'min_gain' must be a share of the cost from 0 to 1, not {min_gain!r}")
        if choice_model is not None and not isinstance(choice_model, ChoiceModel):
            raise SettingError(f"'choice_model' must be a ChoiceModel, not {choice_model!r}")
        _require_recourse(recourse)
        self.problem = recourse.problem
        self.options, self.seed, self.max_questions, self.min_gain = options, seed, max_questions, float(min_gain)
        self.choice_model = choice_model or ChoiceModel()
        self.deadline = checked_deadline(self.problem, deadline)
        self._person = _one_person(self.problem, person)
        self._planner_name = planner if isinstance(planner, str) else None
        self._planner = personal_planner(recourse, planner)
        self._functions = [function.name for function in self.problem.transitions.functions]
        self._preferences = Preferences(len(self._functions), self.choice_model, seed)
        self._cannot: list[RuledOut] = []
        self._answers: list[AnsweredQuestion] = []
        self._question: Question | None = None
        self._asked = False
        """Whether the next question was planned, be it None."""
        self._first: Plan | None = None
        """The plan under the current means, if the question needed it."""
        self._plan: Plan | None = None

    @property
    def person(self) -> int | str:
        """Index label of the person."""
        return person_data(self._person)["person"]  # type: ignore[no-any-return]

    @property
    def answers(self) -> int:
        """Number of questions that were answered."""
        return len(self._answers)

    @property
    def cannot_do(self) -> list[str]:
        """The functions and actions that the person cannot take."""
        return [one.name for one in self._cannot]

    @property
    def done(self) -> bool:
        """Whether no further question would pay; plans the next question if necessary.

        True if no question is expected to save `min_gain`, if there are fewer than two ways that were not compared yet,
        after `max_questions`, or if the person needs no plan or has none.
        """
        return self.question() is None

    @property
    def weights(self) -> pd.DataFrame:
        """The weights by function, relative to each other.

        Columns: `mean`, the ends `low` and `high` of the 90 % interval, and `questions`, the number of answered
        questions whose options differ in the function. `weights["mean"].to_dict()` is an argument for
        `recommend(people, weights=…)`.
        """
        low, high = self._preferences.interval()
        vectors = [self._cost_matrix(answer.options) for answer in self._answers]
        asked = sum(((np.ptp(costs, axis=0) > 0).astype(int) for costs in vectors), np.zeros(len(low), int))
        columns = {"mean": self._mean, "low": low, "high": high, "questions": asked}
        return pd.DataFrame(columns, index=pd.Index(self._functions, name="function"))

    @property
    def learned(self) -> list[str]:
        """What seems harder or easier for the person than other changes, in sentences for the person.

        Functions that the person cannot take are left out.
        """
        return learned_text(self.problem, self.weights.drop(index=self.cannot_do, errors="ignore"))

    def question(self) -> Question | None:
        """The next question, the same one until it is answered; None if no further question would pay.

        Returns
        -------
        Question or None
            The question; None if no further question would pay.

        Raises
        ------
        ModelError
            If the model fails.

        Examples
        --------
        >>> from counterplan import Elicitation, Recourse, benchmarks
        >>> german = benchmarks.load("german")
        >>> recourse = Recourse(german.problem, german.model)
        >>> person = german.refused_test.iloc[[14]]
        >>> question = Elicitation(recourse, person, options=2, planner="exact").question()
        >>> for plan in question.options:
        ...     print(plan.actions)
        ['CHANGE_JOB=highly_skilled', 'CHANGE_SAVINGS=rich', 'CHANGE_HOUSING=own']
        ['CHANGE_SAVINGS=rich', 'CHANGE_DURATION=-10']
        """
        if not self._asked:
            self._question, self._asked = self._next_question(), True
        return self._question

    def answer(self, choice: int | None) -> None:
        """Answer the question.

        Parameters
        ----------
        choice : int or None
            Index of the easiest option, counted from 0; None for "no difference".

        Raises
        ------
        SettingError
            If there is no question, or no such option.

        Examples
        --------
        >>> from counterplan import Elicitation, Recourse, benchmarks
        >>> german = benchmarks.load("german")
        >>> recourse = Recourse(german.problem, german.model)
        >>> person = german.refused_test.iloc[[14]]
        >>> elicitation = Elicitation(recourse, person, planner="exact")
        >>> _ = elicitation.question()
        >>> elicitation.answer(0)
        >>> elicitation.answers
        1
        """
        question = self._question
        if question is None:
            way_out = "there is nothing more to ask" if self._asked else "call question() first"
            raise SettingError(f"there is no question to answer: {way_out}")
        if choice is not None:
            _require_whole("choice", choice, 0, len(question.options) - 1)
        options = tuple(tuple(plan.actions) for plan in question.options)
        self._record(AnsweredQuestion(options, None if choice is None else int(choice)))
        self._invalidate()

    def cannot(self, name: str) -> None:
        """Rule out what the person cannot do: no question and no plan has it from now on.

        Parameters
        ----------
        name : str
            A function (`"CHANGE_JOB"`) or an action (`"CHANGE_JOB=manager"`).

        Raises
        ------
        SettingError
            If there is no such function or action.

        Examples
        --------
        >>> from counterplan import Elicitation, Recourse, benchmarks
        >>> german = benchmarks.load("german")
        >>> recourse = Recourse(german.problem, german.model)
        >>> person = german.refused_test.iloc[[14]]
        >>> elicitation = Elicitation(recourse, person, planner="exact")
        >>> elicitation.cannot("CHANGE_JOB")
        >>> elicitation.plan().actions
        ['CHANGE_SAVINGS=rich', 'CHANGE_DURATION=-10']
        """
        self.problem.allowed([name])
        if name not in self.cannot_do:
            self._cannot.append(RuledOut(name, self.answers))
            self._invalidate()

    def can(self, name: str) -> None:
        """Take a call of `cannot` back, however long ago it was.

        Parameters
        ----------
        name : str
            As passed to `cannot`.

        Raises
        ------
        SettingError
            If it was not ruled out.

        Examples
        --------
        >>> from counterplan import Elicitation, Recourse, benchmarks
        >>> german = benchmarks.load("german")
        >>> recourse = Recourse(german.problem, german.model)
        >>> person = german.refused_test.iloc[[14]]
        >>> elicitation = Elicitation(recourse, person, planner="exact")
        >>> elicitation.cannot("CHANGE_JOB")
        >>> elicitation.can("CHANGE_JOB")
        >>> elicitation.cannot_do
        []
        """
        if name not in self.cannot_do:
            ruled_out = f"what was ruled out is {listed(self.cannot_do)}" if self._cannot else "nothing was ruled out"
            raise SettingError(f"{name!r} was not ruled out: {ruled_out}")
        self._cannot = [one for one in self._cannot if one.name != name]
        self._invalidate()

    def undo(self) -> None:
        """Take the last answer back, or the last call of `cannot`, whichever came later.

        The next question is then the one that it was before, if the planner is deterministic.

        Raises
        ------
        SettingError
            If there is nothing to undo.

        Examples
        --------
        >>> from counterplan import Elicitation, Recourse, benchmarks
        >>> german = benchmarks.load("german")
        >>> recourse = Recourse(german.problem, german.model)
        >>> person = german.refused_test.iloc[[14]]
        >>> elicitation = Elicitation(recourse, person, planner="exact")
        >>> _ = elicitation.question()
        >>> elicitation.answer(0)
        >>> elicitation.undo()
        >>> elicitation.answers
        0
        """
        if self._cannot and self._cannot[-1].after == self.answers:
            self._cannot.pop()
        elif self._answers:
            answers, self._answers = self._answers[:-1], []
            self._preferences = Preferences(len(self._functions), self.choice_model, self.seed)
            for answer in answers:
                self._record(answer)
        else:
            raise SettingError("there is nothing to undo")
        self._invalidate()

    def plan(self) -> Plan:
        """The plan with the least expected cost, given all answers.

        Returns
        -------
        Plan
            Costs are weighted by the means of `weights`. Its status tells if the person needs no plan or has none.

        Raises
        ------
        ModelError
            If the model fails.

        Examples
        --------
        >>> from counterplan import Elicitation, Recourse, benchmarks
        >>> german = benchmarks.load("german")
        >>> recourse = Recourse(german.problem, german.model)
        >>> person = german.refused_test.iloc[[14]]
        >>> elicitation = Elicitation(recourse, person, planner="exact")
        >>> _ = elicitation.question()
        >>> elicitation.answer(1)
        >>> elicitation.plan().actions
        ['CHANGE_SAVINGS=rich', 'CHANGE_DURATION=-10']
        """
        if self._plan is None:
            self._plan = self._replanned(self._first or self._planned(self.cannot_do))
        return self._plan

    def _planned(self, forbid: list[str], alternatives: Alternatives | None = None) -> Plan:
        """The cheapest plan without the actions `forbid`, under the current means."""
        return self._planner.plan(
            self._person,
            forbid=forbid,
            weights=self._mean_by_function(),
            alternatives=alternatives,
            deadline=self.deadline,
        )[0]

    def _replanned(self, plan: Plan) -> Plan:
        """The cheapest known way if the planner, which need not be exact, missed it; otherwise the `plan`."""
        mean, allowed = self._mean, self.problem.allowed(self.cannot_do)
        actions = [str(action) for action in self.problem.transitions.actions[:-1]]
        permitted = {action for action, may in zip(actions, allowed[:-1].tolist(), strict=True) if may}
        known = dict.fromkeys(option for answer in self._answers for option in answer.options)
        ways = [option for option in known if permitted.issuperset(option)]
        if plan.status is not Status.FOUND or not ways:
            return plan
        costs = self._cost_matrix(ways) @ mean
        best = int(costs.argmin())
        if costs[best] >= plan.cost - 1e-6:
            return plan
        others = [action for action in actions if action not in ways[best]]
        again = self._planned([*self.cannot_do, *others])
        return again if again.status is Status.FOUND and again.cost < plan.cost else plan

    def save(self, path: str | Path) -> None:
        """Write everything that is needed to continue as JSON; only its owner may read the file.

        Parameters
        ----------
        path : str or Path
            The file, which `load` reads.

        Raises
        ------
        StorageError
            If the file cannot be written.

        Examples
        --------
        >>> from pathlib import Path
        >>> from counterplan import Elicitation, Recourse, benchmarks
        >>> german = benchmarks.load("german")
        >>> recourse = Recourse(german.problem, german.model)
        >>> person = german.refused_test.iloc[[14]]
        >>> Elicitation(recourse, person, planner="exact").save("person.json")
        >>> Path("person.json").exists()
        True
        """
        saved = SavedElicitation(
            problem=self.problem.name,
            fingerprint=self.problem.fingerprint,
            options=self.options,
            seed=self.seed,
            max_questions=self.max_questions,
            min_gain=self.min_gain,
            planner=self._planner_name,
            choice_model=self.choice_model,
            cannot=tuple(self._cannot),
            answers=tuple(self._answers),
            deadline=self.deadline,
            **person_data(self._person),
        )
        write_elicitation(path, saved)

    @classmethod
    def load(
        cls,
        path: str | Path,
        recourse: PlannerSource,
        *,
        planner: str | PersonalPlanner | None = None,
        max_questions: int | None = None,
    ) -> Elicitation:
        """Continue an elicitation that was saved, as if it had not been interrupted.

        Parameters
        ----------
        path : str or Path
            A file that `save` wrote.
        recourse : Recourse
            The same problem; the model may be another one.
        planner : str or Planner, optional
            Default: the name that was saved. A planner object is not saved, and is passed again.
        max_questions : int, optional
            Default: the number that was saved. It includes the questions that were answered.

        Returns
        -------
        Elicitation
            The elicitation, with the answers that were given before.

        Raises
        ------
        StorageError
            If the file cannot be read, is not valid, or belongs to another problem.
        SettingError
            If a parameter is invalid.
        NotFittedError
            If the planner needs something that was not learned yet.

        Examples
        --------
        >>> from counterplan import Elicitation, Recourse, benchmarks
        >>> german = benchmarks.load("german")
        >>> recourse = Recourse(german.problem, german.model)
        >>> person = german.refused_test.iloc[[14]]
        >>> elicitation = Elicitation(recourse, person, planner="exact")
        >>> elicitation.cannot("CHANGE_JOB")
        >>> elicitation.save("person.json")
        >>> Elicitation.load("person.json", recourse)
        Elicitation(person=14, answers=0, cannot=['CHANGE_JOB'])
        """
        _require_recourse(recourse)
        saved = read_elicitation(path)
        person = saved_person(path, saved, recourse.problem)
        elicitation = cls(
            recourse,
            person,
            options=saved.options,
            planner=_saved_planner(path, saved, recourse) if planner is None else planner,
            seed=saved.seed,
            max_questions=saved.max_questions if max_questions is None else max_questions,
            min_gain=saved.min_gain,
            choice_model=saved.choice_model,
            deadline=saved.deadline,
        )
        elicitation._cannot = list(saved.cannot)
        for answer in saved.answers:
            elicitation._record(answer)
        return elicitation

    def __repr__(self) -> str:
        cannot = f", cannot={self.cannot_do}" if self._cannot else ""
        return f"Elicitation(person={self.person!r}, answers={self.answers}{cannot})"

    def _invalidate(self) -> None:
        """Discard the question and the plan, which depend on the answers."""
        self._question, self._asked, self._first, self._plan = None, False, None, None

    def _record(self, answer: AnsweredQuestion) -> None:
        self._answers.append(answer)
        self._preferences.observe(self._cost_matrix(answer.options), answer.choice)

    @property
    def _mean(self) -> Floats:
        """[G] posterior means, within the range of weights."""
        return np.clip(self._preferences.mean, MIN_WEIGHT, MAX_WEIGHT)

    def _mean_by_function(self) -> dict[str, float]:
        return dict(zip(self._functions, self._mean.tolist(), strict=True))

    def _cost_matrix(self, options: Sequence[Option]) -> Floats:
        """Costs [k, G] of options by function, under weights of 1."""
        places = {str(action): action.index for action in self.problem.transitions.actions}
        actions = np.full((len(options), self.problem.max_actions), NO_ACTION)
        for row, option in enumerate(options):
            actions[row, : len(option)] = [places[action] for action in option]
        starts = self._person.states.repeat(len(options), axis=0)
        return costs_by_function(self.problem.transitions, starts, actions)

    def _next_question(self) -> Question | None:
        """Plan the next question; None if there is none worth asking."""
        if self.answers >= self.max_questions:
            return None
        pool = self._ways()
        options = [tuple(plan.actions) for plan in pool]
        compared = [frozenset(answer.options) for answer in self._answers]
        costs = self._preferences.costs(self._cost_matrix(options))
        best: Question | None = None
        for size in range(min(self.options, len(pool)), MIN_OPTIONS - 1, -1):
            for subset in combinations(range(len(pool)), size):
                plans = frozenset(options[place] for place in subset)
                if plans in compared:
                    continue
                gain = 1 - float(costs[:, subset].min(axis=1).mean() / max(costs[:, 0].mean(), _TINY))
                if gain >= self.min_gain and (best is None or gain > best.gain):
                    best = Question(self.answers + 1, tuple(pool[place] for place in subset), gain)
        return best

    def _ways(self) -> list[Plan]:
        """The plan and other ways, the most useful ones first; none if there is no plan to be made.

        After the first question there is one more than a question has, because some were compared already.
        """
        draws = self._preferences.weights[:: max(1, self.choice_model.particles // DRAWS)] / self._mean
        count = self.options + bool(self._answers)
        alternatives = Alternatives(count=count, min_gain=self.min_gain, time_value=0.0, draws=draws)
        plan = self._planned(self.cannot_do, alternatives)
        self._first = replace(plan, related={})
        if plan.status is not Status.FOUND:
            return []
        ways = [self._first, *plan.alternatives]
        return [way for way in ways if way.verified]


def _one_person(problem: Problem, person: PeopleTable | People | pd.Series[Any]) -> People:
    """Read one person."""
    if isinstance(person, pd.Series):
        person = pd.DataFrame([person.to_list()], columns=person.index, index=[person.name]).infer_objects()
    people = problem.read(person)
    if len(people) != 1:
        raise PeopleError(f"questions are for one person, and the table has {len(people):,}: select one row")
    return people


def _saved_planner(path: str | Path, saved: SavedElicitation, recourse: PlannerSource) -> str | None:
    """The name of the planner in a file; an error names the file."""
    try:
        personal_planner(recourse, saved.planner)
    except SettingError as error:
        raise StorageError(f"{path}: planner: {one_line(error, 500)}") from None
    except NotFittedError as error:
        raise NotFittedError(f"{path}: {error}; or pass another planner") from None
    return saved.planner


def _require_recourse(recourse: object) -> None:
    """Raise a SettingError if `recourse` cannot plan."""
    if not callable(getattr(recourse, "planner", None)):
        raise SettingError(f"'recourse' must be a Recourse, which plans and has the model; not {recourse!r}")


def _require_whole(name: str, value: object, least: int, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not least <= value <= most:
        raise SettingError(f"'{name}' must be an integer from {least} to {most}, not {value!r}")
