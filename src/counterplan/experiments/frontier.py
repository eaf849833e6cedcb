"""Cost against survival: the frontier of each method, and stated against realised survival. Pure functions.

Records are plain data, one for each benchmark, seed, method and parameter. `bench/survival.py` and `seed_records` make
them, with these keys:

- `benchmark`, `seed`, `method` (a key of `LASTING`), `value` (λ, or the least chance; None for people as they are);
- `held`: share of judges under which a plan holds, mean over people; people without a plan count as not held;
- `ratio`: cost ÷ optimal cost, mean over people with a plan;
- `plans`: pairs of stated and realised survival of each plan, if any is stated.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from counterplan.experiments.methods import BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILLION
from counterplan.experiments.statistics import Interval

Record = Mapping[str, Any]
COMMITTEE, ORACLE, ACCEPTED = "committee", "oracle", "accepted"


@dataclass(frozen=True)
class LastingMethod:
    """A method of planning for survival, and how it is drawn."""

    label: str
    parameter: str = "λ"
    """What the values of its points are."""
    colour: str | None = None
    """None: the colour of text."""
    marker: str = "o"
    line: str = "-"


LASTING = {
    COMMITTEE: LastingMethod("committee", colour=VERMILLION),
    "labels": LastingMethod("committee, decisions only", colour=SKY, marker="h"),
    "refits": LastingMethod("five refits", colour=BLUE, marker="s"),
    "margin": LastingMethod("margin alone", colour=ORANGE, marker="v"),
    "at_least": LastingMethod("committee, survival_at_least", "chance", colour=PURPLE, marker="D"),
    "program": LastingMethod("program", colour=GREEN, marker="^", line=""),
    ORACLE: LastingMethod("oracle: the judges themselves", marker="*", line="--"),
}
"""Methods by key, in the order of tables and figures."""


class FrontierPoint(NamedTuple):
    """What a method achieves with one value of its parameter."""

    benchmark: str
    method: str
    value: float | None
    held: Interval
    ratio: Interval
    stated: Interval
    realised: Interval
    """Of the plans whose survival is stated."""
    gap: Interval
    """Stated − realised survival."""


class ReliabilityBin(NamedTuple):
    """Plans with about the same stated survival."""

    stated: float
    realised: float
    half: float
    """Half the width of a 95 % interval of the mean over plans."""
    plans: int


def seed_records(survival: pd.DataFrame) -> list[dict[str, Any]]:
    """Records from rows of an experiment: one for each benchmark, seed, method and value.

    People that exact search proved infeasible are left out.
    """
    known = survival[survival["least_effort"].notna() | (survival["method"] == ACCEPTED)]
    records = []
    for _, part in known.groupby(["benchmark", "seed", "method", "value"], sort=False, dropna=False):
        first = part.iloc[0]
        share = part["held"].astype(float) / part["judged"].astype(float)
        stated = part["stated"].notna()
        records.append(
            {
                "benchmark": str(first["benchmark"]),
                "seed": int(first["seed"]),
                "method": str(first["method"]),
                "value": None if pd.isna(first["value"]) else float(first["value"]),
                "held": float(share.mean()),
                "ratio": float((part["cost"] / part["least_effort"]).mean()),
                "plans": np.column_stack([part["stated"][stated], share[stated]]).tolist(),
            }
        )
    return records


def frontier_points(records: Iterable[Record]) -> list[FrontierPoint]:
    """Means over seeds, in the order of benchmarks in `records`, then of methods and values."""
    groups: dict[tuple[str, str, float | None], list[Record]] = {}
    for record in records:
        groups.setdefault((record["benchmark"], record["method"], record["value"]), []).append(record)
    names = list(dict.fromkeys(name for name, _, _ in groups))
    methods = [*LASTING, ACCEPTED]
    return [
        _point(*key, groups[key])
        for key in sorted(groups, key=lambda key: (names.index(key[0]), methods.index(key[1]), key[2] or 0.0))
    ]


def _point(benchmark: str, method: str, value: float | None, records: Sequence[Record]) -> FrontierPoint:
    plans = [np.array(record.get("plans") or np.empty((0, 2)), float) for record in records]
    stated, realised, gap = (
        Interval.of(float(seed.mean()) if len(seed) else np.nan for seed in column)
        for column in zip(*((one[:, 0], one[:, 1], one[:, 0] - one[:, 1]) for one in plans), strict=True)
    )
    held, ratio = (Interval.of(_known(record[key]) for record in records) for key in ("held", "ratio"))
    return FrontierPoint(benchmark, method, value, held, ratio, stated, realised, gap)


def _known(value: float | None) -> float:
    return np.nan if value is None else value


def reliability_bins(plans: Sequence[Sequence[float]], width: float = 0.1, fewest: int = 10) -> list[ReliabilityBin]:
    """Bins of stated survival with their mean realised survival.

    Parameters
    ----------
    plans : sequence of pairs
        Stated survival of a plan, and the share of judges under which it holds.
    width : float, default=0.1
        Width of a bin.
    fewest : int, default=10
        Bins with fewer plans are left out.

    Returns
    -------
    list of ReliabilityBin

    Examples
    --------
    >>> (only,) = reliability_bins([[0.82, 0.75], [0.84, 1.0]], fewest=2)
    >>> round(only.stated, 2), only.realised, only.plans
    (0.83, 0.875, 2)
    """
    pairs = np.array(plans, float).reshape(-1, 2)
    places = np.minimum((pairs[:, 0] / width + 1e-9).astype(int), round(1 / width) - 1)
    bins = []
    for place in np.unique(places):
        stated, realised = pairs[places == place].T
        if len(stated) >= max(fewest, 1):
            spread = realised.std(ddof=1) / np.sqrt(len(realised)) if len(realised) > 1 else np.nan
            bins.append(ReliabilityBin(float(stated.mean()), float(realised.mean()), float(1.96 * spread), len(stated)))
    return bins
