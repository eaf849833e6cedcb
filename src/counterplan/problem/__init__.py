"""The definition of a recourse problem: its file, features and actions, state transitions, and tables of people.

May import: errors, drawing.
"""

from counterplan.problem.encoding import Encoding
from counterplan.problem.frames import People
from counterplan.problem.intake import PeopleTable
from counterplan.problem.lint import check
from counterplan.problem.parts import STOP, Action, Feature, Function
from counterplan.problem.problem import Problem
from counterplan.problem.schema import json_schema
from counterplan.problem.source import Finding
from counterplan.problem.tables import read_table
from counterplan.problem.transitions import Transitions

__all__ = [
    "STOP",
    "Action",
    "Encoding",
    "Feature",
    "Finding",
    "Function",
    "People",
    "PeopleTable",
    "Problem",
    "Transitions",
    "check",
    "json_schema",
    "read_table",
]
