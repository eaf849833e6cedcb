from __future__ import annotations

import pytest

from counterplan import BlackBox, ExactPlanner, Plan, Plans, benchmarks
from counterplan.benchmarks import Benchmark


@pytest.fixture(scope="session")
def german() -> Benchmark:
    return benchmarks.load("german")


@pytest.fixture(scope="session")
def plans(german: Benchmark) -> Plans:
    """Optimal plans for 60 people, some of them favourable already."""
    return ExactPlanner(german.problem, BlackBox(german.model)).plan(german.test.head(60))


@pytest.fixture(scope="session")
def longest(plans: Plans) -> Plan:
    """The plan with the most steps."""
    return max(plans, key=lambda plan: len(plan.steps))
