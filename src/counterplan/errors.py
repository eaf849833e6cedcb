"""Exceptions for conditions that the user can fix. Each message names the place, the cause and the way out.

Every kind also derives from the built-in exception it resembles, so that generic handlers keep working. Messages may
quote foreign text (names in a problem file, a service's reply, a model's exception): characters that control a terminal
are replaced when a message is printed.
"""

import re

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    """Replace characters that control a terminal or change the writing direction by U+FFFD.

    Tabs and line breaks remain; a carriage return remains only as part of a line break.
    """
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n"))


class CounterplanError(Exception):
    """Base class. The command line prints the message without a traceback and exits with code 2.

    Examples
    --------
    >>> from counterplan import CounterplanError, Problem
    >>> try:
    ...     Problem.load("missing.yaml")
    ... except CounterplanError as error:
    ...     print(type(error).__name__)
    ProblemError
    """

    def __str__(self) -> str:
        return visible(super().__str__())


class ProblemError(CounterplanError, ValueError):
    """A problem file is invalid; the message lists every mistake in it.

    Examples
    --------
    >>> from counterplan import Problem
    >>> Problem.from_yaml("name: loan")
    Traceback (most recent call last):
        ...
    counterplan.errors.ProblemError: problem:1: 'counterplan' is missing: a problem file starts with 'counterplan: 1'
    problem:1: 'outcome' is missing
    ...
    """


class ConditionError(CounterplanError, ValueError):
    """A condition or formula is invalid; `position` is the offset of the offending character."""

    def __init__(self, message: str, position: int = 0) -> None:
        super().__init__(message)
        self.position = position


class PeopleError(CounterplanError, ValueError):
    """A table of people does not match the problem; the message names column, row and value.

    Examples
    --------
    >>> from counterplan import benchmarks
    >>> german = benchmarks.load("german")
    >>> german.problem.read(german.test.head(2).assign(housing=["own", "rnet"]))
    Traceback (most recent call last):
        ...
    counterplan.errors.PeopleError: column 'housing', row 1: 'rnet' is not a value of this feature; did you mean 'rent'?
    """


class ModelError(CounterplanError, RuntimeError):
    """A model cannot be loaded or reached, or returned an unusable output.

    Examples
    --------
    >>> from counterplan import BlackBox
    >>> BlackBox("bank:decide")
    Traceback (most recent call last):
        ...
    counterplan.errors.ModelError: cannot import module 'bank': ModuleNotFoundError: No module named 'bank'
    """


class SettingError(CounterplanError, ValueError):
    """A parameter, a setting or a combination of them is invalid.

    Examples
    --------
    >>> from counterplan import BlackBox
    >>> BlackBox(lambda people: people["income"] > 1000, budget=-1)
    Traceback (most recent call last):
        ...
    counterplan.errors.SettingError: 'budget' must be an integer of at least 0, not -1
    """


class StorageError(CounterplanError, OSError):
    """A file or folder cannot be read or written, is damaged, or belongs to something else.

    Examples
    --------
    >>> from counterplan import Program, StorageError
    >>> try:
    ...     Program.load("program.json")
    ... except StorageError as error:
    ...     print(error)
    program.json: there is no such file
    """


class ForeignAnswersWarning(UserWarning):
    """Saved answers are not used, because another model gave them.

    Examples
    --------
    >>> import warnings
    >>> from counterplan import BlackBox, Recourse, Scorecard, benchmarks
    >>> german = benchmarks.load("german")
    >>> card = Scorecard(german.problem, (), 1, 1.0, 0.0)
    >>> recourse = Recourse(german.problem, german.model, card=card)
    >>> _ = recourse.recommend(german.refused_test.head(1), "exact")
    >>> recourse.save("german")
    >>> with warnings.catch_warnings(action="error"):
    ...     Recourse.load("german", BlackBox(german.model, threshold=0.9))
    Traceback (most recent call last):
        ...
    counterplan.errors.ForeignAnswersWarning: the answers in german are those of ...: they are not used, ...
    """


class NotFittedError(CounterplanError, ValueError, AttributeError):
    """A method needs something that was not learned or distilled yet.

    Examples
    --------
    >>> from counterplan import Recourse, benchmarks
    >>> german = benchmarks.load("german")
    >>> recourse = Recourse(german.problem, german.model)
    >>> recourse.recommend(german.refused_test.head(1), "guided")
    Traceback (most recent call last):
        ...
    counterplan.errors.NotFittedError: planner 'guided' requires a surrogate: call fit(people, method='guided') ...
    """


class PlanError(CounterplanError, ValueError):
    """A plan contradicts itself or does not belong to the problem.

    Examples
    --------
    >>> from counterplan import Plan, Status
    >>> Plan("ann", Status.FOUND, {"income": 1000})
    Traceback (most recent call last):
        ...
    counterplan.errors.PlanError: a plan with status found and 0 steps contradicts itself
    """
