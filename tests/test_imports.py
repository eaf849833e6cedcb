"""Imports between the packages of counterplan follow the tables below, and so do the modules inside some of them.

Run as a script (`python tests/test_imports.py`), this file writes the tables into the docstrings of the packages and
into docs/architecture.md.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from textwrap import wrap

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "counterplan"
PAGE = ROOT / "docs" / "architecture.md"
MOST_LOOSE_MODULES = 5
FACADE = "counterplan"
"""The package's own `__init__`."""

_WORLD = {"errors", "bounded_json", "drawing", "problem"}
_METERED = {*_WORLD, "blackbox", "storage", "search"}
_PLANNING = {*_METERED, "models", "parallel", "plans", "personal", "surrogate", "survival", "agent"} | {
    "plotting",
    "program",
    "scorecard",
}
_ALL = {*_PLANNING, "planners", "plugins", "distillation", "explanation", "figures"}

ALLOWED: dict[str, set[str]] = {
    "errors": set(),
    "bounded_json": {"errors"},
    "drawing": {"errors"},
    "plotting": {"errors"},
    "problem": {"errors", "drawing"},
    "causal": {*_WORLD},
    "models": {*_WORLD},
    "blackbox": {*_WORLD, "models"},
    "storage": {*_WORLD, "models", "blackbox"},
    "parallel": {*_WORLD, "models", "blackbox"},
    "search": {*_WORLD},
    "plans": {*_METERED, "plotting"},
    "personal": {*_METERED, "plans"},
    "surrogate": {*_METERED, "parallel", "plans", "personal"},
    "survival": {*_METERED, "models", "parallel", "plans", "surrogate"},
    "agent": {*_METERED, "parallel"},
    "program": {*_WORLD, "blackbox", "storage", "search", "plans"},
    "scorecard": {*_WORLD, "storage", "search", "plans", "program"},
    "plugins": {"errors", "models"},
    "planners": {*_PLANNING, "plugins"},
    "distillation": {*_PLANNING, "planners"},
    "explanation": {*_METERED, "plans", "surrogate", "survival", "program"},
    "figures": {*_WORLD, "plotting", "storage", "surrogate", "agent"},
    "audit": {*_METERED, "plotting", "models", "plans", "survival", "planners"},
    "recourse": {*_ALL},
    "benchmarks": {*_METERED, "models", "plans", "planners", "plugins"},
    "inputs": {*_ALL, "recourse", "benchmarks"},
    "batch": {*_ALL, "audit", "recourse", "benchmarks", "inputs"},
    "counterplan": {*_ALL, "audit", "recourse", "benchmarks", "inputs", "batch"},
    "experiments": {*_ALL, "audit", "recourse", "benchmarks", "inputs", "batch", "counterplan"},
    "cli": {*_ALL, "audit", "causal", "recourse", "benchmarks", "inputs", "batch", "counterplan", "experiments"},
    "__main__": {"cli"},
}
"""The packages and modules that each package or module may import, from the bottom up.

`program` imports nothing that learns or plans, and the black box only on use, in `program.verification`: a program
runs without a model.
"""

