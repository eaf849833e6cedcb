"""Runs in several processes: plain ones, and those of a real Dask cluster over TCP, of which some are killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lending import Lender, contents, manifest, parts, people, unfinished

from counterplan import CounterplanError, SettingError, batch
from counterplan.batch import engines

distributed = pytest.importorskip("distributed")

PARTITION = 4


class Cluster:
    """A scheduler and two worker processes, and a lender whose model they can import."""

    def __init__(self, lender: Lender, address: str) -> None:
        self.lender, self.address = lender, address

    def recommend(self, name: str, **options: Any) -> batch.BatchResult:
        """Plan in a folder of its own; nothing is recorded, so that every run sends all its queries."""
        lender = self.lender
        usual = {"planner": "exact", "model": "lender:decide", "partition_rows": PARTITION, "record": False}
        return batch.recommend(lender.learned, lender.people, lender.folder / name, **usual | options)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    lender = Lender(tmp_path_factory.mktemp("cluster"))
    lender.write([people(16), people(8, 16)])
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(lender.folder)
        patch.delitem(sys.modules, "lender", raising=False)
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(lender.folder), *sys.path])))
        with distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, protocol="tcp://", host="127.0.0.1", dashboard_address=None
        ) as local:
            made = Cluster(lender, local.scheduler_address)
            assert made.address.startswith("tcp://127.0.0.1:")
            made.recommend("one process")
            yield made


@pytest.fixture(autouse=True)
def _fresh(cluster: Cluster) -> Iterator[None]:
    cluster.lender.forget()
    yield
    cluster.lender.pause(None)


def require_complete(cluster: Cluster, name: str) -> None:
    """The parts are those of one process, byte for byte, and nothing else is left."""
    folder = cluster.lender.folder
    assert contents(folder / name) == contents(folder / "one process")
    assert manifest(folder / name) == manifest(folder / "one process")
    assert unfinished(folder / name) == []


def repeated_partitions(lender: Lender) -> set[int]:
    """The partitions of people of whom something was queried twice."""
    bases = {income - added for income, _ in lender.repeated for added in (0, 500, 1000, 1500, 2000)}
    numbers = {i for i in range(24) if any(abs(1000 + i + i / 1024 - base) < 1e-6 for base in bases)}
    return {number // PARTITION for number in numbers}


def test_a_cluster_by_address_gives_the_parts_of_one_process(cluster: Cluster) -> None:
    result = cluster.recommend("by address", cluster=cluster.address)
    require_complete(cluster, "by address")
    asked = cluster.lender.asked
    assert result.counts["queries"] == len(asked) == len({query for _, query in asked})
    assert len({process for process, _ in asked}) == 2
    assert os.getpid() not in {process for process, _ in asked}


def test_plain_processes_give_the_same_parts(cluster: Cluster) -> None:
    cluster.recommend("processes", jobs=2)
    require_complete(cluster, "processes")
    assert os.getpid() not in {process for process, _ in cluster.lender.asked}


def test_an_audit_on_a_cluster_is_that_of_one_process(cluster: Cluster) -> None:
    lender = cluster.lender
    options: dict[str, Any] = {"model": "lender:decide", "partition_rows": PARTITION, "groups": ["job", "income"]}
    problem, folder = lender.folder / "loan.yaml", lender.folder
    audits = [
        batch.audit(problem, lender.people, folder / f"audit {i}", cluster=address, key="id", **options)
        for i, address in enumerate([None, cluster.address])
    ]
    assert str(audits[0]) == str(audits[1])
    assert contents(folder / "audit 0" / "outcomes") == contents(folder / "audit 1" / "outcomes")
    for name in ("report.html", "audit.json", "groups.csv"):
        assert (folder / "audit 0" / name).read_bytes() == (folder / "audit 1" / name).read_bytes()


def test_a_worker_that_is_killed_is_replaced(cluster: Cluster) -> None:
    cluster.lender.pause(0.2)
    killed: list[int] = []

    def kill() -> None:
        killed.append(cluster.lender.worker_of_a_query())
        os.kill(killed[0], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    cluster.recommend("killed", cluster=cluster.address)
    killer.join()
    require_complete(cluster, "killed")
    assert killed
    assert len(repeated_partitions(cluster.lender)) <= 1


def test_a_plain_process_that_is_killed_is_replaced(cluster: Cluster) -> None:
    cluster.lender.pause(0.2)
    killer = threading.Thread(target=lambda: os.kill(cluster.lender.worker_of_a_query(), signal.SIGKILL))
    killer.start()
    cluster.recommend("process killed", jobs=2)
    killer.join()
    require_complete(cluster, "process killed")
    assert len(repeated_partitions(cluster.lender)) <= 2  # a pool ends with any of its processes


@pytest.mark.parametrize("how", ["processes", "dask"])
def test_a_partition_that_kills_its_process_is_named(cluster: Cluster, how: str) -> None:
    name = f"deadly {how}"
    options: dict[str, Any] = {"jobs": 2} if how == "processes" else {"cluster": cluster.address}
    with pytest.raises(CounterplanError, match=r"part0\.parquet, rows 4 to 7: the process that works on it has died"):
        cluster.recommend(name, model="lender:deadly", **options)
    assert "part-000001.parquet" not in contents(cluster.lender.folder / name)
    assert unfinished(cluster.lender.folder / name) == []


def test_a_wrong_address_is_reported(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "CONNECT_SECONDS", 1.0)
    for address in ("tcp://127.0.0.1:9", "nonsense://x", "tcp://127.0.0.1:notaport"):
        with pytest.raises(SettingError, match="no Dask scheduler can be reached") as error:
            cluster.recommend("wrong", cluster=address)
        assert address in str(error.value)
    assert not (cluster.lender.folder / "wrong").exists()


def test_a_scheduler_without_workers_is_reported(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "CONNECT_SECONDS", 2.0)
    with (
        distributed.LocalCluster(n_workers=0, host="127.0.0.1", dashboard_address=None) as empty,
        pytest.raises(SettingError, match="has no worker"),
    ):
        cluster.recommend("empty", cluster=empty.scheduler_address)
    assert not (cluster.lender.folder / "empty").exists()


def test_a_scheduler_that_ends_is_reported(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(engines, "_PROBE_SECONDS", 1.0)
    cluster.lender.pause(0.2)
    place = cluster.lender.folder / "scheduler.json"
    words = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"]
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    scheduler = subprocess.Popen([*words, "--no-dashboard", "--scheduler-file", str(place)], **quiet)
    words = [sys.executable, "-m", "distributed.cli.dask_worker", "--nthreads", "1", "--no-nanny", "--no-dashboard"]
    worker = subprocess.Popen([*words, "--scheduler-file", str(place)], **quiet)

    def kill() -> None:
        cluster.lender.worker_of_a_query()
        scheduler.kill()

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        end = time.monotonic() + 30
        while not place.exists() and time.monotonic() < end:
            time.sleep(0.05)
        address = json.loads(place.read_text())["address"]
        with pytest.raises(CounterplanError, match=r"the scheduler does not answer any more.*--resume"):
            cluster.recommend("scheduler", cluster=address)
    finally:
        killer.join()
        for process in (worker, scheduler):
            process.kill()
            process.wait()
    assert "Traceback" not in capfd.readouterr().err


def test_bad_rows_on_a_cluster_are_reported(cluster: Cluster, tmp_path: Path) -> None:
    bad = people(8)
    bad.loc[6, "job"] = "clark"
    other = tmp_path / "people.parquet"
    bad.to_parquet(other)
    lender = cluster.lender
    with pytest.raises(CounterplanError, match="column 'job', row 6: 'clark'"):
        batch.recommend(
            lender.learned,
            other,
            tmp_path / "plans",
            planner="exact",
            model="lender:decide",
            partition_rows=4,
            cluster=cluster.address,
        )
    assert [path.name for path in parts(tmp_path / "plans")] == ["part-000000.parquet"]


@pytest.mark.parametrize("how", [["--jobs", "1"], ["--jobs", "2"], ["--cluster", "local", "--jobs", "2"]], ids=str)
def test_an_interrupted_run_is_resumed(cluster: Cluster, how: list[str]) -> None:
    """Ctrl-C in the middle, then the same command with --resume: the parts of one process, and no query twice."""
    lender, out = cluster.lender, f"interrupted {how}"
    lender.pause(0.15)
    words = [sys.executable, "-m", "counterplan", "recommend", "learned", "--people", str(lender.people / "*.parquet")]
    words += ["--planner", "exact", "--model", "lender:decide", "--partition-rows", str(PARTITION), "--no-record"]
    words += ["--out", out, *how]
    process = subprocess.Popen(words, cwd=lender.folder, stderr=subprocess.PIPE, text=True, start_new_session=True)
    end = time.monotonic() + 60
    while not parts(lender.folder / out) and time.monotonic() < end and process.poll() is None:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: workers get it too
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    assert "--resume" in errors
    done = contents(lender.folder / out)
    assert 0 < len(done) < 6
    assert not manifest(lender.folder / out)["complete"]
    assert unfinished(lender.folder / out) == []
    lender.pause(None)
    ended = subprocess.run([*words, "--resume"], cwd=lender.folder, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert "24 people: 24 found" in ended.stdout
    assert "of them from before" in ended.stdout
    assert contents(lender.folder / out).items() >= done.items()
    folder = lender.folder
    assert contents(folder / out) == contents(folder / "one process")
    assert len(repeated_partitions(lender)) <= 2


def test_the_cells_of_an_experiment_run_on_a_cluster(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from counterplan.experiments import cells
    from counterplan.experiments.folder import begin
    from counterplan.experiments.running import ExperimentRun
    from counterplan.experiments.settings import ExperimentOptions, ExperimentSettings

    options = ExperimentOptions(("syn",), (3,), people=3)
    monkeypatch.setattr(cells, "_KINDS", {"people": cells._KINDS["people"]})
    begin(tmp_path / "out", options, resume=False, force=False)
    run = ExperimentRun(options, tmp_path / "out", ExperimentSettings.of(options), 1, lambda _: None, cluster.address)
    rows = run.run()
    assert len(rows.results) == 3
    assert run.progress.done == 1
