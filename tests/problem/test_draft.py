"""A first problem file is always a right one, whatever the table is like, and says what the table says."""

import csv
import gzip
import re
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from counterplan import BlackBox, ExactPlanner
from counterplan.errors import PeopleError
from counterplan.problem import Problem, check, read_table
from counterplan.problem.draft import draft, draft_from

LOANS = """\
customer_id,age,sex,job,savings,income,zip,comment,decision
17,34,female,skilled,little,31000,01067,,approved
18,51,male,unskilled,moderate,18000,80331,late twice,refused
19,28,male,skilled,,27500.5,01067,,approved
20,44,female,manager,rich,64000,10115,,refused
21,23,male,unskilled,little,15500,80331,,refused
22,39,female,skilled,moderate,,10115,,
"""
ODD = [
    *("no", "on", "~", "null", "Null", "true", "True", "FALSE", "1e3", "007", "0x1f", "0o7", "1_000", "1,234", ".inf"),
    *(
        "-.inf",
        ".nan",
        "NA",
        "None",
        "nan",
        "-",
        "- a",
        "--- ",
        "...",
        "?",
        "? a",
        ": ",
        "a: b",
        "a:",
        "#",
        "a #b",
        "#b",
    ),
    *(
        "'",
        '"',
        "it's",
        '"x" y',
        "`x",
        "[a",
        "{a}",
        "{argument}",
        "a, b",
        "&a",
        "*a",
        "!a",
        "|",
        ">",
        ">50K",
        "<=50K",
        "%a",
    ),
    *(
        "@a",
        "\\",
        "\\n",
        " a",
        "a ",
        " ",
        "a\nb",
        "a\r\nb",
        "a\tb",
        "\x85",
        "\u2028",
        "\ufeff",
        "\x7f",
        "\x00",
        "\u00a0",
    ),
    *(
        "größe",
        "年齢",
        "👩‍💻",
        "😀",
        "e\u0301",
        "x" * 300,
        "😀" * 90,
        "=",
        "<<",
        "1.0",
        "-0",
        "+1",
        "1",
        "0",
        "-1",
        "argument",
    ),
    *(
        "in",
        "and",
        "missing",
        "Unnamed: 0",
        "a=b",
        "STOP",
        "12345678901234567890",
        "1e400",
        "inf",
        "-inf",
        "1.5",
        " 2 ",
    ),
]
texts = st.sampled_from(ODD) | st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
names = texts | st.sampled_from(["id", "age", "Geschlecht", "income", "x" * 1500, "\U000e0001" * 150])
numbers = st.integers(-(10**18), 10**18) | st.floats(allow_nan=False, allow_infinity=False) | st.integers(-5, 5)
kinds = [
    st.sampled_from(["", *ODD]),
    st.sampled_from(ODD[:6]),
    texts,
    numbers.map(str),
    st.integers(-100, 100).map(str),
    st.floats(-1e6, 1e6).map(repr),
    st.sampled_from(["", "1", "2.50", " 3", "+4", "5e2", ".5", "6."]),
    st.sampled_from(["True", "False", ""]),
    st.just(""),
]
slow = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])


