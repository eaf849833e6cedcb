"""What one `Recourse` knows about survival: retrained models, or a committee fitted to recorded outcomes."""

from __future__ import annotations

import logging
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from counterplan.blackbox import BlackBox
from counterplan.errors import SettingError
from counterplan.problem import People, Problem
from counterplan.problem.outcomes import recorded_outcomes
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.problem.values import listed
from counterplan.storage.arrays import require_number
from counterplan.storage.serialization import load_artifact, save_artifact
from counterplan.storage.workspace import SURVIVAL, Workspace
from counterplan.survival.calibration import LogisticCalibration
from counterplan.survival.estimator import REMEDY, UNKNOWN, NoEstimate, Source, SurvivalEstimator
from counterplan.survival.goal import WEIGHTS
from counterplan.survival.leaving_out import INITIAL, exchange_roles, leave_one_out
from counterplan.survival.margin_estimator import MarginEstimator
from counterplan.survival.plan_ends import FrontierEnds
from counterplan.survival.refits import RefitEstimator, Refits

if TYPE_CHECKING:
    from counterplan.surrogate import Surrogate
    from counterplan.surrogate.active_learning import ActiveLearner
    from counterplan.survival.committee_estimator import CommitteeEstimator

WHAT, VERSION = "survival", 1
_MIN_ANSWERS = 40
"""Least number of answers that a committee is calibrated on."""
_CALIBRATION_PEOPLE = 100
"""Most people whose plans calibrate refits."""
_FEW_PEOPLE = 30
"""Least number of refused people whose plans calibrate refits."""
_CALIBRATION_STATES = 5_000
"""Most states of each of them."""
_log = logging.getLogger("counterplan")


