"""The interface of tasks on partitions, and what they return."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

from counterplan.problem import People, Problem
from counterplan.storage.answer_cache import LabelledStates

if TYPE_CHECKING:
    import pyarrow as pa

Counts = dict[str, int | float]
"""Numbers that add up over partitions."""

PERSON = "person"
"""Column of a result with the position of each row's person in the partition; it is replaced by the key."""


@dataclass(frozen=True)
class PartOutput:
    """The result of a task for one partition.

    Attributes
    ----------
    table : pyarrow.Table
        The rows to write, of the schema `LoadedTask.schema`.
    counts : dict of str to number
        What the manifest states about the partition, and sums up.
    answers : LabelledStates or None
        Answers of the model that are to be recorded.
    """

    table: pa.Table
    counts: Counts
    answers: LabelledStates | None = None


class LoadedTask(Protocol):
    """A task with everything that it needs, loaded once in each worker process."""

    @property
    def problem(self) -> Problem:
        """The problem that people are read for."""

    @property
    def identity(self) -> dict[str, str]:
        """Fingerprints of everything that results depend on, by name; every worker has to load the same."""

    @property
    def as_stored(self) -> bool:
        """Whether a model gets the people: all columns are then read, as pandas reads them."""

    @property
    def extra_columns(self) -> tuple[str, ...]:
        """Columns besides the features that are needed even if no model gets the people."""

    @property
    def schema(self) -> pa.Schema:
        """The schema of every result, also of those without rows."""

    def run(self, people: People) -> PartOutput:
        """Process the people of one partition, whose index counts from 0."""


class PartitionTask(Protocol):
    """A task by names and settings, which can be sent to any process: models are named, never serialized."""

    kind: ClassVar[str]
    """Name of the task in manifests."""

    @property
    def settings(self) -> Mapping[str, object]:
        """The settings that results depend on, as plain data."""

    @property
    def default_rows(self) -> int:
        """Most rows of a partition unless the user says otherwise."""

    def load(self) -> LoadedTask:
        """Load models and learned parts; a CounterplanError if that fails."""

    def describe(self, counts: Counts) -> str:
        """The total of all partitions in words."""


def total(counts: Iterable[Counts]) -> Counts:
    """The sum of counts, by name."""
    result: Counts = {}
    for one in counts:
        for name, value in one.items():
            result[name] = result.get(name, 0) + value
    return {name: round(value, 6) if isinstance(value, float) else value for name, value in result.items()}
