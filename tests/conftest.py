import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import loans
import worlds
from counterplan.problem import Problem

# Compiled functions are shared between processes and runs: most of the time to train in tests is compilation.
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parents[1] / ".pytest_cache" / "jax"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.1")

# The same examples on every run; HYPOTHESIS_PROFILE=explore looks for new ones.
usual = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large]}
settings.register_profile("same", derandomize=True, **usual)
settings.register_profile("explore", max_examples=2000, database=None, **usual)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))


SHARING = {
    "test_card",
    "test_contract",
    "test_experiment",
    "test_many_actions",
    "test_recourse",
    "test_site",
    "test_training",
}
"""Files whose tests share what takes long to make: each runs in one process, so that it is made once."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.stem in SHARING:
            item.add_marker(pytest.mark.xdist_group(item.path.stem))


@pytest.fixture(params=worlds.BENCHMARKS)
def benchmark_problem(request: pytest.FixtureRequest) -> Problem:
    """Each of the four benchmarks in turn."""
    return worlds.benchmark(request.param)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., loans.Ran]:
    """Runs a command as a user types it."""
    from counterplan.cli import main

    def ran(*words: object) -> loans.Ran:
        monkeypatch.setattr(sys, "argv", ["counterplan", *map(str, words)])
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 1
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return loans.Ran(code, captured.out, captured.err)

    return ran


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a problem, a model and people in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "bank", raising=False)
    (tmp_path / "loan.yaml").write_text(loans.LOAN)
    (tmp_path / "bank.py").write_text(loans.MODEL)
    (tmp_path / "people.csv").write_text(loans.PEOPLE)
    return tmp_path
