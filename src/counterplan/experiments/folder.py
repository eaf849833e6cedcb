"""The folder of an experiment: what it was begun with, whose it is, and what may be removed from it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from counterplan.errors import PlanError
from counterplan.experiments.cells import CELLS, machine, versions
from counterplan.experiments.context import LEARNED
from counterplan.experiments.rows import COLUMNS
from counterplan.experiments.settings import Options, Settings
from counterplan.storage.files import writable, write_or_say
from counterplan.storage.settings import settings_to_dict

FILE = "experiment.json"
LOCK = ".lock"
VERSION = 1


def options_in(folder: Path) -> Options | None:
    """The options that an experiment in `folder` was begun with; None if there is none."""
    path = folder / FILE
    try:
        told = json.loads(path.read_text())
        version, given = told["counterplan_experiment"], told["options"]
        if version > VERSION:
            raise PlanError(
                f"{path}: written by a newer counterplan (version {version}; this one reads {VERSION}); "
                "update counterplan, or choose another --out"
            )
        several = {name: tuple(given.get(name, ())) for name in ("benchmarks", "seeds", "planners")}
        return Options(**given | several)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise PlanError(f"{path}: damaged ({error!r}); start again with --force") from None


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Within this, no other run may use `folder`; one that does is told so.

    The kernel lets go of the lock when this process ends, however it ends. Where there are no such locks, nobody is
    kept out.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    path = writable(folder) / LOCK
    try:
        file = path.open("a")
    except OSError as error:
        raise PlanError(f"{path}: cannot be written: {error.strerror}") from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PlanError(
                f"{folder}: another run is at work there; wait until it has ended (or stop it), or choose another --out"
            ) from None
        except OSError:
            pass  # a file system without locks
        yield


def begin(folder: Path, options: Options, *, resume: bool, force: bool) -> None:
    """Make `folder` ready, or refuse it: one that is used is gone on with, or cleared, only if that is said."""
    folder = writable(folder)
    before = None if force else options_in(folder)
    used = [name for name in _written() if (folder / name).exists()]
    if force:
        clear(folder)
    elif used and not resume:
        raise PlanError(f"{folder}: holds an experiment already; go on with --resume, or start again with --force")
    elif before is not None and before != options:
        raise PlanError(
            f"{folder}: was begun with other options ({_difference(before, options)}); go on with\n"
            f"  counterplan experiment --out {folder} {before.words()}".rstrip()
            + " --resume\n"
            "or start again with --force"
        )
    elif used and before is None:
        raise PlanError(f"{folder / FILE}: there is no such file, so it is not known what to go on with; use --force")
    (folder / CELLS).mkdir(exist_ok=True)
    for stray in (folder / CELLS).glob(".*"):  # half-written by a process that was killed
        stray.unlink(missing_ok=True)
    told = {"counterplan_experiment": VERSION, "options": asdict(options), "command": command_of(options)}
    told |= {"settings": settings_to_dict(Settings.of(options)), "versions": versions(), "machine": machine()}
    write_or_say(folder / FILE, json.dumps(told, indent=1))


def command_of(options: Options) -> str:
    """The command that does the same, without the folder, which is nobody's business."""
    return f"counterplan experiment {options.words()}".strip()


def _difference(before: Options, now: Options) -> str:
    one, other = asdict(before), asdict(now)
    return ", ".join(f"{key} {_said(one[key])}, not {_said(other[key])}" for key in one if one[key] != other[key])


def _said(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, (tuple, list)) else str(value)


def _written() -> tuple[str, ...]:
    """Everything that an experiment writes."""
    return (
        FILE,
        CELLS,
        LEARNED,
        "figures",
        "tables",
        "report.html",
        "summary.json",
        *(f"{name}.csv" for name in COLUMNS),
    )


def clear(folder: Path) -> None:
    """Remove what an earlier experiment left, and nothing else."""
    for name in _written():
        path = folder / name
        try:
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        except OSError as error:
            raise PlanError(f"{path}: cannot be removed: {error.strerror}") from None
