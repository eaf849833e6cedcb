"""`Plans`: the plans for several people, as columns, with `Plan` objects on demand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from counterplan.errors import PlanError, SettingError
from counterplan.plans import parquet, serialization, tables
from counterplan.plans.coded import Coded
from counterplan.plans.column_source import ColumnSource
from counterplan.plans.columns import PlanColumns
from counterplan.plans.distinct import rounded
from counterplan.plans.html import page_html, plans_html
from counterplan.plans.object_source import ObjectSource
from counterplan.plans.plan import Plan, PlanOption, RelatedKind, StepReason
from counterplan.plans.plans_plot import PlotKind, draw_plans
from counterplan.plans.robustness import RobustnessColumns
from counterplan.plans.sources import PlanSource, steps_taken
from counterplan.plans.status import Status
from counterplan.plans.survival_report import SurvivalReport, survival_report
from counterplan.plans.text import plans_text
from counterplan.plans.totals import total_costs, total_durations
from counterplan.problem import People, Problem
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.storage.files import read_bounded, write_whole

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from matplotlib.axes import Axes

MAX_FILE = 4_000_000_000
"""Most bytes of a file of plans."""


class Plans(Sequence[Plan]):
    """Plans for B people, in the order of the table.

    The plans are stored as columns, which the properties below return as arrays. Indexing and iteration build `Plan`
    objects. Plans that were constructed from objects or read from a file have the same columns, derived from them.

    Parameters
    ----------
    plans : iterable of Plan
        The plans. Planners use `Plans.from_columns` instead.
    problem : str
        Name and fingerprint of the problem.
    queries : int
        Rows sent to the black box to find the plans.
    cached : int
        Queries that its cache answered.

    Examples
    --------
    >>> from counterplan import ExactPlanner, benchmarks
    >>> german = benchmarks.load("german")
    >>> planner = ExactPlanner(german.problem, german.model)
    >>> plans = planner.plan(german.refused_test.head(3))
    >>> plans
    Plans('german', 3 people: 3 found; queries=198)
    >>> plans.costs, plans.lengths
    (array([10., 20.,  5.]), array([1, 3, 1]))
    >>> plans[2].actions
    ['CHANGE_SAVINGS=quite_rich']
    """

    def __init__(self, plans: Iterable[Plan] = (), problem: str = "", queries: int = 0, cached: int = 0) -> None:
        self._source: PlanSource = ObjectSource(tuple(plans))
        self.problem, self.queries, self.cached = problem, queries, cached

    @classmethod
    def from_columns(
        cls, problem: Problem, people: People, columns: PlanColumns, *, queries: int = 0, cached: int = 0
    ) -> Plans:
        """Construct plans from the columns of a search.

        Parameters
        ----------
        problem : Problem
            The problem that was planned for.
        people : People
            B people, as `problem.read` returns them.
        columns : PlanColumns
            Their plans.
        queries, cached : int
            Rows sent to the black box, and queries answered by its cache.

        Returns
        -------
        Plans
            One plan per person, in the order of `people`.

        Raises
        ------
        PlanError
            If a status contradicts the actions.
        """
        own = People(people.features, people.states, people.table.copy())  # which the caller may change afterwards
        label = f"{problem.name} {problem.fingerprint}"
        return cls._of(ColumnSource(problem, own, columns), label, queries, cached)

    @classmethod
    def _of(cls, source: PlanSource, problem: str, queries: int, cached: int) -> Plans:
        plans = cls((), problem, queries, cached)
        plans._source = source
        return plans

    @classmethod
    def join(cls, parts: Iterable[Plans]) -> Plans:
        """Concatenate plans, in time linear in their number.

        Parameters
        ----------
        parts : iterable of Plans
            The plans, for instance of several calls of a planner.

        Returns
        -------
        Plans
            All plans, in order; `queries` and `cached` are the sums. They remain columns if all parts have the same
            problem and tables with the same columns and types.

        Examples
        --------
        >>> from counterplan import ExactPlanner, Plans, benchmarks
        >>> german = benchmarks.load("german")
        >>> planner = ExactPlanner(german.problem, german.model)
        >>> first = planner.plan(german.refused_test.iloc[:2])
        >>> second = planner.plan(german.refused_test.iloc[2:4])
        >>> Plans.join([first, second]).persons
        [0, 1, 2, 3]
        """
        parts = list(parts)
        for part in parts:
            if not isinstance(part, Plans):
                raise SettingError(f"Plans.join expects Plans, got {type(part).__name__}")
        label = next((part.problem for part in parts if part.problem), "")
        queries, cached = sum(part.queries for part in parts), sum(part.cached for part in parts)
        full = [part for part in parts if len(part)]
        if len(full) == 1:
            return cls._of(full[0]._source, label, queries, cached)
        sources = [part._source for part in full if isinstance(part._source, ColumnSource)]
        joined = ColumnSource.join(sources) if sources and len(sources) == len(full) else None
        if joined is not None:
            return cls._of(joined, label, queries, cached)
        return cls((plan for part in full for plan in part), label, queries, cached)

    def __add__(self, other: Plans) -> Plans:
        return Plans.join([self, other]) if isinstance(other, Plans) else NotImplemented

    @property
    def columns(self) -> PlanColumns:
        """The plans as arrays; `columns.actions` index `action_names`."""
        return self._source.columns

    @cached_property
    def plans(self) -> tuple[Plan, ...]:
        """All plans as objects."""
        return tuple(self._source.plans(range(len(self))))

    def __len__(self) -> int:
        if isinstance(self._source, ObjectSource):
            return len(self._source.objects)
        return len(self._source.columns)

    @overload
    def __getitem__(self, index: int) -> Plan: ...
    @overload
    def __getitem__(self, index: slice) -> Plans: ...
    def __getitem__(self, index: int | slice) -> Plan | Plans:
        if isinstance(index, slice):
            return Plans._of(self._source.take(index), self.problem, 0, 0)
        if "plans" in self.__dict__:
            return self.plans[index]
        row = range(len(self))[index]
        return next(self._source.plans(range(row, row + 1)))

    def __iter__(self) -> Iterator[Plan]:
        return iter(self.plans) if "plans" in self.__dict__ else self._source.plans(range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Plans):
            return NotImplemented
        same = (self.problem, self.queries, self.cached) == (other.problem, other.queries, other.cached)
        return same and self.plans == other.plans

    __hash__ = None  # type: ignore[assignment]

    def count(self, value: Any) -> int:
        """Number of plans with a status, or equal to a plan.

        Parameters
        ----------
        value : Status, str or Plan
            A status, such as `"found"`, or a plan.

        Returns
        -------
        int
            How many of the plans match `value`.

        Raises
        ------
        SettingError
            If `value` is neither; `plans.counts` has the number of plans by status.

        Examples
        --------
        >>> from counterplan import ExactPlanner, benchmarks
        >>> german = benchmarks.load("german")
        >>> planner = ExactPlanner(german.problem, german.model)
        >>> plans = planner.plan(german.refused_test.head(3))
        >>> plans.count(plans[0])
        1
        """
        if isinstance(value, Plan):
            return sum(plan == value for plan in self)
        if isinstance(value, str) and value in [*Status]:
            return self.counts[value]
        raise SettingError(
            f"plans.count expects a plan or a status ({', '.join(Status)}), not {value!r}; "
            "plans.counts has the number of plans by status"
        )

    @property
    def persons(self) -> list[int | str]:
        """[B] index labels of the people."""
        return list(self._source.persons)

    @property
    def statuses(self) -> npt.NDArray[np.object_]:
        """[B] outcome of each search, as `Status`: `plans.statuses == "found"` is a mask."""
        result = np.empty(len(self), object)
        result[:] = [*map(Status, self.columns.status)]
        return result

    @property
    def actions(self) -> Ints:
        """[B, T] actions, padded with -1, as indices of `action_names`.

        These are the actions of the problem, in its order; or, of plans without a problem, those that occur.
        """
        return self.columns.actions

    @property
    def action_names(self) -> list[str]:
        """The actions that `actions` refers to, as `FUNCTION=argument`."""
        return [str(name) for name in self._source.action_names]

    @property
    def lengths(self) -> Ints:
        """[B] numbers of steps."""
        return np.asarray(steps_taken(self.columns).sum(axis=1))

    @property
    def step_costs(self) -> Floats:
        """[B, T] costs of the steps, padded with 0."""
        return self._source.step_costs

    @cached_property
    def costs(self) -> Floats:
        """[B] total costs, like `plan.cost`: NaN without a plan, 0 if the decision is already favourable."""
        return total_costs(self._source)

    @cached_property
    def durations(self) -> Floats:
        """[B] durations, like `plan.duration`: NaN without a plan, or if the problem has no durations."""
        return total_durations(self._source)

    @property
    def verified(self) -> Bools:
        """[B] whether the black box found the final state favourable."""
        return self.columns.verified

    @property
    def optimal(self) -> Bools:
        """[B] whether it is proved that no legal plan costs less."""
        return self.columns.optimal

    @property
    def lower_bounds(self) -> Floats:
        """[B] proved lower bounds on the cost of any plan; infinite if it is proved that no plan exists."""
        return rounded(self.columns.lower_bound)

    @property
    def queries_per_person(self) -> Ints:
        """[B] states of each person that the black box was queried about, including answers from its cache."""
        return self.columns.queries

    @property
    def cautions(self) -> list[str]:
        """[B] sentences about the limits of plans; empty texts where there are none."""
        coded = self.columns.cautions
        if coded is None:
            return [""] * len(self)
        return [coded.values[code] if code >= 0 else "" for code in coded.codes.tolist()]

    @property
    def targets(self) -> list[tuple[str, ...]]:
        """[B] the outcomes that each plan is to reach; empty for the favourable ones of the problem."""
        coded = self.columns.targets
        if coded is None:
            return [()] * len(self)
        return [coded.values[code] if code >= 0 else () for code in coded.codes.tolist()]

    @property
    def survivals(self) -> Floats:
        """[B] stated chances that a retrained model finds the final state favourable; NaN where none is stated."""
        robustness = self.columns.robustness
        return np.full(len(self), np.nan) if robustness is None else robustness.survival

    @property
    def texts(self) -> Coded[str]:
        """[B, T] the steps in words."""
        return self._source.texts

    @property
    def people(self) -> People | None:
        """The people, as the planner read them; None for plans that were made from objects or read from a file."""
        return self._source.people if isinstance(self._source, ColumnSource) else None

    @property
    def final_states(self) -> Floats:
        """[B, F] states after the last step, computed on access.

        Raises
        ------
        PlanError
            If the plans do not come from a planner: without a problem there are no states as arrays.
        """
        if not isinstance(self._source, ColumnSource):
            raise PlanError("plans that were read from a file, or made from Plan objects, have no states as arrays")
        return self._source.final_states

    @property
    def counts(self) -> dict[str, int]:
        """Number of plans by status."""
        seen = Counter(self.columns.status)
        return {status.value: seen[status] for status in Status}

    @property
    def reasons(self) -> dict[str, int]:
        """Number of steps by the source of their reason: `"rule"`, `"card"`, `"points"`, `"contrast"` or `"none"`."""
        coded, steps = self.columns.reasons, int(self.lengths.sum())
        counted = dict.fromkeys(("rule", "card", "points", "contrast", "none"), 0)
        if coded is not None:
            used = np.bincount(coded.codes[steps_taken(self.columns) & (coded.codes >= 0)], minlength=len(coded.values))
            for (_, because), count in zip(coded.values, used.tolist(), strict=True):
                if because is not None:
                    counted[because.source] += count
        counted["none"] = steps - sum(counted.values())
        return counted

    def with_reasons(self, rows: Ints, steps: Ints, reasons: Coded[StepReason]) -> Plans:
        """Replace the reasons of steps.

        Parameters
        ----------
        rows, steps : int arrays of shape [n]
            People and steps, counted from 0.
        reasons : Coded
            Their reasons [n].

        Returns
        -------
        Plans
            The same plans with these reasons.
        """
        source = self._source.with_reasons(rows, steps, reasons) if len(rows) else self._source
        return Plans._of(source, self.problem, self.queries, self.cached)

    def with_options(self, rows: Ints, options: Coded[tuple[PlanOption, ...]]) -> Plans:
        """Replace what else would do.

        Parameters
        ----------
        rows : int array of shape [n]
            People.
        options : Coded
            Their options [n].

        Returns
        -------
        Plans
            The same plans with these options.
        """
        source = self._source.with_options(rows, options) if len(rows) else self._source
        return Plans._of(source, self.problem, self.queries, self.cached)

    @property
    def related(self) -> dict[RelatedKind, Plans]:
        """All related plans by kind, such as `"alternatives"`, those of the first person first; see `Plan.related`."""
        return {kind: Plans._of(part.source, self.problem, 0, 0) for kind, part in self._source.related.items()}

    def with_related(self, kind: RelatedKind, plans: Plans) -> Plans:
        """Replace the related plans of one kind.

        Parameters
        ----------
        kind : {"front", "alternatives"}
            The kind of related plans that is replaced.
        plans : Plans
            As many as `related[kind]`, in the same order and of the same people.

        Returns
        -------
        Plans
            The same plans with these related plans.
        """
        return Plans._of(self._source.with_related(kind, plans._source), self.problem, self.queries, self.cached)

    def survival(self, models: Sequence[object], problem: Problem | None = None) -> SurvivalReport:
        """Check the plans with other models, such as the same model trained again.

        Each model is queried once about the final state of every plan, and about people whose decision was favourable
        already as they are. Planning does not learn from these queries.

        Parameters
        ----------
        models : list of models or BlackBox
            The models. A model that is not a `BlackBox` is wrapped in one; pass `BlackBox(model, threshold=…)` if
            scores decide.
        problem : Problem, optional
            The problem that the plans were made for. It is required for plans that were read from JSON or made from
            `Plan` objects.

        Returns
        -------
        SurvivalReport
            For each plan and model whether the plan holds, does not hold or could not be checked: `report.held`,
            `report.checked`, `report.outcomes`. `report.plans` are the same plans with these numbers. Models that
            planning used itself are not counted.

        Raises
        ------
        SettingError
            If `models` is not a list of models, or the problem is required and not given.
        ModelError
            If an object is not a model.

        Examples
        --------
        >>> from counterplan import BlackBox, ExactPlanner, benchmarks
        >>> german = benchmarks.load("german")
        >>> planner = ExactPlanner(german.problem, german.model)
        >>> plans = planner.plan(german.refused_test.head(5))
        >>> report = plans.survival([BlackBox(german.model, threshold=0.55)])
        >>> report.held.tolist(), report.checked.tolist()
        ([0, 0, 1, 1, 0], [1, 1, 1, 1, 1])
        """
        return survival_report(self, models, problem)

    def with_robustness(self, robustness: RobustnessColumns) -> Plans:
        """Replace the chances that the plans hold when the model is trained again.

        Parameters
        ----------
        robustness : RobustnessColumns
            Those of the B plans.

        Returns
        -------
        Plans
            The same plans with this robustness.

        Raises
        ------
        SettingError
            If `robustness` is for another number of plans.
        """
        if len(robustness) != len(self):
            raise SettingError(f"'robustness' is for {len(robustness):,} plans, but there are {len(self):,}")
        return Plans._of(self._source.with_robustness(robustness), self.problem, self.queries, self.cached)

    def take(self, rows: Ints) -> Plans:
        """The plans at positions `rows`, in that order; `queries` and `cached`, which belong to all plans, are 0.

        Parameters
        ----------
        rows : int array of shape [n]
            Positions of the plans, counted from 0.

        Returns
        -------
        Plans
            One plan for each position.

        Examples
        --------
        >>> import numpy as np
        >>> from counterplan import ExactPlanner, benchmarks
        >>> german = benchmarks.load("german")
        >>> planner = ExactPlanner(german.problem, german.model)
        >>> plans = planner.plan(german.refused_test.head(5))
        >>> cheap = plans.take(np.flatnonzero(plans.costs < 10))
        >>> cheap.costs
        array([5., 5., 6.])
        """
        return Plans._of(self._source.take(np.asarray(rows, np.intp)), self.problem, 0, 0)

    def with_queries(self, queries: int, cached: int) -> Plans:
        """The same plans with other numbers of queries and of cached answers."""
        return Plans._of(self._source, self.problem, queries, cached)

    def to_frame(self) -> pd.DataFrame:
        """One row per step; a person without steps has one row, with step 0.

        Returns
        -------
        DataFrame
            Columns person, status, total_cost, verified, optimal, lower_bound, questions, step, function, argument,
            cost, text, reason, source, points (see `Reason`), options (see `PlanOption`), caution; survival,
            survival_source, survival_at_least, survival_proved, cheapest_cost, cheapest_survival, cheapest_verified,
            held, judged (see `Robustness`); model, fingerprint, checked_on (see `Check`); total_duration, start,
            duration, time_unit and deadline, if the problem has durations; unweighted_cost and weight, if some
            weight of a step is not 1; target, if the plans were made for targets; and, if there are related plans
            (see `Plan.related`), whose rows follow those of the plan, related and related_number: how they are
            related, and their number, from 1. These are empty and 0 in the rows of the plan itself.

        Examples
        --------
        >>> from counterplan import ExactPlanner, benchmarks
        >>> german = benchmarks.load("german")
        >>> planner = ExactPlanner(german.problem, german.model)
        >>> plans = planner.plan(german.refused_test.head(2))
        >>> plans.to_frame()[["person", "step", "function", "argument", "cost"]]
           person  step        function         argument  cost
        0       0     1  CHANGE_PURPOSE  vacation/others  10.0
        1       1     1  CHANGE_SAVINGS       quite_rich   6.0
        2       1     2  CHANGE_HOUSING              own   4.0
        3       1     3  CHANGE_PURPOSE  vacation/others  10.0
        """
        return tables.to_frame(self._source)

    def to_arrow(self, *, dictionary: bool = False) -> pa.Table:
        """The rows of `to_frame` as an Arrow table; arguments are text, so that every table has the same schema.

        Parameters
        ----------
        dictionary : bool, default=False
            Whether texts are dictionaries, which take less time and memory.

        Returns
        -------
        pyarrow.Table
            One row per step, with the columns of `to_frame`.

        Raises
        ------
        SettingError
            If pyarrow is not installed.

        Examples
        --------
        >>> from counterplan import ExactPlanner, benchmarks
        >>> german = benchmarks.load("german")
        >>> planner = ExactPlanner(german.problem, german.model)
        >>> plans = planner.plan(german.refused_test.head(2))
        >>> table = plans.to_arrow()
        >>> table.num_rows, table.column("function").to_pylist()
        (4, ['CHANGE_PURPOSE', 'CHANGE_SAVINGS', 'CHANGE_HOUSING', 'CHANGE_PURPOSE'])
        """
        return tables.to_arrow(self._source, dictionary=dictionary)

    def to_csv(self, *, header: bool = True) -> str:
        """The rows of `to_frame` as CSV.

        A text that a spreadsheet would run as a formula is written with a leading apostrophe. An argument is written
        as the problem has it, `20` or `20.0`, in every part of a file.

        Parameters
        ----------
        header : bool, default=True
            Whether to begin with the names of the columns.

        Returns
        -------
        str
            Lines of CSV, with the columns of `to_frame`.

        Examples
        --------
        >>> from counterplan import ExactPlanner, benchmarks
        >>> german = benchmarks.load("german")
        >>> planner = ExactPlanner(german.problem, german.model)
        >>> plans = planner.plan(german.refused_test.head(2))
        >>> plans.to_csv().splitlines()[0].split(",")[:6]
        ['person', 'status', 'total_cost', 'verified', 'optimal', 'lower_bound']
        """
        return tables.to_csv(self._source, header)

    def to_json(self) -> str:
        """The plans as JSON, which `from_json` reads.

        Returns
        -------
        str
            Keys of version 1 of the format. The cost of a person without a plan is written as 0, the duration as null.

        Examples
        --------
        >>> from counterplan import ExactPlanner, Plans, benchmarks
        >>> german = benchmarks.load("german")
        >>> planner = ExactPlanner(german.problem, german.model)
        >>> plans = planner.plan(german.refused_test.head(2))
        >>> Plans.from_json(plans.to_json()) == plans
        True
        """
        return serialization.to_json(self, self._head)

    @property
    def _head(self) -> serialization.Head:
        return serialization.Head(self.problem, self.queries, self.cached)

    @classmethod
    def from_json(cls, text: str, name: str = "plans") -> Plans:
        """Read plans that `to_json` wrote.

        Parameters
        ----------
        text : str
            JSON.
        name : str, default="plans"
            Name of the source, for error messages.

        Returns
        -------
        Plans
            The plans. Their `people` are None.

        Raises
        ------
        StorageError
            If the text is too long, not JSON or nested too deeply, or has a number that no float can hold.
        PlanError
            If the JSON is not plans, or they are damaged; the message names the place.

        Examples
        --------
        >>> from counterplan import ExactPlanner, Plans, benchmarks
        >>> german = benchmarks.load("german")
        >>> planner = ExactPlanner(german.problem, german.model)
        >>> plans = planner.plan(german.refused_test.head(2))
        >>> Plans.from_json(plans.to_json())[0].actions
        ['CHANGE_PURPOSE=vacation/others']
        """
        plans, head = serialization.from_json(text, name)
        return cls(plans, head.problem, head.queries, head.cached)

    @classmethod
    def load(cls, path: str | Path) -> Plans:
        """Read plans that `save` wrote as .json or .parquet.

        Parameters
        ----------
        path : str or Path
            The file.

        Returns
        -------
        Plans
            With the rows of the people and their dtypes, so that `Plan.replay` queries the model as it was queried.

        Raises
        ------
        SettingError
            If the extension is another one, or pyarrow is not installed.
        PlanError
            If the file is damaged, or does not hold everything about the plans.
        StorageError
            If the file cannot be read.

        Examples
        --------
        >>> from counterplan import ExactPlanner, Plans, benchmarks
        >>> german = benchmarks.load("german")
        >>> planner = ExactPlanner(german.problem, german.model)
        >>> planner.plan(german.refused_test.head(2)).save("plans.json")
        >>> Plans.load("plans.json")
        Plans('german', 2 people: 2 found; queries=195)
        """
        suffix, name = Path(path).suffix.lower(), str(path)
        if suffix not in (".json", ".parquet"):
            raise SettingError(f"{path}: plans can be loaded from .json and .parquet; CSV and HTML are for reading")
        content = read_bounded(path, MAX_FILE)
        if suffix == ".json":
            try:
                return cls.from_json(content.decode(), name)
            except UnicodeDecodeError as error:
                raise PlanError(f"{name}: not UTF-8: {error}") from None
        source, head = parquet.from_parquet(content, name)
        return cls._of(source, head.problem, head.queries, head.cached)

    def to_html(self) -> str:
        """A page of all plans for people to read, without scripts or external resources.

        Returns
        -------
        str
            An HTML document.

        Examples
        --------
        >>> from pathlib import Path
        >>> from counterplan import ExactPlanner, benchmarks
        >>> german = benchmarks.load("german")
        >>> planner = ExactPlanner(german.problem, german.model)
        >>> plans = planner.plan(german.refused_test.head(2))
        >>> _ = Path("plans.html").write_text(plans.to_html(), encoding="utf-8")
        """
        return page_html(self)

    def to_text(self, most: int | None = None) -> str:
        """The plans as plain text, each under the person's name, and a closing line with counts.

        Parameters
        ----------
        most : int, optional
            Show the first `most` plans only.

        Returns
        -------
        str
            Text in plain words, to show or to send.

        Examples
        --------
        >>> from counterplan import ExactPlanner, benchmarks
        >>> german = benchmarks.load("german")
        >>> planner = ExactPlanner(german.problem, german.model)
        >>> plans = planner.plan(german.refused_test.head(3))
        >>> print(plans.to_text(most=1))
        Person 0
        Refused. 1 step would change that (effort 10.0, the least possible):
        Takes about 1 month if you start now.
        <BLANKLINE>
          1. Borrow for "holidays or other things" instead of "education"    effort 10.0
        ...
        """
        return plans_text(self, most)

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        parts = [f"{count:,} {name}" for name, count in self.counts.items() if count]
        about = f"{self.problem.split(' ')[0]!r}, " if self.problem else ""
        return f"Plans({about}{len(self):,} people: {', '.join(parts) or 'none'}; queries={self.queries:,})"

    def _repr_html_(self) -> str:
        return plans_html(self)

    def plot(self, ax: Axes | None = None, *, kind: PlotKind = "cost") -> Axes:
        """Draw the costs of the plans, or the shares of people by status.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw on. By default, a new figure is created.
        kind : {"cost", "status"}, default="cost"
            "cost" is a histogram of the costs of plans with steps, stacked by their number of steps. "status" shows
            the share of people with each status. Without anything to draw, the axes show a sentence that says so.

        Returns
        -------
        matplotlib.axes.Axes
            The axes that were drawn on.

        Raises
        ------
        SettingError
            If matplotlib is not installed, `kind` is another one, or `ax` is not an Axes.

        See Also
        --------
        Plan.plot : The steps of one plan.
        AuditResult.plot_groups : Shares and costs by group.

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> from counterplan import ExactPlanner, benchmarks
        >>> german = benchmarks.load("german")
        >>> planner = ExactPlanner(german.problem, german.model)
        >>> plans = planner.plan(german.refused_test.head(3))
        >>> ax = plans.plot(ax=Figure().subplots(), kind="status")
        >>> [text.get_text() for text in ax.texts]
        ['3 (100.0 %)', '0 (0.0 %)', '0 (0.0 %)', '0 (0.0 %)']
        """
        return draw_plans(self, ax, kind)

    def save(self, path: str | Path) -> None:
        """Write the plans to a file, in the format of its extension.

        The file is written completely or not at all, and only its owner may read it: plans are personal data.
        `load` reads .json and .parquet again. A Parquet file has the rows of `to_arrow`; its metadata hold the
        problem, the people and their dtypes, unless these take more than 64 MB.

        Parameters
        ----------
        path : str or Path
            A file with the extension .json, .csv, .parquet or .html.

        Raises
        ------
        SettingError
            If `path` is not a path, or the extension is another one.
        StorageError
            If the file cannot be written.

        Examples
        --------
        >>> from pathlib import Path
        >>> from counterplan import ExactPlanner, benchmarks
        >>> german = benchmarks.load("german")
        >>> planner = ExactPlanner(german.problem, german.model)
        >>> plans = planner.plan(german.refused_test.head(2))
        >>> for name in ("plans.json", "plans.csv", "plans.html"):
        ...     plans.save(name)
        >>> sorted(path.name for path in Path().iterdir())
        ['plans.csv', 'plans.html', 'plans.json']
        """
        writers: dict[str, Callable[[], str | bytes]] = {
            ".json": self.to_json,
            ".csv": self.to_csv,
            ".parquet": lambda: parquet.to_parquet(self._source, self._head),
            ".html": self.to_html,
        }
        if not isinstance(path, (str, Path)):
            raise SettingError(f"plans are saved to a path, not to {path!r}")
        write = writers.get(Path(path).suffix.lower())
        if write is None:
            raise SettingError(f"{path}: plans can be saved as {', '.join(writers)}; choose one of these extensions")
        write_whole(path, write(), private=True)
