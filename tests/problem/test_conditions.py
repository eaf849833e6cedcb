import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from counterplan.errors import ConditionError
from counterplan.problem.conditions import Node, parse
from counterplan.problem.limits import MAX_CONDITION_DEPTH

FINITE = st.floats(allow_nan=False, allow_infinity=False)
LEAVES = st.one_of(
    FINITE.map(lambda number: Node("number", (number,))),
    st.text().map(lambda text: Node("text", (text,))),
    st.one_of(
        st.sampled_from(["income", "in", "and", "argument", "true", "base", "rank", "marital-status", "größe", "a b"]),
        st.text(min_size=1).filter(lambda name: "`" not in name),
    ).map(lambda name: Node("name", (name,))),
    st.sampled_from([Node("argument"), Node("true"), Node("false")]),
)


@st.composite
def branches(draw: st.DrawFn, inner: st.SearchStrategy[Node]) -> Node:
    op, least, most = draw(
        st.sampled_from(
            [
                *((op, 2, 4) for op in ("and", "or", "in")),
                *((op, 1, 1) for op in ("not", "missing", "rank", "base", "negate")),
                *((op, 2, 2) for op in ("==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/")),
            ]
        )
    )
    args = draw(st.lists(inner, min_size=least, max_size=most))
    if op == "negate" and args[0].op == "number":  # is a number itself
        return Node("number", (-args[0].args[0],))
    return Node(op, tuple(args))


TREES = st.recursive(LEAVES, branches, max_leaves=25)


@given(TREES)
@settings(max_examples=40)
def test_what_is_printed_is_read_back(tree):
    assert parse(str(tree)) == tree
    assert str(parse(str(tree))) == str(tree)


@given(TREES)
def test_a_tree_goes_through_json(tree):
    text = json.dumps(tree.to_json(), allow_nan=False)
    assert Node.from_json(json.loads(text)) == tree


@given(st.one_of(st.text(), st.text(alphabet="ab1.'\"`()[]<>=!+-*/, \\andortif\n", max_size=60)))
@settings(max_examples=60)
def test_any_text_is_read_or_refused_at_a_place_in_it(text):
    refusal, tree = None, None
    try:
        tree = parse(text)
    except ConditionError as error:
        refusal = error
    if refusal is None:
        assert parse(str(tree)) == tree
    else:
        assert 0 <= refusal.position <= len(text)
        assert str(refusal)


@given(TREES, st.sampled_from([" ", "\n", "\t ", "\u00a0"]))
def test_space_around_means_nothing(tree, space):
    assert parse(f"{space}{tree}{space}") == tree


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a or b and c", ["or", "a", ["and", "b", "c"]]),
        ("(a or b) and c", ["and", ["or", "a", "b"], "c"]),
        ("a and b and c", ["and", "a", "b", "c"]),
        ("a and (b and c)", ["and", "a", ["and", "b", "c"]]),
        ("not a and b", ["and", ["not", "a"], "b"]),
        ("not (a and b)", ["not", ["and", "a", "b"]]),
        ("not a == b", ["not", ["==", "a", "b"]]),
        ("not not a", ["not", ["not", "a"]]),
        ("a - b - c", ["-", ["-", "a", "b"], "c"]),
        ("a - (b - c)", ["-", "a", ["-", "b", "c"]]),
        ("a / b / c", ["/", ["/", "a", "b"], "c"]),
        ("a + b * c", ["+", "a", ["*", "b", "c"]]),
        ("(a + b) * c", ["*", ["+", "a", "b"], "c"]),
        ("-a * b", ["*", ["negate", "a"], "b"]),
        ("-(a * b)", ["negate", ["*", "a", "b"]]),
        ("a - -b", ["-", "a", ["negate", "b"]]),
        ("a + 1 < b * 2", ["<", ["+", "a", 1.0], ["*", "b", 2.0]]),
        ("a < b == c", ["and", ["<", "a", "b"], ["==", "b", "c"]]),
        ("1 <= a < 5", ["and", ["<=", 1.0, "a"], ["<", "a", 5.0]]),
        ("a in [1, -2]", ["in", "a", 1.0, -2.0]),
        ("a not in [1]", ["not", ["in", "a", 1.0]]),
        ("not a in [1]", ["not", ["in", "a", 1.0]]),
        ("a + 1 in [1]", ["in", ["+", "a", 1.0], 1.0]),
        ("a ≤ 1 and b ≥ 2 and c ≠ 3", ["and", ["<=", "a", 1.0], [">=", "b", 2.0], ["!=", "c", 3.0]]),
        ("a − b × c ÷ d", ["-", "a", ["/", ["*", "b", "c"], "d"]]),
        ("base(argument) > rank(job)", [">", ["base", ["argument"]], ["rank", "job"]]),
        ("missing ( a )", ["missing", "a"]),
        ("base > 1", [">", "base", 1.0]),
        ("true and false", ["and", ["true"], ["false"]]),
        ("`true` == `hours per week`", ["==", "true", "hours per week"]),
        ("--1", 1.0),
        ("-(5)", -5.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("1e3", 1000.0),
        ("1.5E-3", 0.0015),
    ],
)
def test_what_binds_to_what(text, tree):
    def short(part):
        """A tree with leaves written as a string for a name and a number for a number."""
        if part[0] in ("name", "number"):
            return part[1]
        return [part[0], *(short(arg) for arg in part[1:])]

    assert short(parse(text).to_json()) == tree


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("'it''s'", None),
        (r"'it\'s'", "it's"),
        ('"it\'s"', "it's"),
        (r'"say \"so\""', 'say "so"'),
        (r"'back\\slash'", "back\\slash"),
        (r"'\n'", "n"),
        ("''", ""),
        ("'and'", "and"),
    ],
)
def test_texts_in_either_quotes(text, value):
    if value is None:
        with pytest.raises(ConditionError):
            parse(text)
    else:
        assert parse(text) == Node("text", (value,))


