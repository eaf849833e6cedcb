"""Survival by a committee of learners of the outcome, calibrated on answers of today's model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

from counterplan.errors import SettingError
from counterplan.problem import People, Problem
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.storage.arrays import require_number
from counterplan.surrogate.surrogate import Surrogate
from counterplan.survival.calibration import OVERSTATEMENT, LogisticCalibration, MarginCalibration
from counterplan.survival.committee import Committee
from counterplan.survival.estimator import Source, SurvivalEstimator
from counterplan.survival.margin_estimator import predicted_margins


@dataclass(frozen=True, eq=False)
class CommitteeEstimator(SurvivalEstimator):
    """Estimates survival by the logit of a committee and, if the model gives scores, by the margin of today's model.

    Parameters
    ----------
    committee : Committee
    calibration : LogisticCalibration or MarginCalibration
    surrogate : Surrogate, optional
        A surrogate of scores, which predicts the margin of today's model. Required for a MarginCalibration.
    """

    source: ClassVar[Source] = "committee"
    committee: Committee
    calibration: LogisticCalibration | MarginCalibration
    surrogate: Surrogate | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.calibration, MarginCalibration) and (self.surrogate is None or self.surrogate.link is None):
            raise SettingError("a calibration by margins needs a surrogate of scores")

    @classmethod
    def fit(
        cls, committee: Committee, states: Floats, answers: Bools, scores: Floats, surrogate: Surrogate | None
    ) -> CommitteeEstimator:
        """Calibrate a committee.

        Parameters
        ----------
        committee : Committee
        states : array of shape [n, F]
            States that were not selected by looking at the model.
        answers : bool array of shape [n]
            Its decisions about them.
        scores : array of shape [n]
            Its scores; NaN where unknown.
        surrogate : Surrogate, optional
            A surrogate of the model. If it is one of scores, the calibration is by margins.

        Returns
        -------
        CommitteeEstimator
        """
        logits = committee.logit(states)
        if surrogate is None or surrogate.link is None:
            return cls(committee, LogisticCalibration.fit(logits, answers, OVERSTATEMENT))
        margins = surrogate.link.margin(scores) / surrogate.link.unit
        return cls(committee, MarginCalibration.fit(logits, margins), surrogate)

    @property
    def largest(self) -> float:
        """See `SurvivalEstimator.largest`."""
        return 1 - self.calibration.overstatement

    def chance(self, problem: Problem, people: People, states: Floats, rows: Ints) -> Floats:
        """See `SurvivalEstimator.chance`."""
        return self.of_states(states)

    def of_states(self, states: Floats) -> Floats:
        """The chance [n] of `states` [n, F]."""
        logits = self.committee.logit(states)
        if isinstance(self.calibration, LogisticCalibration):
            return self.calibration.chance(logits)
        assert self.surrogate is not None
        return self.calibration.chance(logits, predicted_margins(self.surrogate, states))

    def to_arrays(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Arrays and plain facts that `from_arrays` reads back, without the surrogate."""
        arrays, facts = self.committee.to_arrays()
        return arrays, facts | {"calibration": asdict(self.calibration)}

    @classmethod
    def from_arrays(
        cls, problem: Problem, arrays: Mapping[str, Any], facts: Mapping[str, Any], surrogate: Surrogate | None
    ) -> CommitteeEstimator:
        """The inverse of `to_arrays`; ValueError, KeyError or TypeError if the arrays or facts are invalid."""
        return cls(Committee.from_arrays(problem, arrays, facts), read_calibration(facts["calibration"]), surrogate)


def read_calibration(facts: Any) -> LogisticCalibration | MarginCalibration:
    """A calibration from plain facts; ValueError, KeyError or TypeError if they are invalid."""
    if not isinstance(facts, dict):
        raise ValueError("the calibration is invalid")
    kind = MarginCalibration if "error" in facts else LogisticCalibration
    return kind(**{str(name): require_number(facts, name) for name in facts})
