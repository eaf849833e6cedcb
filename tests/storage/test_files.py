"""Files are whole or absent, bounded when read, and never reached through a link of a workspace."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from counterplan import StorageError
from counterplan.storage.files import (
    MissingFileError,
    append_inside,
    read_bounded,
    read_inside,
    require_writable,
    write_inside,
    write_whole,
)


def test_a_link_that_the_user_names_is_followed(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("real")
    write_whole(tmp_path / "link", "text", private=True)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "text"
    assert stat.S_IMODE((tmp_path / "real").stat().st_mode) == 0o600
    assert read_bounded(tmp_path / "link", 10) == b"text"


def test_inside_a_workspace_a_link_is_replaced_and_not_read(tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("mine")
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "link").symlink_to(tmp_path / "outside")
    with pytest.raises(StorageError, match="link: is a symbolic link; the files of a workspace are never read through"):
        read_inside(folder, "link", 10)
    write_inside(folder, "link", "text")
    assert (tmp_path / "outside").read_text() == "mine"
    assert not (folder / "link").is_symlink()
    assert read_inside(folder, "link", 10) == b"text"
    assert [path.name for path in folder.iterdir()] == ["link"], "no temporary file is left"


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".", "..", "/etc/passwd"])
def test_names_that_leave_the_workspace_are_refused(tmp_path: Path, name: str) -> None:
    for call in (lambda: read_inside(tmp_path, name, 9), lambda: write_inside(tmp_path, name, "text")):
        with pytest.raises(StorageError, match="not the name of a file"):
            call()


def test_permissions_follow_the_umask_unless_private(tmp_path: Path) -> None:
    umask = os.umask(0o027)
    try:
        write_inside(tmp_path, "open", "text")
        write_inside(tmp_path, "private", "text", private=True)
    finally:
        os.umask(umask)
    assert stat.S_IMODE((tmp_path / "open").stat().st_mode) == 0o640
    assert stat.S_IMODE((tmp_path / "private").stat().st_mode) == 0o600


def test_only_the_file_that_was_created_is_appended_to(tmp_path: Path) -> None:
    file = write_inside(tmp_path, "log", "a")
    assert append_inside(tmp_path, "log", "b", file)
    assert (tmp_path / "log").read_text() == "ab"
    (tmp_path / "log").rename(tmp_path / "moved")
    assert not append_inside(tmp_path, "log", "c", file)
    (tmp_path / "log").symlink_to("moved")
    assert not append_inside(tmp_path, "log", "c", file)
    (tmp_path / "log").unlink()
    (tmp_path / "log").write_text("another")
    assert not append_inside(tmp_path, "log", "c", file)
    os.mkfifo(tmp_path / "pipe")
    assert not append_inside(tmp_path, "pipe", "c", file)
    assert {path.name: path.read_text() for path in (tmp_path / "moved", tmp_path / "log")} == {
        "moved": "ab",
        "log": "another",
    }


def test_only_regular_files_of_limited_size_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "large").write_bytes(b"x" * 11)
    for path in (tmp_path / "pipe", tmp_path, Path("/dev/zero")):
        with pytest.raises(StorageError, match="not a regular file"):
            read_bounded(path, 10)
    with pytest.raises(StorageError, match="larger than 10 bytes"):
        read_bounded(tmp_path / "large", 10)
    with pytest.raises(MissingFileError, match="no such file"):
        read_bounded(tmp_path / "nothing", 10)
    (tmp_path / "circle").symlink_to("circle")
    with pytest.raises(StorageError, match="circle: cannot be read"):
        read_bounded(tmp_path / "circle", 10)
    with pytest.raises(StorageError, match="circle: cannot be written"):
        write_whole(tmp_path / "circle", "text")
    with pytest.raises(StorageError, match="cannot be read"):
        read_bounded("a\0b", 10)


def test_folders_and_devices_are_never_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "folder"):
        for call in (
            lambda name=name: write_inside(tmp_path, name, "x"),
            lambda name=name: write_whole(tmp_path / name, "x"),
        ):
            with pytest.raises(StorageError, match=f"{name}: cannot be written: it exists and is not a regular file"):
                call()
        with pytest.raises(StorageError, match="not a regular file"):
            require_writable(tmp_path / name)
