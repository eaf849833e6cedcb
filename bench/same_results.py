"""Check that two versions of counterplan learn and plan the same: `record` with each of them, then `compare`.

    python bench/same_results.py record before --source ../other-checkout/src
    python bench/same_results.py record after
    python bench/same_results.py compare before after

Everything goes through the command line and the files that it writes, so the versions may differ in every name inside.
Agents, surrogates, programs and plans have to be the same byte for byte; keys of a program's card that were renamed in
between are listed in `RENAMED`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from safetensors.numpy import load_file

BENCHMARKS = ("german", "adult", "syn", "syn_long", "taiwan")
PEOPLE = {"german": 78, "adult": 100, "syn": 100, "syn_long": 30, "taiwan": 100}
FORBIDDEN = {
    "german": "CHANGE_SAVINGS",
    "adult": "CHANGE_EDUCATION",
    "syn": "CHANGE_JOB",
    "syn_long": "CHANGE_JOB",
    "taiwan": "RAISE_PAYMENT",
}
RENAMED: dict[str, str] = {}
"""Keys of a program's card, by what they were called before."""


def commands(name: str, folder: Path) -> list[tuple[list[str], str]]:
    """The commands for one benchmark, and the file in which each leaves its plans, if it makes any."""
    guided, agent = str(folder / "guided"), str(folder / "agent")
    limit = ["--limit", str(PEOPLE[name])]
    distil = [] if name == "german" else ["--traces", "3000", "--rounds", "2"]
    made: list[tuple[list[str], str]] = [
        (["fit", name, "--out", guided], ""),
        (["distil", guided, *distil], ""),
        (["recommend", guided, *limit, "--planner", "guided"], "guided.json"),
        (["recommend", guided, *limit, "--planner", "guided", "--forbid", FORBIDDEN[name]], "guided-forbid.json"),
        (["recommend", guided, *limit, "--planner", "guided", "--budget", "0"], "unverified.json"),
        (["recommend", guided, *limit, "--planner", "program"], "program.json"),
        (["recommend", guided, *limit, "--planner", "program", "--forbid", FORBIDDEN[name]], "program-forbid.json"),
        (["recommend", guided, *limit, "--planner", "cascade"], "cascade.json"),
        (["recommend", name, *limit, "--planner", "exact"], "exact.json"),
        (["recommend", name, "--limit", "3", "--planner", "evolution", "--budget", "2000"], "evolution.json"),
        (["fit", name, "--out", agent, "--method", "search", "--budget", "4000"], ""),
        (["recommend", agent, *limit, "--planner", "search"], "search.json"),
        (["recommend", agent, *limit, "--planner", "policy"], "policy.json"),
        (["distil", agent, "--preset", "paper"], ""),
        (["recommend", agent, *limit, "--planner", "program"], "imitation.json"),
    ]
    if name == "german":
        paper = str(folder / "paper")
        made.append((["fit", name, "--out", paper, "--preset", "paper", "--budget", "1000"], ""))
        made.append((["recommend", paper, *limit, "--planner", "paper"], "paper.json"))
    return made


def record(folder: Path, names: list[str], source: Path | None) -> None:
    """Run every command with the counterplan in `source`, or the one installed, and keep what it leaves."""
    environment = dict(os.environ) | ({} if source is None else {"PYTHONPATH": str(source.resolve())})
    for name in names:
        where = folder / name
        where.mkdir(parents=True, exist_ok=True)
        for words, plans in commands(name, where):
            more = ["--json", str(where / plans)] if plans else []
            print("counterplan", *words, flush=True)
            done = subprocess.run(
                [sys.executable, "-m", "counterplan", *words, *more],
                env=environment, capture_output=True, text=True, check=False,
            )  # fmt: skip
            if done.returncode:
                raise SystemExit(f"counterplan {' '.join(words)} failed:\n{done.stderr}")


def differences(before: Path, after: Path) -> list[str]:
    """The artifacts that differ between two recorded folders, or are in one of them only."""
    found = []
    for one in sorted({*_artifacts(before), *_artifacts(after)}):
        if not (before / one).exists() or not (after / one).exists():
            found.append(f"{one}: only in {before if (before / one).exists() else after}")
        elif _content(before / one) != _content(after / one):
            found.append(f"{one}: differs")
    return found


def _artifacts(folder: Path) -> list[Path]:
    paths = [*folder.glob("*/*.json"), *folder.glob("*/*/*.safetensors"), *folder.glob("*/*/program.json")]
    return [path.relative_to(folder) for path in paths]


def _content(path: Path) -> Any:
    if path.suffix == ".safetensors":
        return {name: (a.dtype.str, a.shape, a.tobytes()) for name, a in load_file(path).items()}
    text = path.read_text("utf-8")
    return json.dumps(_renamed(json.loads(text))) if path.parent.name in ("guided", "agent") else text


def _renamed(data: Any) -> Any:
    """`data` with the keys of today."""
    if isinstance(data, dict):
        return {RENAMED.get(key, key): _renamed(value) for key, value in data.items()}
    return [_renamed(value) for value in data] if isinstance(data, list) else data


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    actions = parser.add_subparsers(dest="action", required=True)
    recording = actions.add_parser("record")
    recording.add_argument("folder", type=Path)
    recording.add_argument("--benchmarks", nargs="+", default=list(BENCHMARKS), choices=BENCHMARKS)
    recording.add_argument("--source", type=Path, help="the src folder of another checkout")
    comparing = actions.add_parser("compare")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    given = parser.parse_args()
    if given.action == "record":
        record(given.folder, given.benchmarks, given.source)
        return
    found = differences(given.before, given.after)
    count = len(_artifacts(given.before))
    print("\n".join(found) if found else f"The same: {count} files of {given.before} and {given.after}.")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
