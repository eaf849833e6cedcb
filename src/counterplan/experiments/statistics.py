"""Means, intervals and ratios of rows. Pure functions from tables to statistics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from counterplan.experiments.rows import ExperimentRows

_T95 = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)
"""Student's t for a two-sided interval of 95 %, by degrees of freedom from 1; the last one is used beyond."""
KEY = ["benchmark", "seed", "person"]
SMALL_GROUP = 5
"""Groups with fewer people than this, over all seeds, are merged if there are larger ones."""


class Interval(NamedTuple):
    """A mean over seeds, and half the width of its 95 % interval by Student's t (NaN: fewer than two seeds)."""

    mean: float
    half: float
    seeds: int

    @classmethod
    def of(cls, values: Iterable[float]) -> Interval:
        """The interval of one value for each seed; missing values are left out.

        Examples
        --------
        >>> Interval.of([1.0, 2.0, 3.0]).mean
        2.0
        """
        known = np.array([value for value in values if not pd.isna(value)], float)
        if not len(known):
            return cls(np.nan, np.nan, 0)
        if len(known) == 1:
            return cls(float(known[0]), np.nan, 1)
        quantile = _T95[min(len(known) - 2, len(_T95) - 1)]
        return cls(float(known.mean()), float(quantile * known.std(ddof=1) / np.sqrt(len(known))), len(known))

    def times(self, factor: float) -> Interval:
        """The interval in another unit."""
        return Interval(self.mean * factor, self.half * factor, self.seeds)


@dataclass(frozen=True)
class MethodStats:
    """Statistics over seeds of a method on a benchmark, or of one point of its curve."""

    people: int
    """All seeds together."""
    solved: int
    success: Interval
    cost: Interval
    length: Interval
    ratio: Interval
    """Cost divided by the optimal cost."""
    queries: Interval
    """Queries sent to the model per person, of all people."""
    feasible_queries: Interval
    """Queries per person, of those without a proof of infeasibility."""
    rule_length: Interval


MEASURES = ("success", "cost", "length", "ratio", "queries", "feasible_queries", "rule_length")
Summary = dict[tuple[str, str], MethodStats]
"""By benchmark and method."""
Curve = dict[tuple[str, int], MethodStats]
"""By benchmark and value of the varied parameter."""


def by_seed(results: pd.DataFrame, by: tuple[str, ...] = ("benchmark", "method")) -> pd.DataFrame:
    """One row for each of `by` and seed: people, success, and means over the successes.

    Success and `feasible_queries` are of people without a proof of infeasibility. The ratio is to the optimal cost,
    over people solved by both the method and exact search. The rule length is a mean over steps.
    """
    frame = results.assign(
        ratio=(results["cost"] / results["least_effort"]).where(results["success"] & (results["least_effort"] > 0)),
        features=results["rule_length"] * results["length"],
        steps=results["length"].where(results["rule_length"].notna()),
        feasible=results["reachable"] != "no",
    )
    solved = frame["success"]
    frame["cost"], frame["length"] = frame["cost"].where(solved), frame["length"].where(solved)
    frame["feasible_success"] = frame["success"].astype(float).where(frame["feasible"])
    frame["feasible_queries"] = frame["questions"].astype(float).where(frame["feasible"])
    grouped = frame.groupby([*by, "seed"], sort=False, observed=True)
    table = grouped.agg(
        people=("person", "size"),
        feasible=("feasible", "sum"),
        solved=("success", "sum"),
        success=("feasible_success", "mean"),
        cost=("cost", "mean"),
        length=("length", "mean"),
        ratio=("ratio", "mean"),
        features=("features", "sum"),
        steps=("steps", "sum"),
        feasible_queries=("feasible_queries", "mean"),
    )
    steps = table["steps"].astype(float)
    table["rule_length"] = (table["features"].astype(float) / steps).where(steps > 0)
    return table.drop(columns=["features", "steps"]).astype(float).reset_index()


def queries_per_person(queries: pd.DataFrame, by: tuple[str, ...] = ("benchmark", "method")) -> pd.DataFrame:
    """Queries sent to the model per person in prediction, for each of `by` and seed."""
    used = queries[queries["phase"] == "prediction"]
    each = used["rows"].astype(float) / used["people"].astype(float)
    return used[[*by, "seed"]].assign(queries=each)


