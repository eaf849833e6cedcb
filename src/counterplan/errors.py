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
    """Base class. The command line prints the message without a traceback and exits with code 2."""

    def __str__(self) -> str:
        return visible(super().__str__())


class ProblemError(CounterplanError, ValueError):
    """A problem file is invalid; the message lists every mistake in it."""


class ConditionError(CounterplanError, ValueError):
    """A condition or formula is invalid; `position` is the offset of the offending character."""

    def __init__(self, message: str, position: int = 0) -> None:
        super().__init__(message)
        self.position = position


class PeopleError(CounterplanError, ValueError):
    """A table of people does not match the problem; the message names column, row and value."""


class ModelError(CounterplanError, RuntimeError):
    """A model cannot be loaded or reached, or returned an unusable output."""


class SettingError(CounterplanError, ValueError):
    """A parameter, a setting or a combination of them is invalid."""


class StorageError(CounterplanError, OSError):
    """A file or folder cannot be read or written, is damaged, or belongs to something else."""


class ForeignAnswersWarning(UserWarning):
    """Saved answers are not used, because another model gave them."""


class NotFittedError(CounterplanError, ValueError, AttributeError):
    """A method needs something that was not learned or distilled yet."""


class PlanError(CounterplanError, ValueError):
    """A plan contradicts itself or does not belong to the problem."""
