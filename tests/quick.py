"""Small settings for tests that learn. They are alike, so that JAX compiles a step for all of them."""

from __future__ import annotations

from counterplan.agent import NetworkConfig, SearchSettings
from counterplan.agent.training import TrainingSettings
from counterplan.surrogate.fitting import FitSettings

FIT = FitSettings(members=3, hidden=(16, 16), steps=200, refit_steps=100, trees=10)
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
