"""Adapters that give every kind of model one interface: estimators, boosters, functions, ONNX files, HTTP services.

Queries are counted and cached in `counterplan.blackbox`.

May import: errors, bounded_json, drawing, problem.
"""

from counterplan.models.adapters import adapt, referenced
from counterplan.models.booster import BoosterModel
from counterplan.models.casting import uses_column
from counterplan.models.decision import Decision
from counterplan.models.estimator import EstimatorModel
from counterplan.models.function import FunctionModel
from counterplan.models.http import HttpModel
from counterplan.models.onnx import OnnxModel
from counterplan.models.protocol import Model, columns_of, dtypes_of, labels_and_scores

__all__ = [
    "BoosterModel",
    "Decision",
    "EstimatorModel",
    "FunctionModel",
    "HttpModel",
    "Model",
    "OnnxModel",
    "adapt",
    "columns_of",
    "dtypes_of",
    "labels_and_scores",
    "referenced",
    "uses_column",
]
