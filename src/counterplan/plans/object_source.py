"""`ObjectSource`: plans as `Plan` objects."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice
from typing import TypeVar

import numpy as np

from counterplan.plans.coded import NO_CODE, Coded
from counterplan.plans.columns import NO_PLANS, PlanColumns
from counterplan.plans.plan import Plan, PlanOption, RelatedKind, Step, StepReason
from counterplan.plans.robustness import RobustnessColumns
from counterplan.plans.sources import ActionName, PlanSource, RelatedSource
from counterplan.problem.dtypes import label_of as label_of
from counterplan.problem.transitions import Floats, Ints
from counterplan.search.orders import NO_ACTION
from counterplan.search.schedule import StepSchedule

H = TypeVar("H", bound=Hashable)


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
        columns.constraints = _coded_or_none([plan.constraints for plan in plans])
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


def _coded_or_none(values: Sequence[H | None]) -> Coded[H] | None:
    """Hashable values as codes and a table; None if all are absent."""
    coded = Coded.of(values)
    return coded if coded.values else None
