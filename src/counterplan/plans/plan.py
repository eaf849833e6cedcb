"""What is given back: a Plan for each person, which prints as a person would write it and can be checked again."""

from __future__ import annotations

import json
import math
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
import pandas as pd
from pydantic import NonNegativeInt, TypeAdapter, ValidationError

from counterplan.errors import CounterplanError, PlanError
from counterplan.problem import Problem
from counterplan.problem.values import Native, text_of, visible
from counterplan.storage.files import write_whole

if TYPE_CHECKING:
    from counterplan.blackbox import BlackBox

VERSION = 1
TOLERANCE = 1e-6


class Status(StrEnum):
    """How the search for a plan ended."""

    FOUND = "found"
    ALREADY_FAVOURABLE = "already_favourable"
    INFEASIBLE = "infeasible"
    """Proved: no legal plan within the limit changes the decision."""
    NOT_FOUND = "not_found"
    """The budget was spent, or the planner gave up, before a plan was found."""


@dataclass(frozen=True)
class Reason:
    """Where the reason for a step comes from: a rule of a program, or a contrast with what would be without it."""

    source: Literal["rule", "contrast"]
    rule: str = ""
    """The rule in the language of conditions: `income < 50000 and housing in ['rent']`."""
    conditions: tuple[dict[str, Any], ...] = ()
    """The same as data, feature by feature; and what was not possible, which a rule in that language does not say."""


@dataclass(frozen=True)
class Step:
    """One action: what it is, what it costs, the state before and after it, and why it is taken, if known."""

    function: str
    argument: Native
    cost: float
    text: str
    before: dict[str, Native | None]
    after: dict[str, Native | None]
    reason: str | None = None
    because: Reason | None = None
    """The reason as data."""
    weight: float = 1.0
    """Factor on the cost of the action; part of `cost`."""

    @property
    def action(self) -> str:
        """`CHANGE_JOB=manager`"""
        return f"{self.function}={text_of(self.argument)}"


@dataclass(frozen=True)
class Replay:
    """What came of checking a plan again, step by step."""

    faults: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong with the plan."""
        return not self.faults

    def __str__(self) -> str:
        return "The plan holds." if self.ok else "\n".join(self.faults)


@dataclass(frozen=True)
class Plan:
    """The actions, in order, that turn one person's decision around; STOP is understood at the end."""

    person: int | str
    status: Status
    start: dict[str, Native | None]
    steps: tuple[Step, ...] = ()
    verified: bool = False
    """Whether the black box itself was asked about the final state."""
    optimal: bool = False
    """Whether it is proved that no legal plan costs less."""
    lower_bound: float | None = None
    """No plan costs less than this, as far as is proved; None if no plan exists."""
    questions: int = 0
    """States of this person that the black box, or its memory, was asked about."""
    row: tuple[tuple[int | str, Any], ...] = ()
    """The person as the table had them: every column, in order, for models that want them so."""
    caution: str = ""
    """Why a plan that was not checked is less sure than others, if it is."""

    def __post_init__(self) -> None:
        if (self.status is Status.FOUND) != bool(self.steps):
            raise PlanError(f"a plan with status {self.status} and {len(self.steps)} steps contradicts itself")

    @property
    def cost(self) -> float:
        """The effort of all steps together."""
        return round(math.fsum(step.cost for step in self.steps), 9)

    @property
    def actions(self) -> list[str]:
        """The steps as `FUNCTION=argument`."""
        return [step.action for step in self.steps]

    def __str__(self) -> str:
        return plan_text(self)

    def replay(self, problem: Problem, box: BlackBox) -> Replay:
        """Go through the plan again: every step legal, every cost and state right, and the decision as claimed."""
        try:
            return Replay(tuple(_faults(self, problem, box)))
        except CounterplanError as error:
            return Replay((f"the plan cannot be replayed: {error}",))


def plan_text(plan: Plan) -> str:
    """A plan as one would write it to the person."""
    asked = _questions(plan.questions)
    if plan.status is Status.ALREADY_FAVOURABLE:
        return "The decision is already favourable: nothing needs to change."
    if plan.status is Status.INFEASIBLE:
        return f"Refused. No plan within the rules changes that (proved, {asked} asked)."
    if plan.status is Status.NOT_FOUND:
        if not plan.questions:
            return "No plan was found; no question was asked."
        least = f"; any plan takes an effort of {plan.lower_bound:.1f} or more" if plan.lower_bound else ""
        return f"Refused. No plan was found after {asked}{least}."
    if plan.optimal:
        effort = f"effort {plan.cost:.1f}, the least possible"
    elif plan.lower_bound:
        effort = f"effort {plan.cost:.1f}; the least possible is at least {plan.lower_bound:.1f}"
    else:
        effort = f"effort {plan.cost:.1f}"
    width = max(len(step.text) for step in plan.steps) + 4
    lines = [f"{_promise(plan)} ({effort}):", ""]
    for number, step in enumerate(plan.steps, 1):
        lines.append(f"  {number}. {step.text:<{width}}effort {step.cost:.1f}")
        if step.reason:
            lines += textwrap.wrap(f"because {step.reason}", 110, initial_indent="     ", subsequent_indent="     ")
    return visible("\n".join([*lines, "", _checked(plan)]))