INSIDE: dict[str, dict[str, set[str]]] = {
    "blackbox": {
        "answers": set(),
        "query_budget": set(),
        "call_timer": set(),
        "session": {"answers", "query_budget"},
        "metered_oracle": {"query_budget", "session"},
        "blackbox": {"answers", "call_timer", "session"},
    },
    "problem": {
        "values": set(),
        "limits": set(),
        "scalars": set(),
        "conditions": {"limits", "values"},
        "source": {"limits", "values"},
        "schema": {"limits", "scalars", "values"},
        "binding": {"conditions", "values"},
        "yaml_reader": {"limits", "scalars", "source"},
        "parts": {"binding", "values"},
        "checker": {"binding", "conditions", "limits", "parts", "scalars", "schema", "source", "values"},
        "targets": {"parts", "values"},
        "transitions": {"parts"},
        "outcomes": {"parts", "transitions", "values"},
        "causal_graph": {"binding", "checker", "limits", "parts", "schema", "source", "values"},
        "encoding": {"parts", "transitions"},
        "dtypes": {"values"},
        "intake": set(),
        "frames": {"dtypes", "intake", "parts", "scalars", "transitions", "values"},
        "description": {"parts", "transitions", "values"},
        "graph_svg": {"description", "parts", "transitions", "values"},
        "html": {"description", "parts", "values"},
        "builder": {"binding", "causal_graph", "limits", "parts", "scalars", "schema", "source", "values"},
        "parquet_people": {"frames", "transitions"},
        "natives": {"dtypes", "frames", "parts", "values"},
        "tables": {"dtypes", "natives", "parts", "values"},
        "problem": {
            "builder",
            "description",
            "dtypes",
            "encoding",
            "frames",
            "graph_svg",
            "html",
            "intake",
            "parts",
            "source",
            "targets",
            "transitions",
            "values",
            "yaml_reader",
        },
        "column_words": set(),
        "draft_text": {"conditions", "scalars", "values"},
        "draft_features": {"column_words", "draft_text", "encoding", "frames", "transitions", "values"},
        "value_order": {"column_words", "draft_text"},
        "association": {"transitions"},
        "proposal": {
            "association",
            "column_words",
            "draft_features",
            "draft_text",
            "encoding",
            "transitions",
            "values",
        },
        "histories": {"frames", "problem", "tables", "transitions", "values"},
        "draft": {
            "column_words",
            "draft_features",
            "draft_text",
            "frames",
            "histories",
            "limits",
            "parts",
            "problem",
            "proposal",
            "tables",
            "transitions",
            "value_order",
            "values",
        },
        "lint": {
            "builder",
            "conditions",
            "dtypes",
            "parts",
            "problem",
            "source",
            "transitions",
            "values",
            "yaml_reader",
        },
    },
    "causal": {
        "columns": set(),
        "settings": set(),
        "code_length": {"columns"},
        "trees": {"code_length", "columns"},
        "logits": {"columns"},
        "smooth": {"code_length", "columns", "logits"},
        "independence": {"columns", "trees"},
        "skeleton": {"columns", "independence"},
        "orientation": {"columns", "smooth", "trees"},
        "wording": {"independence", "orientation"},
        "doubts": {"columns", "independence", "orientation", "settings", "skeleton", "wording"},
    },
    "program": {
        "artefact_file": set(),
        "model_card": set(),
        "parts": set(),
        "export.expressions": set(),
        "export.formats": set(),
        "export.runtime": set(),
        "export.program_runtime": {"export.runtime"},
        "domains": {"parts"},
        "interpreter": {"parts"},
        "wording": {"parts"},
        "simplify": {"domains", "parts"},
        "condition": {"domains", "wording"},
        "rules": {"condition", "domains", "parts", "wording"},
        "text": {"condition", "domains", "parts", "simplify", "wording"},
        "protocol": {"model_card", "interpreter", "parts", "rules"},
        "model_card_text": {"model_card", "text"},
        "cautions": {"interpreter", "parts", "protocol", "wording"},
        "export.drawing": {"parts", "protocol"},
        "export.reasons": {"cautions", "parts", "protocol"},
        "io": {"artefact_file", "model_card", "parts", "protocol"},
        "rule_lengths": {"interpreter", "protocol"},
        "verification": {"model_card", "protocol"},
        "export.resolved": {"cautions", "export.expressions", "parts", "protocol"},
        "recommendation": {"cautions", "interpreter", "protocol"},
        "export.model_card_summary": {
            "model_card_text",
            "cautions",
            "export.drawing",
            "export.resolved",
            "parts",
            "protocol",
        },
        "export.dot": {"cautions", "export.drawing", "export.resolved", "parts", "protocol"},
        "export.svg": {"cautions", "export.drawing", "export.resolved", "parts", "protocol"},
        "export.trace": {"export.resolved", "export.svg", "protocol", "recommendation", "rules"},
        "export.world_source": {"export.expressions", "export.resolved"},
        "export.python": {
            "cautions",
            "export.model_card_summary",
            "export.expressions",
            "export.reasons",
            "export.resolved",
            "export.world_source",
            "parts",
            "protocol",
        },
        "export.display": {"export.model_card_summary", "export.resolved", "export.svg", "protocol"},
        "export.form": {"export.resolved", "protocol"},
        "export.document": {"export.form", "export.resolved"},
        "export.html": {
            "export.document",
            "export.form",
            "export.model_card_summary",
            "export.drawing",
            "export.reasons",
            "export.resolved",
            "export.svg",
            "parts",
            "protocol",
            "text",
        },
        "program": {
            "model_card",
            "export.display",
            "interpreter",
            "io",
            "parts",
            "recommendation",
            "rules",
            "simplify",
            "text",
            "verification",
        },
        "export": {
            "export.dot",
            "export.formats",
            "export.html",
            "export.python",
            "export.svg",
            "export.trace",
            "io",
            "protocol",
        },
    },
    "scorecard": {
        "parts": set(),
        "export.bound": set(),
        "export.solver": {"export.bound"},
        "protocol": {"parts"},
        "wording": {"parts", "protocol"},
        "io": {"parts", "protocol"},
        "text": {"parts", "protocol", "wording"},
        "export.html": {"protocol", "wording"},
        "export.python": {"parts", "protocol", "wording"},
        "export.svg": {"parts", "protocol", "wording"},
        "export.display": {"export.svg", "protocol", "wording"},
        "export": {"export.html", "export.python", "export.svg", "io", "protocol"},
        "scorecard": {"export", "export.display", "io", "parts", "protocol", "text"},
        "reasons": {"scorecard"},
    },
    "distillation": {
        "base": set(),
        "candidate_tests": set(),
        "demonstrations": set(),
        "form": set(),
        "imitation": {"candidate_tests"},
        "traces": set(),
        "trial": set(),
        "visits": set(),
        "leaf_choices": set(),
        "prediction_cache": set(),
        "choice_space": {"candidate_tests"},
        "evaluation": {"prediction_cache", "visits"},
        "tree_grower": {"candidate_tests", "leaf_choices"},
        "fallbacks": {"choice_space", "evaluation", "visits"},
        "policy_search": {
            "candidate_tests",
            "choice_space",
            "demonstrations",
            "evaluation",
            "fallbacks",
            "leaf_choices",
            "prediction_cache",
            "tree_grower",
            "visits",
        },
        "options": {"policy_search"},
        "scorecard_bins": set(),
        "scorecard_ends": {"demonstrations"},
        "scorecard_fitting": {"scorecard_bins"},
        "scorecard_distiller": {
            "base",
            "demonstrations",
            "form",
            "options",
            "scorecard_ends",
            "scorecard_fitting",
            "trial",
        },
        "distiller": {"base", "demonstrations", "form", "imitation", "options", "policy_search", "traces", "trial"},
    },
}
"""The same between the modules of a package. Its `__init__` may import all of them, and none of them imports it."""

