"""What one `Recourse` knows about survival: retrained models, or a committee fitted to recorded outcomes."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from counterplan.blackbox import BlackBox
from counterplan.errors import SettingError
from counterplan.problem import People, Problem
from counterplan.problem.outcomes import recorded_outcomes
from counterplan.problem.transitions import Bools, Floats
from counterplan.storage.serialization import load_artifact, save_artifact
from counterplan.storage.workspace import SURVIVAL, Workspace
from counterplan.survival.calibration import LogisticCalibration
from counterplan.survival.committee import Committee
from counterplan.survival.committee_estimator import CommitteeEstimator
from counterplan.survival.estimator import NoEstimate, SurvivalEstimator

if TYPE_CHECKING:
    from counterplan.surrogate.active_learning import ActiveLearner

WHAT, VERSION = "survival", 1
_MIN_ANSWERS = 40
"""Least number of answers that a committee is calibrated on."""
_UNKNOWN = "Whether the model would still say yes after it is trained again is not known."
_REMEDY = (
    "pass refits=[…] (--refit) with retrained models to Recourse, or fit with people whose table has the column of the "
    "outcome"
)
_log = logging.getLogger("counterplan")


class SurvivalParts:
    """The estimator of survival of one problem and black box.

    Parameters
    ----------
    problem : Problem
    box : BlackBox
    """

    def __init__(self, problem: Problem, box: BlackBox) -> None:
        self.problem, self.box = problem, box
        self.committee: CommitteeEstimator | None = None

    @property
    def estimator(self) -> SurvivalEstimator:
        """The best estimate that is available."""
        if self.committee is not None:
            return self.committee
        return NoEstimate(_UNKNOWN, _REMEDY)

    def fit(self, people: People, seed: int, learner: ActiveLearner | None) -> None:
        """Fit a committee to the outcomes of `people`, if their table has them, and calibrate it without new queries.

        Parameters
        ----------
        people : People
        seed : int
        learner : ActiveLearner, optional
            The run that has learned the surrogate, whose unbiased answers calibrate the committee.
        """
        self.committee = None
        if people.outcomes is None:
            return
        favourable, known = recorded_outcomes(self.problem.outcome, people.outcomes)
        rows = np.flatnonzero(known)
        states, answers = self._unbiased_answers(people, learner)
        if min(answers.sum(), (~answers).sum()) < _MIN_ANSWERS // 4 or len(answers) < _MIN_ANSWERS:
            _log.info("no committee is fitted for survival: too few answers are known to calibrate it")
            return
        try:
            committee = Committee.fit(self.problem, people.states[rows], favourable[rows], seed)
        except SettingError as reason:
            _log.info("no committee is fitted for survival: %s", reason)
            return
        calibration = LogisticCalibration.fit(committee.logit(states), answers)
        self.committee = CommitteeEstimator(committee, calibration)

    def _unbiased_answers(self, people: People, learner: ActiveLearner | None) -> tuple[Floats, Bools]:
        """States [n, F] that were not selected by looking at the model, with its answers [n].

        These are the first queries of the surrogate's run; otherwise, the known answers about people as they are.
        """
        if learner is not None and len(learner.unbiased) >= _MIN_ANSWERS:
            labelled = learner.labelled_set
            return labelled.states[learner.unbiased], labelled.answers[learner.unbiased]
        session = self.box.session(self.problem, people)
        cached = session.cached(people.states, np.arange(len(people)))
        rows = np.flatnonzero([answer is not None for answer in cached])
        answers = np.array([answer.favourable for answer in cached if answer is not None], bool)
        return people.states[rows], answers

    def save(self, workspace: Workspace) -> None:
        """Save the committee in a workspace, or remove an earlier one."""
        if self.committee is None:
            workspace.remove(*SURVIVAL)
        else:
            save_artifact(workspace.folder, WHAT, VERSION, self.problem, *self.committee.to_arrays())

    def load(self, workspace: Workspace, saved: Problem | None = None) -> None:
        """Load the committee in a workspace, if there is one; `saved` is the problem there, if it is another."""
        if workspace.holds(SURVIVAL[1]):
            read = partial(CommitteeEstimator.from_arrays, self.problem)
            self.committee = load_artifact(workspace.folder, WHAT, VERSION, saved or self.problem, read)
