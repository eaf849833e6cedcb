"""Generate notebooks from scripts with cells: `python docs/examples/make_notebook.py [SCRIPT …]`, or `make notebook`.

Without arguments, the scripts are `bring_your_own.py` and those of the gallery. A notebook has the cells of its script,
their output and their figures. It is written as plain JSON, without Jupyter.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

SCRIPT = Path(__file__).absolute().with_name("bring_your_own.py")
NOTEBOOK = SCRIPT.with_suffix(".ipynb")
GALLERY = tuple(sorted((SCRIPT.parents[1] / "gallery").glob("*.py")))
ENVIRONMENT = {"MPLBACKEND": "Agg", "OMP_NUM_THREADS": "1", "SOURCE_DATE_EPOCH": "1794873600"}
"""Defaults under which outputs are the same on every run."""
_BETWEEN = "--- the next cell ---"
_SAVE_FIGURES = """
import sys as _sys
if "matplotlib.pyplot" in _sys.modules:
    _plt = _sys.modules["matplotlib.pyplot"]
    for _number in _plt.get_fignums():
        _plt.figure(_number).savefig(f"{folder}/{cell}-{{_number:03}}.png", dpi=110, bbox_inches="tight")
    _plt.close("all")
"""


def cells(script: str) -> Iterator[tuple[str, str]]:
    """The kind, "markdown" or "code", and the text of each cell of a script whose cells begin with `# %%`."""
    for cell in f"\n{script}".split("\n# %%")[1:]:
        head, _, body = cell.partition("\n")
        if head.strip() == "[markdown]":
            yield "markdown", "\n".join(line.removeprefix("#").removeprefix(" ") for line in body.strip().split("\n"))
        else:
            yield "code", body.strip()


def run(codes: Sequence[str], folder: Path, figures: Path | None = None) -> list[str]:
    """The output of each cell, run as one script in `folder`, in a process of its own.

    The figures of each cell are saved in the folder `figures` as `CELL-NUMBER.png`.
    """
    saved = [_SAVE_FIGURES.format(folder=figures, cell=cell) if figures else "" for cell in range(len(codes))]
    with TemporaryDirectory() as place:
        script = Path(place, "cells.py")
        parts = [f"{code}\n{save}" for code, save in zip(codes, saved, strict=True)]
        script.write_text(f"\nprint({_BETWEEN!r})\n".join(parts), "utf-8")
        command = [sys.executable, str(script)]
        done = subprocess.run(
            command, cwd=folder, env=ENVIRONMENT | os.environ, capture_output=True, text=True, check=False
        )
    if done.returncode or "Warning" in done.stderr:
        raise RuntimeError(f"a cell {'failed' if done.returncode else 'warns'}:\n{done.stderr}")
    return done.stdout.split(f"{_BETWEEN}\n")


def lines(text: str) -> list[str]:
    """A text as the list of lines of the notebook format."""
    return text.splitlines(keepends=True)


def notebook(script: str, folder: Path) -> dict[str, Any]:
    """The notebook of a script, which is run in `folder`."""
    parts = list(cells(script))
    made: list[dict[str, Any]] = []
    with TemporaryDirectory() as figures:
        printed = run([text for kind, text in parts if kind == "code"], folder, Path(figures))
        drawn = [sorted(Path(figures).glob(f"{cell}-*.png")) for cell in range(len(printed))]
        outputs = iter([[*_stream(text), *map(_figure, files)] for text, files in zip(printed, drawn, strict=True)])
    for number, (kind, text) in enumerate(parts):
        cell: dict[str, Any] = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": lines(text)}
        if kind == "code":
            cell |= {"execution_count": None, "outputs": next(outputs)}
        made.append(cell)
    python = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": made, "metadata": {"kernelspec": python}, "nbformat": 4, "nbformat_minor": 5}


def _stream(text: str) -> list[dict[str, Any]]:
    return [{"output_type": "stream", "name": "stdout", "text": lines(text)}] if text else []


def _figure(file: Path) -> dict[str, Any]:
    data = {"image/png": base64.b64encode(file.read_bytes()).decode("ascii"), "text/plain": ["<Figure>"]}
    return {"output_type": "display_data", "data": data, "metadata": {}}


def page(made: dict[str, Any], name: str) -> str:
    """The notebook as a page of the documentation, which shows the images of `images`."""
    shown = iter(images(made, name))
    heading, parts = name, []
    for cell in made["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            heading = ([heading] + [line.lstrip("# ") for line in text.split("\n") if line.startswith("#")])[-1]
            parts.append(text)
        else:
            parts.append(f"```python\n{text}\n```")
        for output in cell.get("outputs", ()):
            if "data" in output:
                parts.append(f"![{heading}]({next(shown)})")
            else:
                parts.append(f"```text\n{''.join(output['text']).rstrip()}\n```")
    return "\n\n".join(parts) + "\n"


def images(made: dict[str, Any], name: str) -> dict[str, bytes]:
    """The figures of a notebook, by the name of a file."""
    outputs = [output for cell in made["cells"] for output in cell.get("outputs", ()) if "data" in output]
    return {
        f"{name}-{number}.png": base64.b64decode(output["data"]["image/png"])
        for number, output in enumerate(outputs, start=1)
    }


if __name__ == "__main__":
    for path in [Path(name) for name in sys.argv[1:]] or (SCRIPT, *GALLERY):
        with TemporaryDirectory() as folder:
            made = notebook(path.read_text("utf-8"), Path(folder))
        path.with_suffix(".ipynb").write_text(json.dumps(made, ensure_ascii=False, indent=1) + "\n", "utf-8")
