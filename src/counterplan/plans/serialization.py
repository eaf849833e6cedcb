"""Plans as JSON: one format, version 1, for `Plans.to_json`, `Plans.from_json` and `Plans.save`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from pydantic import NonNegativeInt, TypeAdapter, ValidationError

from counterplan.bounded_json import parse_json
from counterplan.errors import PlanError, StorageError
from counterplan.plans.plan import Plan, Step
from counterplan.problem.dtypes import Schema, for_json

VERSION = 1
LIMIT = 1_000_000_000
"""Most characters of a file of plans."""
_KEYS: dict[int | str, str] = {"queries": "questions"}
"""Keys of plans in the file, where they differ from the parameters of `Plan`."""


@dataclass(frozen=True)
class Head:
    """Facts about all plans of a file."""

    problem: str = ""
    queries: NonNegativeInt = 0
    cached: NonNegativeInt = 0


_PLANS: TypeAdapter[list[Plan]] = TypeAdapter(list[Plan])
_HEAD: TypeAdapter[Head] = TypeAdapter(Head)
_SCHEMAS: TypeAdapter[list[Schema]] = TypeAdapter(list[Schema])


def to_json(plans: Iterable[Plan], head: Head) -> str:
    """JSON; see `Plans.to_json`."""
    schemas: list[Schema] = []
    written = [_plan_data(plan, schemas) for plan in plans]
    dtypes = {"dtypes": schemas} if schemas else {}
    data = {"counterplan_plans": VERSION, **asdict(head), **dtypes, "plans": written}
    return json.dumps(data, ensure_ascii=False, indent=1, allow_nan=False)


def _plan_data(plan: Plan, schemas: list[Schema]) -> dict[str, Any]:
    """A plan as it is written: `queries` has the key "questions", and the cost of nobody's plan is 0.

    Its dtypes are the index of an entry of `schemas`, to which they are added if necessary.
    """
    data: dict[str, Any] = {
        "person": plan.person,
        "status": plan.status,
        "start": plan.start,
        "steps": [_step_data(step) for step in plan.steps],
        "verified": plan.verified,
        "optimal": plan.optimal,
        "lower_bound": plan.lower_bound,
        "questions": plan.queries,
        "row": [[name, for_json(value)] for name, value in plan.row],
        "caution": plan.caution,
        "cost": plan.cost if plan.steps else 0.0,
    }
    if plan.target:
        data["target"] = list(plan.target)
    if not plan.dtypes:
        return data
    same = (i for i, schema in enumerate(schemas) if schema is plan.dtypes or schema == plan.dtypes)
    index = next(same, len(schemas))
    if index == len(schemas):
        schemas.append(plan.dtypes)
    return data | {"dtypes": index}


def _step_data(step: Step) -> dict[str, Any]:
    """A step as it is written; the weight only if there is one."""
    because = step.because
    data = {
        "function": step.function,
        "argument": step.argument,
        "cost": step.cost,
        "text": step.text,
        "before": step.before,
        "after": step.after,
        "reason": step.reason,
        "because": None
        if because is None
        else {"source": because.source, "rule": because.rule, "conditions": because.conditions},
    }
    return data if step.weight == 1 else data | {"weight": step.weight}


def from_json(text: str, name: str) -> tuple[list[Plan], Head]:
    """Plans and facts from JSON; see `Plans.from_json`."""
    data = parse(text, name)
    fields = {key: data[key] for key in ("problem", "queries", "cached") if key in data}
    plans = data.get("plans")
    if not isinstance(plans, list):
        raise PlanError(f"{name}: 'plans' should be a list")
    try:
        head = _HEAD.validate_python(fields)
        schemas = _SCHEMAS.validate_python(data.get("dtypes", []))
    except ValidationError as error:
        raise PlanError(f"{name}: {_first(error)}") from None
    try:
        return _PLANS.validate_python([_arguments(plan, schemas) for plan in plans]), head
    except ValidationError as error:
        raise PlanError(f"{name}: plans.{_first(error)}") from None


def parse(text: str, name: str) -> dict[str, Any]:
    """The data in a text that is JSON of counterplan, in a version that can be read."""
    if not isinstance(text, str):
        raise PlanError(f"{name}: plans are read from text, not from {type(text).__name__}")
    if len(text) > LIMIT:
        raise StorageError(f"{name}: cannot be read: larger than {LIMIT:,} characters")
    data = parse_json(text, name, what="plans")
    version = data.get("counterplan_plans") if isinstance(data, dict) else None
    if not isinstance(version, int) or version < 1:
        raise PlanError(f"{name}: these are not plans of counterplan ('counterplan_plans' is missing)")
    if version > VERSION:
        raise PlanError(f"{name}: written by a newer counterplan (version {version}; this one reads {VERSION})")
    return dict(data)


def _first(error: ValidationError) -> str:
    """Place and message of the first mistake, with the names that the file uses."""
    first = error.errors()[0]
    place = ".".join(_KEYS.get(part, str(part)) if len(first["loc"]) > 1 else str(part) for part in first["loc"])
    return f"{place}: {first['msg'].removeprefix('Value error, ')}"


def _arguments(plan: Any, schemas: list[Schema]) -> Any:
    """The data of a plan with the names of `Plan`'s parameters, and its dtypes in place of their index."""
    if not isinstance(plan, dict):
        return plan
    index = plan.get("dtypes")
    if isinstance(index, int) and 0 <= index < len(schemas):
        plan = plan | {"dtypes": schemas[index]}
    known = {key: value for key, value in plan.items() if key not in ("cost", *_KEYS)}
    return known | {name: plan[key] for name, key in _KEYS.items() if key in plan}
