"""An elicitation as a JSON file: the person, the settings, what was ruled out, and every answer."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import BeforeValidator, ConfigDict, Field, Strict, StrictBool, StrictInt, TypeAdapter, ValidationError

from counterplan.bounded_json import shortened
from counterplan.errors import CounterplanError, NotFittedError, SettingError, StorageError
from counterplan.personal.deadline import MAX_DEADLINE
from counterplan.personal.personal_planner import PlannerSource, personal_planner
from counterplan.personal.preferences import ChoiceModel, excess_work
from counterplan.problem import People, Problem
from counterplan.problem.dtypes import for_json, frame_of, label_of, plain, schema_of
from counterplan.problem.values import cut, did_you_mean, one_line
from counterplan.search.orders import rollout
from counterplan.storage.files import write_whole
from counterplan.storage.json_files import MAX_SEED, read_json

VERSION = 1
KEY = "counterplan_elicitation"
LIMIT = 5_000_000
"""Most bytes of a file."""
MAX_QUESTIONS = 50
MIN_OPTIONS, MAX_OPTIONS = 2, 4

_MAX_LENGTH = 10_000
"""Most characters of a text, and most functions and actions that were ruled out."""

_Text = Annotated[str, Field(max_length=_MAX_LENGTH)]
_Number = Annotated[float, Strict()]
_Columns = tuple[tuple[StrictInt | _Text, Any], ...]
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
class Ruling:
    """A function or an action that the person cannot take, and the number of answers before they said so.

    With `can`, they took back that they cannot.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")
    name: _Text
    after: _Count
    can: StrictBool = False


def ruled_out(rulings: Iterable[Ruling]) -> list[str]:
    """The names that are ruled out after rulings, in order."""
    names: dict[str, None] = {}
    for one in rulings:
        if one.can:
            names.pop(one.name, None)
        else:
            names[one.name] = None
    return list(names)


def _choice_model(data: Any) -> Any:
    """The `ChoiceModel` of plain data; ValueError if it is not valid. Whatever is no object is left to pydantic."""
    if not isinstance(data, dict):
        return data
    known = [field.name for field in fields(ChoiceModel)]
    for name in data:
        if name not in known:
            raise ValueError(f"'{one_line(name, 40)}' is not known{did_you_mean(name, known)}")
    return ChoiceModel(**data)