def _promise(plan: Plan) -> str:
    """What is said of the steps: a fact where the black box was asked, otherwise what should be. That somebody is
    refused is only known if it was asked."""
    count = "1 step" if len(plan.steps) == 1 else f"{len(plan.steps)} steps"
    if plan.verified:
        return f"Refused. {count} would change that"
    hope = "might" if plan.caution else "should"
    return f"Refused. {count} {hope} change that" if plan.questions else f"{count} {hope} change the decision"


def _checked(plan: Plan) -> str:
    if plan.verified:
        return f"Checked with the model: favourable. {_questions(plan.questions)} asked."
    if plan.questions > 1:
        said = f"Not checked with the model, which was asked {_questions(plan.questions)} about other states."
    else:
        asked = "It was asked only whether you are refused." if plan.questions else "No question was asked."
        said = f"Not checked with the model. {asked}"
    return "\n".join(textwrap.wrap(f"{said} {plan.caution}".rstrip(), 110))


def _questions(count: int) -> str:
    return "1 question" if count == 1 else f"{count:,} questions"


def _faults(plan: Plan, problem: Problem, box: BlackBox) -> Iterator[str]:
    transitions = problem.transitions
    state = problem.state(plan.start)
    by_name = {str(action): action.index for action in transitions.actions}
    if len(plan.steps) > problem.max_actions:
        yield f"the plan has {len(plan.steps)} steps; the problem allows {problem.max_actions}"
    for number, step in enumerate(plan.steps, 1):
        here = f"step {number} ({step.action})"
        action = by_name.get(step.action)
        if action is None:
            yield f"{here}: the problem has no such action"
            return
        if not _same_state(problem, state, step.before):
            yield f"{here}: does not start where the step before ended"
        if not transitions.legal(state[None])[0, action]:
            yield f"{here}: is not legal in that state"
        cost = float(transitions.cost(state[None])[0, action]) * step.weight
        if not math.isclose(cost, step.cost, rel_tol=TOLERANCE, abs_tol=TOLERANCE):
            yield f"{here}: costs {cost:g}, not {step.cost:g}"
        state = transitions.apply(state[None], np.array([action]))[0]
        if not _same_state(problem, state, step.after):
            yield f"{here}: leads to another state than the plan says"
    row = plan.row or tuple(plan.start.items())
    table = pd.DataFrame([[value for _, value in row]], columns=[name for name, _ in row], dtype=object)
    people = problem.read(table.infer_objects())
    if not _same_state(problem, people.states[0], plan.start):
        yield "the person's row is not the state that the plan starts from"
    favourable = bool(box.about(problem, people)(state[None], np.array([0]))[0])
    if plan.status in (Status.FOUND, Status.ALREADY_FAVOURABLE) and not favourable:
        yield "the black box does not find the final state favourable"
    if plan.status in (Status.INFEASIBLE, Status.NOT_FOUND) and favourable:
        yield "the black box already finds this person favourable"
    if plan.optimal and not plan.verified:
        yield "a plan that was not checked with the black box cannot be called optimal"
    if plan.optimal and abs((plan.lower_bound or 0.0) - plan.cost) > TOLERANCE * max(1.0, plan.cost):
        yield f"it is called optimal at {plan.cost:g}, but the lower bound is {plan.lower_bound}"


def _same_state(problem: Problem, state: np.ndarray[Any, Any], told: Mapping[str, Native | None]) -> bool:
    return bool(np.allclose(state, problem.state(told), rtol=0, atol=TOLERANCE, equal_nan=True))


