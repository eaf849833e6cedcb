# ruff: noqa: E501 -- one mistake, one line
import itertools

import pytest

from counterplan.errors import ProblemError
from counterplan.problem import Problem, check

LOAN = """\
counterplan: 1
name: loan
outcome: {column: y, values: [no, yes], favourable: yes}
max_actions: 3
features:
  age: {kind: number, integer: true, minimum: 18, maximum: 99, bins: [18, 30]}
  income: {kind: number, label: your income}
  job:
    kind: ordered
    values: [none, worker, manager]
  sex: {kind: category, values: [f, m], protected: true}
functions:
  EARN:
    add: income
    arguments: [100, 200]
    when: income > 0
    cost: {base: 10, surcharge: [0, 1]}
  WORK:
    set: job
    arguments: all
    when: base(argument) > base(job)
    cost: {base: {none: 1, worker: 2, manager: 3}}
  AGE:
    add: age
    arguments: [1]
    cost: 2
causes:
  - {from: job, to: income, scale: [1, 0.8, 0.5]}
  - from: age
    to: job
    scale:
      - {below: 25, scale: 0.5}
      - {scale: 1}
"""
LINES = LOAN.splitlines()
NUMBER = "  income: {kind: number, label: your income}"
CATEGORY = "  sex: {kind: category, values: [f, m], protected: true}"
OUTCOME = "outcome: {column: y, values: [no, yes], favourable: yes}"
JOB_SCALE = "  - {from: job, to: income, scale: [1, 0.8, 0.5]}"


@pytest.fixture
def errors(tmp_path):
    """What is wrong with a text, as a list of `line: place: message`."""
    path = tmp_path / "loan.yaml"

    def found(text):
        path.write_text(text, "utf-8")
        problem, findings = check(path)
        wrong = [finding for finding in findings if finding.severity == "error"]
        assert (problem is None) == bool(wrong)
        if wrong:
            with pytest.raises(ProblemError) as caught:
                Problem.load(path)
            assert sorted(str(caught.value).splitlines()) == sorted(finding.text(str(path)) for finding in wrong)
        return [finding.text("loan").removeprefix("loan:") for finding in wrong]

    return found


def swap(old, new):
    assert LOAN.count(old) == 1, old
    return LOAN.replace(old, new)


