"""A learned folder: its files, its provenance, and what may be replaced in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from counterplan import Problem, SettingError, StorageError
from counterplan.storage.workspace import CHECKPOINTS, LEARNED, OUTDATED, Origin, Workspace
from loans import LOAN


@pytest.fixture
def problem(folder: Path) -> Problem:
    return Problem.load("loan.yaml")


def test_a_folder_is_in_use_as_soon_as_one_file_is_there(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "new")
    assert not workspace.in_use
    workspace.require_unused()
    assert workspace.create().folder.is_dir()
    (workspace.folder / "notes.txt").touch()
    assert not workspace.in_use
    for name in LEARNED:
        workspace.write(name, "")
        assert workspace.in_use
        with pytest.raises(StorageError, match="go on with --resume, or start again with --force"):
            workspace.require_unused()
        workspace.remove(name)


def test_the_problem_comes_back(problem: Problem, folder: Path) -> None:
    workspace = Workspace(folder)
    with pytest.raises(StorageError, match=r"there is no such file; is .* what 'counterplan fit' wrote"):
        workspace.load_problem()
    workspace.require_problem(problem)
    workspace.save_problem(problem)
    assert workspace.load_problem().fingerprint == problem.fingerprint
    workspace.require_problem(problem)
    (folder / "loan.yaml").write_text(LOAN.replace("cost: 2", "cost: 3"))
    with pytest.raises(StorageError, match="was fitted to another problem than loan; start again with --force"):
        workspace.require_problem(Problem.load("loan.yaml"))
    for damage in ("{", "[" * 100_000, '{"counterplan": 1}'):
        workspace.write("problem.json", damage)
        with pytest.raises(StorageError, match="--resume writes it again"):
            workspace.load_problem()


@pytest.mark.parametrize("origin", [Origin("german", 3), Origin(None, 0)])
def test_the_origin_comes_back(tmp_path: Path, origin: Origin) -> None:
    workspace = Workspace(tmp_path)
    assert workspace.load_origin() is None
    workspace.save_origin(origin)
    assert workspace.load_origin() == origin


@pytest.mark.parametrize(
    "damage",
    [
        *("", "[]", "{}", "null", "[" * 100_000, '{"benchmark": 3, "seed": 0}'),
        *(f'{{"benchmark": "syn", "seed": {seed}}}' for seed in ("1e999", "-1", "4294967296", '"0"', "true", "0.5")),
    ],
)
def test_damaged_records(tmp_path: Path, damage: str) -> None:
    workspace = Workspace(tmp_path)
    workspace.write("origin.json", damage)
    workspace.write("questions.json", damage)
    with pytest.raises(StorageError, match=r"origin\.json: .*; remove it, and name people and model"):
        workspace.load_origin()
    assert workspace.load_query_counts() == {}


def test_query_counts_come_back(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    workspace.save_query_counts({"guided": 20, "search": 3})
    assert workspace.load_query_counts() == {"guided": 20, "search": 3}


def test_metrics_are_read_line_by_line(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    assert workspace.load_metrics("learning.jsonl") == []
    workspace.write("learning.jsonl", '{"round": 0}\n{"round": 1}\n')
    assert [row["round"] for row in workspace.load_metrics("learning.jsonl")] == [0, 1]
    workspace.write("learning.jsonl", '{"round"')
    with pytest.raises(StorageError, match="it is only a record"):
        workspace.load_metrics("learning.jsonl")


def test_removing(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    for name in {*LEARNED, *OUTDATED}:
        workspace.write(name, "")
    assert workspace.remove_checkpoints() == CHECKPOINTS
    assert workspace.remove_checkpoints() == ()
    workspace.remove_outdated()
    assert not workspace.holds(*OUTDATED)
    assert workspace.in_use
    (tmp_path / "learning.npz").mkdir()
    with pytest.raises(StorageError, match=r"learning\.npz: cannot be removed"):
        workspace.remove_outdated()


def test_a_folder_is_a_path() -> None:
    with pytest.raises(SettingError, match="a folder is a path, not 3"):
        Workspace(3)  # type: ignore[arg-type]
