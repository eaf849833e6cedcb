import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import IO, Any

import pytest
from hypothesis import HealthCheck, settings

import browsing
import loans
import worlds
from counterplan import BlackBox
from counterplan.problem import Problem

# Subprocesses, of which there are many, start faster with compiled modules, as do later runs.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# Two workers on two cores: threads of linear algebra would only wait for each other. Subprocesses inherit it.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")
# Plans state the date of their planning: outputs are compared byte for byte, also at midnight, and shown on pages.
os.environ.setdefault("SOURCE_DATE_EPOCH", "1794873600")  # 17 November 2026
# Compiled functions are shared between processes and runs: most of the time to train in tests is compilation.
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parents[1] / ".pytest_cache" / "jax"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.1")

# The same examples on every run; HYPOTHESIS_PROFILE=explore looks for new ones.
usual = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large]}
settings.register_profile("same", max_examples=20, derandomize=True, **usual)
settings.register_profile("explore", max_examples=2000, database=None, **usual)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))


SHARING = {
    "test_card_page",
    "test_contract",
    "test_experiment",
    "test_links",
    "test_many_actions",
    "test_mlflow",
    "test_page",
    "test_quality",
    "test_recourse",
    "test_report",
    "test_site",
    "test_training",
    "test_trial",
    "test_ways_page",
}
"""Files whose tests share expensive fixtures: slow as a whole or not at all."""
GROUPS = {
    f"tests/program/{name}.py": "programs"
    for name in ("test_export", "test_io", "test_page", "test_program", "test_text")
}
"""Files that share the programs of `program/programs.py`. Every other file is a group of its own."""

SLOW = Path(__file__).with_name("slow.txt")
"""The tests that `make check` leaves out: a file, or `file::test` for all cases of one test, on each line."""
SLOW_SECONDS = 0.25
"""CPU time of a case from which on `--update-slow` lists its test; one such test lists a whole file in `SHARING`."""
REPORTED_SECONDS = 0.5

_CASES: dict[str, float] = {}
"""CPU time of each case. In a distributed run, workers report theirs to the controller."""
_WORKERS: list[float] = []
"""CPU time of each worker."""
_STARTED = pytest.StashKey[float]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("counterplan")
    group.addoption("--cpu-goal", type=float, metavar="SECONDS", help="compare the CPU time of the run with this")
    group.addoption("--update-slow", action="store_true", help="write tests/slow.txt by the CPU times of this run")


def pytest_configure(config: pytest.Config) -> None:
    config.option.loadscopereorder = False  # files are in order after pytest_collection_modifyitems


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Send all tests of a group to one worker, whatever `--dist` says: xdist's own groups need an older pytest."""
    from xdist.scheduler import LoadScopeScheduling

    class GroupScheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return _group(nodeid)

    return GroupScheduling(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark slow tests, and start with the groups that have most of them."""
    slow = set(SLOW.read_text("utf-8").split())
    weights: Counter[str] = Counter()
    for item in items:
        if not slow.isdisjoint(_names(item.nodeid)):
            item.add_marker(pytest.mark.slow)
            weights[_group(item.nodeid)] += 1
    items.sort(key=lambda item: -weights[_group(item.nodeid)])


def _group(nodeid: str) -> str:
    """The group of a case, whose tests run in one process."""
    file = _names(nodeid)[0]
    return GROUPS.get(file, file)


def _names(nodeid: str) -> tuple[str, str]:
    """The file and the test, without parameters, of a case."""
    file, _, rest = nodeid.partition("::")
    return file, f"{file}::{rest.partition('[')[0]}"


def _cpu_seconds() -> float:
    """CPU time of this process and of its children that have ended."""
    spent = os.times()
    return time.process_time() + spent.children_user + spent.children_system


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    item.stash[_STARTED] = _cpu_seconds()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    report: Any = yield
    if call.when == "teardown":
        report.user_properties.append(("cpu_seconds", _cpu_seconds() - item.stash[_STARTED]))
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    for name, seconds in report.user_properties:
        if name == "cpu_seconds":
            _CASES[report.nodeid] = float(str(seconds))


def pytest_sessionfinish(session: pytest.Session) -> None:
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["cpu_seconds"] = _cpu_seconds()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Collect the total of a worker, which may still be running as a process."""
    _WORKERS.append(getattr(node, "workeroutput", {}).get("cpu_seconds", 0.0))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    if not _CASES:
        return
    files: Counter[str] = Counter()
    for nodeid, seconds in _CASES.items():
        files[_names(nodeid)[0]] += seconds
    total = sum(_WORKERS) + time.process_time() if _WORKERS else _cpu_seconds()
    terminalreporter.section("CPU time by file")
    for file, seconds in files.most_common():
        if seconds >= REPORTED_SECONDS:
            terminalreporter.write_line(f"{seconds:8.1f} s  {file}")
    terminalreporter.write_line(f"{total - files.total():8.1f} s  start-up and collection")
    goal = config.getoption("--cpu-goal")
    compared = "" if goal is None else f", of at most {goal:.0f} s" if total <= goal else f", MORE THAN {goal:.0f} s"
    terminalreporter.write_line(f"{total:8.1f} s  in all{compared}", red=goal is not None and total > goal)
    if config.getoption("--update-slow"):
        SLOW.write_text("".join(f"{name}\n" for name in sorted(_slow_tests())), "utf-8")


def _slow_tests() -> set[str]:
    found = set()
    for nodeid, seconds in _CASES.items():
        if seconds >= SLOW_SECONDS:
            file, test = _names(nodeid)
            found.add(file if Path(file).stem in SHARING else test)
    return found


@pytest.fixture(scope="module")
def steady_clock() -> Iterator[None]:
    """Black boxes by whose clock all queries take the same time, so that "auto" decides the same on a busy machine."""
    defaults = BlackBox.__init__.__kwdefaults__
    before, ticks = defaults["clock"], count()
    defaults["clock"] = lambda: next(ticks) * 1e-5
    yield
    defaults["clock"] = before


@pytest.fixture(params=worlds.BENCHMARKS)
def benchmark_problem(request: pytest.FixtureRequest) -> Problem:
    """Each of the five benchmarks in turn."""
    return worlds.benchmark(request.param)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A browser for all pages."""
    with browsing.chromium() as running:
        yield running


@pytest.fixture(scope="session")
def tab(browser: Any) -> Any:
    """One tab for all pages that need no settings of their own: a new one takes more time than most tests."""
    return browser.new_context(**browsing.DESKTOP).new_page()


@pytest.fixture
def opened(browser: Any, tab: Any, tmp_path: Path) -> Iterator[browsing.Open]:
    """Opens pages; see `browsing.opening`."""
    with browsing.opening(browser, tab, tmp_path / "page.html") as open_page:
        yield open_page


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
def blank_figures() -> Iterator[None]:
    """Figures are written without being drawn, which takes longer than a small fit."""
    from matplotlib.figure import Figure

    def savefig(self: Figure, file: IO[bytes], **options: object) -> None:
        file.write(b"blank")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Figure, "savefig", savefig)
        yield


@pytest.fixture
def quick_fits() -> Iterator[None]:
    """Commands fit with small settings, in this process."""
    import quick

    with quick.quick_fits():
        yield


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a problem, a model and people in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "bank", raising=False)
    (tmp_path / "loan.yaml").write_text(loans.LOAN)
    (tmp_path / "bank.py").write_text(loans.MODEL)
    (tmp_path / "people.csv").write_text(loans.PEOPLE)
    return tmp_path
