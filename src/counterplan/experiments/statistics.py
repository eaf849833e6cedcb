"""Means, intervals and ratios of rows: pure functions from tables to tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from counterplan.experiments.rows import Rows

_T95 = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
"""Student's t for a two-sided interval of 95 %, by degrees of freedom from 1. With more it is hardly less."""
MEASURES = ("success", "cost", "length", "ratio", "questions", "asked", "rule_length")
KEY = ["benchmark", "seed", "person"]


class Interval(NamedTuple):
    """A mean over seeds, and half the width of its 95 % interval by Student's t (NaN: one seed, or none)."""

    mean: float
    half: float
    seeds: int

    @classmethod
    def of(cls, values: Iterable[float]) -> Interval:
        """The interval of one number for each seed; those that are missing do not count."""
        known = np.array([value for value in values if not pd.isna(value)], float)
        if not len(known):
            return cls(np.nan, np.nan, 0)
        if len(known) == 1:
            return cls(float(known[0]), np.nan, 1)
        wide = _T95[min(len(known) - 2, len(_T95) - 1)]
        return cls(float(known.mean()), float(wide * known.std(ddof=1) / np.sqrt(len(known))), len(known))

    def times(self, factor: float) -> Interval:
        """The same in another unit."""
        return Interval(self.mean * factor, self.half * factor, self.seeds)


def by_seed(results: pd.DataFrame, by: tuple[str, ...] = ("benchmark", "method")) -> pd.DataFrame:
    """One row for each of `by` and seed: people, success, and means over the successes.

    Success is the share of those for whom it is not proved that no plan exists, and `asked` the questions about each of
    them. Ratios are to the least effort, over people whom both the method and exact search solved; a rule's length is a
    mean over steps.
    """
    frame = results.assign(
        ratio=(results["cost"] / results["least_effort"]).where(results["success"] & (results["least_effort"] > 0)),
        features=results["rule_length"] * results["length"],
        steps=results["length"].where(results["rule_length"].notna()),
        hopeful=results["reachable"] != "no",
    )
    solved = frame["success"]
    frame["cost"], frame["length"] = frame["cost"].where(solved), frame["length"].where(solved)
    frame["hope"] = frame["success"].astype(float).where(frame["hopeful"])
    frame["asked"] = frame["questions"].astype(float).where(frame["hopeful"])
    grouped = frame.groupby([*by, "seed"], sort=False, observed=True)
    table = grouped.agg(
        people=("person", "size"), hopeful=("hopeful", "sum"), solved=("success", "sum"), success=("hope", "mean"),
        cost=("cost", "mean"), length=("length", "mean"), ratio=("ratio", "mean"), features=("features", "sum"),
        steps=("steps", "sum"), asked=("asked", "mean"),
    )  # fmt: skip
    steps = table["steps"].astype(float)
    table["rule_length"] = (table["features"].astype(float) / steps).where(steps > 0)
    return table.drop(columns=["features", "steps"]).astype(float).reset_index()


def asked(questions: pd.DataFrame, by: tuple[str, ...] = ("benchmark", "method")) -> pd.DataFrame:
    """Rows sent to the model per person in prediction, for each of `by` and seed."""
    used = questions[questions["phase"] == "prediction"]
    each = used["rows"].astype(float) / used["people"].astype(float)
    return used[[*by, "seed"]].assign(questions=each)


@dataclass(frozen=True)
class Line:
    """The figures of a method on a benchmark, or of one point of its curve, over seeds."""

    people: int
    """All seeds together."""
    solved: int
    success: Interval
    cost: Interval
    length: Interval
    ratio: Interval
    """Of effort to the least possible."""
    questions: Interval
    """Rows sent to the model per person, whether there is a plan for them or not."""
    asked: Interval
    """Questions about each person for whom it is not proved that there is no plan."""
    rule_length: Interval


Summary = dict[tuple[str, str], Line]
"""By benchmark and method."""
Curve = dict[tuple[str, int], Line]
"""By benchmark and value of a knob."""


def summary(rows: Rows, only: pd.Series | None = None) -> Summary:
    """The figures of every benchmark and method; `only` chooses among results."""
    seeds = by_seed(rows.results if only is None else rows.results[only])
    plain = rows.questions[rows.questions["knob"] == ""]
    lines = _over_seeds(seeds.merge(asked(plain), how="left"), ["benchmark", "method"])
    return {(str(benchmark), str(method)): line for (benchmark, method), line in lines}


def curve(rows: Rows, method: str, knob: str) -> Curve:
    """The figures of a method for every benchmark and value of a knob."""
    some = rows.curves[(rows.curves["method"] == method) & (rows.curves["knob"] == knob)]
    by = ("benchmark", "method", "value")
    points = rows.questions[(rows.questions["method"] == method) & (rows.questions["knob"] == knob)]
    lines = _over_seeds(by_seed(some, by).merge(asked(points, by), how="left"), ["benchmark", "value"])
    return {(str(benchmark), int(value)): line for (benchmark, value), line in lines}


def _over_seeds(seeds: pd.DataFrame, by: list[str]) -> Iterator[tuple[Any, Line]]:
    for key, part in seeds.groupby(by, sort=False, observed=True):
        people, solved = int(part["people"].sum()), int(part["solved"].sum())
        yield key, Line(people, solved, **{measure: Interval.of(part[measure]) for measure in MEASURES})


def intersection(results: pd.DataFrame, methods: Iterable[str]) -> pd.Series:
    """Which rows [n] are of people whom every one of `methods` solves."""
    wanted = set(methods) & set(results["method"])
    counted = results[results["method"].isin(wanted)]
    solved = counted.groupby(KEY)["success"].agg(["all", "size"])
    everybody = set(solved.index[solved["all"] & (solved["size"] == len(wanted))])
    keys = zip(*(results[name] for name in KEY), strict=True)
    return pd.Series([key in everybody for key in keys], index=results.index, dtype=bool)


def action_string(actions: str) -> str:
    """A plan as one string, as the paper writes it to compare two: `CHANGE_JOB(manager)-STOP(0)`."""
    steps = [step.split("=", 1) for step in actions.split("; ")]
    return "-".join([*(f"{function}({argument})" for function, argument in steps), "STOP(0)"])


def similarity(results: pd.DataFrame, one: str, other: str) -> pd.DataFrame:
    """By benchmark and seed: how alike two methods' plans are (difflib's ratio), over people who got one from both."""
    plans = results[results["actions"] != ""]
    pairs = plans[plans["method"] == one].merge(plans[plans["method"] == other], on=KEY, suffixes=("", "_other"))
    alike = [
        SequenceMatcher(None, action_string(a), action_string(b)).ratio()
        for a, b in zip(pairs["actions"], pairs["actions_other"], strict=True)
    ]
    pairs = pairs[KEY].assign(alike=np.array(alike, float), same=pairs["actions"] == pairs["actions_other"])
    grouped = pairs.groupby(["benchmark", "seed"], sort=False)
    return grouped.agg(people=("person", "size"), alike=("alike", "mean"), same=("same", "mean")).reset_index()