@st.composite
def tables(draw, cells, least_rows=2):
    """A table with an outcome of two to four values and up to six columns; some have enough rows to look like data."""
    rows = draw(st.integers(least_rows, 8) | st.integers(20, 60))
    columns = draw(st.lists(names, min_size=1, max_size=6, unique=True))
    table = {name: draw(st.lists(draw(st.sampled_from(cells)), min_size=rows, max_size=rows)) for name in columns}
    outcome = draw(texts.filter(lambda name: name not in columns))
    decisions = draw(st.lists(texts.filter(bool), min_size=2, max_size=4, unique=True))
    table[outcome] = (
        (decisions * rows)[:rows] if rows >= len(decisions) else decisions[:2] * (rows // 2) + [""] * (rows % 2)
    )
    return pd.DataFrame(table, dtype=object), outcome


def checked(text, path):
    """The problem in `text`, which must have no errors, neither as it is nor with its examples in force."""
    before, at, after = text.partition("\nfunctions:\n")
    assert at
    for version in (text, before + at + re.sub(r"^  # ", "  ", after, flags=re.MULTILINE)):
        path.write_text(version, encoding="utf-8", newline="")
        problem, findings = check(path)
        assert [finding.text("") for finding in findings if finding.severity == "error"] == []
    free = [feature for feature in problem.features if not feature.protected]
    assert problem.transitions.functions or all(len(feature.values) == 1 for feature in free)
    assert not any(problem.features[function.target].protected for function in problem.transitions.functions)
    path.write_text(text, encoding="utf-8", newline="")
    return Problem.load(path)


def from_csv(text, outcome, tmp_path, name="loans.csv"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8", newline="")
    return draft_from(path, outcome), path


@pytest.fixture
def loans(tmp_path):
    text, path = from_csv(LOANS, "decision", tmp_path)
    return text, checked(text, tmp_path / "loans.yaml"), path


def feature(problem, name):
    return next(feature for feature in problem.features if feature.name == name)


@settings(slow, max_examples=60)
@given(tables(kinds), st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
def test_any_csv_gives_a_right_file_that_reads_its_table(tmp_path, made, quoting):
    path = tmp_path / "any.csv"
    made[0].to_csv(path, index=False, quoting=quoting)
    try:
        as_text = pd.read_csv(path, dtype=str, keep_default_na=False, na_values=[""])
    except pd.errors.ParserError:
        with pytest.raises(PeopleError, match="cannot be read as a table"):
            draft_from(path, made[1])
        return
    outcome = as_text.columns[-1]
    try:
        text = draft_from(path, outcome)
    except PeopleError as error:
        assert re.search("no column can be a feature|cannot be the outcome|more (cells|values)", str(error))  # noqa: PT017
        return
    problem = checked(text, tmp_path / "any.yaml")
    people = problem.read(read_table(path, problem.features))
    assert len(people) == len(as_text)
    assert problem.outcome.column == outcome
    assert [f.name for f in problem.features] == [c for c in as_text.columns if c in {f.name for f in problem.features}]
    for one in problem.features:
        column = as_text[one.name]
        assert one.missing == column.isna().any()
        if one.is_number:
            assert people.states[:, one.index] == pytest.approx(column.astype(float).to_numpy(), nan_ok=True)
        else:
            kinds = {type(native) for native in one.natives}
            spelled = {bool: lambda text: text.strip().lower(), int: lambda text: str(int(float(text)))}
            meaning = spelled.get(kinds.pop() if len(kinds) == 1 else str, str)
            assert set(one.values) == set(map(meaning, column.dropna()))


@settings(slow, max_examples=40)
@given(
    tables([*kinds, numbers, st.booleans(), st.none() | st.booleans(), st.sampled_from([1, "1", True, None, 2.5, "a"])])
)
def test_any_frame_gives_a_right_file_that_reads_it(tmp_path, made):
    table, outcome = made
    table = table.infer_objects()
    try:
        text = draft(table, outcome, "any")
    except PeopleError as error:
        assert "no column can be a feature" in str(error)  # noqa: PT017
        return
    problem = checked(text, tmp_path / "any.yaml")
    people = problem.read(table)
    decided = table[outcome][table[outcome] != ""]
    assert set(problem.outcome.values) >= set(decided)
    assert len(people) == len(table)


@given(text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=20))
@settings(slow, max_examples=80)
def test_every_text_is_written_so_that_it_reads_back(tmp_path, text):
    table = pd.DataFrame({"a": [text, text + "x", text], "y": [1, 0, 1]})
    assert set(checked(draft(table, "y", text), tmp_path / "t.yaml").features[0].values) == {text, text + "x"}


def test_loans(loans):
    text, problem, path = loans
    assert problem.name == "loans"
    assert problem.max_actions == 4
    assert problem.outcome.values == ("approved", "refused")
    assert problem.outcome.favourable == {"approved"}
    assert [f.name for f in problem.features] == ["age", "sex", "job", "savings", "income", "zip", "comment"]
    assert [f.name for f in problem.features if f.protected] == ["age", "sex"]
    assert [f.name for f in problem.features if f.missing] == ["savings", "income", "comment"]
    assert [f.name for f in problem.features if f.is_number] == ["age", "income"]
    assert feature(problem, "age").integer
    assert not feature(problem, "income").integer
    assert feature(problem, "zip").values == ("01067", "10115", "80331")
    assert feature(problem, "age").low == -np.inf
    assert "kind: number  # seen: 15500 to 64000" in text
    assert "#   customer_id: a different number for everybody" in text
    assert "favourable: approved  # check: is this the outcome that people hope for?" in text
    assert len(problem.read(read_table(path, problem.features))) == 6


def test_examples_are_made_of_the_tables_own_columns(loans):
    text, _, _ = loans
    examples = text[text.index("functions:") :]
    assert "  # CHANGE_JOB:\n  #   set: job\n" in examples
    assert (
        "  #   add: income\n  #   arguments: [5000, 10000, 25000]\n  #   when: income + argument <= 64000\n" in examples
    )
    assert "  # - from: income\n  #   to: job\n" in examples


def test_no_example_changes_a_protected_feature(tmp_path):
    text = draft(pd.DataFrame({"sex": ["f", "m"] * 9, "income": range(18), "y": [0, 1] * 9}), "y", "p")
    checked(text, tmp_path / "p.yaml")
    assert "CHANGE_SEX" not in text
    assert "RAISE_INCOME" in text
    alone = draft(pd.DataFrame({"sex": ["f", "m"], "y": [0, 1]}), "y", "p")
    checked(alone, tmp_path / "p.yaml")
    assert "set:" not in alone


def test_nothing_but_functions_is_missing(loans, tmp_path):
    _, findings = check(tmp_path / "loans.yaml")
    assert [finding.message for finding in findings] == ["there are no functions yet, so there are no plans"]


def test_compressed(tmp_path):
    path = tmp_path / "my.loans.csv.gz"
    path.write_bytes(gzip.compress(LOANS.encode()))
    text = draft_from(path, "decision")
    assert checked(text, tmp_path / "p.yaml").name == "my"


def test_parquet_keeps_its_types(tmp_path, monkeypatch):
    table = pd.DataFrame(
        {"code": ["1", "2", "3"], "size": [1, 2, 4], "when": pd.to_datetime(["2020"] * 3), "y": [True, False, True]}
    )
    monkeypatch.setattr(pd, "read_parquet", lambda path: table)
    text = draft_from(tmp_path / "p.parquet", "y")
    problem = checked(text, tmp_path / "p.yaml")
    assert [(f.name, f.kind) for f in problem.features] == [("code", "category"), ("size", "number")]
    assert "#   when: dates; to use them, add a number" in text
    assert problem.outcome.favourable == {"true"}
    assert len(problem.read(table)) == 3


def test_real_parquet(tmp_path):
    pytest.importorskip("pyarrow")
    table = pd.DataFrame({"job": ["a", None, "b"], "income": pd.array([1, None, 3], "Int64"), "y": ["no", "yes", "no"]})
    table["size"] = pd.array([1.5, 2.5, 3.5], "float32")
    table.to_parquet(tmp_path / "p.parquet")
    problem = checked(draft_from(tmp_path / "p.parquet", "y"), tmp_path / "p.yaml")
    assert [(f.name, f.kind, f.missing) for f in problem.features] == [
        ("job", "category", True),
        ("income", "category", True),
        ("size", "number", False),
    ]
    assert len(problem.read(read_table(tmp_path / "p.parquet", problem.features))) == 3


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["1", "2", "3"], "number"),
        (["1", "2", "1"], "category"),
        (["1.5", "-2", "+3e2"], "number"),
        (["1", "2", "03"], "category"),
        (["1", "2", "1,000"], "category"),
        (["1", "2", "NA"], "category"),
        (["1", "2", "9" * 17], "category"),
        (["1", "1.0", "1.00"], "category"),
        (["true", "false", "true"], "category"),
        (["0.5", "1.5", "0.5"], "number"),
    ],
)
def test_kinds(tmp_path, cells, kind):
    table = pd.DataFrame({"a": cells, "y": ["yes", "no", "yes"]})
    table.to_csv(tmp_path / "t.csv", index=False)
    problem = checked(draft_from(tmp_path / "t.csv", "y"), tmp_path / "t.yaml")
    assert problem.features[0].kind == kind
    if kind == "category":
        assert set(problem.features[0].values) == set(cells)


