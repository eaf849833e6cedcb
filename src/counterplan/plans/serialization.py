"""Plans as JSON: one format, version 1, for `Plans.to_json`, `Plans.from_json` and `Plans.save`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from pydantic import NonNegativeInt, TypeAdapter, ValidationError

from counterplan.bounded_json import parse_json
from counterplan.errors import PlanError, StorageError
from counterplan.plans.constraints import Constraints
from counterplan.plans.plan import Plan, PlanOption, Reason, Step
from counterplan.plans.robustness import Check, Robustness, RobustnessColumns, SurvivalBasis
from counterplan.plans.status import Status
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


@dataclass(frozen=True)
class Shared:
    """Values that many plans of a file have in common: they are written once, and plans have their indices."""

    checks: list[Check] = field(default_factory=list)
    survival_bases: list[SurvivalBasis] = field(default_factory=list)
    dtypes: list[Schema] = field(default_factory=list)


_PLANS: TypeAdapter[list[Plan]] = TypeAdapter(list[Plan])
_HEAD: TypeAdapter[Head] = TypeAdapter(Head)
_SHARED: TypeAdapter[Shared] = TypeAdapter(Shared)
_LISTS: TypeAdapter[dict[str, list[Any]]] = TypeAdapter(dict[str, list[Any]])
_ROBUSTNESS: TypeAdapter[list[Robustness]] = TypeAdapter(list[Robustness])
_CONSTRAINTS: TypeAdapter[list[Constraints]] = TypeAdapter(list[Constraints])
_OPTIONS: TypeAdapter[list[tuple[PlanOption, ...]]] = TypeAdapter(list[tuple[PlanOption, ...]])
_INDICES = (("check", "checks"), ("dtypes", "dtypes"))
"""Keys of plans whose values are indices, and the keys of `Shared` that they refer to."""
_OF_PERSON = ("person", "start", "row", "dtypes", "target", "time_unit", "constraints")
"""Keys that related plans have in common with the plan that they are related to."""


def to_json(plans: Iterable[Plan], head: Head) -> str:
    """JSON; see `Plans.to_json`."""
    shared = Shared()
    written = [_plan_data(plan, shared) for plan in plans]
    tables = {key: table for key, table in asdict(shared).items() if table}
    data = {"counterplan_plans": VERSION, **asdict(head), **tables, "plans": written}
    return json.dumps(data, ensure_ascii=False, indent=1, allow_nan=False)


def _index(value: Any, table: list[Any]) -> int:
    """The index of a value in a short table, to which it is added if necessary."""
    same = (i for i, known in enumerate(table) if known is value or known == value)
    index = next(same, len(table))
    if index == len(table):
        table.append(value)
    return index


def _plan_data(plan: Plan, shared: Shared) -> dict[str, Any]:
    """A plan as it is written: `queries` has the key "questions", and the cost of a person without a plan is 0.

    Values that plans have in common are indices of entries of `shared`, to which they are added if necessary.
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
    if any(step.weight != 1 for step in plan.steps):
        data["unweighted_cost"] = plan.unweighted_cost
    if plan.target:
        data["target"] = list(plan.target)
    if plan.check is not None:
        data["check"] = _index(plan.check, shared.checks)
    if plan.robustness is not None:
        basis = plan.robustness.basis
        data["robustness"] = {name: getattr(plan.robustness, name) for name in RobustnessColumns.ARRAYS}
        data["robustness"]["basis"] = None if basis is None else _index(basis, shared.survival_bases)
    if plan.options:
        data["options"] = [asdict(option) for option in plan.options]
    if plan.dtypes:
        data["dtypes"] = _index(plan.dtypes, shared.dtypes)
    if plan.time_unit:
        data["time_unit"] = plan.time_unit
        data["duration"] = plan.duration if plan.status in (Status.FOUND, Status.ALREADY_FAVOURABLE) else None
    if plan.deadline is not None:
        data["deadline"] = plan.deadline
    if plan.constraints is not None:
        data["constraints"] = asdict(plan.constraints)
    if plan.related:
        data["related"] = {
            kind: [_related_data(other, shared) for other in plans] for kind, plans in plan.related.items()
        }
    return data


def _related_data(plan: Plan, shared: Shared) -> dict[str, Any]:
    """A related plan as it is written: without the facts about the person, which the other plan has."""
    return {key: value for key, value in _plan_data(plan, shared).items() if key not in _OF_PERSON}


