"""Plans as a Parquet file: the rows of `Plans.to_arrow`, and metadata from which the plans can be loaded again."""

from __future__ import annotations

import base64
import io
import json
import math
import zlib
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, TypeVar, get_args

import numpy as np
import pandas as pd
from pydantic import ValidationError

from counterplan.errors import CounterplanError, PlanError
from counterplan.plans.coded import NO_CODE, Coded
from counterplan.plans.column_source import ColumnSource
from counterplan.plans.columns import NO_PLANS, PlanColumns, RelatedColumns
from counterplan.plans.object_source import ObjectSource
from counterplan.plans.plan import Reason, RelatedKind, StepReason
from counterplan.plans.robustness import RobustnessColumns
from counterplan.plans.serialization import (
    VERSION,
    Head,
    first_mistake,
    from_json,
    parse,
    read_constraints,
    read_options,
    read_robustness,
    read_shared,
    reason_data,
    to_json,
)
from counterplan.plans.sources import PlanSource, steps_taken
from counterplan.plans.status import Status
from counterplan.plans.tables import import_arrow, to_arrow
from counterplan.problem import Problem
from counterplan.problem.dtypes import for_json, frame_of, plain, schema_of
from counterplan.problem.values import text_of

T = TypeVar("T")
KEY = b"counterplan_plans"
"""Key of the metadata: compressed JSON with the problem, the people and their dtypes."""
MAX_METADATA = 64_000_000
"""Bytes; larger metadata are left out, because readers refuse files whose footer is too large."""
_MAX_JSON = 2_000_000_000


def to_parquet(source: PlanSource, head: Head) -> bytes:
    """The plans as a Parquet file; see `Plans.save`."""
    table = to_arrow(source)
    import pyarrow.parquet as pq

    if isinstance(source, ColumnSource):
        text = _columns_json(source, head)
    else:
        text = to_json(source.plans(range(len(source.columns))), head)
    packed = base64.b64encode(zlib.compress(text.encode()))
    if len(packed) <= MAX_METADATA:
        table = table.replace_schema_metadata({KEY: packed})
    file = io.BytesIO()
    pq.write_table(table, file)
    return file.getvalue()


def _columns_json(source: ColumnSource, head: Head) -> str:
    """Everything about the plans that the rows of the table do not hold, by column rather than by person."""
    table, columns = source.people.table, source.columns
    data = {
        "counterplan_plans": VERSION,
        **asdict(head),
        "definition": json.dumps(source.problem.to_dict()),
        "dtypes": [schema_of(table)],
        "people": [[for_json(plain(value)) for value in table.iloc[:, i]] for i in range(table.shape[1])],
        "persons": source.persons,
        **_columns_data(columns),
    }
    if columns.related:
        data["related"] = {
            kind: {"count": related.count.tolist(), **_columns_data(related.columns)}
            for kind, related in columns.related.items()
        }
    return json.dumps(data, ensure_ascii=False, allow_nan=False)


def _columns_data(columns: PlanColumns) -> dict[str, Any]:
    """What the rows of the table do not hold about plans, related plans apart."""
    taken = steps_taken(columns)
    reasons = columns.reasons or Coded.empty(taken.shape)
    data: dict[str, Any] = {
        "longest": columns.actions.shape[1],
        "weights": None if columns.weights is None else columns.weights[taken].tolist(),
        "reasons": [[text, None if because is None else reason_data(because)] for text, because in reasons.values],
        "reason_of_step": reasons.codes[taken].tolist(),
    }
    if columns.targets is not None:
        data["targets"], data["target_of_person"] = columns.targets.values, columns.targets.codes.tolist()
    if columns.checks is not None:
        data["checks"], data["check_of_person"] = [*map(asdict, columns.checks.values)], columns.checks.codes.tolist()
    if columns.options is not None:
        data["options"] = [[asdict(option) for option in options] for options in columns.options.values]
        data["options_of_person"] = columns.options.codes.tolist()
    if columns.deadlines is not None:
        data["deadlines"], data["deadline_of_person"] = columns.deadlines.values, columns.deadlines.codes.tolist()
    if columns.constraints is not None:
        data["constraints"] = [*map(asdict, columns.constraints.values)]
        data["constraints_of_person"] = columns.constraints.codes.tolist()
    if (robustness := columns.robustness) is not None:
        data["robustness"] = {name: robustness.natives(name) for name in RobustnessColumns.ARRAYS}
        data["survival_bases"] = [asdict(basis) for basis in robustness.basis.values]
        data["basis_of_person"] = robustness.basis.codes.tolist()
    return data


def from_parquet(content: bytes, name: str) -> tuple[PlanSource, Head]:
    """Plans from a Parquet file that `to_parquet` wrote; see `Plans.load`."""
    pa = import_arrow()
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(io.BytesIO(content))
    except (pa.ArrowException, OSError) as error:
        raise PlanError(f"{name}: cannot be read as Parquet: {error}") from None
    packed = (table.schema.metadata or {}).get(KEY)
    if packed is None:
        raise PlanError(
            f"{name}: holds rows of plans without the people, so the plans cannot be loaded; save them as JSON"
        )
    try:
        reader = zlib.decompressobj()
        text = reader.decompress(base64.b64decode(packed), _MAX_JSON).decode()
        if not reader.eof:
            raise ValueError("the metadata are incomplete or too large")
    except (ValueError, zlib.error) as error:
        raise PlanError(f"{name}: damaged: {error}") from None
    data = parse(text, name)
    if "plans" in data:
        plans, head = from_json(text, name)
        return ObjectSource(plans), head
    try:
        head = Head(str(data["problem"]), int(data["queries"]), int(data["cached"]))
        return _source(data, table.to_pandas(), name), head
    except CounterplanError as error:
        raise PlanError(f"{name}: {error}") from None
    except ValidationError as error:
        raise PlanError(f"{name}: {first_mistake(error)}") from None
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise PlanError(f"{name}: damaged: {error!r}") from None


