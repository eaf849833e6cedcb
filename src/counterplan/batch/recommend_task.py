"""The task `recommend`: a plan for each person of a partition."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Collection, Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from counterplan.batch.task import PERSON, Counts, PartOutput, total
from counterplan.errors import ForeignAnswersWarning, SettingError
from counterplan.inputs import Inputs, resolve
from counterplan.planners import Planner, ProgramPlanner, TargetPlanner
from counterplan.plans import Plans, Status
from counterplan.plans.text import Summary
from counterplan.problem import People, Problem
from counterplan.problem.targets import Target, read_target
from counterplan.problem.values import count, did_you_mean, text_of
from counterplan.recourse import Recourse
from counterplan.storage.answer_cache import LabelledStates
from counterplan.storage.files import read_bounded
from counterplan.storage.workspace import AGENT, CARD, PROBLEM, PROGRAM, SURROGATE, SURVIVAL, TARGETS, Workspace
from counterplan.storage.write_ahead import WriteAheadLog

if TYPE_CHECKING:
    import pyarrow as pa

_LEARNED = (PROBLEM, PROGRAM, CARD, *AGENT, *SURROGATE, *SURVIVAL)
"""Files of a workspace that plans depend on; answers are only a cache."""
_MAX_BYTES = 4_000_000_000
_FAST = ("program",)
"""Planners whose partitions are large by default: a person takes microseconds."""
_CHUNK = 20_000
"""People that a fast planner plans for at once: arrays that fit into the cache of a processor take less time."""
_NO_MODEL_NEEDED = ("program", "card")


@dataclass(frozen=True)
class RecommendTask:
    """Plan for the people of a partition; see `counterplan.batch.recommend` for the fields."""

    kind: ClassVar[str] = "recommend"

    learned: str
    planner: str
    model: str | None = None
    problem: str | None = None
    threshold: float | None = None
    like: str | None = None
    refits: tuple[str, ...] = ()
    agree: int | None = None
    target: tuple[str, ...] | None = None
    target_column: str | None = None
    price: float | None = None
    seed: int = 0
    reasons: bool = False
    record: bool = True
    options: Mapping[str, Any] = field(default_factory=dict)
    """Parameters of `Planner.plan`."""

    def __post_init__(self) -> None:
        if self.planner == "auto":
            raise SettingError(
                "name a planner: program, card, guided or exact. 'auto' decides for each partition by itself, so that "
                "people would be planned for in different ways"
            )
        if self.refits and self.agree is None:
            raise SettingError(
                "retrained models are calibrated on all people, which do not fit into memory: leave out --refit, or "
                "give --agree, and check the plans of a sample with 'counterplan survival'"
            )
        if self.target is not None and self.target_column is not None:
            raise SettingError("--target is for everybody, and --target-column for each person: use one of them")

    @property
    def settings(self) -> Mapping[str, object]:
        """See `PartitionTask.settings`."""
        own = asdict(self)
        for name in ("record", "learned", "model", "problem", "like", "refits"):  # places; their content counts
            del own[name]
        options = {name: value for name, value in own.pop("options").items() if value not in (None, False, ())}
        return own | options

    @property
    def default_rows(self) -> int:
        """See `PartitionTask.default_rows`."""
        return 50_000 if self.planner in _FAST else 10_000

    def load(self) -> LoadedRecommendation:
        """See `PartitionTask.load`."""
        inputs = resolve(
            self.learned,
            pd.DataFrame(),
            self.model,
            threshold=self.threshold,
            seed=self.seed,
            model_required=self.planner not in _NO_MODEL_NEEDED,
            problem=self.problem,
            like=self.like,
            lazy=True,
            refits=self.refits,
            agree=self.agree,
        )
        recourse = Recourse(inputs.problem, inputs.box)
        if inputs.workspace is not None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ForeignAnswersWarning)
                recourse = Recourse.load(
                    inputs.workspace.folder,
                    inputs.box,
                    answers=inputs.has_model,
                    problem=None if self.problem is None else inputs.problem,
                )
        return LoadedRecommendation(self, inputs, recourse)

    def describe(self, counts: Counts) -> str:
        """See `PartitionTask.describe`."""
        whole = {name: int(value) for name, value in counts.items()}
        summary = Summary(
            whole.get("people", 0),
            tuple(whole.get(status.value, 0) for status in Status),
            whole.get("unverified", 0),
            whole.get("queries", 0),
            whole.get("cached", 0),
        )
        cached = f", {summary.cached:,} {'more ' if summary.queries else ''}from the cache" if summary.cached else ""
        return f"{summary.counts}. {count(summary.queries, 'query', 'queries')}{cached}."


class LoadedRecommendation:
    """A planner with everything that it needs; see `LoadedTask`."""

    def __init__(self, task: RecommendTask, inputs: Inputs, recourse: Recourse) -> None:
        self.task, self.inputs, self.recourse = task, inputs, recourse
        self.problem: Problem = recourse.problem
        self.target: Target | None = None if task.target is None else _read_target(self.problem, task.target)
        if self.target is None and task.target_column is None:
            self.planner: Planner | TargetPlanner = recourse.planner(task.planner, price=task.price)
        else:
            self.planner = recourse.target_planner(task.planner, price=task.price)
        self.options = {name: value for name, value in task.options.items() if value is not None}
        if not inputs.has_model:  # everybody is assumed to be refused
            self.options |= {"budget": 0, "refused": True}

    @cached_property
    def identity(self) -> dict[str, str]:
        """See `LoadedTask.identity`."""
        workspace = self.inputs.workspace
        known = {"problem": self.problem.fingerprint}
        known |= {} if workspace is None else learned_files(workspace)
        return known | ({"model": self.inputs.box.fingerprint(self.problem)} if self.inputs.has_model else {})

    @property
    def queries_model(self) -> bool:
        """Whether the model may be queried."""
        needless = isinstance(self.planner, ProgramPlanner) and self.options.get("refused", False)
        return self.inputs.has_model and self.options.get("budget") != 0 and not needless

    @property
    def as_stored(self) -> bool:
        """See `LoadedTask.as_stored`."""
        return self.queries_model or not self.recourse.survival_.portable

    @property
    def extra_columns(self) -> tuple[str, ...]:
        """See `LoadedTask.extra_columns`."""
        return () if self.task.target_column is None else (self.task.target_column,)

    @cached_property
    def schema(self) -> pa.Schema:
        """See `LoadedTask.schema`: that of nobody's plans, and the columns that only plans with steps have."""
        import pyarrow as pa

        texts = pa.dictionary(pa.int32(), pa.string())
        columns = pd.DataFrame({feature.name: [] for feature in self.problem.features})
        if self.task.target_column is not None:
            columns[self.task.target_column] = pd.Series(dtype=object)
        empty = self._plan(self.problem.read(columns)).to_arrow(dictionary=True)
        schema = empty.schema.set(empty.schema.get_field_index(PERSON), pa.field(PERSON, pa.int64()))
        further: dict[str, Any] = {}
        if self.options.get("weights") is not None:
            further |= {"unweighted_cost": pa.float64(), "weight": pa.float64()}
        if isinstance(self.planner, TargetPlanner):
            further |= {"target": texts}
        if self.options.get("alternatives") is not None or self.options.get("pareto"):
            further |= {"related": texts, "related_number": pa.int64()}
        for name, kind in further.items():
            if name not in schema.names:
                schema = schema.append(pa.field(name, kind))
        return schema

    def run(self, people: People) -> PartOutput:
        """See `LoadedTask.run`.

        Every partition begins with the same cached answers, so that results do not depend on other partitions.
        """
        box, record = self.recourse.box, self.task.record and self.queries_model
        favourable = box.favourable_outcomes(self.problem)
        log = WriteAheadLog(self.problem, box.model_id if record else "", None, favourable=favourable)
        size = _CHUNK if self.task.planner in _FAST else max(1, len(people))
        parts = []
        with box.temporary_cache(), box.recording(log) if record else nullcontext():
            for first in range(0, max(1, len(people)), size):
                plans = self._plan(people.take(slice(first, first + size)))
                plans = self.recourse.explain(plans) if self.task.reasons else plans
                parts.append((conform(plans.to_arrow(dictionary=True), self.schema), _counts(plans)))
        answers = LabelledStates.from_keys(self.problem, log.known, log.model) if record else None
        return PartOutput(joined([table for table, _ in parts]), total(counts for _, counts in parts), answers)

    def _plan(self, people: People) -> Plans:
        if not isinstance(self.planner, TargetPlanner):
            return self.planner.plan(people, **self.options)
        if self.target is not None:
            return self.planner.plan(people, target=self.target, **self.options)
        own, targets = split_column(people, str(self.task.target_column))
        return self.planner.plan(own, target=targets, **self.options)


