"""Retrained models that the user supplies, and survival by their calibrated logit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar, NoReturn

import numpy as np

from counterplan.blackbox import BlackBox, OracleSession
from counterplan.errors import ModelError, SettingError
from counterplan.models import uses_column
from counterplan.models.identity import identity_of
from counterplan.models.outputs import describe_error
from counterplan.models.protocol import ModelDescription
from counterplan.problem import People, Problem
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.survival.agreement import Agreement, columns_of_any
from counterplan.survival.calibration import LogisticCalibration
from counterplan.survival.estimator import Source, SurvivalEstimator
from counterplan.survival.margins import MAX_MARGIN, favourable_of, score_margins

CACHE_SIZE = 500_000
"""Most states whose answers are cached for each problem."""
DEFAULT_REFITS = 5
_CHUNK = 65_536
"""States that are looked up, and queried, together."""


def as_black_box(model: object) -> BlackBox:
    """The model as a black box, with its own decision rule; a `BlackBox` unchanged."""
    return model if isinstance(model, BlackBox) else BlackBox(model)


class Refits:
    """Models that were trained again on such data, each queried once for each state.

    Parameters
    ----------
    models : sequence of objects
        The retrained models: black boxes, which keep their threshold, dtypes and favourable outcomes, or anything that
        `BlackBox` accepts.
    wrap : callable, optional
        Makes a black box of a model, for instance `BlackBox.wrap` of today's model, with its threshold and dtypes.

    Attributes
    ----------
    boxes : tuple of BlackBox
        The retrained models, each with its own counters.

    Raises
    ------
    ModelError
        If a model cannot be used.
    SettingError
        If there is none.
    """

    def __init__(self, models: Iterable[object], wrap: Callable[[object], BlackBox] = as_black_box) -> None:
        if isinstance(models, (str, bytes)) or not isinstance(models, Iterable) or not (models := list(models)):
            raise SettingError("'refits' must be a list of at least one retrained model")
        boxes = []
        for number, model in enumerate(models):
            try:
                boxes.append(_uncached(wrap(model)))
            except ModelError as error:
                raise ModelError(f"refit {number + 1} of {len(models)}: {error}") from error
        self.boxes: tuple[BlackBox, ...] = tuple(boxes)
        self._known: dict[str, _KnownMargins] = {}
        """Margins by query key, for each `query_fingerprint` of a problem."""
        self._last: _Sessions | None = None
        self._any_votes = False
        """Whether some model gives decisions only, so that decisions of all are counted."""

    def __len__(self) -> int:
        return len(self.boxes)

    def fingerprints(self, problem: Problem) -> tuple[str, ...]:
        """The fingerprint of each refit for `problem`."""
        return tuple(box.fingerprint(problem) for box in self.boxes)

    def __reduce__(self) -> NoReturn:
        """Retrained models stay in this process, as the black box does, which would answer for them in another."""
        raise TypeError("retrained models are not sent to other processes")

    def use_other_columns(self, people: People) -> bool:
        """Whether some model may use columns of `people` that the problem does not describe."""
        return any(uses_column(box.model, column) for box in self.boxes for column in people.extras)

    def require_distinct(self, problem: Problem, today: BlackBox) -> None:
        """Raise a SettingError if a refit is another one, or today's model: it would agree, and tell nothing.

        Parameters
        ----------
        problem : Problem
            The problem that the models decide about.
        today : BlackBox
            The model that plans are made for; refits may not be among the models of an `Agreement`, either.
        """
        models = today.members if isinstance(today, Agreement) else (today,)
        seen = {model.fingerprint(problem): "the model that plans are made for" for model in models}
        for number, fingerprint in enumerate(self.fingerprints(problem), start=1):
            if fingerprint in seen:
                raise SettingError(
                    f"refit {number} is {seen[fingerprint]}, which does not tell whether plans last; train it again"
                )
            seen[fingerprint] = f"the same model as refit {number}"

    def logit(
        self, problem: Problem, people: People, states: Floats, rows: Ints, leave_out: int | Sequence[int] | None = None
    ) -> Floats:
        """Mean logit of the scores relative to each model's cutoff, or log odds of votes if a model gives no scores.

        Parameters
        ----------
        problem : Problem
            The problem of the states.
        people : People
            B people.
        states : array of shape [n, F]
            States of these people.
        rows : int array of shape [n]
            The person of each state.
        leave_out : int or sequence of int, optional
            Refits that do not count.

        Returns
        -------
        array of shape [n]
            Each model's logit is clipped to [-8, 8]. Of votes, log((yes + 1) / (no + 1)).

        Raises
        ------
        ModelError
            If a model fails; the message names the refit.
        """
        margins = self._margins(problem, people, states, rows)
        if leave_out is not None:
            margins = np.delete(margins, leave_out, axis=1)
        if self._any_votes:
            yes = (margins >= 0).sum(axis=1)
            odds: Floats = np.log(yes + 1) - np.log(margins.shape[1] - yes + 1)
            return odds
        mean: Floats = np.clip(margins, -MAX_MARGIN, MAX_MARGIN).mean(axis=1)
        return mean

    def favourable(self, problem: Problem, people: People, states: Floats, rows: Ints) -> Bools:
        """Whether each refit decides favourably about `states` [n, F] of the people `rows` [n]: [n, m]."""
        favourable: Bools = self._margins(problem, people, states, rows) >= 0
        return favourable

    def _margins(self, problem: Problem, people: People, states: Floats, rows: Ints) -> Floats:
        """The margin of each refit [n, m]; infinite, with the sign of the decision, where no score is known."""
        sessions = self._sessions(problem, people)
        known = self._known.setdefault(problem.query_fingerprint, _KnownMargins(len(self)))
        parts = [np.empty((0, len(self)))]
        for first in range(0, len(states), _CHUNK):
            chunk = slice(first, first + _CHUNK)
            keys = sessions.keys(states[chunk], rows[chunk])
            if missing := known.missing(keys):
                new = np.fromiter(missing.values(), np.intp, len(missing)) + first
                known.add(missing, self._query(sessions.members, states[new], rows[new]))
            parts.append(known.of(keys))
        return np.concatenate(parts)

    def _query(self, sessions: Sequence[OracleSession], states: Floats, rows: Ints) -> Floats:
        """Query every refit, with one call for all states: margins [n, m]."""
        margins = np.empty((len(states), len(sessions)))
        for number, session in enumerate(sessions):
            try:
                answers = session.answers(states, rows)
            except ModelError as error:
                raise ModelError(f"refit {number + 1} of {len(sessions)}: {error}") from error
            own = score_margins(session.box.model, session.decision, answers)
            self._any_votes |= bool(np.isnan(own).all())
            margins[:, number] = np.where(np.isnan(own), np.where(favourable_of(answers), np.inf, -np.inf), own)
        return margins

    def _sessions(self, problem: Problem, people: People) -> _Sessions:
        """A session of each refit, which are kept for the next states of the same people."""
        last = self._last
        if last is None or last.problem is not problem or last.people is not people:
            last = self._last = _Sessions(problem, people, self.boxes)
        return last


class _Sessions:
    """Sessions of several black boxes about the same people."""

    def __init__(self, problem: Problem, people: People, boxes: Sequence[BlackBox]) -> None:
        self.problem, self.people = problem, people
        self.members = [box.session(problem, people, scores=True) for box in boxes]
        description = ModelDescription("refits", columns_of_any(boxes))
        self.keys = BlackBox(description).session(problem, people).keys
        """Keys by all columns that some of the models may use."""


class _KnownMargins:
    """Margins of m models by query key; all are dropped when there are too many."""

    def __init__(self, models: int) -> None:
        self._places: dict[bytes, int] = {}
        self._margins: Floats = np.empty((1024, models))

    def missing(self, keys: Sequence[bytes]) -> dict[bytes, int]:
        """The keys that are unknown, each with the index of one of its occurrences."""
        places = self._places
        missing = {key: i for i, key in enumerate(keys) if key not in places}
        if len(places) + len(missing) <= CACHE_SIZE:
            return missing
        places.clear()
        return {key: i for i, key in enumerate(keys)}

    def add(self, keys: Iterable[bytes], margins: Floats) -> None:
        """Add the `margins` [n, m] of n unknown keys."""
        first = len(self._places)
        last = first + len(margins)
        if last > len(self._margins):
            larger = np.empty((max(last, 2 * len(self._margins)), self._margins.shape[1]))
            larger[:first] = self._margins[:first]
            self._margins = larger
        self._margins[first:last] = margins
        self._places.update(zip(keys, range(first, last), strict=True))

    def of(self, keys: Sequence[bytes]) -> Floats:
        """The margins [n, m] of n known keys."""
        places = self._places
        return self._margins[np.fromiter((places[key] for key in keys), np.intp, len(keys))]


def _uncached(box: BlackBox) -> BlackBox:
    """The same model without a cache: an answer that was queried without its score would not be queried again."""
    fresh = box.fresh()
    fresh.cache_size = 0
    return fresh


def make_refits(
    refit: Callable[[int], object], count: int = DEFAULT_REFITS, wrap: Callable[[object], BlackBox] = as_black_box
) -> list[BlackBox]:
    """Train the model again with the seeds 1 to `count`.

    Parameters
    ----------
    refit : callable
        Takes a seed and returns a retrained model: a black box, or anything that `BlackBox` accepts.
    count : int, default=5
        Number of refits.
    wrap : callable, optional
        Makes a black box of a model, for instance `BlackBox.wrap` of today's model, with its threshold and dtypes.

    Returns
    -------
    list of BlackBox
        The retrained models, in the order of their seeds.

    Raises
    ------
    SettingError
        If `refit` cannot be called, `count` is not a positive number, or two seeds give the same model.
    ModelError
        If a call fails, or returns something that is not a model. The message names the seed.

    Examples
    --------
    >>> from counterplan import BlackBox, benchmarks
    >>> from counterplan.survival.refits import make_refits
    >>> german = benchmarks.load("german")
    >>> def refit(seed):  # instead of training, which takes longer
    ...     return BlackBox(german.model, threshold=seed / 4)
    >>> [box.threshold for box in make_refits(refit, count=3)]
    [0.25, 0.5, 0.75]
    """
    if not callable(refit):
        raise SettingError(f"'refit' must be a function of a seed that returns a model, not {type(refit).__name__}")
    if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 1:
        raise SettingError(f"the number of refits must be at least 1, not {count!r}")
    boxes: list[BlackBox] = []
    seeds: dict[str, int] = {}
    for seed in range(1, int(count) + 1):
        try:
            model = refit(seed)
        except Exception as error:  # of the user's code, which may raise anything
            raise ModelError(f"refit({seed}) failed: {describe_error(error)}") from error
        if model is None:
            raise ModelError(f"refit({seed}) returned None instead of a model")
        try:
            box = wrap(model)
        except ModelError as error:
            raise ModelError(f"refit({seed}) did not return a model: {error}") from error
        same = seeds.setdefault(box.model_id, seed)
        if same != seed and identity_of(box.model):
            raise SettingError(f"refit({same}) and refit({seed}) return the same model; use the seed in training")
        boxes.append(box)
    return boxes


class RefitEstimator(SurvivalEstimator):
    """Survival from retrained models: their mean logit, calibrated.

    Parameters
    ----------
    retrained : Refits
        The retrained models.
    calibration : LogisticCalibration
        From `counterplan.survival.leaving_out`.
    problem : Problem
        The problem that plans are made for.
    people : People, optional
        Some people: one of them stands for everybody if no model uses columns that the problem does not describe.
    """

    source: ClassVar[Source] = "refits"
    portable = False

    def __init__(
        self, retrained: Refits, calibration: LogisticCalibration, problem: Problem, people: People | None = None
    ) -> None:
        self.retrained = retrained
        self.calibration = calibration
        self.refits = retrained.fingerprints(problem)
        self._problem = problem
        self._anybody: People | None = None
        if people is not None and len(people) and not retrained.use_other_columns(people):
            self._anybody = people.take(np.arange(1))

    @property
    def largest(self) -> float:
        """See `SurvivalEstimator.largest`."""
        return 1 - self.calibration.overstatement

    def chance(self, problem: Problem, people: People, states: Floats, rows: Ints) -> Floats:
        """See `SurvivalEstimator.chance`; queries the refits, not the black box."""
        return self.calibration.chance(self.retrained.logit(problem, people, states, rows))

    def of_states(self, states: Floats) -> Floats | None:
        """See `SurvivalEstimator.of_states`."""
        if self._anybody is None:
            return None
        return self.chance(self._problem, self._anybody, states, np.zeros(len(states), np.intp))
