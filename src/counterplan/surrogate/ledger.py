"""Everything that a black box answered, in order: what a surrogate learns from."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from counterplan.blackbox import BlackBox, MeteredOracle, join_keys, split_keys
from counterplan.problem import People, Problem
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.storage.answer_cache import LabelledStates
from counterplan.storage.arrays import ArraySpec, validate_arrays, with_prefix


class Ledger:
    """Answers about states of one problem; `paid` are those of this run, at most `budget`, and given ones."""

    def __init__(self, problem: Problem, box: BlackBox, budget: int) -> None:
        self.problem = problem
        self.box = box
        self.budget = budget
        self.paid: dict[bytes, bool] = {}
        self.given = 0
        """How many of them were paid for by others."""
        self.spent = False
        self._keys: dict[bytes, None] = {}
        self._states = np.empty((0, len(problem.features)))
        self._answers = np.empty(0, bool)

    def __len__(self) -> int:
        return len(self._keys)

    @property
    def queries(self) -> int:
        """Different questions asked by this run; what the box remembers from before costs nothing, but counts."""
        return len(self.paid) - self.given

    @property
    def states(self) -> Floats:
        """[n, F] what was asked about."""
        return self._states

    @property
    def answers(self) -> Bools:
        """[n] whether it is favourable."""
        return self._answers

    def about(self, people: People) -> Recorder:
        """A way to ask about `people` that takes everything down."""
        return Recorder(self, people)

    def write(self, states: Floats, keys: list[bytes], answers: Bools) -> None:
        """Take down `answers` [n] about `states` [n, F], each once."""
        new = dict.fromkeys(key for key in keys if key not in self._keys)
        if new:
            first = {key: i for i, key in reversed(list(enumerate(keys)))}
            fresh = [first[key] for key in new]
            self._keys |= new
            self._states = np.concatenate([self._states, states[fresh]])
            self._answers = np.concatenate([self._answers, answers[fresh]])

    def hand_in(self, answers: LabelledStates) -> None:
        """Answers that somebody has paid for already."""
        answers.add_to_cache(self.box, self.problem)
        before = len(self.paid)
        self.paid.update(answers.by_key)
        self.given += len(self.paid) - before
        self.write(answers.states, answers.keys, answers.favourable)

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Everything, as arrays."""
        lengths, keys = join_keys(self._keys)
        return {
            "ledger.states": self._states,
            "ledger.answers": self._answers,
            "ledger.lengths": lengths,
            "ledger.keys": keys,
            "ledger.paid": np.array([key in self.paid for key in self._keys], bool),
            "ledger.given": np.array(self.given),
        }

    def restore(self, arrays: dict[str, npt.NDArray[Any]]) -> None:
        """The inverse of `to_arrays`; the black box remembers the answers too."""
        width = len(self.problem.features)
        spec = {
            "states": ArraySpec(float, ("n", width), nan=True),
            "answers": ArraySpec(bool, ("n",)),
            "lengths": ArraySpec(np.intp, ("n",), low=8 * width),
            "keys": ArraySpec(np.uint8, (int(arrays["ledger.lengths"].sum()),)),
            "paid": ArraySpec(bool, ("n",)),
            "given": ArraySpec(np.int64, (), low=0, high=len(arrays["ledger.paid"])),
        }
        validate_arrays(with_prefix(arrays, "ledger."), spec)
        keys = split_keys(arrays["ledger.lengths"], arrays["ledger.keys"])
        self._keys = dict.fromkeys(keys)
        self._states, self._answers = arrays["ledger.states"], arrays["ledger.answers"]
        known = dict(zip(keys, self._answers.tolist(), strict=True))
        self.paid = {key: known[key] for key, paid in zip(keys, arrays["ledger.paid"].tolist(), strict=True) if paid}
        self.given = int(arrays["ledger.given"])
        self.box.add_to_cache(self.problem, known)


class Recorder(MeteredOracle):
    """An inquiry that takes down every answer in a ledger, within the ledger's budget."""

    def __init__(self, ledger: Ledger, people: People) -> None:
        room = ledger.budget - ledger.queries
        super().__init__(ledger.box.session(ledger.problem, people), len(people), room, ledger.paid)
        self._ledger = ledger

    def query(self, states: Floats, rows: Ints) -> tuple[Bools, Bools]:
        """See `MeteredOracle.query`."""
        answers, known = super().query(states, rows)
        self._ledger.write(states[known], self._session.keys(states[known], rows[known]), answers[known])
        self._ledger.spent |= self.exhausted
        return answers, known