@pytest.mark.parametrize("cells", ["True False", "TRUE FALSE", "true false", "True False -"])
def test_booleans_of_a_csv_stay_booleans_up_to_the_model(tmp_path, cells):
    """In the file, in the table that is read with it, for the model and in the plan."""
    cells = ["" if cell == "-" else cell for cell in cells.split()]
    income = [1000, 3000, 500]
    table = pd.DataFrame({"owner": cells, "income": income[: len(cells)], "y": ["no", "yes", "no"][: len(cells)]})
    table.to_csv(tmp_path / "t.csv", index=False)
    text = draft_from(tmp_path / "t.csv", "y")
    assert "values: [false, true]" in text
    action = "  BUY: {set: owner, arguments: [true], when: owner == false or missing(owner), cost: 1}\n"
    (tmp_path / "t.yaml").write_text(text.replace("\nfunctions:\n", "\nfunctions:\n" + action))
    problem = Problem.load(tmp_path / "t.yaml")
    assert feature(problem, "owner").natives == (False, True)
    seen = []

    def decide(people):
        seen.extend(people["owner"].tolist())
        return ["yes" if owner is True else "no" for owner in people["owner"]]

    people = read_table(tmp_path / "t.csv", problem.features)
    plans = ExactPlanner(problem, BlackBox(decide)).plan(people)
    assert [value for value in seen if value is not None] == [True, False, *[True] * (len(cells) - 1)]
    assert [plan.start["owner"] for plan in plans] == [{"t": True, "f": False, "": None}[c[:1].lower()] for c in cells]
    assert [plan.actions for plan in plans] == [[], *[["BUY=true"]] * (len(cells) - 1)]
    assert all(plan.replay(problem, BlackBox(decide)).ok for plan in plans)


