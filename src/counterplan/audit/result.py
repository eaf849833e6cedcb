"""`AuditResult`: the outcomes of an audit, their statistics by group, and the report."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from counterplan.audit.carriers import function_table
from counterplan.audit.comparison import comparison_table, transition_table
from counterplan.audit.group_plot import GroupMeasure, draw_groups
from counterplan.audit.group_statistics import difference_table, group_table
from counterplan.audit.groups import Grouping
from counterplan.audit.html import page
from counterplan.audit.outcomes import AuditOutcome
from counterplan.audit.section import Section
from counterplan.audit.settings import AuditSettings, GroupName
from counterplan.audit.text import audit_text
from counterplan.errors import SettingError
from counterplan.plans.sources import labels_of
from counterplan.plans.tables import frame_csv
from counterplan.problem import People, Problem
from counterplan.storage.files import make_writable, write_inside

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(eq=False)
class AuditResult:
    """The result of an audit: the outcome of each person, statistics by group, and a report.

    `print` shows a summary, and a notebook displays the first part of the report.

    Parameters
    ----------
    problem : Problem
        The problem that the audit was about.
    people : People or None
        B people; None if they do not fit into memory, and their outcomes are in Parquet files (`counterplan.batch`).
    tables : dict of str to DataFrame
        The outcomes, and, if they were searched for, the plans `without` each function.
    groupings : sequence of Grouping
        The groups of people.
    settings : AuditSettings
        The settings of the audit.
    about : dict
        Names and fingerprints of problem, models and people, date, and planners.
    extra : list of Section
        Further sections of the report, which `add_section` adds.
    relaxations : dict, optional
        What single relaxations of the problem would do for people without recourse, as `RelaxationReport.to_dict`.

    Examples
    --------
    >>> from counterplan import Audit, benchmarks
    >>> german = benchmarks.load("german")
    >>> audit = Audit(german.problem, german.model, planner="exact", relaxations=0)
    >>> result = audit.run(german.test)
    >>> result.summary["refused"], result.summary["recourse"]
    (78, 78)
    >>> result.outcomes.loc[result.outcomes["cost"] > 20, ["outcome", "cost", "steps"]]
          outcome  cost  steps
    51   recourse  21.0    3.0
    77   recourse  23.0    2.0
    161  recourse  31.0    4.0
    """

    problem: Problem
    people: People | None
    tables: dict[str, pd.DataFrame]
    groupings: Sequence[Grouping]
    settings: AuditSettings
    about: dict[str, Any]
    extra: list[Section] = field(default_factory=list)
    relaxations: dict[str, Any] | None = None

    def __len__(self) -> int:
        return len(self.outcomes)

    @property
    def outcomes(self) -> pd.DataFrame:
        """One row per person, by index label.

        The columns are the outcome, cost, steps, whether the cost is proved to be the least (`optimal`), the lower
        bound on it, queries, survival, and the plan as text. With another model, they are repeated with the prefix
        `other_`, and `plan_holds` says whether the plan holds for it. Of people in Parquet files, only the columns that
        statistics need are here, and `functions`, those of the plan, instead of the plan.
        """
        return self.tables["outcomes"]

    @cached_property
    def groups(self) -> pd.DataFrame:
        """Shares, quantiles of cost and steps, and their intervals, for everybody and by group."""
        return group_table(self.outcomes, self.groupings, self.settings)

    @cached_property
    def differences(self) -> pd.DataFrame:
        """Differences between each group and all others, corrected for the number of comparisons."""
        return difference_table(self.outcomes, self.groupings, self.settings)

    @cached_property
    def functions(self) -> pd.DataFrame:
        """Which functions the plans use, for everybody and by group."""
        without = self.tables.get("without")
        return function_table(self.problem, self.outcomes, self.groupings, self.settings, without)

    @cached_property
    def comparison(self) -> pd.DataFrame | None:
        """Changes from the model to the other one, for everybody and by group; None without another model."""
        if "other_outcome" not in self.outcomes:
            return None
        return comparison_table(self.outcomes, self.groupings, self.settings)

    @cached_property
    def transitions(self) -> pd.DataFrame | None:
        """Number of people by outcome of the model and of the other one; None without another model."""
        return None if "other_outcome" not in self.outcomes else transition_table(self.outcomes)

    @property
    def summary(self) -> dict[str, Any]:
        """Counts, shares and the median cost of everybody, with intervals."""
        row = self.groups.iloc[0].drop(["grouping", "group"]).to_dict()
        queries = int(self.outcomes["queries"].sum())
        plain = {str(name): _plain(value) for name, value in row.items()}
        return plain | {"queries": queries, "comparisons": len(self.differences)}

    @property
    def people_without_recourse(self) -> People:
        """The people who are proved to have no recourse.

        Raises
        ------
        SettingError
            If the people are in Parquet files.
        """
        if self.people is None:
            raise SettingError("the people are in Parquet files: select them by the outcomes that are there")
        return self.people.take(np.flatnonzero(self.outcomes["outcome"] == AuditOutcome.NO_RECOURSE))

    def add_section(self, section: Section) -> None:
        """Add a section to the report, before the methods, and its tables to the files.

        Parameters
        ----------
        section : Section
            For instance a table, by `Section.of_table`.

        Examples
        --------
        >>> from counterplan import Audit, benchmarks
        >>> from counterplan.audit.section import Section
        >>> german = benchmarks.load("german")
        >>> audit = Audit(german.problem, german.model, planner="exact", relaxations=0)
        >>> result = audit.run(german.test.head(20))
        >>> ages = german.test.head(20).groupby("sex", as_index=False)["age"].mean()
        >>> result.add_section(Section.of_table("ages", "Ages", "Mean age by sex.", ages))
        >>> '<section id="ages">' in result.to_html()
        True
        """
        self.extra.append(section)

    def plot_groups(
        self, ax: Axes | None = None, column: GroupName | None = None, measure: GroupMeasure = "recourse"
    ) -> Axes:
        """Draw the share of people with recourse, or the median cost of their plans, by group.

        The values and intervals are those of `groups`. A dashed line marks the value of everybody. A group with fewer
        people than `settings.min_group` is marked as such instead of drawn. An interval without a bound on one side
        ends with an arrow at the edge of the axes.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw on. By default, a new figure is created.
        column : str or tuple of str, optional
            The column, or pair of columns, by which the audit grouped people. By default, all groups are drawn.
        measure : {"recourse", "cost"}, default="recourse"
            "recourse" is the share of refused people who have a plan, with its interval. "cost" is the median cost
            of these plans, with bootstrap intervals.

        Returns
        -------
        matplotlib.axes.Axes
            The axes that were drawn on.

        Raises
        ------
        SettingError
            If matplotlib is not installed, `measure` is another one, the audit has no groups by `column`, or `ax` is
            not an Axes.

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> from counterplan import Audit, benchmarks
        >>> german = benchmarks.load("german")
        >>> audit = Audit(german.problem, german.model, groups=["sex"])
        >>> result = audit.run(german.refused_test.head(20))
        >>> ax = result.plot_groups(ax=Figure().subplots(), column="sex")
        >>> [label.get_text() for label in ax.get_yticklabels()]
        ['everybody (n = 20)', 'female (n = 5)', 'male (n = 15)']
        """
        return draw_groups(self.groups, self.settings, ax, column, measure)

    def to_html(self) -> str:
        """The report as one page, with figures, for light and dark screens, without scripts or external resources.

        Returns
        -------
        str
            An HTML document.

        Examples
        --------
        >>> from pathlib import Path
        >>> from counterplan import Audit, benchmarks
        >>> german = benchmarks.load("german")
        >>> audit = Audit(german.problem, german.model, planner="exact", relaxations=0)
        >>> result = audit.run(german.test.head(20))
        >>> _ = Path("audit.html").write_text(result.to_html(), encoding="utf-8")
        """
        return page(self)

    def to_dict(self) -> dict[str, Any]:
        """The statistics as plain data, without the outcomes of single people.

        Returns
        -------
        dict
            `about`, `settings`, `summary`, and tables as lists of rows; numbers that are not finite are None.

        Examples
        --------
        >>> from counterplan import Audit, benchmarks
        >>> german = benchmarks.load("german")
        >>> audit = Audit(german.problem, german.model, planner="exact", relaxations=0)
        >>> result = audit.run(german.test.head(20))
        >>> list(result.to_dict())
        ['counterplan_audit', 'about', 'settings', 'summary', 'groups', 'differences', 'functions']
        """
        settings = {name: getattr(self.settings, name) for name in self.settings.__dataclass_fields__}
        data: dict[str, Any] = {"counterplan_audit": 1, "about": self.about, "settings": settings}
        data["summary"] = self.summary
        for name, table in self._tables().items():
            data[name] = _rows(table)
        return data

    def _tables(self) -> dict[str, pd.DataFrame]:
        tables = {"groups": self.groups, "differences": self.differences, "functions": self.functions}
        if self.comparison is not None and self.transitions is not None:
            tables["comparison"] = self.comparison
            tables["transitions"] = self.transitions.rename_axis("outcome").reset_index()
        return tables | {section.key: table for section in self.extra for table in section.data}

    def save(self, folder: str | Path) -> Path:
        """Write report.html, audit.json and tables as CSV; outcomes.csv unless they are in Parquet files.

        Parameters
        ----------
        folder : str or Path
            Created if necessary; existing files of these names are replaced.

        Returns
        -------
        Path
            The report.

        Raises
        ------
        StorageError
            If a file cannot be written.

        Examples
        --------
        >>> from counterplan import Audit, benchmarks
        >>> german = benchmarks.load("german")
        >>> audit = Audit(german.problem, german.model, planner="exact", relaxations=0)
        >>> result = audit.run(german.test.head(20))
        >>> report = result.save("audit")
        >>> sorted(path.name for path in report.parent.iterdir())
        ['audit.json', 'differences.csv', 'functions.csv', 'groups.csv', 'outcomes.csv', 'report.html']
        """
        path = make_writable(folder)
        if self.people is not None:
            outcomes = self.outcomes.reset_index(drop=True)
            outcomes.insert(0, "person", labels_of(self.outcomes.index))
            for grouping in self.groupings:
                if grouping.name not in outcomes:
                    outcomes[grouping.name] = np.array(grouping.labels, object)[grouping.codes]
            write_inside(path, "outcomes.csv", frame_csv(outcomes), private=True)
        for name, table in self._tables().items():
            write_inside(path, f"{name}.csv", frame_csv(table))
        write_inside(path, "audit.json", json.dumps(self.to_dict(), ensure_ascii=False, indent=1, allow_nan=False))
        write_inside(path, "report.html", self.to_html())
        return path / "report.html"

    def __str__(self) -> str:
        return audit_text(self)

    def __repr__(self) -> str:
        refused = self.summary["refused"]
        return f"AuditResult({len(self):,} people, {refused:,} refused)"

    def _repr_html_(self) -> str:
        """The summary for notebooks."""
        from html import escape

        return f'<pre style="line-height:1.4">{escape(str(self))}</pre>'


def _rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(name): _plain(value) for name, value in row.items()} for row in table.to_dict("records")]


def _plain(value: Any) -> Any:
    """A value as JSON."""
    if isinstance(value, (np.bool_, np.integer, np.floating)):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
