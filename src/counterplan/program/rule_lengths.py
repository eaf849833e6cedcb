"""The length of the rules that a run uses: the number of features in them."""

from __future__ import annotations

import numpy as np

from counterplan.problem.transitions import Ints
from counterplan.program.interpreter import ProgramRun
from counterplan.program.protocol import ProgramLike
from counterplan.search.orders import NO_ACTION


def mean_rule_length(program: ProgramLike, run: ProgramRun) -> float:
    """The mean number of features in the rules of all steps taken in `run`, STOP not counted; 0 if there are none."""
    lengths, counts = _lengths(program, run)
    return float(np.average(lengths, weights=counts)) if len(lengths) else 0.0


def longest_rule(program: ProgramLike, run: ProgramRun) -> int:
    """The largest number of features in the rule of any step taken in `run`, STOP not counted."""
    return max(_lengths(program, run)[0].tolist(), default=0)


def _lengths(program: ProgramLike, run: ProgramRun) -> tuple[Ints, Ints]:
    """The lengths of the rules [n] that were used, and how often [n]."""
    taken = run.actions != NO_ACTION
    used = np.stack([part[:, :-1][taken] for part in (run.nodes, run.leaves, run.ranks)], axis=1)
    used, counts = np.unique(used, axis=0, return_counts=True)
    lengths = [program.rule(program.nodes[node], leaf, rank).length for node, leaf, rank in used.tolist()]
    return np.array(lengths, np.intp), counts
