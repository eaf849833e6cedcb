"""What methods spend: questions to the model and processor time, by what for. Pure functions of the rows."""

from __future__ import annotations

from dataclasses import dataclass

from counterplan.experiments.methods import METHODS
from counterplan.experiments.rows import Rows
from counterplan.experiments.statistics import Interval

LEARNED: dict[str, tuple[str, ...]] = {method.name: method.needs for method in METHODS}
"""What has to be learned for each method."""


@dataclass(frozen=True)
class QueriesSpent:
    """Rows sent to the model, over seeds."""

    training: Interval
    distillation: Interval
    trial: Interval
    """Of a program, on people held back: what tells how good it is, not what makes it."""
    prediction: Interval
    """For each person."""
    remembered: Interval
    """For each person: rows that the meter's memory answered."""


@dataclass(frozen=True)
class SecondsSpent:
    """Processor time, over seeds."""

    learning: Interval
    """Training and distillation together."""
    person: Interval
    """For each person, when everybody is planned for together."""
    alone: Interval
    """For one person alone."""


def questions_spent(rows: Rows) -> dict[tuple[str, str], QueriesSpent]:
    """By benchmark and method."""
    plain = rows.questions[rows.questions["knob"] == ""]
    found = {}
    for name, method in _pairs(rows):
        mine = plain[plain["benchmark"] == name]
        learning = mine[mine["method"].isin(LEARNED.get(method, ()))]
        by_phase = [
            Interval.of(learning[learning["phase"] == phase].groupby("seed")["rows"].sum().astype(float))
            for phase in ("training", "distillation", "trial")
        ]
        part = mine[(mine["method"] == method) & (mine["phase"] == "prediction")]
        people = part["people"].astype(float)
        each = [Interval.of(part[column].astype(float) / people) for column in ("rows", "remembered")]
        found[name, method] = QueriesSpent(*by_phase, *each)
    return found


def seconds_spent(rows: Rows) -> dict[tuple[str, str], SecondsSpent]:
    """By benchmark and method."""
    found = {}
    for name, method in _pairs(rows):
        mine = rows.timing[rows.timing["benchmark"] == name]
        once = mine[mine["method"].isin(LEARNED.get(method, ())) & mine["phase"].isin(("training", "distillation"))]
        own = mine[mine["method"] == method]
        many, one = own[own["phase"] == "prediction"], own[own["phase"] == "one person"]
        found[name, method] = SecondsSpent(
            Interval.of(once.groupby("seed")["cpu_seconds"].sum()),
            Interval.of(many["cpu_seconds"] / many["people"].astype(float)),
            Interval.of(one.groupby("seed")["cpu_seconds"].mean()),
        )
    return found


def _pairs(rows: Rows) -> list[tuple[str, str]]:
    seen = rows.results[["benchmark", "method"]].drop_duplicates()
    return [(str(benchmark), str(method)) for benchmark, method in zip(seen["benchmark"], seen["method"], strict=True)]
