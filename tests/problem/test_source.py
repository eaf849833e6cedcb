import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from counterplan.problem.builder import build
from counterplan.problem.scalars import Plain, as_number, as_truth
from counterplan.problem.source import Finding, Source, format_location
from counterplan.problem.yaml_reader import parse_yaml, read_source


def read(text: str) -> Source:
    source = Source("loan.yaml")
    parse_yaml(text, source)
    return source


def messages(source: Source) -> list[str]:
    return [finding.text(source.name) for finding in source.findings]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5), ("-5", -5), ("0", 0), ("true", True), ("false", False),
        ("~", None), ("null", None), ("Null", None), ("NULL", None), ("", None),
        ("no", "no"), ("yes", "yes"), ("on", "on"), ("off", "off"), ("No", "No"), ("y", "y"), ("n", "n"),
        ("True", "True"), ("TRUE", "TRUE"), ("nULL", "nULL"),
        ("007", "007"), ("1e3", "1e3"), ("0x1F", "0x1F"), ("0o17", "0o17"), ("1_000", "1_000"), ("1.50", "1.50"),
        ("+5", "+5"), ("-0", "-0"), ("00", "00"), (".inf", ".inf"), (".nan", ".nan"), ("12:30:45", "12:30:45"),
        ("2024-01-31", "2024-01-31"), ("1234567890123456789", "1234567890123456789"), ("=", "="), ("<<", "<<"),
        ("'no'", "no"), ('"5"', "5"), ("'true'", "true"), ("'~'", "~"), ("''", ""), ('"null"', "null"),
        ("a b", "a b"), (">-\n   a\n   b", "a b"), ("|\n   5\n", "5\n"),
    ],
)  # fmt: skip
def test_scalars_follow_yaml_1_2_and_keep_how_they_were_written(text, value):
    source = read(f"a: {text}")
    assert messages(source) == []
    assert source.data["a"] == value
    assert type(source.data["a"]) in (type(value), Plain)


@pytest.mark.parametrize(("text", "plain"), [("no", True), ("'no'", False), ("1e3", True), ("'1e3'", False)])
def test_only_what_stands_without_quotes_is_plain(text, plain):
    assert isinstance(read(f"a: {text}").data["a"], Plain) == plain


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1e3", 1000.0), ("007", 7.0), ("1.50", 1.5), (".5", 0.5), ("5.", 5.0), ("+5", 5.0), ("-1.5e-3", -0.0015),
        ("1234567890123456789", 1234567890123456789.0), (".inf", float("inf")), ("-.Inf", float("-inf")),
        ("1e999", float("inf")),
    ],
)  # fmt: skip
def test_plain_scalars_convert_to_numbers(text, number):
    assert as_number(Plain(text)) == number
    assert isinstance(as_number(text), str), "a text in quotes is no number"


@pytest.mark.parametrize(
    "text", ["0x1F", "1_000", ".nan", "1,000", "1e", "e3", "", "nan", "inf", "12:30", "½", "٣", "1 000"]
)
def test_what_is_no_number_stays_a_text(text):
    assert as_number(Plain(text)) == text


def test_whole_numbers_beyond_all_floats_are_infinite_rather_than_an_accident():
    assert as_number(10**400) == float("inf")
    assert as_number(-(10**400)) == float("-inf")
    assert as_number(True) is True


@pytest.mark.parametrize(("text", "truth"), [("True", True), ("TRUE", True), ("False", False), ("FALSE", False)])
def test_plain_scalars_convert_to_truth_values(text, truth):
    assert as_truth(Plain(text)) is truth
    assert as_truth(text) == text, "a text in quotes is no truth value"


@pytest.mark.parametrize("text", ["yes", "on", "tRUE", "1"])
def test_what_is_no_truth_value_stays_a_text(text):
    assert as_truth(Plain(text)) == text


def test_keys_are_kept_as_they_are_written():
    source = read("{no: 1, 007: 2, true: 3, 1e3: 4, ~: 5, 'a b': 6}")
    assert source.data == {"no": 1, "007": 2, "true": 3, "1e3": 4, "~": 5, "a b": 6}


def test_every_place_has_its_line():
    text = """\
    # a comment
    name: loan

    features:
      age:
        kind: number
        bins: [1, 2,
               3]
      job: {kind: ordered,
            values: [a, b]}
    causes:
      - from: age
        to: job
    """
    source = read(textwrap.dedent(text))
    lines = {
        (): 2,
        ("name",): 2,
        ("features",): 4,
        ("features", "age"): 5,
        ("features", "age", "kind"): 6,
        ("features", "age", "bins"): 7,
        ("features", "age", "bins", 1): 7,
        ("features", "age", "bins", 2): 8,
        ("features", "job", "kind"): 9,
        ("features", "job", "values", 1): 10,
        ("causes", 0): 12,
        ("causes", 0, "to"): 13,
    }
    assert {place: source.line(place) for place in lines} == lines
    assert source.line(("features", "age", "minimum")) == 5, "the nearest thing around what is not there"
    assert source.line(("functions", "X")) == 2


def test_a_key_written_twice_is_an_error_where_it_is_written_again():
    source = read("a: 1\nb:\n  c: 1\n  d: 2\n  c: 3\n")
    assert messages(source) == ["loan.yaml:5: b.c: this key is written twice"]


@pytest.mark.parametrize(
    "text",
    [
        "a: !!python/object/apply:os.system [ls]",
        "a: !!python/name:os.system",
        "a: !!python/tuple [1, 2]",
        "a: !mine 5",
        "a: !!int '5'",
        "a: !!binary aGk=",
        "a: !!set {x, y}",
        "a: !<tag:example.com,2000:thing> 5",
    ],
)
def test_tags_are_refused(text):
    source = read(f"b: 1\n{text}")
    (finding,) = source.findings
    assert (finding.location, finding.line) == (("a",), 2)
    assert "tag" in finding.message
    assert "is not allowed here" in finding.message