@dataclass(frozen=True)
class Plans(Sequence[Plan]):
    """The plans for several people, in their order, with what they cost to find."""

    plans: tuple[Plan, ...]
    problem: str = ""
    """Name and fingerprint of the problem they were made for."""
    queries: int = 0
    """Rows that were sent to the black box to find them."""
    cached: int = 0

    def __len__(self) -> int:
        return len(self.plans)

    @overload
    def __getitem__(self, index: int) -> Plan: ...
    @overload
    def __getitem__(self, index: slice) -> Plans: ...
    def __getitem__(self, index: int | slice) -> Plan | Plans:
        if isinstance(index, slice):
            return Plans(self.plans[index], self.problem)
        return self.plans[index]

    def __add__(self, other: Plans) -> Plans:
        """The plans of both, in order."""
        queries, cached = self.queries + other.queries, self.cached + other.cached
        return Plans(self.plans + other.plans, self.problem or other.problem, queries, cached)

    @property
    def counts(self) -> dict[str, int]:
        """How many plans have each status."""
        seen = Counter(plan.status for plan in self.plans)
        return {status.value: seen[status] for status in Status}

    @property
    def reasons(self) -> dict[str, int]:
        """How many steps have a rule as their reason, how many a contrast, and how many none."""
        seen = Counter(step.because.source if step.because else "none" for plan in self.plans for step in plan.steps)
        return {source: seen[source] for source in ("rule", "contrast", "none")}

    def to_frame(self) -> pd.DataFrame:
        """One row per step; a person without steps has one row, with step 0."""
        rows: list[dict[str, Any]] = []
        for plan in self.plans:
            head = {
                "person": plan.person,
                "status": plan.status.value,
                "total_cost": plan.cost if plan.status is Status.FOUND else math.nan,
                "verified": plan.verified,
                "optimal": plan.optimal,
                "lower_bound": math.nan if plan.lower_bound is None else plan.lower_bound,
                "questions": plan.questions,
                "caution": plan.caution,
            }
            for number, step in enumerate(plan.steps, 1):
                rows.append(
                    head
                    | {"step": number, "function": step.function, "argument": step.argument}
                    | {"cost": step.cost, "text": step.text, "reason": step.reason}
                    | {"source": step.because.source if step.because else None}
                )
            if not plan.steps:
                rows.append(head | {"step": 0})
        columns = ["person", "status", "total_cost", "verified", "optimal", "lower_bound", "questions"]
        columns += ["step", "function", "argument", "cost", "text", "reason", "source", "caution"]
        return pd.DataFrame(rows, columns=columns)

    def to_text(self, most: int | None = None) -> str:
        """The plans (the first `most`) as text, each under the person's name, and a closing line that counts them."""
        blocks = [f"Person {plan.person}\n{plan}" for plan in self.plans[:most]]
        if most is not None and len(self) > most:
            blocks.append(f"… and {len(self) - most:,} more.")
        told = [f"{count:,} {name.replace('_', ' ')}" for name, count in self.counts.items() if count]
        unchecked = sum(not plan.verified for plan in self.plans if plan.steps)
        if unchecked:
            told[0] += " (not checked)" if unchecked == self.counts["found"] else f" ({unchecked:,} not checked)"
        people = "1 person" if len(self) == 1 else f"{len(self):,} people"
        remembered = f"{self.cached:,} of them" if self.queries else "all" if self.cached > 1 else "and"
        asked = f"{_questions(self.queries + self.cached)} asked"
        asked += f", {remembered} answered from memory" if self.cached else ""
        blocks.append(f"{people}: {', '.join(told) or 'nothing to do'}. {asked}.")
        return "\n\n".join(blocks)

    def __str__(self) -> str:
        return self.to_text()

    def to_json(self) -> str:
        """The plans as JSON, which `from_json` reads back."""
        plans = [
            asdict(plan) | {"row": [[name, _for_json(value)] for name, value in plan.row], "cost": plan.cost}
            for plan in self.plans
        ]
        for step in (step for plan in plans for step in plan["steps"] if step["weight"] == 1):
            del step["weight"]
        head = {"counterplan_plans": VERSION, "problem": self.problem, "queries": self.queries, "cached": self.cached}
        return json.dumps(head | {"plans": plans}, ensure_ascii=False, indent=1, allow_nan=False)

    @classmethod
    def from_json(cls, text: str, name: str = "plans") -> Plans:
        """Plans from what `to_json` wrote; a PlanError says where a damaged or foreign text goes wrong."""
        try:
            data = json.loads(text, parse_constant=_no_constant)
        except (ValueError, RecursionError) as error:
            raise PlanError(f"{name}: not JSON: {error}") from None
        version = data.get("counterplan_plans") if isinstance(data, dict) else None
        if not isinstance(version, int) or version < 1:
            raise PlanError(f"{name}: these are not plans of counterplan ('counterplan_plans' is missing)")
        if version > VERSION:
            raise PlanError(f"{name}: written by a newer counterplan (version {version}; this one reads {VERSION})")
        fields = {key: data[key] for key in ("problem", "queries", "cached") if key in data}
        plans = data.get("plans")
        if not isinstance(plans, list):
            raise PlanError(f"{name}: 'plans' should be a list")
        try:
            read = _PLANS.validate_python([_without_cost(plan) for plan in plans])
            head = _HEAD.validate_python(fields)
            return cls(tuple(read), head.problem, head.queries, head.cached)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            raise PlanError(f"{name}: plans.{where}: {first['msg']}") from None
        except PlanError as error:
            raise PlanError(f"{name}: {error}") from None

    def save(self, path: str | Path) -> None:
        """Write the plans as JSON, whole or not at all."""
        try:
            write_whole(path, self.to_json())
        except OSError as error:
            raise PlanError(f"{path}: cannot be written: {error.strerror}") from None


def _without_cost(plan: Any) -> Any:
    return {key: value for key, value in plan.items() if key != "cost"} if isinstance(plan, dict) else plan


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number")


def _for_json(value: Any) -> Any:
    """A value of an extra column as JSON can hold it: what it cannot hold becomes a text."""
    fits = value is None or isinstance(value, (str, bool, int)) or (isinstance(value, float) and math.isfinite(value))
    return value if fits else str(value)


@dataclass(frozen=True)
class _Head:
    problem: str = ""
    queries: NonNegativeInt = 0
    cached: NonNegativeInt = 0


_PLANS: TypeAdapter[list[Plan]] = TypeAdapter(list[Plan])
_HEAD: TypeAdapter[_Head] = TypeAdapter(_Head)
