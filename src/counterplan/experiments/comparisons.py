"""Search and guided against the evolutionary baseline, and what was aimed at there. Pure functions of the rows."""

from __future__ import annotations

import math
from dataclasses import dataclass

from counterplan.experiments.budgets import questions_spent, seconds_spent
from counterplan.experiments.rows import Rows
from counterplan.experiments.statistics import Interval, intersection, summary

BASELINE = "evolution"
AGAINST = ("search", "guided")
"""The methods that should beat it."""
TIMES = 100
"""It should ask so many times the rows, and take so many times the time."""
_TINY = 1e-9
Both = tuple[Interval, Interval]
"""A method's, and the baseline's."""


@dataclass(frozen=True)
class PairedComparison:
    """A method beside the baseline on one benchmark, over seeds."""

    success: Both
    people: int
    """Whom both solve."""
    cost: Both
    """Of these people."""
    least: float
    """The least effort of these people that is known to be possible, mean over seeds."""
    rows: Both
    """Sent to the model, for each person, by the meter."""
    candidates: Interval
    """Rows that the baseline would send for each person if it remembered nothing."""
    seconds: Both
    """For each person, when everybody is planned for together."""

    @property
    def more_rows(self) -> float:
        """How many times the method's rows the baseline sends (NaN: not known)."""
        return _times(self.rows[1].mean, self.rows[0].mean)

    @property
    def more_candidates(self) -> float:
        """The same if the baseline remembered nothing."""
        return _times(self.candidates.mean, self.rows[0].mean)

    @property
    def longer(self) -> float:
        """How many times the method's time the baseline takes."""
        return _times(self.seconds[1].mean, self.seconds[0].mean)

    @property
    def tied(self) -> tuple[str, ...]:
        """In what the method can do no better, because both do as well as is possible."""
        told = []
        if min(one.mean for one in self.success) >= 1 - _TINY:
            told.append("success")
        if max(one.mean for one in self.cost) <= self.least + _TINY:
            told.append("effort")
        return tuple(told)

    def reached(self) -> dict[str, bool]:
        """Whether the method is better in success and effort, or both are as good as can be, and so many times
        cheaper in questions and time; what is not known is left out."""
        made = {
            "success": (self.success[0].mean - self.success[1].mean, _TINY),
            "effort": (self.cost[1].mean - self.cost[0].mean, _TINY),
            "questions": (self.more_rows, TIMES),
            "time": (self.longer, TIMES),
        }
        return {
            what: what in self.tied or gain > wanted for what, (gain, wanted) in made.items() if not math.isnan(gain)
        }


def paired_comparisons(rows: Rows) -> dict[tuple[str, str], PairedComparison]:
    """By benchmark and method, where there are rows of both."""
    found, asked, taken = summary(rows), questions_spent(rows), seconds_spent(rows)
    made = {}
    for method in AGAINST:
        both = summary(rows, intersection(rows.results, (method, BASELINE)))
        for name in dict.fromkeys(name for name, _ in found):
            ours, theirs = (name, method), (name, BASELINE)
            if ours not in found or theirs not in found:
                continue
            line, other = both.get(ours), both.get(theirs)
            nothing = Interval.of(())
            sent = asked[theirs]
            made[ours] = PairedComparison(
                (found[ours].success, found[theirs].success),
                line.solved if line else 0,
                (line.cost if line else nothing, other.cost if other else nothing),
                both[name, "exact"].cost.mean if (name, "exact") in both else math.nan,
                (asked[ours].prediction, sent.prediction),
                Interval(sent.prediction.mean + sent.remembered.mean, math.nan, sent.prediction.seeds),
                (taken[ours].person, taken[theirs].person),
            )
    return made


def _times(theirs: float, ours: float) -> float:
    """How often `ours` goes into `theirs`: any number of times if it is nothing."""
    return theirs / ours if ours else math.inf if theirs > 0 else math.nan
