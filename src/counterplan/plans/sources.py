"""`PlanSource`: where the content of `Plans` comes from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
import pandas as pd

from counterplan.plans.coded import Coded
from counterplan.plans.columns import PlanColumns
from counterplan.plans.plan import Plan, PlanOption, RelatedKind, StepReason
from counterplan.plans.robustness import RobustnessColumns
from counterplan.problem.dtypes import label_of as label_of
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.problem.values import Native, text_of
from counterplan.search.orders import NO_ACTION
from counterplan.search.schedule import StepSchedule


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


def steps_taken(columns: PlanColumns) -> Bools:
    """[B, T] where plans have a step."""
    return np.asarray(np.logical_and.accumulate(columns.actions != NO_ACTION, axis=1))


def labels_of(index: pd.Index[Any]) -> list[int | str]:
    """The labels of people or columns."""
    if isinstance(index.dtype, np.dtype) and index.dtype.kind in "iu":
        return cast("list[int | str]", index.tolist())
    return [label_of(name) for name in index]
