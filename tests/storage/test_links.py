"""A workspace from a stranger: symbolic links in it are never followed, by no command and no file."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from counterplan import Problem, Recourse, StorageError
from counterplan.storage.locks import LOCK, locked
from counterplan.storage.workspace import LEARNED
from loans import MANY, MODEL
from quick import quick_fits

FIGURES = ("learning.png", "reliability.png", "training.png")
READ = (
    *("problem.json", "surrogate.json", "surrogate.safetensors", "program.json", "answers.csv.gz"),
    *("answers.unfinished.csv", "learning.npz", "origin.json"),
)
"""Files that commands read."""
COMMANDS: dict[str, tuple[str, ...]] = {
    "recommend": ("recommend", "learned", "--people", "many.csv", "--model", "bank:decide"),
    "resume": (
        *("fit", "loan.yaml", "--people", "many.csv", "--out", "learned", "--budget", "150"),
        *("--model", "bank:decide", "--resume"),
    ),
    "distil": (
        *("distil", "learned", "--people", "many.csv", "--model", "bank:decide", "--traces", "60", "--rounds", "1"),
    ),
}

pytestmark = pytest.mark.usefixtures("blank_figures", "quick_fits")

followed: list[str] = []
"""Links that were opened without O_NOFOLLOW, as long as `watched` is set."""
watched: list[Path] = []


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open" and watched and isinstance(arguments[0], (str, bytes, os.PathLike)):
        path, flags = os.fsdecode(arguments[0]), arguments[2]
        if os.path.islink(path) and not flags & os.O_NOFOLLOW and Path(path).resolve() in watched:
            followed.append(path)


sys.addaudithook(_watch)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which a surrogate was learned and a program distilled, with everything that was needed."""
    from counterplan.cli import main
    from loans import LOAN

    folder = tmp_path_factory.mktemp("template")
    MANY.to_csv(folder / "many.csv", index=False)
    (folder / "bank.py").write_text(MODEL)
    (folder / "loan.yaml").write_text(LOAN)
    patch = pytest.MonkeyPatch()
    patch.chdir(folder)
    patch.delitem(sys.modules, "bank", raising=False)
    try:
        for words in (COMMANDS["resume"][:-1], COMMANDS["distil"]):
            patch.setattr(sys, "argv", ["counterplan", *words])
            with quick_fits(), pytest.raises(SystemExit) as stop:
                main()
            assert not stop.value.code
    finally:
        patch.undo()
        sys.modules.pop("bank", None)
    lines = "\n".join(str(i) for i in range(9))
    (folder / "learned" / "answers.unfinished.csv").write_text(lines)
    (folder / "learned" / "origin.json").write_text("{}")
    return folder


