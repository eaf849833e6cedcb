"""A learned folder: the names of its files, its provenance, its problem and its answers."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from counterplan.errors import CounterplanError, ProblemError, SettingError, StorageError
from counterplan.problem import Problem
from counterplan.storage import answer_cache, write_ahead
from counterplan.storage.answer_cache import LabelledStates
from counterplan.storage.checkpoints import LEARNING, TRAINING, read_metrics, restart_hint
from counterplan.storage.files import MissingFileError, make_writable, write_inside
from counterplan.storage.json_files import read_json, valid_seed
from counterplan.storage.serialization import artifact_files

PROBLEM = "problem.json"
PROGRAM = "program.json"
CARD = "card.json"
QUERY_COUNTS = "questions.json"
QUALITY = "quality.json"
ORIGIN = "origin.json"
TARGETS = "targets"
"""Folder with a workspace for each target other than the favourable outcomes of the problem."""
TARGET = "target.json"
"""The target of such a workspace."""
ANSWERS = answer_cache.FILE
WRITE_AHEAD = write_ahead.FILE
"""Answers that are yet to be merged with those in `ANSWERS`."""
AGENT = artifact_files("agent")
"""Weights and description of the agent."""
SURROGATE = artifact_files("surrogate")
"""Weights and description of the surrogate."""
SURVIVAL = artifact_files("survival")
"""Weights and description of the committee that estimates survival."""
CHECKPOINTS = (LEARNING[0], TRAINING[0])
LEARNING_METRICS, TRAINING_METRICS = LEARNING[1], TRAINING[1]
LEARNING_FIGURE, RELIABILITY_FIGURE, TRAINING_FIGURE = FIGURES = ("learning.png", "reliability.png", "training.png")
LEARNED = (
    *(PROBLEM, PROGRAM, CARD, QUERY_COUNTS, QUALITY, ORIGIN, ANSWERS, WRITE_AHEAD),
    *(*AGENT, *SURROGATE, *SURVIVAL, *LEARNING, *TRAINING),
)
"""Files that another fit in the same folder replaces."""
OUTDATED = (*LEARNING, *TRAINING, *SURVIVAL, PROGRAM, CARD, QUERY_COUNTS, QUALITY, *FIGURES)
"""Files of an earlier fit that another one does not always overwrite."""
METHODS = ("guided", "search", "both")
_COUNTED = (*METHODS, "quality")
_MOST_TARGETS = 1_000
"""Most workspaces of targets that are read."""
_SMALL = 100_000
"""Most bytes of a file with a few facts."""

_REPAIR = "'counterplan fit' with your problem's own file and --resume writes it again"


@dataclass(frozen=True)
class Origin:
    """Provenance of a learned folder: the benchmark that it was fitted on, if any, and the seed of the fit.

    Parameters
    ----------
    benchmark : str or None
        Name of the benchmark whose own people and model were used; None for anything else.
    seed : int
        Seed of the fit, which is also the seed of the benchmark.
    """

    benchmark: str | None
    seed: int


class Workspace:
    """A folder in which `Recourse` saves a problem, everything learned about it, and the answers of the model.

    Parameters
    ----------
    folder : str or pathlib.Path
        The folder; it need not exist yet.

    Attributes
    ----------
    folder : pathlib.Path
        The folder.

    Examples
    --------
    >>> import tempfile
    >>> from counterplan.storage.workspace import Origin, Workspace
    >>> workspace = Workspace(tempfile.mkdtemp())
    >>> workspace.in_use
    False
    >>> workspace.save_origin(Origin("german", seed=3))
    >>> workspace.load_origin()
    Origin(benchmark='german', seed=3)
    """

    def __init__(self, folder: str | Path) -> None:
        try:
            self.folder = Path(folder)
        except TypeError:
            raise SettingError(f"a folder is a path, not {folder!r}") from None

    def __repr__(self) -> str:
        return f"Workspace({str(self.folder)!r})"

    def __str__(self) -> str:
        return str(self.folder)

    def path(self, name: str) -> Path:
        """Return the path of the file called `name`.

        Parameters
        ----------
        name : str
            A file name without folders.

        Returns
        -------
        pathlib.Path
            The path in the folder; the file need not exist.

        Examples
        --------
        >>> from counterplan import Workspace
        >>> Workspace("german").path("program.json").name
        'program.json'
        """
        return self.folder / name

    def holds(self, *names: str) -> bool:
        """Return whether any of the files `names` exists.

        Parameters
        ----------
        *names : str
            File names.

        Returns
        -------
        bool
            True if at least one of them exists.

        Examples
        --------
        >>> from counterplan import Recourse, Scorecard, Workspace, benchmarks
        >>> german = benchmarks.load("german")
        >>> card = Scorecard(german.problem, (), needed=1, slope=1.0, shift=0.0)
        >>> Recourse(german.problem, german.model, card=card).save("german")
        >>> Workspace("german").holds("card.json"), Workspace("german").holds("program.json")
        (True, False)
        """
        return any(self.path(name).exists() for name in names)

    @property
    def in_use(self) -> bool:
        """Whether an earlier fit left anything in the folder."""
        return self.holds(*LEARNED)

    def require_unused(self) -> None:
        """Raise a StorageError, which names the ways out, if an earlier fit left anything in the folder."""
        if self.in_use:
            raise StorageError(
                f"{self}: holds the results of an earlier run; go on with --resume, or {restart_hint(self.folder)}"
            )

    def create(self) -> Workspace:
        """Create the folder if necessary; raise a StorageError unless files can be written in it.

        Returns
        -------
        Workspace
            The workspace itself.
        """
        make_writable(self.folder)
        return self

    def write(self, name: str, content: str | bytes) -> None:
        """Write one file, whole or not at all; a link of that name is replaced, never followed.

        Parameters
        ----------
        name : str
            A file name without folders.
        content : str or bytes
            The content; text is encoded as UTF-8.
        """
        write_inside(self.folder, name, content)

    def remove(self, *names: str) -> None:
        """Remove the files `names`, as far as they exist."""
        for name in names:
            try:
                self.path(name).unlink(missing_ok=True)
            except OSError as error:
                raise StorageError(f"{self.path(name)}: cannot be removed: {error.strerror}") from None

    def for_target(self, target: Collection[str]) -> Workspace:
        """Return the workspace of a target: the folder of its agent, program, card and checkpoints.

        Its name begins with the outcomes, as far as their characters are safe in file names, and ends with a hash.

        Parameters
        ----------
        target : collection of str
            The outcomes.

        Returns
        -------
        Workspace
            A workspace inside this one, which need not exist yet.

        Raises
        ------
        StorageError
            If the folder is a link, which could lead anywhere.
        """
        names = json.dumps(sorted(target))
        readable = re.sub(r"[^A-Za-z0-9]+", "-", "-or-".join(sorted(target)))[:40].strip("-")
        name = "-".join([*filter(None, [readable]), hashlib.sha256(names.encode()).hexdigest()[:8]])
        for folder in (self.folder / TARGETS, self.folder / TARGETS / name):
            if folder.is_symlink():
                raise StorageError(f"{folder}: is a link, which is not followed; remove it")
        return Workspace(self.folder / TARGETS / name)

    def create_for_target(self, target: Collection[str]) -> Workspace:
        """Create the workspace of a target if necessary, and return it."""
        workspace = self.for_target(target).create()
        workspace.write(TARGET, json.dumps({"target": sorted(target)}))
        return workspace

    def targets(self, outcomes: Collection[str]) -> list[frozenset[str]]:
        """Return the targets, sets of the given outcomes, that have a workspace here; others are ignored."""
        folder = self.folder / TARGETS
        if folder.is_symlink() or not folder.is_dir():
            return []
        found = []
        for path in sorted(folder.iterdir())[:_MOST_TARGETS]:
            try:
                target = read_json(path / TARGET, limit=_SMALL, follow_links=False)["target"]
                known = isinstance(target, list) and {*target} < {*outcomes} and target
                if known and self.for_target(target).folder == path:
                    found.append(frozenset(target))
            except (StorageError, KeyError, TypeError):
                continue
        return found

    def _of_targets(self) -> list[Workspace]:
        """The workspaces of targets."""
        folder = self.folder / TARGETS
        if folder.is_symlink() or not folder.is_dir():
            return []
        return [Workspace(path) for path in sorted(folder.iterdir()) if path.is_dir() and not path.is_symlink()]

    def remove_outdated(self) -> None:
        """Remove the files of an earlier fit that another one does not always overwrite."""
        self.remove(*OUTDATED)
        for workspace in self._of_targets():
            workspace.remove(*OUTDATED, *AGENT, TARGET)

    @property
    def checkpoints(self) -> tuple[str, ...]:
        """Names of the checkpoints in the folder, and in those of targets."""
        own = [name for name in CHECKPOINTS if self.holds(name)]
        for workspace in self._of_targets():
            place = workspace.folder.relative_to(self.folder)
            own += [str(place / name) for name in CHECKPOINTS if workspace.holds(name)]
        return tuple(own)

    def remove_checkpoints(self) -> tuple[str, ...]:
        """Remove the checkpoints, which contain answers; return their names.

        Returns
        -------
        tuple of str
            Names of the files that were removed.

        Examples
        --------
        >>> from counterplan import Workspace
        >>> Workspace("german").remove_checkpoints()
        ()
        """
        removed = self.checkpoints
        self.remove(*removed)
        return removed

    def save_problem(self, problem: Problem) -> None:
        """Save the problem as JSON.

        Parameters
        ----------
        problem : Problem
            The problem.
        """
        self.write(PROBLEM, json.dumps(problem.to_dict(), ensure_ascii=False, indent=1))

    def load_problem(self) -> Problem:
        """Load the problem that the folder is about.

        Returns
        -------
        Problem
            The problem that was saved.

        Raises
        ------
        StorageError
            If there is none, or its file is damaged.

        Examples
        --------
        >>> from counterplan import Recourse, Scorecard, Workspace, benchmarks
        >>> german = benchmarks.load("german")
        >>> card = Scorecard(german.problem, (), needed=1, slope=1.0, shift=0.0)
        >>> Recourse(german.problem, german.model, card=card).save("german")
        >>> Workspace("german").load_problem()
        Problem('german': 9 features, 6 functions, 27 actions)
        """
        path = self.path(PROBLEM)
        try:
            data = read_json(path, what="problem", follow_links=False, infinite=True)
        except MissingFileError:
            raise StorageError(f"{path}: there is no such file; is {self} what 'counterplan fit' wrote?") from None
        except StorageError as error:
            raise StorageError(f"{error}; {_REPAIR}") from None
        try:
            return Problem.from_dict(data, str(path))
        except ProblemError as error:
            raise StorageError(f"{error}\n{path} is damaged or was changed: {_REPAIR}") from None

    def require_problem(self, problem: Problem) -> None:
        """Raise a StorageError if the folder was fitted to another problem; a problem that cannot be read passes.

        The agent and the surrogate in the folder carry the fingerprint of their problem themselves.

        Parameters
        ----------
        problem : Problem
            The problem.
        """
        try:
            saved = self.load_problem()
        except StorageError:
            return
        if saved.fingerprint != problem.fingerprint:
            reusable = saved.query_fingerprint == problem.query_fingerprint
            hint = restart_hint(self.folder) if reusable else "start again with --force"
            raise StorageError(f"{self}: was fitted to another problem than {problem.name}; {hint}")

    def save_origin(self, origin: Origin) -> None:
        """Save the provenance of the folder.

        Parameters
        ----------
        origin : Origin
            Benchmark and seed of what was fitted.
        """
        self.write(ORIGIN, json.dumps(asdict(origin)))

    def load_origin(self) -> Origin | None:
        """Load the provenance of the folder; None if it is not known.

        Returns
        -------
        Origin or None
            Benchmark and seed, or None.

        Raises
        ------
        StorageError
            If the file is damaged.
        """
        path, way_out = self.path(ORIGIN), "remove it, and name people and model"
        try:
            facts = read_json(path, limit=_SMALL, follow_links=False)
            benchmark, seed = facts["benchmark"], valid_seed(facts["seed"], str(path))
        except MissingFileError:
            return None
        except StorageError as error:
            raise StorageError(f"{error}; {way_out}") from None
        except (KeyError, TypeError):
            raise StorageError(f"{path}: damaged; {way_out}") from None
        if not isinstance(benchmark, str | None):
            raise StorageError(f"{path}: damaged; {way_out}")
        return Origin(benchmark, seed)

    def save_query_counts(self, counts: Mapping[str, int]) -> None:
        """Save the number of queries that each method of `fit`, and its assessment, needed.

        Parameters
        ----------
        counts : mapping of str to int
            Number of queries by method.
        """
        self.write(QUERY_COUNTS, json.dumps(dict(counts)))

    def load_query_counts(self) -> dict[str, int]:
        """Load the number of queries that each method of `fit` needed, as far as it was recorded.

        Returns
        -------
        dict of str to int
            Number of queries by method.
        """
        try:
            facts = read_json(self.path(QUERY_COUNTS), limit=_SMALL, follow_links=False)
            return {method: int(facts[method]) for method in _COUNTED if method in facts}
        except (StorageError, TypeError, ValueError):
            return {}

    def save_quality(self, facts: Mapping[str, Any]) -> None:
        """Save the assessment of the plans, as plain data."""
        self.write(QUALITY, json.dumps(dict(facts), indent=1))

    def load_quality(self) -> dict[str, Any] | None:
        """Load the assessment of the plans, which is only a record; None if there is none, or it is damaged."""
        try:
            facts = read_json(self.path(QUALITY), limit=_SMALL, follow_links=False)
        except StorageError:
            return None
        return facts if isinstance(facts, dict) else None

    def load_metrics(self, name: str) -> list[dict[str, Any]]:
        """Load the metrics of the rounds of a fit; none if there is no such file.

        Parameters
        ----------
        name : str
            The file name.

        Returns
        -------
        list of dict
            One mapping for each round.

        Raises
        ------
        StorageError
            If the file is damaged.

        Examples
        --------
        >>> from counterplan import LearningSettings, Recourse, benchmarks
        >>> german = benchmarks.load("german")
        >>> settings = LearningSettings(budget=100, scores=False)
        >>> recourse = Recourse(german.problem, german.model)
        >>> _ = recourse.fit(german.train, settings=settings, quality=False, folder="german")
        >>> len(recourse.workspace.load_metrics("learning.jsonl"))
        1
        """
        try:
            return read_metrics(self.path(name))
        except StorageError as error:
            raise StorageError(f"{error}. It is left out: it is only a record.") from None

    def load_answers(self, problem: Problem) -> LabelledStates:
        """Load the answers that were saved for `problem`.

        Parameters
        ----------
        problem : Problem
            The problem that the answers are about.

        Returns
        -------
        LabelledStates
            The answers, as labelled states of `problem`.

        Raises
        ------
        StorageError
            If there are none, or the file is damaged or about other features.

        Examples
        --------
        >>> from counterplan import Recourse, Scorecard, Workspace, benchmarks
        >>> german = benchmarks.load("german")
        >>> card = Scorecard(german.problem, (), needed=1, slope=1.0, shift=0.0)
        >>> recourse = Recourse(german.problem, german.model, card=card)
        >>> plans = recourse.recommend(german.refused_test.head(3), "exact")
        >>> recourse.save("german")
        >>> len(Workspace("german").load_answers(german.problem)) == plans.queries
        True
        """
        try:
            return LabelledStates.load(self.path(ANSWERS), problem, follow_links=False)
        except CounterplanError as error:
            raise StorageError(f"{error}. Remove the file: nothing is lost but the queries that it saves") from None
