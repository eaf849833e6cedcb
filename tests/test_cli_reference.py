"""The page of the command line is that of the commands, and its examples can be parsed."""

from __future__ import annotations

import importlib.util
import re
import shlex
from pathlib import Path
from types import ModuleType

import pytest

from counterplan.cli.app import COMMANDS

SCRIPT = Path(__file__).parents[1] / "docs" / "reference" / "make_cli_reference.py"


@pytest.fixture(scope="module")
def reference() -> ModuleType:
    """The module that generates the page."""
    spec = importlib.util.spec_from_file_location("make_cli_reference", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_up_to_date(reference: ModuleType) -> None:
    assert reference.PAGE.read_text("utf-8") == reference.page(), "run 'make cli-reference'"


def test_the_page_has_every_option(reference: ModuleType) -> None:
    page = reference.page()
    sections = dict(zip(COMMANDS, re.split(r"^## ", page, flags=re.MULTILINE)[2:], strict=True))
    for name, section in sections.items():
        assert section.startswith(name)
        for parameter in reference.ROOT.get_command(None, name).params:
            if parameter.opts[0].startswith("-") and "--help" not in parameter.opts:
                assert f"| `{parameter.opts[0]}`" in section


def test_the_page_is_the_same_on_every_machine(reference: ModuleType) -> None:
    page = reference.page()
    assert "\x1b" not in page
    assert str(Path.home()) not in page
    assert str(SCRIPT.parents[2]) not in page


@pytest.mark.parametrize("command", COMMANDS)
def test_examples_can_be_parsed(command: str, reference: ModuleType) -> None:
    for example in reference.EXAMPLES[command]:
        assert shlex.split(example)[0] == command
        reference.parse(example)
