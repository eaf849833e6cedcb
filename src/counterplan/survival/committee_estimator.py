"""Survival by a committee of learners of the outcome, calibrated on answers of today's model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from counterplan.problem import People, Problem
from counterplan.problem.transitions import Floats, Ints
from counterplan.storage.arrays import require_number
from counterplan.survival.calibration import LogisticCalibration
from counterplan.survival.committee import Committee
from counterplan.survival.estimator import Source, SurvivalEstimator


@dataclass(frozen=True, eq=False)
class CommitteeEstimator(SurvivalEstimator):
    """Estimates survival by the logit of a committee.

    Today's model is one draw from the models that could have been trained on such data, so that the calibration on its
    answers gives the share of them that are favourable.

    Parameters
    ----------
    committee : Committee
    calibration : LogisticCalibration
    """

    source: ClassVar[Source] = "committee"
    committee: Committee
    calibration: LogisticCalibration

    def chance(self, problem: Problem, people: People, states: Floats, rows: Ints) -> Floats:
        """See `SurvivalEstimator.chance`."""
        return self.of_states(states)

    def of_states(self, states: Floats) -> Floats:
        """The chance [n] of `states` [n, F]."""
        return self.calibration.chance(self.committee.logit(states))

    def to_arrays(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Arrays and plain facts that `from_arrays` reads back."""
        arrays, facts = self.committee.to_arrays()
        return arrays, facts | {"calibration": asdict(self.calibration)}

    @classmethod
    def from_arrays(cls, problem: Problem, arrays: Mapping[str, Any], facts: Mapping[str, Any]) -> CommitteeEstimator:
        """The inverse of `to_arrays`; ValueError, KeyError or TypeError if the arrays or facts are invalid."""
        return cls(Committee.from_arrays(problem, arrays, facts), read_calibration(facts["calibration"]))


def read_calibration(facts: Any) -> LogisticCalibration:
    """A calibration from plain facts; ValueError, KeyError or TypeError if they are invalid."""
    if not isinstance(facts, dict):
        raise ValueError("the calibration is invalid")
    names = ("slope", "shift", "overstatement")
    return LogisticCalibration(*(require_number(facts, name) for name in names))
