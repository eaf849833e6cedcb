"""Questions about what is hard: what is asked, when it ends, what a file holds, and calls that are refused."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from counterplan import ChoiceModel, Elicitation, ExactPlanner, Plan, Problem, Program, Question, Recourse, Status
from counterplan.errors import NotFittedError, PeopleError, SettingError, StorageError
from counterplan.personal.learned_text import learned_text
from counterplan.personal.personal_planner import ONE_PLAN
from counterplan.planners.registry import BUILT_IN, planner_class
from counterplan.program import Choice, Leaf
from personal import ways

Move = int | str | None
"""An answer, something that cannot be done, or `CAN`."""
CAN = "can"
"""The person can do after all what they ruled out first."""
moves = st.lists(
    st.one_of(st.integers(0, 3), st.none(), st.sampled_from([*ways.FUNCTIONS, "RAISE_JOB=high", "RAISE_HOURS=middle"])),
    max_size=4,
)
with_can = st.lists(st.one_of(st.integers(0, 3), st.sampled_from(["RAISE_JOB", "RAISE_HOURS", CAN, CAN])), max_size=6)
few = settings(max_examples=6)
"""Each example plans many times."""


def make(elicitation: Elicitation, move: Move) -> Question | None:
    """Make a move, if there is a question; return that question."""
    question = elicitation.question()
    if move == CAN:
        for name in elicitation.cannot_do[:1]:
            elicitation.can(name)
    elif isinstance(move, str):
        elicitation.cannot(move)
    elif question is not None:
        elicitation.answer(None if move is None else move % len(question.options))
    return question


def facts(elicitation: Elicitation) -> tuple[Any, ...]:
    """Everything that a person sees."""
    question = elicitation.question()
    shown = None if question is None else (str(question), question._repr_html_(), question.gain, question.options)
    return shown, elicitation.plan(), elicitation.weights.to_json(double_precision=15), elicitation.learned


def test_a_question_compares_confirmed_plans() -> None:
    elicitation = ways.elicitation()
    question = elicitation.question()
    assert question is not None
    assert question is elicitation.question()
    assert len(question.options) == 3
    assert question.options[0].actions == elicitation.plan().actions
    box, problem = ways.recourse().box, elicitation.problem
    assert all(option.verified and option.replay(problem, box).ok for option in question.options)
    assert len({frozenset(step.function for step in option.steps) for option in question.options}) == 3
    assert 0 < question.gain < 1
    assert str(question).startswith("Question 1. Which would be easier for you?\n\n  1.  ")
    assert not any(word in str(question) for word in ("RAISE", "effort", "Takes"))


@few
@given(moves)
def test_what_cannot_be_done_is_never_shown_again(sequence: list[Move]) -> None:
    cannot: set[str] = set()
    elicitation = ways.elicitation()
    for move in [*sequence, *[0] * 3]:
        question = make(elicitation, move)
        for option in () if question is None else question.options:
            assert cannot.isdisjoint({*option.actions, *(step.function for step in option.steps)})
        if isinstance(move, str):
            cannot.add(move)
        assert cannot.isdisjoint(step.function for step in elicitation.plan().steps)
    assert cannot == {*elicitation.cannot_do}


@few
@given(moves)
def test_no_question_is_asked_twice(sequence: list[Move]) -> None:
    compared: list[set[tuple[str, ...]]] = []
    elicitation = ways.elicitation(options=2)
    for move in sequence:
        question = elicitation.question()
        if question is not None:
            plans = {tuple(option.actions) for option in question.options}
            assert len(plans) == len(question.options) == 2
            assert plans not in compared
            compared += [plans] if not isinstance(move, str) else []
        make(elicitation, move)


@few
@given(moves | with_can, st.integers(0, 4), st.integers(2, 4))
def test_a_resumed_elicitation_continues_as_if_not_interrupted(
    tmp_path_factory: pytest.TempPathFactory, sequence: list[Move], cut: int, options: int
) -> None:
    path = tmp_path_factory.mktemp("saved") / "answers.json"
    whole, parted = (ways.elicitation(options=options, seed=7) for _ in range(2))
    for move in sequence[:cut]:
        make(whole, move)
        make(parted, move)
    parted.save(path)
    resumed = Elicitation.load(path, ways.recourse())
    assert facts(resumed) == facts(whole)
    for move in sequence[cut:]:
        make(whole, move)
        make(resumed, move)
    assert facts(resumed) == facts(whole)
    again = path.with_name("again.json")
    whole.save(path)
    resumed.save(again)
    assert again.read_bytes() == path.read_bytes()


@few
@given(moves | with_can, st.booleans())
def test_undo_returns_to_what_was_before(
    tmp_path_factory: pytest.TempPathFactory, sequence: list[Move], resumed: bool
) -> None:
    path = tmp_path_factory.mktemp("saved") / "answers.json"
    elicitation, before = ways.elicitation(), []
    for move in sequence:
        state = (elicitation.answers, elicitation.cannot_do)
        known = (state, facts(elicitation))
        make(elicitation, move)
        before += [known] if (elicitation.answers, elicitation.cannot_do) != state else []
    if resumed:
        elicitation.save(path)
        elicitation = Elicitation.load(path, ways.recourse())
    for known in reversed(before):
        elicitation.undo()
        assert ((elicitation.answers, elicitation.cannot_do), facts(elicitation)) == known
    assert not elicitation.undoable
    with pytest.raises(SettingError, match="nothing to undo"):
        elicitation.undo()


def test_undo_after_can_rules_out_again_and_discards_no_answer(tmp_path: Path) -> None:
    elicitation = ways.elicitation()
    elicitation.question()
    elicitation.answer(0)
    for name in ("RAISE_JOB", "RAISE_HOURS"):
        elicitation.cannot(name)
    elicitation.can("RAISE_JOB")
    elicitation.save(tmp_path / "saved.json")
    rulings = json.loads((tmp_path / "saved.json").read_text())["cannot"]
    assert rulings == [
        {"name": "RAISE_JOB", "after": 1},
        {"name": "RAISE_HOURS", "after": 1},
        {"name": "RAISE_JOB", "after": 1, "can": True},
    ]
    for one in (elicitation, Elicitation.load(tmp_path / "saved.json", ways.recourse())):
        assert one.cannot_do == ["RAISE_HOURS"]
        one.undo()
        assert (one.cannot_do, one.answers) == (["RAISE_JOB", "RAISE_HOURS"], 1)
        for _ in range(2):
            one.undo()
        assert (one.cannot_do, one.answers, one.undoable) == ([], 1, True)


@pytest.mark.parametrize(("questions", "fits"), [(12, True), (13, False)])
def test_work_for_an_answer_is_limited(tmp_path: Path, questions: int, fits: bool) -> None:
    large = ChoiceModel(particles=5000, moves=50)
    message = "5,000 particles with 50 moves are for at most 12 questions, not 13: choose fewer particles, moves or"
    elicitation = ways.elicitation(max_questions=questions)
    elicitation.save(tmp_path / "saved.json")
    data = json.loads((tmp_path / "saved.json").read_text())
    data["choice_model"] |= {"particles": 5000, "moves": 50}
    (tmp_path / "saved.json").write_text(json.dumps(data))
    if fits:
        assert ways.elicitation(choice_model=large, max_questions=questions).choice_model == large
        assert Elicitation.load(tmp_path / "saved.json", ways.recourse()).choice_model == large
        with pytest.raises(SettingError, match=f"'choice_model': {message}"):
            Elicitation.load(tmp_path / "saved.json", ways.recourse(), max_questions=13)
        return
    with pytest.raises(SettingError, match=f"'choice_model': {message}"):
        ways.elicitation(choice_model=large, max_questions=questions)
    with pytest.raises(StorageError, match=rf"saved\.json: choice_model: {message}"):
        Elicitation.load(tmp_path / "saved.json", ways.recourse())


def test_what_cannot_be_done_can_be_taken_back(tmp_path: Path) -> None:
    elicitation, usual = ways.elicitation(), ways.elicitation()
    elicitation.cannot("RAISE_JOB")
    for one in (elicitation, usual):
        one.cannot("RAISE_SCHOOL=high")
    elicitation.can("RAISE_JOB")
    assert elicitation.cannot_do == ["RAISE_SCHOOL=high"]
    assert facts(elicitation) == facts(usual)
    for name in ("RAISE_JOB", "RAISE_SCHOOL", "nonsense"):
        with pytest.raises(SettingError, match=f"'{name}' was not ruled out: what was ruled out is RAISE_SCHOOL=high"):
            elicitation.can(name)
    elicitation.save(tmp_path / "saved.json")
    again = Elicitation.load(tmp_path / "saved.json", ways.recourse())
    again.can("RAISE_SCHOOL=high")
    with pytest.raises(SettingError, match="nothing was ruled out"):
        again.can("RAISE_SCHOOL=high")


def _cost(plan: Plan, weights: dict[str, float]) -> float:
    """The cost of a plan for a person with `weights` of some functions."""
    return float(sum(step.cost / step.weight * weights.get(step.function, 1.0) for step in plan.steps))


@pytest.mark.parametrize("hard", ways.FUNCTIONS)
def test_answers_lead_to_the_plan_that_is_best_for_the_person(hard: str) -> None:
    """A person for whom one function is eight times as hard as for others, and who makes no mistakes."""
    weights = {hard: 8.0}
    elicitation = ways.elicitation(options=3, min_gain=0)
    while (question := elicitation.question()) is not None:
        elicitation.answer(int(np.argmin([_cost(option, weights) for option in question.options])))
    exact = ExactPlanner(elicitation.problem, ways.decide)
    best = exact.plan(pd.DataFrame([ways.POOR]), weights=weights)[0]
    assert _cost(elicitation.plan(), weights) <= best.cost * 1.2
    assert elicitation.done
    assert 0 < elicitation.answers <= elicitation.max_questions


def test_weights_are_a_table_that_planning_takes() -> None:
    elicitation = ways.elicitation()
    assert elicitation.weights["mean"].tolist() == [1.0] * 4
    assert elicitation.weights["questions"].tolist() == [0] * 4
    assert elicitation.learned == []
    elicitation.question()
    elicitation.answer(2)
    table = elicitation.weights
    assert [*table.columns] == ["mean", "low", "high", "questions"]
    assert [*table.index] == [*ways.FUNCTIONS]
    assert ((table["low"] < table["mean"]) & (table["mean"] < table["high"])).all()
    plans = ways.recourse().recommend(pd.DataFrame([ways.POOR]), "exact", weights=table["mean"].to_dict())
    assert plans[0].actions == elicitation.plan().actions


def test_what_was_learned_is_told_in_plain_words() -> None:
    rows = [(1.9, 1.1, 3.2, 2), (0.4, 0.22, 0.81, 1), (2.5, 0.3, 9.0, 3), (3.0, 2.0, 4.0, 0)]
    table = pd.DataFrame(rows, columns=["mean", "low", "high", "questions"], index=[*ways.FUNCTIONS])
    assert learned_text(Problem.from_dict(ways.PROBLEM), table) == [
        "Changing your job seems easier for you than other changes: 0.4 times its usual effort (about 0.2 to 0.8).",
        "Changing your savings seems harder for you than other changes: 1.9 times its usual effort (about 1.1 to 3.2).",
    ]


def test_nothing_is_said_about_what_a_person_cannot_do() -> None:
    elicitation = ways.elicitation(min_gain=0, choice_model=ChoiceModel(sharpness=100, particles=300))
    while (question := elicitation.question()) is not None:
        costs = [_cost(option, {"RAISE_HOURS": 0.1}) for option in question.options]
        elicitation.answer(int(np.argmin(costs)))
    assert any(sentence.startswith("Changing your hours seems easier") for sentence in elicitation.learned)
    elicitation.cannot("RAISE_JOB=high")
    elicitation.cannot("RAISE_HOURS")
    assert not any("your hours" in sentence for sentence in elicitation.learned)


def test_options_state_how_long_they_take() -> None:
    question = Elicitation(ways.timed_recourse(), ways.POOR, planner="exact").question()
    assert question is not None
    for option in question.options:
        weeks = int(option.duration)
        text = f"Takes about {weeks} week{'' if weeks == 1 else 's'}." if weeks else "Takes no time."
        assert f"      {text}\n" in f"{question}\n"
        assert text in question._repr_html_()


@pytest.mark.parametrize(("deadline", "most"), [(0, 0), (1, 1), (2.5, 2), (9, 3)])
def test_no_question_and_no_plan_takes_longer_than_the_deadline(deadline: float, most: int, tmp_path: Path) -> None:
    elicitation = Elicitation(ways.timed_recourse(), ways.POOR, planner="exact", deadline=deadline)
    plans = [elicitation.plan()]
    while (question := elicitation.question()) is not None:
        elicitation.answer(len(question.options) - 1)
        plans += [*question.options, elicitation.plan()]
        elicitation.save(tmp_path / "saved.json")
        elicitation = Elicitation.load(tmp_path / "saved.json", ways.timed_recourse())
        assert elicitation.deadline == deadline
    # RAISE_SAVINGS takes no time, but one function is not enough: two need a week or more.
    assert {plan.status is Status.FOUND for plan in plans} == {deadline >= 1}
    assert max((plan.duration or 0.0 for plan in plans if plan.steps), default=0.0) == most


@pytest.mark.parametrize(
    "person",
    [
        pd.Series(ways.POOR, name="ann"),
        ways.POOR,
        [ways.POOR],
        Problem.from_dict(ways.PROBLEM).read(pd.DataFrame([ways.POOR])),
    ],
    ids=["series", "dict", "list", "people"],
)
def test_a_person_comes_in_any_form(person: Any) -> None:
    elicitation, usual = ways.elicitation(person), ways.elicitation()
    assert str(elicitation.question()) == str(usual.question())


def test_people_without_questions() -> None:
    favourable = ways.elicitation(ways.RICH)
    assert favourable.done
    assert favourable.plan().status is Status.ALREADY_FAVOURABLE
    stuck = ways.elicitation()
    for name in ways.FUNCTIONS:
        stuck.cannot(name)
    assert stuck.done
    assert stuck.plan().status is Status.INFEASIBLE
    one_way = ways.elicitation(ways.POOR | {"job": "middle", "school": "middle"})
    for name in ways.FUNCTIONS[:3]:
        one_way.cannot(name)
    assert one_way.done
    assert one_way.plan().actions == ["RAISE_SCHOOL=high"]
    assert ways.elicitation(max_questions=0).done
    assert ways.elicitation(min_gain=1).done


def test_ruling_something_out_replaces_the_question() -> None:
    elicitation = ways.elicitation()
    first = elicitation.question()
    assert first is not None
    elicitation.cannot(first.options[0].steps[0].function)
    with pytest.raises(SettingError, match=r"call question\(\) first"):
        elicitation.answer(0)
    second = elicitation.question()
    assert second is not None
    assert (second.number, elicitation.answers) == (1, 0)
    elicitation.cannot(elicitation.cannot_do[0])
    assert elicitation.question() is second


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda one: one.answer(0), "call question"),
        (lambda one: one.question() and one.answer(3), "'choice' must be an integer from 0 to 2, not 3"),
        (lambda one: one.question() and one.answer(-1), "'choice'"),
        (lambda one: one.question() and one.answer(True), "'choice'"),
        (lambda one: one.cannot("RAISE_JOBS"), "did you mean 'RAISE_JOB'"),
        (lambda one: one.cannot("RAISE_JOB=hihg"), "did you mean 'RAISE_JOB=high'"),
        (lambda one: one.cannot(3), "name a function or an action"),
    ],
)
def test_calls_that_make_no_sense_are_refused(call: Callable[[Elicitation], object], message: str) -> None:
    elicitation = ways.elicitation()
    with pytest.raises(SettingError, match=message):
        call(elicitation)
    assert (elicitation.answers, elicitation.cannot_do) == (0, [])


def test_nothing_to_answer_at_the_end() -> None:
    elicitation = ways.elicitation(max_questions=0)
    assert elicitation.done
    with pytest.raises(SettingError, match="nothing more to ask"):
        elicitation.answer(0)


@pytest.mark.parametrize(
    "setting",
    [
        {"options": 1},
        {"options": 5},
        {"options": 2.5},
        {"seed": -1},
        {"max_questions": 51},
        {"min_gain": -1},
        {"choice_model": 3},
        {"choice_model": ChoiceModel},
        {"deadline": -1},
        {"deadline": "soon"},
        {"deadline": 3},  # no action takes time
        {"planner": 3},
    ],
)
def test_invalid_settings_are_refused(setting: dict[str, Any]) -> None:
    with pytest.raises(SettingError, match=next(iter(setting))):
        ways.elicitation(**setting)


def test_people_and_planners_that_do_not_fit_are_refused() -> None:
    with pytest.raises(PeopleError, match="one person, and the table has 2"):
        ways.elicitation(pd.DataFrame([ways.POOR, ways.RICH]))
    with pytest.raises(PeopleError, match="one person, and the table has 0"):
        ways.elicitation(pd.DataFrame([ways.POOR]).head(0))
    with pytest.raises(NotFittedError):
        ways.elicitation(planner="guided")
    with pytest.raises(SettingError, match="policy"):
        ways.elicitation(planner="polisy")
    with pytest.raises(SettingError, match="'recourse' must be a Recourse"):
        Elicitation(ways.recourse().problem, pd.DataFrame([ways.POOR]))  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="'recourse' must be a Recourse"):
        Elicitation.load("answers.json", ways.recourse().problem)  # type: ignore[arg-type]


def test_planners_with_one_plan_a_person_are_refused_at_once() -> None:
    recourse = ways.recourse()
    stop = Leaf((Choice(recourse.problem.transitions.stop),))
    recourse.program_ = Program(recourse.problem, {"INTERVENE": stop})
    for name in ONE_PLAN:  # also if there is nothing learned yet
        with pytest.raises(SettingError, match=f"'{name}' finds one plan .* auto, exact, guided or card"):
            ways.elicitation(planner=name)
    built_in = {name for name in BUILT_IN if not planner_class(name).uses_alternatives}
    assert {*ONE_PLAN} == built_in | {"paper"}
    for name in ("evolution", "program", "cascade"):
        for planner in (name, recourse.planner(name)):
            with pytest.raises(SettingError, match=f"'{name}' finds one plan .* auto, exact, guided or card"):
                Elicitation(recourse, ways.POOR, planner=planner)
    assert Elicitation(recourse, ways.POOR, planner="cascade+exact").question() is not None
    with pytest.raises(SettingError, match=r"not the class ExactPlanner: pass recourse\.planner\(ExactPlanner\)"):
        Elicitation(recourse, ways.POOR, planner=ExactPlanner)  # type: ignore[arg-type]


def test_a_planner_may_be_an_object(tmp_path: Path) -> None:
    recourse = ways.recourse()
    elicitation = ways.elicitation(planner=ExactPlanner(recourse.problem, recourse.box))
    elicitation.save(tmp_path / "saved.json")
    assert json.loads((tmp_path / "saved.json").read_text())["planner"] is None
    again = Elicitation.load(tmp_path / "saved.json", recourse, planner="exact")
    assert str(again.question()) == str(elicitation.question())


def test_html_escapes_the_words_of_the_problem() -> None:
    altered = json.loads(json.dumps(ways.PROBLEM))
    altered["functions"]["RAISE_HOURS"]["phrase"] = "<script>alert(1)</script> {argument}"
    recourse = Recourse(Problem.from_dict(altered), ways.decide)
    question = Elicitation(recourse, ways.POOR, planner="exact").question()
    assert question is not None
    html = question._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert repr(question).startswith("Question(1, ")


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A file with an answer and something that cannot be done."""
    elicitation = ways.elicitation()
    elicitation.question()
    elicitation.answer(1)
    elicitation.cannot("RAISE_SCHOOL=high")
    elicitation.save(tmp_path / "saved.json")
    return tmp_path / "saved.json"


