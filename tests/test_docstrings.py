"""The docstrings of public names: summary, parameters, returns and examples that run."""

from __future__ import annotations

import dataclasses
import doctest
import enum
import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import counterplan

MODULES = {
    "counterplan": [name for name in counterplan.__all__ if not inspect.ismodule(getattr(counterplan, name))],
    "counterplan.audit.relaxations": ["find_relaxations"],
    "counterplan.batch": ["BatchAudit", "BatchResult", "audit", "recommend", "sample"],
    "counterplan.benchmarks": ["Benchmark", "load", "load_problem", "retrained"],
    "counterplan.causal": ["Doubt", "GraphReport", "GraphSettings", "question_graph"],
    "counterplan.models": ["HttpModel", "Model", "OnnxModel", "adapt", "dtypes_of"],
    "counterplan.planners": ["PlanningTask"],
    "counterplan.problem.draft": ["draft", "draft_from"],
    "counterplan.problem.histories": ["LearnedCosts", "learn_costs", "read_histories"],
}
METHODS = {
    "Audit": ["run"],
    "AuditResult": ["add_section", "to_html", "to_dict", "save"],
    "BlackBox": [
        "favourable",
        "fingerprint",
        "is_model",
        "wrap",
        "cached_answers",
        "add_to_cache",
        "clear_cache",
        "temporary_cache",
        "recording",
        "observing",
    ],
    "Elicitation": ["question", "answer", "cannot", "can", "undo", "plan", "save", "load"],
    "EvolutionSettings": ["preset"],
    "LabelledStates": ["from_cache", "add_to_cache", "save", "load"],
    "People": ["take", "frame"],
    "Plan": ["replay"],
    "Planner": ["plan"],
    "Plans": [
        "join",
        "count",
        "survival",
        "take",
        "to_frame",
        "to_arrow",
        "to_csv",
        "to_json",
        "from_json",
        "load",
        "to_html",
        "to_text",
        "save",
    ],
    "Problem": [
        "load",
        "from_yaml",
        "from_dict",
        "to_dict",
        "with_target",
        "read",
        "read_valid",
        "state",
        "states",
        "describe",
        "description",
        "to_text",
        "to_svg",
        "allowed",
    ],
    "Program": ["load", "save", "recommend", "verify", "rule", "tests_protected", "simplified", "to_text", "run"],
    "Recourse": [
        "fit",
        "fit_into",
        "recommend",
        "planner",
        "target_planner",
        "for_target",
        "distil",
        "explain",
        "save",
        "load",
        "resuming",
        "save_answers",
        "save_program",
        "save_card",
        "recording_answers",
    ],
    "Scorecard": ["load", "save", "export", "to_text", "points", "parts", "required", "acceptable", "logit"],
    "Surrogate": ["logit", "for_target", "with_problem"],
    "SurvivalReport": ["to_frame", "to_csv", "to_json", "save"],
    "TrainingSettings": ["preset"],
    "Workspace": ["path", "holds", "load_problem", "load_answers", "load_metrics", "remove_checkpoints"],
}
"""The methods of public classes that users call."""
PACKAGES = {
    "batch": ["pyarrow"],
    "causal": ["causallearn"],
    "models.OnnxModel": ["onnxruntime", "skl2onnx"],
    "models.dtypes_of": ["lightgbm"],
    "counterplan.EvolutionPlanner": ["pymoo"],
    "counterplan.Plans.to_arrow": ["pyarrow"],
    "counterplan.Recourse": ["jax", "optax"],
    "counterplan.Surrogate": ["jax", "optax"],
    "counterplan.Workspace.load_metrics": ["jax", "optax"],
}
"""Optional packages that examples need, by the beginning of a name."""
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
SECTION = re.compile(r"^([A-Z][A-Za-z ]+)\n-+$", re.MULTILINE)


