"""Problems beyond a limit are refused with the limit and the location, in bounded time and memory."""

import json
import resource
import time
from pathlib import Path
from typing import Any

import pytest

from counterplan.errors import ConditionError, ProblemError
from counterplan.problem import Problem, check, limits
from counterplan.problem.conditions import parse
from counterplan.problem.draft import draft_from
from counterplan.problem.source import Source
from counterplan.problem.yaml_reader import parse_yaml


def loan(features: int = 1, values: int = 2, functions: int = 1, arguments: int = 1, causes: int = 0) -> dict[str, Any]:
    numbers = {f"n{i}": {"kind": "number", "bins": [0]} for i in range(features)}
    return {
        "counterplan": 1,
        "name": "loan",
        "outcome": {"column": "loan", "values": ["no", "yes"], "favourable": "yes"},
        "max_actions": 2,
        "features": numbers | {"job": {"kind": "category", "values": [f"v{i}" for i in range(values)]}},
        "functions": {
            f"F{i}": {"add": "n0", "arguments": list(range(1, arguments + 1)), "cost": 1} for i in range(functions)
        },
        "causes": [{"from": "n0", "to": f"n{i + 1}", "formula": "n0 + 1"} for i in range(causes)],
    }


def errors_of(data: dict[str, Any], path: Path | None) -> list[str]:
    """The errors in `data`, as JSON data or, with a path, written to a file (JSON is YAML)."""
    text = json.dumps(data)
    if path is not None:
        path.write_text(text)
    with pytest.raises(ProblemError) as caught:
        Problem.from_dict(json.loads(text)) if path is None else Problem.load(path)
    return str(caught.value).split("\n")


@pytest.mark.parametrize("as_file", [False, True])
@pytest.mark.parametrize(
    ("limit", "most", "fine", "beyond", "message"),
    [
        ("MAX_FEATURES", 5, {"features": 4}, {"features": 5}, "features: there are 6 features; a problem has at "),
        ("MAX_VALUES", 5, {"values": 5}, {"values": 6}, "features.job.values: there are 6 values of a category; "),
        ("MAX_FUNCTIONS", 5, {"functions": 5}, {"functions": 6}, "functions: there are 6 functions; "),
        ("MAX_ACTIONS", 6, {"functions": 2, "arguments": 3}, {"functions": 3, "arguments": 3},
         "functions.F2.arguments: there are 9 arguments up to here; a problem has at most 6"),
        ("MAX_CAUSES", 3, {"features": 4, "causes": 3}, {"features": 6, "causes": 4}, "causes: there are 4 causes; "),
    ],
)  # fmt: skip
def test_counts_are_limited(monkeypatch, tmp_path, limit, most, fine, beyond, message, as_file):
    path = tmp_path / "loan.yaml" if as_file else None
    monkeypatch.setattr(limits, limit, most)
    Problem.from_dict(loan(**fine))
    (error,) = errors_of(loan(**beyond), path)
    assert message in error
    if path is not None:
        assert error.startswith(f"{path}:1: ")


def test_arguments_written_as_all_count(monkeypatch):
    data = loan(values=9)
    data["functions"]["JOB"] = {"set": "job", "arguments": "all", "cost": 1}
    monkeypatch.setattr(limits, "MAX_ACTIONS", 9)
    (error,) = errors_of(data, None)
    assert error == "problem: functions.JOB.arguments: there are 10 arguments up to here; a problem has at most 9"


def test_values_of_the_outcome_are_limited(monkeypatch):
    monkeypatch.setattr(limits, "MAX_VALUES", 2)
    data = loan()
    data["outcome"]["values"] = ["no", "yes", "perhaps"]
    assert "outcome.values: there are 3 values of the outcome; a problem has at most 2" in errors_of(data, None)[0]


@pytest.mark.parametrize("as_file", [False, True])
def test_nodes_are_limited(monkeypatch, tmp_path, as_file):
    monkeypatch.setattr(limits, "MAX_NODES", 100)
    (error,) = errors_of(loan(arguments=90), tmp_path / "loan.yaml" if as_file else None)
    assert "a problem has at most 100 keys and values in all" in error
    Problem.from_dict(loan(arguments=20))


@pytest.mark.parametrize("as_file", [False, True])
def test_nesting_is_limited(tmp_path, as_file):
    data = loan()
    for _ in range(limits.MAX_DEPTH + 5):
        data["features"] = {"x": data["features"]}
    (error,) = errors_of(data, tmp_path / "loan.yaml" if as_file else None)
    assert f"nested too deeply: at most {limits.MAX_DEPTH} lists and mappings" in error


def test_data_that_contain_themselves_are_refused():
    data = loan()
    data["features"]["self"] = data
    with pytest.raises(ProblemError, match="nested too deeply"):
        Problem.from_dict(data)


def test_texts_in_data_are_limited(monkeypatch):
    monkeypatch.setattr(limits, "MAX_FILE_BYTES", 1_000)
    data = loan()
    data["title"] = "x" * 1_001
    (error,) = errors_of(data, None)
    assert "the texts of a problem have at most 1,000 characters in all" in error


def test_whole_numbers_of_many_digits_are_refused():
    data = loan()
    data["functions"]["F0"]["arguments"] = [10**5000]
    with pytest.raises(ProblemError, match=r"functions.F0.arguments\[0\]: a whole number has at most 1,000 digits"):
        Problem.from_dict(data)


def test_conditions_are_limited_in_length(monkeypatch):
    monkeypatch.setattr(limits, "MAX_CONDITION_LENGTH", 20)
    parse("n0 < 10 and n0 > 1  ")
    with pytest.raises(ConditionError, match="at most 20 characters, and this has 21"):
        parse("n0 < 10 and n0 > 1   ")
    data = loan()
    data["functions"]["F0"]["when"] = "n0 > 1 and n0 < 100000"
    assert errors_of(data, None)[0].startswith("problem: functions.F0.when: a condition or formula has at most 20 ")


