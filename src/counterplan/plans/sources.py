"""Where the content of `Plans` comes from: columns of a search in a known problem, or `Plan` objects."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple, Protocol, TypeVar, cast

import numpy as np
import pandas as pd

from counterplan.errors import PlanError
from counterplan.plans.coded import NO_CODE, Coded
from counterplan.plans.columns import NO_PLANS, PlanColumns, RelatedColumns
from counterplan.plans.distinct import distinct, rounded
from counterplan.plans.plan import Plan, PlanOption, RelatedKind, Step, StepReason
from counterplan.plans.robustness import RobustnessColumns
from counterplan.plans.status import Status
from counterplan.problem import People, Problem
from counterplan.problem.dtypes import Schema, plain, schema_of
from counterplan.problem.dtypes import label_of as label_of
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.problem.values import Native, text_of
from counterplan.search.orders import NO_ACTION
from counterplan.search.schedule import StepSchedule, schedule

H = TypeVar("H", bound=Hashable)
_BLOCK = 512
"""Plans that are built at once."""


class ActionName(NamedTuple):
    """A function and its argument."""

    function: str
    argument: Native

    def __str__(self) -> str:
        return f"{self.function}={text_of(self.argument)}"


@dataclass(frozen=True)
class RelatedSource:
    """Other plans for B people: `count` [B] of each, NO_PLANS where none were searched for, and the plans in order."""

    count: Ints
    source: PlanSource

    @property
    def owner(self) -> Ints:
        """[n] the person of each plan."""
        return np.repeat(np.arange(len(self.count)), np.maximum(self.count, 0))


class PlanSource(Protocol):
    """Plans for B people, of at most T steps."""

    @property
    def columns(self) -> PlanColumns:
        """The plans as arrays; actions index `action_names`."""

    @property
    def action_names(self) -> Sequence[ActionName]:
        """Names of the actions in `columns`."""

    @property
    def persons(self) -> list[int | str]:
        """[B] index labels of the people."""

    @property
    def step_costs(self) -> Floats:
        """[B, T] costs of the steps, padded with 0."""

    @property
    def schedule(self) -> StepSchedule | None:
        """Start and duration [B, T] of the steps; None if the problem has no durations."""

    @property
    def time_unit(self) -> str:
        """The unit of durations; empty if the problem has none."""

    @property
    def texts(self) -> Coded[str]:
        """[B, T] the steps in words."""

    @property
    def related(self) -> dict[RelatedKind, RelatedSource]:
        """Other plans for the same people, by how they are related to these."""

    def plans(self, rows: range) -> Iterator[Plan]:
        """The plans of `rows` as objects."""

    def take(self, rows: slice | Ints) -> PlanSource:
        """The plans of `rows`."""

    def with_reasons(self, rows: Ints, steps: Ints, reasons: Coded[StepReason]) -> PlanSource:
        """The same plans with other reasons [n] for `steps` [n] of the people `rows` [n]."""

    def with_options(self, rows: Ints, options: Coded[tuple[PlanOption, ...]]) -> PlanSource:
        """The same plans with other options [n] of the people `rows` [n]."""

    def with_robustness(self, robustness: RobustnessColumns) -> PlanSource:
        """The same plans with other robustness [B]."""

    def with_related(self, kind: RelatedKind, related: PlanSource) -> PlanSource:
        """The same plans with other related plans, as many of each person as before."""


class ColumnSource:
    """Plans as columns; states, costs, words and `Plan` objects are computed when they are needed."""

    def __init__(self, problem: Problem, people: People, columns: PlanColumns) -> None:
        self.problem, self.people, self.columns = problem, people, columns
        found = np.fromiter((status == Status.FOUND for status in columns.status), bool, len(columns))
        count = steps_taken(columns).sum(axis=1)
        for row in np.flatnonzero((count > 0) != found).tolist():
            raise PlanError(f"a plan with status {columns.status[row]} and {count[row]} steps contradicts itself")

    @cached_property
    def persons(self) -> list[int | str]:
        """See `PlanSource.persons`."""
        return labels_of(self.people.table.index)

    @cached_property
    def action_names(self) -> Sequence[ActionName]:
        """See `PlanSource.action_names`."""
        actions = self.problem.transitions.actions
        return [ActionName(action.function, action.argument) for action in actions if action.argument is not None]

    @cached_property
    def _schema(self) -> Schema:
        """The dtypes of the people's table."""
        return schema_of(self.people.table)

    @cached_property
    def _rollout(self) -> tuple[Floats, Floats, Floats]:
        """Cost of each step, and the number that it changes, before and after: [B, T] each."""
        transitions, actions = self.problem.transitions, self.columns.actions
        cost, before, after = np.zeros((3, *actions.shape))
        targets = np.array([function.target for function in transitions.functions], np.intp)
        for t, rows, states, ends, costs in self._steps():
            target = targets[transitions.function_of[actions[rows, t]]]
            places = np.arange(len(rows))
            cost[rows, t], before[rows, t], after[rows, t] = costs, states[places, target], ends[places, target]
        if self.columns.weights is not None:
            cost *= self.columns.weights
        return rounded(cost), before, after

    def _steps(self) -> Iterator[tuple[int, Ints, Floats, Floats, Floats]]:
        """Step number, people [n], states [n, F] before and after, and unweighted costs [n], step by step."""
        taken, states = steps_taken(self.columns), self.people.states
        for t in range(taken.shape[1]):
            rows = np.flatnonzero(taken[:, t])
            if not len(rows):
                return
            before = states if t == 0 and len(rows) == len(states) else states[rows]
            after, costs, _ = self.problem.transitions.step(before, self.columns.actions[rows, t])
            yield t, rows, before, after, costs
            if len(rows) == len(states):
                states = after
            else:
                states = states.copy()
                states[rows] = after

    @property
    def step_costs(self) -> Floats:
        """See `PlanSource.step_costs`."""
        return self._rollout[0]

    @cached_property
    def schedule(self) -> StepSchedule | None:
        """See `PlanSource.schedule`."""
        if not self.time_unit:
            return None
        actions = np.where(steps_taken(self.columns), self.columns.actions, NO_ACTION)
        return schedule(self.problem.transitions, self.people.states, actions)

    @property
    def time_unit(self) -> str:
        """See `PlanSource.time_unit`."""
        return self.problem.time_unit

    @cached_property
    def texts(self) -> Coded[str]:
        """See `PlanSource.texts`: each distinct change is put into words once."""
        _, before, after = self._rollout
        taken = steps_taken(self.columns)
        transitions, actions = self.problem.transitions, self.columns.actions[taken]
        codes, first = distinct(actions, before[taken], after[taken])
        texts = []
        state, end = np.zeros((2, len(self.problem.features)))
        for action, old, new in zip(actions[first].tolist(), before[taken][first], after[taken][first], strict=True):
            target = transitions.functions[int(transitions.function_of[action])].target
            state[target], end[target] = old, new
            texts.append(transitions.describe_step(action, state, end))
        result: Coded[str] = Coded.empty(self.columns.actions.shape)
        result.codes[taken] = codes
        result.values = texts
        return result

    @cached_property
    def related(self) -> dict[RelatedKind, RelatedSource]:
        """See `PlanSource.related`; the targets are those of the plans."""
        result: dict[RelatedKind, RelatedSource] = {}
        for kind, related in self.columns.related.items():
            targets = None if self.columns.targets is None else self.columns.targets.take(related.owner)
            columns = replace(related.columns, targets=targets)
            source = ColumnSource(self.problem, self.people.take(related.owner), columns)
            result[kind] = RelatedSource(related.count, source)
        return result

    @property
    def final_states(self) -> Floats:
        """[B, F] states after the last step."""
        states = self.people.states.copy()
        for _, rows, _, after, _ in self._steps():
            states[rows] = after
        return states

    def plans(self, rows: range) -> Iterator[Plan]:
        """See `PlanSource.plans`."""
        for first in range(0, len(rows), _BLOCK):
            block = rows[first : first + _BLOCK]
            yield from self._block(np.array(block, np.intp))

    def _block(self, rows: Ints) -> Iterator[Plan]:
        """The plans of a few people, whose states are computed together."""
        part = ColumnSource(self.problem, self.people.take(rows), self.columns.take(rows))
        columns, names = part.columns, self.action_names
        table = part.people.table
        titles = labels_of(table.columns)
        visited = [[self.problem.describe(state)] for state in part.people.states]
        for _, moved, _, after, _ in part._steps():
            for row, state in zip(moved.tolist(), after, strict=True):
                visited[row].append(self.problem.describe(state))
        related, times = _by_person(part), part.schedule
        for row, values in enumerate(table.itertuples(index=False, name=None)):
            states, steps = visited[row], []
            for t in range(len(states) - 1):
                function, argument = names[columns.actions[row, t]]
                reason = None if columns.reasons is None else columns.reasons.get(row, t)
                sentence, because = reason or (None, None)
                steps.append(
                    Step(
                        function=function,
                        argument=argument,
                        cost=float(part.step_costs[row, t]),
                        text=part.texts.values[part.texts.codes[row, t]],
                        before=states[t],
                        after=states[t + 1],
                        reason=sentence,
                        because=because,
                        weight=1.0 if columns.weights is None else float(columns.weights[row, t]),
                        start=None if times is None else float(times.start[row, t]),
                        duration=None if times is None else float(times.duration[row, t]),
                    )
                )
            bound, verified = float(columns.lower_bound[row]), bool(columns.verified[row])
            yield Plan(
                person=part.persons[row],
                status=Status(columns.status[row]),
                start=states[0],
                steps=tuple(steps),
                verified=verified,
                optimal=bool(columns.optimal[row]),
                lower_bound=round(bound, 9) if np.isfinite(bound) else None,
                queries=int(columns.queries[row]),
                row=tuple((name, plain(value)) for name, value in zip(titles, values, strict=True)),
                caution="" if columns.cautions is None else columns.cautions.get(row) or "",
                dtypes=self._schema,
                target=() if columns.targets is None else columns.targets.get(row) or (),
                robustness=None if columns.robustness is None else columns.robustness[row],
                check=None if columns.checks is None else columns.checks.get(row),
                options=() if columns.options is None else columns.options.get(row) or (),
                time_unit=self.time_unit,
                deadline=None if columns.deadlines is None else columns.deadlines.get(row),
                related=related[row],
            )

    def take(self, rows: slice | Ints) -> ColumnSource:
        """See `PlanSource.take`."""
        return ColumnSource(self.problem, self.people.take(rows), self.columns.take(rows))

    def with_reasons(self, rows: Ints, steps: Ints, reasons: Coded[StepReason]) -> ColumnSource:
        """See `PlanSource.with_reasons`."""
        old = self.columns.reasons or Coded.empty(self.columns.actions.shape)
        codes = old.codes.copy()
        codes[rows, steps] = np.where(reasons.codes == NO_CODE, NO_CODE, reasons.codes + len(old.values))
        table = [*old.values, *reasons.values]
        return self._with_columns(replace(self.columns, reasons=Coded(codes, table)))

    def with_options(self, rows: Ints, options: Coded[tuple[PlanOption, ...]]) -> ColumnSource:
        """See `PlanSource.with_options`."""
        old = self.columns.options
        new: Coded[tuple[PlanOption, ...]] = Coded.empty((len(self.columns),))
        if old is not None:
            new = Coded(old.codes.copy(), old.values)
        new.put(rows, options)
        return self._with_columns(replace(self.columns, options=new))

    def with_robustness(self, robustness: RobustnessColumns) -> ColumnSource:
        """See `PlanSource.with_robustness`."""
        return self._with_columns(replace(self.columns, robustness=robustness))

    def with_related(self, kind: RelatedKind, related: PlanSource) -> ColumnSource:
        """See `PlanSource.with_related`."""
        others = RelatedColumns(self.columns.related[kind].count, replace(related.columns, targets=None))
        return self._with_columns(replace(self.columns, related=self.columns.related | {kind: others}))

    def _with_columns(self, columns: PlanColumns) -> ColumnSource:
        """The same actions with other columns; what was computed from the actions is kept."""
        result = ColumnSource(self.problem, self.people, columns)
        for name in ("persons", "_rollout", "schedule", "texts"):  # `related` depends on the columns
            if name in self.__dict__:
                result.__dict__[name] = self.__dict__[name]
        return result

    @staticmethod
    def join(sources: Sequence[ColumnSource]) -> ColumnSource | None:
        """The plans of all sources; None if their problems or tables differ."""
        first = sources[0]
        dtypes = first.people.table.dtypes
        for other in sources[1:]:
            if other.problem is not first.problem and other.problem.fingerprint != first.problem.fingerprint:
                return None
            if other.columns.actions.shape[1] != first.columns.actions.shape[1]:
                return None
            if not other.people.table.dtypes.equals(dtypes):
                return None
        states = np.concatenate([source.people.states for source in sources])
        table = pd.concat([source.people.table for source in sources])
        people = People(first.people.features, states, table)
        return ColumnSource(first.problem, people, PlanColumns.join([source.columns for source in sources]))


