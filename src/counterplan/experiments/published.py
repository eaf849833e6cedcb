"""Figures that the paper reports on its own versions of the benchmarks, and the targets of this library.

De Toni, Lepri, Passerini, *Synthesizing explainable counterfactual policies for algorithmic recourse with program
synthesis*. Costs exclude that of STOP.
"""

from __future__ import annotations

from typing import NamedTuple

from counterplan.experiments.methods import BY_NAME


class Published(NamedTuple):
    """Success, mean cost of the successes and mean queries per person (None: not reported in this form)."""

    success: float
    cost: float | None = None
    queries: float | None = None


PUBLISHED: dict[str, dict[str, Published]] = {
    "german": {
        "M_mcts": Published(1.00, 14.3, 24),
        "M_prog": Published(0.94, 14.3, 0),
        "M_cscf": Published(1.00, 6.6),
        "M_cscf small": Published(0.97, 6.9),
        "M_agent": Published(0.00),
        "exact": Published(1.00, 6.2),
    },
    "adult": {
        "M_mcts": Published(0.93, 35.9, 30),
        "M_prog": Published(0.66, 38.2, 0),
        "M_cscf": Published(0.77, 16.5),
        "M_cscf small": Published(0.62, 15.4),
        "M_agent": Published(0.01),
        "exact": Published(1.00, 18.2),
    },
    "syn": {
        "M_mcts": Published(0.98, 20.0, 28),
        "M_prog": Published(0.99, 21.0, 0),
        "M_cscf": Published(0.73, 12.5),
        "M_cscf small": Published(0.48, 12.0),
        "M_agent": Published(0.59),
        "exact": Published(1.00, 12.5),
    },
    "syn_long": {
        "M_mcts": Published(0.92, 20.6, 29),
        "M_prog": Published(0.87, 20.7, 0),
        "M_cscf": Published(0.48, 10.2),
        "M_cscf small": Published(0.40, 12.2),
        "M_agent": Published(0.00),
        "exact": Published(1.00, 15.0),
    },
}
"""By benchmark and name of the method in the paper; "exact" is the optimal cost of the paper's problems and people."""
NOT_PUBLISHED = Published(float("nan"))

SIMILARITY = {"german": 0.89, "adult": 0.72, "syn": 0.80, "syn_long": 0.71}
"""Between the published program and the published search."""
RULE_LENGTH = {"german": (2.3, 3.5), "adult": (4.8, 8.0), "syn": (2.3, 3.5), "syn_long": (2.3, 3.5)}
"""Mean number of literals in a rule of the published programs: minimum and maximum."""
TRAINING_MINUTES = (29, 113)
"""On four cores."""
TRAINING_QUERIES = {"german": 36_000, "adult": 132_000, "syn": 54_000, "syn_long": 96_000}
"""Of the published agents."""


def published_of(benchmark: str, method: str) -> Published:
    """The published figures of a method on a benchmark, or `NOT_PUBLISHED`."""
    name = "exact" if method == "exact" else BY_NAME[method].paper if method in BY_NAME else None
    return PUBLISHED.get(benchmark, {}).get(name or "", NOT_PUBLISHED)


class Target(NamedTuple):
    """Minimal success, and maximal cost ratio, queries per person and features in a rule (None: no target)."""

    success: float
    ratio: float | None
    queries: float
    rule_length: float | None = None


TARGETS: dict[str, dict[str, Target]] = {
    "search": {
        "german": Target(0.98, 1.03, 4.0),
        "adult": Target(0.98, 1.03, 5.0),
        "syn": Target(1.00, 1.01, 2.5),
        "syn_long": Target(0.99, 1.01, 3.0),
    },
    "guided": {
        "german": Target(0.99, 1.02, 2.5),
        "adult": Target(0.99, 1.02, 2.5),
        "syn": Target(1.00, 1.002, 1.1),
        "syn_long": Target(0.99, 1.01, 1.3),
    },
    "program": {
        "german": Target(0.93, 1.35, 0.0, 4.2),
        "adult": Target(0.95, 1.36, 0.0, 4.0),
        "syn": Target(0.99, 1.01, 0.0, 2.0),
        "syn_long": Target(0.97, 1.03, 0.0, 3.0),
    },
    "cascade": {
        "german": Target(1.00, None, 1.3),
        "adult": Target(0.99, None, 1.3),
        "syn": Target(1.00, None, 1.1),
        "syn_long": Target(0.99, None, 1.2),
    },
}
"""By method and benchmark, for means over seeds; set before the methods were implemented."""
