import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import Evaluation, World

import worlds
from counterplan.errors import ConditionError
from counterplan.problem import Problem
from counterplan.problem.binding import Column, Scope, bind

JOBS = ("none", "worker", "manager")
COLUMNS = {
    "age": Column(0, low=18, high=99),
    "income": Column(1),
    "job": Column(2, JOBS, ordered=True),
    "sex": Column(3, ("f", "m")),
    "former job": Column(4, JOBS, ordered=True),
    "score": Column(5, ("0", "1", "10"), ordered=True),
}
PLAIN = Scope(COLUMNS)
SETS_JOB = Scope(COLUMNS, COLUMNS["job"], {"none": 1.0, "manager": 7.0})
ADDS = Scope(COLUMNS, Column(-1, low=-5, high=5))

# age, income, job, sex, former job, score
ANN = [30, 1000, 1, 0, 2, 2]
BEN = [40, np.nan, np.nan, 1, 0, 0]


def value(text, person, scope=PLAIN, argument=None, want="boolean"):
    return bind(text, scope, want)(np.array(person, float), argument)


@pytest.mark.parametrize(
    ("text", "ann", "ben"),
    [
        ("age < 40", True, False),
        ("age <= 40", True, True),
        ("30 <= age < 40", True, False),
        ("job == 'worker'", True, False),
        ("'worker' == job", True, False),
        ("job >= 'worker'", True, False),
        ("job < `former job`", True, False),
        ("job in ['none', 'worker']", True, False),
        ("sex in ['m']", False, True),
        ("score == 10", True, False),
        ("score in ['10', 1]", True, False),
        ("score > 1", True, False),
        ("rank(score) == 2", True, False),
        ("rank(`former job`) - rank(score) == 0", True, True),
        ("age in [30, 31]", True, False),
        ("age + 10 in [40, 41]", True, False),
        ("true", True, True),
        ("not false and not (false or false)", True, True),
        ("1 < 2", True, True),
        # what is missing
        ("missing(income)", False, True),
        ("not missing(job)", True, False),
        ("income > 0", True, False),
        ("income <= 0", False, False),
        ("not income > 0", False, True),
        ("income == 1000", True, False),
        ("income != 1000", False, True),
        ("income == income", True, False),
        ("income != income", False, True),
        ("job != 'worker'", False, True),
        ("job not in ['worker']", False, True),
        ("job == job", True, False),
        ("rank(job) > -1", True, False),
        ("income + age > 0", True, False),
        ("-income != 0", True, True),
        ("income * 0 == 0", True, False),
        # division
        ("income / 2 == 500", True, False),
        ("1 / (age - 30) > 0 or true", True, True),
        ("1 / (age - 30) > 0", False, True),
        ("1 / (age - 30) <= 0", False, False),
        ("1 / (age - 30) != 5", True, True),
    ],
)
def test_what_conditions_mean_for_two_people(text, ann, ben):
    expression = bind(text, PLAIN)
    together = np.broadcast_to(expression(np.array([ANN, BEN], float)), 2)
    assert together.dtype == bool
    assert together.tolist() == [ann, ben]
    assert bool(value(text, ANN)) == ann
    assert str(bind(str(expression), PLAIN)) == str(expression)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("argument > job", [False, False, True]),
        ("argument != job", [True, False, True]),
        ("argument == 'none'", [True, False, False]),
        ("base(argument) > 0", [True, False, True]),
        ("base(argument) >= 7", [False, False, True]),
        ("base(argument) > base(job)", [True, False, True]),
        ("base(argument) == base(`former job`)", [False, False, True]),
        ("rank(argument) > rank(job)", [False, False, True]),
        ("missing(argument)", [False, False, False]),
        ("age > 18", [True, True, True]),
    ],
)
def test_arguments_stand_beside_the_state(text, expected):
    result = bind(text, SETS_JOB)(np.array([ANN], float)[:, None, :], np.arange(3.0))
    assert np.broadcast_to(result, (1, 3)).tolist() == [expected]


def test_an_unknown_value_has_base_zero():
    assert value("base(job) == 0", BEN, SETS_JOB, np.arange(3.0)).all()
    assert value("base(argument) >= base(job)", BEN, SETS_JOB, np.arange(3.0)).all()


def test_numbers_can_be_arguments_too():
    assert value("income + argument >= 1002", ANN, ADDS, np.array([1.0, 2.0, 3.0])).tolist() == [False, True, True]


def test_a_formula_gives_a_number():
    assert value("income / 4 + age * 2 - -1", ANN, want="number") == 311
    assert np.isnan(value("income / (age - 30)", ANN, want="number"))
    assert np.isnan(value("income + 1", BEN, want="number"))


