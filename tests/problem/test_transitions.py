import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import World

import worlds
from counterplan.problem import Problem
from worlds import benchmark

ADULT = {
    "age": 40, "workclass": "Private", "fnlwgt": 1, "education": "HS-grad", "education_num": 9,
    "marital_status": "Never-married", "occupation": "Sales", "relationship": "Not-in-family", "race": "White",
    "sex": "Male", "capital_gain": 0, "capital_loss": 0, "hours_per_week": 40, "native_country": "?",
}  # fmt: skip
GERMAN = {
    "age": 30, "sex": "male", "job": "skilled", "housing": "rent", "saving_accounts": "little",
    "checking_account": "little", "credit_amount": 6000, "duration": 36, "purpose": "car",
}  # fmt: skip
SYN = {
    "age": 40, "education": "diploma", "job": "worker", "income": 30000, "house": "rent", "credit": 5000, "sex": "male",
    "relationship": "single", "country": "italy",
}  # fmt: skip
SYN_LONG = SYN | {"savings": 20000, "purpose": "car", "credit_score": 3, "expenses": 900}
TAIWAN = {
    "age": 35, "sex": "female", "marriage": None, "education": "high_school", "limit": 100000, "repayment": "revolving",
    "earlier_repayment": "revolving", "late_months": 0, "pays_every_month": True, "bill": 60000, "utilisation": 60,
    "payment": 3000, "earlier_bill": 40000, "share_paid": 8,
}  # fmt: skip
PEOPLE = {"adult": ADULT, "german": GERMAN, "syn": SYN, "syn_long": SYN_LONG, "taiwan": TAIWAN}


class Case:
    """One person of a benchmark, with what they can do."""

    def __init__(self, name, **changes):
        self.problem = benchmark(name)
        self.transitions = self.problem.transitions
        self.state = self.problem.state(PEOPLE[name] | changes)
        self.index = {str(action): action.index for action in self.transitions.actions}

    def legal(self, function):
        """The arguments of `function` that are possible."""
        mask = self.transitions.legal(self.state[None])[0]
        return [a.argument for a in self.transitions.actions if a.function == function and mask[a.index]]

    def cost(self, action):
        return self.transitions.cost(self.state[None])[0, self.index[action]]

    def after(self, action):
        state = self.transitions.apply(self.state[None], np.array([self.index[action]]))[0]
        before, after = self.problem.describe(self.state), self.problem.describe(state)
        return {name: value for name, value in after.items() if value != before[name]}


# syn


def test_syn_education_goes_up_only_and_costs_its_base():
    case = Case("syn", education="bachelor")
    assert case.legal("CHANGE_EDUCATION") == ["master", "phd"]
    assert [case.cost(f"CHANGE_EDUCATION={v}") for v in ("none", "diploma", "bachelor", "master", "phd")] == [
        1,
        2,
        3,
        4,
        5,
    ]
    assert Case("syn", education="phd").legal("CHANGE_EDUCATION") == []


@pytest.mark.parametrize(
    ("education", "scale"), [("none", 1), ("diploma", 0.7), ("bachelor", 0.5), ("master", 0.4), ("phd", 0.3)]
)
def test_syn_a_job_is_cheaper_with_more_education(education, scale):
    case = Case("syn", education=education, job="self_employed")
    assert case.legal("CHANGE_JOB") == ["office_worker", "manager", "ceo"]
    assert case.cost("CHANGE_JOB=office_worker") == pytest.approx(7 * scale)
    assert case.cost("CHANGE_JOB=ceo") == pytest.approx(9 * scale)
    assert case.after("CHANGE_JOB=ceo") == {"job": "ceo"}


@pytest.mark.parametrize(
    ("job", "scale"),
    [
        ("unemployed", 1),
        ("worker", 0.8),
        ("self_employed", 0.6),
        ("office_worker", 0.7),
        ("manager", 0.5),
        ("ceo", 0.4),
    ],
)
def test_syn_income_is_cheaper_with_a_better_job_but_its_surcharge_is_not(job, scale):
    case = Case("syn", job=job)
    assert case.cost("CHANGE_INCOME=5000") == pytest.approx(14 * scale)
    assert case.cost("CHANGE_INCOME=50000") == pytest.approx(5 + 14 * scale)
    assert case.after("CHANGE_INCOME=50000") == {"income": 80000}


def test_syn_income_rises_only_from_something():
    assert Case("syn", income=0).legal("CHANGE_INCOME") == []
    assert Case("syn", income=0.5).legal("CHANGE_INCOME") == [5000, 10000, 20000, 30000, 40000, 50000]


@pytest.mark.parametrize(
    ("income", "scale"),
    [
        (30000, 1), (30000.01, 0.7), (50000, 0.7), (50001, 0.4), (70000, 0.4), (70001, 0.3), (100000, 0.3),
        (100001, 0.2), (130000, 0.2), (130001, 0.1), (1e9, 0.1), (0, 1), (-5, 1),
    ],
)  # fmt: skip
def test_syn_a_house_is_cheaper_above_each_income(income, scale):
    case = Case("syn", income=income, house="none")
    assert case.legal("CHANGE_HOUSE") == ["rent", "own"]
    assert case.cost("CHANGE_HOUSE=rent") == pytest.approx(12 * scale)
    assert case.cost("CHANGE_HOUSE=own") == pytest.approx(14 * scale)


