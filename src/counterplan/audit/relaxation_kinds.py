"""The single relaxations of a problem: one action more, one precondition less, one argument further, one function more.

Each is made on the data of the problem file and built like any other problem, so that everything about it is checked.
Features and outcome stay as they are: cached answers of a black box serve the relaxed problems too.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from counterplan.audit.relaxation_preconditions import direction, limits_the_value, without_one
from counterplan.errors import ProblemError
from counterplan.problem import Feature, Function, People, Problem
from counterplan.problem.column_words import PROTECTED, mentions
from counterplan.problem.draft_text import constant_case
from counterplan.problem.intake import PeopleTable
from counterplan.problem.limits import MAX_PLAN_LENGTH
from counterplan.problem.parts import Cause
from counterplan.problem.transitions import Floats, rounded
from counterplan.problem.values import Native, listed, text_of

RelaxationKind = Literal["precondition", "argument", "actions", "function"]
KINDS: tuple[RelaxationKind, ...] = ("precondition", "argument", "actions", "function")
"""The kinds in the order in which they are listed and tried: cheap ones first."""
MOST_ARGUMENTS = 9
"""Numbers that a new function sets: deciles of the values that people have."""


@dataclass(frozen=True)
class Relaxation:
    """A problem that differs from another in one thing, which makes more plans legal and no plan illegal.

    Attributes
    ----------
    kind : {"precondition", "argument", "actions", "function"}
        What is relaxed.
    name : str
        A short name, unique among the relaxations of a problem.
    description : str
        What is relaxed, as a phrase: "allow 6 actions instead of 5".
    problem : Problem
        The relaxed problem.
    function : str or None
        The function that is new or has more legal actions; None for one action more.
    """

    kind: RelaxationKind
    name: str
    description: str
    problem: Problem = field(repr=False)
    function: str | None = None


@dataclass(frozen=True)
class SkippedRelaxation:
    """A relaxation that was not made, and why."""

    kind: RelaxationKind
    name: str
    reason: str


def relaxations_of(problem: Problem, people: PeopleTable | People | None = None) -> list[Relaxation]:
    """All single relaxations of a problem.

    - One precondition less: each conjunct of each function's `when`, also of one argument only, except conjuncts on
      `argument` and the changed feature alone, or these and protected features. Those exclude actions without effect,
      fix the direction of the change, keep the feature within bounds, or exclude impossible combinations.
    - One argument further: the next number beyond the arguments, at the distance of the last two (one argument: twice
      as far); of an ordered category, the next value. It costs and takes as much as the argument it follows.
    - One action more: `max_actions` plus one.
    - One function more: sets a feature that nothing changes, and that is neither protected nor looks so by its name, to
      the values that people have (numbers: deciles of them). It costs and takes as much as the median action. Formulas
      that read the feature are evaluated when it changes.

    Costs do not matter to whether somebody has recourse.

    Parameters
    ----------
    problem : Problem
        The problem.
    people : DataFrame or People, optional
        The people whose values new functions set. By default, all values of categories, and the cut points of numbers.

    Returns
    -------
    list of Relaxation
        In the order of `KINDS`, and of the file.

    Examples
    --------
    >>> from counterplan import Problem
    >>> from counterplan.audit.relaxations import relaxations_of
    >>> loan = Problem.from_dict({
    ...     "counterplan": 1,
    ...     "name": "loan",
    ...     "outcome": {"column": "loan", "values": ["no", "yes"], "favourable": "yes"},
    ...     "max_actions": 2,
    ...     "features": {
    ...         "income": {"kind": "number", "minimum": 0, "bins": [0, 1000]},
    ...         "job": {"kind": "category", "values": ["clerk", "manager"]},
    ...     },
    ...     "functions": {
    ...         "EARN": {
    ...             "add": "income", "arguments": [100, 200], "when": "job == 'manager'", "cost": 1
    ...         }
    ...     },
    ... })
    >>> for relaxation in relaxations_of(loan):
    ...     print(relaxation.description)
    drop the precondition `job == 'manager'` of EARN
    let EARN go one step further: 200 → 300
    allow 3 actions instead of 2
    allow CHANGE_JOB: set job to clerk or manager
    """
    return propose(problem, None if people is None else problem.read(people))[0]


def propose(problem: Problem, people: People | None = None) -> tuple[list[Relaxation], list[SkippedRelaxation]]:
    """All single relaxations of a problem, as `relaxations_of`, and those that were not made.

    Parameters
    ----------
    problem : Problem
        The problem.
    people : People, optional
        The people whose values new functions set.

    Returns
    -------
    relaxations : list of Relaxation
    skipped : list of SkippedRelaxation
        What could have been relaxed, with the reason why it was not.
    """
    proposer = _Proposer(problem, people)
    proposer.run()
    return proposer.made, proposer.skipped


@dataclass(frozen=True)
class _Draft:
    """A relaxation before it is built."""

    kind: RelaxationKind
    name: str
    description: str
    changes: dict[str, Any]
    """Parts of the problem's data that are replaced."""
    function: str | None = None