class ObjectSource:
    """Plans as `Plan` objects, for instance from a file, without the problem that they were made for."""

    def __init__(self, objects: Sequence[Plan]) -> None:
        self.objects = tuple(objects)

    @cached_property
    def persons(self) -> list[int | str]:
        """See `PlanSource.persons`."""
        return [plan.person for plan in self.objects]

    @cached_property
    def _actions(self) -> tuple[list[ActionName], Ints]:
        """The distinct actions in order of appearance, and their codes [B, T]."""
        numbers: dict[tuple[ActionName, type], int] = {}

        def number(step: Step) -> int:
            """The code of an action; 1, 1.0 and True are different arguments."""
            name = ActionName(step.function, step.argument)
            return numbers.setdefault((name, type(step.argument)), len(numbers))

        codes = self._filled(number).astype(np.intp)
        return [name for name, _ in numbers], codes

    def _filled(self, value: Callable[[Step], float], absent: float = NO_ACTION) -> Floats:
        """A number [B, T] for each step."""
        longest = max((len(plan.steps) for plan in self.objects), default=0)
        result = np.full((len(self.objects), longest), float(absent))
        for row, plan in enumerate(self.objects):
            for t, step in enumerate(plan.steps):
                result[row, t] = value(step)
        return result

    @property
    def action_names(self) -> Sequence[ActionName]:
        """See `PlanSource.action_names`."""
        return self._actions[0]

    @cached_property
    def columns(self) -> PlanColumns:
        """See `PlanSource.columns`."""
        plans, actions = self.objects, self._actions[1]
        columns = PlanColumns(
            actions,
            [plan.status for plan in plans],
            np.array([plan.verified for plan in plans], bool),
            np.array([plan.optimal for plan in plans], bool),
            np.array([np.inf if plan.lower_bound is None else plan.lower_bound for plan in plans], float),
            np.array([plan.queries for plan in plans], np.intp),
        )
        weights = self._filled(lambda step: step.weight, 1.0)
        columns.weights = weights if (weights != 1).any() else None
        reasons: dict[int, StepReason] = {}
        codes = self._filled(lambda step: self._reason_code(step, reasons)).astype(np.intp)
        columns.reasons = Coded(codes, [*reasons.values()]) if reasons else None
        columns.cautions = _coded_or_none([plan.caution or None for plan in plans])
        columns.targets = _coded_or_none([plan.target or None for plan in plans])
        columns.checks = _coded_or_none([plan.check for plan in plans])
        columns.options = _coded_or_none([plan.options or None for plan in plans])
        columns.deadlines = _coded_or_none([plan.deadline for plan in plans])
        if any(plan.robustness is not None for plan in plans):
            columns.robustness = RobustnessColumns.of([plan.robustness for plan in plans])
        return columns

    @staticmethod
    def _reason_code(step: Step, reasons: dict[int, StepReason]) -> int:
        """The code of a step's reason, which is added to `reasons`."""
        if step.reason is None and step.because is None:
            return NO_CODE
        reasons[len(reasons)] = step.reason, step.because
        return len(reasons) - 1

    @cached_property
    def related(self) -> dict[RelatedKind, RelatedSource]:
        """See `PlanSource.related`; `columns` have none, because actions have numbers of their own here."""
        kinds = dict.fromkeys(kind for plan in self.objects for kind in plan.related)
        return {
            kind: RelatedSource(
                np.array(
                    [len(plan.related[kind]) if kind in plan.related else NO_PLANS for plan in self.objects], np.intp
                ),
                ObjectSource([other for plan in self.objects for other in plan.related.get(kind, ())]),
            )
            for kind in kinds
        }

    @cached_property
    def step_costs(self) -> Floats:
        """See `PlanSource.step_costs`."""
        return self._filled(lambda step: step.cost, 0.0)

    @cached_property
    def schedule(self) -> StepSchedule | None:
        """See `PlanSource.schedule`."""
        if not self.time_unit:
            return None
        return StepSchedule(
            self._filled(lambda step: step.start or 0.0, 0.0), self._filled(lambda step: step.duration or 0.0, 0.0)
        )

    @cached_property
    def time_unit(self) -> str:
        """See `PlanSource.time_unit`; the unit of the first plan that has one."""
        return next((plan.time_unit for plan in self.objects if plan.time_unit), "")

    @cached_property
    def texts(self) -> Coded[str]:
        """See `PlanSource.texts`."""
        texts: dict[str, int] = {}
        codes = self._filled(lambda step: texts.setdefault(step.text, len(texts)))
        return Coded(codes.astype(np.intp), [*texts])

    def plans(self, rows: range) -> Iterator[Plan]:
        """See `PlanSource.plans`."""
        return (self.objects[row] for row in rows)

    def take(self, rows: slice | Ints) -> ObjectSource:
        """See `PlanSource.take`."""
        chosen = range(len(self.objects))[rows] if isinstance(rows, slice) else rows.tolist()
        return ObjectSource([self.objects[row] for row in chosen])

    def with_reasons(self, rows: Ints, steps: Ints, reasons: Coded[StepReason]) -> ObjectSource:
        """See `PlanSource.with_reasons`."""
        changed: dict[int, list[Step]] = {}
        for i, (row, t) in enumerate(zip(rows.tolist(), steps.tolist(), strict=True)):
            reason = reasons.get(i) or (None, None)
            new = changed.setdefault(row, [*self.objects[row].steps])
            new[t] = replace(new[t], reason=reason[0], because=reason[1])
        objects = list(self.objects)
        for row, new in changed.items():
            objects[row] = replace(objects[row], steps=tuple(new))
        return ObjectSource(objects)

    def with_options(self, rows: Ints, options: Coded[tuple[PlanOption, ...]]) -> ObjectSource:
        """See `PlanSource.with_options`."""
        objects = list(self.objects)
        for i, row in enumerate(rows.tolist()):
            objects[row] = replace(objects[row], options=options.get(i) or ())
        return ObjectSource(objects)

    def with_robustness(self, robustness: RobustnessColumns) -> ObjectSource:
        """See `PlanSource.with_robustness`."""
        return ObjectSource([replace(plan, robustness=robustness[row]) for row, plan in enumerate(self.objects)])

    def with_related(self, kind: RelatedKind, related: PlanSource) -> ObjectSource:
        """See `PlanSource.with_related`."""
        others = related.plans(range(len(related.persons)))
        return ObjectSource(
            [
                replace(plan, related=plan.related | {kind: tuple(islice(others, len(plan.related[kind])))})
                if kind in plan.related
                else plan
                for plan in self.objects
            ]
        )


def _by_person(source: ColumnSource) -> list[dict[RelatedKind, tuple[Plan, ...]]]:
    """[B] the related plans of each person as objects."""
    result: list[dict[RelatedKind, tuple[Plan, ...]]] = [{} for _ in range(len(source.columns))]
    for kind, related in source.related.items():
        plans = related.source.plans(range(len(related.owner)))
        for row, number in enumerate(related.count.tolist()):
            if number != NO_PLANS:
                result[row][kind] = tuple(islice(plans, number))
    return result


def _coded_or_none(values: Sequence[H | None]) -> Coded[H] | None:
    """Hashable values as codes and a table; None if all are absent."""
    coded = Coded.of(values)
    return coded if coded.values else None


def steps_taken(columns: PlanColumns) -> Bools:
    """[B, T] where plans have a step."""
    return np.asarray(np.logical_and.accumulate(columns.actions != NO_ACTION, axis=1))


def labels_of(index: pd.Index[Any]) -> list[int | str]:
    """The labels of people or columns."""
    if isinstance(index.dtype, np.dtype) and index.dtype.kind in "iu":
        return cast("list[int | str]", index.tolist())
    return [label_of(name) for name in index]
