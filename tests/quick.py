"""Small settings for tests that learn. They are alike, so that JAX compiles a step for all of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from counterplan.agent import NetworkConfig, SearchSettings
from counterplan.agent.training_settings import TrainingSettings
from counterplan.recourse.fit_options import FitOptions
from counterplan.surrogate.fitting import FitSettings
from counterplan.surrogate.score_fitting import ScoreFitSettings

FIT = FitSettings(members=3, hidden=(16, 16), steps=200, refit_steps=100, trees=10)
SCORE_FIT = ScoreFitSettings(members=3, hidden=(16, 16), steps=200, trees=20)
TRAINING = TrainingSettings(
    people=120,
    min_people=100,
    validation=12,
    passes=2,
    group_size=30,
    simulations=24,
    gradient_steps=6,
    batch_size=32,
    validate_every=3,
    search=SearchSettings(simulations=32),
    network=NetworkConfig(16, 16),
    checkpoint_seconds=0.0,
)


@contextmanager
def quick_fits() -> Iterator[None]:
    """Within this context, fits with default settings, such as those of commands, have small ones."""
    validated = FitOptions.validated

    def quick(*parameters: Any) -> FitOptions:
        options = validated(*parameters)
        budget = options.agent.budget
        usual = options.agent == TrainingSettings(budget=budget)
        surrogate = replace(options.surrogate, fit=FIT, score_fit=SCORE_FIT)
        return replace(options, surrogate=surrogate, agent=replace(TRAINING, budget=budget) if usual else options.agent)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FitOptions, "validated", quick)
        yield
