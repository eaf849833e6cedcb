"""Queries and CPU time of methods, by phase. Pure functions of the rows."""

from __future__ import annotations

from dataclasses import dataclass

from counterplan.experiments.rows import ExperimentRows
from counterplan.experiments.settings import learned_for
from counterplan.experiments.statistics import Interval


@dataclass(frozen=True)
class QueryUsage:
    """Queries sent to the model, over seeds."""

    training: Interval
    distillation: Interval
    trial: Interval
    """Evaluation of a program on held-out people, which does not contribute to the program."""
    prediction: Interval
    """Per person."""
    cached: Interval
    """Per person: queries answered from the cache."""
    total: Interval
    """Prediction, for all test people of a seed."""


@dataclass(frozen=True)
class CpuUsage:
    """CPU seconds, over seeds."""

    learning: Interval
    """Training and distillation."""
    person: Interval
    """Per person, all people planned for in one batch."""
    alone: Interval
    """For a single person."""


def query_usage(rows: ExperimentRows) -> dict[tuple[str, str], QueryUsage]:
    """Queries by benchmark and method."""
    default = rows.queries[rows.queries["knob"] == ""]
    usage = {}
    for name, method in _pairs(rows):
        part = default[default["benchmark"] == name]
        learning = part[part["method"].isin(learned_for(method))]
        by_phase = {
            phase: Interval.of(learning[learning["phase"] == phase].groupby("seed")["rows"].sum().astype(float))
            for phase in ("training", "distillation", "trial")
        }
        prediction = part[(part["method"] == method) & (part["phase"] == "prediction")]
        people, sent = prediction["people"].astype(float), prediction["rows"].astype(float)
        usage[name, method] = QueryUsage(
            **by_phase,
            prediction=Interval.of(sent / people),
            cached=Interval.of(prediction["remembered"].astype(float) / people),
            total=Interval.of(sent),
        )
    return usage


def distillation_queries(rows: ExperimentRows) -> dict[tuple[str, int], Interval]:
    """Queries of the paper's distillation, by benchmark and number of traces."""
    sent = rows.queries[(rows.queries["knob"] == "traces") & (rows.queries["phase"] == "distillation")]
    pairs = sent[["benchmark", "value"]].drop_duplicates()
    return {
        (str(name), int(value)): Interval.of(
            sent[(sent["benchmark"] == name) & (sent["value"] == value)]["rows"].astype(float)
        )
        for name, value in zip(pairs["benchmark"], pairs["value"], strict=True)
    }


def cpu_usage(rows: ExperimentRows) -> dict[tuple[str, str], CpuUsage]:
    """CPU time by benchmark and method."""
    usage = {}
    for name, method in _pairs(rows):
        part = rows.timing[rows.timing["benchmark"] == name]
        once = part[part["method"].isin(learned_for(method)) & part["phase"].isin(("training", "distillation"))]
        own = part[part["method"] == method]
        batch, single = own[own["phase"] == "prediction"], own[own["phase"] == "one person"]
        usage[name, method] = CpuUsage(
            Interval.of(once.groupby("seed")["cpu_seconds"].sum()),
            Interval.of(batch["cpu_seconds"] / batch["people"].astype(float)),
            Interval.of(single.groupby("seed")["cpu_seconds"].mean()),
        )
    return usage


def _pairs(rows: ExperimentRows) -> list[tuple[str, str]]:
    """The pairs of benchmark and method in the results."""
    pairs = rows.results[["benchmark", "method"]].drop_duplicates()
    return [
        (str(benchmark), str(method)) for benchmark, method in zip(pairs["benchmark"], pairs["method"], strict=True)
    ]
