"""The task `audit`: the outcome of each person of a partition, and the values that people are grouped by."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from counterplan.audit import Audit, AuditOutcome, AuditSettings
from counterplan.audit.carriers import function_names, function_texts
from counterplan.audit.groups import numbers_of, other_column, texts_of
from counterplan.audit.outcomes import COLUMNS, REFUSED
from counterplan.batch.audit_columns import TEXT
from counterplan.batch.recommend_task import learned_files
from counterplan.batch.task import PERSON, Counts, PartOutput
from counterplan.errors import ForeignAnswersWarning, SettingError
from counterplan.inputs import Inputs, black_box, read_like, resolve
from counterplan.problem import People, Problem
from counterplan.recourse import Recourse
from counterplan.storage.answer_cache import LabelledStates
from counterplan.storage.write_ahead import WriteAheadLog

if TYPE_CHECKING:
    import pyarrow as pa

OTHER, GROUP = "other_", "group_"
"""Prefixes of the columns of a part: of another model's outcomes, and of the columns that people are grouped by."""
WITHOUT_OUTCOME, WITHOUT_COST = "without_outcome_", "without_cost_"
"""Prefixes of the columns with the outcome and cost without a function; missing where the plan does not use it."""
PLANNER = "planner "
"""Prefix of the counts of refused people by planner."""


NO_OTHER_MODEL = "'against_threshold' is the threshold of another model: name that model with 'against'"


@dataclass(frozen=True)
class AuditTask:
    """Audit the people of a partition; see `counterplan.batch.audit` for the fields."""

    kind: ClassVar[str] = "audit"

    learned: str
    search: AuditSettings
    """The settings of the search; its groups do not matter."""
    columns: tuple[tuple[str, str], ...] = ()
    """Columns that people are grouped by; of those that are not features, with their kind."""
    model: str | None = None
    against: str | None = None
    threshold: float | None = None
    against_threshold: float | None = None
    like: str | None = None
    benchmark_seed: int = 0
    record: bool = True

    def __post_init__(self) -> None:
        if self.against_threshold is not None and self.against is None:
            raise SettingError(NO_OTHER_MODEL)
        if self.search.planner == "auto" and self.search.budget is None:
            raise SettingError(
                "name a planner: exact, or cascade+exact for what was learned and exact search for the others; or give "
                "a budget. 'auto' decides for each partition by itself, so that people would be planned for in "
                "different ways"
            )

    @property
    def settings(self) -> Mapping[str, object]:
        """See `PartitionTask.settings`."""
        facts: dict[str, object] = {**self.search.search_facts}
        facts |= {"groups": self.columns, "threshold": self.threshold, "against_threshold": self.against_threshold}
        return {name: value for name, value in facts.items() if value not in (None, False)}

    @property
    def default_rows(self) -> int:
        """See `PartitionTask.default_rows`."""
        return 10_000

    def load(self) -> LoadedAudit:
        """See `PartitionTask.load`."""
        inputs = resolve(
            self.learned,
            pd.DataFrame(),
            self.model,
            threshold=self.threshold,
            seed=self.benchmark_seed,
            like=self.like,
            lazy=True,
        )
        recourse = Recourse(inputs.problem, inputs.box)
        if inputs.workspace is not None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ForeignAnswersWarning)
                recourse = Recourse.load(inputs.workspace.folder, inputs.box)
        other = None
        if self.against is not None:
            threshold = self.threshold if self.against_threshold is None else self.against_threshold
            other = black_box(self.against, threshold, None if self.like is None else read_like(self.like))
        search = self.search
        audit = Audit(
            inputs.problem,
            recourse.box,
            against=other,
            settings=replace(search, groups=(), relaxations=0),
            learned=recourse.learned_parts,
            estimator=None if search.survival is None and search.survival_at_least is None else recourse.survival_,
        )
        return LoadedAudit(self, inputs, recourse, audit)

    def describe(self, counts: Counts) -> str:
        """See `PartitionTask.describe`."""
        refused = sum(int(counts.get(outcome.value, 0)) for outcome in REFUSED)
        return (
            f"{int(counts.get('people', 0)):,} people, {refused:,} of them refused: "
            f"{int(counts.get(AuditOutcome.RECOURSE.value, 0)):,} have a plan, "
            f"{int(counts.get(AuditOutcome.NO_RECOURSE.value, 0)):,} provably have none, "
            f"{int(counts.get(AuditOutcome.UNKNOWN.value, 0)):,} unknown."
        )