def _public() -> Iterator[tuple[str, Any]]:
    """The qualified name and the object of everything under test."""
    for module, names in MODULES.items():
        for name in names:
            value = getattr(import_module(module), name)
            yield f"{module.removeprefix('counterplan').removeprefix('.') or 'counterplan'}.{name}", value
            for method in METHODS.get(name, ()) if module == "counterplan" else ():
                yield f"counterplan.{name}.{method}", getattr(value, method)


PUBLIC = dict(_public())


def _sections(thing: Any) -> dict[str, str]:
    """The sections of a numpydoc docstring by heading; the summary and what follows it have the empty heading."""
    own = vars(thing).get("__doc__") if inspect.isclass(thing) else thing.__doc__
    assert own, "no docstring"
    parts = SECTION.split(inspect.cleandoc(own))
    return {"": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}


def _entries(section: str) -> list[str]:
    """The names a section describes, in order; `a, b : int` describes two."""
    heads = [line.partition(" : ")[0] for line in section.splitlines() if line and not line.startswith(" ")]
    return [name.strip().lstrip("*") for head in heads for name in head.split(",")]


def _parameters(thing: Any) -> list[str] | None:
    """The names of a signature, in order, or None where it is not its own: enumerations, protocols, most errors."""
    if inspect.isclass(thing) and issubclass(thing, enum.Enum):
        return None
    if inspect.isclass(thing) and issubclass(thing, Exception) and "__init__" not in vars(thing):
        return None
    if getattr(thing, "_is_protocol", False):
        return None
    return [name for name in inspect.signature(thing).parameters if name != "self"]


def _returns(thing: Any) -> bool:
    """Whether a function returns something that it has to describe; context managers of nothing do not."""
    annotation = getattr(thing, "__annotations__", {}).get("return")
    return not inspect.isclass(thing) and annotation not in ("None", "Iterator[None]", None)


def _tests(name: str, thing: Any) -> list[doctest.DocTest]:
    found = doctest.DocTestFinder(recurse=False).find(thing, name, globs={"__name__": "__main__"})
    return [test for test in found if test.examples]


@pytest.mark.parametrize("name", PUBLIC)
def test_the_summary_is_one_line(name: str) -> None:
    first, _, rest = _sections(PUBLIC[name])[""].partition("\n")
    assert first.endswith("."), f"the summary is not one sentence on one line: {first}"
    assert not rest or rest.startswith("\n"), f"no empty line follows the summary: {first}"


@pytest.mark.parametrize("name", PUBLIC)
def test_parameters_are_those_of_the_signature(name: str) -> None:
    thing = PUBLIC[name]
    expected = _parameters(thing)
    if expected:
        sections = _sections(thing)
        fields = dataclasses.is_dataclass(thing) or (inspect.isclass(thing) and issubclass(thing, Exception))
        heading = "Attributes" if fields and "Parameters" not in sections else "Parameters"
        described = _entries(sections.get(heading, ""))
        if heading == "Attributes":
            described = described[: len(expected)]  # properties follow the fields
        assert described == expected


@pytest.mark.parametrize("name", PUBLIC)
def test_results_are_described(name: str) -> None:
    if _returns(PUBLIC[name]):
        sections = _sections(PUBLIC[name])
        assert sections.get("Returns", sections.get("Yields")), "neither Returns nor Yields"


@pytest.mark.parametrize("name", PUBLIC)
def test_examples_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for package in (one for start, needed in PACKAGES.items() if name.startswith(start) for one in needed):
        pytest.importorskip(package)
    assert ">>>" in _sections(PUBLIC[name]).get("Examples", ""), "no Examples"
    output: list[str] = []
    for test in _tests(name, PUBLIC[name]):
        assert not any(example.options.get(doctest.SKIP) for example in test.examples), "an example is skipped"
        doctest.DocTestRunner(optionflags=OPTIONS).run(test, out=output.append)
    assert not output, "".join(output)


def test_all_public_names_are_tested() -> None:
    for module in ("counterplan.batch", "counterplan.benchmarks", "counterplan.causal"):
        values = {name: getattr(import_module(module), name) for name in import_module(module).__all__}
        assert {name for name, value in values.items() if callable(value)} == set(MODULES[module])