@pytest.mark.parametrize(
    ("now", "then"),
    [
        ("single", ["married"]),
        ("married", ["divorced"]),
        ("divorced", ["single", "married"]),
        ("widowed", ["single", "married"]),
    ],
)
def test_syn_relationships_change_as_in_life(now, then):
    case = Case("syn", relationship=now)
    assert case.legal("CHANGE_RELATION") == then
    assert [case.cost(f"CHANGE_RELATION={v}") for v in ("single", "married", "divorced", "widowed")] == [8, 5, 8, 8]


# syn_long


def test_syn_long_has_nine_functions_besides_stop_and_keeps_the_rules_of_syn():
    short, long = benchmark("syn").transitions, benchmark("syn_long").transitions
    assert (len(long.functions), benchmark("syn_long").max_actions, benchmark("syn").max_actions) == (9, 8, 6)
    assert [str(a) for a in long.actions[: short.stop]] == [str(a) for a in short.actions[:-1]]
    case, other = Case("syn"), Case("syn_long")
    np.testing.assert_array_equal(
        long.legal(other.state[None])[0, : short.stop], short.legal(case.state[None])[0, : short.stop]
    )
    np.testing.assert_array_equal(
        long.cost(other.state[None])[0, : short.stop], short.cost(case.state[None])[0, : short.stop]
    )


def test_syn_long_savings_cost_like_income():
    case = Case("syn_long", job="office_worker", savings=1)
    assert case.legal("CHANGE_SAVINGS") == [5000, 10000, 20000, 30000, 40000, 50000]
    assert case.cost("CHANGE_SAVINGS=20000") == pytest.approx(2 + 14 * 0.7)
    assert Case("syn_long", savings=0).legal("CHANGE_SAVINGS") == []


def test_syn_long_purpose_goes_down_and_score_goes_up():
    case = Case("syn_long", purpose="car", credit_score=4)
    assert case.legal("CHANGE_PURPOSE") == ["education", "furniture"]
    assert [case.cost(f"CHANGE_PURPOSE={v}") for v in ("education", "furniture", "car", "house")] == [5, 6, 7, 8]
    assert case.legal("CHANGE_SCORE") == [5, 6]
    assert [case.cost(f"CHANGE_SCORE={v}") for v in range(7)] == [10, 11, 12, 13, 14, 15, 16]
    assert case.after("CHANGE_SCORE=6") == {"credit_score": 6}


@pytest.mark.parametrize(
    ("expenses", "possible"),
    [(100, []), (100.5, [-100]), (500, [-100, -200]), (501, [-100, -200, -500]), (1001, [-100, -200, -500, -1000])],
)
def test_syn_long_expenses_stay_above_zero(expenses, possible):
    case = Case("syn_long", expenses=expenses, job="ceo")
    assert case.legal("CHANGE_EXPENSES") == possible
    assert case.cost("CHANGE_EXPENSES=-1000") == pytest.approx(3 + 14 * 0.4)
    assert case.after("CHANGE_EXPENSES=-100") == {"expenses": expenses - 100}


# german


@pytest.mark.parametrize(
    ("age", "scale"), [(19, 0.2), (24, 0.2), (25, 0.3), (39, 0.3), (40, 0.7), (54, 0.7), (55, 1), (75, 1)]
)
def test_german_a_job_is_cheaper_for_the_young(age, scale):
    case = Case("german", age=age, job="unskilled_non_resident")
    assert case.legal("CHANGE_JOB") == ["unskilled_resident", "skilled", "highly_skilled"]
    assert case.cost("CHANGE_JOB=unskilled_resident") == pytest.approx(1 + 10 * scale)
    assert case.cost("CHANGE_JOB=highly_skilled") == pytest.approx(3 + 10 * scale)


@pytest.mark.parametrize(
    ("job", "scale"),
    [("unskilled_non_resident", 1), ("unskilled_resident", 0.6), ("skilled", 0.3), ("highly_skilled", 0.2)],
)
def test_german_savings_are_cheaper_with_a_better_job(job, scale):
    case = Case("german", job=job, saving_accounts="little")
    assert case.legal("CHANGE_SAVINGS") == ["moderate", "quite_rich", "rich"]
    assert case.cost("CHANGE_SAVINGS=moderate") == pytest.approx(2 + 10 * scale)
    assert case.cost("CHANGE_SAVINGS=rich") == pytest.approx(4 + 10 * scale)


@pytest.mark.parametrize(
    ("savings", "scale"), [("unknown", 1), ("little", 0.7), ("moderate", 0.3), ("quite_rich", 0.2), ("rich", 0.2)]
)
def test_german_housing_is_cheaper_with_savings(savings, scale):
    case = Case("german", saving_accounts=savings, housing="free")
    assert case.legal("CHANGE_HOUSING") == ["rent", "own"]
    assert case.cost("CHANGE_HOUSING=own") == pytest.approx(2 + 10 * scale)


@pytest.mark.parametrize(
    ("amount", "possible"),
    [(349, []), (350, [-100]), (1249, [-100]), (1250, [-100, -1000]), (5250, [-100, -1000, -2000, -5000])],
)
def test_german_credit_stays_at_least_250(amount, possible):
    case = Case("german", credit_amount=amount)
    assert case.legal("CHANGE_CREDIT") == possible
    assert [case.cost(f"CHANGE_CREDIT={v}") for v in (-100, -1000, -2000, -5000)] == [10, 11, 12, 13]