def test_the_loan_is_right(errors):
    assert errors(LOAN) == []


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        # the file as a whole
        ("counterplan: 1\n", "", "1: 'counterplan' is missing: a problem file starts with 'counterplan: 1'"),
        ("counterplan: 1", "counterplan: 2", "1: counterplan: unknown version 2 of the problem format; it needs a newer counterplan"),
        ("counterplan: 1", "counterplan: one", "1: counterplan: unknown version 'one' of the problem format; this counterplan reads version 1"),
        ("counterplan: 1", "counterplan: true", "1: counterplan: unknown version True of the problem format"),
        ("counterplan: 1", "counterplan:", "1: 'counterplan' is missing"),
        ("name: loan", "nam: loan", ["1: 'name' is missing", "2: nam: unknown key; did you mean 'name'?"]),
        ("name: loan", "name:", "2: name: is empty; write a text, in quotes if it is the word null"),
        ("name: loan", "name: [loan]", "2: name: should be a text"),
        ("name: loan", "name: loan\ntitle: {a: b}", "3: title: should be a text"),
        ("max_actions: 3\n", "", "1: 'max_actions' is missing"),
        ("max_actions: 3", "max_actions: 0", "4: max_actions: should be greater than or equal to 1"),
        ("max_actions: 3", "max_actions: 65", "4: max_actions: should be less than or equal to 64"),
        ("max_actions: 3", "max_actions: 2.5", "4: max_actions: should be a valid integer, got a number with a fractional part"),
        ("max_actions: 3", "max_actions: many", "4: max_actions: 'many' is not a number"),
        ("max_actions: 3", "max_actions: '3'", "4: max_actions: '3' is not a number"),
        ("max_actions: 3", "max_actions: .inf", "4: max_actions: should be a finite number"),
        # the outcome
        (OUTCOME + "\n", "", "1: 'outcome' is missing"),
        (OUTCOME, "outcome: granted", "3: outcome: should be a mapping of keys and values"),
        ("{column: y, values", "{values", "3: outcome: 'column' is missing"),
        ("values: [no, yes], favourable: yes", "values: [no, yes], favourable: yess", "3: outcome.favourable: 'yess' is not among the outcome's values; did you mean 'yes'?"),
        ("values: [no, yes], favourable: yes", "values: [no, yes], favourable: [yes, no]", "3: outcome.favourable: every outcome is favourable, so nobody needs a plan"),
        ("values: [no, yes], favourable: yes", "values: [no, yes, no], favourable: yes", "3: outcome.values[2]: 'no' is listed twice"),
        ("values: [no, yes], favourable: yes", "values: [yes], favourable: yes", "3: outcome.values: should have at least 2 values"),
        ("values: [no, yes], favourable: yes", "values: [no, yes], favourable: []", "3: outcome.favourable: should have at least one value"),
        ("values: [no, yes], favourable: yes", "values: [no, yes], favourable: {yes: 1}", "3: outcome.favourable.yes: unknown key"),
        ("values: [no, yes], favourable: yes", "favourable: yes", "3: outcome: 'values' is missing; list every label, or write 'favourable: {at_least: NUMBER}'"),
        ("values: [no, yes], favourable: yes", "favourable: {}", "3: outcome.favourable: a favourable score has either 'at_least' or 'at_most', followed by a number"),
        ("values: [no, yes], favourable: yes", "favourable: {at_least: 1, at_most: 2}", "3: outcome.favourable: a favourable score has either 'at_least' or 'at_most', followed by a number"),
        ("values: [no, yes], favourable: yes", "favourable: {at_least: much}", "3: outcome.favourable.at_least: 'much' is not a number"),
        ("values: [no, yes], favourable: yes", "values: [no, yes], favourable: {at_least: 1}", "3: outcome.values: a model that returns scores has no labels; leave this out"),
        ("values: [no, yes], favourable: yes", "values: [no, yes], favourable: yes, codes: {yess: 1}", "3: outcome.codes.yess: 'yess' is not among the outcome's values; did you mean 'yes'?"),
        ("values: [no, yes], favourable: yes", "values: [no, yes], favourable: yes, codes: {yes: 1, no: 1}", "3: outcome.codes.no: '1' stands for two values"),
        ("values: [no, yes], favourable: yes", "values: [no, yes], favourable: yes, codes: {yes: no}", "3: outcome.codes.yes: 'no' is another value of the outcome"),
        ("values: [no, yes], favourable: yes", "values: [no, ~], favourable: no", "3: outcome.values[1]: is empty; write the value, in quotes if it is the word null or nothing at all"),
        # features
        (CATEGORY, "  sex: {values: [f, m]}", "11: features.sex: 'kind' is missing: number, category or ordered"),
        (CATEGORY, "  sex: {kind: binary, values: [f, m]}", "11: features.sex.kind: unknown kind 'binary': it is number, category or ordered"),
        (CATEGORY, "  sex: [f, m]", "11: features.sex: should be a mapping of keys and values"),
        (CATEGORY, "  sex:", "11: features.sex: should be a mapping of keys and values"),
        (CATEGORY, "  sex: {kind: category}", "11: features.sex: 'values' is missing"),
        (CATEGORY, "  sex: {kind: category, values: []}", "11: features.sex.values: should have at least one value"),
        (CATEGORY, "  sex: {kind: category, values: f}", "11: features.sex.values: should be a list"),
        (CATEGORY, "  sex: {kind: category, values: [f, ~]}", "11: features.sex.values[1]: is empty; write the value, in quotes"),
        (CATEGORY, "  sex: {kind: category, values: [f, [m]]}", "11: features.sex.values[1]: should be a single value"),
        (CATEGORY, "  sex: {kind: category, values: [f, m, f]}", "11: features.sex.values[2]: 'f' is listed twice"),
        (CATEGORY, "  sex: {kind: category, values: [1, 1.0, '1']}", "11: features.sex.values[2]: '1' is listed twice"),
        (CATEGORY, "  sex: {kind: category, values: [f, m], labels: {g: x}}", "11: features.sex.labels.g: 'g' is not among the values"),
        (CATEGORY, "  sex: {kind: category, values: [f, m], minimum: 1}", "11: features.sex.minimum: unknown key"),
        (CATEGORY, "  sex: {kind: category, values: [f, m], protected: maybe}", "11: features.sex.protected: 'maybe' is neither true nor false"),
        (CATEGORY, "  argument: {kind: category, values: [f, m]}", "11: features.argument: 'argument' means the argument of a function; choose another name"),
        (CATEGORY, "  '': {kind: category, values: [f, m]}", "11: features.: a feature's name is not empty and has no ` in it"),
        (CATEGORY, "  's`x': {kind: category, values: [f, m]}", "11: features.s`x: a feature's name is not empty and has no ` in it"),
        (CATEGORY, "  y: {kind: category, values: [f, m]}", "11: features.y: the outcome's column cannot be a feature: the black box decides it"),
        (NUMBER, "  income: {kind: number, minimum: 5, maximum: 1}", "7: features.income.minimum: the minimum 5.0 is above the maximum 1.0"),
        (NUMBER, "  income: {kind: number, minimum: low}", "7: features.income.minimum: 'low' is not a number"),
        (NUMBER, "  income: {kind: number, minimum: '1'}", "7: features.income.minimum: '1' is not a number"),
        (NUMBER, "  income: {kind: number, minimum: true}", "7: features.income.minimum: should be a number"),
        (NUMBER, "  income: {kind: number, minimum: .inf}", "7: features.income.minimum: must be finite"),
        (NUMBER, "  income: {kind: number, minimum: .nan}", "7: features.income.minimum: '.nan' is not a number"),
        (NUMBER, "  income: {kind: number, bins: some}", "7: features.income.bins: should be 'auto' or a list"),
        (NUMBER, "  income: {kind: number, bins: [1, 3, 3]}", "7: features.income.bins[2]: cut points must rise"),
        (NUMBER, "  income: {kind: number, bins: [1, .inf]}", "7: features.income.bins[1]: only the first cut point may be infinite: -.inf"),
        (NUMBER, "  income: {kind: number, bins: [.inf]}", "7: features.income.bins[0]: only the first cut point may be infinite: -.inf"),
        (NUMBER, "  income: {kind: number, lable: x}", "7: features.income.lable: unknown key"),
        # functions
        ("  EARN:", "  STOP:", "13: functions.STOP: the name STOP is reserved"),
        ("  EARN:", "  INTERVENE:", "13: functions.INTERVENE: the name INTERVENE is reserved"),
        ("  EARN:", "  EARN MORE:", "13: functions.EARN MORE: a function's name has no spaces and no '=' in it"),
        ("  EARN:", "  EARN=MORE:", "13: functions.EARN=MORE: a function's name has no spaces and no '=' in it"),
        ("    add: income", "    add: income\n    set: job", "13: functions.EARN: a function has either 'set' or 'add', followed by the feature it changes"),
        ("    add: income\n", "", "13: functions.EARN: a function has either 'set' or 'add', followed by the feature it changes"),
        ("    add: income", "    add: incom", "14: functions.EARN.add: there is no feature 'incom'; did you mean 'income'?"),
        ("    add: income", "    add: job", "14: functions.EARN.add: 'add' needs a number, and job is not one"),
        ("[100, 200]", "all", "15: functions.EARN.arguments: 'all' needs a feature with a list of values; write the numbers"),
        ("[100, 200]", "some", "15: functions.EARN.arguments: should be 'all' or a list"),
        ("[100, 200]", "[]", "15: functions.EARN.arguments: there must be at least one argument"),
        ("    arguments: [100, 200]\n", "", "13: functions.EARN: 'arguments' is missing"),
        ("[100, 200]", "[100, much]", "15: functions.EARN.arguments[1]: 'much' is not a number, but income is"),
        ("[100, 200]", "[100, true]", "15: functions.EARN.arguments[1]: 'True' is not a number, but income is"),
        ("[100, 200]", "[100, .inf]", "15: functions.EARN.arguments[1]: '.inf' is not a number, but income is"),
        ("[100, 200]", "[100, [200]]", "15: functions.EARN.arguments[1]: should be a value or a number"),
        ("[100, 200]", "[100, 1e2]", "15: functions.EARN.arguments[1]: '100' is listed twice"),
        ("[100, 200]", "[100, 0]", "15: functions.EARN.arguments[1]: adding 0 changes nothing"),
        ("    arguments: [1]", "    arguments: [1.5]", "25: functions.AGE.arguments[0]: 1.5 is not a whole number, but age is"),
        ("    add: age\n    arguments: [1]", "    set: age\n    arguments: [17]", "25: functions.AGE.arguments[0]: 17 is outside the bounds of age"),
        ("arguments: all", "arguments: [worker, mangaer]", "20: functions.WORK.arguments[1]: 'mangaer' is not a value of 'job'; did you mean 'manager'?"),
        ("arguments: all", "arguments: [x]", "20: functions.WORK.arguments[0]: 'x' is not a value of 'job'; the values are none, worker, manager"),
        ("arguments: all", "arguments: [worker, worker]", "20: functions.WORK.arguments[1]: 'worker' is listed twice"),
        ("    cost: 2\n", "", "23: functions.AGE: 'cost' is missing"),
        ("    cost: 2", "    cost: dear", "26: functions.AGE.cost: 'dear' is not a number"),
        ("    cost: 2", "    cost: [2]", "26: functions.AGE.cost: is not written in a way that is understood here"),
        ("    cost: 2", "    cost: -2", "26: functions.AGE.cost: -2 is negative; costs and scales are zero or more"),
        ("    cost: 2", "    cost: .inf", "26: functions.AGE.cost: must be finite"),
        ("    cost: 2", "    cost: {surcharge: 1}", "26: functions.AGE.cost: 'base' is missing"),
        ("    cost: 2", "    cost: 2\n    duration: -1", "27: functions.AGE.duration: -1 is negative; durations are zero or more"),
        ("    cost: 2", "    cost: 2\n    duration: [1, 2]", "27: functions.AGE.duration: has 2 numbers for 1 arguments"),
        ("    cost: 2", "    cost: 2\n    duration: {2: 1}", ["27: functions.AGE.duration.2: '2' is not a value of 'age'", "27: functions.AGE.duration: no number for 1"]),
        ("    cost: 2", "    cost: 2\n    duration: {surcharge: 1}", "27: functions.AGE.duration: 'base' is missing"),
        ("    cost: 2", "    cost: 2\n    duration: {base: 2000000}", "27: functions.AGE.duration: the duration is longer than 1,000,000; choose a larger time_unit"),
        ("    cost: 2", "    cost: 2\n    overlaps: maybe", "27: functions.AGE.overlaps: 'maybe' is neither true nor false"),
        ("    cost: 2", "    cost: 2\n    overlaps: no", "27: functions.AGE.overlaps: 'no' is neither true nor false; write false"),
        ("{base: 10, surcharge: [0, 1]}", "{base: 10, surcharge: [0, 1, 2]}", "17: functions.EARN.cost.surcharge: has 3 numbers for 2 arguments"),
        ("{base: 10, surcharge: [0, 1]}", "{base: {100: 1, 300: 2}}", ["17: functions.EARN.cost.base.300: '300' is not a value of 'income'; did you mean '200'?", "17: functions.EARN.cost.base: no number for 200"]),
        ("{base: 10, surcharge: [0, 1]}", "{base: 10, surcharge: [0, -1]}", "17: functions.EARN.cost.surcharge[1]: -1 is negative"),
        ("{none: 1, worker: 2, manager: 3}", "[1, 2]", "22: functions.WORK.cost.base: has 2 numbers for 3 arguments"),
        ("{none: 1, worker: 2, manager: 3}", "{none: 1, worker: 2}", "22: functions.WORK.cost.base: no number for manager"),
        ("{none: 1, worker: 2, manager: 3}", "{none: 1, worker: 2, manager: 3, mangaer: 4}", "22: functions.WORK.cost.base.mangaer: 'mangaer' is not a value of 'job'; did you mean 'manager'?"),
        ("    when: income > 0", "    when: incom > 0", "16: functions.EARN.when: unknown name 'incom'; did you mean 'income'? (at character 1 of: incom > 0)"),
        ("    when: income > 0", "    when: '  income = 0'", "16: functions.EARN.when: cannot read '='; write == to compare (at character 8 of: income = 0)"),
        ("    when: income > 0", "    when: income", "16: functions.EARN.when: expected a condition that is true or false, but 'income' is a number (at character 1 of: income)"),
        ("    when: income > 0", "    when: income / 0 > 1", "16: functions.EARN.when: 'income / 0' divides by zero (at character 10 of: income / 0 > 1)"),
        ("    when: income > 0", "    when: base(argument) > 0", "16: functions.EARN.when: base(…) needs a function that sets a category"),
        ("    when: income > 0", "    when: before(incom) > 0", "16: functions.EARN.when: unknown name 'incom'; did you mean 'income'?"),
        ("    when: income > 0", "    when: before(income) > 0", "16: functions.EARN.when: before(…) belongs to formulas of causes: nothing has changed yet here, so write 'income' (at character 1 of: before(income) > 0)"),
        ("    when: income > 0", "    when:", "16: functions.EARN.when: is empty; write a text, in quotes if it is the word null"),
        ("    when: income > 0", "    when: ''", "16: functions.EARN.when: the condition is empty"),
        ("    when: income > 0", "    when: income" + " + 1" * 5000 + " > 0", "16: functions.EARN.when: nested too deeply"),
        ("    when: income > 0", "    phrase: 'Earn {amuont}'", "16: functions.EARN.phrase: {amuont} is unknown; did you mean 'amount'?; there are {argument}, {amount}, {before}, {after}"),
        ("    when: income > 0", "    wehn: income > 0", "16: functions.EARN.wehn: unknown key"),
        # causes
        ("{from: job, to: income, scale: [1, 0.8, 0.5]}", "{to: income}", "28: causes[0]: 'from' is missing"),
        ("{from: job, to: income, scale: [1, 0.8, 0.5]}", "job", "28: causes[0]: should be a mapping of keys and values"),
        ("{from: job, to: income, scale: [1, 0.8, 0.5]}", "{from: jobb, to: income}", "28: causes[0].from: there is no feature 'jobb'; did you mean 'job'?"),
        ("{from: job, to: income, scale: [1, 0.8, 0.5]}", "{from: job, to: wealth}", "28: causes[0].to: there is no feature 'wealth'"),
        ("[1, 0.8, 0.5]", "[1, 0.8]", "28: causes[0].scale: has 2 numbers for the 3 values of job"),
        ("[1, 0.8, 0.5]", "[1, 0.8, -0.5]", "28: causes[0].scale[2]: -0.5 is negative; costs and scales are zero or more"),
        ("[1, 0.8, 0.5]", "{mangaer: 1}", "28: causes[0].scale.mangaer: 'mangaer' is not a value of 'job'; did you mean 'manager'?"),
        ("[1, 0.8, 0.5]", "5", "28: causes[0].scale: is not written in a way that is understood here"),
        ("[1, 0.8, 0.5]", "[{below: 3, scale: 1}]", "28: causes[0].scale: job is no number: its scale is a list by rank or a mapping by value"),
        ("scale: [1, 0.8, 0.5]", "table: {none: 0}, formula: income", "28: causes[0]: has both 'table' and 'formula'; one of them sets the feature"),
        ("scale: [1, 0.8, 0.5]", "table: {nobody: 0}", "28: causes[0].table.nobody: 'nobody' is not a value of 'job'"),
        ("scale: [1, 0.8, 0.5]", "table: {none: little}", "28: causes[0].table.none: 'little' is not a number, but income is"),
        ("scale: [1, 0.8, 0.5]", "table: {none: ~}", "28: causes[0].table.none: should be a value or a number"),
        ("scale: [1, 0.8, 0.5]", "formula: income >", "28: causes[0].formula: expected a value but found 'the end' (at character 9 of: income >)"),
        ("scale: [1, 0.8, 0.5]", "formula: income > 3", "28: causes[0].formula: expected a formula that gives a number, but 'income > 3' is a condition"),
        ("scale: [1, 0.8, 0.5]", "formula: income + 1e308 * 10", "28: causes[0].formula: '1e+308 * 10' can be larger than any number that can be stored; use smaller numbers (at character 16 of: "),
        ("    when: income > 0", "    when: 1e308 * argument > income", "16: functions.EARN.when: '1e+308 * argument' can be larger than any number"),
        ("scale: [1, 0.8, 0.5]", "formula: argument", "28: causes[0].formula: 'argument' has to be a number, but the arguments of WORK (sets job), which can change job, are categories"),
        ("    to: job\n", "    to: job\n    table: {18: worker}\n", "31: causes[1].table: age is a number: write a formula instead of a table"),
        ("    to: job\n", "    to: job\n    formula: '1'\n", "31: causes[1].formula: a formula gives a number, and job is not one"),
        ("      - {below: 25, scale: 0.5}\n      - {scale: 1}", "      [1, 2]", "31: causes[1].scale: age is a number: its scale is a list of intervals like {below: 25, scale: 0.5}"),
        ("{below: 25, scale: 0.5}", "{below: 25, at_most: 24, scale: 0.5}", "32: causes[1].scale[0]: has both 'below' and 'at_most'"),
        ("{below: 25, scale: 0.5}", "{above: 25, at_least: 24, scale: 0.5}", "32: causes[1].scale[0]: has both 'above' and 'at_least'"),
        ("{below: 25, scale: 0.5}", "{below: 25, at_least: 25, scale: 0.5}", "32: causes[1].scale[0]: no number lies in this interval"),
        ("{below: 25, scale: 0.5}", "{scale: 0.5}", "32: causes[1].scale[0]: holds for every number, so what follows never counts"),
        ("{below: 25, scale: 0.5}", "{below: 25}", "32: causes[1].scale[0]: 'scale' is missing"),
        ("{below: 25, scale: 0.5}", "{under: 25, scale: 0.5}", "32: causes[1].scale[0].under: unknown key"),
        ("  - from: age", "  - from: income", "29: causes[1]: the causes run in a circle: "),
        ("{from: job, to: income, scale: [1, 0.8, 0.5]}", "{from: job, to: job}", "28: causes[0]: the causes run in a circle: job → job"),
        (JOB_SCALE, JOB_SCALE + "\n  - {from: job, to: income, formula: '1'}", "29: causes[1]: there is already a cause from job to income: causes[0]"),
        ("    cost: 2", "    cost: {base: 1e308, surcharge: 1.7e308}", "26: functions.AGE.cost: the cost is not finite"),
        ("[1, 0.8, 0.5]", "[1, 1.0e+308, 0.5]", "17: functions.EARN.cost: the cost is not finite, multiplied with the largest scales of its causes"),
    ],
)  # fmt: skip
def test_mistakes_are_reported_with_location_line_and_way_out(errors, old, new, expected):
    found = errors(swap(old, new))
    expected = [expected] if isinstance(expected, str) else expected
    assert len(found) == len(expected), found
    for message, start in zip(found, expected, strict=True):
        assert message.startswith(start)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ("", "1: 'features' is missing: a problem describes at least one feature"),
        ("features:\n", "1: 'features' is missing: a problem describes at least one feature"),
        ("features: {}\n", "1: 'features' is missing: a problem describes at least one feature"),
        ("features: [age, job]\n", "5: features: should be a mapping from names to features"),
        ("features: 5\n", "5: features: should be a mapping from names to features"),
    ],
)
def test_features_are_a_mapping(errors, features, message):
    assert errors("\n".join(LINES[:4]) + "\n" + features) == [message]


