"""Cells run once, in order, and are reused only if valid: with cells that do almost nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from counterplan import CounterplanError, SettingError
from counterplan.experiments import cells
from counterplan.experiments.cells import Cell
from counterplan.experiments.context import CellRecord, Context
from counterplan.experiments.folder import begin, options_in
from counterplan.experiments.rows import COLUMNS
from counterplan.experiments.running import ExperimentProgress, ExperimentRun
from counterplan.experiments.settings import ExperimentOptions, ExperimentSettings
from counterplan.storage.locks import locked

OPTIONS = ExperimentOptions(("german", "syn"), (3, 4))


class Work:
    """Three kinds of cells, each needing the one before, that count how often they are done."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.done: list[str] = []
        self.fails: set[str] = set()
        self.seen: list[ExperimentProgress] = []

    def kinds(self) -> dict[str, cells._Kind]:
        def doing(kind: str) -> Callable[[Context, CellRecord], None]:
            def do(context: Context, record: CellRecord) -> None:
                name = f"{context.name}-{context.seed}-{kind}"
                if name in self.fails:
                    raise SettingError("out of luck")
                self.done.append(name)
                if kind == "agent":
                    context.learned("agent").mkdir(parents=True, exist_ok=True)
                    (context.learned("agent") / "agent.json").write_text("{}")
                record.timing.append(context.head | {"method": kind, "phase": "training", "cpu_seconds": 1.5})

            return do

        kind, seconds = cells._Kind, (1.0, 1.0, 1.0, 1.0)
        return {
            "people": kind(doing("people"), (), seconds),
            "agent": kind(doing("agent"), ("people",), seconds, ("agent.json",)),
            "plan-search": kind(doing("plan-search"), ("agent",), seconds),
        }

    def run(self, settings: ExperimentSettings = ExperimentSettings()) -> ExperimentRun:  # noqa: B008 -- it is frozen
        """One more run on the same folder."""
        begin(self.folder, OPTIONS, resume=(self.folder / "experiment.json").exists(), force=False)
        run = ExperimentRun(OPTIONS, self.folder, settings, 0, lambda progress: self.seen.append(replace(progress)))
        self.rows = run.run()
        return run


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Work:
    work = Work(tmp_path / "out")
    monkeypatch.setattr(cells, "_KINDS", work.kinds())
    return work


def test_does_everything_once_and_in_order(work: Work) -> None:
    work.run()
    assert sorted(work.done) == sorted(str(cell) for cell in cells.cells_of(OPTIONS))
    for name in ("german-3", "german-4", "syn-3", "syn-4"):
        places = [work.done.index(f"{name}-{kind}") for kind in ("people", "agent", "plan-search")]
        assert places == sorted(places)
    last = work.seen[-1]
    assert (last.done, last.total, last.seconds_left) == (12, 12, 0)
    assert all(progress.seconds_left is None or progress.seconds_left >= 0 for progress in work.seen)
    assert len(work.rows.timing) == 12


def test_resuming_repeats_nothing(work: Work) -> None:
    work.run()
    first = work.rows.timing.to_csv()
    again = work.run()
    assert len(work.done) == 12
    assert not again.warnings
    assert again.progress.done == 12
    assert work.rows.timing.to_csv() == first
    (work.folder / Cell("syn", 4, "plan-search").file).unlink()
    work.run()
    assert work.done[12:] == ["syn-4-plan-search"]


