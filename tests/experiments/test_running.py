"""Cells are done once, in order, and never believed wrongly: with cells that do next to nothing."""

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

from counterplan import CounterplanError, PlanError
from counterplan.experiments import cells
from counterplan.experiments.cells import Cell
from counterplan.experiments.context import CellRecord, Context
from counterplan.experiments.folder import alone, begin, options_in
from counterplan.experiments.running import Progress, Run
from counterplan.experiments.settings import Options, Settings

OPTIONS = Options(("german", "syn"), (3, 4))


class Work:
    """Three kinds of cells, each needing the one before, that count how often they are done."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.done: list[str] = []
        self.fails: set[str] = set()
        self.seen: list[Progress] = []

    def kinds(self) -> dict[str, cells._Kind]:
        def doing(kind: str) -> Callable[[Context, CellRecord], None]:
            def do(desk: Context, sheet: CellRecord) -> None:
                name = f"{desk.name}-{desk.seed}-{kind}"
                if name in self.fails:
                    raise PlanError("out of luck")
                self.done.append(name)
                if kind == "agent":
                    desk.learned("agent").mkdir(parents=True, exist_ok=True)
                    (desk.learned("agent") / "agent.json").write_text("{}")
                sheet.timing.append(desk.head | {"method": kind, "phase": "training", "cpu_seconds": 1.5})

            return do

        kind, seconds = cells._Kind, (1.0, 1.0, 1.0, 1.0)
        return {
            "people": kind(doing("people"), (), seconds),
            "agent": kind(doing("agent"), ("people",), seconds, ("agent.json",)),
            "plan-search": kind(doing("plan-search"), ("agent",), seconds),
        }

    def run(self, settings: Settings = Settings()) -> Run:  # noqa: B008 -- it is frozen
        """One more run on the same folder."""
        begin(self.folder, OPTIONS, resume=(self.folder / "experiment.json").exists(), force=False)
        run = Run(OPTIONS, self.folder, settings, 0, lambda progress: self.seen.append(replace(progress)))
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
    assert (last.done, last.total, last.left) == (12, 12, 0)
    assert all(progress.left is None or progress.left >= 0 for progress in work.seen)
    assert len(work.rows.timing) == 12


def test_resuming_repeats_nothing(work: Work) -> None:
    work.run()
    first = work.rows.timing.to_csv()
    again = work.run()
    assert len(work.done) == 12
    assert not again.told
    assert again.progress.done == 12
    assert work.rows.timing.to_csv() == first
    (work.folder / Cell("syn", 4, "plan-search").file).unlink()
    work.run()
    assert work.done[12:] == ["syn-4-plan-search"]


def test_cells_are_not_believed_if_they_would_come_out_differently(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    work.run()
    path = work.folder / Cell("german", 3, "people").file
    path.write_text(path.read_text()[:-40])
    told = work.run().told
    assert told == ["cells/german-3-people.json is damaged, and is made again"]
    tampered = json.loads(path.read_text())
    tampered["sheet"]["timing"][0]["cpu_seconds"] = 0.1
    path.write_text(json.dumps(tampered))
    assert len(work.run().told) == 1
    (work.folder / "learned" / "german-3" / "agent" / "agent.json").unlink()
    assert work.run().told == ["cells/german-3-agent.json is without agent.json, which it made, and is made again"]
    assert len(work.done) == 15
    work.run(Settings(imitated=7))
    assert len(work.done) == 27
    newer = cells.versions() | {"numpy": "99"}
    monkeypatch.setattr(cells, "versions", lambda: newer)
    told = work.run(Settings(imitated=7)).told
    assert len(told) == 12
    assert "made with other versions or settings" in told[0]


def test_says_so_if_the_code_has_changed_meanwhile(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    work.run()
    (work.folder / Cell("syn", 4, "plan-search").file).unlink()
    monkeypatch.setattr(cells, "source", lambda: "another")
    told = ["some cells were made by another state of the code; --force makes all of them again"]
    assert work.run().told == told
    monkeypatch.setattr(cells, "source", lambda: "a third one")
    assert work.run().told == told


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
    told = json.loads((work.folder / Cell("syn", 3, "agent").file).read_text())["made_with"]
    assert told["command"] == "counterplan experiment --benchmarks german,syn --seeds 2 --first-seed 3"
    assert set(told["versions"]) >= {"counterplan", "python", "numpy", "jax", "pymoo"}
    assert set(told["machine"]) == {"system", "processor", "cores"}
    for path in (work.folder / "cells").iterdir():
        assert str(work.folder) not in path.read_text()


def test_a_used_folder_is_refused(work: Work) -> None:
    work.run()
    (work.folder / "mine.txt").write_text("not yours")
    with pytest.raises(CounterplanError, match="go on with --resume, or start again with --force"):
        begin(work.folder, OPTIONS, resume=False, force=False)
    other = Options(("german",), (3, 4, 5), quick=True)
    with pytest.raises(CounterplanError) as refused:
        begin(work.folder, other, resume=True, force=False)
    assert "benchmarks german, syn, not german" in str(refused.value)
    assert f"--out {work.folder} --benchmarks german,syn --seeds 2 --first-seed 3 --resume" in str(refused.value)
    assert options_in(work.folder) == OPTIONS
    begin(work.folder, other, resume=False, force=True)
    assert options_in(work.folder) == other
    assert not list((work.folder / "cells").iterdir())
    assert (work.folder / "mine.txt").exists()
    (work.folder / "experiment.json").write_text("{")
    with pytest.raises(CounterplanError, match="damaged"):
        begin(work.folder, other, resume=True, force=False)


@pytest.mark.parametrize(
    "options",
    [Options(), Options(("syn",), (40,), 7, True, True), Options(seeds=(2, 3), people=5)],
    ids=["usual", "quick", "seeds"],
)
def test_options_can_be_typed(options: Options, run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seen = []

    def stop(folder: Path, found: Options, **how: bool) -> None:
        seen.append(found)
        raise PlanError("enough")

    monkeypatch.setattr("counterplan.experiments.folder.begin", stop)
    assert run("experiment", "--out", tmp_path, *options.words().split()).code == 2
    assert seen == [options]


SLOW = """
import os, time
from counterplan.experiments import cells