LAZY: dict[str, set[str]] = {
    "batch": {"batch"},
    "cli": {"batch", "causal", "cli", "counterplan", "experiments", "problem", "program", "scorecard", "surrogate"},
    "experiments": {"planners"},
    "planners": {"planners"},
    "plans": {"blackbox"},
    "program": {"blackbox", "program"},
    "recourse": {"agent", "distillation", "explanation", "recourse", "surrogate", "survival"},
    "scorecard": {"scorecard"},
    "survival": {"surrogate"},
}
"""Imports inside functions, each for a quick start or an optional extra. They count as imports like any other."""

TYPING_ONLY: set[tuple[str, str]] = {("blackbox.session", "blackbox.blackbox")}
"""Pairs of modules of which the first imports the second for annotations alone, against the tables."""


@dataclass(frozen=True)
class Import:
    """One import of a module of counterplan by another. Both names are without "counterplan."."""

    importer: str
    imported: str
    line: int
    kind: str
    """"module", "function" or "typing"."""

    @property
    def pair(self) -> tuple[str, str]:
        return self.importer, self.imported

    def __str__(self) -> str:
        return f"{self.importer} imports {self.imported} (line {self.line})"


def module_name(path: Path) -> str:
    """The name of a file's module, without "counterplan."; the facade is "counterplan"."""
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix("__init__").removesuffix(".") or FACADE


@cache
def sources() -> dict[str, ast.Module]:
    return {module_name(path): ast.parse(path.read_text("utf-8")) for path in sorted(SOURCE.rglob("*.py"))}


def package_of(module: str) -> str:
    """The unit of `ALLOWED` that a module belongs to: the longest name that it begins with."""
    parts = module.split(".")
    names = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
    return next((name for name in names if name in ALLOWED), parts[0])


