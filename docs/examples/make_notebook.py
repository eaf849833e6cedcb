"""Makes bring_your_own.ipynb of bring_your_own.py: `python docs/examples/make_notebook.py`, or `make notebook`.

The script is what is edited; the notebook holds the same cells, and what they print. A notebook is plain JSON and its
cells are plain Python, so neither making nor running it takes Jupyter.
"""

from __future__ import annotations

import ast
import io
import json
from collections.abc import Iterator
from contextlib import chdir, redirect_stdout
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


def run(code: str, names: dict[str, Any]) -> list[dict[str, Any]]:
    """What a cell prints and gives, as a notebook keeps it; `names` are those of all cells before."""
    body, printed = ast.parse(code).body, io.StringIO()
    last = body.pop().value if body and isinstance(body[-1], ast.Expr) else None
    given = None
    with redirect_stdout(printed):
        exec(compile(ast.Module(body, []), "cell", "exec"), names)  # noqa: S102 -- our own script
        if last is not None:
            given = eval(compile(ast.Expression(last), "cell", "eval"), names)  # noqa: S307
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": lines(printed.getvalue())})
    if given is not None:
        shown = {"text/plain": lines(str(given))}
        outputs.append({"output_type": "execute_result", "execution_count": None, "metadata": {}, "data": shown})
    return outputs


def lines(text: str) -> list[str]:
    """A text as notebooks keep it."""
    return text.splitlines(keepends=True)


def notebook(script: str) -> dict[str, Any]:
    """The notebook of a script, which is run for it."""
    names: dict[str, Any] = {"__name__": "__main__"}
    made = []
    for number, (kind, text) in enumerate(cells(script)):
        cell: dict[str, Any] = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": lines(text)}
        if kind == "code":
            cell |= {"execution_count": None, "outputs": run(text, names)}
        made.append(cell)
    python = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": made, "metadata": {"kernelspec": python}, "nbformat": 4, "nbformat_minor": 5}


def page(made: dict[str, Any]) -> str:
    """The same as a page of the documentation."""
    parts = []
    for cell in made["cells"]:
        text = "".join(cell["source"])
        parts.append(f"```python\n{text}\n```" if cell["cell_type"] == "code" else text)
        for output in cell.get("outputs", ()):
            told = "".join(output["text"] if "text" in output else output["data"]["text/plain"]).rstrip()
            parts.append(f"```text\n{told}\n```")
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    with TemporaryDirectory() as elsewhere, chdir(elsewhere):
        made = notebook(SCRIPT.read_text("utf-8"))
    NOTEBOOK.write_text(json.dumps(made, ensure_ascii=False, indent=1) + "\n", "utf-8")
