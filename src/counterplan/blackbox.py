"""The decision to be overturned: any model, with its questions counted, remembered, batched and limited."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from counterplan.errors import CounterplanError, ModelError
from counterplan.models import Model, adapt
from counterplan.models.identity import digest_of, identity_of
from counterplan.problem import People, Problem
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.problem.values import Native, did_you_mean, is_missing, listed, text_of

REMEMBERED = 500_000
_CALL = 2.0
"""Seconds that a call should take at most, if what it is about is noted."""
Note = Callable[[str, Mapping[bytes, bool]], None]
"""Told of new answers by the `asking_fingerprint` of their problem, and by what identifies each question."""

Watch = Callable[[People, npt.NDArray[np.integer], list[bytes]], None]
"""Told of every question, remembered or not: about which rows [n] of which people, and what identifies it."""


class BudgetSpent(CounterplanError):
    """The black box may be asked no more. `answers` [n] holds what was found out, where `known` [n] is true."""

    def __init__(self, budget: int, answers: Bools, known: Bools) -> None:
        super().__init__(
            f"the budget of {budget:,} questions to the black box is spent; "
            f"{int(known.sum()):,} of the last {len(known):,} were answered"
        )
        self.budget = budget
        self.answers = answers
        self.known = known


class BlackBox:
    """A model with a meter: `queries` rows were sent to it, `cached` answers came from memory instead.

    `model` is a callable on a DataFrame, an estimator, the path of an ONNX file, a URL, or "MODULE:ATTR".
    `favourable` names the outcome, or outcomes, that people hope for (default: what the problem says).
    With a `threshold`, the model's score or probability of them decides: favourable if it is at least that.
    `budget` limits the rows ever sent; `remember` the answers kept (0: none); `batch` the rows in one call.
    """

    def __init__(
        self,
        model: object,
        favourable: Native | Collection[Native] | None = None,
        *,
        threshold: float | None = None,
        budget: int | None = None,
        remember: int = REMEMBERED,
        batch: int | None = None,
    ) -> None:
        self.model: Model = adapt(model)
        if favourable is None:
            self._favourable: frozenset[str] | None = None
        else:
            several = not isinstance(favourable, (str, bool, int, float)) and isinstance(favourable, Collection)
            self._favourable = frozenset(text_of(value) for value in (favourable if several else [favourable]))  # type: ignore[union-attr]
            if not self._favourable:
                raise ModelError("'favourable' is empty: name the outcome, or outcomes, that people hope for")
        if threshold is not None and not (isinstance(threshold, (int, float)) and np.isfinite(threshold)):
            raise ModelError(f"the threshold is a finite number, not {threshold!r}")
        for name, number, least in (("budget", budget, 0), ("remember", remember, 0), ("batch", batch, 1)):
            if number is not None and not (isinstance(number, (int, np.integer)) and number >= least):
                raise ModelError(f"'{name}' is a whole number, {least} or more, not {number!r}")
        self.threshold = threshold
        self.budget = budget
        self.remember = remember
        self.batch = min(batch, self.model.batch) if batch else self.model.batch
        self.queries = 0
        self.cached = 0
        self._identity: str | None = None
        self._notes: list[Note] = []
        self._watches: list[Watch] = []
        self._affordable = 32
        """Rows whose answers would not take long."""
        self._memories: dict[str, dict[bytes, bool]] = {}
        """By what a problem asks: answers by state."""

    @property
    def left(self) -> int | None:
        """How many rows may still be asked; None if there is no limit."""
        return None if self.budget is None else max(0, self.budget - self.queries)

    @property
    def model_id(self) -> str:
        """What tells this black box from others: the model's name and content, and what counts as favourable.

        The content is looked at once, when this is first asked for.
        """
        content = f" ({self._content()})" if self._content() else ""
        threshold = "" if self.threshold is None else f", threshold {self.threshold!r}"
        wanted = "" if self._favourable is None else f", favourable {', '.join(sorted(self._favourable))}"
        return f"{self.model.name}{content}{threshold}{wanted}"

    def _content(self) -> str:
        """What the model decides by, in short; empty if that cannot be found out."""
        if self._identity is None:
            self._identity = identity_of(self.model)
        return self._identity

    def fingerprint(self, problem: Problem) -> str:
        """A short digest of what decides about `problem`: the model's content, by whatever name (the name, if nothing
        else is known), and what counts as favourable. It says nothing of the model to anybody else."""
        parts = [self._content() or self.model.name, repr(self.threshold), *sorted(_favourable(self, problem))]
        return digest_of([part.encode() for part in parts])

    def about(self, problem: Problem, people: People) -> OracleSession:
        """A way to ask about states of `people`."""
        return OracleSession(self, problem, people)

    def favourable(self, problem: Problem, people: pd.DataFrame | People) -> Bools:
        """Whether the decision about each of `people` [B] is favourable, as they are now."""
        read = problem.read(people)
        return self.about(problem, read)(read.states, np.arange(len(read)))

    def remembered(self, problem: Problem) -> dict[bytes, bool]:
        """The answers kept about `problem`, by what identifies each question."""
        return dict(self._memories.get(problem.query_fingerprint, {}))

    def recall(self, problem: Problem, answers: Mapping[bytes, bool]) -> None:
        """Remember answers that were paid for before, as `remembered` gave them."""
        self._memories.setdefault(problem.query_fingerprint, {}).update(answers)

    @contextmanager
    def noting(self, note: Note) -> Iterator[None]:
        """Within this, `note` is told of every new answer as soon as it is there."""
        self._notes.append(note)
        try:
            yield
        finally:
            self._notes.remove(note)

    @contextmanager
    def watching(self, watch: Watch) -> Iterator[None]:
        """Within this, `watch` is told of every question, also of those that memory answers."""
        self._watches.append(watch)
        try:
            yield
        finally:
            self._watches.remove(watch)

    @property
    def _rows_at_once(self) -> int:
        """Most rows in a call; while answers are noted, few enough that little is lost if the process is killed."""
        return min(self.batch, self._affordable) if self._notes else self.batch

    def _pace(self, rows: int, seconds: float) -> None:
        """Learn from a call how many rows a model answers in about two seconds."""
        if seconds > 2 * _CALL:
            self._affordable = max(1, int(rows * _CALL / seconds))
        elif seconds < _CALL / 2 and rows == self._affordable:
            self._affordable *= 2

    def forget(self) -> None:
        """Drop every remembered answer (for a model that has changed). The counts go on."""
        self._identity = None
        for memory in self._memories.values():
            memory.clear()

    def __repr__(self) -> str:
        return f"BlackBox({self.model.name}: {self.queries:,} asked, {self.cached:,} from memory)"


def joined_keys(keys: Collection[bytes]) -> tuple[Ints, npt.NDArray[np.uint8]]:
    """What identifies questions, as arrays: lengths [n], and all in a row."""
    return np.array([len(key) for key in keys], np.intp), np.frombuffer(b"".join(keys), np.uint8)


def split_keys(lengths: Ints, keys: npt.NDArray[np.uint8]) -> list[bytes]:
    """The inverse of `joined_keys`."""
    raw, ends = keys.tobytes(), np.cumsum(lengths).tolist()
    return [raw[start:end] for start, end in zip([0, *ends], ends, strict=False)]


class OracleSession:
    """Asks one black box about changed states of certain people, each state of each kind of person only once."""

    def __init__(self, box: BlackBox, problem: Problem, people: People) -> None:
        self.box = box
        self.problem = problem.query_fingerprint
        self.people = people
        self.outcomes = problem.outcome.values
        self.favourable = _favourable(box, problem)
        self.memory = box._memories.setdefault(problem.query_fingerprint, {})
        wanted: Sequence[str] | None = getattr(box.model, "columns", None)
        extras = [column for column in people.extras if wanted is None or column in wanted]
        self._others: list[bytes] | None = None
        if extras:  # the answer may depend on them, so they are part of what is remembered
            rows = people.table[extras].itertuples(index=False, name=None)
            self._others = [repr((extras, row)).encode() for row in rows]

    def __call__(self, states: Floats, rows: npt.NDArray[np.integer]) -> Bools:
        """Whether `states` [n, F] of the people `rows` [n] are favourable; BudgetSpent if they may not all be asked."""
        keys = self.keys(states, rows)
        for watch in self.box._watches:
            watch(self.people, rows, keys)
        memory = self.memory
        kept = [memory.get(key) for key in keys]
        new_at = dict.fromkeys(key for key, answer in zip(keys, kept, strict=True) if answer is None)
        fresh = list(range(len(keys)))
        if len(new_at) < len(keys):  # some are remembered, or asked about twice
            first = {key: i for i, key in reversed(list(enumerate(keys)))}
            fresh = [first[key] for key in new_at]
        left = self.box.left
        asked = fresh if left is None else fresh[:left]
        found = self._ask([keys[i] for i in asked], states[asked], rows[asked])
        self.box.cached += len(keys) - len(fresh)
        if len(asked) == len(keys):
            answers, known = np.array(list(found.values()), bool), np.ones(len(keys), bool)
        else:
            told = [found.get(key) if answer is None else answer for key, answer in zip(keys, kept, strict=True)]
            answers = np.array([answer is True for answer in told], bool)
            known = np.array([answer is not None for answer in told], bool)
        if len(asked) < len(fresh):
            assert self.box.budget is not None
            raise BudgetSpent(self.box.budget, answers, known)
        return answers

    def keys(self, states: Floats, rows: npt.NDArray[np.integer]) -> list[bytes]:
        """What identifies each question: the state, and the extra columns of the person if the model may see them."""
        raw = np.ascontiguousarray(states + 0.0).tobytes()  # + 0.0 makes one zero of two
        width = states.shape[1] * states.itemsize
        pieces = [raw[i : i + width] for i in range(0, len(raw), width)]
        if self._others is not None:
            pieces = [piece + self._others[row] for piece, row in zip(pieces, rows.tolist(), strict=True)]
        return pieces

    def _remember(self, found: dict[bytes, bool]) -> None:
        for note in self.box._notes:
            note(self.problem, found)
        memory, most = self.memory, self.box.remember
        if most:
            memory.update(found)
            for key in list(islice(memory, max(0, len(memory) - most))):
                del memory[key]

    def _ask(self, keys: list[bytes], states: Floats, rows: npt.NDArray[np.integer]) -> dict[bytes, bool]:
        """New answers, in the order of their different `keys`; if the model fails, those of earlier batches stay."""
        found: dict[bytes, bool] = {}
        while len(found) < len(keys):
            some = slice(len(found), len(found) + self.box._rows_at_once)
            begun = time.monotonic()
            part = dict(zip(keys[some], self._ask_once(states[some], rows[some]).tolist(), strict=True))
            self.box._pace(len(part), time.monotonic() - begun)
            self._remember(part)
            found |= part
        return found

    def _ask_once(self, states: Floats, rows: npt.NDArray[np.integer]) -> Bools:
        model = self.box.model
        self.box.queries += len(states)
        in_states = getattr(model, "labels_of_states", None)
        if in_states is not None and self.box.threshold is None and model.features == self.people.features:  # type: ignore[attr-defined]
            answers = in_states(states)
        else:
            frame = self.people.frame(states, rows)
            answers = model.labels(frame) if self.box.threshold is None else model.scores(frame, self.favourable)
        if answers.shape != (len(states),):
            raise ModelError(f"{model.name} was asked about {len(states)} people; number of answers: {len(answers)}")
        return self._scored(answers) if self.box.threshold is not None else self._labelled(answers)

    def _scored(self, scores: npt.NDArray[Any]) -> Bools:
        numbers = scores.astype(float)
        if np.isnan(numbers).any():
            raise ModelError(f"{self.box.model.name} gave NaN as score {int(np.isnan(numbers).argmax())}")
        result: Bools = numbers >= self.box.threshold
        return result

    def _labelled(self, labels: npt.NDArray[Any]) -> Bools:
        codes, uniques = pd.factorize(labels, use_na_sentinel=False)
        good = np.zeros(len(uniques), bool)
        for i, label in enumerate(uniques):
            text = text_of(label)
            if is_missing(label):
                row = int((codes == i).argmax())
                raise ModelError(f"{self.box.model.name} gave no answer (NaN) for row {row} of {len(labels)}")
            if text not in self.outcomes:
                hint = did_you_mean(text, self.outcomes) or f"; the problem's outcomes are {listed(self.outcomes)}"
                scored = isinstance(label, (float, np.floating)) and " (set a threshold if these are scores)"
                raise ModelError(f"{self.box.model.name} gave the unknown outcome {text!r}{hint}{scored or ''}")
            good[i] = text in self.favourable
        return good[codes]


class MeteredOracle:
    """Asks about certain people and counts, for each, the questions that are new: not in the box's memory, or, if
    answers `paid` for are handed in, not among those (to which it adds the new ones).

    When a budget is spent — the box's, or `room` new questions in all — nothing is raised: what is not known counts as
    refused, and `spent` is true from then on.
    """

    def __init__(
        self, questions: OracleSession, people: int, room: int | None = None, paid: dict[bytes, bool] | None = None
    ) -> None:
        self.count: Ints = np.zeros(people, np.intp)
        self.spent = False
        self._questions = questions
        self._room = room
        self._paid = paid

    def __call__(self, states: Floats, rows: Ints) -> Bools:
        """Whether `states` [n, F] of the people `rows` [n] are known to be favourable."""
        return self.ask(states, rows)[0]

    def ask(self, states: Floats, rows: Ints) -> tuple[Bools, Bools]:
        """The answers [n], and which of them are really known [n]."""
        keys = self._questions.keys(states, rows)
        before = self._questions.memory if self._paid is None else self._paid
        first = {key: i for i, key in reversed(list(enumerate(keys)))}
        new = np.array([key not in before and first[key] == i for i, key in enumerate(keys)], bool)
        left = np.inf if self._room is None else self._room - int(self.count.sum())
        beyond = {keys[i] for i in np.flatnonzero(new & (np.cumsum(new) > left))}
        askable = np.array([key not in beyond for key in keys], bool)
        answers, known = np.zeros(len(rows), bool), askable.copy()
        self.spent |= bool(beyond)
        try:
            answers[askable] = self._questions(states[askable], rows[askable])
        except BudgetSpent as stop:
            self.spent = True
            answers[askable], known[askable] = stop.answers, stop.known
        np.add.at(self.count, rows, new & known)
        if self._paid is not None:
            self._paid.update((keys[i], bool(answers[i])) for i in np.flatnonzero(new & known))
        return answers & known, known


def _favourable(box: BlackBox, problem: Problem) -> frozenset[str]:
    """The outcomes that count as favourable; refuses names that neither the problem nor the model knows."""
    chosen = box._favourable if box._favourable is not None else problem.outcome.favourable
    values = problem.outcome.values
    for text in chosen:
        if text not in values:
            hint = did_you_mean(text, values) or f"; they are {listed(values)}"
            raise ModelError(f"'{text}' is not one of the problem's outcomes{hint}")
    return chosen