def imports_in(module: str, tree: ast.Module, known: Iterable[str]) -> Iterator[Import]:
    """Every import of counterplan in a file; `known` are the modules, which tells them from the names in them."""

    def targets(node: ast.AST) -> Iterator[str]:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: line {node.lineno}: import by the full name, not a relative one"
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield full if full.removeprefix("counterplan.") in known else str(node.module)
        elif isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in (
            "import_module",
            "__import__",
        ):
            yield from (
                part.value for part in ast.walk(node) if isinstance(part, ast.Constant) and isinstance(part.value, str)
            )

    waiting: list[tuple[ast.AST, str]] = [(tree, "module")]
    while waiting:
        node, kind = waiting.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            kind = "function"
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            kind = "typing"
        for name in targets(node):
            if name.split(".")[0] == "counterplan" and (module, name) != (FACADE, "counterplan."):
                yield Import(module, name.removeprefix("counterplan.").rstrip("."), getattr(node, "lineno", 0), kind)
        waiting += [(child, kind) for child in ast.iter_child_nodes(node)]


@cache
def imports() -> tuple[Import, ...]:
    return tuple(one for module, tree in sources().items() for one in imports_in(module, tree, sources()))


def disallowed(found: Iterable[Import]) -> list[str]:
    """The imports that the tables do not allow."""
    wrong = []
    for one in found:
        here, there = package_of(one.importer), package_of(one.imported)
        if one.kind == "typing" and one.pair in TYPING_ONLY:
            continue
        if here != there:
            wrong += [] if there in ALLOWED.get(here, ()) else [str(one)]
        elif here in INSIDE and one.importer != here:
            first, second = (name.removeprefix(f"{here}.") for name in one.pair)
            wrong += [] if second in INSIDE[here].get(first, ()) else [str(one)]
    return wrong


def dodging(found: Iterable[Import]) -> list[str]:
    """The imports inside functions that are not listed as lazy."""
    return [
        str(one)
        for one in found
        if one.kind == "function"
        and one.importer != FACADE
        and package_of(one.imported) not in LAZY.get(package_of(one.importer), ())
    ]


def cycle_in(table: Mapping[str, set[str]]) -> list[str]:
    """A cycle of a table, or nothing."""
    try:
        TopologicalSorter(table).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def listed(package: str) -> str:
    """The packages that a package may import, in the order of the table."""
    allowed = [name for name in ALLOWED if name in ALLOWED[package]]
    others = [name for name in ALLOWED if name not in {*allowed, package, "__main__"}]
    if len(others) < len(allowed):
        return f"everything but {', '.join(others)}" if others else "everything"
    return ", ".join(allowed) or "nothing"


def packages() -> list[str]:
    return [path.parent.name for path in sorted(SOURCE.glob("*/__init__.py"))]


def test_every_import_is_allowed() -> None:
    assert disallowed(imports()) == []


def test_imports_inside_functions_are_lazy_ones() -> None:
    assert dodging(imports()) == []


@pytest.mark.parametrize("table", [ALLOWED, *INSIDE.values()], ids=["between packages", *INSIDE])
def test_tables_have_no_cycle(table: dict[str, set[str]]) -> None:
    assert cycle_in(table) == []
    assert set().union(*table.values()) <= set(table)
    order = list(table)
    assert all(order.index(name) < order.index(key) for key in table for name in table[key]), (
        "sorted from the bottom up"
    )


def test_tables_name_what_exists() -> None:
    modules = {name for name in sources() if name not in ("", FACADE)}
    assert {package_of(name) for name in modules} <= set(ALLOWED)
    for package, table in INSIDE.items():
        inside = {name.removeprefix(f"{package}.") for name in modules if name.startswith(f"{package}.")}
        assert set(table) == inside, package


def test_the_top_level_has_few_loose_modules() -> None:
    loose = {path.stem for path in SOURCE.glob("*.py")} - {"__init__", "__main__"}
    assert len(loose) <= MOST_LOOSE_MODULES, sorted(loose)


def test_one_class_name_is_one_thing() -> None:
    places: dict[str, list[str]] = {}
    for module, tree in sources().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(module)
    assert {name: modules for name, modules in places.items() if len(modules) > 1} == {}


def test_the_architecture_page_has_the_table() -> None:
    assert PAGE.read_text("utf-8") == page_with_table(PAGE.read_text("utf-8")), "run 'python tests/test_imports.py'"


