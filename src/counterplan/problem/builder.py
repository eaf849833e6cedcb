"""Build the parts of a problem from the data of its file, and report every mistake in it.

Each feature, function and cause is checked by itself, so that one mistake does not hide the next. References to a
broken feature are not reported, since they may be right.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Annotated, Any

import numpy as np
from pydantic import TypeAdapter

from counterplan.problem import limits, parts
from counterplan.problem.binding import Array, Column, Scope
from counterplan.problem.causal_graph import CauseBuilder
from counterplan.problem.scalars import Plain, as_number
from counterplan.problem.schema import (
    VERSION,
    CategorySpec,
    CauseSpec,
    CostSpec,
    DurationSpec,
    FeatureSpec,
    FunctionSpec,
    NumberSpec,
    OutcomeSpec,
    ProblemFile,
    ScoreSpec,
)
from counterplan.problem.source import Finding, LimitExceeded, Location, Source, TooManyFindings, check_size
from counterplan.problem.values import Native, did_you_mean, listed, text_of

RESERVED_FUNCTIONS = (parts.STOP, "INTERVENE")
_SPECS: dict[str, Any] = {"feature": FeatureSpec, "function": FunctionSpec, "cause": CauseSpec}


@cache
def _adapter(kind: str) -> TypeAdapter[Any]:
    """The validator of a part, built when it is first used to keep imports fast."""
    return TypeAdapter(_SPECS[kind])


@dataclass(frozen=True)
class Parts:
    """The validated parts of a problem; `causes` are in topological order."""

    file: ProblemFile
    features: tuple[parts.Feature, ...]
    functions: tuple[parts.Function, ...]
    causes: tuple[parts.Cause, ...]
    outcome: parts.Outcome


def build(source: Source) -> Parts | None:
    """Build the parts of the problem in `source`; None if it has errors. All mistakes are in `source.findings`."""
    if not isinstance(source.data, Mapping):
        if not source.findings:
            source.report("a problem file is a mapping that starts with 'counterplan: 1'")
        return None
    try:
        check_size(source.data)
        return _Builder(source).build()
    except LimitExceeded as error:
        source.findings.append(Finding(str(error), error.location, line=source.line(error.location)))
    except TooManyFindings:
        message = f"there are more than {limits.MAX_FINDINGS:,} mistakes; the rest are not listed"
        source.findings.append(Finding(message))
    return None


class _Builder(CauseBuilder):
    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.data: Mapping[str, Any] = source.data
        self.actions = 0

    def build(self) -> Parts | None:
        header = self.header()
        self.read_features()
        functions = self.pieces("functions", "function", self.function)
        self.trace([part for part, _ in functions], self.data.get("functions"), self.data.get("causes"))
        causes = self.pieces("causes", "cause", self.cause)
        order = self.causal_order(causes)
        self.finite_amounts([part for part, _ in functions], [part for part, _ in causes])
        self.forgotten_durations(functions)
        if header is None or self.source.has_errors:
            return None
        file = ProblemFile.model_validate(
            header
            | {
                "features": self.specs,
                "functions": {part.name: spec for part, spec in functions},
                "causes": [spec for _, spec in causes],
            }
        )
        outcome = self.outcome(file.outcome)
        ordered = sorted((part for part, _ in causes), key=lambda cause: (order[cause.target], order[cause.source]))
        return Parts(file, tuple(self.features.values()), tuple(part for part, _ in functions), tuple(ordered), outcome)

    def header(self) -> dict[str, Any] | None:
        version = self.data.get("counterplan")
        if version is None:
            self.report("'counterplan' is missing: a problem file starts with 'counterplan: 1'", ())
        elif version != VERSION or isinstance(version, bool):
            newer = isinstance(version, int) and version > VERSION
            hint = "; it needs a newer counterplan" if newer else f"; this counterplan reads version {VERSION}"
            self.report(f"unknown version {version!r} of the problem format{hint}", ("counterplan",))
        for key in self.data:
            if key not in ProblemFile.model_fields:
                self.report(f"unknown key{did_you_mean(text_of(key), ProblemFile.model_fields)}", (text_of(key),))
        header: dict[str, Any] = {"counterplan": VERSION}
        for key in ("name", "title", "outcome", "max_actions", "time_unit"):
            field = ProblemFile.model_fields[key]
            if key in self.data:
                adapter = TypeAdapter(_annotated(field.annotation, field.metadata))
                header[key] = self.validated(adapter, self.data[key], (key,))
            elif field.is_required():
                self.report(f"'{key}' is missing", ())
                header[key] = None
        if header["outcome"] is not None:
            self.outcome(header["outcome"])
        unit = header.get("time_unit")
        if unit is not None and not _is_unit(unit):
            self.report(
                f"should be the plural of a unit, such as months or working days: one to {limits.MAX_UNIT_WORDS} words "
                f"of letters, at most {limits.MAX_UNIT_LENGTH} characters",
                ("time_unit",),
            )
        return header if None not in [header[key] for key in ("name", "outcome", "max_actions")] else None

    def pieces(self, key: str, kind: str, build: Any) -> list[tuple[Any, Any]]:
        """Build the valid functions or causes, each with its normalised specification."""
        wanted, shape = (Mapping, "a mapping") if kind == "function" else (Sequence, "a list")
        data = self.data.get(key)
        if data is None:
            return []
        if not isinstance(data, wanted) or isinstance(data, str):
            self.report(f"should be {shape}", (key,))
            return []
        if not self.within(len(data), limits.MAX_FUNCTIONS if kind == "function" else limits.MAX_CAUSES, key, (key,)):
            return []
        built = []
        items = data.items() if isinstance(data, Mapping) else enumerate(data)
        for name, item in items:
            location: Location = (key, name if isinstance(name, int) else text_of(name))
            spec = self.validated(_adapter(kind), item, location)
            piece = build(spec, location) if spec is not None else None
            if piece is not None:
                built.append(piece)
        return built

    def outcome(self, spec: OutcomeSpec) -> parts.Outcome:
        location: Location = ("outcome",)
        if isinstance(spec.favourable, ScoreSpec):
            return self.score(spec, spec.favourable)
        if spec.values is None:
            self.report("'values' is missing; list every label, or write 'favourable: {at_least: NUMBER}'", location)
            return parts.Outcome(spec.column, (), frozenset())
        if not self.within(len(spec.values), limits.MAX_VALUES, "values of the outcome", (*location, "values")):
            return parts.Outcome(spec.column, (), frozenset())
        natives = self.distinct(spec.values, (*location, "values"))
        values = [text_of(native) for native in natives]
        chosen = spec.favourable if isinstance(spec.favourable, list) else [spec.favourable]
        favourable = [text_of(value) for value in chosen]
        for text in favourable:
            if text not in values:
                self.report(
                    f"'{text}' is not among the outcome's values{did_you_mean(text, values)}", (*location, "favourable")
                )
        if set(favourable) == set(values):
            self.report("every outcome is favourable, so nobody needs a plan", (*location, "favourable"))
        return parts.Outcome(spec.column, natives, frozenset(favourable), codes=self.codes(spec, values))

    def codes(self, spec: OutcomeSpec, values: Sequence[str]) -> tuple[tuple[str, str], ...]:
        """Pairs of a value and the label that the model returns for it; no label stands for two values."""
        codes: dict[str, str] = {}
        for value, native in spec.codes.items():
            code, location = text_of(native), ("outcome", "codes", value)
            if value not in values:
                self.report(f"'{value}' is not among the outcome's values{did_you_mean(value, values)}", location)
            if code in codes.values():
                self.report(f"'{code}' stands for two values", location)
            if code in values and code != value:
                self.report(f"'{code}' is another value of the outcome", location)
            codes[value] = code
        return tuple(codes.items())

    def score(self, spec: OutcomeSpec, favourable: ScoreSpec) -> parts.Outcome:
        location: Location = ("outcome", "favourable")
        if (favourable.at_least is None) == (favourable.at_most is None):
            self.report("a favourable score has either 'at_least' or 'at_most', followed by a number", location)
        for key in ("values", "codes"):
            if getattr(spec, key):
                self.report("a model that returns scores has no labels; leave this out", ("outcome", key))
        limit = favourable.at_least if favourable.at_most is None else favourable.at_most
        score = parts.Score(0.0 if limit is None else limit, favourable.at_most is not None)
        return parts.Outcome(spec.column, (), frozenset(), score)

    def read_features(self) -> None:
        self.specs: dict[str, NumberSpec | CategorySpec] = {}
        data = self.data.get("features")
        if data is None or data == {}:
            self.report("'features' is missing: a problem describes at least one feature", ())
            return
        if not isinstance(data, Mapping):
            self.report("should be a mapping from names to features", ("features",))
            return
        if not self.within(len(data), limits.MAX_FEATURES, "features", ("features",)):
            self.broken = {text_of(key) for key in data}
            return
        for key, item in data.items():
            name, location = text_of(key), ("features", text_of(key))
            before = len(self.source.findings)
            if name in self.features or name in self.broken:
                self.report("this name is used twice", location)
            spec = self.validated(_adapter("feature"), item, location)
            if not name.strip() or "`" in name:
                self.report("a feature's name is not empty and has no ` in it", location)
            if name == "argument":
                self.report("'argument' means the argument of a function; choose another name", location)
            if self.outcome_column() == name:
                self.report("the outcome's column cannot be a feature: the black box decides it", location)
            if spec is not None:
                feature = self.feature(name, spec, location)
                if not any(finding.severity == "error" for finding in self.source.findings[before:]):
                    self.features[name] = feature
                    self.specs[name] = spec
                    continue
            self.broken.add(name)

    def outcome_column(self) -> str | None:
        outcome = self.data.get("outcome")
        column = outcome.get("column") if isinstance(outcome, Mapping) else None
        return None if column is None else text_of(column)

    def feature(self, name: str, spec: NumberSpec | CategorySpec, location: Location) -> parts.Feature:
        plain = parts.Feature(
            name, len(self.features), spec.kind, spec.label or name.replace("_", " "), spec.protected, spec.missing
        )
        return (
            self.number(plain, spec, location) if isinstance(spec, NumberSpec) else self.category(plain, spec, location)
        )

    def number(self, plain: parts.Feature, spec: NumberSpec, location: Location) -> parts.Feature:
        low = -math.inf if spec.minimum is None else spec.minimum
        high = math.inf if spec.maximum is None else spec.maximum
        if low > high:
            self.report(f"the minimum {spec.minimum} is above the maximum {spec.maximum}", (*location, "minimum"))
        bins = None if spec.bins == "auto" else tuple(float(edge) for edge in spec.bins)
        for i, edge in enumerate(bins or ()):
            if i and edge <= (bins or ())[i - 1]:
                self.report("cut points must rise", (*location, "bins", i))
            if math.isinf(edge) and (i or edge > 0):
                self.report(
                    "only the first cut point may be infinite: -.inf, for all that lies below", (*location, "bins", i)
                )
        return replace(plain, integer=spec.integer, unit=spec.unit, low=low, high=high, bins=bins)

    def category(self, plain: parts.Feature, spec: CategorySpec, location: Location) -> parts.Feature:
        if not self.within(len(spec.values), limits.MAX_VALUES, "values of a category", (*location, "values")):
            return plain
        natives = self.distinct(spec.values, (*location, "values"))
        values = {text_of(native): None for native in natives}
        for text in spec.labels:
            if text not in values:
                self.report(
                    f"'{text}' is not among the values{did_you_mean(text, values)}", (*location, "labels", text)
                )
        return replace(plain, natives=natives, labels=tuple(spec.labels.get(text, text) for text in values))

    def function(self, spec: FunctionSpec, location: Location) -> tuple[parts.Function, FunctionSpec] | None:
        name = str(location[-1])
        if name in RESERVED_FUNCTIONS:
            self.report(f"the name {name} is reserved", location)
        if not name or "=" in name or any(letter.isspace() for letter in name):
            self.report("a function's name has no spaces and no '=' in it", location)
        if (spec.set_ is None) == (spec.add is None):
            self.report("a function has either 'set' or 'add', followed by the feature it changes", location)
            return None
        effect = "add" if spec.add is not None else "set"
        target = self.known(str(spec.add if spec.add is not None else spec.set_), (*location, effect))
        if target is None:
            return None
        if effect == "add" and not target.is_number:
            self.report(f"'add' needs a number, and {target.name} is not one", (*location, "add"))
            return None
        natives = self.arguments(spec, target, effect, location)
        self.phrase(spec.phrase, (*location, "phrase"))
        if natives is None:
            return None
        numbers = [float(native) if target.is_number else target.value_index[text_of(native)] for native in natives]
        cost = spec.cost if isinstance(spec.cost, CostSpec) else CostSpec(base=spec.cost, surcharge=0.0)
        inner = (*location, "cost") if isinstance(spec.cost, CostSpec) else location
        base = self.per_argument(
            cost.base, natives, target, (*inner, "base" if isinstance(spec.cost, CostSpec) else "cost")
        )
        surcharge = self.per_argument(cost.surcharge, natives, target, (*inner, "surcharge"))
        durations = self.durations(spec, natives, target, location)
        scope = self.scope(spec, target, natives, base)
        when = self.expression(spec.when, scope, "boolean", (*location, "when"))
        if base is None or surcharge is None or when is None or durations is None:
            return None
        verb = f"Change {target.label} to {{argument}}" if effect == "set" else f"Change {target.label} by {{argument}}"
        function = parts.Function(
            name=name,
            target=target.index,
            adds=effect == "add",
            arguments=np.array(numbers, float),
            natives=tuple(natives),
            when=when,
            base=base,
            surcharge=surcharge,
            phrase=spec.phrase or verb,
            duration_base=durations[0],
            duration_surcharge=durations[1],
            overlaps=spec.overlaps,
            every=spec.arguments == "all",
        )
        return function, spec.model_copy(update={"arguments": natives})

    def arguments(
        self, spec: FunctionSpec, target: parts.Feature, effect: str, location: Location
    ) -> list[Native] | None:
        before = self.actions
        self.actions += len(target.natives) if spec.arguments == "all" else len(spec.arguments)
        if self.actions > limits.MAX_ACTIONS:
            if before <= limits.MAX_ACTIONS:  # reported once
                self.within(self.actions, limits.MAX_ACTIONS, "arguments up to here", (*location, "arguments"))
            return None
        if spec.arguments == "all":
            if target.is_number:
                self.report("'all' needs a feature with a list of values; write the numbers", (*location, "arguments"))
                return None
            return list(target.natives)
        if not spec.arguments:
            self.report("there must be at least one argument", (*location, "arguments"))
            return None
        checked = [
            self.of_feature(target, item, (*location, "arguments", i), change=effect == "add")
            for i, item in enumerate(spec.arguments)
        ]
        natives = [native for native in checked if native is not None]
        if len(natives) == len(checked):
            self.distinct(natives, (*location, "arguments"))
        return natives if len(natives) == len(checked) else None

    def per_argument(
        self, amount: Any, natives: Sequence[Native], target: parts.Feature, location: Location
    ) -> Array | None:
        """One number per argument [n]."""
        if isinstance(amount, list):
            if len(amount) != len(natives):
                self.report(f"has {len(amount)} numbers for {len(natives)} arguments", location)
                return None
            return np.array(amount, float)
        if not isinstance(amount, Mapping):
            return np.full(len(natives), float(amount))
        possible = dict.fromkeys(map(text_of, natives) if target.is_number else target.values)
        written = {text_of(as_number(Plain(text))) if target.is_number else text: text for text in amount}
        for text, original in written.items():
            if text not in possible:
                hint = did_you_mean(text, possible)
                self.report(f"'{original}' is not a value of '{target.name}'{hint}", (*location, original))
        amount = {text: amount[original] for text, original in written.items()}
        lacking = [text_of(native) for native in natives if text_of(native) not in amount]
        if lacking:
            self.report(f"no number for {listed(lacking)}", location)
            return None
        return np.array([amount[text_of(native)] for native in natives], float)

    def durations(
        self, spec: FunctionSpec, natives: Sequence[Native], target: parts.Feature, location: Location
    ) -> tuple[Array, Array] | None:
        """The duration that causes scale and the one that they do not, one number per argument [n] each."""
        place = (*location, "duration")
        if not isinstance(spec.duration, DurationSpec):
            fixed = self.per_argument(spec.duration, natives, target, place)
            return None if fixed is None else (np.zeros(len(natives)), fixed)
        base = self.per_argument(spec.duration.base, natives, target, (*place, "base"))
        surcharge = self.per_argument(spec.duration.surcharge, natives, target, (*place, "surcharge"))
        return None if base is None or surcharge is None else (base, surcharge)

    def scope(self, spec: FunctionSpec, target: parts.Feature, natives: Sequence[Native], base: Array | None) -> Scope:
        """The names that the condition of a function may use."""
        argument = self.columns()[target.name]
        if spec.add is not None:
            changes = [float(native) for native in natives]
            argument = Column(-1, low=min(changes), high=max(changes))
        bases: Mapping[str, float] | None = None
        if isinstance(spec.cost, CostSpec) and isinstance(spec.cost.base, Mapping):
            bases = spec.cost.base
        elif not target.is_number:  # an invalid base has its own finding
            bases = dict.fromkeys(map(text_of, natives), 0.0) if base is None else _by_text(natives, base)
        return Scope(self.columns(), argument, bases)

    def finite_amounts(self, functions: Sequence[parts.Function], causes: Sequence[parts.Cause]) -> None:
        """Report functions whose largest cost is not finite, or whose largest duration is too long."""
        scales: dict[int, float] = {}
        for cause in causes:
            if cause.scale is not None:
                scales[cause.target] = scales.get(cause.target, 1.0) * cause.scale.largest()
        for function in functions:
            scale = scales.get(function.target, 1.0)
            with np.errstate(all="ignore"):
                largest = function.surcharge + function.base * scale
            if not np.isfinite(largest).all():
                causes_too = ", multiplied with the largest scales of its causes" if scale > 1 else ""
                self.report(f"the cost is not finite{causes_too}", ("functions", function.name, "cost"))
            with np.errstate(all="ignore"):
                scaled = np.where(function.duration_base > 0, function.duration_base * scale, 0.0)
                longest = function.duration_surcharge + scaled
            if not (longest <= limits.MAX_DURATION).all():
                causes_too = ", multiplied with the largest scales of its causes" if scale > 1 else ""
                message = f"the duration is longer than {limits.MAX_DURATION:,}{causes_too}; choose a larger time_unit"
                self.report(message, ("functions", function.name, "duration"))

    def forgotten_durations(self, functions: Sequence[tuple[parts.Function, FunctionSpec]]) -> None:
        """Warn about functions without a duration if others have one."""
        if any(part.duration_base.any() or part.duration_surcharge.any() for part, _ in functions):
            for part, spec in functions:
                if "duration" not in spec.model_fields_set:
                    message = "has no duration, although others have; write 'duration: 0' if it takes no time"
                    self.report(message, ("functions", part.name), "warning")

    def phrase(self, phrase: str | None, location: Location) -> None:
        for name in parts.placeholders(phrase or ""):
            if name not in parts.PLACEHOLDERS:
                known = ", ".join(f"{{{word}}}" for word in parts.PLACEHOLDERS)
                self.report(
                    f"{{{name}}} is unknown{did_you_mean(name, parts.PLACEHOLDERS)}; there are {known}", location
                )


def _is_unit(text: str) -> bool:
    """Whether `text` is a word or a few words of letters, which may have hyphens between them."""
    words = text.strip(" ").split(" ")
    if len(text) > limits.MAX_UNIT_LENGTH or len(words) > limits.MAX_UNIT_WORDS or len(words[-1]) < 2:
        return False
    parts_ = [part for word in words for part in word.split("-")]
    return all(part and all(unicodedata.category(letter)[0] in "LM" for letter in part) for part in parts_)


def _by_text(natives: Sequence[Native], numbers: Array) -> dict[str, float]:
    return dict(zip(map(text_of, natives), numbers.tolist(), strict=True))


def _annotated(annotation: Any, metadata: Sequence[Any]) -> Any:
    """A field's type with its validators."""
    return Annotated[annotation, *metadata] if metadata else annotation
