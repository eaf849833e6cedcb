"""Anything that decides about people, in one form: estimators, functions, ONNX files, HTTP services.

Knows only `errors` and how values are written; the metering of questions is the black box's affair.
"""

from counterplan.models.adapters import EstimatorModel, FunctionModel, Model, adapt
from counterplan.models.http import HttpModel
from counterplan.models.onnx import OnnxModel

__all__ = ["EstimatorModel", "FunctionModel", "HttpModel", "Model", "OnnxModel", "adapt"]