@pytest.mark.parametrize(("months", "possible"), [(13, []), (14, [-10]), (33, [-10, -20]), (34, [-10, -20, -30])])
def test_german_duration_stays_at_least_4(months, possible):
    case = Case("german", duration=months)
    assert case.legal("CHANGE_DURATION") == possible
    assert [case.cost(f"CHANGE_DURATION={v}") for v in (-10, -20, -30)] == [10, 11, 12]
    assert case.after("CHANGE_DURATION=-10") == {"duration": months - 10}


def test_german_purpose_only_has_to_differ():
    case = Case("german", purpose="radio/TV")
    others = [
        "business",
        "car",
        "domestic_appliances",
        "education",
        "furniture/equipment",
        "repairs",
        "vacation/others",
    ]
    assert case.legal("CHANGE_PURPOSE") == others
    assert case.cost("CHANGE_PURPOSE=repairs") == 10


def test_german_age_sex_and_checking_account_never_change():
    problem = benchmark("german")
    changing = {problem.features[i].name for i in problem.transitions.mutable}
    assert changing == {"job", "housing", "saving_accounts", "credit_amount", "duration", "purpose"}


# taiwan


@pytest.mark.parametrize(
    ("changes", "possible"),
    [
        ({}, []),
        ({"repayment": "late_2"}, ["late_1", "revolving"]),
        ({"repayment": "late_4", "payment": 1000}, ["late_3", "late_2", "late_1", "revolving"]),
        ({"repayment": "late_1", "payment": 900}, []),
        ({"repayment": "late_1", "payment": 0, "earlier_bill": None, "share_paid": None}, ["revolving"]),
    ],
)
def test_taiwan_catching_up_needs_a_payment_unless_nothing_was_due(changes, possible):
    assert Case("taiwan", **changes).legal("CATCH_UP") == possible


@pytest.mark.parametrize(("payment", "scale"), [(1000, 1), (2000, 0.9), (5000, 0.7), (9900, 0.7), (10000, 0.5)])
def test_taiwan_catching_up_is_cheaper_with_higher_payments(payment, scale):
    case = Case("taiwan", repayment="late_2", payment=payment)
    assert case.cost("CATCH_UP=late_1") == pytest.approx(2 + 8 * scale)
    assert case.cost("CATCH_UP=revolving") == pytest.approx(3 + 8 * scale)


@pytest.mark.parametrize(
    ("education", "regular", "scale"),
    [("high_school", False, 1), ("university", False, 0.9), (None, True, 0.7), ("graduate_school", True, 0.49)],
)
def test_taiwan_payments_go_up_to_the_bill_they_pay(education, regular, scale):
    case = Case("taiwan", education=education, pays_every_month=regular, earlier_bill=8000, share_paid=38)
    assert case.legal("RAISE_PAYMENT") == [1000, 2000, 5000]
    assert case.cost("RAISE_PAYMENT=5000") == pytest.approx(9 * scale)
    assert case.after("RAISE_PAYMENT=5000") == {"payment": 8000, "share_paid": 100}
    assert Case("taiwan", earlier_bill=None, share_paid=None).legal("RAISE_PAYMENT") == []


def test_taiwan_utilisation_follows_the_bill_and_the_limit():
    case = Case("taiwan")
    assert case.after("PAY_DOWN=-50000") == {"bill": 10000, "utilisation": 10}
    assert case.after("TAKE_INSTALMENT_LOAN=0") == {"bill": 0, "utilisation": 0}
    assert case.after("RAISE_LIMIT=100000") == {"limit": 200000, "utilisation": 30}
    assert case.after("LOWER_LIMIT=-10000") == {"limit": 90000, "utilisation": 67}
    assert case.legal("LOWER_LIMIT") == [-10000]
    assert Case("taiwan", bill=10000, utilisation=10).legal("LOWER_LIMIT") == [-10000, -50000]
    assert Case("taiwan", bill=4900).legal("PAY_DOWN") == [-2000]


def test_taiwan_some_actions_are_for_those_who_pay_in_time():
    late = Case("taiwan", repayment="late_1", pays_every_month=False, utilisation=20)
    for function in ("PAY_IN_FULL", "SET_UP_DIRECT_DEBIT", "TAKE_INSTALMENT_LOAN", "RAISE_LIMIT"):
        assert late.legal(function) == []
    in_time = Case("taiwan", pays_every_month=False, utilisation=20)
    assert in_time.legal("SET_UP_DIRECT_DEBIT") == [True]
    assert in_time.after("SET_UP_DIRECT_DEBIT=true") == {"pays_every_month": True}
    assert in_time.legal("PAY_IN_FULL") == in_time.legal("TAKE_INSTALMENT_LOAN") == []
    assert in_time.legal("RAISE_LIMIT") == [10000, 50000, 100000]
    regular = Case("taiwan", utilisation=20)
    assert regular.legal("PAY_IN_FULL") == ["in_full"]
    assert regular.legal("TAKE_INSTALMENT_LOAN") == [0]
    assert Case("taiwan", utilisation=61).legal("RAISE_LIMIT") == []


