"""A program runs from its file alone: no agent, no planner, no black box, nothing that learns."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import counterplan
import worlds
from program.random_programs import random_program

NOT_NEEDED = [
    *("jax", "sklearn", "optax", "matplotlib", "onnxruntime", "safetensors"),
    *(
        f"counterplan.{room}"
        for room in ("agent", "planners", "surrogate", "blackbox", "models", "recourse", "keeping")
    ),
]
SCRIPT = """
import json, sys
from counterplan.program import Program
import pandas as pd
program = Program.load(sys.argv[1])
plans = program.recommend(pd.read_json(sys.argv[2], orient="split"))
print(json.dumps({"text": plans.to_text() + str(program), "modules": sorted(sys.modules)}))
"""


def test_a_program_needs_nothing_that_made_it(tmp_path: Path) -> None:
    problem = worlds.benchmark("german")
    program = random_program(problem, 2, depth=4)
    people = worlds.random_people(problem, 2, 20)
    program.save(tmp_path / "program.json")
    people.to_json(tmp_path / "people.json", orient="split")
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "program.json"), str(tmp_path / "people.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)
    assert [name for name in NOT_NEEDED if name in told["modules"]] == []
    assert told["text"] == program.recommend(people).to_text() + str(program)


COMMAND = """
import json, sys
from counterplan.cli.app import app
app(sys.argv[1:], standalone_mode=False)
print(json.dumps(sorted(sys.modules)))
"""


def test_the_command_imports_no_other_planner(tmp_path: Path) -> None:
    """Half of the time of a run for a few people would be imports."""
    problem = worlds.benchmark("german")
    random_program(problem, 2, depth=4).save(tmp_path / "program.json")
    (tmp_path / "problem.json").write_text(json.dumps(problem.to_dict()))
    worlds.random_people(problem, 2, 20).to_csv(tmp_path / "people.csv", index=False)
    words = ["recommend", str(tmp_path), "--people", str(tmp_path / "people.csv"), "--planner", "program"]
    command = [sys.executable, "-c", COMMAND, *words, "--csv", str(tmp_path / "plans.csv")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    modules = json.loads(done.stdout.splitlines()[-1])
    unused = ("agent", "surrogate", "planners.exact", "planners.evolution", "planners.guided", "program.export")
    assert [name for name in unused if f"counterplan.{name}" in modules] == []
    assert (tmp_path / "plans.csv").stat().st_size > 0


def test_the_front_door_opens_when_it_is_used() -> None:
    assert {*counterplan.__all__} <= {*dir(counterplan)}
    assert all(getattr(counterplan, name) is not None for name in counterplan.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        counterplan.Nothing  # noqa: B018
