"""The one reader for JSON: every way in which a file can be wrong is a StorageError that names it."""

from __future__ import annotations

import math
import os
import re
from pathlib import Path

import pytest

from counterplan import StorageError
from counterplan.bounded_json import MAX_DEPTH, parse_json
from counterplan.storage.json_files import read_json, valid_seed


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"\xff\xfe{}", "not text in UTF-8"),
        (b'{"a": 1e999}', "1e999 is too large"),
        (b'{"a": -1e999}', "too large"),
        (b'{"a": NaN}', "NaN is not a number"),
        (b'{"a": Infinity}', "Infinity is not a number"),
        (b'{"a": ' + b"9" * 400 + b"}", "too large"),
        (b'{"a": ' + b"9" * 10_000 + b"}", "not JSON"),
        (b"[" * 100_000, "nested too deeply"),
        (b"[" * (MAX_DEPTH + 2) + b"]" * (MAX_DEPTH + 2), "nested too deeply"),
        (b'{"a":' * (MAX_DEPTH + 2) + b"1" + b"}" * (MAX_DEPTH + 2), "nested too deeply"),
        (b'"' + b"x" * 2_000 + b'"', "larger than 1,000 bytes"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "file.json"
    path.write_bytes(content)
    with pytest.raises(StorageError, match=message) as caught:
        read_json(path, limit=1_000 if message.startswith("larger") else 1_000_000)
    assert str(path) in str(caught.value)


def test_text_is_utf_8_whatever_the_locale_says(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_bytes('\ufeff{"größe": 1e3}'.encode())
    assert read_json(path) == {"größe": 1000.0}
    assert parse_json("\ufeff[1]", "text") == [1]
    nested = "[" * MAX_DEPTH + "]" * MAX_DEPTH
    assert parse_json(nested, "text") is not None
    assert parse_json("[1e999, -Infinity]", "text", infinite=True) == [math.inf, -math.inf]
    assert math.isnan(parse_json("NaN", "text", nan=True))
    assert parse_json(str(2**127), "text") == 2**127


@pytest.mark.parametrize("path", [None, 3.5, ["a.json"]])
def test_what_is_no_path_is_refused(path: object) -> None:
    with pytest.raises(StorageError, match=f"^a file is a path, not {re.escape(repr(path))}$"):
        read_json(path)  # type: ignore[arg-type]


def test_a_pipe_a_device_and_a_folder_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    for path in (tmp_path / "pipe.json", Path("/dev/zero"), tmp_path):
        with pytest.raises(StorageError, match="not a regular file"):
            read_json(path)


@pytest.mark.parametrize("seed", [2**32, -1, 1.5, True, "1", None, 10**400])
def test_seeds_that_no_generator_takes_are_refused(seed: object) -> None:
    with pytest.raises(StorageError, match=r"origin.json: a seed is an integer from 0 to 4294967295"):
        valid_seed(seed, "origin.json")
    assert valid_seed(2**32 - 1, "origin.json") == 2**32 - 1


@pytest.mark.parametrize("name", ["program.json", "problem.json", "origin.json", "questions.json", "surrogate.json"])
def test_commands_do_not_hang_on_a_pipe(run, folder: Path, name: str) -> None:
    (folder / "learned").mkdir()
    os.mkfifo(folder / "learned" / name)
    for command in (("show", "learned"), ("recommend", "learned", "--people", "people.csv", "--model", "bank:decide")):
        ran = run(*command)
        assert ran.code == 2
    ran = run("show", folder / "learned" / name)
    assert ran.code == 2
    assert "not a regular file" in ran.err


@pytest.mark.parametrize(
    ("origin", "message"), [('{"benchmark": "syn", "seed": 4294967296}', "a seed is"), ("[", "JSON")]
)
def test_an_origin_with_a_mistake_is_named(run, folder: Path, origin: str, message: str) -> None:
    (folder / "learned").mkdir()
    (folder / "learned" / "problem.json").write_text("{}")
    (folder / "learned" / "origin.json").write_text(origin)
    ran = run("recommend", "learned")
    assert ran.code == 2
    assert "origin.json" in ran.err
    assert message in ran.err
