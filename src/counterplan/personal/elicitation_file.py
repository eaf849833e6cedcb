"""An elicitation as a JSON file: the person, the settings, what was ruled out, and every answer."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import ConfigDict, Field, StrictInt, TypeAdapter, ValidationError

from counterplan.bounded_json import shortened
from counterplan.errors import CounterplanError, StorageError
from counterplan.personal.preferences import ChoiceModel
from counterplan.problem import People, Problem
from counterplan.problem.dtypes import Schema, for_json, frame_of, label_of, plain, schema_of
from counterplan.problem.values import did_you_mean
from counterplan.storage.files import write_whole
from counterplan.storage.json_files import MAX_SEED, read_json

VERSION = 1
KEY = "counterplan_elicitation"
LIMIT = 5_000_000
"""Most bytes of a file."""
MAX_QUESTIONS = 50
MIN_OPTIONS, MAX_OPTIONS = 2, 4

_Cost = Annotated[float, Field(ge=0, le=1e300, allow_inf_nan=False)]
_Text = Annotated[str, Field(max_length=10_000)]


@dataclass(frozen=True)
class AnsweredOption:
    """An option of a question: its actions, and its costs by function under weights of 1."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")
    actions: tuple[_Text, ...]
    costs: dict[_Text, _Cost]


@dataclass(frozen=True)
class AnsweredQuestion:
    """The options of a question, and the index of the one that was chosen; None for "no difference"."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")
    options: Annotated[tuple[AnsweredOption, ...], Field(min_length=MIN_OPTIONS, max_length=MAX_OPTIONS)]
    choice: Annotated[StrictInt, Field(ge=0, lt=MAX_OPTIONS)] | None

    @property
    def plans(self) -> frozenset[tuple[str, ...]]:
        """The actions of each option."""
        return frozenset(option.actions for option in self.options)


@dataclass(frozen=True)
class SavedElicitation:
    """The state of an elicitation, from which it continues."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")
    problem: _Text
    fingerprint: _Text
    person: int | str
    row: tuple[tuple[int | str, Any], ...]
    dtypes: Schema
    options: Annotated[StrictInt, Field(ge=MIN_OPTIONS, le=MAX_OPTIONS)]
    seed: Annotated[StrictInt, Field(ge=0, le=MAX_SEED)]
    max_questions: Annotated[StrictInt, Field(ge=0, le=MAX_QUESTIONS)]
    min_gain: Annotated[float, Field(ge=0, le=1)]
    planner: _Text | None
    choice_model: ChoiceModel
    cannot: Annotated[tuple[_Text, ...], Field(max_length=10_000)] = ()
    answers: Annotated[tuple[AnsweredQuestion, ...], Field(max_length=MAX_QUESTIONS)] = field(default=())


_SAVED: TypeAdapter[SavedElicitation] = TypeAdapter(SavedElicitation)


def person_data(people: People) -> dict[str, Any]:
    """Label, row and dtypes of one person, as fields of `SavedElicitation`."""
    table, schema = people.table, schema_of(people.table)
    values = next(table.itertuples(index=False, name=None))
    row = tuple((name, for_json(plain(value))) for (name, _), value in zip(schema, values, strict=True))
    return {"person": label_of(table.index[0]), "row": row, "dtypes": schema}


def write_elicitation(path: str | Path, saved: SavedElicitation) -> None:
    """Write a file that only its owner may read; StorageError if it cannot be written."""
    data = {KEY: VERSION, **asdict(saved)}
    write_whole(path, json.dumps(data, ensure_ascii=False, indent=1, allow_nan=False) + "\n", private=True)


def read_elicitation(path: str | Path, problem: Problem) -> tuple[SavedElicitation, People]:
    """Read and validate a file.

    Parameters
    ----------
    path : str or Path
    problem : Problem
        The problem that it has to belong to.

    Returns
    -------
    tuple of SavedElicitation and People
        The content, and the person as the problem reads them.

    Raises
    ------
    StorageError
        If it cannot be read, is not valid, or belongs to another problem; the message names the place.
    """
    data = read_json(path, limit=LIMIT, what="elicitation")
    version = data.get(KEY) if isinstance(data, dict) else None
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise StorageError(f"{path}: this is not an elicitation of counterplan ('{KEY}' is missing)")
    if version > VERSION:
        shown = shortened(str(version))
        raise StorageError(f"{path}: written by a newer counterplan (version {shown}; this one reads {VERSION})")
    try:
        saved = _SAVED.validate_python({key: value for key, value in data.items() if key != KEY})
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise StorageError(f"{path}: {place}: {first['msg'].removeprefix('Value error, ')}") from None
    except CounterplanError as error:
        raise StorageError(f"{path}: choice_model: {error}") from None
    if saved.fingerprint != problem.fingerprint:
        raise StorageError(
            f"{path}: belongs to another problem ('{saved.problem}', {saved.fingerprint}) than '{problem.name}' "
            f"({problem.fingerprint}): its questions were about other actions or costs; start a new one"
        )
    _check_names(path, problem, saved)
    return saved, _person(path, problem, saved)


def _check_names(path: str | Path, problem: Problem, saved: SavedElicitation) -> None:
    """Raise a StorageError about a function or an action that does not exist, or a choice among fewer options."""
    functions = [function.name for function in problem.transitions.functions]
    actions = {str(action) for action in problem.transitions.actions[:-1]}
    for place, name in enumerate(saved.cannot):
        if name not in functions and name not in actions:
            hint = did_you_mean(name, [*functions, *sorted(actions)])
            raise StorageError(f"{path}: cannot.{place}: there is no function or action '{shortened(name)}'{hint}")
    for number, answer in enumerate(saved.answers):
        if answer.choice is not None and answer.choice >= len(answer.options):
            raise StorageError(
                f"{path}: answers.{number}.choice: is {answer.choice}, and there are {len(answer.options)} options, "
                "counted from 0"
            )
        for place, option in enumerate(answer.options):
            for name in option.costs:
                if name not in functions:
                    raise StorageError(
                        f"{path}: answers.{number}.options.{place}.costs: there is no function '{shortened(name)}'"
                        f"{did_you_mean(name, functions)}"
                    )


def _person(path: str | Path, problem: Problem, saved: SavedElicitation) -> People:
    """The person of a file."""
    if [name for name, _ in saved.row] != [name for name, _ in saved.dtypes]:
        raise StorageError(f"{path}: dtypes: the columns are not those of 'row'")
    try:
        table = frame_of([[value] for _, value in saved.row], saved.dtypes)
        table.index = [saved.person]
        return problem.read(table)
    except CounterplanError as error:
        raise StorageError(f"{path}: row: {error}") from None