@pytest.mark.parametrize("cells", [["0.0", "1.0"], ["0", "1"], [" 1", "0"]])
def test_two_numbers_are_numbers_for_the_model(tmp_path, cells):
    pd.DataFrame({"flag": cells, "y": ["no", "yes"]}).to_csv(tmp_path / "t.csv", index=False)
    problem = checked(draft_from(tmp_path / "t.csv", "y"), tmp_path / "t.yaml")
    assert problem.features[0].natives == (0, 1)
    assert read_table(tmp_path / "t.csv", problem.features)["flag"].tolist() == [int(float(cell)) for cell in cells]


def many(*values, rows=120):
    return ([*values] * rows)[:rows]


@pytest.mark.parametrize("to_file", [True, False])
def test_codes_dates_and_codes_of_missing_values(tmp_path, to_file):
    random = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "EDUCATION": many(1, 2, 3, 4, 5, 6),
            "maritalStatus": many(0, 1, 2, 3),
            "purpose_code": many(1.0, 2.0, 3.0, None),
            "children": many(0, 1, 2, 3),
            "years_of_education": many(4, 8, 9, 12),
            "opened": many("2020-01-31", "2021-02-28", "2022-12-01"),
            "closed": many("31.01.2020", "1/2/21", "Dec-2011", "5 March 2020"),
            "issue_date": many(20200131, 20210228, 20221201),
            "range": many("18-24", "25-34", "35-44"),
            "risk": many(*random.integers(0, 100, 50), -9, -8, -7),
            "debt": many(*random.integers(100, 900, 50), 9999),
            "salary": many(*random.integers(1000, 90000, 50), 9999),
            "change": many(*random.integers(-50, 50, 50), -99),
            "savings": many(*random.integers(0, 5000, 50), -999),
            "y": many("good", "bad"),
        }
    )
    path = tmp_path / "t.csv"
    table.to_csv(path, index=False)
    text = draft_from(path, "y") if to_file else draft(table, "y", "t")
    problem = checked(text, tmp_path / "t.yaml")
    entries = {one.name: text.split(f"\n  {one.name}:\n")[1].split("\n  ")[:8] for one in problem.features}
    kinds = {one.name: one.kind for one in problem.features}
    assert [name for name, kind in kinds.items() if kind == "category"] == [
        "EDUCATION", "maritalStatus", "purpose_code", "range",
    ]  # fmt: skip
    assert feature(problem, "EDUCATION").natives == (1, 2, 3, 4, 5, 6)
    assert feature(problem, "purpose_code").natives == (1, 2, 3)
    for name in ("EDUCATION", "maritalStatus", "purpose_code"):
        assert "whole numbers, likely codes; if they are amounts: kind: number" in entries[name][0]
    assert "if they are codes" not in entries["risk"][0]
    assert "seen: 0 to 3; kind: category with values: [0, 1, 2, 3], if they are codes" in entries["children"][0]
    for name in ("opened", "closed", "issue_date"):
        assert f"#   {name}: dates; to use them, add a number to the table" in text
    remarks = re.findall(r"  (\w+):\n(?:    [^#\n].*\n)+    # likely codes of missing values: (.*); empty", text)
    assert dict(remarks) == {
        "risk": "-9 (2 people), -8 (2 people), -7 (2 people)",
        "debt": "9999 (2 people)",
        "savings": "-999 (2 people)",
    }
    assert "-9" not in entries["risk"][0], "the range is that of the other numbers"
    people = read_table(path, problem.features)
    assert len(problem.read(people)) == 120
    assert people["EDUCATION"].dtype == "int64"