def test_files_are_private_and_keep_the_types_of_a_person(tmp_path: Path) -> None:
    table = pd.DataFrame([ways.POOR | {"extra": 7}], index=[12]).astype({"job": "category", "extra": "int8"})
    ways.elicitation(table).save(tmp_path / "saved.json")
    assert stat.S_IMODE((tmp_path / "saved.json").stat().st_mode) == 0o600
    again = Elicitation.load(tmp_path / "saved.json", ways.recourse())
    assert again.person == 12
    pd.testing.assert_frame_equal(again._person.table, ways.elicitation(table)._person.table)
    with pytest.raises(StorageError, match="cannot be written"):
        again.save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["saved.json"]


def test_a_label_of_several_levels_is_shown_in_plain_numbers() -> None:
    table = pd.DataFrame([ways.POOR], index=pd.MultiIndex.from_tuples([(1, 2)]))
    assert ways.elicitation(table).person == "(1, 2)"


def test_a_file_belongs_to_one_problem(saved: Path) -> None:
    other = Problem.from_dict(ways.PROBLEM | {"max_actions": 2})
    with pytest.raises(StorageError, match="belongs to another problem"):
        Elicitation.load(saved, Recourse(other, ways.decide))


def _put(*place: str | int, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(data: dict[str, Any]) -> None:
        inner: Any = data
        for key in place[:-1]:
            inner = inner[key]
        inner[place[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_put("counterplan_elicitation", value=2), "newer counterplan"),
        (_put("counterplan_elicitation", value="1"), "'counterplan_elicitation' is missing"),
        (_put("options", value=9), "options: must be an integer from 2 to 4, not 9$"),
        (_put("seed", value=-1), "seed: must be an integer from 0 to 4294967295, not -1$"),
        (_put("max_questions", value=10**9), "max_questions: must be an integer from 0 to 50, not 1000000000$"),
        (_put("min_gain", value="much"), 'min_gain: must be a number from 0 to 1, not "much"$'),
        (_put("min_gain", value=True), "min_gain: must be a number from 0 to 1, not true$"),
        (_put("planner", value=["exact"]), r'planner: must be the name of a planner, or null, not \["exact"\]$'),
        (_put("planner", value="a\nb"), "planner: there is no planner 'a\N{REPLACEMENT CHARACTER}b'"),
        (_put("planner", value="exakt"), "planner: there is no planner 'exakt'; did you mean 'exact'"),
        (_put("planner", value="evolution"), "planner: planner 'evolution' finds one plan"),
        (_put("choice_model", "particles", value=10**9), "choice_model: 'particles' must be an integer from 50 to"),
        (_put("choice_model", "particles", value=600.0), "choice_model: 'particles' must be .* not 600.0$"),
        (_put("choice_model", "spread", value=None), "choice_model: 'spread' must be a number above 0"),
        (_put("choice_model", "spread", value=True), "choice_model: 'spread' must be .* not True$"),
        (_put("choice_model", "spred", value=1), "choice_model: 'spred' is not known; did you mean 'spread'"),
        (
            _put("choice_model", value=3),
            "choice_model: must be an object with spread, sharpness, particles, moves, not 3$",
        ),
        (_put("cannot", 0, "name", value="RAISE_SCHOLL=high"), "cannot.0.name: .*did you mean 'RAISE_SCHOOL=high'"),
        (_put("cannot", 0, "after", value=2), "cannot.0.after: must be a number of answers from 0 to 1, not 2"),
        (_put("cannot", 0, "after", value=-1), "cannot.0.after"),
        (
            _put("cannot", 0, value="RAISE_JOB"),
            'cannot.0: must be an object with name and after, and perhaps can, not "RAISE_JOB"$',
        ),
        (lambda data: data["cannot"].append({"name": "RAISE_JOB", "after": 0}), "cannot.1.after: .* from 1 to 1"),
        (_put("cannot", 0, "can", value=1), "cannot.0.can: must be true or false, not 1$"),
        (_put("cannot", 0, "can", value=True), "cannot.0.name: 'RAISE_SCHOOL=high' was not ruled out before$"),
        (lambda data: data["cannot"].append(data["cannot"][0]), "cannot.1.name: 'RAISE_SCHOOL=high' is there twice"),
        (_put("answers", 0, "choice", value=3), "answers.0.choice: is 3, and there are 3 options"),
        (
            _put("answers", 0, "choice", value=True),
            "answers.0.choice: must be an integer from 0 to 3, or null, not true$",
        ),
        (_put("answers", 0, "options", value=[]), "answers.0.options: must be a list of 2 to 4 options, not .*$"),
        (
            _put("answers", 0, "options", 1, value=[]),
            "answers.0.options.1: must be a list of actions, at least one, not",
        ),
        (_put("answers", 0, "options", 1, value={"actions": [], "costs": {}}), "answers.0.options.1"),
        (_put("answers", 0, "options", 1, value=["RAISE_JOBS=high"]), "answers.0.options.1.0: .*'RAISE_JOB=high'"),
        (
            _put("answers", 0, "options", 1, value=["RAISE_JOB"]),
            "answers.0.options.1.0: there is no action 'RAISE_JOB'",
        ),
        (_put("answers", 0, "options", 1, value=["RAISE_JOB=high"] * 2), "answers.0.options.1: .* not possible"),
        (_put("answers", 0, "options", 1, value=["RAISE_JOB=high"] * 4), "answers.0.options.1: has 4 actions"),
        (lambda data: data["answers"][0]["options"].append(data["answers"][0]["options"][0]), "same as option 0"),
        (_put("answers", 0, "unknown", value=1), "answers.0.unknown: is not known$"),
        (
            lambda data: data.update(answers=data["answers"] * 51),
            "answers: must be a list of at most 50 answered questions, not",
        ),
        (_put("deadline", value=-1), "deadline: must be a number from 0 to 1,000,000,000, or null, not -1$"),
        (_put("deadline", value="soon"), 'deadline: must be a number .*, or null, not "soon"$'),
        (_put("deadline", value=True), "deadline: must be a number .*, or null, not true$"),
        (_put("deadline", value=1e300), r"deadline: must be a number .*, or null, not 1e\+300$"),
        (_put("deadline", value=3), "deadline: is 3, and no action of 'ways' takes time"),
        (_put("row", value=[["job", "low"]]), "dtypes: the columns"),
        (_put("row", 2, 1, value="hgih"), "row: "),
        (_put("row", value=[["job"]]), "row.0: must be a list of a column's name and its value"),
        (_put("row", 0, 0, value=True), "row.0.0: must be the name of a column, not true$"),
        (_put("dtypes", 2, 1, value="category"), "row: column 'job': its dtype .* 'category' does not describe one$"),
        (_put("person", value=[1]), r"person: must be an integer or a text of at most 10,000 characters, not \[1\]$"),
        (_put("person", value="\ud800"), "person: must be an integer or a text"),
        (_put("person", value=True), "person: must be an integer or a text .* not true$"),
        (_put("person", value=1.0), "person: must be an integer or a text .* not 1.0$"),
        (_put("fingerprint", value="x\n" * 4000), "belongs to another problem .{,400}$"),
        (_put("more\n", value=1), "more\N{REPLACEMENT CHARACTER}: is not known$"),
        (dict.clear, "'counterplan_elicitation' is missing"),
        (lambda data: data.pop("row"), "row: is missing$"),
        (lambda data: data.pop("answers"), "answers: is missing$"),
        (lambda data: data["answers"][0].pop("choice"), "answers.0.choice: is missing$"),
        (lambda data: data.pop("cannot"), "cannot: is missing$"),
    ],
)
def test_damaged_files_are_refused_with_the_place(
    saved: Path, change: Callable[[dict[str, Any]], None], message: str
) -> None:
    data = json.loads(saved.read_text())
    change(data)
    saved.write_text(json.dumps(data))
    with pytest.raises(StorageError, match=rf"saved\.json: .*{message}"):
        Elicitation.load(saved, ways.recourse())


