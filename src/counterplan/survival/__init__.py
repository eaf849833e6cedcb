"""The chance that a plan still leads to a favourable decision after the model was trained again.

May import: errors, bounded_json, drawing, problem, models, blackbox, storage, parallel, search, plans, surrogate.
"""

from counterplan.survival.calibration import LogisticCalibration, MarginCalibration
from counterplan.survival.committee import Committee, CommitteeSettings

__all__ = ["Committee", "CommitteeSettings", "LogisticCalibration", "MarginCalibration"]