@pytest.mark.parametrize(
    ("text", "scope", "message", "position"),
    [
        ("incom > 1", PLAIN, "unknown name 'incom'; did you mean 'income'?", 0),
        ("age > 1 and job == manager", PLAIN, "unknown name 'manager'; write 'manager' in quotes if you mean the", 19),
        ("__import__ == 1", PLAIN, "unknown name '__import__'", 0),
        (
            "job == 'mangaer'",
            PLAIN,
            "'mangaer' is not one of the values that it is compared with; did you mean 'man",
            7,
        ),
        ("sex == 'x'", PLAIN, "'x' is not one of the values that it is compared with; the values are f, m", 7),
        ("sex in ['f', 'q']", PLAIN, "'q' is not one of the values", 13),
        ("score == 7", PLAIN, "'7' is not one of the values", 9),
        ("sex < 'm'", PLAIN, "'sex' is a category without order and cannot be compared by '<'; use == or 'in'", 4),
        ("age == 'old'", PLAIN, "'old' is a text and is compared with a number", 7),
        ("'a' == 'b'", PLAIN, "'a' is a text and is compared with another text", 0),
        ("age == job", PLAIN, "cannot compare a number with a category in 'age == job'", 4),
        ("job == sex", PLAIN, "the two sides of 'job == sex' have different values", 4),
        ("job == age + 1", PLAIN, "'age + 1' cannot be compared with a category", 11),
        ("missing(age) == true", PLAIN, "'==' compares values, not conditions", 13),
        ("(age > 1) == (age > 2)", PLAIN, "'==' compares values, not conditions", 10),
        ("age and true", PLAIN, "'and' joins conditions, but 'age' is a number", 0),
        ("true or job", PLAIN, "'or' joins conditions, but 'job' is a category", 8),
        ("not age", PLAIN, "'not' joins conditions, but 'age' is a number", 4),
        ("job + 1 > 2", PLAIN, "'+' works on numbers, but 'job' is a category; use rank(…)", 0),
        ("-job > 2", PLAIN, "'-' works on numbers, but 'job' is a category", 1),
        ("'a' * 2 > 1", PLAIN, "'*' works on numbers, but ''a'' is a text", 0),
        ("1 + (age > 2) > 1", PLAIN, "'+' works on numbers, but 'age > 2' is a condition", 9),
        ("rank(sex) > 0", PLAIN, "rank(…) takes an ordered feature or its argument", 0),
        ("rank(age) > 0", PLAIN, "rank(…) takes an ordered feature or its argument", 0),
        ("missing(age + 1)", PLAIN, "missing(…) takes the name of a feature", 0),
        ("missing('a')", PLAIN, "missing(…) takes the name of a feature", 0),
        ("argument > 1", PLAIN, "there is no 'argument' here: it belongs to functions and formulas", 0),
        ("base(job) > 1", PLAIN, "base(…) needs a function that sets a category and has a base for each", 0),
        ("base(argument) > 1", ADDS, "base(…) needs a function that sets a category and has a base for each", 0),
        ("base(sex) > 1", SETS_JOB, "base(…) takes 'argument' or the feature that the function sets", 0),
        ("age in [job]", PLAIN, "a list after 'in' holds plain values, not 'job'", 8),
        ("age in ['a']", PLAIN, "'a' is a text and is compared with a number", 8),
        ("true in [1]", PLAIN, "cannot compare a condition with a number", 9),
        ("age / 0 > 1", PLAIN, "'age / 0' divides by zero", 6),
        ("age / (2 - 2) > 1", PLAIN, "divides by zero", 9),
        ("age / -0.0 > 1", PLAIN, "divides by zero", 6),
        ("age", PLAIN, "expected a condition that is true or false, but 'age' is a number", 0),
        ("'a'", PLAIN, "expected a condition that is true or false, but ''a'' is a text", 0),
    ],
)
def test_invalid_expressions_are_reported_with_their_position(text, scope, message, position):
    with pytest.raises(ConditionError) as caught:
        bind(text, scope)
    assert message in str(caught.value)
    assert caught.value.position == position


def test_a_formula_that_is_a_condition_is_refused():
    with pytest.raises(ConditionError, match="expected a formula that gives a number, but 'age > 1' is a condition"):
        bind("age > 1", PLAIN, "number")


@pytest.mark.parametrize(
    ("text", "warned"),
    [
        ("1 / income > 0", True),
        ("1 / age > 0", False),
        ("1 / (age - 18) > 0", True),
        ("1 / (age - age) > 0", True),
        ("1 / (age + 1) > 0", False),
        ("1 / -age > 0", False),
        ("1 / (age * income) > 0", True),
        ("1 / (age * 2) > 0", False),
        ("1 / rank(job) > 0", True),
        ("1 / (rank(job) + 1) > 0", False),
        ("1 / (1 / age) > 0", True),
        ("1 / base(argument) > 0", True),
        ("age / 2 > 0", False),
    ],
)
def test_a_divisor_that_may_be_zero_is_warned_of(text, warned):
    assert bool(bind(text, SETS_JOB).warnings) == warned


def test_a_warning_names_the_divisor():
    (warning,) = bind("age / (income - 1) > 0", PLAIN).warnings
    assert warning.startswith("'income - 1' may be zero in 'age / (income - 1)'")


@given(st.data())
@settings(max_examples=40)
def test_conditions_mean_on_arrays_what_they_mean_for_one_person(data):
    file = data.draw(worlds.problem_dicts())
    problem, world = Problem.from_dict(file), World(file)
    states = problem.read(data.draw(worlds.people(problem))).states
    for function in problem.transitions.functions:
        result = function.when(states[:, None, :], function.arguments)
        shape = (len(states), len(function.natives))
        result = np.broadcast_to(result, shape)
        for row in range(shape[0]):
            state = world.state(states[row])
            for i, native in enumerate(function.natives):
                naive = Evaluation(world, state, function.name, world.argument(function.name, native))
                assert result[row, i] == naive.of(function.when.tree), (str(function.when), state, native)
    for cause in problem.transitions.causes:
        if cause.formula is not None:
            before, argument = states[::-1], np.arange(-1.0, len(states) - 1)
            numbers = np.broadcast_to(cause.formula(states, argument, before), len(states))
            naive_numbers = [
                Evaluation(world, world.state(now), None, number, world.state(earlier)).of(cause.formula.tree)
                for now, number, earlier in zip(states, argument, before, strict=True)
            ]
            np.testing.assert_array_equal(numbers, np.array(naive_numbers, float))
