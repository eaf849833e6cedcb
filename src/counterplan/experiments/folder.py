"""The folder of an experiment: its options, and the files that belong to it."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

from counterplan.errors import CounterplanError, SettingError, StorageError
from counterplan.experiments.cells import CELLS, machine, versions
from counterplan.experiments.context import LEARNED
from counterplan.experiments.rows import COLUMNS
from counterplan.experiments.settings import ExperimentOptions, ExperimentSettings
from counterplan.storage.files import MissingFileError, make_writable, write_whole
from counterplan.storage.json_files import read_json
from counterplan.storage.settings import settings_to_dict

FILE = "experiment.json"
VERSION = 2
"""Since 2, the rows of the paper's methods are always there, and made with the paper's preset."""


def options_in(folder: Path) -> ExperimentOptions | None:
    """The options of the experiment in `folder`; None if there is none."""
    path = folder / FILE
    try:
        try:
            content = read_json(path)
        except MissingFileError:
            return None
        except StorageError as error:
            raise StorageError(f"{error}; start again with --force") from None
        version, options = content["counterplan_experiment"], content["options"]
        if version > VERSION:
            raise StorageError(
                f"{path}: written by a newer counterplan (version {version}; this one reads {VERSION}); "
                "update counterplan, or choose another --out"
            )
        if version < VERSION:
            raise StorageError(
                f"{folder}: holds an experiment of an earlier counterplan, whose rows of the paper's methods were made "
                "differently, so that it cannot be continued; start again with --force, or choose another --out "
                "(--report-only still reports its rows)"
            )
        sequences = {name: tuple(options.get(name, ())) for name in ("benchmarks", "seeds", "planners")}
        return ExperimentOptions(**options | sequences)
    except CounterplanError:
        raise
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StorageError(f"{path}: damaged ({error!r}); start again with --force") from None


def begin(folder: Path, options: ExperimentOptions, *, resume: bool, force: bool) -> None:
    """Prepare `folder`; one that holds an experiment is continued or cleared only on request.

    Raises
    ------
    StorageError, SettingError
        If the folder holds an experiment and neither `resume` nor `force` is set, or if its options differ.
    """
    folder = make_writable(folder)
    before = None if force else options_in(folder)
    used = [name for name in _written() if (folder / name).exists()]
    if force:
        clear(folder)
    elif used and not resume:
        raise StorageError(
            f"{folder}: holds an experiment already; continue with --resume, or start again with --force"
        )
    elif before is not None and before != options:
        raise SettingError(
            f"{folder}: was started with other options ({_difference(before, options)}); continue with\n"
            f"  counterplan experiment --out {folder} {before.to_arguments()}".rstrip()
            + " --resume\n"
            "or start again with --force"
        )
    elif used and before is None:
        raise StorageError(f"{folder / FILE}: there is no such file, so the options are unknown; use --force")
    (folder / CELLS).mkdir(exist_ok=True)
    for partial in (folder / CELLS).glob(".*"):  # left by a process that was killed
        partial.unlink(missing_ok=True)
    content = {"counterplan_experiment": VERSION, "options": asdict(options), "command": command_of(options)}
    content |= {
        "settings": settings_to_dict(ExperimentSettings.of(options)),
        "versions": versions(),
        "machine": machine(),
    }
    write_whole(folder / FILE, json.dumps(content, indent=1))


def command_of(options: ExperimentOptions) -> str:
    """The command of these options, without the folder."""
    return f"counterplan experiment {options.to_arguments()}".strip()


def _difference(before: ExperimentOptions, now: ExperimentOptions) -> str:
    old, new = asdict(before), asdict(now)
    return ", ".join(f"{key} {_text(old[key])}, not {_text(new[key])}" for key in old if old[key] != new[key])


def _text(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, (tuple, list)) else str(value)


def _written() -> tuple[str, ...]:
    """The files and folders that an experiment writes."""
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
    """Remove the files of an earlier experiment, and nothing else."""
    for name in _written():
        path = folder / name
        try:
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        except OSError as error:
            raise StorageError(f"{path}: cannot be removed: {error.strerror}") from None
