"""The surrogate: a model of the black box, learned actively from its answers.

Fitting needs the extra `[train]` (JAX, used in `fitting` only); a
fitted surrogate runs on numpy.

May import: errors, bounded_json, drawing, problem, blackbox, storage, parallel, search, plans, personal.
"""

from counterplan.surrogate.features import StateFeatures
from counterplan.surrogate.surrogate import Calibration, Surrogate, load_surrogate, reliability, save_surrogate
from counterplan.surrogate.trees import Trees

__all__ = ["Calibration", "StateFeatures", "Surrogate", "Trees", "load_surrogate", "reliability", "save_surrogate"]
