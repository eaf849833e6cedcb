"""What can go wrong for a user: every error here has a message that says where, what, and the way out."""


class CounterplanError(Exception):
    """Something the user can put right. The command line prints it without a traceback and exits with code 2."""


class ProblemError(CounterplanError):
    """A problem file cannot be used; the message lists everything that is wrong with it."""


class ConditionError(CounterplanError):
    """A condition or formula does not make sense; `position` is the character at which."""

    def __init__(self, message: str, position: int = 0) -> None:
        super().__init__(message)
        self.position = position


class PeopleError(CounterplanError):
    """A table of people does not fit the problem; the message names column, row and value."""


class ModelError(CounterplanError):
    """A model could not be loaded or reached, or gave an answer that cannot be used."""


class PlanError(CounterplanError):
    """Stored plans cannot be read, or what was asked of a planner makes no sense."""
