"""`SurvivalReport`: which plans hold under other models, such as the same model trained again."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from counterplan.errors import CounterplanError, SettingError
from counterplan.plans.coded import Coded
from counterplan.plans.judging import (
    FAILS,
    HOLDS,
    UNKNOWN,
    WITHOUT_PLAN,
    Codes,
    EndStates,
    end_states,
    judge,
)
from counterplan.plans.replay import DOES_NOT_HOLD, UNCHECKED
from counterplan.plans.replay import HOLDS as HOLDS_TEXT
from counterplan.plans.robustness import Check, RobustnessColumns, SurvivalBasis
from counterplan.plans.status import Status
from counterplan.plans.tables import frame_csv
from counterplan.problem import Problem
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.problem.values import cut, visible
from counterplan.storage.files import write_whole

if TYPE_CHECKING:
    from counterplan.blackbox import BlackBox
    from counterplan.plans.plans import Plans

_TEXTS = {HOLDS: HOLDS_TEXT, FAILS: DOES_NOT_HOLD, UNKNOWN: UNCHECKED}
USED = "used for planning: not counted"
_MOST_REASON = 200
"""Most characters of a reason in the printed report."""


@dataclass(frozen=True)
class JudgingModel:
    """One of the models of a `SurvivalReport`.

    Parameters
    ----------
    name : str
        Name of the model; with its fingerprint if several have the same name.
    fingerprint : str
        `BlackBox.fingerprint` for the problem; empty if it could not be computed.
    reason : str
        Why some plans, or all, could not be checked with it; empty if all could.
    used : int
        Number of plans that were made or checked with this very model, for which it does not count.
    """

    name: str
    fingerprint: str = ""
    reason: str = ""
    used: int = 0


@dataclass(frozen=True, eq=False)
class SurvivalReport:
    """Whether B plans hold under m other models: the return value of `Plans.survival`.

    `print(report)` shows it in plain words.

    Parameters
    ----------
    plans : Plans
        The plans, with the numbers of models `held` and `judged` in their `robustness`.
    models : tuple of JudgingModel, length m
        The models, in the order given.
    codes : int array of shape [B, m]
        1 where the plan holds, 0 where it does not, -1 where it could not be checked. A person without a plan has 0,
        without a query; a person whose decision was favourable already is judged as they are.
    counted : bool array of shape [B, m]
        False where planning used the model itself.
    faults : dict of int to str
        Why plans do not hold, or cannot be checked, under any model, by position: their steps break the rules of the
        problem, or they are not for this problem.

    Examples
    --------
    >>> from counterplan import BlackBox, ExactPlanner, benchmarks
    >>> german = benchmarks.load("german")
    >>> planner = ExactPlanner(german.problem, german.model)
    >>> plans = planner.plan(german.refused_test.head(5))
    >>> report = plans.survival([german.model, BlackBox(german.model, threshold=0.4)])
    >>> report.counted.tolist()[0]  # the first model was used for planning
    [False, True]
    >>> report.held.tolist(), report.checked.tolist()
    ([1, 1, 1, 1, 1], [1, 1, 1, 1, 1])
    """

    plans: Plans
    models: tuple[JudgingModel, ...]
    codes: Codes
    counted: Bools
    faults: dict[int, str]

    @property
    def outcomes(self) -> npt.NDArray[np.object_]:
        """[B, m] "holds", "does not hold" or "could not be checked"."""
        table = np.array([_TEXTS[FAILS], _TEXTS[HOLDS], _TEXTS[UNKNOWN]], object)
        return np.asarray(table[self.codes])

    @cached_property
    def held(self) -> Ints:
        """[B] number of models under which the plan holds, without those that planning used."""
        return np.asarray(((self.codes == HOLDS) & self.counted).sum(axis=1))

    @cached_property
    def checked(self) -> Ints:
        """[B] number of models that the plan was checked with, without those that planning used."""
        return np.asarray(((self.codes != UNKNOWN) & self.counted).sum(axis=1))

    @property
    def share(self) -> Floats:
        """[B] share of the models under which the plan holds; NaN if it was checked with none."""
        return np.where(self.checked > 0, self.held / np.maximum(self.checked, 1), np.nan)

    @property
    def share_by_model(self) -> Floats:
        """[m] share of the plans that hold under each model; NaN if it counts for none."""
        checked = ((self.codes != UNKNOWN) & self.counted).sum(axis=0)
        held = ((self.codes == HOLDS) & self.counted).sum(axis=0)
        return np.where(checked > 0, held / np.maximum(checked, 1), np.nan)

    def to_frame(self) -> pd.DataFrame:
        """One row per person.

        Returns
        -------
        DataFrame
            Columns person, status, survival (the stated chance), held, checked, share, and the outcome under each model
            by its name.

        Examples
        --------
        >>> from counterplan import BlackBox, ExactPlanner, benchmarks
        >>> german = benchmarks.load("german")
        >>> planner = ExactPlanner(german.problem, german.model)
        >>> plans = planner.plan(german.refused_test.head(3))
        >>> report = plans.survival([BlackBox(german.model, threshold=0.55)])
        >>> report.to_frame()[["person", "status", "held", "checked"]]
           person status  held  checked
        0       0  found     0        1
        1       1  found     0        1
        2       2  found     1        1
        """
        columns: dict[str, Any] = {
            "person": self.plans.persons,
            "status": [Status(status).value for status in self.plans.columns.status],
            "survival": self.plans.survivals,
            "held": self.held,
            "checked": self.checked,
            "share": self.share,
        }
        frame = pd.DataFrame(columns)
        outcomes = pd.DataFrame(self.outcomes, columns=[model.name for model in self.models], index=frame.index)
        return pd.concat([frame, outcomes], axis=1)

    def to_csv(self) -> str:
        """The rows of `to_frame` as CSV.

        Returns
        -------
        str
            A text that a spreadsheet would run as a formula is written with a leading apostrophe.

        Examples
        --------
        >>> from counterplan import BlackBox, ExactPlanner, benchmarks
        >>> german = benchmarks.load("german")
        >>> planner = ExactPlanner(german.problem, german.model)
        >>> plans = planner.plan(german.refused_test.head(3))
        >>> print(plans.survival([BlackBox(german.model, threshold=0.55)]).to_csv())
        person,status,survival,held,checked,share,model of german (...)
        0,found,,0,1,0.0,does not hold
        1,found,,0,1,0.0,does not hold
        2,found,,1,1,1.0,holds
        """
        return frame_csv(self.to_frame())

    def to_json(self) -> str:
        """The report as JSON, without the plans.

        Returns
        -------
        str
            JSON with the models, and the outcome of each person under each model.

        Examples
        --------
        >>> import json
        >>> from counterplan import BlackBox, ExactPlanner, benchmarks
        >>> german = benchmarks.load("german")
        >>> planner = ExactPlanner(german.problem, german.model)
        >>> plans = planner.plan(german.refused_test.head(3))
        >>> report = plans.survival([BlackBox(german.model, threshold=0.55)])
        >>> list(json.loads(report.to_json()))
        ['counterplan_survival', 'problem', 'models', 'people']
        """
        outcomes, shares = self.outcomes.tolist(), self.share.tolist()
        people = [
            {
                "person": person,
                "held": held,
                "checked": checked,
                "share": None if share != share else share,
                "outcomes": outcomes[row],
            }
            | ({"fault": self.faults[row]} if row in self.faults else {})
            for row, (person, held, checked, share) in enumerate(
                zip(self.plans.persons, self.held.tolist(), self.checked.tolist(), shares, strict=True)
            )
        ]
        models = [
            {"name": one.name, "fingerprint": one.fingerprint, "reason": one.reason, "used_for_planning": one.used}
            for one in self.models
        ]
        data = {"counterplan_survival": 1, "problem": self.plans.problem, "models": models, "people": people}
        return json.dumps(data, ensure_ascii=False, indent=1, allow_nan=False)

    def save(self, path: str | Path) -> None:
        """Write the report to a file, completely or not at all; only its owner may read it.

        Parameters
        ----------
        path : str or Path
            A file with the extension .csv or .json.

        Raises
        ------
        SettingError
            If the extension is another one.
        StorageError
            If the file cannot be written.

        Examples
        --------
        >>> from counterplan import BlackBox, ExactPlanner, benchmarks
        >>> german = benchmarks.load("german")
        >>> planner = ExactPlanner(german.problem, german.model)
        >>> plans = planner.plan(german.refused_test.head(3))
        >>> plans.survival([BlackBox(german.model, threshold=0.55)]).save("survival.csv")
        """
        require_report_file(path)
        content = self.to_csv() if Path(path).suffix.lower() == ".csv" else self.to_json()
        write_whole(path, content, private=True)

    def __str__(self) -> str:
        return visible("\n".join(self._lines()))

    def __repr__(self) -> str:
        return f"SurvivalReport({len(self.plans):,} plans, {len(self.models):,} models)"

    def _repr_html_(self) -> str:
        head, *rows = (escape(line) for line in str(self).splitlines())
        return f'<div style="line-height:1.5"><div style="font-weight:600">{head}</div>{"<br>".join(rows)}</div>'

    def _lines(self) -> list[str]:
        """The report in plain words: everybody, plans, favourable decisions, then each model."""
        found, favourable, without = self._groups()
        counting = int(((self.codes != UNKNOWN) & self.counted)[found | favourable].any(axis=0).sum())
        people = "1 person" if len(self.plans) == 1 else f"{len(self.plans):,} people"
        models = "1 retrained model" if counting == 1 else f"{counting:,} retrained models"
        lines = [f"{people}, {models}."]
        lines += self._group_line(found, "plan", "plans", "holds", "hold")
        lines += self._group_line(favourable, "already favourable", "already favourable", "stays so", "stay so")
        if without.any():
            lines.append(f"{int(without.sum()):,} without a plan.")
        return lines + [f"  {self._model_line(i, found | favourable)}" for i in range(len(self.models))]

    def _groups(self) -> tuple[Bools, Bools, Bools]:
        """Masks [B]: plans, people who need none, and people without one."""
        status = np.array([Status(one).value for one in self.plans.columns.status], object)
        without = np.isin(status.astype(str), [one.value for one in WITHOUT_PLAN])
        found = status == Status.FOUND.value
        return found, ~found & ~without, without

    def _group_line(self, rows: Bools, one: str, many: str, holds: str, hold: str) -> list[str]:
        """The share of some people whose plans hold, on average over the models."""
        if not rows.any():
            return []
        count = int(rows.sum())
        head = f"{count:,} {one if count == 1 else many}"
        share, checked = self.share[rows], self.checked[rows] > 0
        if not checked.any():
            return [f"{head}: could not be checked."]
        full = int(np.count_nonzero(checked & (share == 1)))
        none = int(np.count_nonzero(checked & (share == 0)))
        average = f"{np.mean(share[checked]):.0%} {holds if count == 1 else hold} on average"
        return [f"{head}: {average}; {full:,} under every model, {none:,} under none."]

    def _model_line(self, index: int, judged: Bools) -> str:
        """One model: how many plans hold, what could not be checked, and whether planning used it."""
        model, codes = self.models[index], self.codes[judged, index]
        checked, held = int((codes != UNKNOWN).sum()), int((codes == HOLDS).sum())
        parts = [f"{held:,} of {checked:,} hold"] if checked else []
        if len(codes) > checked:
            missing = UNCHECKED if not checked else f"{len(codes) - checked:,} {UNCHECKED}"
            reason = cut(" ".join(model.reason.split()), _MOST_REASON)
            parts.append(f"{missing}: {reason}" if reason else missing)
        if model.used:
            some = f" for {model.used:,} of them" if model.used < len(codes) else ""
            parts.append(f"{USED}{some}")
        return f"{model.name}: {'; '.join(parts) or 'nobody to check'}"


def require_report_file(path: str | Path) -> None:
    """Raise a SettingError unless a report can be written to a file with this extension."""
    if Path(path).suffix.lower() not in (".csv", ".json"):
        raise SettingError(f"{path}: a report is written as .csv or .json; choose one of these extensions")


def survival_report(plans: Plans, models: Sequence[object], problem: Problem | None) -> SurvivalReport:
    """Check plans with other models; see `Plans.survival`."""
    boxes = _boxes(models)
    if problem is not None and not isinstance(problem, Problem):
        raise SettingError(f"'problem' must be a Problem, not {type(problem).__name__}")
    ends = end_states(plans._source, problem)
    codes = np.full((len(plans), len(boxes)), FAILS, np.int8)
    codes[[*ends.misfits]] = UNKNOWN
    used = np.zeros(codes.shape, bool)
    columns = plans.columns
    bases = None if columns.robustness is None else columns.robustness.basis
    fingerprints, reasons = [""] * len(boxes), [""] * len(boxes)
    for part in ends.parts:
        rows = part.positions
        for i, box in enumerate(boxes):
            codes[rows, i], reason = judge(box, part)
            fingerprint = _fingerprint(box, part)
            used[rows, i] = _used(fingerprint, columns.checks, bases, rows)
            fingerprints[i], reasons[i] = fingerprints[i] or fingerprint, reasons[i] or reason
    names = _distinct_names([box.model.name for box in boxes], fingerprints)
    numbers = used.sum(axis=0).tolist()
    judging = tuple(JudgingModel(*facts) for facts in zip(names, fingerprints, reasons, numbers, strict=True))
    report = SurvivalReport(plans, judging, codes, ~used, ends.faults | ends.misfits)
    return SurvivalReport(_judged(plans, report), judging, codes, ~used, report.faults)


def _boxes(models: Sequence[object]) -> list[BlackBox]:
    """The models as black boxes; SettingError if they are not a list."""
    from counterplan.blackbox import BlackBox

    if isinstance(models, (str, bytes)) or not isinstance(models, Sequence):
        raise SettingError(f"'models' must be a list of models, not {type(models).__name__}; pass [model]")
    if not models:
        raise SettingError("'models' is empty: pass at least one retrained model")
    return [model if isinstance(model, BlackBox) else BlackBox(model) for model in models]


def _fingerprint(box: BlackBox, part: EndStates) -> str:
    try:
        return box.fingerprint(part.problem)
    except CounterplanError:  # its favourable outcomes are not those of the problem
        return ""


def _used(fingerprint: str, checks: Coded[Check] | None, bases: Coded[SurvivalBasis] | None, rows: Ints) -> Bools:
    """Whether the plans `rows` [n] were checked, or planned, with the model of this fingerprint."""
    result = np.zeros(len(rows), bool)
    if checks is not None:
        result |= _among(checks.take(rows), lambda check: check.fingerprint == fingerprint)
    if bases is not None:
        result |= _among(bases.take(rows), lambda basis: fingerprint in basis.refits)
    return result


def _among(column: Coded[Any], test: Callable[[Any], bool]) -> Bools:
    """Whether each value passes a test; absent ones do not."""
    return np.array([*map(test, column.values), False], bool)[column.codes]


def _distinct_names(names: list[str], fingerprints: list[str]) -> list[str]:
    """The names of models, each with its fingerprint, or else its number, where another model has the same name."""
    for others in (fingerprints, [f"#{number}" for number in range(1, len(names) + 1)]):
        count = Counter(names)
        names = [
            f"{name} ({other})" if count[name] > 1 and other else name
            for name, other in zip(names, others, strict=True)
        ]
    return names


def _judged(plans: Plans, report: SurvivalReport) -> Plans:
    """The plans with the numbers of models that they held in and were checked with."""
    rows = np.array([status not in WITHOUT_PLAN for status in plans.columns.status], bool)
    old = plans.columns.robustness
    robustness = RobustnessColumns.empty(len(plans)) if old is None else old.take(slice(None))
    robustness.held = np.where(rows, report.held, 0)
    robustness.judged = np.where(rows, report.checked, 0)
    return plans.with_robustness(robustness)
