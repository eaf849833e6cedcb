"""`load` a benchmark: problem file, people, black box, and the people it refuses."""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from importlib.resources import as_file, files
from pathlib import Path

import numpy as np
import pandas as pd
import platformdirs

from counterplan.benchmarks import synthetic, tables
from counterplan.benchmarks.boosting import BoostingRecipe
from counterplan.benchmarks.models import BenchmarkModel, NetworkRecipe, Recipe, RuleModel, TrainedModel
from counterplan.errors import SettingError
from counterplan.problem import Problem
from counterplan.problem.transitions import Bools
from counterplan.problem.values import did_you_mean
from counterplan.storage.files import write_whole

PAPER_NAMES = ("german", "adult", "syn", "syn_long")
"""The benchmarks of the paper."""
NAMES = (*PAPER_NAMES, "taiwan")
TEST_SHARE = 0.2
TRAINING_RECIPES: dict[str, Recipe] = {
    "german": NetworkRecipe(penalty=1.0, balanced=True, tries=5),
    "adult": NetworkRecipe(penalty=1e-3, batch=256, patience=5),
    "taiwan": BoostingRecipe(threshold=0.8),
}


@dataclass(frozen=True)
class Benchmark:
    """A problem with a model and people that the model was and was not trained on.

    Attributes
    ----------
    name : str
        Name of the benchmark, as passed to `load`.
    seed : int
        Seed of the sample, the split and the training of the model.
    problem : Problem
        Features, actions, costs and outcome.
    model : BenchmarkModel
        The black box.
    train, test : pandas.DataFrame
        One row per person with a column per feature and the outcome.

    Examples
    --------
    >>> from counterplan import benchmarks
    >>> german = benchmarks.load("german")
    >>> len(german.train), len(german.test), len(german.refused_test)
    (800, 200, 78)
    >>> german.accuracy() > 0.6
    True
    """

    name: str
    seed: int
    problem: Problem
    model: BenchmarkModel
    train: pd.DataFrame
    test: pd.DataFrame

    @cached_property
    def refused_train(self) -> pd.DataFrame:
        """The training people with an unfavourable decision, indexed from 0."""
        return self._refused(self.train)

    @cached_property
    def refused_test(self) -> pd.DataFrame:
        """The test people with an unfavourable decision, indexed from 0."""
        return self._refused(self.test)

    def accuracy(self) -> float:
        """The accuracy of the model on test people."""
        return float((self._favourable(self.test) == _is_favourable(self.problem, self.test)).mean())

    def _refused(self, people: pd.DataFrame) -> pd.DataFrame:
        return people[~self._favourable(people)].reset_index(drop=True)

    def _favourable(self, people: pd.DataFrame) -> Bools:
        return self.model.favourable(self.problem.read(people).states)


MAX_SEED = (2**32 - 1) // 1_000 - 1
"""Networks are trained with the seeds 1,000 × seed and following, which scikit-learn limits to 32 bits."""


def load_problem(name: str) -> Problem:
    """Load the problem of a benchmark alone, without people and model.

    Parameters
    ----------
    name : {"german", "adult", "syn", "syn_long", "taiwan"}
        The name of the benchmark.

    Returns
    -------
    Problem
        The same problem as `load(name).problem`.

    Raises
    ------
    SettingError
        If there is no such benchmark.

    Examples
    --------
    >>> from counterplan import benchmarks
    >>> benchmarks.load_problem("syn")
    Problem('syn': 9 features, 5 functions, 24 actions)
    """
    if name not in NAMES:
        raise SettingError(f"there is no benchmark '{name}'{did_you_mean(name, NAMES)}; there are {', '.join(NAMES)}")
    with as_file(files("counterplan.benchmarks").joinpath(name, "problem.yaml")) as path:
        return Problem.load(path)