@pytest.mark.parametrize("functions", ["[]", "[{add: income}]", "false", "''", "0", "5", "all"])
def test_functions_are_a_mapping(errors, functions):
    text = "\n".join(LINES[:11]) + f"\nfunctions: {functions}\n"
    assert errors(text) == ["12: functions: should be a mapping"]


@pytest.mark.parametrize("causes", ["{}", "{from: age, to: job}", "false", "''", "0", "age"])
def test_causes_are_a_list(errors, causes):
    text = "\n".join(LINES[:11]) + f"\ncauses: {causes}\n"
    assert errors(text) == ["12: causes: should be a list"]


@pytest.mark.parametrize("nothing", ["", "~", "null"])
def test_functions_and_causes_may_be_empty(errors, nothing):
    assert errors("\n".join(LINES[:11]) + f"\nfunctions: {nothing}\ncauses: {nothing}\n") == []


@pytest.mark.parametrize("text", ["5", "[1, 2]", "counterplan", "~"])
def test_a_file_is_a_mapping(errors, text):
    assert errors(text)[0].endswith("a problem file is a mapping that starts with 'counterplan: 1'")


def test_all_mistakes_are_reported_in_the_order_of_the_file(errors):
    text = (
        LOAN.replace("max_actions: 3", "max_actions: 0")
        .replace("[f, m]", "[f, f]")
        .replace("add: income", "add: wealth")
        .replace("base(job)", "base(jab)")
        .replace("[1, 0.8, 0.5]", "[1]")
        .replace("below: 25", "below: x")
    )
    assert [line.split(": ")[:2] for line in errors(text)] == [
        ["4", "max_actions"],
        ["11", "features.sex.values[1]"],
        ["14", "functions.EARN.add"],
        ["21", "functions.WORK.when"],
        ["28", "causes[0].scale"],
        ["32", "causes[1].scale[0].below"],
    ]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("values: [none, worker, manager]", "values: []"),
        ("label: your income", "bins: [2, 1]"),
        ("minimum: 18", "minimum: x"),
    ],
)
def test_a_broken_feature_does_not_break_what_speaks_of_it(errors, old, new):
    assert len(errors(swap(old, new))) == 1


