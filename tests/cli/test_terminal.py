"""Printing: control characters are visible, and an output that cannot be written is a message."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from counterplan import Problem, Program, Recourse
from counterplan.cli import main
from counterplan.cli.app import COMMANDS
from counterplan.program import Choice, Leaf
from loans import LOAN, MODEL

EVIL = "\x1b[2J\x1b[31mgone\u202e\r"


def save_program(folder: Path, problem: str = LOAN) -> None:
    (folder / "loan.yaml").write_text(problem)
    loaded = Problem.load(folder / "loan.yaml")
    begin, stop = Leaf((Choice(0),)), Leaf((Choice(loaded.transitions.stop),))
    Program(loaded, {"INTERVENE": begin, "EARN": stop}).save(folder / "program.json")


def command(*words: str, **options: object) -> subprocess.CompletedProcess[bytes]:
    environment = os.environ | dict(options.pop("env", {}))  # type: ignore[call-overload]
    return subprocess.run(
        [sys.executable, "-m", "counterplan", *words],
        env=environment,
        stderr=subprocess.PIPE,
        **options,  # type: ignore[call-overload]
    )


def is_harmless(text: str) -> bool:
    return not any(character in text for character in "\x1b\u202e\r")


def test_check_makes_control_characters_visible(run, folder: Path) -> None:
    escaped = "\\e[2J\\e[31mgone\\u202E\\r"
    (folder / "bad.yaml").write_text(LOAN.replace("job: {kind: ordered", f'"{escaped}": {{kind: sorted'))
    ran = run("check", "bad.yaml")
    assert ran.code == 2
    assert "gone" in ran.err
    assert is_harmless(ran.err + ran.out)
    named = LOAN.replace("argument > job", f"argument > '{EVIL}'")
    (folder / "bad.yaml").write_text(named.replace("\r", ""))
    assert is_harmless(run("check", "bad.yaml").err)


def test_messages_of_models_are_made_visible(run, folder: Path) -> None:
    (folder / "bank.py").write_text(MODEL + f"def evil(people):\n    raise RuntimeError({EVIL!r})\n")
    ran = run("recommend", "loan.yaml", "--people", "people.csv", "--model", "bank:evil")
    assert ran.code == 2
    assert "gone" in ran.err
    assert is_harmless(ran.err)


def test_json_for_programs_is_not_altered(run, folder: Path) -> None:
    (folder / "people.csv").write_text("name,income,job\n\u202eann,1000,clerk\n")
    ran = run("recommend", "loan.yaml", "--people", "people.csv", "--model", "bank:decide", "--json", "-")
    assert "\u202eann" in ran.out


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize("words", ["show program.json", "--version", "--help", "schema"])
def test_a_full_disk_is_a_message(folder: Path, words: str) -> None:
    save_program(folder)
    with open("/dev/full", "wb") as full:
        ran = command(*words.split(), stdout=full)
    assert ran.returncode == 2
    assert b"Traceback" not in ran.stderr
    assert b"Exception ignored" not in ran.stderr
    assert b"the output cannot be written" in ran.stderr


def test_a_closed_output_is_a_message(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    save_program(folder)
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "argv", ["counterplan", "show", "program.json"])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert "the output cannot be written: it is closed" in capsys.readouterr().err


@pytest.mark.parametrize("encoding", ["latin-1", "ascii"])
def test_characters_that_a_terminal_lacks_are_escaped(
    run, folder: Path, monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    def written(*words: str) -> tuple[int, bytes, bytes]:
        """Exit code, output and messages of a command with streams of this encoding."""
        out, err = folder / "stdout", folder / "stderr"
        with (
            monkeypatch.context() as patch,
            out.open("w", encoding=encoding) as output,
            err.open("w", encoding=encoding, errors="backslashreplace") as messages,
        ):
            patch.setattr(sys, "stdout", output)
            patch.setattr(sys, "stderr", messages)
            code = run(*words).code
        return code, out.read_bytes(), err.read_bytes()

    save_program(folder)
    code, out, err = written("show", "program.json")
    assert (code, err) == (0, b"")
    assert b"\\u20ac" in out, "the unit of incomes"
    code, out, err = written("show", "program.json", "--json")
    assert code == 0 or b"set PYTHONIOENCODING=utf-8" in err, "data are exact or refused"
    if code == 0:
        assert json.loads(out)["problem"]["features"]["income"]["unit"] == "€"
    code, out, err = written("show", "nothing-€.json")
    assert code == 2
    assert b"nothing-\\u20ac.json" in err


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="there is no /dev/stdout here")
def test_plans_are_written_to_devices_and_pipes(run, folder: Path) -> None:
    words = ("recommend", "loan.yaml", "--people", "people.csv", "--model", "bank:decide")
    assert run(*words, "--csv", "plans.csv").code == 0
    plans = (folder / "plans.csv").read_bytes()
    assert command(*words, "--csv", "/dev/stdout", stdout=subprocess.PIPE).stdout == plans
    both = command(*words, "--csv", "/dev/stderr", stdout=subprocess.PIPE)
    assert both.returncode == 0
    assert both.stderr == plans
    assert b"3 people: 2 found" in both.stdout
    full = run(*words, "--csv", "/dev/full")
    assert full.code == 2
    assert "/dev/full: cannot be written" in full.err


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="there is no /dev/stdout here")
def test_a_programs_plans_are_streamed_to_pipes(run, folder: Path) -> None:
    save_program(folder)
    (folder / "learned").mkdir()
    loaded = Problem.load(folder / "loan.yaml")
    Recourse(loaded, lambda people: ["no"] * len(people), program=Program.load(folder / "program.json")).save("learned")
    words = ("recommend", "learned", "--people", "people.csv", "--planner", "program")
    assert run(*words, "--csv", "plans.csv").code == 0
    plans = (folder / "plans.csv").read_bytes()
    assert command(*words, "--csv", "/dev/stdout", stdout=subprocess.PIPE).stdout == plans
    assert command(*words, "--csv", "/dev/stderr", stdout=subprocess.PIPE).stderr == plans


def test_a_closed_pipe_is_silent(folder: Path) -> None:
    save_program(folder)
    read, write = os.pipe()
    os.close(read)
    try:
        ran = command("show", "program.json", stdout=write)
    finally:
        os.close(write)
    assert ran.returncode == 1
    assert ran.stderr == b""


@pytest.mark.parametrize(
    ("script", "absent"),
    [
        ("import counterplan", ("numpy", "pandas", "pydantic", "yaml", "typer")),
        (
            "sys.argv[1:] = ['--version']\nfrom counterplan.cli import main\nmain()",
            ("numpy", "pandas", "typer", "rich"),
        ),
        (
            "from counterplan.cli.app import app\napp(['--help'], standalone_mode=False)",
            ("numpy", "pandas", "pydantic"),
        ),
    ],
)
def test_little_is_imported_before_it_is_needed(script: str, absent: tuple[str, ...]) -> None:
    check = f"assert not {set(absent)!r} & set(sys.modules), sorted(sys.modules)"
    subprocess.run([sys.executable, "-c", f"import sys\n{script}\n{check}"], check=True, stdout=subprocess.DEVNULL)


def test_the_help_lists_every_command(run) -> None:
    listed = run("--help").out
    for name, entry in COMMANDS.items():
        assert f"  {name}  " in listed
        shown = run(name, "--help")
        assert shown.code == 0
        assert f"counterplan {name} " in shown.out
        assert entry.help.split()[0] in shown.out, "the list and the command describe it with the same verb"
    assert "No such command" in run("fly").err
