"""The help of a command: the names and types of docs/reference/cli.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from counterplan.cli.app import COMMANDS

REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"
SECTIONS = dict(re.findall(r"^## ([a-z]+)\n(.*?)(?=^## |\Z)", REFERENCE.read_text("utf-8"), re.MULTILINE | re.DOTALL))


@pytest.mark.parametrize("name", COMMANDS)
def test_usage_and_types_are_those_of_the_reference(name: str, run) -> None:
    shown = run(name, "--help").out
    usage = re.search(r"^counterplan .*$", SECTIONS[name], re.MULTILINE)
    assert usage is not None
    assert f"Usage: {usage[0]}" in " ".join(shown.split())
    for names, kind in re.findall(r"^\| (`-.*?) \| ([a-z]+)", SECTIONS[name], re.MULTILINE):
        option = names.replace("`", "").replace(", --no-", " / --no-")
        expected = option if kind == "flag" else f"{option} {kind.upper()}"
        assert re.search(rf"^  {re.escape(expected)}(  |$)", shown, re.MULTILINE), expected
    assert not re.search(r"<\w+( range)?>|<list|\{\w+\}|x>=", shown)


def test_messages_name_arguments_as_the_help_does(run) -> None:
    assert "Missing argument 'PROBLEM'" in run("fit").err


def test_limits_and_defaults_are_stated(run) -> None:
    words = " ".join(run("recommend", "--help").out.split())
    assert "Seed of a benchmark. [>= 0; default: 0]" in words
    assert "[default: on]" in words
    assert "PROBLEM A benchmark's name, a problem file, or a folder that 'fit' wrote. [required]" in words
