"""The rule that makes the outputs of a model favourable or unfavourable."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from counterplan.errors import ModelError
from counterplan.models.outputs import Array, numbers_or_none
from counterplan.models.protocol import Model, label_threshold, labels_and_scores
from counterplan.problem.parts import Outcome
from counterplan.problem.transitions import Bools, Floats
from counterplan.problem.values import did_you_mean, is_missing, listed, text_of


@dataclass(frozen=True)
class Decision:
    """Which labels, or which scores, of a model are favourable.

    Attributes
    ----------
    outcome : Outcome
        The outcome of the problem.
    favourable : frozenset of str
        The favourable values; empty if the outcome is a score.
    threshold : float or None
        The limit of favourable scores; None if labels decide.
    at_most : bool
        Whether scores up to the limit are favourable rather than those from it.
    """

    outcome: Outcome
    favourable: frozenset[str]
    threshold: float | None = None
    at_most: bool = False

    @classmethod
    def of(cls, outcome: Outcome, favourable: Collection[str] | None, threshold: float | None) -> Decision:
        """The decision of a problem with this `outcome`.

        Parameters
        ----------
        outcome : Outcome
            The outcome of the problem.
        favourable : collection of str or None
            Favourable values; default: those of the outcome.
        threshold : float or None
            The limit of favourable scores; default: that of the outcome, if it is a score.

        Raises
        ------
        ModelError
            If a favourable value is not one of the outcome.
        """
        threshold = None if threshold is None else float(threshold)  # 3 and 3.0 are the same rule
        if outcome.score is not None:
            if favourable is not None:
                raise ModelError(f"the problem's outcome is a score, favourable if {outcome.score}: it has no labels")
            limit = outcome.score.limit if threshold is None else threshold
            return cls(outcome, frozenset(), limit, outcome.score.at_most)
        chosen = outcome.favourable if favourable is None else frozenset(favourable)
        for text in chosen:
            if text not in outcome.values:
                hint = did_you_mean(text, outcome.values) or f"; they are {listed(outcome.values)}"
                raise ModelError(f"'{text}' is not one of the problem's outcomes{hint}")
        return cls(outcome, chosen, threshold)

    @property
    def parts(self) -> list[str]:
        """Texts that identify the rule, whether it comes from the problem or from settings."""
        return [repr(self.threshold), *sorted(self.favourable), *(["at most"] if self.at_most else [])]

    @property
    def cutoff(self) -> float:
        """The score from which on a decision is favourable, as `answers_and_scores` returns scores.

        Without a threshold, where labels decide: a probability of 0.5.
        """
        if self.threshold is None:
            return 0.5
        return -self.threshold if self.at_most else self.threshold

    def cutoff_of(self, model: Model) -> float:
        """The same for `model`, which may state the probability from which on its labels are favourable."""
        return label_threshold(model, self.labels_of(model)) if self.threshold is None else self.cutoff

    def labels_of(self, model: Model) -> frozenset[str]:
        """The favourable labels as `model` writes them: codes of the outcome, unless it knows the values themselves."""
        codes = dict(self.outcome.codes)
        coded = frozenset(codes.get(value, value) for value in self.favourable)
        knows_values = model.classes is not None and self.favourable <= set(model.classes)
        return self.favourable if knows_values else coded

    def answers(self, model: Model, people: pd.DataFrame) -> Bools:
        """Query whether the decision about each person [B] is favourable."""
        if self.threshold is None:
            return self.from_labels(model.labels(people), model.name, len(people))
        return self.from_scores(model.scores(people, self.labels_of(model)), model.name, len(people))[0]

    def answers_and_scores(self, model: Model, people: pd.DataFrame) -> tuple[Bools, Floats | None]:
        """Query answers [B] with scores [B] that are larger the more favourable; None if the model has no scores.

        Scores of a favourable "at most" are negated. Numbers that are the labels themselves are not scores.
        """
        if self.threshold is not None:
            return self.from_scores(model.scores(people, self.labels_of(model)), model.name, len(people))
        labels, scores = self.labels_and_scores(model, people)
        return self.from_labels(labels, model.name, len(people)), scores

    def labels_and_scores(self, model: Model, people: pd.DataFrame) -> tuple[Array, Floats | None]:
        """Query labels [B] with scores [B] in favour of the favourable ones; None if the model has no scores."""
        labels, scores = labels_and_scores(model, people, self.labels_of(model))
        numbers = None if scores is None else numbers_or_none(labels, model.name)
        if numbers is not None and np.array_equal(numbers, np.asarray(scores), equal_nan=True):
            scores = None
        return labels, scores

    def from_scores(self, scores: Array, name: str, rows: int) -> tuple[Bools, Floats]:
        """Whether scores [B] are favourable, and the scores, negated if small ones are favourable."""
        _check(scores, name, rows)
        numbers: Floats = scores.astype(float)
        if np.isnan(numbers).any():
            raise ModelError(f"{name} returned NaN as score {int(np.isnan(numbers).argmax())}")
        assert self.threshold is not None
        if self.at_most:
            return numbers <= self.threshold, -numbers
        return numbers >= self.threshold, numbers

    def from_labels(self, labels: npt.NDArray[Any], name: str, rows: int) -> Bools:
        """Whether labels [B] are favourable; a ModelError for labels that are not outcomes of the problem."""
        codes, outcomes = self._outcomes(labels, name, rows)
        return np.array([outcome in self.favourable for outcome in outcomes], bool)[codes]

    def outcomes_of(self, labels: npt.NDArray[Any], name: str, rows: int) -> list[str]:
        """The outcome of the problem that each of `labels` [B] stands for; errors as of `from_labels`."""
        codes, outcomes = self._outcomes(labels, name, rows)
        return [outcomes[code] for code in codes.tolist()]

    def _outcomes(self, labels: npt.NDArray[Any], name: str, rows: int) -> tuple[npt.NDArray[np.intp], list[str]]:
        """Codes [B] of labels, and the outcome of each code."""
        _check(labels, name, rows)
        meaning = {value: value for value in self.outcome.values}
        meaning |= {code: value for value, code in self.outcome.codes}
        codes, uniques = pd.factorize(labels, use_na_sentinel=False)
        outcomes = []
        for i, label in enumerate(uniques):
            text = text_of(label)
            if is_missing(label):
                row = int((codes == i).argmax())
                raise ModelError(f"{name} returned no answer (NaN) for row {row} of {len(labels)}")
            if text not in meaning:
                raise ModelError(f"{name} returned the unknown outcome {text!r}{self._hint(label, text)}")
            outcomes.append(meaning[text])
        return codes, outcomes

    def _hint(self, label: object, text: str) -> str:
        values = self.outcome.values
        hint = did_you_mean(text, values) or f"; the problem's outcomes are {listed(values)}"
        if isinstance(label, (float, np.floating)):
            return f"{hint} (set a threshold if these are scores)"
        is_code = isinstance(label, (int, np.integer)) and not self.outcome.codes
        return f"{hint} ('codes' in the outcome of the problem map labels of a model to them)" if is_code else hint


def _check(outputs: Array, name: str, rows: int) -> None:
    if isinstance(outputs, np.ma.MaskedArray):
        raise ModelError(f"{name} returned a masked array; fill it, so that every row has an answer")
    if outputs.shape != (rows,):
        raise ModelError(f"{name} received {rows} rows; number of answers: {len(outputs)}")
