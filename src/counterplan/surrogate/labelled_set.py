"""The labelled set of active learning: every state that was queried or provided, with its answer, in order."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from counterplan.blackbox import Answer, BlackBox, MeteredOracle, join_keys, split_keys
from counterplan.problem import People, Problem
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.storage.answer_cache import LabelledStates
from counterplan.storage.arrays import ArraySpec, validate_arrays, with_prefix


class LabelledSet:
    """Labelled states of one problem, with a query budget.

    Parameters
    ----------
    problem : Problem
        The problem.
    box : BlackBox
        The model that labels states.
    budget : int
        Maximum number of queries; provided answers do not count.
    with_scores : bool, default=False
        Whether to obtain the model's scores, if it gives any, with its answers.

    Attributes
    ----------
    states : ndarray of shape (n, F)
        The labelled states, in the order in which they were added.
    answers : ndarray of shape (n,)
        Whether each of them is favourable.
    scores : ndarray of shape (n,)
        The model's scores; NaN where they are unknown.
    out_of_budget : bool
        Whether a query was refused because the budget, or the box's own, was exhausted.
    """

    def __init__(self, problem: Problem, box: BlackBox, budget: int, with_scores: bool = False) -> None:
        self.problem = problem
        self.box = box
        self.budget = budget
        self.answered: dict[bytes, bool] = {}
        """Answers by query key: those of this run, and those that were provided."""
        self.n_provided = 0
        self.out_of_budget = False
        self._keys: dict[bytes, None] = {}
        self.states: Floats = np.empty((0, len(problem.features)))
        self.answers: Bools = np.empty(0, bool)
        self.scores: Floats = np.empty(0)
        self.with_scores = with_scores

    def __len__(self) -> int:
        return len(self._keys)

    @property
    def keys(self) -> list[bytes]:
        """The query keys of the labelled states, in their order."""
        return list(self._keys)

    @property
    def queries(self) -> int:
        """Different queries of this run, including those answered from the box's cache."""
        return len(self.answered) - self.n_provided

    def oracle(self, people: People) -> RecordingOracle:
        """An oracle for states of `people` that adds every answer to this set."""
        return RecordingOracle(self, people)

    def add(self, states: Floats, keys: list[bytes], answers: Bools, scores: Floats) -> None:
        """Add `answers` [n] and `scores` [n] of `states` [n, F] with query `keys` [n], each key once."""
        new = dict.fromkeys(key for key in keys if key not in self._keys)
        if new:
            first = {key: i for i, key in reversed(list(enumerate(keys)))}
            rows = [first[key] for key in new]
            self._keys |= new
            self.states = np.concatenate([self.states, states[rows]])
            self.answers = np.concatenate([self.answers, answers[rows]])
            self.scores = np.concatenate([self.scores, scores[rows]])

    def provide(self, answers: LabelledStates) -> None:
        """Add answers of an earlier run, which cost no queries."""
        answers.add_to_cache(self.box, self.problem)
        before = len(self.answered)
        self.answered.update((key, answer.favourable) for key, answer in answers.by_key.items())
        self.n_provided += len(self.answered) - before
        self.add(answers.states, answers.keys, answers.favourable, answers.scores)

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Arrays for a checkpoint."""
        lengths, keys = join_keys(self._keys)
        return {
            "ledger.states": self.states,
            "ledger.answers": self.answers,
            "ledger.scores": self.scores,
            "ledger.lengths": lengths,
            "ledger.keys": keys,
            "ledger.paid": np.array([key in self.answered for key in self._keys], bool),
            "ledger.given": np.array(self.n_provided),
        }

    def restore(self, arrays: dict[str, npt.NDArray[Any]]) -> None:
        """The inverse of `to_arrays`; the answers also go to the box's cache. ValueError if the arrays are invalid."""
        arrays = {"ledger.scores": np.full(len(arrays["ledger.answers"]), np.nan)} | arrays  # older ones have none
        width = len(self.problem.features)
        spec = {
            "states": ArraySpec(float, ("n", width), nan=True),
            "answers": ArraySpec(bool, ("n",)),
            "scores": ArraySpec(float, ("n",), nan=True),
            "lengths": ArraySpec(np.intp, ("n",), low=8 * width),
            "keys": ArraySpec(np.uint8, (int(arrays["ledger.lengths"].sum()),)),
            "paid": ArraySpec(bool, ("n",)),
            "given": ArraySpec(np.int64, (), low=0, high=len(arrays["ledger.paid"])),
        }
        validate_arrays(with_prefix(arrays, "ledger."), spec)
        keys = split_keys(arrays["ledger.lengths"], arrays["ledger.keys"])
        self._keys = dict.fromkeys(keys)
        self.states, self.answers = arrays["ledger.states"], arrays["ledger.answers"]
        self.scores = arrays["ledger.scores"]
        counted = zip(keys, self.answers.tolist(), arrays["ledger.paid"].tolist(), strict=True)
        self.answered = {key: answer for key, answer, counts in counted if counts}
        self.n_provided = int(arrays["ledger.given"])
        scores = (None if np.isnan(score) else score for score in self.scores.tolist())
        answers = map(Answer, self.answers.tolist(), scores)
        self.box.add_to_cache(self.problem, dict(zip(keys, answers, strict=True)))


class RecordingOracle(MeteredOracle):
    """An oracle that adds every answer to a labelled set, within its budget."""

    def __init__(self, labelled_set: LabelledSet, people: People) -> None:
        left = labelled_set.budget - labelled_set.queries
        session = labelled_set.box.session(labelled_set.problem, people, scores=labelled_set.with_scores)
        super().__init__(session, len(people), left, labelled_set.answered)
        self._labelled_set = labelled_set

    def query(self, states: Floats, rows: Ints) -> tuple[Bools, Bools]:
        """See `MeteredOracle.query`."""
        answers, known = super().query(states, rows)
        keys = self._session.keys(states[known], rows[known])
        self._labelled_set.add(states[known], keys, answers[known], self.known_scores(states[known], rows[known]))
        self._labelled_set.out_of_budget |= self.exhausted
        return answers, known
