"""`ColumnSource`: plans as columns of a search in a known problem."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice

import numpy as np
import pandas as pd

from counterplan.errors import PlanError
from counterplan.plans.coded import NO_CODE, Coded
from counterplan.plans.columns import NO_PLANS, PlanColumns, RelatedColumns
from counterplan.plans.distinct import distinct, rounded
from counterplan.plans.plan import Plan, PlanOption, RelatedKind, Step, StepReason
from counterplan.plans.robustness import RobustnessColumns
from counterplan.plans.sources import ActionName, PlanSource, RelatedSource, labels_of, steps_taken
from counterplan.plans.status import Status
from counterplan.problem import People, Problem
from counterplan.problem.dtypes import Schema, plain, schema_of
from counterplan.problem.dtypes import label_of as label_of
from counterplan.problem.transitions import Floats, Ints
from counterplan.search.orders import NO_ACTION
from counterplan.search.schedule import StepSchedule, schedule

_BLOCK = 512
"""Plans that are built at once."""


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
        """See `PlanSource.related`; targets and constraints are those of the plans."""
        result: dict[RelatedKind, RelatedSource] = {}
        for kind, related in self.columns.related.items():
            targets = None if self.columns.targets is None else self.columns.targets.take(related.owner)
            limits = None if self.columns.constraints is None else self.columns.constraints.take(related.owner)
            columns = replace(related.columns, targets=targets, constraints=limits)
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
                constraints=None if columns.constraints is None else columns.constraints.get(row),
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
        columns = replace(related.columns, targets=None, constraints=None)
        others = RelatedColumns(self.columns.related[kind].count, columns)
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


def _by_person(source: ColumnSource) -> list[dict[RelatedKind, tuple[Plan, ...]]]:
    """[B] the related plans of each person as objects."""
    result: list[dict[RelatedKind, tuple[Plan, ...]]] = [{} for _ in range(len(source.columns))]
    for kind, related in source.related.items():
        plans = related.source.plans(range(len(related.owner)))
        for row, number in enumerate(related.count.tolist()):
            if number != NO_PLANS:
                result[row][kind] = tuple(islice(plans, number))
    return result