class _Proposer:
    """Makes the relaxations of one problem."""

    def __init__(self, problem: Problem, people: People | None) -> None:
        self.problem = problem
        self.people = people
        self.transitions = problem.transitions
        self.data = problem.to_dict()
        self.protected = {feature.name for feature in problem.features if feature.protected}
        self.made: list[Relaxation] = []
        self.skipped: list[SkippedRelaxation] = []

    def run(self) -> None:
        for draft in (*self.preconditions(), *self.arguments(), *self.actions(), *self.functions()):
            try:
                relaxed = Problem.from_dict(copy.deepcopy(self.data | draft.changes), self.problem.name)
            except ProblemError as error:
                self.skip(draft.kind, draft.name, f"it is not a valid problem: {error}")
            else:
                self.made.append(Relaxation(draft.kind, draft.name, draft.description, relaxed, draft.function))

    def skip(self, kind: RelaxationKind, name: str, reason: str) -> None:
        self.skipped.append(SkippedRelaxation(kind, name, reason))

    def changed_function(self, function: Function, **changes: Any) -> dict[str, Any]:
        """The data of all functions, with some keys of one replaced."""
        functions = self.data["functions"]
        return {"functions": functions | {function.name: functions[function.name] | changes}}

    def preconditions(self) -> Iterator[_Draft]:
        names: set[str] = set()
        for function in self.transitions.functions:
            target = self.problem.features[function.target].name
            for dropped in without_one(function.when.tree):
                name = f"{function.name} without {dropped}"
                if name in names:
                    continue
                names.add(name)
                if limits_the_value(dropped.part, target, self.protected):
                    self.skip("precondition", name, f"it only says which values {target} may take")
                    continue
                only = "" if dropped.selector is None else f" for `{dropped.selector}`"
                description = f"drop the precondition `{dropped.part}` of {function.name}{only}"
                changes = self.changed_function(function, when=str(dropped.rest))
                yield _Draft("precondition", name, description, changes, function.name)

    def arguments(self) -> Iterator[_Draft]:
        for function in self.transitions.functions:
            feature = self.problem.features[function.target]
            if function.when.tree.uses("base"):
                reason = "its precondition compares base costs, which the file gives for its own arguments"
                self.skip("argument", function.name, reason)
                continue
            for nearest, number in self.further(function, feature):
                native = _native(feature, number, function.adds)
                name = f"{function.name}={text_of(native)}"
                before = text_of(function.natives[nearest])
                description = f"let {function.name} go one step further: {before} → {text_of(native)}"
                has_duration = "duration" in self.data["functions"][function.name]
                changes = self.changed_function(function, **_with_argument(function, native, nearest, has_duration))
                yield _Draft("argument", name, description, changes, function.name)

    def further(self, function: Function, feature: Feature) -> Iterator[tuple[int, float]]:
        """Pairs of an argument's position and the argument beyond it."""
        given = function.arguments
        if function.adds:
            widest = feature.high - feature.low
            for sign in (1, -1):
                number = _beyond(given[given * sign > 0] * sign, 0.0)
                if number is None:
                    continue
                if number > widest:
                    reason = f"no value of {feature.name} has room for a change of {text_of(sign * number)}"
                    self.skip("argument", function.name, reason)
                    continue
                yield int((given * sign).argmax()), sign * number
            return
        if feature.kind == "category":
            self.skip("argument", function.name, f"the values of {feature.name} have no order")
            return
        if feature.is_number and len(given) == 1:
            self.skip("argument", function.name, "one argument has no direction")
            return
        wanted = direction(function.when.tree, feature.name)
        for sign in (1, -1):
            if wanted == -sign:
                continue
            end = float((given * sign).max() * sign)
            number = end + sign if not feature.is_number else sign * (_beyond(given * sign) or math.inf)
            low, high = (feature.low, feature.high) if feature.is_number else (0, len(feature.natives) - 1)
            if not low <= number <= high or not math.isfinite(number):
                self.skip("argument", function.name, f"there is no value beyond {text_of(_native(feature, end))}")
                continue
            yield int((given * sign).argmax()), number

    def actions(self) -> Iterator[_Draft]:
        most = self.problem.max_actions
        if most >= MAX_PLAN_LENGTH:
            self.skip("actions", f"max_actions={most + 1}", f"a plan has at most {MAX_PLAN_LENGTH} actions")
            return
        description = f"allow {most + 1} actions instead of {most}"
        yield _Draft("actions", f"max_actions={most + 1}", description, {"max_actions": most + 1})

    def functions(self) -> Iterator[_Draft]:
        used = {function.name for function in self.transitions.functions}
        for feature in self.problem.features:
            if feature.index in self.transitions.mutable:
                continue
            name = f"CHANGE_{constant_case(feature.name)}"
            while name in used:
                name += "_"
            reason = self.fixed(feature)
            values = [] if reason else self.values(feature)
            if reason is None and not values:
                reason = "no value of it is known; give people, or cut points in the problem file"
            if reason is not None:
                self.skip("function", name, f"{feature.name}: {reason}")
                continue
            used.add(name)
            spec: dict[str, Any] = {"set": feature.name, "arguments": values, "cost": self.median_cost()}
            if self.transitions.has_durations:
                spec["duration"] = self.median_duration()
            changes = {"functions": self.data.get("functions", {}) | {name: spec}, "causes": self.causes(feature)}
            shown = [text_of(value) for value in values]
            which = listed(shown) if len(shown) > 8 else " or ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))
            yield _Draft("function", name, f"allow {name}: set {feature.name} to {which}", changes, name)

    def fixed(self, feature: Feature) -> str | None:
        """Why no function may change a feature; None if one may."""
        if feature.protected:
            return "it is protected"
        if mentions(PROTECTED, feature.name):
            return "its name says that it is a protected attribute"
        followers = {feature.index}
        for cause in self.transitions.causes:
            if cause.sets and cause.target == feature.index:
                return f"it follows from {self.problem.features[cause.source].name}"
            if not cause.sets or not self.transitions.read_in(cause) & followers:
                continue
            followers.add(cause.target)
            target = self.problem.features[cause.target]
            if target.protected:
                return f"a change of it changes the protected feature {target.name}"
            if cause.path_dependent or cause.target in self.transitions.read_in(cause):
                return f"the formula of {target.name} depends on the action, and is written for other functions"
        return None

    def causes(self, feature: Feature) -> list[dict[str, Any]]:
        """The data of all causes, and those that keep formulas true that read `feature` when it changes."""
        causes: list[dict[str, Any]] = copy.deepcopy(self.data.get("causes", []))
        for cause in self.transitions.causes:
            if cause.formula is None or cause.source == feature.index or not self._reads(cause, feature):
                continue
            edge = {"from": feature.name, "to": self.problem.features[cause.target].name}
            own = [one for one in causes if one["from"] == edge["from"] and one["to"] == edge["to"]]
            if not own:
                causes.append(edge | {"formula": str(cause.formula)})
            elif "table" not in own[0]:
                own[0]["formula"] = str(cause.formula)
        return causes

    @staticmethod
    def _reads(cause: Cause, feature: Feature) -> bool:
        return cause.formula is not None and feature.name in cause.formula.tree.names()

    def values(self, feature: Feature) -> list[Native]:
        """What a new function sets a feature to: values that people have, by default the values or cut points."""
        if self.people is not None:
            column = self.people.states[:, feature.index]
            known = column[~np.isnan(column)]
            numbers = _spread(known) if feature.is_number else np.unique(known)
        elif feature.is_number:
            cuts = [cut for cut in feature.bins or () if feature.low <= cut <= feature.high and math.isfinite(cut)]
            numbers = np.array([cut for cut in cuts if not feature.integer or float(cut).is_integer()], float)
        else:
            numbers = np.arange(len(feature.natives), dtype=float)
        return [_native(feature, number) for number in numbers.tolist()]

    def median_cost(self) -> float:
        """The median cost of an action, without the factors of causes; 1 if there is none."""
        return _median([function.base + function.surcharge for function in self.transitions.functions], 1.0)

    def median_duration(self) -> float:
        """The median duration of an action, without the factors of causes."""
        durations = [function.duration_base + function.duration_surcharge for function in self.transitions.functions]
        return _median(durations, 0.0)