def test_what_is_left_out(tmp_path):
    rows = 60
    table = pd.DataFrame(
        {
            "Unnamed: 0": range(rows),
            "number": range(7, rows + 7),
            "customerID": np.arange(rows) * 17 % 1009,
            "email": [f"{i}@example.org" for i in range(rows)],
            "street": [f"street {i % 55}" for i in range(rows)],
            "nothing": [None] * rows,
            "argument": ["a", "b"] * 30,
            " ": ["a", "b"] * 30,
            "a`b": ["a", "b"] * 30,
            "x" * 2000: ["a", "b"] * 30,
            "essay": ["a" * 2000, "b"] * 30,
            "endless": np.where(np.arange(rows) == 3, np.inf, np.arange(rows) / 7),
            "broken": pd.Series(["\ud800", "b"] * 30, dtype=object),
            "lists": [[1]] * rows,
            "bytes": [b"1"] * rows,
            "constant": [0.5] * rows,
            "stays": ["a"] * rows,
            "income": np.arange(rows) * 1700 % 100003,
            "share": np.linspace(0, 1, rows),
            "y": [0, 1] * 30,
        }
    )
    text = draft(table, "y", "left")
    assert [f.name for f in checked(text, tmp_path / "t.yaml").features] == ["stays", "income", "share"]
    assert "#   email: a different value for everybody, like an identifier" in text
    assert "#   street: 55 different texts, too many for a category" in text
    assert "#   nothing: it is empty" in text
    assert "#   endless: it holds infinite numbers; empty these cells" in text
    assert "kind: category  # the only value seen" in text
    pd.DataFrame({"ratio": many("1.5", "inf"), "rate": many("1", "2", "-inf"), "job": many("a", "b")}).assign(
        y=many("good", "bad")
    ).to_csv(tmp_path / "endless.csv", index=False)
    text = draft_from(tmp_path / "endless.csv", "y")
    assert [f.name for f in checked(text, tmp_path / "t.yaml").features] == ["job"]
    assert text.count("it holds infinite numbers; empty these cells") == 2


def test_powers_of_ten_are_numbers_to_check_and_to_the_model(tmp_path):
    pd.DataFrame({"size": many("1e3", "2e3"), "y": many("good", "bad", "bad")}).to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "t.yaml").write_text(draft_from(tmp_path / "t.csv", "y", propose=True), "utf-8")
    problem, findings = check(tmp_path / "t.yaml", pd.read_csv(tmp_path / "t.csv"))
    assert findings == []
    assert feature(problem, "size").natives == (1000, 2000)
    people = read_table(tmp_path / "t.csv", problem.features)
    assert people["size"].tolist() == [*many(1000, 2000)]