def _source(data: Mapping[str, Any], rows: pd.DataFrame, name: str) -> ColumnSource:
    """The plans of a file: `data` are its metadata, `rows` its table with a row for each step."""
    problem = Problem.from_dict(json.loads(data["definition"]), name)
    people_table = frame_of(data["people"], tuple((column, dtype) for column, dtype in data["dtypes"][0]))
    people_table.index = pd.Index(data["persons"])
    people = problem.read(people_table)
    own = rows[rows["related"] == ""] if "related" in rows else rows
    columns = _read_columns(data, own, problem, len(people))
    for kind in data.get("related", {}):
        if kind not in get_args(RelatedKind):
            raise PlanError(f"related.{kind}: plans are related as {' or '.join(get_args(RelatedKind))}")
        part = data["related"][kind]
        if len(part["count"]) != len(people) or not all(type(n) is int and n >= NO_PLANS for n in part["count"]):
            raise PlanError("the related plans and the people do not match")
        related = RelatedColumns(np.array(part["count"], np.intp), PlanColumns.empty(0, 0))
        related.columns = _read_columns(part, rows[rows["related"] == kind], problem, len(related.owner))
        columns.related[kind] = related
    return ColumnSource(problem, people, columns)


def _read_columns(data: Mapping[str, Any], rows: pd.DataFrame, problem: Problem, count: int) -> PlanColumns:
    """The columns of `count` plans: `data` as `_columns_data` returns them, `rows` of the table."""
    step = rows["step"].to_numpy()
    person = np.cumsum(step <= 1) - 1
    if count != (person[-1] + 1 if len(person) else 0):
        raise PlanError("the rows and the people do not match")
    first, taken = np.flatnonzero(step <= 1), step > 0
    places = person[taken], step[taken] - 1
    columns = PlanColumns.empty(count, int(data["longest"]))
    index = {str(action): action.index for action in problem.transitions.actions}
    arguments = zip(rows["function"][taken], rows["argument"][taken], strict=True)
    columns.actions[places] = [index[f"{function}={text_of(argument)}"] for function, argument in arguments]
    columns.status = [Status(status) for status in rows["status"].iloc[first]]
    columns.verified = rows["verified"].to_numpy(bool)[first]
    columns.optimal = rows["optimal"].to_numpy(bool)[first]
    bounds = rows["lower_bound"].to_numpy(float)[first]
    columns.lower_bound = np.where(np.isnan(bounds), math.inf, bounds)
    columns.queries = rows["questions"].to_numpy(np.intp)[first]
    if data["weights"] is not None:
        columns.weights = np.ones(columns.actions.shape)
        columns.weights[places] = data["weights"]
    if data["reasons"]:
        values: list[StepReason] = [(text, _reason(because)) for text, because in data["reasons"]]
        columns.reasons = Coded(np.full(columns.actions.shape, NO_CODE), values)
        columns.reasons.codes[places] = data["reason_of_step"]
    codes, cautions = pd.factorize(rows["caution"].iloc[first])
    if any(cautions):
        columns.cautions = Coded(np.asarray(codes, np.intp), [str(caution) for caution in cautions])
    if "targets" in data:
        columns.targets = _targets(data, problem, count)
    shared = read_shared(data)
    if "checks" in data:
        columns.checks = _coded(shared.checks, data["check_of_person"], count, "checks")
    if "options" in data:
        columns.options = _coded(read_options(data["options"]), data["options_of_person"], count, "options")
    if "deadlines" in data:
        known = [float(number) for number in data["deadlines"]]
        columns.deadlines = _coded(known, data["deadline_of_person"], count, "deadlines")
    if "constraints" in data:
        limits = read_constraints(data["constraints"])
        columns.constraints = _coded(limits, data["constraints_of_person"], count, "constraints")
    if "robustness" in data:
        columns.robustness = read_robustness(data["robustness"])
        columns.robustness.basis = _coded(
            shared.survival_bases, data["basis_of_person"], len(columns.robustness), "survival_bases"
        )
        if len(columns.robustness) != count:
            raise PlanError("the robustness and the people do not match")
    return columns


def _targets(data: Mapping[str, Any], problem: Problem, people: int) -> Coded[tuple[str, ...]]:
    """The targets of a file, which are outcomes of the problem."""
    values = [tuple(target) for target in data["targets"]]
    for target in values:
        problem.with_target(frozenset(target))
    return _coded(values, data["target_of_person"], people, "targets")


def _coded(values: list[T], codes: Any, people: int, key: str) -> Coded[T]:
    """The values [B] of people as a file has them under `key`."""
    codes = list(codes)
    if len(codes) != people or not all(type(code) is int and NO_CODE <= code < len(values) for code in codes):
        raise PlanError(f"the {key.replace('_', ' ')} and the people do not match")
    return Coded(np.array(codes, np.intp), values)


def _reason(data: Mapping[str, Any] | None) -> Reason | None:
    if data is None:
        return None
    points, needed = data.get("points"), data.get("needed")
    return Reason(data["source"], data["rule"], tuple(data["conditions"]), points, needed)