def test_a_broken_feature_does_not_break_conditions_and_formulas_that_mention_it(errors):
    text = swap("when: income > 0", "when: age > 20").replace("scale: [1, 0.8, 0.5]", "formula: age * 10")
    assert errors(text) == []
    assert len(errors(text.replace("minimum: 18", "minimum: x"))) == 1


def test_a_broken_feature_does_not_hide_other_mistakes(errors):
    text = swap("values: [none, worker, manager]", "values: []").replace("when: income > 0", "when: income > x")
    assert [line.split(":")[0] for line in errors(text)] == ["10", "16"]


@pytest.mark.parametrize("unit", ["months", "working days", "half-years", "Monate", "अंतराल", "ヶ月"])
def test_units_of_time_are_words(errors, unit):
    assert errors(LOAN.replace(OUTCOME, f"{OUTCOME}\ntime_unit: {unit}")) == []


@pytest.mark.parametrize(
    "unit",
    [
        "s",
        "5",
        "''",
        "'  '",
        "5 days",
        '"mon\\nths"',
        '"months\\n"',
        '"mon\\u202eths"',
        "a b c days",
        "days-",
        "m" * 41,
    ],
)
def test_other_units_are_refused(errors, unit):
    line = LINES.index(OUTCOME) + 2
    (error,) = errors(LOAN.replace(OUTCOME, f"{OUTCOME}\ntime_unit: {unit}"))
    assert error.startswith(f"{line}: time_unit: should be the plural of a unit, such as months or working days")