@pytest.fixture
def workspace(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(template, tmp_path / "work")
    (tmp_path / "outside").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.delitem(sys.modules, "bank", raising=False)
    (tmp_path / "work" / "learned" / "answers.unfinished.csv").unlink()
    (tmp_path / "work" / "learned" / "origin.json").unlink()
    return tmp_path / "work" / "learned"


class Victims:
    """Files outside a workspace that links in it point to."""

    def __init__(self, workspace: Path, names: tuple[str, ...], dangling: bool = False) -> None:
        self.outside = workspace.parent.parent / "outside"
        for name in names:
            source, target = workspace / name, self.outside / name
            if not dangling:
                target.write_bytes(source.read_bytes() if source.exists() else b"mine\n" * 9)
                os.utime(target, (1e9, 1e9))
            source.unlink(missing_ok=True)
            source.symlink_to(target)
        watched[:] = [(self.outside / name).resolve() for name in names]
        self.before = self.state()

    def state(self) -> dict[str, tuple[bytes, float]]:
        return {path.name: (path.read_bytes(), path.stat().st_mtime) for path in self.outside.iterdir()}

    def require_untouched(self) -> None:
        opened, watched[:] = list(followed), []
        followed.clear()
        assert self.state() == self.before
        assert not opened


@pytest.fixture(autouse=True)
def nothing_followed() -> Iterator[None]:
    followed.clear()
    yield
    watched.clear()


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", READ)
def test_no_command_reads_or_changes_a_file_through_a_link(run, workspace: Path, name: str, command: str) -> None:
    victims = Victims(workspace, (name,))
    ran = run(*COMMANDS[command])
    victims.require_untouched()
    assert ran.code == 0 or "symbolic link" in ran.err or "no such file" in ran.err, ran.err
    assert ran.code == 0 or name in ran.err


@pytest.mark.parametrize("command", COMMANDS)
def test_files_that_are_only_written_replace_links(run, workspace: Path, command: str) -> None:
    names = (*(name for name in LEARNED if name not in READ), *FIGURES, "answers.unfinished.csv", "origin.json")
    victims = Victims(workspace, names)
    ran = run(*COMMANDS[command])
    victims.require_untouched()
    assert ran.code == 0 or "symbolic link" in ran.err


@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_is_created_where_a_dangling_link_points(run, workspace: Path, command: str) -> None:
    kept = ("problem.json", "surrogate.json", "surrogate.safetensors")
    victims = Victims(workspace, tuple({*LEARNED, *FIGURES, "origin.json"} - {*kept}), dangling=True)
    run(*COMMANDS[command])
    victims.require_untouched()


def test_saving_replaces_links(workspace: Path) -> None:
    sys.modules.pop("bank", None)
    recourse = Recourse.load(workspace, _decide, answers=False)
    recourse.recommend(MANY)
    assert recourse.program_ is not None
    names = (*LEARNED, *FIGURES)
    victims = Victims(workspace, names)
    recourse.save(workspace)
    victims.require_untouched()
    for name in ("problem.json", "surrogate.json", "surrogate.safetensors", "answers.csv.gz"):
        assert not (workspace / name).is_symlink()
    assert Recourse.load(workspace, _decide, answers=False).surrogate_ is not None


def test_answers_written_as_they_arrive_never_pass_through_a_link(workspace: Path) -> None:
    recourse = Recourse.load(workspace, _decide, answers=False)
    victims = Victims(workspace, ("answers.unfinished.csv",), dangling=True)
    with recourse.recording_answers(workspace):
        recourse.box.favourable(Problem.load("loan.yaml"), MANY.assign(income=MANY["income"] + 1))
        log = workspace / "answers.unfinished.csv"
        assert not log.is_symlink()
        written = log.read_bytes()
        log.unlink()
        log.symlink_to(victims.outside / "later")
        recourse.box.favourable(Problem.load("loan.yaml"), MANY.assign(income=MANY["income"] + 2))
        assert not log.is_symlink()
        assert log.read_bytes().startswith(written)
    victims.require_untouched()


def test_hard_links_are_not_appended_to(workspace: Path) -> None:
    outside = workspace.parent.parent / "outside" / "victim"
    outside.write_text("mine")
    os.link(outside, workspace / "answers.unfinished.csv")
    recourse = Recourse.load(workspace, _decide, answers=False)
    with recourse.recording_answers(workspace):
        recourse.box.favourable(Problem.load("loan.yaml"), MANY.assign(income=MANY["income"] + 1))
    assert outside.read_text() == "mine"


def test_files_with_data_of_people_are_private(run, workspace: Path) -> None:
    umask = os.umask(0o022)
    try:
        for name in ("answers.csv.gz", "learning.npz"):
            (workspace / name).chmod(0o644)  # as earlier versions wrote them
        assert run(*COMMANDS["resume"]).code == 0
        assert run(*COMMANDS["recommend"], "--json", "plans.json", "--csv", "plans.csv").code == 0
        recourse = Recourse.load(workspace, _decide, answers=False)
        with recourse.recording_answers(workspace):
            recourse.box.favourable(Problem.load("loan.yaml"), MANY.assign(income=MANY["income"] + 1))
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in workspace.iterdir()}
    finally:
        os.umask(umask)
    for name in ("answers.csv.gz", "answers.unfinished.csv", "learning.npz"):
        assert modes[name] == 0o600, name
    assert modes["surrogate.json"] == 0o644
    for name in ("plans.json", "plans.csv"):
        assert stat.S_IMODE((workspace.parent / name).stat().st_mode) == 0o600


def _decide(people: Any) -> list[str]:
    return ["yes" if row.income >= 2000 and row.job != "none" else "no" for row in people.itertuples()]


def test_the_lock_of_an_experiment_is_not_opened_through_a_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment" / LOCK).symlink_to(outside)
    with pytest.raises(StorageError, match=r"\.lock: cannot be written"), locked(tmp_path / "experiment"):
        pass
    assert not outside.exists()
