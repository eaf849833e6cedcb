"""The surrogate: a model of the black box, learned from answers already paid for. Learning needs the extra `[train]`.

Knows problems only. `learning` alone needs JAX; a learned surrogate runs on numpy.
"""

from counterplan.surrogate.features import StateFeatures
from counterplan.surrogate.surrogate import Calibration, Surrogate, load_surrogate, reliability, save_surrogate
from counterplan.surrogate.trees import Trees

__all__ = ["Calibration", "StateFeatures", "Surrogate", "Trees", "load_surrogate", "reliability", "save_surrogate"]