@dataclass(frozen=True)
class SavedElicitation:
    """The state of an elicitation, from which it continues."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")
    problem: _Text
    fingerprint: _Text
    person: StrictInt | _Text
    row: _Columns
    dtypes: _Columns
    options: Annotated[StrictInt, Field(ge=MIN_OPTIONS, le=MAX_OPTIONS)]
    seed: Annotated[StrictInt, Field(ge=0, le=MAX_SEED)]
    max_questions: _Count
    min_gain: Annotated[_Number, Field(ge=0, le=1)]
    planner: Annotated[str, Field(max_length=200)] | None
    choice_model: Annotated[ChoiceModel, BeforeValidator(_choice_model)]
    cannot: Annotated[tuple[Ruling, ...], Field(max_length=_MAX_LENGTH)]
    answers: Annotated[tuple[AnsweredQuestion, ...], Field(max_length=MAX_QUESTIONS)]
    deadline: Annotated[_Number, Field(ge=0, le=MAX_DEADLINE)] | None = None


_SAVED: TypeAdapter[SavedElicitation] = TypeAdapter(SavedElicitation)
_EXPECTED = {
    "": "an object",
    "problem": "a text",
    "fingerprint": "a text",
    "person": f"an integer or a text of at most {_MAX_LENGTH:,} characters",
    "row": "a list of columns",
    "row.*": "a list of a column's name and its value",
    "row.*.*": "the name of a column",
    "dtypes": "a list of columns",
    "dtypes.*": "a list of a column's name and its dtype",
    "dtypes.*.*": "the name of a column",
    "options": f"an integer from {MIN_OPTIONS} to {MAX_OPTIONS}",
    "seed": f"an integer from 0 to {MAX_SEED}",
    "max_questions": f"an integer from 0 to {MAX_QUESTIONS}",
    "min_gain": "a number from 0 to 1",
    "planner": "the name of a planner, or null",
    "choice_model": f"an object with {', '.join(field.name for field in fields(ChoiceModel))}",
    "cannot": f"a list of at most {_MAX_LENGTH:,} functions and actions that were ruled out",
    "cannot.*": "an object with name and after, and perhaps can",
    "cannot.*.name": "the name of a function or an action",
    "cannot.*.after": f"a number of answers from 0 to {MAX_QUESTIONS}",
    "cannot.*.can": "true or false",
    "answers": f"a list of at most {MAX_QUESTIONS} answered questions",
    "answers.*": "an object with options and choice",
    "answers.*.options": f"a list of {MIN_OPTIONS} to {MAX_OPTIONS} options",
    "answers.*.options.*": "a list of actions, at least one",
    "answers.*.options.*.*": "the name of an action",
    "answers.*.choice": f"an integer from 0 to {MAX_OPTIONS - 1}, or null",
    "deadline": f"a number from 0 to {MAX_DEADLINE:,.0f}, or null",
}
"""What is valid at a place of a file; * is any position of a list."""


def person_data(people: People) -> dict[str, Any]:
    """Label, row and dtypes of one person, as fields of `SavedElicitation`."""
    table, schema = people.table, schema_of(people.table)
    values = next(table.itertuples(index=False, name=None))
    row = tuple((name, for_json(plain(value))) for (name, _), value in zip(schema, values, strict=True))
    return {"person": label_of(table.index[0]), "row": row, "dtypes": schema}


def write_elicitation(path: str | Path, saved: SavedElicitation) -> None:
    """Write a file that only its owner may read; StorageError if it cannot be written."""
    data = {KEY: VERSION, **asdict(saved)}
    for ruling in data["cannot"]:
        if not ruling["can"]:
            del ruling["can"]
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
        saved = _SAVED.validate_python({key: value for key, value in data.items() if key != KEY})
    except ValidationError as error:
        raise StorageError(f"{path}: {_mistake(error, data)}") from None
    if excess := excess_work(saved.choice_model, max(saved.max_questions, len(saved.answers))):
        raise StorageError(f"{path}: choice_model: {excess}")
    return saved


def _mistake(error: ValidationError, data: Any) -> str:
    """The first mistake that pydantic found in `data`: its place, what is expected there, and what is there."""
    first = error.errors()[0]
    place: list[str] = []
    known: list[str] = []
    value = data
    for part in first["loc"]:  # it also has names of types, which are no places
        is_place = part in value if isinstance(value, Mapping) else isinstance(value, Sequence) and part != len(value)
        if not is_place or ".".join([*known, "*" if isinstance(part, int) else part]) not in _EXPECTED:
            break
        place.append(str(part))
        known.append("*" if isinstance(part, int) else part)
        value = value[part]
    inside, last = ".".join(place), first["loc"][-1]
    if first["type"] in ("missing", "unexpected_keyword_argument") and isinstance(last, str):
        wrong = "is missing" if first["type"] == "missing" else "is not known"
        return f"{'.'.join([*place, one_line(last, 40)])}: {wrong}"
    if first["type"] == "value_error":
        return f"{inside}: {first['ctx']['error']}"
    return f"{inside}: must be {_EXPECTED['.'.join(known)]}, not {cut(json.dumps(value))}"


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
            f"{path}: belongs to another problem ('{one_line(saved.problem)}', {one_line(saved.fingerprint)}) than "
            f"'{problem.name}' "
            f"({problem.fingerprint}): its questions were about other actions or costs; start a new one"
        )
    person = _person(path, problem, saved)
    if saved.deadline is not None and not problem.time_unit:
        raise StorageError(f"{path}: deadline: is {saved.deadline:g}, and no action of '{problem.name}' takes time")
    _check_ruled_out(path, problem, saved)
    for number, answer in enumerate(saved.answers):
        _check_answer(f"{path}: answers.{number}", problem, person, answer)
    return person


def saved_planner(path: str | Path, saved: SavedElicitation, source: PlannerSource) -> str | None:
    """The name of the planner in a file; an error names the file."""
    try:
        personal_planner(source, saved.planner)
    except SettingError as error:
        raise StorageError(f"{path}: planner: {one_line(error, 500)}") from None
    except NotFittedError as error:
        raise NotFittedError(f"{path}: {error}; or pass another planner") from None
    return saved.planner


def _check_ruled_out(path: str | Path, problem: Problem, saved: SavedElicitation) -> None:
    functions = [function.name for function in problem.transitions.functions]
    actions = [str(action) for action in problem.transitions.actions[:-1]]
    known, least = {*functions, *actions}, 0
    now: set[str] = set()
    for place, one in enumerate(saved.cannot):
        where, name = f"{path}: cannot.{place}", one.name
        if name not in known:
            hint = did_you_mean(name, [*functions, *actions])
            raise StorageError(f"{where}.name: there is no function or action '{one_line(name, 40)}'{hint}")
        if one.can != (name in now):
            raise StorageError(f"{where}.name: '{name}' {'was not ruled out before' if one.can else 'is there twice'}")
        if not least <= one.after <= len(saved.answers):
            raise StorageError(
                f"{where}.after: must be a number of answers from {least} to {len(saved.answers)}, not {one.after}"
            )
        now ^= {name}
        least = one.after


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
                raise StorageError(f"{inside}.{number}: there is no action '{one_line(name, 40)}'{hint}")
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