@pytest.mark.parametrize(
    ("values", "codes"),
    [
        ([1, 2, 3, 4, -1], "-1 (20 people)"),
        ([0, 1, 2, -1], None),  # a scale
        ([*range(40), -1], "-1 (2 people)"),
        ([*range(-2, 30), -9], None),
        ([1, 2, 3, 99], "99 (25 people)"),
        ([*range(60), 99], None),
        ([1, 2, 3, 998, 999], "998 (20 people), 999 (20 people)"),
        ([*range(90), 97, 98, 99], None),
        ([-0.5, 0.2, 0.7, -999], "-999 (25 people)"),
        ([*range(-900, 900, 60), -999], None),
        ([1, 2, 3, -9, 99], "-9 (20 people), 99 (20 people)"),
    ],
)
def test_numbers_that_stand_for_missing_values(values, codes):
    size = len(values) * max(2, 100 // len(values))
    table = pd.DataFrame({"x": np.resize(values, size), "y": np.resize(["good", "bad", "bad"], size)})
    found = re.findall("# likely codes of missing values: (.*); empty", draft(table, "y", "t"))
    assert found == [codes] * bool(codes)


def test_dates_as_whole_numbers_need_no_name_when_nearly_all_are_valid():
    days = pd.date_range("2018-12-01", periods=60, freq="9D").strftime("%Y%m%d").astype(int).to_numpy()
    table = pd.DataFrame({"opened": days, "closed": np.where(np.arange(60) < 3, 0, days)})
    table["amount"] = np.random.default_rng(0).integers(20_000_000, 20_200_000, 60)
    table["y"] = ["good", "bad"] * 30
    text = draft(table, "y", "t", propose=True)
    for name in ("opened", "closed"):
        assert f"#   {name}: dates; to use them, add a number to the table" in text
    assert "  RAISE_AMOUNT:" in text


def test_a_very_wide_table_still_gives_a_file(tmp_path):
    values = [f"value number {i}" for i in range(40)] * 2
    table = pd.DataFrame({f"column {i}": values for i in range(1_000)} | {"y": ["good", "bad"] * 40})
    text = draft(table, "y", "wide")
    assert len(checked(text, tmp_path / "t.yaml").features) > 100
    assert "the file would become too long" in text
    assert re.search("… and [0-9]+ more", text)


@pytest.mark.parametrize(
    ("name", "protected"),
    [
        *((name, True) for name in ("marriage", "Marital-Status", "spouse", "relationship", "foreignWorker", "origin")),
        *((name, True) for name in ("Sex", "applicant_gender", "RACE", "personAge", "DAYS_BIRTH", "country of birth")),
        *(
            (name, True)
            for name in ("Geschlecht", "âge", "Nationalité", "estado-civil", "età", "Familienstand", "Religion")
        ),
        *(
            (name, False)
            for name in (
                "package",
                "mortgage",
                "percentage",
                "Essex",
                "income",
                "embrace",
                "national_insurance",
                "original_amount",
            )
        ),
    ],
)
def test_protected(tmp_path, name, protected):
    text = draft(pd.DataFrame({name: ["a", "b"], "y": [0, 1]}), "y", "p")
    assert checked(text, tmp_path / "p.yaml").features[0].protected == protected
    assert ("protected: true  # check" in text) == protected


@pytest.mark.parametrize(
    ("column", "values", "favourable"),
    [
        ("decision", ["invited", "refused", "refused", "invited"], {"invited"}),
        ("decision", ["not rejected", "rejected", "rejected", "not rejected"], {"not rejected"}),
        ("y", ["good", "bad", "bad"], {"good"}),
        ("y", [">50K", "<=50K"], {">50K"}),
        ("y", [0, 1], {"1"}),
        ("y", [True, False], {"true"}),
        ("y", ["Not approved", "Approved"], {"Approved"}),
        ("y", ["fully paid", "granted", "charged off"], {"fully paid", "granted"}),
        ("default", [0, 1], {"0"}),
        ("loan_refused", ["yes", "no"], {"no"}),
        ("y", ["a", "b", "b"], {"a"}),
        ("y", ["yes", "good", "good"], {"yes"}),
    ],
)
def test_favourable(tmp_path, column, values, favourable):
    text = draft(pd.DataFrame({"a": ["x"] * len(values), column: values}), column, "p")
    assert checked(text, tmp_path / "p.yaml").outcome.favourable == favourable


def test_an_outcome_of_numbers_is_a_score(tmp_path):
    text = draft(pd.DataFrame({"a": ["x"] * 41, "score": range(600, 641)}), "score", "p")
    outcome = checked(text, tmp_path / "p.yaml").outcome
    assert (outcome.values, outcome.describe()) == ((), "at least 620")
    assert "favourable: {at_least: 620}  # check: the scores that people hope for" in text


def test_the_outcome_is_written_as_pandas_hands_it_to_a_model(tmp_path):
    text, _ = from_csv("a,y\nx,True\nx,False\nz,\n", "y", tmp_path)
    assert checked(text, tmp_path / "p.yaml").outcome.values == ("false", "true")
    text, _ = from_csv("a,y\nx,1.0\nx,0.0\nz,\n", "y", tmp_path)
    assert checked(text, tmp_path / "p.yaml").outcome.values == ("0", "1")


def test_a_hint_where_values_have_a_rank(tmp_path):
    sizes = ["< 1 year", "1-4 years", "4+ years"]
    text = draft(pd.DataFrame({"job since": sizes, "town": ["A", "B", "C"], "y": [0, 1, 1]}), "y", "p")
    assert text.count("# ordered, if rank matters") == 1
    assert {f.kind for f in checked(text, tmp_path / "p.yaml").features} == {"category"}


def test_most_people_with_the_same_number_still_gives_intervals(tmp_path):
    text = draft(pd.DataFrame({"gain": [0] * 95 + [100, 2000, 3000, 7000, 9000], "y": [0, 1] * 50}), "y", "p")
    assert len(checked(text, tmp_path / "p.yaml").features[0].bins) > 3


@pytest.mark.parametrize(
    ("text", "outcome", "message"),
    [
        (LOANS, "decisoin", "there is no column 'decisoin' for the outcome; did you mean 'decision'?"),
        (LOANS, "q", "there is no column 'q' for the outcome; there are customer_id, age"),
        (LOANS, "comment", "column 'comment' cannot be the outcome: it holds only late twice"),
        ("a,y\n1,\n", "y", "column 'y' cannot be the outcome: it holds nothing"),
        ("a,y\n", "y", "column 'y' cannot be the outcome: it holds nothing"),
        (
            "a,y\n" + "".join(f"1,no{i}\n" for i in range(21)),
            "y",
            "it holds 21 different values, and a decision has at most 20",
        ),
        ("y\n0\n1\n", "y", "no column can be a feature (there is none but the outcome)"),
        (
            "id,y\n1,0\n2,1\n3,1\n",
            "y",
            "no column can be a feature (id: a different number for everybody, like an identifier)",
        ),
        ("a,y\n1,2,5\n3,4,5\n", "y", "the first row has more values than the header has columns"),
        ("", "y", "the file is empty"),
    ],
)
def test_mistakes_name_file_and_column(tmp_path, text, outcome, message):
    with pytest.raises(PeopleError) as error:
        from_csv(text, outcome, tmp_path)
    assert f"{tmp_path / 'loans.csv'}: " in str(error.value)
    assert message in str(error.value)
    assert str(error.value).count("loans.csv") == 1


def test_no_such_file_and_columns_of_one_name(tmp_path):
    with pytest.raises(PeopleError, match="there is no such file"):
        draft_from(tmp_path / "none.csv", "y")
    with pytest.raises(PeopleError, match="more than one column called '1'"):
        draft(pd.DataFrame([["a", "b", 1]], columns=[1, "1", "y"]), "y", "p")


def test_a_million_character_cell(tmp_path):
    text, _ = from_csv(f'a,b,y\n"{"long " * 200_000}",1,good\nshort,2,bad\n', "y", tmp_path)
    assert [f.name for f in checked(text, tmp_path / "p.yaml").features] == ["b"]
    assert sys.getsizeof(text) < 10_000
