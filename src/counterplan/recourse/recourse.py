"""Fit, plan, distil and explain with one object: `Recourse(problem, model).fit(people).recommend(people)`."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, overload

import numpy as np
import pandas as pd

from counterplan.blackbox import BlackBox
from counterplan.errors import (
    CounterplanError,
    ForeignAnswersWarning,
    NotFittedError,
    PeopleError,
    SettingError,
    StorageError,
)
from counterplan.parallel import checked_jobs
from counterplan.planners import Planner
from counterplan.planners.registry import create_planner
from counterplan.planners.targets import TargetPlanner
from counterplan.plans import Plans
from counterplan.plans.progress import reporting, stage_display
from counterplan.problem import People, PeopleTable, Problem
from counterplan.problem.dtypes import Dtypes
from counterplan.problem.targets import Target, TargetLike, TargetsLike, read_targets
from counterplan.problem.values import describe_target, visible
from counterplan.program import Program
from counterplan.program.io import to_json as program_json
from counterplan.recourse.distilled import Distilled
from counterplan.recourse.fit_display import FitDisplay
from counterplan.recourse.fit_options import FitOptions, FitRun
from counterplan.recourse.learned_parts import load_card, load_part, load_program, load_quality, load_surrogate_for
from counterplan.recourse.survival_parts import SurvivalParts
from counterplan.scorecard import Scorecard
from counterplan.scorecard.io import to_json as card_json
from counterplan.storage.answer_cache import LabelledStates
from counterplan.storage.answer_recorder import AnswerRecorder, AnswerUpdate
from counterplan.storage.checkpoints import LEARNING, TRAINING, CheckpointMismatch
from counterplan.storage.workspace import AGENT, CARD, OUTDATED, PROGRAM, QUALITY, SURROGATE, Origin, Workspace
from counterplan.survival.estimator import SurvivalEstimator
from counterplan.survival.goal import SurvivalLike, read_weight
from counterplan.survival.refits import Refits, make_refits

if TYPE_CHECKING:
    from counterplan.agent import Agent
    from counterplan.agent.training import TrainingProgress
    from counterplan.agent.training_settings import TrainingSettings
    from counterplan.distillation.base import Progress as DistilProgress
    from counterplan.distillation.options import DistillOptions
    from counterplan.recourse.fit_options import FitProgress, Settings
    from counterplan.recourse.quality import Quality, QualitySettings
    from counterplan.surrogate import Surrogate
    from counterplan.surrogate.active_learning import ActiveLearner, LearningProgress, LearningSettings

_log = logging.getLogger("counterplan")
_SOURCES = {
    "refits": "retrained models",
    "committee": "a committee fitted to the recorded outcomes",
    "margin": "the score of the model alone",
}
"""What survival is estimated by, in words."""


class Recourse:
    """Algorithmic recourse for the decisions of one model: learn once, then plan for anybody.

    Parameters
    ----------
    problem : Problem
        Features, actions, costs and outcome.
    model : BlackBox or object
        The model whose decisions are to be overturned, or anything that `BlackBox` accepts.
    agent : Agent, optional
        An agent that was trained before.
    surrogate : Surrogate, optional
        A surrogate that was learned before.
    program : Program, optional
        A program that was distilled before.
    card : Scorecard, optional
        A card that was distilled before.
    dtypes : mapping of str to dtype, or DataFrame, optional
        Dtypes of columns that the model expects; see `BlackBox`, to which they are passed.
    refits : sequence of models, optional
        The model trained again, with other seeds or on other samples of the data: anything that `BlackBox` accepts,
        which gets the threshold, favourable outcomes and dtypes of the black box; or black boxes, which keep their own.
        The survival of plans is estimated by them.
    refit : callable, optional
        Returns a retrained model for a seed. It is called with the seeds 1 to 5, in place of `refits`.

    Attributes
    ----------
    problem : Problem
        The problem.
    box : BlackBox
        The model, with its queries counted and its answers cached.
    workspace : Workspace or None
        The folder that was loaded, fitted in or saved to last.
    surrogate_ : Surrogate or None
        A learned model of the black box, made by `fit(method="guided")`.
    agent_ : Agent or None
        A policy and value network, made by `fit(method="search")`.
    n_queries_ : dict of str to int
        Number of queries that `fit` needed, by method; "quality" are those of `quality_`.
    quality_ : Quality or None
        How good plans with the surrogate are on held-out people, compared with exact search.
    holdout_answers_ : LabelledStates or None
        Answers that arrived too late for the surrogate to be fitted on: an unbiased test set for it.
    budget_spent_ : bool
        Whether `fit` ended because its query budget was exhausted; `resume=True` with a larger one continues.

    Examples
    --------
    >>> from counterplan import LearningSettings, Recourse, benchmarks
    >>> german = benchmarks.load("german")
    >>> recourse = Recourse(german.problem, german.model)
    >>> settings = LearningSettings(budget=100, scores=False)  # a small fit, to be quick
    >>> recourse.fit(german.train, settings=settings, quality=False)
    Recourse('german': surrogate; 100 queries)
    >>> plans = recourse.recommend(german.refused_test.head(3))
    >>> print(plans[2])
    Refused. 1 step would change that (effort 5.0, the least possible):
    Takes about 1.8 months if you start now.
    <BLANKLINE>
      1. Move your savings from "little" to "quite rich"    effort 5.0
    ...
    >>> card = recourse.distil(german.train.head(100), form="card", traces=200)
    >>> card
    Scorecard('german': ... features, ... entries)
    >>> recourse.recommend(german.refused_test, "card", budget=0)  # without the model
    Plans('german', 78 people: ...; queries=0)
    """

    def __init__(
        self,
        problem: Problem,
        model: BlackBox | object,
        *,
        agent: Agent | None = None,
        surrogate: Surrogate | None = None,
        program: Program | None = None,
        card: Scorecard | None = None,
        dtypes: Dtypes | pd.DataFrame | None = None,
        refits: Iterable[object] | None = None,
        refit: Callable[[int], object] | None = None,
    ) -> None:
        self.problem = problem
        if isinstance(model, BlackBox) and dtypes is not None:
            raise SettingError("a BlackBox has dtypes of its own: pass dtypes to it, not to Recourse")
        self.box = model if isinstance(model, BlackBox) else BlackBox(model, dtypes=dtypes)
        self.workspace: Workspace | None = None
        self._borrowed_from: Path | None = None
        """The folder of another problem whose surrogate is used."""
        self.agent_ = agent
        self.surrogate_ = surrogate
        self._program = Distilled(PROGRAM, load_program, program_json, program)
        self._card = Distilled(CARD, load_card, card_json, card)
        self.n_queries_: dict[str, int] = {}
        self.quality_: Quality | None = None
        self.holdout_answers_: LabelledStates | None = None
        self.budget_spent_ = False
        self._recorder = AnswerRecorder(problem, self.box)
        if refits is not None and refit is not None:
            raise SettingError("pass 'refits', retrained models, or 'refit', a function that returns them, not both")
        if refit is not None:
            refits = make_refits(refit, wrap=self.box.wrap)
        retrained = None if refits is None else Refits(refits, self.box.wrap)
        self._survival = SurvivalParts(problem, self.box, retrained)
        self._parent: Recourse | None = None
        """For one target of another object: that object, which saves the answers and the surrogate."""
        self._by_target: dict[Target, Recourse] = {}

    @property
    def program_(self) -> Program | None:
        """The program that `distil` made; a saved one is read from the workspace on first access."""
        return self._program.get(self.problem)

    @program_.setter
    def program_(self, program: Program | None) -> None:
        self._program.set(program)

    @property
    def card_(self) -> Scorecard | None:
        """The card that `distil(form="card")` made; a saved one is read from the workspace on first access."""
        return self._card.get(self.problem)

    @card_.setter
    def card_(self, card: Scorecard | None) -> None:
        self._card.set(card)

    def _forget_distilled(self) -> None:
        """Remove the program and the card, which were distilled from an earlier surrogate."""
        self.program_, self.card_ = None, None

    def for_target(self, target: TargetLike) -> Recourse:
        """Return the part of this object that plans for one target.

        Its problem is `problem.with_target(target)`; it shares the black box, has the surrogate, the agent and the
        program of the target, and is saved with this object.

        Parameters
        ----------
        target : str, number, bool or set of these
            The outcome to reach, or a set of outcomes any of which is to be reached.

        Returns
        -------
        Recourse
            The object itself if these are the favourable outcomes of the problem.

        Raises
        ------
        SettingError
            If the target is not among the outcomes, or the black box decides by a threshold.

        Examples
        --------
        >>> from counterplan import Recourse, benchmarks
        >>> german = benchmarks.load("german")
        >>> recourse = Recourse(german.problem, german.model)
        >>> recourse.for_target("bad").problem.outcome.favourable
        frozenset({'bad'})
        >>> recourse.for_target("good") is recourse
        True
        """
        if self._parent is not None:
            return self._parent.for_target(target)
        problem = self.problem.with_target(target)
        self.box.require_target(problem)
        chosen = problem.outcome.favourable
        if chosen == self.problem.outcome.favourable:
            return self
        if chosen not in self._by_target:
            heads = {} if self.surrogate_ is None else self.surrogate_.heads
            part = Recourse(problem, self.box, surrogate=heads.get(chosen))
            part._survival.refits = self._survival.refits
            part._parent = self
            self._by_target[chosen] = part
        return self._by_target[chosen]

    def _update_targets(self) -> None:
        """After a fit, give each target its head of the surrogate, and drop programs distilled from an earlier one."""
        heads = {} if self.surrogate_ is None else self.surrogate_.heads
        for target, part in self._by_target.items():
            part.surrogate_ = heads.get(target)
            part._forget_distilled()

    def _require_root(self, what: str) -> None:
        if self._parent is not None:
            raise SettingError(f"this object plans for one target: {what} the one that it was made from")

    @property
    def survival_(self) -> SurvivalEstimator:
        """The estimator of the survival of plans; one that states none if nothing is known."""
        self._survival.surrogate = self.surrogate_ if hasattr(self.surrogate_, "link") else None  # not a function
        return self._survival.estimator

    @property
    def answers_(self) -> LabelledStates:
        """All known answers of the model about the problem."""
        return self._recorder.answers

    @property
    def foreign_model_(self) -> str | None:
        """Identity of the model whose answers the workspace contains, if it is another one: these are not used."""
        return self._recorder.foreign_model

    @property
    def unfinished_(self) -> bool:
        """Whether a killed process left answers in the write-ahead log which `save_answers` has yet to merge."""
        return self._recorder.pending

    def __repr__(self) -> str:
        targets = self._fitted_targets()
        fitted = ", ".join([*self._fitted(), *([f"targets {', '.join(targets)}"] if targets else [])]) or "not fitted"
        return f"Recourse({self.problem.name!r}: {fitted}; {self.box.queries:,} queries)"

    def _repr_html_(self) -> str:
        """Problem, model, fitted parts and queries as an HTML table, for notebooks."""
        problem = self.problem
        rows = {
            "Problem": f"{problem.name}: {len(problem.features)} features, {len(problem.transitions) - 1} actions",
            "Model": self.box.model.name,
            "Fitted": ", ".join(self._fitted()) or "nothing yet: call fit(people)",
            "Queries": f"{self.box.queries:,} sent to the model, {self.box.cached:,} answered from the cache",
        }
        if source := self.survival_.source:
            rows["Survival"] = f"estimated by {_SOURCES[source]}"
        if self.n_queries_:
            rows["Queries to fit"] = ", ".join(f"{method}: {count:,}" for method, count in self.n_queries_.items())
        if parts := [f"{target} ({', '.join(fitted)})" for target, fitted in self._fitted_targets().items()]:
            rows["Targets"] = "; ".join(parts)
        if self.quality_ is not None:
            rows["Quality"] = str(self.quality_)
        if self.workspace is not None:
            rows["Folder"] = str(self.workspace)
        left = "style='text-align: left'"
        cells = [
            f"<tr><th {left}>{name}</th><td {left}>{escape(visible(text))}</td></tr>" for name, text in rows.items()
        ]
        return f"<table><caption>Recourse</caption>{''.join(cells)}</table>"

    def _fitted(self) -> list[str]:
        """Names of the learned parts."""
        parts = {
            "surrogate": self.surrogate_ is not None,
            "agent": self.agent_ is not None,
            "program": self._program.exists,
            "card": self._card.exists,
        }
        return [name for name, present in parts.items() if present]

    def _fitted_targets(self) -> dict[str, list[str]]:
        """Names of the learned parts of each target besides the favourable outcomes."""
        parts = {target: part._fitted() for target, part in self._by_target.items()}
        return {describe_target(sorted(target)): fitted for target, fitted in parts.items() if fitted}

    def save(self, folder: str | Path) -> None:
        """Save the problem, the learned parts and all known answers in a folder; the model is not saved.

        Parameters
        ----------
        folder : str or pathlib.Path
            The folder, which is created if necessary. Learned parts of an earlier `save` are replaced or removed.

        Raises
        ------
        NotFittedError
            If there is nothing to save.
        StorageError
            If the folder cannot be written.

        Examples
        --------
        >>> from counterplan import LearningSettings, Recourse, benchmarks
        >>> german = benchmarks.load("german")
        >>> settings = LearningSettings(budget=100, scores=False)
        >>> recourse = Recourse(german.problem, german.model)
        >>> _ = recourse.fit(german.train, settings=settings, quality=False)
        >>> recourse.save("german")
        >>> recourse.workspace
        Workspace('german')
        """
        self._require_root("save")
        parts = {target: part for target, part in self._by_target.items() if part._fitted()}
        if not self._fitted() and not parts:
            raise NotFittedError("there is nothing to save yet: call fit first")
        workspace = Workspace(folder)
        if self._borrowed_from is not None and workspace.folder.resolve() == self._borrowed_from:
            raise StorageError(
                f"{workspace}: belongs to the problem that it was fitted to, whose program and agent would be lost; "
                "save in another folder"
            )
        try:
            workspace.folder.mkdir(parents=True, exist_ok=True)
            workspace.save_problem(self.problem)
            if self.surrogate_ is not None:
                from counterplan.surrogate import save_surrogate

                save_surrogate(self.surrogate_, workspace.folder)
            self._save_part(workspace)
            if self.surrogate_ is None:
                workspace.remove(*SURROGATE)
            for target in {*workspace.targets(self.problem.outcome.values)} - {*parts}:
                workspace.for_target(target).remove(*AGENT, *OUTDATED)
            for target, part in parts.items():
                part._save_part(workspace.create_for_target(target))
        except CounterplanError:
            raise
        except OSError as error:
            raise StorageError(f"{workspace}: cannot be written: {error.strerror}") from None
        self.save_answers(folder)
        self.workspace = workspace

    def _save_part(self, workspace: Workspace) -> None:
        """Save the agent, the program, the assessment and the number of queries: everything but the surrogate."""
        if self.agent_ is not None:
            from counterplan.agent import save_agent

            save_agent(self.agent_, workspace.folder)
        else:
            workspace.remove(*AGENT)
        if self.n_queries_:
            workspace.save_query_counts(self.n_queries_)
        self._survival.save(workspace)
        if self.quality_ is not None:
            workspace.save_quality(asdict(self.quality_))
        else:
            workspace.remove(QUALITY)
        self._program.save(workspace, self.problem)
        self._card.save(workspace, self.problem)

    def save_program(self, folder: str | Path, *, target: TargetLike | None = None) -> Path:
        """Save only the program in a folder; return the path of its file.

        Parameters
        ----------
        folder : str or pathlib.Path
            The folder.
        target : str, number, bool or set of these, optional
            Save the program of this target.

        Returns
        -------
        pathlib.Path
            The file of the program.

        Raises
        ------
        NotFittedError
            If there is no program.
        StorageError
            If the file cannot be written.

        Examples
        --------
        >>> from counterplan import Program, Recourse, Workspace, benchmarks
        >>> from counterplan.program import Choice, Leaf
        >>> german = benchmarks.load("german")
        >>> save, stop = Leaf((Choice(3),)), Leaf((Choice(german.problem.transitions.stop),))
        >>> program = Program(german.problem, {"INTERVENE": save, "CHANGE_SAVINGS": stop})
        >>> folder = Workspace("german").create().folder
        >>> path = Recourse(german.problem, german.model, program=program).save_program(folder)
        >>> Program.load(path)
        Program('german': 2 nodes, 2 leaves)
        """
        part = self if target is None else self.for_target(target)
        if not part._program.exists:
            raise NotFittedError("there is no program yet: call distil(people) first")
        return part._save_distilled(part._program, folder)

    def save_card(self, folder: str | Path, *, target: TargetLike | None = None) -> Path:
        """Save only the card in a folder; return the path of its file.

        Parameters
        ----------
        folder : str or pathlib.Path
            The folder.
        target : str, number, bool or set of these, optional
            Save the card of this target.

        Returns
        -------
        pathlib.Path
            The file of the card.

        Raises
        ------
        NotFittedError
            If there is no card.
        StorageError
            If the file cannot be written.

        Examples
        --------
        >>> from counterplan import Recourse, Scorecard, Workspace, benchmarks
        >>> from counterplan.scorecard import CardFeature
        >>> german = benchmarks.load("german")
        >>> savings = CardFeature(4, (), (0, 0, 5, 8, 10))
        >>> card = Scorecard(german.problem, (savings,), needed=8, slope=0.5, shift=3.0)
        >>> folder = Workspace("german").create().folder
        >>> path = Recourse(german.problem, german.model, card=card).save_card(folder)
        >>> Scorecard.load(path)
        Scorecard('german': 1 features, 5 entries)
        """
        part = self if target is None else self.for_target(target)
        if not part._card.exists:
            raise NotFittedError('there is no card yet: call distil(people, form="card") first')
        return part._save_distilled(part._card, folder)

    def _save_distilled(self, distilled: Distilled[Any], folder: str | Path) -> Path:
        workspace = Workspace(folder)
        if self._parent is not None:
            workspace = workspace.create_for_target(self.problem.outcome.favourable)
        distilled.save(workspace, self.problem)
        return workspace.path(distilled.file)

    def save_answers(self, folder: str | Path) -> int:
        """Save all known answers about the problem in a folder.

        If the object was loaded with `answers=False`, checkpoints in the folder are removed, because they contain
        the answers that are replaced.

        Parameters
        ----------
        folder : str or pathlib.Path
            An existing folder.

        Returns
        -------
        int
            Number of answers in the folder.

        Examples
        --------
        >>> from pathlib import Path
        >>> from counterplan import Recourse, benchmarks
        >>> german = benchmarks.load("german")
        >>> recourse = Recourse(german.problem, german.model)
        >>> plans = recourse.recommend(german.refused_test.head(3), "exact")
        >>> Path("german").mkdir()
        >>> recourse.save_answers("german") == plans.queries
        True
        """
        return self._recorder.save(Workspace(folder))

    @classmethod
    def load(
        cls,
        folder: str | Path,
        model: BlackBox | object,
        *,
        answers: bool = True,
        problem: Problem | None = None,
        dtypes: Dtypes | pd.DataFrame | None = None,
        refits: Iterable[object] | None = None,
        refit: Callable[[int], object] | None = None,
    ) -> Self:
        """Load what `save` wrote, for use with a model.

        Parameters
        ----------
        folder : str or pathlib.Path
            A folder written by `save` or by 'counterplan fit'.
        model : BlackBox or object
            The model. Saved answers are added to its cache if the same model gave them: the same content, threshold
            and favourable outcomes (see `BlackBox.is_model`). Otherwise a `ForeignAnswersWarning` is issued.
        answers : bool, default=True
            Whether to use saved answers. Pass False for a service that has changed behind its address: everything is
            queried again.
        problem : Problem, optional
            Another problem over the same features and outcome, with other costs, limits or actions. The surrogate, a
            model of the black box, is reused; the agent, program and card, which belong to the saved problem, are not.
        dtypes : mapping or DataFrame, optional
            The types that the model expects, as for `Recourse`; they are not saved.
        refits, refit : sequence of models, and callable, optional
            Retrained models, as for `Recourse`; they are not saved. Their calibration is, if they are the same.

        Returns
        -------
        Recourse
            The problem, the learned parts, and the given model.

        Raises
        ------
        StorageError
            If a file is missing or damaged.
        SettingError
            If `problem` has other features or another outcome than the saved one.

        Examples
        --------
        >>> from counterplan import LearningSettings, Recourse, benchmarks
        >>> german = benchmarks.load("german")
        >>> settings = LearningSettings(budget=100, scores=False)
        >>> recourse = Recourse(german.problem, german.model)
        >>> _ = recourse.fit(german.train, settings=settings, quality=False)
        >>> recourse.save("german")
        >>> recourse = Recourse.load("german", german.model)
        >>> len(recourse.answers_), recourse.box.queries
        (100, 0)
        """
        workspace = Workspace(folder)
        saved = workspace.load_problem()
        changed = problem is not None and problem.fingerprint != saved.fingerprint
        recourse = cls(problem if problem is not None else saved, model, dtypes=dtypes, refits=refits, refit=refit)
        if problem is not None and changed:
            recourse.surrogate_ = load_surrogate_for(problem, workspace, saved)
            recourse._survival.load(workspace, recourse.surrogate_, saved)
            recourse._borrowed_from = workspace.folder.resolve()
            recourse.n_queries_ = workspace.load_query_counts()
        else:
            recourse._load_learned(workspace)
        recourse.workspace = workspace
        recourse._recorder.discard_saved = not answers
        recourse.box.model_id  # noqa: B018 -- identify the model before its first query, which may change it
        if answers:
            recourse._recorder.load(workspace)
        if recourse.foreign_model_ is not None:
            warnings.warn(
                f"the answers in {workspace} are those of {recourse.foreign_model_}, not of {recourse.box.model_id}: "
                "they are not used, and new ones are not added; answers=False replaces them",
                ForeignAnswersWarning,
                stacklevel=2,
            )
        return recourse

    @classmethod
    def resuming(
        cls,
        folder: str | Path,
        problem: Problem,
        model: BlackBox | object,
        method: str,
        *,
        refits: Iterable[object] | None = None,
        refit: Callable[[int], object] | None = None,
    ) -> Self:
        """Load the learned parts in a folder, if there are any, to continue with `fit(..., method, resume=True)`.

        A damaged surrogate or agent is ignored if `fit` restores it from its checkpoint.

        Parameters
        ----------
        folder : str or pathlib.Path
            The folder of an earlier fit.
        problem : Problem
            The problem of the earlier fit.
        model : BlackBox or object
            The model.
        method : {"guided", "search", "both"}
            The method that `fit` will use.
        refits, refit : sequence of models, and callable, optional
            Retrained models, as for `Recourse`.

        Returns
        -------
        Recourse
            With the learned parts of the folder, if there are any.

        Raises
        ------
        StorageError
            If the folder was fitted to another problem.

        Examples
        --------
        >>> from counterplan import LearningSettings, Recourse, benchmarks
        >>> german = benchmarks.load("german")
        >>> settings = LearningSettings(budget=100, scores=False)
        >>> recourse = Recourse(german.problem, german.model)
        >>> _ = recourse.fit_into("german", german.train, settings=settings, quality=False)
        >>> Recourse.resuming("german", german.problem, german.model, "guided")
        Recourse('german': surrogate; 0 queries)
        """
        recourse, workspace = cls(problem, model, refits=refits, refit=refit), Workspace(folder)
        if workspace.holds(AGENT[1], SURROGATE[1]):
            workspace.require_problem(problem)
            checkpoints = {"surrogate": ("guided", LEARNING[0]), "agent": ("search", TRAINING[0])}
            restored = [
                part
                for part, (fitted_by, file) in checkpoints.items()
                if method in (fitted_by, "both") and workspace.holds(file)
            ]
            recourse._load_learned(workspace, restored)
        recourse.workspace = workspace
        return recourse

    def _load_learned(self, workspace: Workspace, restored: Sequence[str] | None = None) -> None:
        """Load the learned parts; those that `fit` restores from checkpoints may be damaged."""
        damaged_ok = restored or ()
        self._load_part(workspace, damaged_ok)
        targets = self._saved_targets(workspace)
        nothing = self.agent_ is None and not self._program.exists and not self._card.exists and not targets
        if workspace.holds(SURROGATE[1]) or (restored is None and nothing):
            from counterplan.surrogate import load_surrogate

            self.surrogate_ = load_part(load_surrogate, workspace.folder, self.problem, "surrogate" in damaged_ok)
        if self.quality_ is not None and self.box.seconds_per_row is None:
            self.box.seconds_per_row = self.quality_.seconds_per_row
        if restored is None:
            self._survival.load(workspace, self.surrogate_)
        for target in targets:
            part, own = self.for_target(target), workspace.for_target(target)
            part._load_part(own, damaged_ok)
            if restored is None:
                part._survival.load(own, part.surrogate_)

    def _saved_targets(self, workspace: Workspace) -> list[Target]:
        """The targets with a workspace, unless the black box does not plan for any."""
        outcome = self.problem.outcome
        targets = [target for target in workspace.targets(outcome.values) if target != outcome.favourable]
        try:
            for target in targets:
                self.box.require_target(self.problem.with_target(target))
        except SettingError:
            return []
        return targets

    def _load_part(self, workspace: Workspace, damaged_ok: Sequence[str]) -> None:
        """Load the agent, the assessment and the query counts in a workspace; program and card are read on access."""
        self._program.find(workspace)
        self._card.find(workspace)
        if workspace.holds(AGENT[1]):
            from counterplan.agent import load_agent

            self.agent_ = load_part(load_agent, workspace.folder, self.problem, "agent" in damaged_ok)
        self.n_queries_ = workspace.load_query_counts()
        self.quality_ = load_quality(workspace)

    @contextmanager
    def recording_answers(self, folder: str | Path) -> Iterator[AnswerUpdate]:
        """Record answers in a folder as they arrive, so that a killed process loses next to nothing.

        Inside the context, answers are appended to a write-ahead log in the folder; on exit they are merged with the
        saved ones. Answers of another model are left as they are, and a folder that cannot be written does not
        prevent planning: the reason is in the `error` of the result.

        Parameters
        ----------
        folder : str or pathlib.Path
            A folder written by `save`.

        Yields
        ------
        AnswerUpdate
            What changed in the folder; filled in on exit.

        Examples
        --------
        >>> from counterplan import Recourse, Scorecard, benchmarks
        >>> german = benchmarks.load("german")
        >>> card = Scorecard(german.problem, (), 1, 1.0, 0.0)
        >>> recourse = Recourse(german.problem, german.model, card=card)
        >>> recourse.save("german")
        >>> with recourse.recording_answers("german") as update:
        ...     plans = recourse.recommend(german.refused_test.head(3), "exact")
        >>> len(recourse.workspace.load_answers(german.problem)) == plans.queries
        True
        """
        with self._recorder.recording(Workspace(folder)) as update:
            yield update

    def fit(
        self,
        people: PeopleTable | People,
        *,
        target: TargetsLike | None = None,
        method: str | None = None,
        seed: int = 0,
        settings: Settings | tuple[Settings, ...] = "default",
        budget: int | None = None,
        folder: str | Path | None = None,
        resume: bool = False,
        answers: str | Path | LabelledStates | None = None,
        quality: bool | QualitySettings = True,
        jobs: int = 1,
        progress: FitProgress | bool | None = None,
    ) -> Self:
        """Learn about the model from people. The result is determined by seed, people, settings and answers.

        An interrupt (Ctrl-C) leaves the best surrogate or agent so far.

        Parameters
        ----------
        people : DataFrame or People
            People to learn from: of both outcomes for "guided", refused ones (without the target) for "search".
        target : str, number, bool, set of these, or a sequence of targets, optional
            What plans are to reach: an outcome, or a set of outcomes; or several targets, which are learned about one
            after another. The surrogate then knows every outcome: it is fitted to labels, with one head for each
            outcome and each target, and its queries are selected for the given targets. `budget` limits the queries
            of all targets together; budgets of `settings` are those of each. Default: the favourable outcomes of the
            problem, as one group, and nothing else.
        method : {"guided", "search", "both"}, optional
            "guided" learns a surrogate of the model, "search" trains an agent, "both" does one after the other.
            Default: the method that `settings` are for, otherwise "guided".
        seed : int, default=0
            Seed of the random numbers.
        settings : LearningSettings, TrainingSettings, str or tuple of these, default="default"
            Settings of "guided" (LearningSettings), of "search" (TrainingSettings), a preset ("default" or "paper"),
            or a tuple with settings for both methods.
        budget : int, optional
            Maximum number of queries in total.
        folder : str or pathlib.Path, optional
            Where to write answers, checkpoints and metrics during the fit.
        resume : bool, default=False
            Continue the fit in `folder`, possibly with another budget, but not with another model.
        answers : str, pathlib.Path or LabelledStates, optional
            Known answers of the model, which are learned from and not queried again.
        quality : bool or QualitySettings, default=True
            Whether to assess the surrogate on held-out people: see `quality_`. It needs queries of its own, which are
            bounded, and limited to what `budget` leaves.
        jobs : int, default=1
            Number of processes; -1 for one per core. The result is the same for any number. All queries are sent by
            this process.
        progress : bool or callable, optional
            True for a progress bar, also in notebooks; or a function, which is called with a report after every round.

        Returns
        -------
        Recourse
            The object itself.

        Raises
        ------
        SettingError
            If parameters are invalid or contradict each other, or the budget is too small.
        StorageError
            If `folder` cannot be written, or belongs to another model.

        Examples
        --------
        >>> from counterplan import LearningSettings, Recourse, benchmarks
        >>> german = benchmarks.load("german")
        >>> settings = LearningSettings(budget=100, scores=False)
        >>> recourse = Recourse(german.problem, german.model)
        >>> recourse.fit(german.train, settings=settings, quality=False)
        Recourse('german': surrogate; 100 queries)
        >>> recourse.n_queries_
        {'guided': 100}
        """
        if self._parent is not None:
            favourable = self.problem.outcome.favourable
            more: dict[str, Any] = {"folder": folder, "resume": resume, "answers": answers, "progress": progress}
            more |= {"method": method, "seed": seed, "settings": settings, "budget": budget, "quality": quality}
            more["jobs"] = jobs
            self._parent.fit(people, target=favourable if target is None else target, **more)
            return self
        options = FitOptions.validated(method, settings, budget, seed, quality)
        targets = None if target is None else self._targets_to_fit(target)
        table = self.problem.read(people)
        given = self._given_answers(answers)
        if folder is None and resume:
            raise SettingError("there is nothing to resume without a folder: name the one that was fitted in")
        workspace = None if folder is None else Workspace(folder).create()
        if self._recorder.discard_saved and workspace is not None:
            workspace.remove_checkpoints()
            self._recorder.discard_saved = resume = False
        self.workspace = workspace or self.workspace
        with (
            self._recorder.fitting(workspace, resume) as log,
            reporting(progress, "Learning", display=FitDisplay) as callback,
        ):
            if given is not None:
                log(self.problem.query_fingerprint, given.by_key)
            where = None if workspace is None else workspace.folder
            run = FitRun(options.seed, where, resume, given, callback, checked_jobs(jobs))
            if targets is None:
                self._fit(options, table, run)
                if options.method != "search":
                    self._update_targets()
            else:
                self._fit_targets(targets, options, table, run)
        return self

    def _targets_to_fit(self, target: TargetsLike) -> list[Target] | None:
        """The distinct targets to fit; None if they are nothing but the favourable one of two outcomes."""
        targets = list(dict.fromkeys(read_targets(self.problem.outcome, target)))
        if not targets:
            raise SettingError("'target' is empty: name at least one outcome")
        for one in targets:
            self.box.require_target(self.problem.with_target(one))
        alone = targets == [self.problem.outcome.favourable] and self.problem.label_fingerprint is None
        return None if alone else targets

    def _fit_targets(self, targets: Sequence[Target], options: FitOptions, people: People, run: FitRun) -> None:
        """Fit for one target after another, each with the answers of those before, then complete the surrogate."""
        from counterplan.recourse.target_fit import TargetFit

        fit = TargetFit(self.problem, self.box, targets, options, run)
        try:
            for target in targets:
                part = self.for_target(target)
                own_options, own_run = fit.begin(part.problem)
                learner, before = None, part.surrogate_
                try:
                    learner = part._fit(own_options, people, own_run)
                except PeopleError as error:
                    raise PeopleError(f"target {describe_target(sorted(target))}: {error}") from None
                finally:
                    new = None if part.surrogate_ is before else part.surrogate_
                    fit.end(part.problem, new, part.n_queries_, learner)
                    fit.budget_spent |= part.budget_spent_
        finally:
            self.budget_spent_ = fit.budget_spent
            self.n_queries_ = self.n_queries_ | fit.n_queries
            if (surrogate := fit.surrogate()) is not None:
                self.surrogate_ = surrogate
                self._forget_distilled()
                self._update_targets()

    def fit_into(
        self,
        folder: str | Path,
        people: PeopleTable | People,
        *,
        resume: bool = False,
        force: bool = False,
        origin: Origin | None = None,
        progress: FitProgress | bool | None = None,
        **options: Any,
    ) -> Self:
        """Fit and save everything in a folder, whose content is replaced only once something new was learned.

        If the fit is interrupted or fails, the best surrogate or agent so far is saved before the exception is
        raised again. If nothing was learned yet, the answers are saved instead; a folder that was to be replaced is
        left as it is, except for the answers in its write-ahead log.

        Parameters
        ----------
        folder : str or pathlib.Path
            The folder, which is created if necessary.
        people : DataFrame or People
            See `fit`.
        resume : bool, default=False
            Continue the fit in the folder.
        force : bool, default=False
            Replace the results of an earlier fit in the folder.
        origin : Origin, optional
            Provenance to save in the folder. Default: not a benchmark.
        progress : bool or callable, optional
            See `fit`.
        **options
            Further parameters of `fit`: target, method, seed, settings, budget, answers, quality.

        Returns
        -------
        Recourse
            The object itself.

        Raises
        ------
        StorageError
            If the folder is in use, and neither `resume` nor `force` is given.

        Examples
        --------
        >>> from counterplan import LearningSettings, Recourse, benchmarks
        >>> german = benchmarks.load("german")
        >>> settings = LearningSettings(budget=100, scores=False)
        >>> recourse = Recourse(german.problem, german.model)
        >>> _ = recourse.fit_into("german", german.train, settings=settings, quality=False)
        >>> Recourse.load("german", german.model)
        Recourse('german': surrogate; 0 queries)
        """
        self._require_root("fit")
        workspace = Workspace(folder)
        if not (resume or force):
            workspace.require_unused()
        replaces = workspace.in_use and not resume
        provenance = origin or Origin(None, int(options.get("seed", 0)))
        learned = False

        def save() -> None:
            self.save(folder)
            workspace.save_origin(provenance)

        def report_progress(report: TrainingProgress | LearningProgress) -> None:
            nonlocal learned
            if not learned and replaces:
                workspace.remove_outdated()
                save()
            learned = True
            callback(report)

        try:
            with reporting(progress, "Learning", display=FitDisplay) as callback:
                self.fit(people, folder=folder, resume=resume, progress=report_progress, **options)
        except (KeyboardInterrupt, CounterplanError):
            if learned:
                save()
            elif not replaces and self.box.queries and workspace.folder.is_dir():
                self.save_answers(folder)
            raise
        save()
        return self

    def _fit(self, options: FitOptions, people: People, run: FitRun) -> ActiveLearner | None:
        """Learn a surrogate, train an agent, or both within one budget; return the run that learned the surrogate."""
        self.budget_spent_ = False
        if options.method == "search":
            self._train_agent(people, options.agent, run)
            self._survival.fit(people, run.seed, None)
            return None
        self.quality_ = None
        learner = self._learn_surrogate(people, options.surrogate, run)
        self._survival.surrogate = self.surrogate_
        self._survival.fit(people, run.seed, learner)
        if options.method == "both":
            self._train_agent_too(people, options, run)
        if options.quality is not None:
            self._assess(learner, options)
        return learner

    def _assess(self, learner: ActiveLearner, options: FitOptions) -> None:
        """Assess the surrogate, with the queries that the budget leaves."""
        assert self.surrogate_ is not None
        assert options.quality is not None
        from counterplan.recourse.assessment import assess_quality

        before = self.box.queries
        try:
            left = options.left(sum(self.n_queries_.get(method, 0) for method in options.methods))
            self.quality_ = assess_quality(learner, self.surrogate_, options.quality, left)
            _log.info("quality: %s", self.quality_)
        finally:
            self.n_queries_["quality"] = self.box.queries - before

    def _train_agent_too(self, people: People, options: FitOptions, run: FitRun) -> None:
        """Train an agent after a surrogate, with the queries that the budget leaves."""
        settings = options.agent
        if options.budget is not None:
            settings = replace(settings, budget=options.budget - self.n_queries_["guided"])
            if settings.budget < 1:
                self.budget_spent_ = True
                raise SettingError(
                    "the budget is spent on the surrogate; raise it to train an agent too, or fit 'guided'"
                )
        assert self.surrogate_ is not None
        refused = np.flatnonzero(self.surrogate_.logit(people.states) < 0)
        trainees = people.take(refused) if len(refused) else people
        try:
            self._train_agent(trainees, settings, run)
        except CheckpointMismatch as mismatch:  # a surrogate fitted on more answers predicts other people to be refused
            if mismatch.what != "different people":
                raise
            self._train_agent(trainees, settings, replace(run, resume=False))

    def _learn_surrogate(self, people: People, settings: LearningSettings, run: FitRun) -> ActiveLearner:
        """Learn a surrogate; return the run."""
        from counterplan.recourse.assessment import payback_note
        from counterplan.surrogate.active_learning import ActiveLearner

        context, answers = (self.problem, people, self.box, settings, run.seed), run.answers
        if run.folder is not None and run.resumes(LEARNING[0]):
            learner = ActiveLearner.resumed(*context, run.folder, answers=answers, jobs=run.jobs)
        else:
            learner = ActiveLearner(*context, run.folder, answers=answers, jobs=run.jobs)

        def report(progress: LearningProgress) -> None:
            self.surrogate_ = learner.best
            _log.info("round %d: %s", progress.round + 1, progress)
            run.progress(progress)

        self._forget_distilled()
        try:
            if learner.best is None and (note := payback_note(learner)) is not None:
                _log.info(note, extra={"notice": True})
            learner.run(report)
        finally:
            self.surrogate_ = learner.best or self.surrogate_
            self.n_queries_["guided"] = learner.queries
            self.budget_spent_ |= learner.stopped_by_budget
            self.holdout_answers_ = learner.holdout
        if (reason := learner.unused_scores) is not None:
            _log.info("the scores of the model are not used: %s", reason, extra={"notice": True})
        return learner

    def _train_agent(self, people: People, settings: TrainingSettings, run: FitRun) -> None:
        """Train an agent."""
        from counterplan.agent.training import AgentTrainer

        context = self.problem, people, self.box, settings, run.seed
        if run.folder is not None and run.resumes(TRAINING[0]):
            training = AgentTrainer.resumed(*context, run.folder, jobs=run.jobs)
        else:
            training = AgentTrainer(*context, run.folder, jobs=run.jobs)

        def report(progress: TrainingProgress) -> None:
            self.agent_ = training.best_agent
            _log.info("training: %.0f %% with a plan, %d queries", 100 * progress.solved, progress.queries)
            run.progress(progress)

        try:
            training.run(report)
        finally:
            self.agent_ = training.best_agent
            self.n_queries_["search"] = training.queries
            self.budget_spent_ |= training.stopped_by_budget

    def _given_answers(self, answers: str | Path | LabelledStates | None) -> LabelledStates | None:
        """Validate answers passed to `fit` and add them to the cache; those of another model are refused."""
        if answers is None:
            return None
        if not isinstance(answers, (str, Path, LabelledStates)):
            raise SettingError(f"answers are LabelledStates, or the path of a file of them, not {answers!r}")
        given = answers if isinstance(answers, LabelledStates) else LabelledStates.load(answers, self.problem)
        if given.model and not self.box.is_model(given.model, self.problem):
            raise SettingError(f"these are answers of {given.model}, not of {self.box.model_id}")
        given.add_to_cache(self.box, self.problem)
        return given

    @overload
    def distil(
        self,
        people: PeopleTable | People,
        *,
        form: Literal["program"] = "program",
        target: TargetLike | None = None,
        traces: int | None = None,
        rounds: int | None = None,
        max_conditions: int | None = None,
        prefer: str | None = None,
        preset: str = "default",
        protected: bool | None = None,
        survival: SurvivalLike | None = None,
        seed: int = 0,
        jobs: int = 1,
        progress: DistilProgress | bool | None = None,
    ) -> Program: ...

    @overload
    def distil(
        self,
        people: PeopleTable | People,
        *,
        form: Literal["card"],
        target: TargetLike | None = None,
        traces: int | None = None,
        protected: bool | None = None,
        seed: int = 0,
        jobs: int = 1,
        progress: DistilProgress | bool | None = None,
    ) -> Scorecard: ...

    def distil(
        self,
        people: PeopleTable | People,
        *,
        form: str = "program",
        target: TargetLike | None = None,
        traces: int | None = None,
        rounds: int | None = None,
        max_conditions: int | None = None,
        prefer: str | None = None,
        preset: str = "default",
        protected: bool | None = None,
        survival: SurvivalLike | None = None,
        seed: int = 0,
        jobs: int = 1,
        progress: DistilProgress | bool | None = None,
    ) -> Program | Scorecard:
        """Distil a program or a card, which people can read, and which plans without a model.

        A program is an automaton with a decision tree in each node. A card has points for the values of features, and
        a number of points to reach. Same seed and people, same program or card. Some of the people are held out to
        evaluate it with queries; the results are in its `model_card`.

        Parameters
        ----------
        people : DataFrame or People
            People to distil for, as for `fit`.
        form : {"program", "card"}, default="program"
            What to distil. `rounds`, `max_conditions`, `prefer`, `preset` and `survival` are for programs.
        target : str, number, bool or set of these, optional
            The outcome that the plans are to reach, or a set of outcomes. There is one program and one card for each
            target: `for_target(target).program_`. Default: the favourable outcomes of the problem.
        traces : int, optional
            Number of refused people, synthetic ones if necessary, that a program (default 16,000) or a card (default
            3,000) is made for; with the preset "paper", number of the agent's plans to imitate (default 250).
        rounds : int, optional
            Maximum number of rounds of policy search.
        max_conditions : int, optional
            Maximum number of features that a rule tests.
        prefer : {"short", "balanced", "success", "effort"}, optional
            "short" (default): a program of about a page. The others have hundreds of rules and cheaper plans:
            "success" favours plans that hold, "effort" cheap ones, "balanced" neither.
        preset : {"default", "paper"}, default="default"
            "default" searches for the program with the best expected result on the surrogate, without queries;
            "paper" imitates plans that the agent finds with the paper's search (train it with the paper's settings:
            `fit(people, method="search", settings="paper")`); an illegal step or a missing STOP means no plan.
        protected : bool, optional
            Whether rules or points may depend on protected features. Default: False, and True with the preset "paper".
        survival : str or float, optional
            Weight of survival: with one, plans of the program are to be favourable today and to a retrained model. A
            number, or "none", "balanced" or "high". Default: "none".
        seed : int, default=0
            Seed of the random numbers.
        jobs : int, default=1
            Number of processes; -1 for one per core. The result is the same for any number.
        progress : bool or callable, optional
            True for a progress bar, also in notebooks; or a function, which is called with the name of the stage, the
            steps done and their total.

        Returns
        -------
        Program or Scorecard
            Also available as `program_` or `card_`, of `for_target(target)` if there is a target.

        Raises
        ------
        NotFittedError
            If the surrogate (default) or the agent ("paper") is missing.

        Examples
        --------
        >>> from counterplan import LearningSettings, Recourse, benchmarks
        >>> german = benchmarks.load("german")
        >>> settings = LearningSettings(budget=100, scores=False)
        >>> recourse = Recourse(german.problem, german.model)
        >>> _ = recourse.fit(german.train, settings=settings, quality=False)
        >>> card = recourse.distil(german.train.head(100), form="card", traces=200)
        >>> card is recourse.card_
        True
        >>> recourse.recommend(german.refused_test.head(3), "card", budget=0).queries
        0
        """
        from counterplan.distillation.options import DistillOptions

        weight = read_weight(survival)
        options = DistillOptions(traces, rounds, max_conditions, prefer, preset, protected, seed, weight, form)
        part = self if target is None else self.for_target(target)
        return part._distil(people, options, jobs, progress)

    def _distil(
        self,
        people: PeopleTable | People,
        options: DistillOptions,
        jobs: int,
        progress: DistilProgress | bool | None,
    ) -> Program | Scorecard:
        """Distil a program or a card for the favourable outcomes of this object's problem."""
        from counterplan.distillation.distiller import ProgramDistiller
        from counterplan.distillation.scorecard_distiller import ScorecardDistiller, ScorecardOptions

        if self._parent is not None and (self.agent_ if options.preset == "paper" else self.surrogate_) is None:
            raise self._not_fitted_for_target("agent" if options.preset == "paper" else "surrogate")
        known = self.problem.read(people)
        with reporting(progress, "Distilling", display=stage_display) as report:
            if options.form == "card":
                self.card_ = ScorecardDistiller(
                    *(self.problem, known, self.box, self.surrogate_),
                    ScorecardOptions.of(options),
                    progress=report,
                    queries=self.n_queries_,
                    jobs=jobs,
                ).run()
                return self.card_
            self.program_ = ProgramDistiller(
                *(self.problem, known, self.box, self.agent_, self.surrogate_),
                options,
                survival=self.survival_,
                progress=report,
                queries=self.n_queries_,
                jobs=jobs,
            ).run()
            return self.program_

    def explain(
        self, plans: Plans, *, ask: bool = False, progress: Callable[[int], None] | bool | None = None
    ) -> Plans:
        """Add a reason to every step: rules if the program takes all steps of a plan, otherwise points, or a contrast.

        Alternatives and plans on the front get reasons in the same way, and no query is sent for them.

        Points add up over the steps of a plan; they are fitted to the surrogate, and agree with all known answers of
        the model about the person. Without a surrogate, or if there are no such points, a contrast states the outcome
        without the step.

        Parameters
        ----------
        plans : Plans
            Plans for this problem.
        ask : bool, default=False
            Allow one query per step, about the plan without it, if that is not known.
        progress : bool or callable, optional
            True for a progress bar, also in notebooks; or a function, which is called with the number of plans
            explained since the last call.

        Returns
        -------
        Plans
            The same plans with reasons.

        Examples
        --------
        >>> from counterplan import Recourse, benchmarks
        >>> german = benchmarks.load("german")
        >>> recourse = Recourse(german.problem, german.model)
        >>> plans = recourse.recommend(german.refused_test.head(1), "exact")
        >>> recourse.explain(plans)[0].steps[0].reason
        'without it the decision would still be unfavourable'
        """
        total = len(plans) if isinstance(plans, Plans) else None
        with reporting(progress, "Explaining", total, display=lambda bar: bar.advance) as report:
            if total is None or plans.columns.targets is None:
                return self._explain(plans, ask, report)
            from counterplan.explanation.targets import explain_targets

            def explain_part(target: Collection[str], own: Plans) -> Plans:
                part = self.for_target(frozenset(target)) if target else self
                return part._explain(own, ask, report)

            return explain_targets(plans, self.problem, explain_part)

    def _explain(self, plans: Plans, ask: bool, progress: Callable[[int], None]) -> Plans:
        """Reasons for plans that reach the favourable outcomes of this object's problem."""
        from counterplan.explanation.explain import explain

        return explain(plans, self.problem, self.box, self.program_, self.surrogate_, ask=ask, progress=progress)

    def recommend(
        self,
        people: PeopleTable | People,
        planner: str | Planner | type[Planner] | None = None,
        *,
        target: TargetsLike | None = None,
        price: float | None = None,
        **options: Any,
    ) -> Plans:
        """Compute a plan for each person.

        Parameters
        ----------
        people : DataFrame or People
            The people.
        planner : str, Planner or type, optional
            A planner, or the name of one: see `planner`. Default: "auto", which works without `fit` where exact search
            is affordable.
        target : str, number, bool, set of these, or a sequence with one for each person, optional
            The outcome to reach, or a set of outcomes any of which is to be reached; or a list, array or Series with
            one of these for each person, in the order of the table. People who have their target already get the
            status "already favourable". Default: the favourable outcomes of the problem.
        price : float, optional
            Cost of a query: see `planner`.
        **options
            Parameters of `Planner.plan`: forbid, allowed, weights, alternatives, budget, refused, survival,
            survival_at_least, execution, deadline, pareto, jobs, progress.

        Returns
        -------
        Plans
            One plan per person, in the same order.

        Raises
        ------
        NotFittedError
            If the planner needs something that was not learned yet.

        Examples
        --------
        >>> from counterplan import Recourse, benchmarks
        >>> german = benchmarks.load("german")
        >>> recourse = Recourse(german.problem, german.model)
        >>> people = german.refused_test.head(3)
        >>> plans = recourse.recommend(people, "exact", forbid=["CHANGE_JOB"])
        >>> plans
        Plans('german', 3 people: 3 found; queries=175)
        >>> plans[2].actions
        ['CHANGE_SAVINGS=quite_rich']
        """
        if isinstance(planner, Planner):
            if price is not None:
                raise SettingError("a price is for a planner given by name; this one has settings of its own")
            if target is not None:
                raise SettingError(
                    "a planner object is for the favourable outcomes of its problem: with a target, pass its name or "
                    "class, or create it for problem.with_target(target)"
                )
            return planner.plan(people, **options)
        if target is not None:
            return self.target_planner(planner, price=price).plan(people, target=target, **options)
        return self.planner(planner, price=price).plan(people, **options)

    def target_planner(self, name: str | type[Planner] | None = None, *, price: float | None = None) -> TargetPlanner:
        """Create a planner for any target, which uses the learned parts of each.

        Parameters
        ----------
        name, price
            See `planner`.

        Returns
        -------
        TargetPlanner
            Its method `plan` has a parameter `target`.

        Raises
        ------
        NotFittedError
            When a target is planned for that the planner needs something for that was not learned yet.

        Examples
        --------
        >>> from counterplan import Recourse, benchmarks
        >>> german = benchmarks.load("german")
        >>> planner = Recourse(german.problem, german.model).target_planner("exact")
        >>> plans = planner.plan(german.test.head(2), target="bad")
        >>> plans.targets
        [('bad',), ('bad',)]
        """
        root = self._parent or self
        return TargetPlanner(root.problem, root.box, lambda target: root.for_target(target).planner(name, price=price))

    @property
    def learned_parts(self) -> dict[str, Callable[[], Any]]:
        """What was learned, by name, as functions that return the surrogate, agent, program or card, or None."""
        return {
            "surrogate": lambda: self.surrogate_,
            "agent": lambda: self.agent_,
            "program": lambda: self.program_,
            "card": lambda: self.card_,
        }

    def planner(self, name: str | type[Planner] | None = None, *, price: float | None = None) -> Planner:
        """Create a planner that uses the learned parts.

        Parameters
        ----------
        name : str or type, optional
            One of auto, guided, program, search, policy, exact, evolution, paper, cascade, cascade+exact; the name of
            an entry point in the group `counterplan.planners`; or a subclass of `Planner`. "cascade" is program
            (policy if there is none), guided and search, as far as they are available; "cascade+exact" ends with
            exact. Default: "auto": exact where that is cheap, otherwise guided.
        price : float, optional
            Cost of a query in units of plan cost, for "guided", also in a cascade or chosen by "auto": a query is
            sent only if it may save more.

        Returns
        -------
        Planner
            A planner for the problem and the black box of this object.

        Raises
        ------
        NotFittedError
            If the planner needs something that was not learned yet.
        SettingError
            If there is no such planner, or it takes no price.

        Examples
        --------
        >>> from counterplan import Recourse, benchmarks
        >>> german = benchmarks.load("german")
        >>> planner = Recourse(german.problem, german.model).planner("exact")
        >>> planner.plan(german.refused_test.head(3)).costs
        array([10., 20.,  5.])
        """
        guide = None
        if price is not None:
            from counterplan.surrogate.acquisition import GuideSettings

            guide = GuideSettings(min_gain=_query_price(price))
        try:
            planner = create_planner(name, self.problem, self.box, self.learned_parts, guide=guide)
        except NotFittedError as error:
            raise NotFittedError(f"{error}{self._learned_targets()}{self._parts_left_behind()}") from None
        planner.survival = self.survival_
        return planner

    def _learned_targets(self) -> str:
        """For an error: the target of this object, and what was learned for which others."""
        root = self._parent or self
        if not root._by_target:
            return ""
        wanted, learned = describe_target(sorted(self.problem.outcome.favourable)), root._fitted_targets()
        if root is not self and root._fitted():
            learned[describe_target(sorted(root.problem.outcome.favourable))] = root._fitted()
        known = [f"{target} ({', '.join(fitted)})" for target, fitted in learned.items() if target != wanted]
        others = f"; learned was for the targets {', '.join(known)}" if known else ""
        return f". The target is {wanted}{others}: pass target= to fit or distil, or --target"

    def _not_fitted_for_target(self, part: str) -> NotFittedError:
        method = {"agent": "search", "surrogate": "guided"}[part]
        target = describe_target(sorted(self.problem.outcome.favourable))
        return NotFittedError(
            f"there is no {part} for the target {target}: call fit(people, target=…, method={method!r}), or "
            f"'counterplan fit --method {method} --target', first{self._learned_targets()}"
        )

    def _parts_left_behind(self) -> str:
        """For an error: which parts in the folder are not used, because they belong to the problem saved there."""
        if self._borrowed_from is None or self.workspace is None:
            return ""
        files = {"program": PROGRAM, "card": CARD, "agent": AGENT[1]}
        parts = " and the ".join(part for part, file in files.items() if self.workspace.holds(file))
        if not parts:
            return ""
        return f". The {parts} in {self.workspace} cannot be used for another problem than the one saved there"


def _query_price(price: object) -> float:
    """Validate the cost of a query."""
    number = isinstance(price, (int, float, np.integer, np.floating)) and not isinstance(price, bool)
    if not number or not 0 <= price <= sys.float_info.max:  # type: ignore[operator]
        raise SettingError(f"the price of a query is a finite number in units of cost, zero or more, not {price!r}")
    return float(price)  # type: ignore[arg-type]
