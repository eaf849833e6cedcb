"""What a table of people says about a causal graph: edges, directions and missing edges to doubt.

May import: errors, bounded_json, drawing, problem.
"""

from counterplan.causal.doubts import Doubt, GraphReport, question_graph
from counterplan.causal.settings import GraphSettings

__all__ = ["Doubt", "GraphReport", "GraphSettings", "question_graph"]
