"""The table of plans judged by retrained models."""

from __future__ import annotations

from counterplan.experiments.formatting import ReportTable, Section, over_seeds, spread
from counterplan.experiments.frontier import LASTING, FrontierPoint, frontier_points, seed_records
from counterplan.experiments.rows import ExperimentRows


def survival(rows: ExperimentRows) -> ReportTable:
    """Held, cost, and stated minus realised survival, by method and weight."""
    points = frontier_points(seed_records(rows.survival))
    names = list(dict.fromkeys(point.benchmark for point in points))
    parts: list[Section] = [(name, tuple(_row(point) for point in points if point.benchmark == name)) for name in names]
    return ReportTable(
        "survival",
        "Plans judged by retrained models",
        "Models trained again by the recipe of the benchmark (another seed, a bootstrap sample, 10 % of the people "
        "dropped, another split), which planning never saw. Held: the share of them under which a plan holds, mean "
        "over people without a proof of infeasibility; people without a plan count as not held. Plans are those of "
        "exact search for cost ÷ least cost + λ · (1 − survival); with λ = 0, the cheapest. Survival is estimated by a "
        "committee fitted to recorded outcomes; the oracle knows the judges. Models that are rules are not retrained. "
        f"{over_seeds(rows)}",
        ("", "held", "cost ratio", "stated survival", "stated − realised"),
        tuple(parts) or (("", ()),),
    )


def _row(point: FrontierPoint) -> tuple[str, ...]:
    method = LASTING.get(point.method)
    label = "accepted people as they are" if method is None else f"{method.label}, λ = {point.value:g}"
    return (
        label,
        spread(point.held, 3),
        spread(point.ratio, 2),
        *(spread(interval, 3) for interval in (point.stated, point.gap)),
    )
