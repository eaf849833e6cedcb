"""Plots of plans: axes in, axes out, and what is drawn is what the plans say."""

from __future__ import annotations

import pytest

pytest.importorskip("matplotlib")
import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from counterplan import BlackBox, ExactPlanner, Plan, Plans, SettingError, benchmarks


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


def test_bars_are_the_times_of_the_steps(plans: Plans, ax: Axes) -> None:
    plan = plans[14]
    plan.plot(ax=ax)
    assert [bar.get_x() for bar in ax.patches] == pytest.approx([step.start for step in plan.steps])
    assert [bar.get_width() for bar in ax.patches] == pytest.approx([step.duration for step in plan.steps])
    labels = [label.get_text().replace("\n", " ") for label in ax.get_yticklabels()]
    assert labels == [f"{number}. {step.text}" for number, step in enumerate(plan.steps, 1)]
    assert ax.get_xlabel() == "months from now"


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


def test_a_person_without_a_plan_gets_a_sentence(german: benchmarks.Benchmark, ax: Axes) -> None:
    planner = ExactPlanner(german.problem, BlackBox(german.model))
    plan: Plan = planner.plan(german.refused_test.iloc[[14]], deadline=2)[0]
    plan.plot(ax=ax)
    assert not ax.patches
    assert "No plan within the rules" in ax.texts[0].get_text().replace("\n", " ")


def test_heights_add_up_to_the_people_with_a_plan(plans: Plans, ax: Axes) -> None:
    plans.plot(ax=ax)
    assert sum(bar.get_height() for bar in ax.patches) == sum(len(plan.steps) > 0 for plan in plans)


def test_shares_by_status(plans: Plans, ax: Axes) -> None:
    plans.plot(ax=ax, kind="status")
    assert [bar.get_width() * len(plans) for bar in ax.patches] == pytest.approx([*plans.counts.values()])


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
    assert plt.get_fignums() == opened
