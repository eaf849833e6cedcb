"""The files around the code agree with it: version, changelog, citation, continuous integration."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import yaml

import counterplan

ROOT = Path(__file__).parents[1]


def loaded(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text("utf-8"))


def test_the_changelog_has_this_version() -> None:
    headings = re.findall(r"^## \[(.+?)\](?: - (\d{4}-\d\d-\d\d))?$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    assert headings[0] == ("Unreleased", "")
    assert headings[1][0] == counterplan.__version__
    assert loaded("CITATION.cff")["version"] == counterplan.__version__
    assert str(loaded("CITATION.cff")["date-released"]) == headings[1][1]


def test_changes_are_of_known_kinds() -> None:
    kinds = re.findall(r"^### (.+)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    assert set(kinds) <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_continuous_integration_runs_the_command_of_the_project() -> None:
    job = loaded(".github/workflows/ci.yml")["jobs"]["test"]
    oldest = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["requires-python"]
    assert oldest == f">={job['strategy']['matrix']['python'][0]}"
    assert [step["run"] for step in job["steps"] if "run" in step] == [".ci/run"]
    assert "make test" in (ROOT / ".ci" / "run").read_text("utf-8")


def test_hooks_use_the_pinned_tools() -> None:
    hooks = [hook for repo in loaded(".pre-commit-config.yaml")["repos"] for hook in repo["hooks"]]
    assert {hook["id"] for hook in hooks} == {"ruff", "ruff-format", "mypy"}
    assert all(hook["entry"].startswith(".venv/bin/") for hook in hooks)


def test_issue_forms_are_complete() -> None:
    for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*_*.yml"):
        form = yaml.safe_load(path.read_text("utf-8"))
        assert {"name", "description", "body"} <= form.keys()
        assert all(part["type"] == "markdown" or part["attributes"]["label"] for part in form["body"])