def test_a_file_may_name_a_planner_that_is_not_fitted(saved: Path) -> None:
    data = json.loads(saved.read_text())
    saved.write_text(json.dumps(data | {"planner": "guided"}))
    with pytest.raises(
        NotFittedError, match=r"saved\.json: planner 'guided' requires a surrogate.*pass another planner"
    ):
        Elicitation.load(saved, ways.recourse())
    assert Elicitation.load(saved, ways.recourse(), planner="exact").answers == 1


def test_more_questions_than_were_planned(tmp_path: Path) -> None:
    elicitation = ways.elicitation(max_questions=0)
    elicitation.save(tmp_path / "saved.json")
    assert Elicitation.load(tmp_path / "saved.json", ways.recourse()).done
    again = Elicitation.load(tmp_path / "saved.json", ways.recourse(), max_questions=1)
    assert again.question() is not None
    again.answer(0)
    assert again.done
    with pytest.raises(SettingError, match="max_questions"):
        Elicitation.load(tmp_path / "saved.json", ways.recourse(), max_questions=51)


@pytest.mark.parametrize("content", ["", "[]", "nonsense", "[" * 10_000, '{"counterplan_elicitation": 1e999}'])
def test_files_that_are_something_else_are_refused(saved: Path, content: str) -> None:
    saved.write_text(content)
    with pytest.raises(StorageError, match=r"saved\.json"):
        Elicitation.load(saved, ways.recourse())
    with pytest.raises(StorageError, match="no such file"):
        Elicitation.load(saved.with_name("missing.json"), ways.recourse())
    with pytest.raises(StorageError, match="a file is a path, not None"):
        Elicitation.load(None, ways.recourse())  # type: ignore[arg-type]
