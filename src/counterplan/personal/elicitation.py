"""`Elicitation`: learn by questions which actions are hard for one person, and plan with that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from counterplan.errors import PeopleError, SettingError
from counterplan.personal.answer_history import AnswerHistory
from counterplan.personal.deadline import checked_deadline
from counterplan.personal.elicitation_file import (
    MAX_OPTIONS,
    MAX_QUESTIONS,
    MIN_OPTIONS,
    AnsweredQuestion,
    SavedElicitation,
    person_data,
    read_elicitation,
    saved_person,
    saved_planner,
    write_elicitation,
)
from counterplan.personal.learned_text import learned_text
from counterplan.personal.personal_planner import PersonalPlanner, PlannerSource, personal_planner, require_source
from counterplan.personal.preferences import ChoiceModel, excess_work
from counterplan.personal.question import Question
from counterplan.personal.question_planner import QuestionPlanner
from counterplan.plans import Plan
from counterplan.problem import People, PeopleTable, Problem
from counterplan.problem.values import cut
from counterplan.storage.json_files import MAX_SEED


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
        Most questions, at most 50; fewer with a choice model that has many particles and moves.
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
            raise SettingError(f"'min_gain' must be a share of the cost from 0 to 1, not {cut(repr(min_gain), 40)}")
        if choice_model is not None and not isinstance(choice_model, ChoiceModel):
            raise SettingError(f"'choice_model' must be a ChoiceModel, not {choice_model!r}")
        self.choice_model = choice_model or ChoiceModel()
        if excess := excess_work(self.choice_model, max_questions):
            raise SettingError(f"'choice_model': {excess}")
        require_source(recourse)
        self.problem = recourse.problem
        self.options, self.seed, self.max_questions, self.min_gain = options, seed, max_questions, float(min_gain)
        self.deadline = checked_deadline(self.problem, deadline)
        self._person = _one_person(self.problem, person)
        self._planner_name = planner if isinstance(planner, str) else None
        found = personal_planner(recourse, planner)
        self._history = AnswerHistory(self.problem, self._person, self.choice_model, seed)
        self._planning = QuestionPlanner(self._history, found, options, max_questions, self.min_gain, self.deadline)

    @property
    def person(self) -> int | str:
        """Index label of the person."""
        return person_data(self._person)["person"]  # type: ignore[no-any-return]

    @property
    def answers(self) -> int:
        """Number of questions that were answered."""
        return len(self._history.answers)

    @property
    def cannot_do(self) -> list[str]:
        """The functions and actions that the person cannot take."""
        return self._history.cannot_do

    @property
    def undoable(self) -> bool:
        """Whether there is something that `undo` takes back."""
        return not self._history.is_empty

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
        return self._history.weights()

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
        return self._planning.question()

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
        question = self._planning.pending
        if question is None:
            way_out = "there is nothing more to ask" if self._planning.has_planned else "call question() first"
            raise SettingError(f"there is no question to answer: {way_out}")
        if choice is not None:
            _require_whole("choice", choice, 0, len(question.options) - 1)
        options = tuple(tuple(plan.actions) for plan in question.options)
        self._history.add(AnsweredQuestion(options, None if choice is None else int(choice)))
        self._planning.clear()

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
        if self._history.rule_out(name):
            self._planning.clear()

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
        self._history.allow(name)
        self._planning.clear()

    def undo(self) -> None:
        """Take the last answer back, or the last call of `cannot` or `can`, whichever came last.

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
        self._history.undo()
        self._planning.clear()

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
        return self._planning.plan()

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
            cannot=tuple(self._history.rulings),
            answers=tuple(self._history.answers),
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
        require_source(recourse)
        saved = read_elicitation(path)
        person = saved_person(path, saved, recourse.problem)
        elicitation = cls(
            recourse,
            person,
            options=saved.options,
            planner=saved_planner(path, saved, recourse) if planner is None else planner,
            seed=saved.seed,
            max_questions=saved.max_questions if max_questions is None else max_questions,
            min_gain=saved.min_gain,
            choice_model=saved.choice_model,
            deadline=saved.deadline,
        )
        elicitation._history.rulings = list(saved.cannot)
        for answer in saved.answers:
            elicitation._history.add(answer)
        return elicitation

    def __repr__(self) -> str:
        cannot = f", cannot={self.cannot_do}" if self.cannot_do else ""
        return f"Elicitation(person={cut(repr(self.person))}, answers={self.answers}{cannot})"


def _one_person(problem: Problem, person: PeopleTable | People | pd.Series[Any]) -> People:
    """Read one person."""
    if isinstance(person, pd.Series):
        person = pd.DataFrame([person.to_list()], columns=person.index, index=[person.name]).infer_objects()
    people = problem.read(person)
    if len(people) != 1:
        raise PeopleError(f"questions are for one person, and the table has {len(people):,}: select one row")
    return people


def _require_whole(name: str, value: object, least: int, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not least <= value <= most:
        raise SettingError(f"'{name}' must be an integer from {least} to {most}, not {cut(repr(value), 40)}")