@pytest.mark.parametrize(
    ("text", "message", "position"),
    [
        ("", "the condition is empty", 0),
        ("  \n ", "the condition is empty", 0),
        ("age = 3", "cannot read '='; write == to compare", 4),
        ("age > 3 $ 4", "cannot read '$'", 8),
        ("job == 'manager", 'cannot read "\'manager"', 7),
        ("age >", "expected a value but found 'the end'", 5),
        ("age > and 3", "expected a value but found 'and'", 6),
        ("(age > 3", "expected ')' but found 'the end'", 8),
        ("age > 3)", "did not expect ')' here", 7),
        ("age 3", "did not expect '3' here", 4),
        ("age in 3", "expected '[' but found '3'", 7),
        ("age in [1, 2", "expected ']' but found 'the end'", 12),
        ("age in []", "expected a value but found ']'", 8),
        ("age not 3", "expected 'in' but found '3'", 8),
        ("age in [1] in [2]", "did not expect 'in' here", 11),
        ("rank(job", "expected ')' but found 'the end'", 8),
        ("missing()", "expected a value but found ')'", 8),
        ("age < 1e999", "numbers must be finite", 6),
        ("a < (b < c) < d", "'<' compares values, not conditions", 12),
        ("age == ``", "cannot read '``'", 7),
    ],
)
def test_invalid_expressions_are_reported_with_their_position(text, message, position):
    with pytest.raises(ConditionError) as caught:
        parse(text)
    assert str(caught.value) == message
    assert caught.value.position == position


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os')",
        "__import__('os').system('ls')",
        "().__class__",
        "a.b",
        "a[0]",
        "exec('x')",
        "open('/etc/passwd')",
        "lambda: 0",
        "[a for a in b]",
        "{a}",
        "a ** 2",
        "a % 2",
        "a if b else c",
        "f'{a}'",
        "a := 1",
        "base.__class__(a)",
        "print(1)",
        "a; b",
        "a # comment",
        "yield a",
    ],
)
def test_nothing_of_python_is_understood(text):
    with pytest.raises(ConditionError):
        parse(text)


@pytest.mark.parametrize(
    "make",
    [
        lambda depth: "(" * depth + "a" + ")" * depth,
        lambda depth: "not " * depth + "a",
        lambda depth: "- " * depth + "a",
        lambda depth: "missing(" * depth + "a" + ")" * depth,
        lambda depth: "a" + " + a" * depth,
        lambda depth: "0 < a" + " + a" * depth + " < 9",
        lambda depth: "(" * depth + "a" + " + a)" * depth,
    ],
)
def test_deep_nesting_is_refused_without_a_crash(make):
    parse(make(MAX_CONDITION_DEPTH - 5))
    for depth in (MAX_CONDITION_DEPTH + 1, 5000):
        with pytest.raises(ConditionError, match="nested too deeply"):
            parse(make(depth))


def test_chains_inside_chains_do_not_multiply():
    text = "a"
    for _ in range(40):
        text = f"a < ({text}) < a"
    with pytest.raises(ConditionError, match="compares values"):
        parse(text)


def test_a_long_flat_condition_is_fine():
    tree = parse(" or ".join(f"age == {number}" for number in range(5000)))
    assert len(tree.args) == 5000
    assert parse(str(tree)) == tree


def test_names_are_found_wherever_they_stand():
    tree = parse("not (a + `b c` in [1]) or missing(d) and base(argument) < -e and 'f' == rank(g)")
    assert tree.names() == {"a", "b c", "d", "e", "g"}


@pytest.mark.parametrize(
    "tree",
    [
        None,
        [],
        "age",
        ["number"],
        ["number", "1"],
        ["number", True],
        ["number", float("nan")],
        ["number", float("inf")],
        ["number", 10**400],
        ["text", 1],
        ["name", ""],
        ["name", "a`b"],
        ["name", "a", "b"],
        ["and", ["true"]],
        ["not", ["true"], ["true"]],
        ["<", ["number", 1]],
        ["<", 1, 2],
        ["import", ["name", "os"]],
        ["__class__"],
        ["argument", 1],
        [["true"]],
        [1],
    ],
)
def test_json_that_is_no_condition_is_refused(tree):
    with pytest.raises(ConditionError, match="not a condition tree"):
        Node.from_json(tree)


def test_json_that_is_too_deep_is_refused():
    tree = ["true"]
    for _ in range(2000):
        tree = ["not", tree]
    with pytest.raises(ConditionError, match="not a condition tree"):
        Node.from_json(tree)


def test_what_was_parsed_is_never_too_deep_for_json():
    tree = parse("a" + " + a" * (MAX_CONDITION_DEPTH - 1))
    assert Node.from_json(tree.to_json()) == tree


def test_a_minus_before_a_number_is_part_of_it_in_json_too():
    assert Node.from_json(["negate", ["number", 5]]) == parse("-5")