def _step_data(step: Step) -> dict[str, Any]:
    """A step as it is written; the weight only if there is one."""
    because = step.because
    data: dict[str, Any] = {
        "function": step.function,
        "argument": step.argument,
        "cost": step.cost,
        "text": step.text,
        "before": step.before,
        "after": step.after,
        "reason": step.reason,
        "because": None if because is None else reason_data(because),
    }
    if step.weight != 1:
        data["weight"] = step.weight
    if step.duration is not None:
        data |= {"start": step.start, "duration": step.duration}
    return data


def reason_data(reason: Reason) -> dict[str, Any]:
    """A reason as it is written; points only if there are any."""
    data = {"source": reason.source, "rule": reason.rule, "conditions": reason.conditions}
    return data if reason.points is None else data | {"points": reason.points, "needed": reason.needed}


def from_json(text: str, name: str) -> tuple[list[Plan], Head]:
    """Plans and facts from JSON; see `Plans.from_json`."""
    data = parse(text, name)
    fields = {key: data[key] for key in ("problem", "queries", "cached") if key in data}
    plans = data.get("plans")
    if not isinstance(plans, list):
        raise PlanError(f"{name}: 'plans' should be a list")
    try:
        head = _HEAD.validate_python(fields)
        shared = read_shared(data)
    except ValidationError as error:
        raise PlanError(f"{name}: {first_mistake(error)}") from None
    try:
        return _PLANS.validate_python([_arguments(plan, shared) for plan in plans]), head
    except ValidationError as error:
        raise PlanError(f"{name}: plans.{first_mistake(error)}") from None


def read_shared(data: Mapping[str, Any]) -> Shared:
    """The values that plans have in common; a ValidationError names the place of a mistake."""
    return _SHARED.validate_python({key: data[key] for key in ("checks", "survival_bases", "dtypes") if key in data})


def read_robustness(lists: Any) -> RobustnessColumns:
    """Columns, without a basis, from a list [B] for each array; a ValidationError names the place of a mistake."""
    by_name = _LISTS.validate_python(lists)
    rows = zip(*(by_name[name] for name in RobustnessColumns.ARRAYS), strict=True)
    data = [dict(zip(RobustnessColumns.ARRAYS, row, strict=True)) for row in rows]
    return RobustnessColumns.of(_ROBUSTNESS.validate_python(data))


def read_options(data: Any) -> list[tuple[PlanOption, ...]]:
    """Options of people; a ValidationError names the place of a mistake."""
    return _OPTIONS.validate_python(data)


def read_constraints(data: Any) -> list[Constraints]:
    """Constraints of people; a ValidationError names the place of a mistake."""
    return _CONSTRAINTS.validate_python(data)


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


def first_mistake(error: ValidationError) -> str:
    """Place and message of the first mistake, with the names that the file uses."""
    first = error.errors()[0]
    place = ".".join(_KEYS.get(part, str(part)) if len(first["loc"]) > 1 else str(part) for part in first["loc"])
    return f"{place}: {first['msg'].removeprefix('Value error, ')}"


def _arguments(plan: Any, shared: Shared) -> Any:
    """The data of a plan with the names of `Plan`'s parameters, and shared values in place of their indices."""
    if not isinstance(plan, dict):
        return plan
    known = {key: value for key, value in plan.items() if key not in ("cost", "unweighted_cost", "duration", *_KEYS)}
    known |= {name: plan[key] for name, key in _KEYS.items() if key in plan}
    for key, table in _INDICES:
        known = _resolved(known, key, getattr(shared, table))
    if isinstance(robustness := known.get("robustness"), dict):
        known["robustness"] = _resolved(robustness, "basis", shared.survival_bases)
    if isinstance(related := known.get("related"), dict):
        person = {key: plan[key] for key in _OF_PERSON if key in plan}
        known["related"] = {kind: _related_arguments(plans, person, shared) for kind, plans in related.items()}
    return known


def _related_arguments(plans: Any, person: dict[str, Any], shared: Shared) -> Any:
    """The data of related plans, completed by the facts about the `person`."""
    if not isinstance(plans, list):
        return plans
    return [_arguments(plan | person, shared) if isinstance(plan, dict) else plan for plan in plans]


def _resolved(data: dict[str, Any], key: str, table: list[Any]) -> dict[str, Any]:
    """`data` with the entry of `table` in place of its index; a wrong index stays, and is not valid."""
    index = data.get(key)
    return data | {key: table[index]} if isinstance(index, int) and 0 <= index < len(table) else data