@pytest.mark.parametrize(("age", "scale"), [(29, 0.6), (30, 0.8), (40, 1)])
def test_taiwan_a_degree_follows_another(age, scale):
    assert Case("taiwan", age=age).legal("FINISH_DEGREE") == ["university"]
    assert Case("taiwan", age=age).cost("FINISH_DEGREE=university") == pytest.approx(20 * scale)
    assert Case("taiwan", education="university").legal("FINISH_DEGREE") == ["graduate_school"]
    for education in ("graduate_school", "other", None):
        assert Case("taiwan", education=education).legal("FINISH_DEGREE") == []


def test_taiwan_protected_features_and_the_past_never_change():
    problem = benchmark("taiwan")
    assert [feature.name for feature in problem.features if feature.protected] == ["age", "sex", "marriage"]
    changing = {problem.features[i].name for i in problem.transitions.mutable}
    assert changing == {
        "education", "limit", "repayment", "pays_every_month", "bill", "utilisation", "payment", "share_paid",
    }  # fmt: skip


# adult

WORKCLASSES = [
    "Never-worked", "Without-pay", "Self-emp-not-inc", "Self-emp-inc", "Private", "Local-gov", "State-gov",
    "Federal-gov",
]  # fmt: skip
OCCUPATIONS = {
    "Exec-managerial": 19, "Tech-support": 18, "Sales": 18, "Prof-specialty": 18, "Adm-clerical": 18,
    "Handlers-cleaners": 17, "Machine-op-inspct": 17, "Craft-repair": 16, "Other-service": 16, "Farming-fishing": 16,
    "Transport-moving": 16, "Priv-house-serv": 16, "Protective-serv": 16,
}  # fmt: skip


@pytest.mark.parametrize(
    ("now", "possible"),
    [
        ("?", WORKCLASSES),
        ("Never-worked", WORKCLASSES[1:]),
        ("Self-emp-not-inc", WORKCLASSES[3:]),
        ("Self-emp-inc", ["Self-emp-not-inc", *WORKCLASSES[4:]]),
        ("Federal-gov", ["State-gov"]),
    ],
)
def test_adult_an_employer_is_not_left_for_a_cheaper_one(now, possible):
    assert Case("adult", workclass=now).legal("CHANGE_WORKCLASS") == possible


@pytest.mark.parametrize(("education", "rank"), [("Preschool", 0), ("1st-4th", 1), ("HS-grad", 8), ("Doctorate", 15)])
def test_adult_an_employer_is_cheaper_with_more_education(education, rank):
    case = Case("adult", education=education)
    costs = [case.cost(f"CHANGE_WORKCLASS={v}") for v in WORKCLASSES]
    assert costs == pytest.approx([base * (1 - 0.05 * rank) for base in (14, 15, 16, 16, 17, 17, 18, 18)])


@pytest.mark.parametrize("workclass", [*WORKCLASSES, "?"])
def test_adult_an_occupation_is_cheaper_by_employer_and_as_it_is_if_that_is_unknown(workclass):
    case = Case("adult", workclass=workclass, occupation="?")
    scale = 1 if workclass == "?" else 1 - 0.0625 * WORKCLASSES.index(workclass)
    assert set(case.legal("CHANGE_OCCUPATION")) == set(OCCUPATIONS)
    for occupation, base in OCCUPATIONS.items():
        assert case.cost(f"CHANGE_OCCUPATION={occupation}") == pytest.approx(base * scale)


def test_adult_an_occupation_is_not_left_for_a_cheaper_one_and_armed_forces_is_nobodys_goal():
    assert Case("adult", occupation="Exec-managerial").legal("CHANGE_OCCUPATION") == []
    assert Case("adult", occupation="Sales").legal("CHANGE_OCCUPATION") == [
        "Tech-support", "Exec-managerial", "Prof-specialty", "Adm-clerical",
    ]  # fmt: skip
    assert set(Case("adult", occupation="Armed-Forces").legal("CHANGE_OCCUPATION")) == set(OCCUPATIONS)


def test_adult_unknown_is_never_an_argument():
    assert not [action for action in benchmark("adult").transitions.actions if action.argument == "?"]


@pytest.mark.parametrize(
    ("education", "number", "rank"), [("12th", 8, 7), ("Bachelors", 13, 12), ("Masters", 14, 13), ("Doctorate", 16, 15)]
)
def test_adult_education_brings_its_number_along(education, number, rank):
    case = Case("adult", education="11th", education_num=7)
    assert case.after(f"CHANGE_EDUCATION={education}") == {"education": education, "education_num": number}
    assert case.cost(f"CHANGE_EDUCATION={education}") == 10 + rank


def test_adult_education_goes_up_only():
    assert Case("adult", education="Bachelors").legal("CHANGE_EDUCATION") == ["Masters", "Prof-school", "Doctorate"]


