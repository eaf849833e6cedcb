"""Adapters that give every kind of model one interface: estimators, functions, ONNX files, HTTP services.

Imports `counterplan.errors` and `counterplan.problem.values`. Queries are counted and cached in `counterplan.blackbox`.
"""

from counterplan.models.adapters import EstimatorModel, FunctionModel, Model, adapt
from counterplan.models.http import HttpModel
from counterplan.models.onnx import OnnxModel

__all__ = ["EstimatorModel", "FunctionModel", "HttpModel", "Model", "OnnxModel", "adapt"]
