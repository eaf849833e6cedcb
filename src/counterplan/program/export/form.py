"""The form of a page: a field for each feature that an artefact depends on, and example people to start from."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from counterplan.errors import CounterplanError
from counterplan.problem import Problem
from counterplan.problem.parts import Cause, Feature
from counterplan.problem.transitions import Floats
from counterplan.program.export.resolved import derived
from counterplan.program.protocol import Artefact

_STEPS = 200
"""Steps of a slider."""


@dataclass(frozen=True)
class FormSource:
    """The part of a form that one artefact needs.

    Parameters
    ----------
    artefact : Artefact
    features : sequence of Feature
        The features that its plans depend on.
    marks : mapping of int to sequence of float
        By feature: numbers that its slider covers, such as thresholds.
    """

    artefact: Artefact
    features: Sequence[Feature]
    marks: Mapping[int, Sequence[float]]


class Form:
    """The fields of a page for one or several artefacts of one problem."""

    def __init__(self, problem: Problem, sources: Sequence[FormSource]) -> None:
        self.problem, self.sources = problem, sources
        common = [derived(source.artefact) for source in sources]
        self.derived: list[Cause] = [cause for cause in common[0] if all(cause in causes for causes in common)]
        self.examples = next(filter(None, (_examples(source.artefact) for source in sources)), [])

    @property
    def features(self) -> list[Feature]:
        """The features that have a field: those that an artefact depends on, or that such a one is computed from."""
        found = {feature.index for source in self.sources for feature in source.features}
        for cause in reversed(self.derived):
            if cause.target in found:
                found |= self.problem.transitions.read_in(cause)
        return [feature for feature in self.problem.features if feature.index in found]

    def data(self) -> dict[str, Any]:
        """The fields and the example people as JSON data."""
        middle = [self._middle(feature) for feature in self.problem.features]
        return {
            "fields": [self._field(feature) for feature in self.features],
            "examples": [_finite(example) for example in self.examples] or [middle],
            "real": bool(self.examples),
        }

    def _field(self, feature: Feature) -> dict[str, Any]:
        """A field: a choice, a number with a slider, or what is computed from other fields."""
        for cause in self.derived:
            if cause.target == feature.index:
                return {"feature": feature.index, "from": sorted(self.problem.transitions.read_in(cause))}
        if not feature.is_number:
            return {"feature": feature.index}
        low, high, step = self._range(feature)
        return {"feature": feature.index, "low": low, "high": high, "step": step}

    def _range(self, feature: Feature) -> tuple[float, float, float]:
        """The minimum, maximum and step of a slider.

        An end is the bound of the feature. Without a bound, it is the end of the model card's range, or of a wider one
        that covers all marks and examples; if no model card has a range, there is a margin around these.
        """
        marks = [example[feature.index] for example in self.examples if not math.isnan(example[feature.index])]
        known: list[float] = []
        for source in self.sources:
            marks += source.marks.get(feature.index, ())
            known += (source.artefact.model_card.ranges or {}).get(feature.name) or ()
        marks += known or [edge for edge in feature.bins or () if math.isfinite(edge)]
        marks += [edge for edge in (feature.low, feature.high) if math.isfinite(edge)]
        low, high = (min(marks), max(marks)) if marks else (0.0, 100.0)
        if not known or low == high:
            room = 0.15 * (high - low) or max(abs(high), 1.0)
            low, high = max(low - room, 0.0 if low >= 0 else -math.inf), high + room
        bottom = feature.low if math.isfinite(feature.low) else low
        top = feature.high if math.isfinite(feature.high) else high
        step = 10 ** math.floor(math.log10((top - bottom) / _STEPS)) if top > bottom else 1.0
        step = next((step * size for size in (1, 2, 5, 10) if step * size * _STEPS >= top - bottom), step)
        if feature.integer:
            bottom, top, step = math.ceil(bottom), math.floor(top), max(step, 1.0)
        first = bottom if bottom == feature.low else math.floor(bottom / step) * step
        last = top if top == feature.high else math.ceil(top / step) * step
        return float(f"{first:.10g}"), float(f"{last:.10g}"), float(f"{step:.10g}")

    def _middle(self, feature: Feature) -> float | None:
        """An initial value if there is no example."""
        if feature.kind == "category":
            return 0.0
        if feature.kind == "ordered":
            return float(len(feature.natives) // 2)
        low, high, step = self._range(feature)
        middle = min(low + round((high - low) / 2 / step) * step, high)
        return float(round(middle)) if feature.integer else float(f"{middle:.10g}")


def _examples(artefact: Artefact) -> list[Floats]:
    """The examples of the model card that match the problem."""
    found = []
    stored = artefact.model_card.to_data().get("examples")
    for person in stored if isinstance(stored, list | tuple) else ():
        try:
            found.append(artefact.problem.state(person))
        except (CounterplanError, AttributeError, TypeError):
            continue
    return found


def _finite(state: Floats) -> list[float | None]:
    return [None if math.isnan(number) else number for number in state.tolist()]