def test_a_longer_circle_is_written_out(errors):
    circle = [("age", "sex"), ("age", "income"), ("income", "job"), ("job", "age"), ("sex", "sex2")]
    causes = "".join(f"  - {{from: {a}, to: {b}}}\n" for a, b in circle)
    text = LOAN[: LOAN.index("causes:")] + "causes:\n" + causes
    text = text.replace("functions:", "  sex2: {kind: number}\nfunctions:")
    (message,) = errors(text)
    assert message.startswith("32: causes[3]: the causes run in a circle: ")
    way = message.split("circle: ")[1].split(" → ")
    assert way[0] == way[-1]
    assert len(way) == 4
    assert all(step in circle for step in itertools.pairwise(way))


def test_what_a_formula_reads_is_a_cause_too(errors):
    text = swap("scale: [1, 0.8, 0.5]", "formula: income + age")
    assert errors(text) == []
    text = text.replace("  - from: age\n    to: job", "  - from: income\n    to: age")
    assert errors(text) == ["29: causes[1]: the causes run in a circle: age → income → age"]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("scales", "fine"), [([1, 1], True), ([1e10, 1], True), ([1e10, 1e300], False)])
@pytest.mark.parametrize("base", [0, 1])
def test_a_cost_is_finite_whatever_the_scales(errors, scales, fine, base):
    pairs = zip(("age", "n"), scales, strict=True)
    causes = [f"  - {{from: {name}, to: income, scale: [{{below: 3, scale: {scale}}}]}}\n" for name, scale in pairs]
    text = swap("functions:", "  n: {kind: number}\nfunctions:").replace("base: 10", f"base: {base}")
    found = errors(text[: text.index("causes:")] + "causes:\n" + "".join(causes))
    assert found == [] if fine else "functions.EARN.cost: the cost is not finite" in found[0]