def test_adult_men_become_husbands_and_women_wives():
    man = Case("adult", sex="Male", relationship="Own-child")
    woman = Case("adult", sex="Female", relationship="Own-child")
    assert man.legal("CHANGE_RELATIONSHIP") == ["Husband", "Not-in-family", "Other-relative", "Unmarried"]
    assert woman.legal("CHANGE_RELATIONSHIP") == ["Wife", "Not-in-family", "Other-relative", "Unmarried"]
    assert Case("adult", sex="Male", relationship="Husband").legal("CHANGE_RELATIONSHIP") == []
    assert Case("adult", sex="Male", relationship="Unmarried").legal("CHANGE_RELATIONSHIP") == [
        "Husband", "Not-in-family", "Other-relative",
    ]  # fmt: skip
    costs = {"Husband": 15, "Wife": 15, "Not-in-family": 14, "Other-relative": 14, "Unmarried": 14, "Own-child": 13}
    assert {value: man.cost(f"CHANGE_RELATIONSHIP={value}") for value in costs} == costs


def test_adult_husbands_and_wives_are_married():
    case = Case("adult", marital_status="Divorced")
    assert case.after("CHANGE_RELATIONSHIP=Husband") == {
        "relationship": "Husband", "marital_status": "Married-civ-spouse",
    }  # fmt: skip
    assert case.after("CHANGE_RELATIONSHIP=Unmarried") == {"relationship": "Unmarried"}


@pytest.mark.parametrize(
    ("hours", "possible"), [(60, [5, 10, 15, 20]), (61, [5, 10, 15]), (75, [5]), (76, []), (80, []), (99, [])]
)
def test_adult_nobody_works_more_than_80_hours(hours, possible):
    case = Case("adult", hours_per_week=hours)
    assert case.legal("CHANGE_HOURS") == possible
    assert [case.cost(f"CHANGE_HOURS={v}") for v in (5, 10, 15, 20)] == [10, 11, 12, 13]


def test_adult_what_never_changes():
    problem = benchmark("adult")
    changing = {problem.features[i].name for i in problem.transitions.mutable}
    fixed = {"age", "race", "sex", "native_country", "fnlwgt", "capital_gain", "capital_loss"}
    assert changing == {feature.name for feature in problem.features} - fixed
    assert {f.name for f in problem.features if f.protected} == {"race", "sex", "native_country"}


# Small worlds, by hand


def problem_of(features, functions, causes=()):
    return Problem.from_dict(
        {
            "counterplan": 1, "name": "small", "max_actions": 3, "features": features, "functions": functions,
            "outcome": {"column": "decision", "values": [0, 1], "favourable": 1}, "causes": list(causes),
        }
    )  # fmt: skip


NUMBER = {"kind": "number"}


def legal_and_after(problem, *state):
    transitions, states = problem.transitions, np.array([state], float)
    return transitions.legal(states)[0, 0], transitions.apply(states, np.array([0]))[0].tolist()


def test_sums_are_rounded_so_that_two_ways_to_a_value_meet():
    problem = problem_of({"x": NUMBER}, {"UP": {"add": "x", "arguments": [0.1, 0.2, 0.3], "cost": 1}})
    one = problem.transitions.apply(np.array([[0.0]]), np.array([2]))
    two = problem.transitions.apply(problem.transitions.apply(np.array([[0.0]]), np.array([0])), np.array([1]))
    assert one[0, 0] == two[0, 0] == 0.3


def test_a_sum_that_reaches_a_bound_is_legal_and_beyond_it_is_not():
    problem = problem_of(
        {"x": NUMBER | {"minimum": -0.3, "maximum": 0.3}}, {"UP": {"add": "x", "arguments": [0.1], "cost": 1}}
    )
    assert legal_and_after(problem, 0.2) == (True, [0.3])  # 0.2 + 0.1 is 0.30000000000000004 to a computer
    assert not legal_and_after(problem, 0.21)[0]


def test_large_whole_numbers_stay_whole():
    problem = problem_of({"x": NUMBER | {"integer": True}}, {"UP": {"add": "x", "arguments": [5], "cost": 1}})
    amounts = np.random.default_rng(0).integers(10**9, 2**52, 2000)
    states = amounts[:, None].astype(float)
    after = problem.transitions.apply(states, np.zeros(len(states), int))
    np.testing.assert_array_equal(after[:, 0], (amounts + 5).astype(float))


def test_adding_what_the_number_cannot_hold_changes_nothing_and_is_illegal():
    problem = problem_of({"x": NUMBER}, {"UP": {"add": "x", "arguments": [1e-12], "cost": 1}})
    assert legal_and_after(problem, 1) == (False, [1])


def test_nothing_can_be_added_to_what_is_missing_but_it_can_be_set():
    functions = {"ADD": {"add": "x", "arguments": [1], "cost": 1}, "SET": {"set": "x", "arguments": [7], "cost": 1}}
    problem = problem_of({"x": NUMBER | {"missing": True}}, functions)
    assert problem.transitions.legal(np.array([[np.nan], [6], [7]])).tolist() == [
        [False, True, True], [True, True, True], [True, False, True],
    ]  # fmt: skip
    assert problem.transitions.apply(np.array([[np.nan]]), np.array([1])).tolist() == [[7]]


