"""`Audit`: who has recourse from a model's decisions, at what cost, and who provably has none."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from counterplan.audit.carriers import WITHOUT_COLUMNS, plan_without
from counterplan.audit.comparison import plans_hold
from counterplan.audit.findings import SAME_MODEL
from counterplan.audit.folder import AuditFolder, AuditPart, Manifest, people_fingerprint
from counterplan.audit.groups import read_groups
from counterplan.audit.outcomes import COLUMNS, AuditOutcome, decisions, favourable_frame, planned_frame
from counterplan.audit.relaxation_file import saved_relaxations
from counterplan.audit.relaxation_section import audit_relaxations, people_to_examine
from counterplan.audit.result import AuditResult
from counterplan.audit.settings import AuditSettings
from counterplan.blackbox import BlackBox
from counterplan.errors import SettingError
from counterplan.planners import AutoPlanner, AutoSettings, Planner
from counterplan.planners.registry import Learned, create_planner
from counterplan.planners.task import no_progress
from counterplan.plans import Plans
from counterplan.plans.progress import reporting
from counterplan.plans.robustness import planning_date
from counterplan.problem import People, PeopleTable, Problem
from counterplan.problem.transitions import Bools
from counterplan.storage.locks import locked
from counterplan.survival.estimator import SurvivalEstimator

CHUNK = 512
"""People of a part: an interrupt loses the current one only."""
_SHARED_BATCH = 128
"""People that exact search plans for at the same time in one of several processes."""


class Audit:
    """Find out who has recourse from the decisions of a model, at what cost, and who provably has none.

    Every refused person gets one of three outcomes: a verified plan, a proof that there is none, or unknown. The result
    has statistics by group, and is saved as a report and tables.

    Parameters
    ----------
    problem : Problem
        Features, actions, costs and limits that recourse has to respect.
    model : BlackBox or object
        The model whose decisions are audited, or anything that `BlackBox` accepts.
    against : BlackBox or object, optional
        Another model, which the same people are audited with: who gains and who loses recourse, and whose plan no
        longer holds. It gets the threshold and dtypes of the model, unless it is a `BlackBox`.
    settings : AuditSettings, optional
        Planner, groups, limits and intervals. Default: `AuditSettings()`.
    learned : mapping of str to callable, optional
        Functions that return the "surrogate", the "agent", the "program" and the "card" that were learned for the
        model, or None, as for `AutoPlanner`: planning is guided by them where queries are expensive.
    estimator : SurvivalEstimator, optional
        Estimates the survival of plans, such as `Recourse.survival_`.
    **options
        Fields of `AuditSettings`, instead of `settings`: `groups=["sex"]`, `budget=100`.

    Raises
    ------
    SettingError
        If a setting is invalid, or survival is demanded without an estimator.

    Examples
    --------
    >>> from counterplan import Audit, benchmarks
    >>> german = benchmarks.load("german")
    >>> audit = Audit(german.problem, german.model, groups=["sex"])
    >>> result = audit.run(german.test)
    >>> result.summary["refused"], result.summary["recourse"], result.summary["unknown"]
    (78, 78, 0)
    >>> result.groups[["group", "refused", "recourse", "recourse_share", "cost_q50"]]
           group  refused  recourse  recourse_share  cost_q50
    0  everybody       78        78             1.0      10.0
    1     female       25        25             1.0      10.0
    2       male       53        53             1.0      10.0
    """

    def __init__(
        self,
        problem: Problem,
        model: BlackBox | object,
        *,
        against: BlackBox | object | None = None,
        settings: AuditSettings | None = None,
        learned: Learned | None = None,
        estimator: SurvivalEstimator | None = None,
        **options: Any,
    ) -> None:
        self.problem = problem
        self.box = model if isinstance(model, BlackBox) else BlackBox(model)
        self.against = None if against is None else self.box.wrap(against)
        self.settings = _settings(settings, options)
        self.learned, self.estimator = learned or {}, estimator
        demanded = self.settings.survival not in (None, "none", 0) or self.settings.survival_at_least is not None
        if demanded and (estimator is None or not estimator.source):
            raise SettingError(
                "'survival' needs an estimate of survival: pass estimator=recourse.survival_ of a Recourse that has "
                "refits or was fitted; on the command line, --refit, or a learned folder"
            )

    @property
    def is_of_one_model(self) -> bool:
        """Whether the other model has the fingerprint of the model, so that nothing can differ."""
        if self.against is None:
            return False
        return self.against.fingerprint(self.problem) == self.box.fingerprint(self.problem)

    def run(
        self,
        people: PeopleTable | People,
        *,
        folder: str | Path | None = None,
        resume: bool = False,
        force: bool = False,
        jobs: int = 1,
        progress: bool | Callable[[int], None] | None = None,
    ) -> AuditResult:
        """Audit people.

        Parameters
        ----------
        people : DataFrame or People
            B people, refused or not: the model is queried about all of them first.
        folder : str or Path, optional
            A folder to save the audit to: finished parts while it runs, and report, tables and data at the end.
        resume : bool, default=False
            Continue the audit in `folder`, which must be of the same problem, models, people and search settings.
        force : bool, default=False
            Replace the audit in `folder`.
        jobs : int, default=1
            Number of processes to plan with; -1 for one per core. The outcomes are the same for any number.
        progress : bool or callable, optional
            True for a progress bar; or a function, which is called with the number of people finished since the last
            call (twice for each with another model).

        Returns
        -------
        AuditResult
            The outcome of each person, statistics by group, and the report.

        Raises
        ------
        PeopleError
            If the people do not match the problem.
        SettingError
            If the audit in `folder` is of something else, or groups do not exist.
        StorageError
            If `folder` is not empty and neither `resume` nor `force` is set, or cannot be written.
        ModelError
            If a model cannot be queried.
        NotFittedError
            If exact search is not affordable, and there is nothing learned to plan with.

        Examples
        --------
        >>> from counterplan import Audit, benchmarks
        >>> german = benchmarks.load("german")
        >>> audit = Audit(german.problem, german.model, planner="exact", relaxations=0)
        >>> result = audit.run(german.test.head(100))
        >>> result
        AuditResult(100 people, 37 refused)
        >>> result.outcomes["outcome"].value_counts().to_dict()
        {'favourable': 63, 'recourse': 37}
        """
        read = self.problem.read(people)
        groupings = read_groups(self.problem, read, self.settings.groups)
        if self.is_of_one_model:
            warnings.warn(SAME_MODEL, stacklevel=2)
        manifest = self.manifest(read)
        if folder is not None and resume:
            AuditFolder(folder).require_begun()
        with _opened(folder) as store:
            if store is not None:
                store.begin(manifest, resume=resume, force=force)
            total = len(read) * (1 if self.against is None else 2)
            with reporting(progress, "Auditing", total, display=lambda bar: bar.advance) as callback:
                tables, planners = self.tables(read, store, jobs, callback)
            about = self.about(manifest) | {"planners": planners}
            result = AuditResult(self.problem, read, tables, groupings, self.settings, about)
            self._relax(result, read, store)
            if store is not None:
                result.save(store.path)
        return result

    def tables(
        self,
        people: People,
        store: AuditFolder | None = None,
        jobs: int = 1,
        progress: Callable[[int], None] = no_progress,
    ) -> tuple[dict[str, pd.DataFrame], dict[str, int]]:
        """The outcomes of people, without statistics.

        Parameters
        ----------
        people : People
            B people.
        store : AuditFolder, optional
            Has finished parts, and gets the others.
        jobs, progress
            As for `run`.

        Returns
        -------
        tables : dict of str to DataFrame
            As in `AuditResult`.
        planners : dict of str to int
            Number of refused people by planner.
        """
        runs = _Runs(self, len(people), jobs)
        parts: list[AuditPart] = []
        for number, start in enumerate(range(0, len(people), CHUNK)):
            chunk = people.take(slice(start, start + CHUNK))
            part = None if store is None else store.read_part(number, len(chunk))
            if part is None:
                part = runs.audit(chunk, progress)
                if store is not None:
                    store.write_part(number, part)
            else:
                progress(len(chunk) * (1 if self.against is None else 2))
            parts.append(part)
        return self._collect(parts, people), _planner_counts(parts)

    def _relax(self, result: AuditResult, people: People, store: AuditFolder | None) -> None:
        """Add what single relaxations of the problem would do for people without recourse."""
        stuck = np.asarray(result.outcomes["outcome"] == AuditOutcome.NO_RECOURSE, bool)
        settings = self.settings
        if settings.relaxations == 0 or not stuck.any():
            return
        sample = people_to_examine(self.problem, result.outcomes, settings)
        facts = {"sample": sample, "seed": settings.seed, "budget": settings.budget}
        result.relaxations, section = saved_relaxations(
            None if store is None else store.relaxations,
            facts,
            lambda: audit_relaxations(self.problem, self.box, people, stuck, settings, sample),
            settings.min_group,
        )
        result.add_section(section)

    def manifest(self, people: People) -> Manifest:
        """What the audit of `people` depends on."""
        return self.manifest_of(people_fingerprint(people), len(people))

    def manifest_of(self, people: str, count: int) -> Manifest:
        """What the audit of `count` people depends on; `people` is their fingerprint."""
        other = "" if self.against is None else self.against.fingerprint(self.problem)
        refits = () if self.estimator is None else self.estimator.refits
        search = self.settings.search_facts | ({"refits": [*refits]} if refits else {})
        fingerprint = self.box.fingerprint(self.problem)
        return Manifest(self.problem.fingerprint, fingerprint, other, people, search, count, CHUNK)

    def about(self, manifest: Manifest) -> dict[str, Any]:
        """What a report states about an audit: names, the date, and what it depends on."""
        names = {"name": self.problem.name, "model_name": self.box.model.name, "date": planning_date()}
        if self.against is not None:
            names["against_name"] = self.against.model.name
            if self.against.threshold != self.box.threshold:
                names["model_name"] += _threshold_text(self.box)
                names["against_name"] += _threshold_text(self.against)
        if self.estimator is not None:
            names["survival_source"] = self.estimator.source
        return names | manifest.to_dict()

    def _collect(self, parts: list[AuditPart], people: People) -> dict[str, pd.DataFrame]:
        """The parts as tables of all people."""
        index = people.table.index[: sum(len(part.outcomes) for part in parts)]
        outcomes = _joined([part.outcomes for part in parts], [*COLUMNS])
        if self.against is not None:
            others = [part.other for part in parts if part.other is not None]
            other = _joined(others, [*COLUMNS, "plan_holds"])
            renamed = {name: f"other_{name}" for name in COLUMNS}
            outcomes = pd.concat([outcomes, other.rename(columns=renamed)], axis=1)
        tables = {"outcomes": outcomes.set_axis(index)}
        if self.settings.indispensable:
            shifted = [
                part.without.assign(row=part.without["row"] + number * CHUNK)
                for number, part in enumerate(parts)
                if part.without is not None
            ]
            tables["without"] = _joined(shifted, [*WITHOUT_COLUMNS])
        return tables


class _Runs:
    """Audits chunks of people with the planners of the model and of the other one."""

    def __init__(self, audit: Audit, people: int, jobs: int) -> None:
        self.audit_of, self.jobs = audit, jobs
        self.planner = self._planner(audit.box, people)
        self.other = None if audit.against is None else self._planner(audit.against, people)
        self.planner.survival = audit.estimator

    def _planner(self, box: BlackBox, people: int) -> Planner:
        audit = self.audit_of
        name = audit.settings.planner
        if name == "auto":
            # nothing is fitted to the answers of an audit, and there are many people
            settings = AutoSettings(batch_size=CHUNK if self.jobs == 1 else _SHARED_BATCH, scores=False)
            planner: Planner = AutoPlanner(audit.problem, box, learned=audit.learned, settings=settings)
        else:
            planner = create_planner(name, audit.problem, box, audit.learned)
        planner.expect(people)
        return planner

    def audit(self, people: People, progress: Callable[[int], None]) -> AuditPart:
        """The outcomes of a chunk."""
        settings = self.audit_of.settings
        options = settings.plan_options | {"jobs": self.jobs}
        refused, plans, outcomes = self._outcomes(self.planner, people, options, progress)
        part = AuditPart(outcomes, planner=_chosen(self.planner))
        if settings.indispensable:
            without = plan_without(self.planner, people.take(refused), plans, options)
            part.without = without.assign(row=refused[without["row"].to_numpy(np.intp)])
        if self.other is not None:
            plain = {"budget": settings.budget, "refused": True, "jobs": self.jobs}
            *_, part.other = self._outcomes(self.other, people, plain, progress)
            holds = np.full(len(people), "", object)
            holds[refused] = plans_hold(plans, self.other.box)
            part.other["plan_holds"] = holds
        return part

    def _outcomes(
        self, planner: Planner, people: People, options: dict[str, Any], progress: Callable[[int], None]
    ) -> tuple[np.ndarray, Plans, pd.DataFrame]:
        """The rows of refused people, their plans, and the outcomes of everybody."""
        favourable: Bools = decisions(planner.box, planner, people)
        frame = favourable_frame(len(people))
        refused = np.flatnonzero(~favourable)
        progress(len(people) - len(refused))
        plans = planner.plan(people.take(refused), progress=progress, **options)
        planned = planned_frame(plans)
        for name in COLUMNS:
            column = frame[name].to_numpy().copy()
            column[refused] = planned[name].to_numpy()
            frame[name] = column
        return refused, plans, frame.astype(COLUMNS)


def _settings(settings: AuditSettings | None, options: dict[str, Any]) -> AuditSettings:
    if settings is not None and not isinstance(settings, AuditSettings):
        raise SettingError(f"'settings' must be AuditSettings, not {type(settings).__name__}")
    unknown = sorted({*options} - {*AuditSettings.__dataclass_fields__})
    if unknown:
        known = ", ".join(AuditSettings.__dataclass_fields__)
        raise SettingError(f"an audit has no setting '{unknown[0]}'; there are {known}")
    return replace(settings or AuditSettings(), **options)


@contextmanager
def _opened(folder: str | Path | None) -> Iterator[AuditFolder | None]:
    """The folder, locked; None without one."""
    if folder is None:
        yield None
        return
    with locked(Path(folder)):
        yield AuditFolder(folder)


def _joined(frames: list[pd.DataFrame], columns: list[str]) -> pd.DataFrame:
    """Frames one below the other; without rows, an empty frame with `columns`."""
    full = [frame for frame in frames if len(frame)]
    if not full:
        return pd.DataFrame({name: pd.Series(dtype=COLUMNS.get(name, "object")) for name in columns})
    return pd.concat(full, ignore_index=True)


def _chosen(planner: Planner) -> str:
    """The planner of a chunk; of "auto", the one that it chose."""
    if isinstance(planner, AutoPlanner) and planner.decision_ is not None:
        return planner.decision_.planner
    return planner.name


def _planner_counts(parts: list[AuditPart]) -> dict[str, int]:
    """Refused people by the planner of their chunk."""
    counts: dict[str, int] = {}
    for part in parts:
        refused = int((part.outcomes["outcome"] != "favourable").sum())
        if refused:
            counts[part.planner] = counts.get(part.planner, 0) + refused
    return counts


def _threshold_text(box: BlackBox) -> str:
    """The threshold of a black box as part of its name in a report."""
    return "" if box.threshold is None else f" at a threshold of {box.threshold:g}"