@pytest.mark.parametrize("position", [0, 2000, 3999])
def test_a_long_condition_is_cut_in_messages(errors, position):
    words = ["income > 10"] * 4000
    words[position] = "incom > 10"
    (message,) = errors(swap("when: income > 0", f"when: {' and '.join(words)}"))
    assert "unknown name 'incom'; did you mean 'income'?" in message
    assert "incom > 10" in message.split(" of: ")[1]
    assert len(message) < 250
    for long in (" + ".join(["income"] * 50), "income > 0 and " * 300 + "income", "'" + "x" * 5000 + "'", "(" * 90):
        (message,) = errors(swap("when: income > 0", f"when: {long!r}" if "'" not in long else f'when: "{long}"'))
        assert len(message) < 350


def test_warnings_do_not_stop_a_problem(tmp_path):
    path = tmp_path / "loan.yaml"
    path.write_text(swap("[100, 200]", "[100, 200]").replace("when: income > 0", "when: 1 / income > 0"))
    problem, findings = check(path)
    assert problem is not None
    (warning,) = [finding for finding in findings if "may be zero" in finding.message]
    assert (warning.severity, warning.line) == ("warning", 16)
    path.write_text(swap("    arguments: [1]", "    arguments: [1, 100]"))
    problem, findings = check(path)
    assert problem is not None
    assert "loan:25: functions.AGE.arguments[1]: 100 is more than the bounds of age are apart" in [
        finding.text("loan") for finding in findings
    ]