def _median(parts: Sequence[Floats], default: float) -> float:
    return float(np.median(np.concatenate(parts))) if parts else default


def _native(feature: Feature, number: float, change: bool = False) -> Native:
    """A value of a feature, or a change of a number, as a problem file holds it."""
    if not feature.is_number and not change:
        return feature.natives[int(number)]
    return int(number) if float(number).is_integer() else float(number)


def _beyond(numbers: Floats, origin: float | None = None) -> float | None:
    """The number beyond the largest of `numbers` [n], at the distance of the last two; None if there is none.

    `origin` counts as a number before the first.
    """
    distinct = np.unique(np.concatenate([numbers, [] if origin is None else [origin]]))
    if len(distinct) < 2:
        return None
    return float(rounded(distinct[-1:] * 2 - distinct[-2:-1])[0])


def _spread(numbers: Floats) -> Floats:
    """All distinct `numbers`, or if there are more than `MOST_ARGUMENTS`, deciles of them.

    Where deciles coincide, because many people have the same number, quantiles of the other numbers are added.
    """
    chosen, left = np.empty(0), numbers
    while len(left) and (wanted := MOST_ARGUMENTS - len(chosen)) > 0:
        distinct = np.unique(left)
        shares = np.arange(1, wanted + 1) / (wanted + 1)
        more = distinct if len(distinct) <= wanted else np.unique(np.quantile(left, shares, method="nearest"))
        chosen, left = np.concatenate([chosen, more]), left[~np.isin(left, more)]
    return np.sort(chosen)


def _with_argument(function: Function, native: Native, nearest: int, has_duration: bool) -> dict[str, Any]:
    """Keys of a function's data with one argument more, which costs and takes as much as the one at `nearest`."""

    def extended(amounts: Floats) -> list[float]:
        return [*amounts.tolist(), float(amounts[nearest])]

    changes: dict[str, Any] = {
        "arguments": [*function.natives, native],
        "cost": {"base": extended(function.base), "surcharge": extended(function.surcharge)},
    }
    if has_duration:
        changes["duration"] = {
            "base": extended(function.duration_base),
            "surcharge": extended(function.duration_surcharge),
        }
    return changes