def summary(rows: ExperimentRows, mask: pd.Series | None = None) -> Summary:
    """Statistics of every benchmark and method; `mask` selects rows of the results."""
    seeds = by_seed(rows.results if mask is None else rows.results[mask])
    default = rows.queries[rows.queries["knob"] == ""]
    stats = _over_seeds(seeds.merge(queries_per_person(default), how="left"), ["benchmark", "method"])
    return {(str(benchmark), str(method)): one for (benchmark, method), one in stats}


def curve(rows: ExperimentRows, method: str, knob: str) -> Curve:
    """Statistics of a method for every benchmark and value of a varied parameter."""
    results = rows.curves[(rows.curves["method"] == method) & (rows.curves["knob"] == knob)]
    by = ("benchmark", "method", "value")
    points = rows.queries[(rows.queries["method"] == method) & (rows.queries["knob"] == knob)]
    stats = _over_seeds(by_seed(results, by).merge(queries_per_person(points, by), how="left"), ["benchmark", "value"])
    return {(str(benchmark), int(value)): one for (benchmark, value), one in stats}


def _over_seeds(seeds: pd.DataFrame, by: list[str]) -> Iterator[tuple[Any, MethodStats]]:
    for key, part in seeds.groupby(by, sort=False, observed=True):
        people, solved = int(part["people"].sum()), int(part["solved"].sum())
        yield key, MethodStats(people, solved, **{measure: Interval.of(part[measure]) for measure in MEASURES})


def benchmarks_in(rows: ExperimentRows) -> list[str]:
    """The benchmarks of an experiment, in order."""
    return [str(name) for name in dict.fromkeys(rows.datasets["benchmark"])]


def intersection(results: pd.DataFrame, methods: Iterable[str]) -> pd.Series:
    """Mask [n] of the rows of people solved by every one of `methods`."""
    wanted = set(methods) & set(results["method"])
    counted = results[results["method"].isin(wanted)]
    solved = counted.groupby(KEY)["success"].agg(["all", "size"])
    by_all = set(solved.index[solved["all"] & (solved["size"] == len(wanted))])
    keys = zip(*(results[name] for name in KEY), strict=True)
    return pd.Series([key in by_all for key in keys], index=results.index, dtype=bool)


def by_protected_group(rows: ExperimentRows) -> pd.DataFrame:
    """Results without a proof of infeasibility, one row for each protected feature of a person.

    Several groups of fewer than `SMALL_GROUP` people beside larger ones are merged as "others".
    """
    people = rows.people.copy()
    feature, group = ["benchmark", "feature"], ["benchmark", "feature", "group"]
    small = people.groupby(group)["person"].transform("size") < SMALL_GROUP
    few = people["group"].where(small).groupby([people[name] for name in feature]).transform("nunique")
    large = (~small).groupby([people[name] for name in feature]).transform("any")
    people["group"] = people["group"].mask(small & large & (few > 1), "others")
    feasible = rows.results[rows.results["reachable"] != "no"]
    return feasible.merge(people, on=KEY)


def action_string(actions: str) -> str:
    """A plan as one string, in the notation by which the paper compares two: `CHANGE_JOB(manager)-STOP(0)`.

    Examples
    --------
    >>> action_string("CHANGE_JOB=manager")
    'CHANGE_JOB(manager)-STOP(0)'
    """
    steps = [step.split("=", 1) for step in actions.split("; ")]
    return "-".join([*(f"{function}({argument})" for function, argument in steps), "STOP(0)"])


def similarity(results: pd.DataFrame, method: str, other: str) -> pd.DataFrame:
    """Similarity of two methods' plans (difflib's ratio) by benchmark and seed, over people with a plan of both."""
    plans = results[results["actions"] != ""]
    pairs = plans[plans["method"] == method].merge(plans[plans["method"] == other], on=KEY, suffixes=("", "_other"))
    alike = [
        SequenceMatcher(None, action_string(a), action_string(b)).ratio()
        for a, b in zip(pairs["actions"], pairs["actions_other"], strict=True)
    ]
    pairs = pairs[KEY].assign(alike=np.array(alike, float), same=pairs["actions"] == pairs["actions_other"])
    grouped = pairs.groupby(["benchmark", "seed"], sort=False)
    return grouped.agg(people=("person", "size"), alike=("alike", "mean"), same=("same", "mean")).reset_index()