@pytest.mark.parametrize(
    ("written", "numbers"),
    [
        ("{0.50: 1, 1.0: 2, 1e1: 3}", [1, 2, 3]),
        ("{0.5: 1, 1: 2, 10: 3}", [1, 2, 3]),
        ("[1, 2, 3]", [1, 2, 3]),
        ("1e1", [10, 10, 10]),
    ],
)
def test_costs_by_number_are_found_however_the_number_is_written(tmp_path, written, numbers):
    path = tmp_path / "loan.yaml"
    path.write_text(
        swap("[100, 200]", "[0.50, 1.0, 1e1]").replace("{base: 10, surcharge: [0, 1]}", f"{{base: {written}}}")
    )
    function = Problem.load(path).transitions.functions[0]
    assert function.arguments.tolist() == [0.5, 1, 10]
    assert function.base.tolist() == numbers


def test_a_dict_has_places_without_lines():
    with pytest.raises(ProblemError, match=r"(?m)^mine: features\.age\.kind: unknown kind"):
        Problem.from_dict({"counterplan": 1, "features": {"age": {"kind": "x"}}}, name="mine")


@pytest.mark.parametrize("number", [10**400, -(10**400), float("nan"), float("inf")])
def test_numbers_out_of_this_world_are_refused_in_dicts(number):
    loan = {
        "counterplan": 1, "name": "x", "max_actions": 1, "outcome": {"column": "y", "values": [0, 1], "favourable": 1},
        "features": {"age": {"kind": "number"}},
        "functions": {"F": {"add": "age", "arguments": [1], "cost": 1}},
    }  # fmt: skip
    Problem.from_dict(loan)
    for broken in (
        loan | {"max_actions": number},
        loan | {"features": {"age": {"kind": "number", "minimum": number}}},
        loan | {"functions": {"F": {"add": "age", "arguments": [number], "cost": 1}}},
        loan | {"functions": {"F": {"add": "age", "arguments": [1], "cost": number}}},
    ):
        with pytest.raises(ProblemError):
            Problem.from_dict(broken)


def test_half_characters_in_dicts_are_refused():
    with pytest.raises(ProblemError, match=r"features\.age: has half a character"):
        Problem.from_dict({"counterplan": 1, "features": {"age": {"kind": "number", "minimum": "\ud800"}}})


@pytest.mark.parametrize(
    "data", [{}, {1: 2}, {"features": {3: 4}}, {"functions": {None: None}}, {"causes": [None]}, [], None, 5]
)
def test_any_dict_is_read_or_refused(data):
    with pytest.raises(ProblemError):
        Problem.from_dict(data)
