"""The surrogate: a model of the black box, learned from answers already paid for. Learning needs the extra `[train]`.

Knows problems only. `learning` alone needs JAX; a learned surrogate runs on numpy.
"""

from counterplan.surrogate.surrogate import Calibration, Surrogate, load_surrogate, reliability, save_surrogate
from counterplan.surrogate.trees import Trees
from counterplan.surrogate.view import View

__all__ = ["Calibration", "Surrogate", "Trees", "View", "load_surrogate", "reliability", "save_surrogate"]
