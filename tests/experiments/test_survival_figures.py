"""Plans judged by retrained models: points, bins, table, finding and figures, from rows written by hand."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.text import Text
from matplotlib.transforms import Bbox
from rows_by_hand import by_hand

from counterplan.experiments.drawing import report_style
from counterplan.experiments.figures import all_figures
from counterplan.experiments.findings import findings
from counterplan.experiments.frontier import FrontierPoint, frontier_points, reliability_bins, seed_records
from counterplan.experiments.report import page
from counterplan.experiments.rows import ExperimentRows
from counterplan.experiments.survival_figures import frontier_figure, reliability_figure
from counterplan.experiments.tables import all_tables


def points() -> dict[tuple[str, float | None], FrontierPoint]:
    return {(point.method, point.value): point for point in frontier_points(seed_records(by_hand().survival))}


def test_points_are_means_over_feasible_people_and_seeds() -> None:
    """The cheapest plans convince one and two of four judges; whoever cannot be helped does not count."""
    found = points()
    assert found["committee", 0].held[:2] == (0.375, 0.0)
    assert found["committee", 0].ratio.mean == 1
    assert found["committee", 0].gap.mean == pytest.approx(0.5 - 0.375)
    assert (found["committee", 4].held.mean, found["committee", 4].ratio.mean) == (0.75, 2)
    assert (found["oracle", 4].held.mean, found["oracle", 4].ratio.mean) == (1, 1.5)
    assert found["accepted", None].held.mean == 0.875
    assert np.isnan(found["accepted", None].ratio.mean)
    assert list(found) == [("committee", 0), ("committee", 4), ("oracle", 0), ("oracle", 4), ("accepted", None)]


def test_a_person_without_a_plan_counts_as_not_held() -> None:
    rows = by_hand().survival
    lost = (rows["person"] == 0) & (rows["value"] == 4) & (rows["method"] == "committee")
    rows.loc[lost, ["cost", "stated"]], rows.loc[lost, "held"] = np.nan, 0
    point = next(one for one in frontier_points(seed_records(rows)) if (one.method, one.value) == ("committee", 4))
    assert (point.held.mean, point.ratio.mean, point.realised.mean) == (0.375, 2, 0.75)


def test_bins_of_stated_survival() -> None:
    pairs = [[0.31, 0.0], [0.39, 0.5], [0.4, 1.0], [1.0, 1.0], [0.96, 0.5]]
    bins = reliability_bins(pairs, fewest=1)
    assert [(round(one.stated, 3), one.realised, one.plans) for one in bins] == [
        (0.35, 0.25, 2), (0.4, 1.0, 1), (0.98, 0.75, 2),
    ]  # fmt: skip
    assert bins[0].half == pytest.approx(1.96 * 0.25)
    assert [one.plans for one in reliability_bins(pairs, fewest=2)] == [2, 2]
    assert reliability_bins([]) == []


def test_table_and_finding() -> None:
    rows = by_hand()
    ((heading, body),) = all_tables(rows)["survival"].sections
    assert heading == "german"
    assert body[1] == ("committee, λ = 4", "0.750 ± 0.000", "2.00 ± 0.00", "0.800 ± 0.000", "0.050 ± 0.000")
    assert body[-1][:3] == ("accepted people as they are", "0.875 ± 1.588", "–")
    assert findings(rows)[-1] == (
        "Of the cheapest plans, 37.5 % hold when the model is trained again, of those that weigh survival against cost "
        "(λ = 4) 75 %, at 2.00 times the least cost (an oracle that knows the judges: 100 %); of people who are "
        "accepted as they are, 87.5 % still are."
    )


def test_without_retrained_models_nothing_is_drawn() -> None:
    """As for models that are rules, and for folders of earlier versions."""
    rows = by_hand()
    rows = replace(rows, survival=rows.survival[:0])
    made = all_figures(rows)
    assert "survival" not in made
    assert "groups" in made
    tables = all_tables(rows)
    text = page({"options": {"seeds": [0]}}, rows, tables, made)
    assert "11. Plans that last" in text
    assert not any("trained again" in finding for finding in findings(rows))


def test_rows_of_earlier_versions_are_read_without_judged_plans(tmp_path: Path) -> None:
    rows = by_hand()
    rows.write(tmp_path)
    assert seed_records(ExperimentRows.read(tmp_path).survival) == seed_records(rows.survival)
    (tmp_path / "survival.csv").unlink()
    read = ExperimentRows.read(tmp_path)
    assert len(read.survival) == 0
    assert len(read.results) == len(rows.results)
    assert all_tables(read)["survival"].sections == (("", ()),)


def records(seeds: int = 3) -> list[dict[str, Any]]:
    """Curves of several methods that are close together on two benchmarks, with plans in all bins."""
    random = np.random.default_rng(0)
    made: list[dict[str, Any]] = []
    for seed in range(seeds):
        for name in ("german", "adult"):
            head = {"benchmark": name, "seed": seed}
            made.append(head | {"method": "accepted", "value": None, "held": 0.9, "ratio": None})
            for place, method in enumerate(("committee", "refits", "margin", "oracle")):
                for weight in (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0):
                    held = 0.5 + 0.4 * weight / (weight + 2.5 - 0.4 * place)
                    stated = random.random(150)
                    plans = np.column_stack([stated, (random.random((150, 8)) < stated[:, None]).mean(axis=1)])
                    point = {"held": held + 0.002 * seed, "ratio": 1 + weight / (weight + 8), "plans": plans.tolist()}
                    made.append(head | {"method": method, "value": weight} | point)
    return made


def distance(box: Bbox, point: np.ndarray) -> float:
    """Distance of a point from a box."""
    return float(np.hypot(*np.maximum(np.maximum(box.min - point, point - box.max), 0)))


def test_labels_of_the_frontier_do_not_cover_each_other() -> None:
    with report_style():
        figure = frontier_figure(records())
        figure.draw_without_rendering()
    assert [axis.get_title() for axis in figure.axes] == ["german", "adult"]
    for axis in figure.axes:
        assert sorted(text.get_text() for text in axis.texts) == sorted(2 * ["1", "2", "4", "8", "16"])
        boxes = [Text.get_window_extent(text) for text in axis.texts]  # without lines to points
        assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
        frame = axis.get_window_extent()
        assert all(frame.contains(*box.min) and frame.contains(*box.max) for box in boxes)
        points = axis.transData.transform(
            np.concatenate([line.get_xydata() for line in axis.lines if line.get_marker() != "None"])
        )
        for text, box in zip(axis.texts, boxes, strict=True):
            own = axis.transData.transform(text.xy)
            others = points[np.abs(points - own).max(axis=1) > 1e-6]
            if text.arrow_patch is None:
                assert distance(box, own) < min(distance(box, other) for other in others), text.get_text()
    (legend,) = figure.legends
    names = [text.get_text() for text in legend.get_texts()]
    assert names[0] == "least cost"
    assert names[-1] == "accepted people as they are"
    assert "program" not in names


def test_the_reliability_diagram_shows_bins_and_counts() -> None:
    with report_style():
        figure = reliability_figure(records())
    top, bottom = figure.axes[0], figure.axes[2]
    assert len(top.containers) == 3, "the least cost, balanced and high"
    for bars in top.containers:
        stated, realised = bars.lines[0].get_data()
        assert len(stated) == 10
        assert np.abs(np.asarray(realised) - stated).max() < 0.12
    assert sum(patch.get_height() for bars in bottom.containers for patch in bars) == 3 * 3 * 150
    with report_style():
        assert reliability_figure([]).legends == []