def learned_files(workspace: Workspace) -> dict[str, str]:
    """Digests of the learned files of a workspace, and of its targets, by name."""
    root = workspace.folder
    folders = [root, *(path for path in sorted((root / TARGETS).glob("*")) if path.is_dir() and not path.is_symlink())]
    paths = [folder / name for folder in folders for name in _LEARNED if (folder / name).is_file()]
    return {
        path.relative_to(root).as_posix(): hashlib.sha256(read_bounded(path, _MAX_BYTES)).hexdigest()[:16]
        for path in paths
    }


def conform(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """`table` with the columns of `schema`, whose defaults are zero for whole numbers, and otherwise missing."""
    import pyarrow as pa

    assert {*table.column_names} <= {*schema.names}, {*table.column_names} - {*schema.names}
    columns = []
    for one in schema:
        if one.name in table.column_names:
            columns.append(table.column(one.name).cast(one.type))
        elif pa.types.is_integer(one.type):
            columns.append(pa.array(np.zeros(table.num_rows, np.int64), one.type))
        else:
            columns.append(pa.nulls(table.num_rows, one.type))
    return pa.table(columns, schema=schema)


def joined(tables: list[pa.Table]) -> pa.Table:
    """Tables of one schema, one after the other, with one dictionary for each column."""
    import pyarrow as pa

    return tables[0] if len(tables) == 1 else pa.concat_tables(tables).unify_dictionaries().combine_chunks()


def split_column(people: People, column: str) -> tuple[People, list[Any]]:
    """People without a column that is not a feature, and its values.

    Raises
    ------
    SettingError
        If there is no such column.
    """
    extras = {text_of(name): name for name in people.extras}
    if column not in extras:
        hint = did_you_mean(column, extras)
        raise SettingError(f"--target-column {column}: people have no such column besides the features{hint}")
    table = people.table.drop(columns=[extras[column]])
    return People(people.features, people.states, table), people.table[extras[column]].tolist()


def _read_target(problem: Problem, target: Collection[str]) -> Target:
    return read_target(problem.outcome, frozenset(target) if len(target) != 1 else next(iter(target)))


def _counts(plans: Plans) -> Counts:
    """What adds up over partitions."""
    summary = Summary.of(plans)
    by_status = {status.value: count for status, count in zip(Status, summary.by_status, strict=True)}
    return {
        "people": summary.people,
        **by_status,
        "unverified": summary.unverified,
        "queries": summary.queries,
        "cached": summary.cached,
        "steps": int(plans.lengths.sum()),
        "cost": round(float(np.nansum(plans.costs)), 6),
    }
