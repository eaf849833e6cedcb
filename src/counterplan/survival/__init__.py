"""The chance that a plan still leads to a favourable decision after the model was trained again.

May import: errors, bounded_json, drawing, problem, models, blackbox, storage, parallel, search, plans, surrogate.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from counterplan.survival.calibration import LogisticCalibration, MarginCalibration
    from counterplan.survival.committee import Committee, CommitteeSettings

__all__ = ["Committee", "CommitteeSettings", "LogisticCalibration", "MarginCalibration"]

_MODULE_OF = {
    "Committee": "committee",
    "CommitteeSettings": "committee",
    "LogisticCalibration": "calibration",
    "MarginCalibration": "calibration",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'counterplan.survival' has no attribute '{name}'")
    value = globals()[name] = getattr(import_module(f"counterplan.survival.{_MODULE_OF[name]}"), name)
    return value