def test_cells_are_not_believed_if_they_would_come_out_differently(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    work.run()
    path = work.folder / Cell("german", 3, "people").file
    path.write_text(path.read_text()[:-40])
    warnings = work.run().warnings
    assert warnings == ["cells/german-3-people.json is damaged, and is made again"]
    tampered = json.loads(path.read_text())
    tampered["sheet"]["timing"][0]["cpu_seconds"] = 0.1
    path.write_text(json.dumps(tampered))
    assert len(work.run().warnings) == 1
    (work.folder / "learned" / "german-3" / "agent" / "agent.json").unlink()
    assert work.run().warnings == ["cells/german-3-agent.json is without agent.json, which it made, and is made again"]
    assert len(work.done) == 15
    work.run(ExperimentSettings(imitated=7))
    assert len(work.done) == 27
    newer = cells.versions() | {"numpy": "99"}
    monkeypatch.setattr(cells, "versions", lambda: newer)
    warnings = work.run(ExperimentSettings(imitated=7)).warnings
    assert len(warnings) == 12
    assert "made with other versions or settings" in warnings[0]


def test_says_so_if_the_code_has_changed_meanwhile(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    work.run()
    (work.folder / Cell("syn", 4, "plan-search").file).unlink()
    monkeypatch.setattr(cells, "source", lambda: "another")
    warnings = ["some cells were made by another state of the code; --force makes all of them again"]
    assert work.run().warnings == warnings
    monkeypatch.setattr(cells, "source", lambda: "a third one")
    assert work.run().warnings == warnings


def test_says_what_failed_and_does_the_rest(work: Work) -> None:
    work.fails = {"german-3-agent"}
    with pytest.raises(CounterplanError, match="1 of 12 cells failed, german-3-agent first: out of luck"):
        work.run()
    assert len(work.done) == 10
    work.fails = set()
    work.run()
    assert work.done[10:] == ["german-3-agent", "german-3-plan-search"]


def test_every_cell_says_how_it_was_made_and_names_no_place(work: Work) -> None:
    work.run()
    made_with = json.loads((work.folder / Cell("syn", 3, "agent").file).read_text())["made_with"]
    assert made_with["command"] == "counterplan experiment --benchmarks german,syn --seeds 2 --first-seed 3"
    assert set(made_with["versions"]) >= {"counterplan", "python", "numpy", "jax", "pymoo"}
    assert set(made_with["machine"]) == {"system", "processor", "cores"}
    for path in (work.folder / "cells").iterdir():
        assert str(work.folder) not in path.read_text()


def test_a_used_folder_is_refused(work: Work) -> None:
    work.run()
    (work.folder / "mine.txt").write_text("not yours")
    with pytest.raises(CounterplanError, match="continue with --resume, or start again with --force"):
        begin(work.folder, OPTIONS, resume=False, force=False)
    other = ExperimentOptions(("german",), (3, 4, 5), quick=True)
    with pytest.raises(CounterplanError) as refused:
        begin(work.folder, other, resume=True, force=False)
    assert "benchmarks german, syn, not german" in str(refused.value)
    assert f"--out {work.folder} --benchmarks german,syn --seeds 2 --first-seed 3 --resume" in str(refused.value)
    assert options_in(work.folder) == OPTIONS
    begin(work.folder, other, resume=False, force=True)
    assert options_in(work.folder) == other
    assert not list((work.folder / "cells").iterdir())
    assert (work.folder / "mine.txt").exists()
    about = json.loads((work.folder / "experiment.json").read_text())
    about["options"]["paper_training"] = False  # as the first version of the file has it
    (work.folder / "experiment.json").write_text(json.dumps(about | {"counterplan_experiment": 1}))
    for resume in (True, False):
        with pytest.raises(CounterplanError, match=r"of an earlier counterplan.* start again with --force, or choose"):
            begin(work.folder, other, resume=resume, force=False)
    (work.folder / "experiment.json").write_text("{")
    with pytest.raises(CounterplanError, match="start again with --force"):
        begin(work.folder, other, resume=True, force=False)


@pytest.mark.parametrize(
    "options",
    [ExperimentOptions(), ExperimentOptions(("syn",), (40,), 7, True), ExperimentOptions(seeds=(2, 3), people=5)],
    ids=["usual", "quick", "seeds"],
)
def test_options_can_be_typed(options: ExperimentOptions, run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seen = []

    def stop(folder: Path, found: ExperimentOptions, **how: bool) -> None:
        seen.append(found)
        raise SettingError("enough")

    monkeypatch.setattr("counterplan.experiments.folder.begin", stop)
    assert run("experiment", "--out", tmp_path, *options.to_arguments().split()).code == 2
    assert seen == [options]


SLOW = """
import os, time
from counterplan.experiments import cells

def slow(context, record):
    with open(context.folder / "log", "a") as log:
        log.write(f"{os.getpid()} {context.name}-{context.seed}\\n")
    if list(context.folder.glob("cells/*.json")):
        time.sleep(100)

cells._KINDS = {"people": cells._Kind(slow, (), (1.0, 1.0, 1.0, 1.0))}

if __name__ == "__main__":
    from counterplan.cli import main
    main()
"""


@pytest.mark.parametrize(("how", "jobs", "code"), [("SIGINT", 2, 130), ("SIGKILL", 1, -9)])
def test_a_run_that_is_stopped_goes_on_and_meanwhile_no_other_may(
    how: str, jobs: int, code: int, tmp_path: Path, run, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, script = tmp_path / "out", tmp_path / "slow.py"
    script.write_text(SLOW)
    words = [sys.executable, str(script), "experiment", "--out", str(out), "--benchmarks", "syn", "--jobs", str(jobs)]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True, start_new_session=True) as running:
        deadline = time.monotonic() + 60
        while not list(out.glob("cells/*.json")) and time.monotonic() < deadline:
            time.sleep(0.02)
        before = {path for path in out.rglob("*") if not path.name.startswith(".")}
        with monkeypatch.context() as patched:
            patched.setattr(ExperimentRun, "run", _two_at_once)
            again = ("experiment", "--out", out, "--benchmarks", "syn")
            refused = [run(*again, more) for more in ("--resume", "--force")]
        left = set(out.rglob("*"))
        running.send_signal(getattr(signal, how))
        output = running.communicate(timeout=30)[1]
    assert [ran.code for ran in refused] == [2, 2]
    assert all("another run uses this folder" in ran.err for ran in refused)
    assert before <= left, "--force has removed what another run needs"
    assert running.returncode == code, output
    if how == "SIGINT":
        assert "of 5 cells are done and kept" in output
        assert f"counterplan experiment --out {out} --resume" in output
        assert "Traceback" not in output
    workers = {int(line.split()[0]) for line in (out / "log").read_text().splitlines()}
    while any(_alive(pid) for pid in workers) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(_alive(pid) for pid in workers), "somebody works on"
    kept = {path.name for path in out.glob("cells/*.json")}
    assert 0 < len(kept) < 5
    (out / "cells" / ".half.json.x").write_text("{")
    done = []
    kind = cells._Kind(lambda context, record: done.append(f"syn-{context.seed}-people.json"), (), (1.0, 1.0, 1.0, 1.0))
    monkeypatch.setattr(cells, "_KINDS", {"people": kind})
    options = options_in(out)
    assert options == ExperimentOptions(("syn",))
    with locked(out):
        begin(out, options, resume=True, force=False)
        ExperimentRun(options, out, ExperimentSettings(), 0, lambda progress: None).run()
    assert set(done).isdisjoint(kept)
    assert {path.name for path in (out / "cells").iterdir()} == kept | set(done)
    assert len(kept) + len(done) == 5


def _two_at_once(run: ExperimentRun) -> None:
    raise SettingError("two runs at once")


def _alive(pid: int) -> bool:
    """Whether a process is still at work; one that nobody has buried yet is not."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_a_cell_has_the_tables_of_the_files() -> None:
    record = CellRecord(queries=[{"rows": 3}])
    assert set(record.to_dict()) == set(COLUMNS)
    assert record.to_dict()["questions"] == [{"rows": 3}]