def test_anchors_and_aliases_work():
    source = read("a: &x [1, {b: 2}]\nc: *x\n")
    assert messages(source) == []
    assert source.data == {"a": [1, {"b": 2}], "c": [1, {"b": 2}]}
    assert source.line(("c",)) == 2


def test_merge_keys_are_just_keys():
    assert read("a: &x {b: 2}\nc: {<<: *x}\n").data["c"] == {"<<": {"b": 2}}


def test_an_alias_to_itself_is_refused():
    (finding,) = read("a: &x [*x]").findings
    assert finding.message.startswith("nested too deeply")


def test_a_bomb_of_aliases_is_refused():
    rows = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    rows += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 12)]
    source = read("\n".join(rows))
    (message,) = messages(source)
    assert message.startswith("loan.yaml:")
    assert message.endswith(
        "a problem has at most 100,000 keys and values in all, and there are more (nested aliases?)"
    )
    assert source.data is None


@pytest.mark.parametrize("text", ["[" * 30 + "]" * 30, "{a: " * 30 + "1" + "}" * 30, "[" * 20_000, "- " * 2000 + "1"])
def test_deep_nesting_is_refused(text):
    source = read(text)
    assert len(source.findings) == 1
    assert "nested too deeply" in source.findings[0].message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "a: [1, 2",
            "loan.yaml:1: not YAML: expected ',' or ']', but got '<stream end>' while parsing a flow sequence",
        ),
        ("a: 1\n b: 2", "loan.yaml:2: not YAML: mapping values are not allowed here"),
        (
            "a: 1\n---\nb: 2",
            "loan.yaml:2: not YAML: expected a single document in the stream but found another document",
        ),
        ("a:\n\t- b", "loan.yaml:2: not YAML: found character '\\t' that cannot start any token while scanning for"),
        ("a: 'x", "loan.yaml:1: not YAML: found unexpected end of stream while scanning a quoted scalar"),
        ("a: *nobody", "loan.yaml:1: not YAML: found undefined alias 'nobody'"),
        ("a: 1\nb: @", "loan.yaml:2: not YAML: found character '@' that cannot start any token while scanning for"),
        ("a: &x 1\nb: &x 2", "loan.yaml:2: not YAML: found duplicate anchor 'x'; first occurrence second occurrence"),
        ("%YAML 3.0\n---\na: 1", "loan.yaml:1: not YAML: found incompatible YAML document (version 1.* is required)"),
        ("a: \x00", "loan.yaml: not YAML: unacceptable character #x0000"),
        ('a: "\\UFFFFFFFF"', 'loan.yaml: not YAML: a "\\U…" in double quotes stands for no character'),
        ('a: "\\U00110000"', 'loan.yaml: not YAML: a "\\U…" in double quotes stands for no character'),
        ('a: "\\ud800"', "loan.yaml:1: a: has half a character (a lone surrogate) in it"),
        ('"\\ud800": 1', "loan.yaml:1: a key must be a plain word"),
        ("? [a, b]\n: 1", "loan.yaml:1: a key must be a plain word"),
        ("", "loan.yaml: the file is empty"),
        ("# only a comment\n", "loan.yaml: the file is empty"),
    ],
)
def test_invalid_yaml_is_reported_with_its_line(text, message):
    (found,) = messages(read(text))
    assert found.startswith(message)
    assert "\n" not in found


@given(st.text(max_size=80) | st.text(alphabet="ab:-[]{}'\"&*!|>%@`,#?~<= \n\t01\\xU", max_size=60))
@settings(max_examples=60)
def test_any_text_is_read_or_refused(text):
    source = read(text)
    assert build(source) is None
    assert all(finding.message for finding in source.findings)
    assert source.findings


def test_reading_files(tmp_path):
    path = tmp_path / "loan.yaml"
    path.write_bytes("\ufeffname: größe\n".encode())
    assert read_source(path).data == {"name": "größe"}
    path.write_bytes("name: größe\n".encode("latin-1"))
    assert messages(read_source(path)) == [f"{path}: the file is not UTF-8 text (byte 8)"]
    path.write_bytes("name: loan\n".encode("utf-16"))
    assert "not UTF-8 text" in messages(read_source(path))[0]
    path.write_bytes(b"a: 1\r\nb: 2\r\n")
    source = read_source(str(path))
    assert (source.data, source.line(("b",))) == ({"a": 1, "b": 2}, 2)
    path.write_bytes(b"a" * 5_000_001)
    assert messages(read_source(path)) == [f"{path}: a problem file has at most 5,000,000 bytes, and this one has more"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nowhere.yaml", "there is no such file"),
        (".", "this is a directory, not a file"),
        ("a\0b", "the file cannot be read: embedded null byte"),
        ("x" * 5000, "the file cannot be read: File name too long"),
    ],
)
def test_files_that_cannot_be_read(tmp_path, name, message):
    source = read_source(f"{tmp_path}/{name}")
    assert [finding.message for finding in source.findings] == [message]
    assert source.data is None


def test_a_finding_as_text():
    place = ("functions", "CHANGE_JOB", "arguments", 2)
    assert format_location(place) == "functions.CHANGE_JOB.arguments[2]"
    assert Finding("is wrong", place, line=7).text("a.yaml") == "a.yaml:7: functions.CHANGE_JOB.arguments[2]: is wrong"
    assert Finding("is wrong").text("a.yaml") == "a.yaml: is wrong"
