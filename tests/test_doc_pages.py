"""Code in the documentation: every Python block of these pages runs, and its output is the one on the page.

Run as a script (`SOURCE_DATE_EPOCH=1794873600 python tests/test_doc_pages.py plans-that-last.md`), this file writes the
outputs into pages.
"""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import shown

pytest.importorskip("jax")
ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "docs" / "examples"
PAGES = (
    "problem-files.md",
    "causal-graph.md",
    "card.md",
    "program.md",
    "reading-a-program.md",
    "adding-a-planner.md",
    "adding-a-benchmark.md",
    "several-outcomes.md",
    "plans-that-last.md",
    "personal-plans.md",
    "audit.md",
    "relaxations.md",
    "scale.md",
)
FOLDERS = ("tutorials", "reference", "explanation")
"""Every page with Python in these is executed; test_how_to_pages.py has the guides."""
_BLOCK = re.compile(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", re.DOTALL)


def executed() -> list[str]:
    """Paths, relative to the repository, of the pages whose Python is run."""
    nested = (page for folder in FOLDERS for page in sorted((ROOT / "docs" / folder).glob("*.md")))
    found = [page.relative_to(ROOT).as_posix() for page in nested if _BLOCK.search(page.read_text("utf-8"))]
    return ["README.md", *(f"docs/{name}" for name in PAGES), *found]


@pytest.mark.parametrize("page", executed())
def test_pages_print_what_they_show(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(EXAMPLES, tmp_path / "docs" / "examples")
    monkeypatch.chdir(tmp_path)
    text = (ROOT / page).read_text("utf-8")
    blocks = _BLOCK.findall(text)
    assert blocks
    for (code, output), printed in zip(blocks, outputs(code for code, _ in blocks), strict=True):
        if output and not shown.same(printed, output, learned=".fit(" in text):
            assert printed.strip() == output.strip(), f"{page}: {code}"


def test_outputs_differ_by_rounding_errors_only_where_something_is_learned() -> None:
    line = "high  mean cost 20.0, held 0.85 by 7,423 queries"
    assert shown.same(f"{line}\n", line, learned=False)
    near = "high  mean cost  19.9, held 0.86 by 7,426 queries"
    assert shown.same(near, line, learned=True)
    assert not shown.same(near, line, learned=False)
    for other in (line.replace("20.0", "18.0"), line.replace("7,", "8,"), line.replace("high", "low"), f"{line} of 3"):
        assert not shown.same(other, line, learned=True)


def outputs(blocks: Iterator[str]) -> Iterator[str]:
    """What each block of code prints, run one after the other with the same names."""
    names: dict[str, Any] = {"__name__": "page"}
    for code in blocks:
        printed = StringIO()
        with redirect_stdout(printed):
            exec(code, names)
        yield printed.getvalue()


def write_outputs(path: Path) -> None:
    """Replace the outputs that a page shows by those of its code."""
    text = path.read_text("utf-8")
    found = list(_BLOCK.finditer(text))
    replaced = list(zip(found, outputs(match[1] for match in found), strict=True))
    for match, printed in reversed(replaced):
        if match[2] is not None:
            text = text[: match.start(2)] + printed.rstrip() + "\n" + text[match.end(2) :]
    path.write_text(text, "utf-8")


@pytest.fixture(scope="module")
def notebooks() -> ModuleType:
    """The module that generates the notebook."""
    spec = importlib.util.spec_from_file_location("make_notebook", EXAMPLES / "make_notebook.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_notebook_is_the_script(notebooks: ModuleType) -> None:
    made = json.loads(notebooks.NOTEBOOK.read_text("utf-8"))
    written = [(cell["cell_type"], "".join(cell["source"])) for cell in made["cells"]]
    assert written == list(notebooks.cells(notebooks.SCRIPT.read_text("utf-8"))), "run 'make notebook'"
    assert (made["nbformat"], made["nbformat_minor"]) == (4, 5)
    ids = [cell["id"] for cell in made["cells"]]
    assert len(set(ids)) == len(ids)
    assert all(("outputs" in cell) == (cell["cell_type"] == "code") for cell in made["cells"])


def test_the_notebook_runs(notebooks: ModuleType, tmp_path: Path) -> None:
    """The cells run, with a smaller fit. Their outputs may be of other versions, but are of the same kind."""
    smaller = f"import sys; sys.path.append({str(Path(__file__).parent)!r}); import quick\nfits = quick.quick_fits()\n"
    stored = [cell for cell in json.loads(notebooks.NOTEBOOK.read_text("utf-8"))["cells"] if "outputs" in cell]
    _, *printed = notebooks.run([f"{smaller}fits.__enter__()", *("".join(cell["source"]) for cell in stored)], tmp_path)
    assert [bool(text) for text in printed] == [bool(cell["outputs"]) for cell in stored]
    assert "5 features, 9 actions" in "".join(printed)
    assert {"flats.yaml", "flats.html", "plans.csv", "learned"} <= {
        path.name for path in (tmp_path / "flats").iterdir()
    }
    holding, share = (re.search(rule, "".join(printed)) for rule in (r"(\d+) plans hold", r"\(([\d.]+)% of all\)"))
    assert holding is not None
    assert share is not None
    assert int(holding[1]) > 100
    assert float(share[1]) > 80


def test_a_cell_that_fails_raises(notebooks: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        notebooks.run(["print(1)", "1 / 0"], tmp_path)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        write_outputs(ROOT / name if name == "README.md" else ROOT / "docs" / name)
