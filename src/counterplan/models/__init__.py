"""Adapters that give every kind of model one interface: estimators, functions, ONNX files, HTTP services.

Queries are counted and cached in `counterplan.blackbox`.

May import: errors, bounded_json, problem.
"""

from counterplan.models.adapters import EstimatorModel, FunctionModel, Model, adapt
from counterplan.models.http import HttpModel
from counterplan.models.onnx import OnnxModel

__all__ = ["EstimatorModel", "FunctionModel", "HttpModel", "Model", "OnnxModel", "adapt"]