class SurvivalParts:
    """The estimator of survival of one problem and black box.

    Parameters
    ----------
    problem : Problem
    box : BlackBox
    refits : Refits, optional
        Retrained models.

    Attributes
    ----------
    surrogate : Surrogate or None
        The surrogate of the black box.
    """

    def __init__(self, problem: Problem, box: BlackBox, refits: Refits | None = None) -> None:
        self.problem, self.box, self.refits = problem, box, refits
        self.surrogate: Surrogate | None = None
        self.committee: CommitteeEstimator | None = None
        self._margin_spread: float | None = None
        """Standard deviation of the margins of unbiased answers."""
        self._refit_calibration: LogisticCalibration | None = None
        self._calibrated_refits: tuple[str, ...] = ()
        """Fingerprints of the refits that the calibration is for."""

    @property
    def estimator(self) -> SurvivalEstimator:
        """The best estimate that is available: by refits, by a committee, by scores, or none."""
        if self.refits is not None:
            return _CalibratedOnDemand(self)
        if self.committee is not None:
            return self.committee
        decisions = self.surrogate is not None and self.surrogate.link is None
        if decisions or self.problem.label_fingerprint is not None:  # cached outcomes have scores of one target alone
            return NoEstimate(UNKNOWN, REMEDY)
        return MarginEstimator(self.box, self.surrogate, self._margin_spread)

    def calibrated(self, people: People) -> RefitEstimator:
        """The estimator by refits; if they are not calibrated yet, they are now, on plans for some of `people`.

        If there are too few refused people, the calibration is a cautious one, until there are more.
        """
        assert self.refits is not None
        fingerprints = self.refits.fingerprints(self.problem)
        calibration = self._refit_calibration
        if calibration is None or self._calibrated_refits != fingerprints:
            self.refits.require_distinct(self.problem, self.box)
            calibration = self._calibrate(people)
            if calibration is not INITIAL:
                self._refit_calibration, self._calibrated_refits = calibration, fingerprints
        return RefitEstimator(self.refits, calibration, self.problem, people)

    def _calibrate(self, people: People) -> LogisticCalibration:
        """Calibrate refits at ends of plans for the surrogate, or else for the refits in turn; no query is sent.

        `INITIAL` if there are too few refused people.
        """
        assert self.refits is not None
        surrogate, weights = self.surrogate, tuple(WEIGHTS.values())
        odds = self.refits.logit(self.problem, people, people.states, np.arange(len(people)))
        if (odds < 0).sum() < _FEW_PEOPLE:
            return INITIAL
        if surrogate is None or len(self.refits) == 1:
            today = None if surrogate is None else lambda states: surrogate.logit(states) >= 0
            return exchange_roles(self.refits, self.problem, people, weights=weights, today=today)
        refused = people.take(np.flatnonzero(surrogate.logit(people.states) < 0)[:_CALIBRATION_PEOPLE])
        ends = FrontierEnds(
            self.problem,
            refused,
            lambda states, rows: surrogate.logit(states) >= 0,
            weights=weights,
            max_states=_CALIBRATION_STATES,
        )
        return leave_one_out(self.refits, ends, self.problem, refused)

    def fit(self, people: People, seed: int, learner: ActiveLearner | None) -> None:
        """Fit a committee to the outcomes of `people`, if their table has them, and calibrate it without new queries.

        Parameters
        ----------
        people : People
        seed : int
        learner : ActiveLearner, optional
            The run that has learned the surrogate, whose unbiased answers calibrate the committee.
        """
        if self.refits is not None:
            self._refit_calibration = None
            self.calibrated(people)
        if learner is None and self.committee is not None:
            return
        self.committee = None
        states, answers, scores = self._unbiased_answers(people, learner)
        self._margin_spread = self._spread(scores)
        if people.outcomes is None:
            return
        favourable, known = recorded_outcomes(self.problem.outcome, people.outcomes)
        if not known.any():
            self._report_unknown(people)
            return
        rows = np.flatnonzero(known)
        if min(answers.sum(), (~answers).sum()) < _MIN_ANSWERS // 4 or len(answers) < _MIN_ANSWERS:
            _log.info("no committee is fitted for survival: too few answers are known to calibrate it")
            return
        from counterplan.survival.committee import Committee
        from counterplan.survival.committee_estimator import CommitteeEstimator

        try:
            committee = Committee.fit(self.problem, people.states[rows], favourable[rows], seed)
        except SettingError as reason:
            _log.info("no committee is fitted for survival: %s", reason)
            return
        self.committee = CommitteeEstimator.fit(committee, states, answers, scores, self.surrogate)

    def _report_unknown(self, people: People) -> None:
        """Log that the recorded outcomes of `people` are not those of the problem."""
        outcome, column = self.problem.outcome, people.outcomes
        assert column is not None
        seen = listed([repr(value) for value in column.dropna().unique()[:5].tolist()])
        expected = outcome.describe() if outcome.score else listed([repr(native) for native in outcome.natives])
        notice = "the column '%s' is not used to estimate survival: it has %s, and the outcomes are %s"
        _log.info(notice, outcome.column, seen, expected, extra={"notice": True})

    def _spread(self, scores: Floats) -> float | None:
        """Standard deviation of the margins of `scores` [n]; None if the surrogate is not one of scores."""
        if self.surrogate is None or self.surrogate.link is None or not len(scores):
            return None
        return float(self.surrogate.link.margin(scores).std() / self.surrogate.link.unit)

    def _unbiased_answers(self, people: People, learner: ActiveLearner | None) -> tuple[Floats, Bools, Floats]:
        """States [n, F] that were not selected by looking at the model, with its answers [n] and scores [n].

        These are the first queries of the surrogate's run; otherwise, the known answers about people as they are.
        """
        if learner is not None and len(learner.unbiased) >= _MIN_ANSWERS:
            labelled, rows = learner.labelled_set, learner.unbiased
            return labelled.states[rows], labelled.answers[rows], labelled.scores[rows]
        cached = self.box.session(self.problem, people).cached(people.states, np.arange(len(people)))
        rows = np.flatnonzero([answer is not None for answer in cached])
        answers = [answer for answer in cached if answer is not None]
        scores = [np.nan if answer.score is None else answer.score for answer in answers]
        return people.states[rows], np.array([answer.favourable for answer in answers], bool), np.array(scores, float)

    def save(self, workspace: Workspace) -> None:
        """Save the committee and the calibration of refits in a workspace, or remove earlier ones."""
        arrays: dict[str, Any] = {}
        facts: dict[str, Any] = {}
        if self.committee is not None:
            arrays, facts["committee"] = self.committee.to_arrays()
        if self._refit_calibration is not None:
            facts["refits"] = {
                "calibration": asdict(self._refit_calibration),
                "fingerprints": list(self._calibrated_refits),
            }
        if self._margin_spread is not None:
            facts["margin_spread"] = self._margin_spread
        if facts:
            facts["model"] = self.box.model_id
            save_artifact(workspace.folder, WHAT, VERSION, self.problem, arrays, facts)
        else:
            workspace.remove(*SURVIVAL)

    def load(self, workspace: Workspace, surrogate: Surrogate | None, saved: Problem | None = None) -> None:
        """Load what `save` wrote with a `surrogate`, if there is anything; `saved` is another problem, if it is."""
        self.surrogate = surrogate
        if workspace.holds(SURVIVAL[1]):
            load_artifact(workspace.folder, WHAT, VERSION, saved or self.problem, self._restore)

    def _restore(self, arrays: dict[str, Any], facts: dict[str, Any]) -> None:
        """Restore saved parts, if they were calibrated on this model; ValueError, KeyError or TypeError if invalid."""
        from counterplan.survival.committee_estimator import CommitteeEstimator, read_calibration

        if not self.box.is_model(str(facts["model"]), self.problem):
            _log.info("the saved estimate of survival is of another model, and is not used", extra={"notice": True})
            return
        if (committee := facts.get("committee")) is not None:
            self.committee = CommitteeEstimator.from_arrays(self.problem, arrays, committee, self.surrogate)
        if "margin_spread" in facts:
            self._margin_spread = require_number(facts, "margin_spread")
        if (refits := facts.get("refits")) is not None:
            fingerprints = refits["fingerprints"]
            if not isinstance(fingerprints, list) or not all(isinstance(one, str) for one in fingerprints):
                raise ValueError("the fingerprints of refits are texts")
            calibration = read_calibration(refits["calibration"])
            if not isinstance(calibration, LogisticCalibration):
                raise ValueError("refits have a logistic calibration")
            self._refit_calibration = calibration
            self._calibrated_refits = tuple(fingerprints)


class _CalibratedOnDemand(SurvivalEstimator):
    """Refits that are calibrated when plans are made, unless they were at the fit."""

    source: ClassVar[Source] = "refits"
    portable = False

    def __init__(self, parts: SurvivalParts) -> None:
        self._parts = parts

    def prepare(self, people: People) -> SurvivalEstimator:
        """The calibrated estimator."""
        return self._parts.calibrated(people)

    def chance(self, problem: Problem, people: People, states: Floats, rows: Ints) -> Floats:
        """See `SurvivalEstimator.chance`."""
        return self.prepare(people).chance(problem, people, states, rows)