def test_conditions_are_limited_together(monkeypatch):
    monkeypatch.setattr(limits, "MAX_CONDITIONS_LENGTH", 20)
    data = loan(functions=4)
    for function in data["functions"].values():
        function["when"] = "n0 < 1000"
    (error,) = errors_of(data, None)
    assert (
        error
        == "problem: functions.F2.when: the conditions and formulas of a problem have at most 20 characters in all"
    )


def test_only_so_many_mistakes_are_listed(monkeypatch, tmp_path):
    monkeypatch.setattr(limits, "MAX_FINDINGS", 10)
    data = loan(functions=30)
    for function in data["functions"].values():
        function["add"] = "n1"
    for path in (None, tmp_path / "loan.yaml"):
        messages = errors_of(data, path)
        assert len(messages) == 11
        assert messages[-1].endswith("there are more than 10 mistakes; the rest are not listed")
    assert len(check(tmp_path / "loan.yaml")[1]) == 11


def test_reading_stops_at_the_limit_rather_than_after_it(monkeypatch):
    monkeypatch.setattr(limits, "MAX_NODES", 1_000)
    monkeypatch.setattr(limits, "MAX_LINES", 2_000_000)
    source = Source("list.yaml")
    start = time.process_time()
    parse_yaml("- 1\n" * 1_000_000, source)  # composing all of it takes 25 seconds and more than a gigabyte
    assert time.process_time() - start < 5
    assert [finding.line for finding in source.findings] == [1_000]
    assert source.data is None


def test_the_largest_problem_is_checked_in_bounded_memory(monkeypatch, tmp_path):
    monkeypatch.setattr("counterplan.problem.lint.MAX_OPERATIONS", 100_000_000)
    path = tmp_path / "large.yaml"
    data = loan(arguments=limits.MAX_ACTIONS)
    data["functions"]["F0"]["when"] = "n0 + argument < 100000"
    path.write_text(json.dumps(data))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    problem, findings = check(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000, "kilobytes"
    assert problem is not None
    assert all(finding.severity == "warning" for finding in findings)


def test_many_consequences_are_not_evaluated_for_every_action(monkeypatch, tmp_path):
    monkeypatch.setattr("counterplan.problem.lint.MAX_CALLS", 20)
    path = tmp_path / "loan.yaml"
    path.write_text(json.dumps(loan(features=4, arguments=10, causes=3)))
    _, findings = check(path)
    message = "there are too many actions with consequences to check which can never be legal"
    assert [finding.message for finding in findings] == [message]


def test_a_warning_from_a_sample_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr("counterplan.problem.lint.MAX_STATES", 100)
    path = tmp_path / "loan.yaml"
    data = loan(features=3)
    data["functions"]["F0"]["when"] = "n0 > 5 and n1 > 5 and n2 > 5 and n0 < 3"
    path.write_text(json.dumps(data))
    _, (finding,) = check(path)
    assert finding.message == "is legal in none of 100 sampled states"


def test_a_draft_obeys_the_limits(monkeypatch, tmp_path):
    monkeypatch.setattr(limits, "MAX_FEATURES", 3)
    table, path = tmp_path / "people.csv", tmp_path / "people.yaml"
    table.write_text("a,b,c,d,e,loan\n1,2,3,4,5,yes\n2,3,4,5,6,no\n3,4,5,6,7,no\n")
    path.write_text(draft_from(table, "loan"))
    assert "#   d: a problem has at most 3 features" in path.read_text()
    assert len(Problem.load(path).features) == 3


def test_the_limits_are_documented():
    text = (Path(__file__).parents[2] / "docs" / "problem-files.md").read_text(encoding="utf-8")
    section = text.split("## Limits", 1)[1].split("\n## ", 1)[0]
    for name, value in vars(limits).items():
        if name.startswith("MAX_"):
            assert f"{value:,}" in section, name


LONG_TEXTS = {
    "comments": ("# x\n" * 600_000, 200_001, "has at most 200,000 lines, and this one has 600,002"),
    "plain": ("x: " + "x" * 4_900_000, 1, "a text has at most 200,000 characters"),
    "plain lines": ("a:\n" + ("  " + "x " * 20 + "\n") * 100_000, 2, "a text has at most"),
    "quoted lines": ('a: "' + ("x " * 20 + "\n") * 100_000 + '"', 1, "a text has at most"),
    "block": ("a: |\n" + ("  " + "x " * 20 + "\n") * 100_000, 1, "a text has at most"),
}


@pytest.mark.parametrize("name", LONG_TEXTS)
def test_long_files_are_refused_before_they_are_parsed(name: str) -> None:
    """PyYAML reads character by character: 600,000 lines of comments took 17 s, a text of 4.9 MB took 5 s."""
    text, line, message = LONG_TEXTS[name]
    source = Source("loan.yaml")
    start = time.process_time()
    parse_yaml(text + "\nb: 1\n", source)
    assert time.process_time() - start < 2
    (finding,) = source.findings
    assert finding.line == line
    assert message in finding.message


def test_a_text_may_be_as_long_as_the_limit() -> None:
    data = loan()
    data["features"]["n0"]["label"] = "x" * limits.MAX_TEXT_LENGTH
    source = Source("loan.yaml")
    parse_yaml(json.dumps(data), source)
    assert source.findings == []
    assert source.data == data
    data["features"]["n0"]["label"] += "x"
    with pytest.raises(ProblemError, match=r"features.n0.label: a text has at most 200,000 characters"):
        Problem.from_dict(data)
