"""An elicitation as a JSON file: the person, the settings, what was ruled out, and every answer."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import ConfigDict, Field, StrictInt, TypeAdapter, ValidationError

from counterplan.bounded_json import shortened
from counterplan.errors import CounterplanError, StorageError
from counterplan.personal.preferences import ChoiceModel
from counterplan.problem import People, Problem
from counterplan.problem.dtypes import Schema, for_json, frame_of, label_of, plain, schema_of
from counterplan.problem.values import did_you_mean
from counterplan.search.orders import rollout
from counterplan.storage.files import write_whole
from counterplan.storage.json_files import MAX_SEED, read_json

VERSION = 1
KEY = "counterplan_elicitation"
LIMIT = 5_000_000
"""Most bytes of a file."""
MAX_QUESTIONS = 50
MIN_OPTIONS, MAX_OPTIONS = 2, 4

_Text = Annotated[str, Field(max_length=10_000)]
_Count = Annotated[StrictInt, Field(ge=0, le=MAX_QUESTIONS)]

Option = tuple[str, ...]
"""The actions of an option of a question."""


@dataclass(frozen=True)
class AnsweredQuestion:
    """The options of a question, and the index of the one that was chosen; None for "no difference"."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")
    options: Annotated[
        tuple[Annotated[tuple[_Text, ...], Field(min_length=1)], ...],
        Field(min_length=MIN_OPTIONS, max_length=MAX_OPTIONS),
    ]
    choice: Annotated[StrictInt, Field(ge=0, lt=MAX_OPTIONS)] | None


@dataclass(frozen=True)
class RuledOut:
    """A function or an action that the person cannot take, and the number of answers before they said so."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")
    name: _Text
    after: _Count


@dataclass(frozen=True)
class SavedElicitation:
    """The state of an elicitation, from which it continues."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")
    problem: _Text
    fingerprint: _Text
    person: int | _Text
    row: tuple[tuple[int | str, Any], ...]
    dtypes: Schema
    options: Annotated[StrictInt, Field(ge=MIN_OPTIONS, le=MAX_OPTIONS)]
    seed: Annotated[StrictInt, Field(ge=0, le=MAX_SEED)]
    max_questions: _Count
    min_gain: Annotated[float, Field(ge=0, le=1)]
    planner: Annotated[str, Field(max_length=200)] | None
    choice_model: ChoiceModel
    cannot: Annotated[tuple[RuledOut, ...], Field(max_length=10_000)]
    answers: Annotated[tuple[AnsweredQuestion, ...], Field(max_length=MAX_QUESTIONS)]
    deadline: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None


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


def read_elicitation(path: str | Path) -> SavedElicitation:
    """Read a file; `saved_person` validates it against a problem.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    SavedElicitation

    Raises
    ------
    StorageError
        If it cannot be read, or is not valid; the message names the place.
    """
    data = read_json(path, limit=LIMIT, what="elicitation")
    version = data.get(KEY) if isinstance(data, dict) else None
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise StorageError(f"{path}: this is not an elicitation of counterplan ('{KEY}' is missing)")
    if version > VERSION:
        shown = shortened(str(version))
        raise StorageError(f"{path}: written by a newer counterplan (version {shown}; this one reads {VERSION})")
    try:
        return _SAVED.validate_python({key: value for key, value in data.items() if key != KEY})
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise StorageError(f"{path}: {place}: {first['msg'].removeprefix('Value error, ')}") from None
    except CounterplanError as error:
        raise StorageError(f"{path}: choice_model: {error}") from None


def saved_person(path: str | Path, saved: SavedElicitation, problem: Problem) -> People:
    """Validate everything in a file against a problem, and read the person.

    Parameters
    ----------
    path : str or Path
        The file, which messages name.
    saved : SavedElicitation
        Its content.
    problem : Problem
        The problem that it has to belong to.

    Returns
    -------
    People
        One person.

    Raises
    ------
    StorageError
        If the file belongs to another problem, has functions or actions that do not exist, or options that are not
        possible for the person; the message names the place.
    """
    if saved.fingerprint != problem.fingerprint:
        raise StorageError(
            f"{path}: belongs to another problem ('{saved.problem}', {saved.fingerprint}) than '{problem.name}' "
            f"({problem.fingerprint}): its questions were about other actions or costs; start a new one"
        )
    person = _person(path, problem, saved)
    if saved.deadline is not None and not problem.time_unit:
        raise StorageError(f"{path}: deadline: is {saved.deadline:g}, and no action of '{problem.name}' takes time")
    _check_ruled_out(path, problem, saved)
    for number, answer in enumerate(saved.answers):
        _check_answer(f"{path}: answers.{number}", problem, person, answer)
    return person


def _check_ruled_out(path: str | Path, problem: Problem, saved: SavedElicitation) -> None:
    functions = [function.name for function in problem.transitions.functions]
    actions = [str(action) for action in problem.transitions.actions[:-1]]
    earlier: dict[str, int] = {}
    for place, (name, after) in enumerate((one.name, one.after) for one in saved.cannot):
        where = f"{path}: cannot.{place}"
        if name not in functions and name not in actions:
            hint = did_you_mean(name, [*functions, *actions])
            raise StorageError(f"{where}.name: there is no function or action '{shortened(name)}'{hint}")
        if name in earlier:
            raise StorageError(f"{where}.name: '{name}' is there twice")
        least = max(earlier.values(), default=0)
        if not least <= after <= len(saved.answers):
            raise StorageError(
                f"{where}.after: must be a number of answers from {least} to {len(saved.answers)}, not {after}"
            )
        earlier[name] = after


def _check_answer(where: str, problem: Problem, person: People, answer: AnsweredQuestion) -> None:
    """Raise a StorageError about an answer that nobody can have given."""
    if answer.choice is not None and answer.choice >= len(answer.options):
        raise StorageError(
            f"{where}.choice: is {answer.choice}, and there are {len(answer.options)} options, counted from 0"
        )
    actions = {str(action): action.index for action in problem.transitions.actions[:-1]}
    for place, option in enumerate(answer.options):
        inside = f"{where}.options.{place}"
        if len(option) > problem.max_actions:
            raise StorageError(f"{inside}: has {len(option)} actions, and a plan has at most {problem.max_actions}")
        for number, name in enumerate(option):
            if name not in actions:
                hint = did_you_mean(name, actions)
                raise StorageError(f"{inside}.{number}: there is no action '{shortened(name)}'{hint}")
        if option in answer.options[:place]:
            raise StorageError(f"{inside}: is the same as option {answer.options.index(option)}")
        legal = rollout(problem.transitions, person.states, np.array([[actions[name] for name in option]]))[2]
        if not legal[0]:
            raise StorageError(f"{inside}: the actions are not possible for the person, in this order")


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
