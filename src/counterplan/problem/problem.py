"""A recourse problem: read from one file, checked, and ready to be planned in."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from counterplan.errors import PeopleError, ProblemError, SettingError
from counterplan.problem.builder import Parts, build
from counterplan.problem.encoding import Encoding
from counterplan.problem.frames import People, read_people
from counterplan.problem.parts import Feature, Outcome
from counterplan.problem.source import Source, read_source
from counterplan.problem.transitions import Bools, Floats, Transitions
from counterplan.problem.values import Native, did_you_mean


class Problem:
    """Features, functions, causal graph and outcome: `Problem.load(path)` or `Problem.from_dict(data)`."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self.name: str = parts.file.name
        self.features: tuple[Feature, ...] = parts.features
        self.outcome: Outcome = parts.outcome
        self.max_actions: int = parts.file.max_actions
        self.transitions = Transitions(parts.features, parts.functions, parts.causes)

    @classmethod
    def load(cls, path: str | Path) -> Problem:
        """Read a problem file; a ProblemError lists everything that is wrong with it, line by line."""
        return cls._from_source(read_source(path))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], name: str = "problem") -> Problem:
        """The same from a dict with the file's keys; `name` stands for the file in messages."""
        return cls._from_source(Source(name, data))

    @classmethod
    def _from_source(cls, source: Source) -> Problem:
        parts = build(source)
        if parts is None:
            errors = [finding for finding in source.findings if finding.severity == "error"]
            raise ProblemError("\n".join(finding.text(source.name) for finding in errors))
        return cls(parts)

    def to_dict(self) -> dict[str, Any]:
        """The whole problem as plain data that `from_dict` reads back."""
        return self._parts.file.model_dump(mode="json", by_alias=True, exclude_defaults=True) | {"counterplan": 1}

    @cached_property
    def fingerprint(self) -> str:
        """A hash of everything that the problem says: what was learned for one problem fits no other."""
        text = json.dumps(self.to_dict())  # in the file's order, which numbers the features and the actions
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @cached_property
    def query_fingerprint(self) -> str:
        """A hash of what a model's answers depend on: features and outcome, whatever people can do at what cost."""
        features = [(one.name, one.kind, one.integer, one.natives) for one in self.features]
        text = json.dumps([features, self.outcome.natives, sorted(self.outcome.favourable)])
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def read(self, people: pd.DataFrame | People) -> People:
        """People from a DataFrame, checked; the outcome's column is set aside if it is there."""
        if isinstance(people, People):
            if people.features != self.features:
                raise PeopleError(f"these people were read for another problem than {self.name}")
            return people
        return read_people(self.features, people, self.outcome.column)

    def encoding(self, people: People | None = None) -> Encoding:
        """The binary view of states; needs people only if some feature has `bins: auto`."""
        return Encoding.of(self.features, None if people is None else people.states)

    def state(self, values: Mapping[str, Native | None]) -> Floats:
        """One state [F] from a mapping of feature names to values."""
        names = [feature.name for feature in self.features]
        for name in values:
            if name not in names:
                raise PeopleError(f"there is no feature '{name}'{did_you_mean(name, names)}")
        row = {name: [values.get(name)] for name in names}
        state: Floats = self.read(pd.DataFrame(row, dtype=object)).states[0]
        return state

    def describe(self, state: Floats) -> dict[str, Native | None]:
        """A state [F] as a mapping of feature names to values; None where a value is missing."""
        return {feature.name: feature.native(float(state[feature.index])) for feature in self.features}

    def allowed(self, forbid: Sequence[str] = ()) -> Bools:
        """Which actions [A] are left when functions ("CHANGE_JOB") or actions ("CHANGE_JOB=manager") are forbidden."""
        allowed = np.ones(len(self.transitions), bool)
        names = [str(action) for action in self.transitions.actions[:-1]]
        functions = [function.name for function in self.transitions.functions]
        if isinstance(forbid, str):
            forbid = [forbid]
        for wish in forbid:
            if not isinstance(wish, str):
                raise SettingError(f"cannot forbid {wish!r}: name a function or an action, such as '{names[0]}'")
            if wish in functions:
                allowed[self.transitions.spans[functions.index(wish)]] = False
            elif wish in names:
                allowed[names.index(wish)] = False
            else:
                hint = did_you_mean(wish, [*functions, *names]) or f"; there are {', '.join(functions)}"
                raise SettingError(f"cannot forbid '{wish}': there is no such function or action{hint}")
        return allowed

    def __repr__(self) -> str:
        return (
            f"Problem({self.name!r}: {len(self.features)} features, {len(self.transitions.functions)} functions, "
            f"{len(self.transitions) - 1} actions)"
        )
