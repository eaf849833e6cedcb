import os

import pytest
from hypothesis import HealthCheck, settings

import worlds
from counterplan.problem import Problem

# The same examples on every run; HYPOTHESIS_PROFILE=explore looks for new ones.
usual = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large]}
settings.register_profile("same", derandomize=True, **usual)
settings.register_profile("explore", max_examples=2000, database=None, **usual)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))


@pytest.fixture(params=worlds.BENCHMARKS)
def benchmark_problem(request: pytest.FixtureRequest) -> Problem:
    """Each of the four benchmarks in turn."""
    return worlds.benchmark(request.param)
