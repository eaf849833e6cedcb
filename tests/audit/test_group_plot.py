"""Plots of groups: the values and intervals of the audit."""

from __future__ import annotations

import pytest

pytest.importorskip("matplotlib")
import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from counterplan import Audit, AuditResult, AuditSettings, SettingError, benchmarks


@pytest.fixture(scope="module")
def result() -> AuditResult:
    taiwan = benchmarks.load("taiwan")
    people = taiwan.test.head(120).assign(branch=["north"] * 117 + ["south"] * 3)
    return Audit(taiwan.problem, taiwan.model, settings=AuditSettings(groups=["sex", "branch"], relaxations=0)).run(
        people
    )


@pytest.fixture
def ax() -> Axes:
    figure, axes = plt.subplots(layout="constrained")
    yield axes
    plt.close(figure)


@pytest.mark.parametrize(("measure", "column"), [("recourse", "recourse_share"), ("cost", "cost_q50")])
def test_points_are_those_of_the_table(result: AuditResult, ax: Axes, measure: str, column: str) -> None:
    assert result.plot_groups(ax=ax, column="sex", measure=measure) is ax
    table = result.groups[result.groups["grouping"].isin(["", "sex"])]
    drawn = [float(container.lines[0].get_xdata()[0]) for container in ax.containers]
    assert drawn == pytest.approx(table[column].dropna().tolist())
    ax.figure.draw_without_rendering()
    assert not any("%" in label.get_text() for label in ax.get_xticklabels()), "the unit is in the label of the axis"


def test_small_groups_are_marked_instead_of_drawn(result: AuditResult, ax: Axes) -> None:
    result.plot_groups(ax=ax, column="branch")
    assert any(text.get_text().startswith("fewer than") for text in ax.texts)
    assert len(ax.containers) == 2


def test_unknown_names_are_mistakes(result: AuditResult) -> None:
    with pytest.raises(SettingError, match="no groups by 'sexe'; did you mean 'sex'"):
        result.plot_groups(column="sexe")
    with pytest.raises(SettingError, match="one of 'recourse', 'cost', not 'steps'"):
        result.plot_groups(measure="steps")
    with pytest.raises(SettingError, match="'column' should be the name of a column, or a tuple of names, not 5"):
        result.plot_groups(column=5)
    with pytest.raises(SettingError, match=r"one of 'recourse', 'cost', not \['cost'\]"):
        result.plot_groups(measure=["cost"])


def test_nothing_is_cut_on_plain_axes(result: AuditResult) -> None:
    figure, axes = plt.subplots(figsize=(4, 4))
    result.plot_groups(ax=axes, column="sex")
    figure.draw_without_rendering()
    texts = [axes.xaxis.label, *axes.get_yticklabels()]
    assert all(figure.bbox.containsx(x) for text in texts for x in text.get_window_extent().intervalx)
    plt.close(figure)