def test_a_formula_that_leaves_the_bounds_forbids_the_step():
    problem = problem_of(
        {"x": NUMBER, "y": NUMBER | {"maximum": 10}, "z": NUMBER | {"maximum": 40}},
        {"UP": {"add": "x", "arguments": [1], "cost": 1}},
        [{"from": "y", "to": "z", "formula": "4 * y"}, {"from": "x", "to": "y", "formula": "2 * x"}],
    )
    assert legal_and_after(problem, 4, 0, 0) == (True, [5, 10, 40])
    assert not legal_and_after(problem, 5, 0, 0)[0]
    lower = problem_of(
        {"x": NUMBER, "y": NUMBER, "z": NUMBER | {"maximum": 39}},
        {"UP": {"add": "x", "arguments": [1], "cost": 1}},
        [{"from": "y", "to": "z", "formula": "4 * y"}, {"from": "x", "to": "y", "formula": "2 * x"}],
    )
    assert not legal_and_after(lower, 4, 0, 0)[0]


def test_a_formula_at_the_end_of_a_chain_forbids_the_step_too():
    letters = {"kind": "ordered", "values": ["a", "b"]}
    problem = problem_of(
        {"x": letters, "y": letters, "z": NUMBER | {"maximum": 5}},
        {"SET": {"set": "x", "arguments": ["b"], "cost": 1}},
        [{"from": "x", "to": "y", "table": {"b": "b"}}, {"from": "y", "to": "z", "formula": "z + 3"}],
    )
    assert legal_and_after(problem, 0, 0, 2) == (True, [1, 1, 5])
    assert not legal_and_after(problem, 0, 0, 3)[0]
    assert legal_and_after(problem, 0, 1, 3) == (True, [1, 1, 3]), "what does not change has no consequences"


@pytest.mark.parametrize(("may_miss", "legal"), [(False, False), (True, True)])
def test_a_formula_without_a_result_needs_a_feature_that_may_be_missing(may_miss, legal):
    problem = problem_of(
        {"x": NUMBER, "y": NUMBER, "z": NUMBER | {"missing": may_miss}},
        {"UP": {"add": "x", "arguments": [1], "cost": 1}},
        [{"from": "x", "to": "z", "formula": "x / y"}],
    )
    assert legal_and_after(problem, 1, 4, 0) == (True, [2, 4, 0.5])
    assert legal_and_after(problem, 1, 0, 0)[0] == legal
    assert not legal_and_after(problem, 1, 1e-320, 0)[0]


def test_a_formula_for_a_whole_number_is_rounded():
    problem = problem_of(
        {"x": NUMBER, "y": NUMBER | {"integer": True}},
        {"UP": {"add": "x", "arguments": [1], "cost": 1}},
        [{"from": "x", "to": "y", "formula": "x / 3"}],
    )
    assert legal_and_after(problem, 4, 0)[1] == [5, 2]


def test_a_table_leaves_alone_what_it_does_not_name_and_only_acts_on_change():
    letters = {"kind": "category", "values": ["a", "b", "c"]}
    problem = problem_of(
        {"x": letters, "y": letters},
        {"SET": {"set": "x", "arguments": "all", "cost": 1}, "OTHER": {"set": "y", "arguments": "all", "cost": 1}},
        [{"from": "x", "to": "y", "table": {"a": "c", "b": "a"}}],
    )
    states = np.array([[0, 1], [1, 1], [1, 1], [0, 0]], float)
    assert problem.transitions.apply(states, np.array([1, 0, 2, 4])).tolist() == [[1, 0], [0, 2], [2, 1], [0, 1]]


def test_a_chain_of_consequences_runs_in_causal_order_whatever_the_file_says():
    numbers = dict.fromkeys("dcba", NUMBER)
    chain = [{"from": a, "to": b, "formula": f"{a} + 1"} for a, b in ("cd", "bc", "ab")]
    problem = problem_of(numbers, {"UP": {"add": "a", "arguments": [10], "cost": 1}}, chain)
    assert legal_and_after(problem, 0, 0, 0, 0)[1] == [13, 12, 11, 10]
    assert problem.transitions.mutable.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("turned", [False, True])
def test_a_formula_reads_what_the_same_step_has_set_whatever_the_file_says(turned):
    causes = [{"from": "x", "to": "z", "formula": "y + 1"}, {"from": "x", "to": "y", "formula": "x * 2"}]
    problem = problem_of(
        {"x": NUMBER, "y": NUMBER, "z": NUMBER},
        {"UP": {"add": "x", "arguments": [1], "cost": 1}},
        causes[::-1] if turned else causes,
    )
    assert legal_and_after(problem, 0, 0, 0) == (True, [1, 2, 3])


@pytest.mark.parametrize("turned", [False, True])
def test_of_two_causes_that_set_one_feature_the_nearer_wins(turned):
    causes = [
        {"from": "x", "to": "y", "formula": "x"},
        {"from": "y", "to": "z", "formula": "100"},
        {"from": "x", "to": "z", "formula": "200"},
    ]
    problem = problem_of(
        {"z": NUMBER, "y": NUMBER, "x": NUMBER},
        {"UP": {"add": "x", "arguments": [1], "cost": 1}},
        causes[::-1] if turned else causes,
    )
    assert legal_and_after(problem, 0, 0, 0) == (True, [100, 1, 1])


