"""Exceptions for conditions that the user can fix. Each message names the place, the cause and the way out.

Every kind also derives from the built-in exception it resembles, so that generic handlers keep working.
"""


class CounterplanError(Exception):
    """Base class. The command line prints the message without a traceback and exits with code 2."""


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


class NotFittedError(CounterplanError, ValueError, AttributeError):
    """A method needs something that was not learned or distilled yet."""


class PlanError(CounterplanError, ValueError):
    """A plan contradicts itself or does not belong to the problem."""