def slow(desk, sheet):
    with open(desk.folder / "log", "a") as log:
        log.write(f"{os.getpid()} {desk.name}-{desk.seed}\\n")
    if list(desk.folder.glob("cells/*.json")):
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
            patched.setattr(Run, "run", _two_at_once)
            again = ("experiment", "--out", out, "--benchmarks", "syn")
            refused = [run(*again, more) for more in ("--resume", "--force")]
        left = set(out.rglob("*"))
        running.send_signal(getattr(signal, how))
        told = running.communicate(timeout=30)[1]
    assert [ran.code for ran in refused] == [2, 2]
    assert all("another run is at work there" in ran.err for ran in refused)
    assert before <= left, "--force has removed what another run needs"
    assert running.returncode == code, told
    if how == "SIGINT":
        assert "of 5 cells are done and kept" in told
        assert f"counterplan experiment --out {out} --resume" in told
        assert "Traceback" not in told
    workers = {int(line.split()[0]) for line in (out / "log").read_text().splitlines()}
    while any(_alive(pid) for pid in workers) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(_alive(pid) for pid in workers), "somebody works on"
    kept = {path.name for path in out.glob("cells/*.json")}
    assert 0 < len(kept) < 5
    (out / "cells" / ".half.json.x").write_text("{")
    done = []
    kind = cells._Kind(lambda desk, sheet: done.append(f"syn-{desk.seed}-people.json"), (), (1.0, 1.0, 1.0, 1.0))
    monkeypatch.setattr(cells, "_KINDS", {"people": kind})
    options = options_in(out)
    assert options == Options(("syn",))
    with alone(out):
        begin(out, options, resume=True, force=False)
        Run(options, out, Settings(), 0, lambda progress: None).run()
    assert set(done).isdisjoint(kept)
    assert {path.name for path in (out / "cells").iterdir()} == kept | set(done)
    assert len(kept) + len(done) == 5


def _two_at_once(run: Run) -> None:
    raise PlanError("two runs at once")


def _alive(pid: int) -> bool:
    """Whether a process is still at work; one that nobody has buried yet is not."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False
