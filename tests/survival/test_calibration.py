"""Calibrations recover the chances that answers and margins were drawn with."""

from __future__ import annotations

import numpy as np
import pytest

from counterplan import SettingError
from counterplan.survival.calibration import LogisticCalibration, MarginCalibration


def test_logistic_recovers_chances() -> None:
    random = np.random.default_rng(0)
    logits = random.normal(0, 1.5, 20_000)
    answers = random.random(20_000) < 1 / (1 + np.exp(-(2 * logits - 1)))
    found = LogisticCalibration.fit(logits, answers)
    assert found.slope == pytest.approx(2, abs=0.1)
    assert found.shift == pytest.approx(-1, abs=0.1)


def test_separable_answers_have_finite_parameters() -> None:
    logits = np.linspace(-3, 3, 50)
    found = LogisticCalibration.fit(logits, logits > 0)
    assert 1 < found.slope < 100
    assert LogisticCalibration.fit(logits, np.ones(50, bool)).chance(logits).max() <= 1
    assert LogisticCalibration.fit(logits, logits < 0).slope == 0


def test_overstatement_is_subtracted_and_clipped() -> None:
    chances = LogisticCalibration(1, 0, 0.3).chance(np.array([-5.0, 0.0, 50.0]))
    np.testing.assert_allclose(chances, [0, 0.2, 0.7], atol=1e-6)


@pytest.mark.parametrize("shared", [0.0, 0.3, 0.8])
def test_margins_predict_retrained_models(shared: float) -> None:
    """Today's and a retrained model share a part of the error; stated chances match the retrained model's answers."""
    random = np.random.default_rng(1)
    count = 60_000
    logits = random.normal(0, 1, count)
    common = random.normal(0, 0.5 * np.sqrt(shared), count)
    own = random.normal(0, 0.5 * np.sqrt(1 - shared), (2, count))
    today, retrained = 0.7 * logits - 0.2 + common + own
    found = MarginCalibration.fit(logits, today, shared, overstatement=0.0)
    stated = found.chance(logits, today)
    for low in (0.1, 0.3, 0.5, 0.7):
        inside = (stated >= low) & (stated < low + 0.2)
        assert stated[inside].mean() == pytest.approx((retrained[inside] > 0).mean(), abs=0.03)


def test_without_margins_chances_are_those_of_the_committee() -> None:
    calibration = MarginCalibration(1.0, 0.0, 1.0, 0.3, 0.0)
    assert calibration.chance(np.array([0.0]))[0] == 0.5
    np.testing.assert_array_less(calibration.chance(np.array([0.0]), np.array([-1.0])), 0.5)


def test_margins_without_spread() -> None:
    found = MarginCalibration.fit(np.zeros(5), np.ones(5))
    assert np.isfinite(found.chance(np.zeros(2), np.ones(2))).all()


@pytest.mark.parametrize("slope", [-1.0, np.nan])
def test_invalid_parameters(slope: float) -> None:
    with pytest.raises(SettingError):
        LogisticCalibration(slope, 0.0)
    with pytest.raises(SettingError):
        MarginCalibration(slope, 0.0, 1.0)


@pytest.mark.parametrize(("error", "shared"), [(0.0, 0.3), (1.0, 1.0), (1.0, -0.1)])
def test_invalid_errors(error: float, shared: float) -> None:
    with pytest.raises(SettingError):
        MarginCalibration(1.0, 0.0, error, shared)


def test_one_answer_for_each_logit() -> None:
    with pytest.raises(SettingError, match="one answer"):
        LogisticCalibration.fit(np.zeros(3), np.zeros(2, bool))
    with pytest.raises(SettingError, match="one margin"):
        MarginCalibration.fit(np.zeros(3), np.array([0.0, 1.0, np.nan]))
