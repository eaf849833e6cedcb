"""Generate bring_your_own.ipynb from bring_your_own.py: `python docs/examples/make_notebook.py`, or `make notebook`.

The notebook has the cells of the script and their output. It is written as plain JSON, without Jupyter.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

SCRIPT = Path(__file__).absolute().with_name("bring_your_own.py")
NOTEBOOK = SCRIPT.with_suffix(".ipynb")


def cells(script: str) -> Iterator[tuple[str, str]]:
    """The kind, "markdown" or "code", and the text of each cell of a script whose cells begin with `# %%`."""
    for cell in f"\n{script}".split("\n# %%")[1:]:
        head, _, body = cell.partition("\n")
        if head.strip() == "[markdown]":
            yield "markdown", "\n".join(line.removeprefix("#").removeprefix(" ") for line in body.strip().split("\n"))
        else:
            yield "code", body.strip()


def run(codes: Sequence[str], folder: Path) -> list[str]:
    """The output of each cell, run in sequence in `folder`, in a process of their own."""
    between = "--- the next cell ---"
    script = f"\nprint({between!r})\n".join(codes)
    done = subprocess.run([sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"a cell failed:\n{done.stderr}")
    return done.stdout.split(f"{between}\n")


def lines(text: str) -> list[str]:
    """A text as the list of lines of the notebook format."""
    return text.splitlines(keepends=True)


def notebook(script: str, folder: Path) -> dict[str, Any]:
    """The notebook of a script, which is run in `folder`."""
    parts = list(cells(script))
    printed = iter(run([text for kind, text in parts if kind == "code"], folder))
    made = []
    for number, (kind, text) in enumerate(parts):
        cell: dict[str, Any] = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": lines(text)}
        if kind == "code":
            output = {"output_type": "stream", "name": "stdout", "text": lines(next(printed))}
            cell |= {"execution_count": None, "outputs": [output] if output["text"] else []}
        made.append(cell)
    python = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": made, "metadata": {"kernelspec": python}, "nbformat": 4, "nbformat_minor": 5}


def page(made: dict[str, Any]) -> str:
    """The notebook as a page of the documentation."""
    parts = []
    for cell in made["cells"]:
        text = "".join(cell["source"])
        parts.append(f"```python\n{text}\n```" if cell["cell_type"] == "code" else text)
        for output in cell.get("outputs", ()):
            parts.append(f"```text\n{''.join(output['text']).rstrip()}\n```")
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        made = notebook(SCRIPT.read_text("utf-8"), Path(folder))
    NOTEBOOK.write_text(json.dumps(made, ensure_ascii=False, indent=1) + "\n", "utf-8")