def test_scales_of_several_causes_multiply_and_missing_causes_count_one():
    problem = problem_of(
        {
            "x": NUMBER | {"missing": True},
            "k": {"kind": "category", "values": ["a", "b"], "missing": True},
            "y": NUMBER,
        },
        {"UP": {"add": "y", "arguments": [1, 2], "cost": {"base": [10, 20], "surcharge": 1}}},
        [
            {"from": "x", "to": "y", "scale": [{"below": 3, "scale": 0.5}, {"at_least": 3, "at_most": 4, "scale": 3}]},
            {"from": "k", "to": "y", "scale": {"b": 0.2}},
        ],
    )
    states = np.array([[2, 0, 0], [3, 0, 0], [4, 1, 0], [4.1, 1, 0], [np.nan, 1, 0], [2, np.nan, 0]])
    expected = [[6, 11], [31, 61], [7, 13], [3, 5], [3, 5], [6, 11]]
    np.testing.assert_allclose(problem.transitions.cost(states)[:, :2], expected)
    np.testing.assert_allclose(problem.transitions.least_costs, [2, 3, 0])


def test_a_world_without_functions_only_stops():
    problem = problem_of({"x": NUMBER}, {})
    states = np.array([[1.0], [2.0]])
    assert problem.transitions.legal(states).tolist() == [[True], [True]]
    assert problem.transitions.cost(states).tolist() == [[0], [0]]
    assert problem.transitions.apply(states, np.array([0, 0])).tolist() == states.tolist()


def test_no_people_are_accepted(benchmark_problem):
    transitions = benchmark_problem.transitions
    nobody = np.empty((0, len(benchmark_problem.features)))
    assert transitions.legal(nobody).shape == transitions.cost(nobody).shape == (0, len(transitions))
    assert transitions.apply(nobody, np.empty(0, int)).shape == nobody.shape


def test_an_action_in_words():
    case = Case("german")
    after = case.state.copy()
    after[case.problem.features[6].index] = 5000
    assert (
        case.transitions.describe_step(case.index["CHANGE_CREDIT=-1000"], case.state, after) == "Borrow 1,000 DM less"
    )
    after[4] = 2
    words = case.transitions.describe_step(case.index["CHANGE_SAVINGS=moderate"], case.state, after)
    assert words == 'Move your savings from "little" to "moderate"'
    assert case.transitions.describe_step(case.transitions.stop, case.state, after) == "Stop"


# Every world


@given(st.data())
@settings(max_examples=25)
def test_a_batch_is_as_good_as_one_by_one(data):
    problem = data.draw(worlds.problems())
    states = problem.read(data.draw(worlds.people(problem))).states
    transitions = problem.transitions
    legal, cost = transitions.legal(states), transitions.cost(states)
    actions = np.array(
        data.draw(st.lists(st.integers(0, transitions.stop), min_size=len(states), max_size=len(states)))
    )
    before = states.copy()
    after = transitions.apply(states, actions)
    np.testing.assert_array_equal(states, before)
    for row in range(len(states)):
        one = states[row : row + 1]
        np.testing.assert_array_equal(transitions.legal(one)[0], legal[row])
        np.testing.assert_array_equal(transitions.cost(one)[0], cost[row])
        np.testing.assert_array_equal(transitions.apply(one, actions[row : row + 1])[0], after[row])


@given(st.data())
@settings(max_examples=30)
def test_every_action_is_as_legal_and_as_dear_and_leads_where_the_file_says(data):
    file = data.draw(worlds.problem_dicts())
    problem, world = Problem.from_dict(file), World(file)
    states = problem.read(data.draw(worlds.people(problem))).states
    transitions = problem.transitions
    legal, cost = transitions.legal(states), transitions.cost(states)
    assert [(a.function, a.argument) for a in transitions.actions[:-1]] == world.actions()
    for row, numbers in enumerate(states):
        state = world.state(numbers)
        for index, (function, argument) in enumerate(world.actions()):
            assert legal[row, index] == world.legal(state, function, argument), (state, function, argument)
            assert cost[row, index] == pytest.approx(world.cost(state, function, argument), abs=1e-12)
            if legal[row, index]:
                after = world.state(transitions.apply(numbers[None], np.array([index]))[0])
                assert after == pytest.approx(world.after(state, function, argument), abs=1e-8)


def test_functions_of_syn_that_have_nothing_to_do_with_each_other():
    transitions = benchmark("syn").transitions
    names = [function.name.removeprefix("CHANGE_") for function in transitions.functions]
    assert (transitions.independent == transitions.independent.T).all()
    assert not transitions.independent.diagonal().any()
    pairs = {
        (a, b) for i, a in enumerate(names) for j, b in enumerate(names) if i < j and transitions.independent[i, j]
    }
    depend = {("EDUCATION", "JOB"), ("JOB", "INCOME"), ("INCOME", "HOUSE")}
    assert pairs == {(a, b) for i, a in enumerate(names) for b in names[i + 1 :]} - depend


@pytest.mark.parametrize("seed", range(75))
def test_independent_functions_can_be_done_in_either_order(seed):
    problem = Problem.from_dict(worlds.random_problem(seed))
    transitions, states = problem.transitions, problem.read(worlds.random_people(problem, seed, 25)).states
    legal, cost = transitions.legal(states), transitions.cost(states)
    for i, j in zip(*np.nonzero(np.triu(transitions.independent)), strict=True):
        for a in range(*transitions.spans[i].indices(len(transitions))):
            after = transitions.apply(states, np.full(len(states), a))
            legal_after, cost_after = transitions.legal(after), transitions.cost(after)
            for b in range(*transitions.spans[j].indices(len(transitions))):
                rows = legal[:, a]
                np.testing.assert_array_equal(legal_after[rows, b], legal[rows, b])
                np.testing.assert_array_equal(cost_after[rows, b], cost[rows, b])
                both = rows & legal[:, b]
                other = transitions.apply(states[both], np.full(both.sum(), b))
                assert transitions.legal(other)[:, a].all()
                np.testing.assert_array_equal(transitions.cost(other)[:, a], cost[both, a])
                np.testing.assert_array_equal(
                    transitions.apply(other, np.full(both.sum(), a)),
                    transitions.apply(after[both], np.full(both.sum(), b)),
                )


