"""Models of a benchmark trained again: by the same recipe, on somewhat other data or from another seed.

A plan takes time, and by then the model may have been retrained. These models show whether plans for today's model
still hold.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import pandas as pd

from counterplan.benchmarks.models import TrainedModel
from counterplan.benchmarks.suite import MAX_SEED, NAMES, TRAINING_RECIPES, Benchmark, split_people, trained_model
from counterplan.errors import SettingError

Variation = Literal["seed", "bootstrap", "dropped", "split"]
VARIATIONS: tuple[Variation, ...] = ("seed", "bootstrap", "dropped", "split")
"""The training people and another seed; a bootstrap sample of them; 90 % of them; 80 % of all people, drawn again."""
DROPPED = 0.1
MAX_NUMBER = 10**6


def retrained(benchmark: Benchmark, variation: Variation, number: int = 0) -> TrainedModel:
    """Train the model of a benchmark again, or load it from the cache.

    Parameters
    ----------
    benchmark : Benchmark
        A benchmark whose model was trained: german, adult or taiwan.
    variation : {"seed", "bootstrap", "dropped", "split"}
        What differs from the training of the benchmark's model. The training seed always does. The boosted trees of
        taiwan do not depend on it, so that "seed" gives the same model again.
    number : int, default=0
        Different numbers give different draws of people and training seeds.

    Returns
    -------
    TrainedModel
        A model for the same problem, which can replace `benchmark.model`.

    Raises
    ------
    SettingError
        If the benchmark's model is a rule, or there is no such variation or number.

    Examples
    --------
    >>> from counterplan import benchmarks
    >>> german = benchmarks.load("german")
    >>> again = benchmarks.retrained(german, "bootstrap")
    >>> again.name == german.model.name
    False
    """
    if benchmark.name not in TRAINING_RECIPES:
        raise SettingError(f"the model of '{benchmark.name}' is a rule, which cannot be trained again")
    if variation not in VARIATIONS:
        raise SettingError(f"there is no variation '{variation}'; there are {', '.join(VARIATIONS)}")
    if not isinstance(number, int) or not 0 <= number < MAX_NUMBER:
        raise SettingError(f"the number of a retrained model is from 0 to {MAX_NUMBER - 1:,}, not {number!r}")
    key = [benchmark.seed, NAMES.index(benchmark.name), VARIATIONS.index(variation), number]
    random = np.random.default_rng(key)
    people = _drawn(benchmark, variation, random)
    seed = int(random.integers(MAX_SEED + 1))
    label = f"{benchmark.seed}-{variation}-{number}"
    return trained_model(benchmark.name, benchmark.problem, people, seed, label=label)


def _drawn(benchmark: Benchmark, variation: Variation, random: np.random.Generator) -> pd.DataFrame:
    """The people to train on."""
    train = benchmark.train
    if variation == "bootstrap":
        return train.iloc[random.integers(len(train), size=len(train))].reset_index(drop=True)
    if variation == "dropped":
        rows = random.permutation(len(train))[round(DROPPED * len(train)) :]
        return train.iloc[np.sort(rows)].reset_index(drop=True)
    if variation == "split":
        return split_people(pd.concat([train, benchmark.test], ignore_index=True), random)[0]
    return train
