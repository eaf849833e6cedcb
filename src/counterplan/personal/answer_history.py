"""`AnswerHistory`: what a person answered and ruled out, in order, and the weights that the answers lead to."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from counterplan.errors import SettingError
from counterplan.personal.elicitation_file import AnsweredQuestion, Option, Ruling, ruled_out
from counterplan.personal.preferences import ChoiceModel, Preferences
from counterplan.personal.weights import MAX_WEIGHT, MIN_WEIGHT
from counterplan.problem import People, Problem
from counterplan.problem.transitions import Floats
from counterplan.problem.values import listed
from counterplan.search.orders import NO_ACTION, costs_by_function


class AnswerHistory:
    """Answers and rulings of one person, and the posterior over the weights of the G functions.

    Parameters
    ----------
    problem : Problem
    person : People
        One person.
    model : ChoiceModel
    seed : int
        Seed of the sample from the posterior, which is a function of the seed and of the answers.

    Attributes
    ----------
    answers : list of AnsweredQuestion
    rulings : list of Ruling
    preferences : Preferences
        The posterior.
    """

    def __init__(self, problem: Problem, person: People, model: ChoiceModel, seed: int) -> None:
        self.problem, self.person, self.model, self.seed = problem, person, model, seed
        self.functions = [function.name for function in problem.transitions.functions]
        self.rulings: list[Ruling] = []
        self._restart()

    def _restart(self) -> None:
        """Begin without answers."""
        self.answers: list[AnsweredQuestion] = []
        self.preferences = Preferences(len(self.functions), self.model, self.seed)

    @property
    def cannot_do(self) -> list[str]:
        """The functions and actions that are ruled out, in the order in which they were."""
        return ruled_out(self.rulings)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to undo."""
        return not self.answers and not self.rulings

    def add(self, answer: AnsweredQuestion) -> None:
        """Add an answer, and update the posterior."""
        self.answers.append(answer)
        self.preferences.observe(self.costs(answer.options), answer.choice)

    def rule_out(self, name: str) -> bool:
        """Rule out a function or action of the problem; False if it was already."""
        if name in self.cannot_do:
            return False
        self.rulings.append(Ruling(name, len(self.answers)))
        return True

    def allow(self, name: str) -> None:
        """Take back that something was ruled out; SettingError if it was not."""
        names = self.cannot_do
        if name not in names:
            known = f"what was ruled out is {listed(names)}" if names else "nothing was ruled out"
            raise SettingError(f"{name!r} was not ruled out: {known}")
        self.rulings.append(Ruling(name, len(self.answers), can=True))

    def undo(self) -> None:
        """Take the last answer or ruling back; SettingError if there is none."""
        if self.rulings and self.rulings[-1].after == len(self.answers):
            self.rulings.pop()
        elif self.answers:
            earlier = self.answers[:-1]
            self._restart()
            for answer in earlier:
                self.add(answer)
        else:
            raise SettingError("there is nothing to undo")

    @property
    def mean(self) -> Floats:
        """[G] posterior means, within the range of weights."""
        return np.clip(self.preferences.mean, MIN_WEIGHT, MAX_WEIGHT)

    def weights(self) -> pd.DataFrame:
        """The table `Elicitation.weights`."""
        low, high = self.preferences.interval()
        vectors = [self.costs(answer.options) for answer in self.answers]
        asked = sum(((np.ptp(costs, axis=0) > 0).astype(int) for costs in vectors), np.zeros(len(low), int))
        columns = {"mean": self.mean, "low": low, "high": high, "questions": asked}
        return pd.DataFrame(columns, index=pd.Index(self.functions, name="function"))

    def costs(self, options: Sequence[Option]) -> Floats:
        """Costs [k, G] of options by function, under weights of 1."""
        places = {str(action): action.index for action in self.problem.transitions.actions}
        actions = np.full((len(options), self.problem.max_actions), NO_ACTION)
        for row, option in enumerate(options):
            actions[row, : len(option)] = [places[action] for action in option]
        starts = self.person.states.repeat(len(options), axis=0)
        return costs_by_function(self.problem.transitions, starts, actions)