def plans_of(problem, count, seed):
    states = problem.read(worlds.random_people(problem, seed, count)).states
    return worlds.random_plan_actions(problem, states, np.random.default_rng(seed))


def check_plans(problem, world, plans):
    """Each step of each plan against the naive world; how many steps there were."""
    transitions, steps = problem.transitions, 0
    actions = world.actions()
    for person in range(len(plans.actions)):
        state = world.state(plans.states[person, 0])
        for step, action in enumerate(plans.actions[person]):
            if action == transitions.stop:
                assert plans.costs[person, step] == 0
                assert (plans.actions[person, step:] == transitions.stop).all()
                break
            assert world.legal(state, *actions[action]), (state, actions[action])
            assert plans.costs[person, step] == pytest.approx(world.cost(state, *actions[action]), abs=1e-12)
            expected = world.after(state, *actions[action])
            state = world.state(plans.states[person, step + 1])
            assert state == pytest.approx(expected, abs=1e-8)
            steps += 1
    return steps


def check_invariants(problem, plans):
    transitions = problem.transitions
    fixed = np.setdiff1d(np.arange(len(problem.features)), transitions.mutable)
    np.testing.assert_array_equal(
        plans.states[:, :, fixed], np.repeat(plans.states[:, :1, fixed], plans.states.shape[1], 1)
    )
    for feature in problem.features:
        column = plans.states[:, :, feature.index]
        known = column[~np.isnan(column)]
        assert feature.missing or len(known) == column.size
        assert np.isfinite(known).all()
        assert ((known >= feature.low) & (known <= feature.high)).all()
        if feature.integer or not feature.is_number:
            assert (known == np.round(known)).all()
        if not feature.is_number:
            assert ((known >= 0) & (known < len(feature.natives))).all()
    flat = plans.states.reshape(-1, plans.states.shape[-1])
    costs, legal = transitions.cost(flat), transitions.legal(flat)
    assert np.isfinite(costs).all()
    assert (costs >= transitions.least_costs).all()
    assert (costs[:, transitions.stop] == 0).all()
    assert legal[:, transitions.stop].all()
    moved = plans.actions != transitions.stop
    same = (plans.states[:, 1:] == plans.states[:, :-1]) | np.isnan(plans.states[:, 1:]) & np.isnan(
        plans.states[:, :-1]
    )
    np.testing.assert_array_equal(same.all(axis=2), ~moved)  # STOP changes nothing, and everything else something


def test_thousands_of_random_plans_in_random_worlds_hold_no_illegal_step():
    plans, steps = 0, 0
    for seed in range(60):
        file = worlds.random_problem(seed)
        problem = Problem.from_dict(file)
        rolled = plans_of(problem, 130, seed)
        check_invariants(problem, rolled)
        steps += check_plans(problem, World(file), rolled)
        plans += len(rolled.actions)
    assert plans >= 7_500
    assert steps >= 9_000


def test_random_plans_in_the_benchmarks_hold_no_illegal_step(benchmark_problem):
    rolled = plans_of(benchmark_problem, 150, 3)
    check_invariants(benchmark_problem, rolled)
    assert check_plans(benchmark_problem, World(benchmark_problem.to_dict()), rolled) > 300


@pytest.mark.parametrize("seed", range(40))
def test_one_action_each_is_as_legal_and_as_dear_as_among_all(seed):
    problem = Problem.from_dict(worlds.random_problem(seed))
    transitions = problem.transitions
    states = problem.read(worlds.random_people(problem, seed, 6)).states
    rows, actions = (part.ravel() for part in np.indices((len(states), len(transitions))))
    after, cost, legal = transitions.step(states[rows], actions)
    np.testing.assert_array_equal(after, transitions.apply(states[rows], actions))
    np.testing.assert_array_equal(cost, transitions.cost(states)[rows, actions])
    np.testing.assert_array_equal(legal, transitions.legal(states)[rows, actions])


def test_parents_come_first():
    functions = [benchmark("syn").transitions.functions[i].name for i in benchmark("syn").transitions.parents_first]
    assert functions.index("CHANGE_EDUCATION") < functions.index("CHANGE_JOB") < functions.index("CHANGE_INCOME")


@pytest.mark.parametrize("seed", range(12))
def test_costs_of_single_actions_are_those_of_the_table(seed: int) -> None:
    problem = Problem.from_dict(worlds.random_problem(seed))
    states = problem.read(worlds.random_people(problem, seed, 30)).states
    rows, actions = np.nonzero(problem.transitions.legal(states)[:, :-1])
    expected = problem.transitions.cost(states)[rows, actions]
    np.testing.assert_array_equal(problem.transitions.cost_of(states, rows, actions), expected)