def load(name: str, seed: int = 0) -> Benchmark:
    """Load a benchmark.

    Parameters
    ----------
    name : {"german", "adult", "syn", "syn_long", "taiwan"}
        The name of the benchmark.
    seed : int, default=0
        Determines the sample, the split and the training of the model.

    Returns
    -------
    Benchmark
        The problem, its model, and its people, split into training and test people.

    Raises
    ------
    SettingError
        If there is no such benchmark, or the seed is not a whole number from 0 to `MAX_SEED`.

    Examples
    --------
    >>> from counterplan import benchmarks
    >>> syn = benchmarks.load("syn")
    >>> syn.problem
    Problem('syn': 9 features, 5 functions, 24 actions)
    """
    problem = load_problem(name)
    if not isinstance(seed, int) or not 0 <= seed <= MAX_SEED:
        raise SettingError(f"the seed of a benchmark is a whole number from 0 to {MAX_SEED:,}, not {seed!r}")
    random = np.random.default_rng([seed, NAMES.index(name)])
    if name in synthetic.RULES:
        rule = RuleModel(problem, synthetic.RULES[name])
        people = _balanced(problem, rule, random, long=name == "syn_long")
        model: BenchmarkModel = rule
        train_people, test_people = split_people(people, random)
    else:
        train_people, test_people = split_people(getattr(tables, name)(), random)
        model = trained_model(name, problem, train_people, seed)
    return Benchmark(name, seed, problem, model, train_people, test_people)


def _balanced(problem: Problem, rule: RuleModel, random: np.random.Generator, long: bool) -> pd.DataFrame:
    """Sample synthetic people, half of them favourable, in random order."""
    good: list[pd.DataFrame] = []
    bad: list[pd.DataFrame] = []
    half = synthetic.ROWS // 2
    while min(sum(len(part) for part in good), sum(len(part) for part in bad)) < half:
        people = synthetic.sample(synthetic.ROWS, random, long)
        labels = rule.labels(people)
        people[problem.outcome.column] = labels
        is_good = np.isin(labels, list(problem.outcome.favourable))
        good.append(people[is_good])
        bad.append(people[~is_good])
    both = pd.concat([pd.concat(good).iloc[:half], pd.concat(bad).iloc[:half]], ignore_index=True)
    return both.iloc[random.permutation(len(both))].reset_index(drop=True)


def split_people(people: pd.DataFrame, random: np.random.Generator) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Split `people` at random into training and test people."""
    order = random.permutation(len(people))
    test = round(len(people) * TEST_SHARE)
    return people.iloc[order[test:]].reset_index(drop=True), people.iloc[order[:test]].reset_index(drop=True)


def _is_favourable(problem: Problem, people: pd.DataFrame) -> Bools:
    return people[problem.outcome.column].isin(problem.outcome.favourable).to_numpy()


def trained_model(
    name: str, problem: Problem, people: pd.DataFrame, seed: int, *, label: str | None = None
) -> TrainedModel:
    """A model of a benchmark, from the cache if it is valid there, otherwise trained.

    `label` identifies the people and the seed in the cache; the seed alone by default.
    """
    recipe = TRAINING_RECIPES[name]
    made_by = (
        f"numpy {np.__version__}, scikit-learn {version('scikit-learn')}"  # other versions may train another model
    )
    digest = hashlib.sha256(f"{recipe.cache_key()} {problem.to_dict()['features']} {made_by}".encode()).hexdigest()[:12]
    path = cache_directory() / "benchmarks" / f"{name}-{seed if label is None else label}-{digest}.npz"
    cached = _restored(path, problem, recipe)
    if cached is not None:
        return cached
    model = recipe.fit(problem, problem.read(people).states, _is_favourable(problem, people), seed)
    buffer = io.BytesIO()
    np.savez(buffer, **model.to_arrays())  # type: ignore[arg-type]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, buffer.getvalue())
    except OSError:
        pass  # trained again next time
    return model


def _restored(path: Path, problem: Problem, recipe: Recipe) -> TrainedModel | None:
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return recipe.restore(problem, {name: arrays[name] for name in arrays.files})
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None


def cache_directory() -> Path:
    """The directory of cached parameters; the environment variable COUNTERPLAN_CACHE overrides it."""
    override = os.environ.get("COUNTERPLAN_CACHE")
    return Path(override) if override else Path(platformdirs.user_cache_dir("counterplan", appauthor=False))