@pytest.mark.parametrize("package", packages())
def test_packages_say_what_they_may_import(package: str) -> None:
    docstring = ast.get_docstring(sources()[package]) or ""
    _, _, line = docstring.rpartition("\n\n")
    assert " ".join(line.split()) == f"May import: {listed(package)}.", "run 'python tests/test_imports.py'"


EXAMPLE = """
from typing import TYPE_CHECKING
import counterplan.agent.network
from counterplan import planners
from counterplan.problem import Problem
if TYPE_CHECKING:
    from counterplan.blackbox import BlackBox
class Some:
    def method(self):
        from counterplan.errors import PlanError
        import_module("counterplan.models")
"""


def test_imports_of_every_form_are_found() -> None:
    known = {"agent.network", "planners", "problem", "blackbox", "errors", "models"}
    found = {(one.imported, one.kind) for one in imports_in("program.io", ast.parse(EXAMPLE), known)}
    assert found == {
        ("agent.network", "module"),
        ("planners", "module"),
        ("problem", "module"),
        ("blackbox", "typing"),
        ("errors", "function"),
        ("models", "function"),
    }


@pytest.mark.parametrize(
    ("importer", "imported", "kind", "wrong"),
    [
        ("program.io", "agent.network", "module", True),
        ("program.io", "agent.network", "function", True),
        ("program.io", "agent.network", "typing", True),
        ("program.io", "program.parts", "module", False),
        ("program.io", "program.text", "module", True),
        ("program.io", "program", "module", True),
        ("program", "program.text", "module", False),
        ("storage.files", "surrogate.trees", "module", True),
        ("surrogate.trees", "surrogate.networks", "module", False),
        ("unheard_of", "errors", "module", True),
    ],
)
def test_imports_against_the_tables_are_told(importer: str, imported: str, kind: str, wrong: bool) -> None:
    assert bool(disallowed([Import(importer, imported, 1, kind)])) == wrong


def test_lazy_imports_are_told() -> None:
    assert dodging([Import("planners.guided", "surrogate.surrogate", 1, "function")])
    assert not dodging([Import("planners.guided", "surrogate.surrogate", 1, "module")])


def test_cycles_are_found() -> None:
    assert cycle_in({"a": {"b"}, "b": {"c"}, "c": {"a"}})
    assert not cycle_in({"a": {"b", "c"}, "b": {"c"}, "c": set()})


_ROW = re.compile(r"^\| `(?P<name>[\w.]+)/?` \| (?P<purpose>.*?) \|[^|]*\|$", re.MULTILINE)


def page_with_table(page: str) -> str:
    """The architecture page with a row for each package, in order; the purpose of each is taken from the page."""
    purposes = {match["name"]: match["purpose"] for match in _ROW.finditer(page)}
    folders = set(packages())
    rows = [
        f"| `{name}{'/' if name in folders else ''}` | {purposes.get(name, '')} | {listed(name)} |"
        for name in ALLOWED
        if name != "__main__"
    ]
    head, _, rest = page.partition("| package | purpose | may import |\n|---|---|---|\n")
    _, _, tail = rest.partition("\n\n")
    return f"{head}| package | purpose | may import |\n|---|---|---|\n" + "\n".join(rows) + f"\n\n{tail}"


def _with_line(source: str, package: str) -> str:
    """A package's `__init__` with the last paragraph of its docstring as the table has it."""
    docstring = ast.parse(source).body[0]
    assert isinstance(docstring, ast.Expr)
    lines = source.splitlines()
    text = "\n".join(lines[: docstring.end_lineno]).rstrip().removesuffix('"""').rstrip()
    text = re.sub(r"\n\nMay import: [^\n]*(\n[^\n]+)*$", "", text)
    rest = "\n".join(lines[docstring.end_lineno :])
    line = "\n".join(wrap(f"May import: {listed(package)}.", 120))
    return f'{text}\n\n{line}\n"""\n{rest}'.rstrip() + "\n"


if __name__ == "__main__":
    PAGE.write_text(page_with_table(PAGE.read_text("utf-8")), "utf-8")
    for name in packages():
        path = SOURCE / name / "__init__.py"
        path.write_text(_with_line(path.read_text("utf-8"), name), "utf-8")
