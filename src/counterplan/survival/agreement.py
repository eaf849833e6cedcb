"""Several models as one black box: favourable where at least so many of them decide favourably."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

import numpy as np
import numpy.typing as npt

from counterplan.blackbox import CACHE_SIZE, Answer, BlackBox, OracleSession
from counterplan.errors import ModelError, SettingError
from counterplan.models import Decision, columns_of
from counterplan.models.identity import digest_of
from counterplan.models.protocol import ModelDescription
from counterplan.problem import People, Problem
from counterplan.problem.transitions import Floats
from counterplan.search.odds import sigmoid
from counterplan.survival.margins import favourable_of, score_margins


class Agreement(BlackBox):
    """Black box made of several models: favourable where at least `at_least` of them decide favourably.

    Use it wherever a `BlackBox` is accepted. Every planner then plans for the agreement; exact search proves that no
    cheaper plan, or none at all, convinces that many models. One row of the agreement is one query. It sends at most
    one row to each model: if no scores are asked for, only until the decision is certain.

    If every model gives scores, the score of the agreement is that of the `at_least`-th most favourable model: its
    log odds beyond its own cutoff as a probability, with a cutoff of 0.5.

    Parameters
    ----------
    models : sequence of objects
        The models: black boxes, which keep their threshold, dtypes and favourable outcomes, or anything that
        `BlackBox` accepts.
    at_least : int, optional
        Number of models that have to decide favourably. Default: all.
    budget : int, optional
        Most rows of the agreement. Exceeding it raises `QueryBudgetExceeded`.
    cache_size : int, default 500_000
        Most answers cached per problem; 0 disables the cache.

    Attributes
    ----------
    members : tuple of BlackBox
        The models, each with its own counters: `members[0].queries` rows were sent to the first.
    at_least : int
        Number of models that have to decide favourably.

    Raises
    ------
    ModelError
        If a model cannot be used.
    SettingError
        If there are no models, fewer than `at_least`, or one with a budget of its own.

    Examples
    --------
    >>> import numpy as np
    >>> from counterplan import Agreement, ExactPlanner, benchmarks
    >>> syn = benchmarks.load("syn")
    >>> def cautious(people):
    ...     return np.where(people["income"] >= 60_000, "granted", "refused")
    >>> people = syn.refused_test.head(3)
    >>> [plan.cost for plan in ExactPlanner(syn.problem, syn.model).plan(people)]
    [25.5, 18.1, 3.0]
    >>> both = Agreement([syn.model, cautious], at_least=2)
    >>> [plan.cost for plan in ExactPlanner(syn.problem, both).plan(people)]
    [26.7, 18.1, 3.0]
    """

    def __init__(
        self,
        models: Sequence[object],
        at_least: int | None = None,
        *,
        budget: int | None = None,
        cache_size: int = CACHE_SIZE,
    ) -> None:
        if isinstance(models, (str, bytes)) or not isinstance(models, Sequence) or not models:
            raise SettingError("an agreement needs a list of at least one model")
        self.members = tuple(model if isinstance(model, BlackBox) else BlackBox(model) for model in models)
        count = len(self.members)
        at_least = count if at_least is None else at_least
        if isinstance(at_least, bool) or not isinstance(at_least, (int, np.integer)) or not 1 <= at_least <= count:
            raise SettingError(f"'at_least' must be a number of models, from 1 to {count}, not {at_least!r}")
        if any(member.budget is not None for member in self.members):
            raise SettingError("a model of an agreement cannot have a budget of its own: give one to the agreement")
        self.at_least = int(at_least)
        names = ", ".join(dict.fromkeys(member.model.name for member in self.members))
        favourable = {member.given_favourable for member in self.members}
        super().__init__(
            ModelDescription(f"at least {self.at_least} of {count} models ({names})", columns_of_any(self.members)),
            favourable.pop() if len(favourable) == 1 else None,
            budget=budget,
            cache_size=cache_size,
        )

    def fresh(self) -> Agreement:
        """See `BlackBox.fresh`."""
        return Agreement([member.fresh() for member in self.members], self.at_least)

    def member_fingerprints(self, problem: Problem) -> tuple[str, ...]:
        """See `BlackBox.member_fingerprints`."""
        return tuple(member.fingerprint(problem) for member in self.members)

    def decision(self, problem: Problem) -> Decision:
        """Return the favourable outcomes; scores have a cutoff of 0.5. ModelError if a model has no rule."""
        for number, member in enumerate(self.members):
            with self._naming(number):
                member.decision(problem)
        given = self.given_favourable
        return Decision(problem.outcome, problem.outcome.favourable if given is None else given)

    def require_target(self, problem: Problem) -> None:
        """See `BlackBox.require_target`."""
        for member in self.members:
            member.require_target(problem)

    def session(self, problem: Problem, people: People, *, scores: bool = False) -> OracleSession:
        """See `BlackBox.session`."""
        return _AgreementSession(self, problem, people, scores=scores)

    def clear_cache(self) -> None:
        """Drop every cached answer, also those of each model."""
        super().clear_cache()
        for member in self.members:
            member.clear_cache()

    @contextmanager
    def temporary_cache(self) -> Iterator[None]:
        """See `BlackBox.temporary_cache`; the same for each model."""
        with ExitStack() as stack:
            for member in self.members:
                stack.enter_context(member.temporary_cache())
            stack.enter_context(super().temporary_cache())
            yield

    def _content(self) -> str:
        """Digest of the contents, thresholds and favourable outcomes of the models, in any order."""
        if self._identity is None:
            parts = sorted(repr(_identity(member)).encode() for member in self.members)
            self._identity = digest_of([str(self.at_least).encode(), *parts])
        return self._identity

    def _outcomes_of(self, problem: Problem) -> None:
        """None: models that agree on a favourable decision may differ in the outcome."""
        return None

    @contextmanager
    def _naming(self, number: int) -> Iterator[None]:
        """Begin the message of a ModelError with the model that it is about."""
        try:
            yield
        except ModelError as error:
            raise ModelError(f"model {number + 1} of {len(self.members)} that have to agree: {error}") from error


def columns_of_any(boxes: Sequence[BlackBox]) -> list[str] | None:
    """The columns that some of the models were trained on; None if one does not say."""
    columns: set[str] = set()
    for box in boxes:
        own = columns_of(box.model)
        if own is None:
            return None
        columns.update(own)
    return sorted(columns)


def _identity(box: BlackBox) -> tuple[str, float | None, list[str] | None]:
    """Whatever the decisions of a black box depend on besides the problem."""
    favourable = box.given_favourable
    return box._content() or box.model.name, box.threshold, None if favourable is None else sorted(favourable)


class _AgreementSession(OracleSession):
    """A session that queries each model of an agreement in a session of its own."""

    def __init__(self, box: Agreement, problem: Problem, people: People, *, scores: bool) -> None:
        super().__init__(box, problem, people, scores=scores)
        self._agreement = box
        self._members = [member.session(problem, people, scores=scores) for member in box.members]

    def _query_batch(self, states: Floats, rows: npt.NDArray[np.integer]) -> list[Answer]:
        self.box.queries += len(states)
        if self.with_scores and not self.box._scoreless:
            return self._scored(states, rows)
        votes, count, needed = np.zeros(len(states), np.intp), len(self._members), self._agreement.at_least
        for number, member in enumerate(self._members):
            unsure = np.flatnonzero((votes < needed) & (votes + count - number >= needed))
            with self._agreement._naming(number):
                votes[unsure] += member(states[unsure], rows[unsure])
        return [Answer(favourable) for favourable in (votes >= needed).tolist()]

    def _scored(self, states: Floats, rows: npt.NDArray[np.integer]) -> list[Answer]:
        """Answers [n] with scores, if all models give some."""
        votes, margins = np.zeros(len(states), np.intp), np.empty((len(self._members), len(states)))
        for number, member in enumerate(self._members):
            with self._agreement._naming(number):
                answers = member.answers(states, rows)
            votes += favourable_of(answers)
            margins[number] = score_margins(member.box.model, member.decision, answers)
        needed = self._agreement.at_least
        self.box._scoreless = bool(np.isnan(margins).all(axis=1).any())
        scores = np.where(np.isnan(margins).any(axis=0), np.nan, sigmoid(np.sort(margins, axis=0)[-needed]))
        known = (None if math.isnan(score) else score for score in scores.tolist())
        return [Answer(*pair) for pair in zip((votes >= needed).tolist(), known, strict=True)]
