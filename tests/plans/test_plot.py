"""Plots of plans: axes in, axes out, and what is drawn is what the plans say."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytest.importorskip("matplotlib")
import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from counterplan import BlackBox, ExactPlanner, Plan, Plans, SettingError, Status, benchmarks
from counterplan.plans.plans_plot import round_edges


@pytest.fixture(scope="module")
def german() -> benchmarks.Benchmark:
    return benchmarks.load("german")


@pytest.fixture(scope="module")
def plans(german: benchmarks.Benchmark) -> Plans:
    return ExactPlanner(german.problem, BlackBox(german.model)).plan(german.refused_test)


@pytest.fixture
def ax() -> Axes:
    figure, axes = plt.subplots(layout="constrained")
    yield axes
    plt.close(figure)


def test_axes_that_are_passed_are_used_and_no_figure_is_opened(plans: Plans, ax: Axes) -> None:
    opened = plt.get_fignums()
    assert plans[14].plot(ax=ax) is ax
    ax.clear()
    assert plans.plot(ax=ax) is ax
    assert plt.get_fignums() == opened


def test_without_axes_a_figure_is_made(plans: Plans) -> None:
    before = plt.get_fignums()
    axes = plans[14].plot()
    assert len(plt.get_fignums()) == len(before) + 1
    plt.close(axes.figure)


def test_nothing_is_cut_on_plain_axes(plans: Plans) -> None:
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4))
    plans[14].plot(ax=left)
    plans.plot(ax=right, kind="status")
    figure.draw_without_rendering()
    texts = [left.title, left._left_title, *right.get_yticklabels()]
    boxes = [text.get_window_extent() for text in texts if text.get_text()]
    assert all(figure.bbox.contains(*corner) for box in boxes for corner in (box.min, box.max))
    plt.close(figure)


def test_bars_are_the_times_of_the_steps(plans: Plans, ax: Axes) -> None:
    plan = plans[14]
    plan.plot(ax=ax)
    assert [bar.get_x() for bar in ax.patches] == pytest.approx([step.start for step in plan.steps])
    assert [bar.get_width() for bar in ax.patches] == pytest.approx([step.duration for step in plan.steps])
    labels = [text.get_text().replace("\n", " ") for text in ax.texts]
    assert labels == [f"{number}. {step.text} (effort {step.cost:.1f})" for number, step in enumerate(plan.steps, 1)]
    assert ax.get_xlabel() == "months from now"
    assert plan.duration <= ax.get_xlim()[1] < 1.05 * plan.duration


def test_title_and_steps_begin_at_the_left_edge_and_fit_on_a_line(plans: Plans) -> None:
    ax = plans[14].plot()
    ax.figure.draw_without_rendering()
    assert ax.get_title(loc="left").count("\n") == 1, "one line each for effort and duration"
    frame = ax.figure.bbox
    for text in (ax._left_title, *ax.texts):
        box = text.get_window_extent()
        assert box.x0 < 0.03 * frame.width
        assert box.x1 < frame.width
    plt.close(ax.figure)


def test_texts_stay_within_a_panel_of_a_grid(plans: Plans) -> None:
    figure, axes = plt.subplots(2, 2, figsize=(12, 8), layout="constrained")
    for ax in axes.flat:
        plans[14].plot(ax=ax)
    figure.draw_without_rendering()
    for ax in axes.flat:
        for text in (ax._left_title, *ax.texts):
            assert ax.bbox.x0 - 1 <= text.get_window_extent().x0
            assert text.get_window_extent().x1 <= ax.bbox.x1
    plt.close(figure)


def test_plans_that_share_an_axis_are_drawn_whole(plans: Plans) -> None:
    figure, axes = plt.subplots(2, 1, sharex=True)
    for plan, ax in zip((plans[14], next(plan for plan in plans if 0 < plan.duration < 10)), axes, strict=True):
        plan.plot(ax=ax)
    assert axes[0].get_xlim()[1] >= plans[14].duration
    plt.close(figure)


def test_bars_are_costs_added_up_without_durations(ax: Axes) -> None:
    syn = benchmarks.load("syn")
    planner = ExactPlanner(syn.problem, BlackBox(syn.model))
    plan = next(plan for plan in planner.plan(syn.refused_test.head(20)) if len(plan.steps) > 1)
    plan.plot(ax=ax)
    assert [bar.get_width() for bar in ax.patches] == pytest.approx([step.cost for step in plan.steps])
    last = ax.patches[-1]
    assert last.get_x() + last.get_width() == pytest.approx(plan.cost)


def test_weighted_costs_are_named(german: benchmarks.Benchmark, ax: Axes) -> None:
    planner = ExactPlanner(german.problem, BlackBox(german.model))
    weighted = planner.plan(german.refused_test, weights={"CHANGE_SAVINGS": 2})
    weighted.plot(ax=ax)
    assert ax.get_xlabel() == "cost of the plan, with personal weights"


def test_long_texts_of_steps_are_wrapped_and_dollars_are_no_formulas(plans: Plans) -> None:
    plan = plans[14]
    steps = tuple(replace(step, text=f"Pay $5 or ${'more and ' * 12}more, $x^2$") for step in plan.steps)
    ax = replace(plan, steps=steps).plot()
    ax.figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in ax.texts]
    assert all("\n" in text.get_text() and "$x^2$" in text.get_text() for text in ax.texts)
    assert all(box.x1 <= ax.figure.bbox.x1 for box in boxes)
    for box, bar in zip(boxes[1:], ax.patches, strict=False):
        assert box.y1 <= bar.get_window_extent().y0, "a text covers the bar above it"
    plt.close(ax.figure)


def test_a_person_without_a_plan_gets_a_sentence(german: benchmarks.Benchmark, ax: Axes) -> None:
    planner = ExactPlanner(german.problem, BlackBox(german.model))
    plan: Plan = planner.plan(german.refused_test.iloc[[14]], deadline=2)[0]
    plan.plot(ax=ax)
    assert not ax.patches
    assert "No plan within the rules" in ax.texts[0].get_text().replace("\n", " ")


def test_heights_add_up_to_the_people_with_a_plan(plans: Plans, ax: Axes) -> None:
    plans.plot(ax=ax)
    assert sum(bar.get_height() for bar in ax.patches) == sum(len(plan.steps) > 0 for plan in plans)


def test_edges_of_bins_are_round_and_labelled(plans: Plans, ax: Axes) -> None:
    plans.plot(ax=ax)
    assert [bar.get_x() for bar in ax.patches[:3]] == [4, 6, 8]
    assert ax.get_xticks().tolist() == [4, 8, 12, 16, 20, 24, 28, 32]


@pytest.mark.parametrize(
    ("values", "number", "edges"),
    [
        ([0.1 + 0.2, 0.7], 10, [0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75]),
        ([30.0, 4.0], 6, [0, 5, 10, 15, 20, 25, 30, 35]),
        ([7.0], 1, [7, 7.5]),
        ([0.0], 1, [0, 1]),
        ([1_200.0, 98_000.0], 5, [0, 20_000, 40_000, 60_000, 80_000, 100_000]),
    ],
)
def test_round_edges_contain_all_values(values: list[float], number: int, edges: list[float]) -> None:
    assert round_edges(np.round(values, 9), number).tolist() == edges


def test_shares_by_status(plans: Plans, ax: Axes) -> None:
    plans.plot(ax=ax, kind="status")
    assert [bar.get_width() * len(plans) for bar in ax.patches] == pytest.approx([*plans.counts.values()])
    assert [label.get_text() for label in ax.get_yticklabels()] == [status.value for status in Status]
    assert ax.get_xlim() == (0, 1)
    ax.figure.draw_without_rendering()
    assert "%" in ax.get_xlabel()
    assert not any("%" in label.get_text() for label in ax.get_xticklabels())


def test_no_people(german: benchmarks.Benchmark, ax: Axes) -> None:
    nobody = ExactPlanner(german.problem, BlackBox(german.model)).plan(german.refused_test.head(0))
    for kind in ("cost", "status"):
        ax.clear()
        nobody.plot(ax=ax, kind=kind)
        assert ax.texts[0].get_text() == "No people, and no plans."


def test_mistakes_name_the_choices(plans: Plans) -> None:
    opened = plt.get_fignums()
    with pytest.raises(SettingError, match="one of 'cost', 'status', not 'costs'"):
        plans.plot(kind="costs")
    with pytest.raises(SettingError, match="should be an Axes of matplotlib or None, got str"):
        plans.plot(ax="axes")
    with pytest.raises(SettingError, match="should be an Axes of matplotlib or None, got str"):
        plans[14].plot(ax="axes")
    assert plt.get_fignums() == opened
