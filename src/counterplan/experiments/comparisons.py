"""Methods against expected values, search and guided against the baseline. Pure functions of the rows."""

from __future__ import annotations

import math
from dataclasses import dataclass

from counterplan.experiments.budgets import cpu_usage, query_usage
from counterplan.experiments.published import Target
from counterplan.experiments.rows import ExperimentRows
from counterplan.experiments.statistics import Interval, MethodStats, intersection, summary

BASELINE = "evolution"
AGAINST = ("search", "guided")
"""The methods compared with it."""
TIMES = 100
"""Expected: the baseline sends this many times the queries, and takes this many times the CPU time."""
_TINY = 1e-9
"""Rounding error of a mean."""
Both = tuple[Interval, Interval]
"""Of the method, and of the baseline."""


def targets_met(stats: MethodStats, target: Target) -> dict[str, bool]:
    """Whether each expected value is reached: success, cost ratio, queries and rule length, of those that are set."""
    upper = {
        "cost ratio": (stats.ratio, target.ratio),
        "queries": (stats.feasible_queries, target.queries),
        "rule length": (stats.rule_length, target.rule_length),
    }
    met = {"success": stats.success.mean >= target.success - _TINY}
    return met | {name: value.mean <= limit + _TINY for name, (value, limit) in upper.items() if limit is not None}


@dataclass(frozen=True)
class PairedComparison:
    """A method and the baseline on one benchmark, over seeds."""

    success: Both
    people: int
    """Number of people solved by both."""
    cost: Both
    """Mean cost of these people."""
    optimal_cost: float
    """Mean optimal cost of these people."""
    queries: Both
    """Queries sent to the model per person."""
    candidates: Interval
    """Queries per person that the baseline would send without a cache."""
    seconds: Both
    """CPU seconds per person, all people planned for in one batch."""

    @property
    def query_factor(self) -> float:
        """Queries of the baseline divided by those of the method (NaN: unknown)."""
        return _factor(self.queries[1].mean, self.queries[0].mean)

    @property
    def candidate_factor(self) -> float:
        """The same for a baseline without a cache."""
        return _factor(self.candidates.mean, self.queries[0].mean)

    @property
    def time_factor(self) -> float:
        """CPU time of the baseline divided by that of the method."""
        return _factor(self.seconds[1].mean, self.seconds[0].mean)

    @property
    def tied(self) -> tuple[str, ...]:
        """The measures on which both are optimal, so that the method cannot be better."""
        measures = []
        if min(one.mean for one in self.success) >= 1 - _TINY:
            measures.append("success")
        if max(one.mean for one in self.cost) <= self.optimal_cost + _TINY:
            measures.append("cost")
        return tuple(measures)

    def targets_met(self) -> dict[str, bool]:
        """Whether the method has higher success and lower cost, or both are optimal, and the factors in queries and
        time exceed `TIMES`; unknown measures are left out."""
        gains = {
            "success": (self.success[0].mean - self.success[1].mean, _TINY),
            "cost": (self.cost[1].mean - self.cost[0].mean, _TINY),
            "queries": (self.query_factor, TIMES),
            "time": (self.time_factor, TIMES),
        }
        return {
            measure: measure in self.tied or gain > threshold
            for measure, (gain, threshold) in gains.items()
            if not math.isnan(gain)
        }


def paired_comparisons(rows: ExperimentRows) -> dict[tuple[str, str], PairedComparison]:
    """Comparisons by benchmark and method, where there are rows of both."""
    stats, queries, cpu = summary(rows), query_usage(rows), cpu_usage(rows)
    unknown = Interval.of(())
    comparisons = {}
    for method in AGAINST:
        common = summary(rows, intersection(rows.results, (method, BASELINE)))
        for name in dict.fromkeys(name for name, _ in stats):
            ours, theirs = (name, method), (name, BASELINE)
            if ours not in stats or theirs not in stats:
                continue
            own, other, sent = common.get(ours), common.get(theirs), queries[theirs]
            comparisons[ours] = PairedComparison(
                success=(stats[ours].success, stats[theirs].success),
                people=own.solved if own else 0,
                cost=(own.cost if own else unknown, other.cost if other else unknown),
                optimal_cost=common[name, "exact"].cost.mean if (name, "exact") in common else math.nan,
                queries=(queries[ours].prediction, sent.prediction),
                candidates=Interval(sent.prediction.mean + sent.cached.mean, math.nan, sent.prediction.seeds),
                seconds=(cpu[ours].person, cpu[theirs].person),
            )
    return comparisons


def _factor(theirs: float, ours: float) -> float:
    """The quotient; infinite if only `ours` is zero."""
    return theirs / ours if ours else math.inf if theirs > 0 else math.nan