@dataclass
class LoadedAudit:
    """An audit with everything that it needs; see `LoadedTask`."""

    task: AuditTask
    inputs: Inputs
    recourse: Recourse
    audit: Audit
    as_stored: bool = field(default=True, init=False)

    @property
    def problem(self) -> Problem:
        """See `LoadedTask.problem`."""
        return self.recourse.problem

    @property
    def records(self) -> bool:
        """Whether answers are recorded: there is a learned folder for them."""
        return self.task.record and self.inputs.workspace is not None

    @cached_property
    def identity(self) -> dict[str, str]:
        """See `LoadedTask.identity`."""
        workspace, other = self.inputs.workspace, self.audit.against
        known = {"problem": self.problem.fingerprint, "model": self.inputs.box.fingerprint(self.problem)}
        known |= {} if other is None else {"other model (--against)": other.fingerprint(self.problem)}
        return known | ({} if workspace is None else learned_files(workspace))

    @property
    def extra_columns(self) -> tuple[str, ...]:
        """See `LoadedTask.extra_columns`."""
        features = {feature.name for feature in self.problem.features}
        return tuple(name for name, _ in self.task.columns if name not in features)

    @cached_property
    def schema(self) -> pa.Schema:
        """See `LoadedTask.schema`."""
        import pyarrow as pa

        texts = pa.dictionary(pa.int32(), pa.string())
        kinds = {"object": texts, "float64": pa.float64(), "bool": pa.bool_(), "int64": pa.int64()}
        own = {name: kinds[dtype] for name, dtype in COLUMNS.items()} | {"steps": pa.int32()}
        columns: dict[str, Any] = {PERSON: pa.int64(), **own, "functions": texts}
        if self.audit.against is not None:
            columns |= {f"{OTHER}{name}": kind for name, kind in own.items()} | {"plan_holds": texts}
        features = {feature.name: feature for feature in self.problem.features}
        for name, kind in self.task.columns:
            is_text = not features[name].is_number if name in features else kind == TEXT
            columns[f"{GROUP}{name}"] = texts if is_text else pa.float64()
        if self.task.search.indispensable:
            for name in function_names(self.problem):
                columns |= {f"{WITHOUT_OUTCOME}{name}": texts, f"{WITHOUT_COST}{name}": pa.float64()}
        return pa.schema(columns)

    def run(self, people: People) -> PartOutput:
        """See `LoadedTask.run`.

        Every partition begins with the same cached answers, so that results do not depend on other partitions.
        """
        box, other = self.audit.box, self.audit.against
        favourable = box.favourable_outcomes(self.problem)
        log = WriteAheadLog(self.problem, box.model_id if self.records else "", None, favourable=favourable)
        before = box.queries
        with (
            box.temporary_cache(),
            nullcontext() if other is None else other.temporary_cache(),
            box.recording(log) if self.records else nullcontext(),
        ):
            tables, planners = self.audit.tables(people)
        answers = LabelledStates.from_keys(self.problem, log.known, log.model) if self.records else None
        counts = _counts(tables["outcomes"], box.queries - before) | {
            f"{PLANNER}{name}": number for name, number in planners.items()
        }
        return PartOutput(self._table(people, tables), counts, answers)

    def _table(self, people: People, tables: dict[str, pd.DataFrame]) -> pa.Table:
        """The rows of a part, one for each person."""
        import pyarrow as pa

        outcomes = tables["outcomes"]
        columns: dict[str, Any] = {name: outcomes[name].to_numpy() for name in outcomes.columns}
        columns[PERSON] = np.arange(len(people))
        columns["functions"] = function_texts(self.problem, outcomes["plan"].tolist())
        for name, _ in self.task.columns:
            columns[f"{GROUP}{name}"] = self._values(people, name)
        if "without" in tables:
            columns |= _without_columns(self.problem, tables["without"], len(people))
        arrays = []
        for one in self.schema:
            kind = pa.string() if pa.types.is_dictionary(one.type) else one.type
            array = pa.array(pd.Series(columns[one.name]), kind, from_pandas=True)
            arrays.append(array.dictionary_encode() if kind != one.type else array)
        return pa.table(arrays, schema=self.schema)

    def _values(self, people: People, name: str) -> Any:
        """The values [B] of a column that people are grouped by: numbers, or texts and None."""
        for feature in self.problem.features:
            if feature.name == name:
                states = people.states[:, feature.index]
                if feature.is_number:
                    return states
                texts = np.array([*feature.values, None], object)
                return texts[np.where(np.isnan(states), len(feature.values), states).astype(np.intp)]
        kind, column = dict(self.task.columns)[name], other_column(people, name)
        return np.array(texts_of(column), object) if kind == TEXT else numbers_of(column)


def _without_columns(problem: Problem, without: pd.DataFrame, count: int) -> dict[str, Any]:
    """The outcomes and costs [B] of `plan_without`, by function."""
    columns: dict[str, Any] = {}
    for name in function_names(problem):
        own = without[(without["function"] == name).to_numpy(bool)]
        rows = own["row"].to_numpy(np.intp)
        outcome, cost = np.full(count, None, object), np.full(count, np.nan)
        outcome[rows], cost[rows] = own["outcome"].to_numpy(object), own["cost"].to_numpy(float)
        columns |= {f"{WITHOUT_OUTCOME}{name}": outcome, f"{WITHOUT_COST}{name}": cost}
    return columns


def _counts(outcomes: pd.DataFrame, sent: int) -> Counts:
    """What adds up over partitions."""
    outcome, has_plan = outcomes["outcome"], outcomes["outcome"] == AuditOutcome.RECOURSE
    return {
        "people": len(outcomes),
        **{one.value: int((outcome == one.value).sum()) for one in AuditOutcome},
        "queries": int(outcomes["queries"].sum()),
        "sent": sent,
        "steps": int(outcomes["steps"][has_plan].sum()),
        "cost": round(float(outcomes["cost"][has_plan].sum()), 6),
    }
