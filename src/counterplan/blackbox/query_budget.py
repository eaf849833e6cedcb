"""`QueryBudgetExceeded`: the error of a black box that may send no more queries."""

from __future__ import annotations

from counterplan.errors import CounterplanError
from counterplan.problem.transitions import Bools


class QueryBudgetExceeded(CounterplanError, RuntimeError):
    """The query budget of a black box is exhausted.

    Attributes
    ----------
    budget : int
        The budget of the black box.
    answers : ndarray of bool, shape (n,)
        The answers of the interrupted call; False where `known` is False.
    known : ndarray of bool, shape (n,)
        Which of the queries were answered.

    Examples
    --------
    >>> from counterplan import BlackBox, QueryBudgetExceeded, benchmarks
    >>> german = benchmarks.load("german")
    >>> box = BlackBox(german.model, budget=2)
    >>> try:
    ...     box.favourable(german.problem, german.refused_test.head(3))
    ... except QueryBudgetExceeded as error:
    ...     print(error)
    the budget of 2 queries to the black box is exhausted; 2 of the last 3 were answered
    """

    def __init__(self, budget: int, answers: Bools, known: Bools) -> None:
        super().__init__(
            f"the budget of {budget:,} queries to the black box is exhausted; "
            f"{int(known.sum()):,} of the last {len(known):,} were answered"
        )
        self.budget = budget
        self.answers = answers
        self.known = known
