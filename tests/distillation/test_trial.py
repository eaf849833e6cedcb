"""From what was fitted to a program with a card: both presets, what they need, what they say, and that they keep."""

from __future__ import annotations

import ast
import html
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import worlds
from counterplan import BlackBox, Problem, Program, Recourse, StorageError, benchmarks
from counterplan.agent.search import SearchSettings
from counterplan.distillation.distiller import ProgramDistiller
from counterplan.distillation.options import DistillOptions
from counterplan.distillation.trial import Origin, Trial, card_of
from counterplan.errors import NotFittedError, PeopleError, SettingError
from counterplan.problem import Encoding
from counterplan.program import INTERVENE, ModelCard, leaves
from counterplan.program.export import to_html, to_python
from counterplan.program.io import to_json
from counterplan.program.model_card_text import card_text
from counterplan.storage.settings import settings_to_dict
from program import programs
from program.random_programs import random_program

pytest.importorskip("jax")
from counterplan.surrogate.active_learning import LearningSettings
from quick import FIT, TRAINING

SYN = benchmarks.load("syn")
PEOPLE = SYN.train.head(500)
REFUSED = SYN.refused_test.head(30)
GUIDED = LearningSettings(people=80, plans=80, rounds=3, validation=12, fit=replace(FIT, trees=20))
SEARCH = replace(TRAINING, passes=1)
SMALL = {"traces": 200, "rounds": 1}


def origin(starts: np.ndarray) -> Origin:
    return Origin(starts, len(starts), made_with={}, seed=0, queries={})


@pytest.fixture(scope="module")
def recourse() -> Recourse:
    made = Recourse(SYN.problem, SYN.model).fit(PEOPLE, method="both", seed=1, settings=(GUIDED, SEARCH))
    made.distil(PEOPLE, **SMALL)
    return made


@pytest.fixture(scope="module")
def program(recourse: Recourse) -> Program:
    assert recourse.program_ is not None
    return recourse.program_


def test_the_card_says_how_it_was_made_and_how_it_does(recourse: Recourse, program: Program) -> None:
    card: Any = program.model_card
    assert not card.extra
    assert card.seed == 0
    assert card.made_with["distilling"]["rounds"] == 1
    assert sum(card.people) <= 200
    assert 0 < card.success <= 1
    assert card.cost_ratio >= 1
    assert card.rule_length_mean <= card.rule_length_longest
    assert card.protected_tested == ()
    assert set(card.protected_avoided) == {f.name for f in SYN.problem.features if f.protected}
    assert set(card.groups) == set(card.protected_avoided)
    tried = card.tried_on.with_plan
    assert tried > 10
    for group in card.groups.values():
        assert sum(part.people for part in group.values()) == tried
    assert card.queries["to_fit"] == recourse.n_queries_["guided"]
    assert card.queries["its_plans"] <= tried + card.tried_on.without_plan
    assert card.queries["least_effort"] > 0
    assert "It gives no plan of more than" in card.limitations[0]
    assert card.model == BlackBox(SYN.model).fingerprint(SYN.problem)


def test_success_is_what_the_model_says(program: Program) -> None:
    """The card is about people held back; on others the program does about as well."""
    check = program.verify(SYN.refused_test.head(150), SYN.model)
    assert abs(check.share - program.model_card.success) < 0.25


@pytest.mark.parametrize(
    ("men", "women", "failing", "told"),
    [
        (50, 40, 10, 'Its plans work for 100 % of people whose sex is "male", but for 75 % whose sex is "female".'),
        (50, 40, 4, 'Its plans work for 100 % of people whose sex is "male", but for 90 % whose sex is "female".'),
        (50, 40, 3, None),
        (50, 19, 10, None),
        (19, 50, 10, None),
    ],
)
def test_clearly_unequal_groups_are_told_of_in_words(men: int, women: int, failing: int, told: str | None) -> None:
    program = programs.imitated("german")
    problem = program.problem
    everybody = problem.read(worlds.random_people(problem, 0, 600)).states
    stopped = everybody[program.run(everybody).stopped]
    sex = next(feature for feature in problem.features if feature.name == "sex")
    man = stopped[:, sex.index] == sex.values.index("male")
    states = np.concatenate([stopped[man][:men], stopped[~man][:women]])
    assert len(states) == men + women
    holds = np.arange(men + women) < men + women - failing
    trial = Trial(states, program.run(states), holds, np.ones(len(states)), Encoding.of(problem.features, states))
    card = card_of(program, trial, origin(states))
    assert [line for line in card.limitations or () if line.startswith("Its plans work")] == ([told] if told else [])
    if told:
        shown = replace(program, model_card=card)
        assert told in " ".join(card_text(card).split())
        assert told in html.unescape(to_html(shown))
        assert told in ast.get_docstring(ast.parse(to_python(shown)))  # type: ignore[operator]


def test_ways_are_counted(program: Program) -> None:
    ways = program.model_card.transitions or {}
    out = sum(count for way, count in ways.items() if way.startswith("INTERVENE>"))
    stops = sum(count for way, count in ways.items() if way.endswith(">STOP"))
    assert out == stops <= sum(program.model_card.people or ())
    for node in program.nodes[1:]:
        inside = sum(count for way, count in ways.items() if way.endswith(f">{node}"))
        outside = sum(count for way, count in ways.items() if way.startswith(f"{node}>"))
        assert inside == outside


def test_examples_are_nobodys_own_data(recourse: Recourse, program: Program) -> None:
    assert program.model_card.examples
    real = {state.tobytes() for state in SYN.problem.read(PEOPLE).states}
    states = np.stack([SYN.problem.state(person) for person in program.model_card.examples or ()])
    assert not any(state.tobytes() in real for state in states)
    assert program.run(states).stopped.all()


def test_the_same_seed_the_same_file_whatever_is_remembered(
    recourse: Recourse, program: Program, tmp_path: Path
) -> None:
    recourse.save(tmp_path)
    assert (tmp_path / "program.json").read_text() == to_json(program)
    fresh = Recourse.load(tmp_path, SYN.model, answers=False)
    assert fresh.program_ is not None
    assert to_json(fresh.program_) == to_json(program)
    assert to_json(fresh.distil(PEOPLE, **SMALL)) == to_json(program)
    assert fresh.box.queries > 0
    assert to_json(fresh.distil(PEOPLE, **SMALL, seed=2)) != to_json(program)


def test_a_program_goes_with_what_it_was_made_from(recourse: Recourse, tmp_path: Path) -> None:
    recourse.save(tmp_path)
    Recourse(SYN.problem, SYN.model, surrogate=recourse.surrogate_).save(tmp_path)
    assert not (tmp_path / "program.json").exists()
    Recourse(SYN.problem, SYN.model, program=recourse.program_).save(tmp_path / "alone")
    alone = Recourse.load(tmp_path / "alone", SYN.model)
    assert alone.surrogate_ is alone.agent_ is None
    assert alone.recommend(REFUSED, "program").counts["found"] > 10
    other = benchmarks.load("german")
    foreign = json.loads((tmp_path / "alone" / "problem.json").read_text())
    assert foreign != other.problem.to_dict()
    (tmp_path / "alone" / "problem.json").write_text(json.dumps(other.problem.to_dict()))
    with pytest.raises(StorageError, match="made for another problem than german"):
        Recourse.load(tmp_path / "alone", other.model).recommend(other.refused_test, "program")


def test_the_program_leads_the_cascade(recourse: Recourse) -> None:
    cascade = recourse.planner("cascade+exact")
    assert [planner.name for planner in cascade.planners] == ["program", "guided", "search", "exact"]  # type: ignore[attr-defined]
    plans = cascade.plan(REFUSED, refused=True)
    assert plans.counts["found"] == len(REFUSED)
    assert all(plan.verified for plan in plans)
    alone = recourse.recommend(REFUSED, "program", refused=True)
    assert alone.queries == 0
    assert all(step.because is not None and step.because.source == "rule" for plan in alone for step in plan.steps)
    assert [plan.actions for plan in alone] == [plan.actions for plan in recourse.program_.recommend(REFUSED)]  # type: ignore[union-attr]


def test_reasons_hold_when_something_is_forbidden(recourse: Recourse, program: Program) -> None:
    free = recourse.recommend(REFUSED, "program", refused=True)
    function = free[0].steps[0].function
    plans = recourse.recommend(REFUSED, "program", refused=True, forbid=[function])
    told = program.recommend(REFUSED, forbid=[function])
    assert [[step.reason for step in plan.steps] for plan in plans] == [
        [step.reason for step in plan.steps] for plan in told
    ]


def test_the_card_tells_how_plans_hold_without_each_function(program: Program) -> None:
    without = program.model_card.without or {}
    assert len(without) > 1
    everybody = sum(program.model_card.tried_on or ())
    for tried in without.values():
        assert 0 <= tried.hold <= tried.plans <= tried.people <= everybody
        assert tried.people > 0
    people, plans, hold = map(sum, zip(*without.values(), strict=True))
    assert 0 < (program.model_card.queries or {})["its_plans_without_something"] <= plans, "one about each end, once"
    told = f"without each function in turn, {plans} of {people} people got another plan, and {hold} worked."
    assert any(line.endswith(told) for line in program.model_card.limitations or ())
    name = next(name for name in without if without[name].plans)
    assert f"{name}: people {without[name].people}, plans" in card_text(program.model_card)


@pytest.mark.parametrize("budget", [None, 3])
def test_a_trial_without_a_function_is_what_verify_finds(budget: int | None) -> None:
    program, german = programs.imitated("german"), benchmarks.load("german")
    people = german.problem.read(german.refused_test)
    box = BlackBox(german.model, budget=budget)
    tried = ProgramDistiller(german.problem, people, box, None, None, DistillOptions()).try_without(program, people)
    assert len(tried) == (0 if budget else 6)
    usual = program.recommend(german.refused_test)
    for name, found in tried.items():
        using = german.refused_test[[any(step.function == name for step in plan.steps) for plan in usual]]
        told = program.verify(using, german.model, forbid=[name])
        assert found == (told.people, told.plans, told.hold)
    assert not tried or any(found.hold < found.plans for found in tried.values())


def test_a_model_is_known_by_what_it_decides_by() -> None:
    class Memo:
        """Remembers what it was asked."""

        def __init__(self) -> None:
            self.seen: list[int] = []

        def __call__(self, frame: pd.DataFrame) -> np.ndarray:
            self.seen.append(len(frame))
            return np.full(len(frame), "refused")

    problem = SYN.problem
    box, wanted = BlackBox(Memo()), next(iter(problem.outcome.favourable))
    assert BlackBox(Memo(), favourable=wanted).fingerprint(problem) == box.fingerprint(problem)
    before = box.fingerprint(problem)
    box.favourable(problem, REFUSED)
    assert box.fingerprint(problem) == before
    assert BlackBox(lambda frame: np.full(len(frame), "refused")).fingerprint(problem) != before
    assert BlackBox(SYN.model, threshold=0.3).fingerprint(problem) != BlackBox(SYN.model).fingerprint(problem)


def test_a_program_knows_the_model_it_was_made_for(program: Program) -> None:
    assert program.verify(REFUSED, SYN.model).same_model
    other = program.verify(REFUSED, lambda frame: np.full(len(frame), "refused"))
    assert not other.same_model
    assert str(other).endswith("The program was made for another model, or for an earlier state of it.")
    assert replace(program, model_card=ModelCard()).verify(REFUSED, SYN.model).same_model, "as far as the card tells"


def test_a_program_knows_the_threshold_it_was_made_for(recourse: Recourse) -> None:
    box = BlackBox(SYN.model, threshold=0.9)
    program = Recourse(SYN.problem, box, surrogate=recourse.surrogate_).distil(PEOPLE, **SMALL)
    assert (program.model_card.threshold, program.model_card.favourable) == (0.9, tuple(SYN.problem.outcome.favourable))
    assert "favourable from a score of" in card_text(program.model_card)
    assert program.verify(REFUSED, SYN.model) == program.verify(REFUSED, box)
    assert program.verify(REFUSED, SYN.model).same_model
    assert "has labels without a threshold" in str(program.verify(REFUSED, BlackBox(SYN.model)))


def test_preferences(recourse: Recourse) -> None:
    plain, success, effort, short = (
        DistillOptions(prefer=prefer).settings() for prefer in ("balanced", "success", "effort", "short")
    )
    assert effort.failure_penalty < plain.failure_penalty < success.failure_penalty
    assert short.tree.leaf_penalty > plain.tree.leaf_penalty
    assert DistillOptions().settings() == short
    for wrong, message in (
        ({"prefer": "sucess"}, "no preference 'sucess'; did you mean 'success'"),
        ({"preset": "papr"}, "no preset 'papr'; did you mean 'paper'"),
        ({"rounds": 0}, "'rounds' must be an integer"),
        ({"traces": "many"}, "'traces' must be an integer, one or more, not 'many'"),
        ({"traces": float("nan")}, "'traces' must be an integer"),
        ({"seed": -1}, "'seed' must be an integer from 0"),
        ({"max_conditions": 0}, "'max_conditions' must be an integer"),
        ({"preset": "paper", "prefer": "short"}, "which imitates an agent once"),
    ):
        with pytest.raises(SettingError, match=message):
            recourse.distil(PEOPLE, **wrong)  # type: ignore[arg-type]


def test_examples_have_numbers_as_people_tell_them() -> None:
    data = worlds.benchmark("german").to_dict()
    data["features"]["credit_amount"]["integer"] = False
    problem = Problem.from_dict(data)
    people = problem.read(worlds.random_people(problem, 0, 80))
    place = [feature.name for feature in problem.features].index("credit_amount")
    people.states[:, place] += np.random.default_rng(0).normal(0, 0.001, len(people))
    states = ProgramDistiller(problem, people, BlackBox(SYN.model), None, None, DistillOptions()).synthetic(50)
    spread = people.states[:, place].std()
    assert len({*states[:, place]}) > 10
    step = 10.0 ** (np.floor(np.log10(spread)) - 2)
    assert np.allclose(states[:, place] / step, np.round(states[:, place] / step), atol=1e-6)


def test_whom_nothing_helps_is_told_of() -> None:
    program, german = programs.imitated("german"), benchmarks.load("german")
    states = german.problem.read(german.refused_test.head(6)).states
    run = program.run(states)
    assert run.stopped.all()
    least = np.array([1.0, 1, 1, np.inf, np.inf, np.inf])
    holds = np.array([True, True, False, False, False, True])
    trial = Trial(states, run, holds, least, Encoding.of(german.problem.features, states))
    card = card_of(program, trial, origin(states))
    assert card.tried_on == (4, 2)
    told = "For 2 more people it was tried on, no plan is known at all; it gave 2 of them one, which failed."
    assert told in (card.limitations or ())


@pytest.mark.parametrize("bins", [[25, 40, 60], [], None])
def test_everybody_is_in_a_group_of_a_protected_number(bins: list[int] | None) -> None:
    data = worlds.benchmark("german").to_dict()
    data["features"]["age"] |= {"protected": True} | ({} if bins is None else {"bins": bins})
    problem = Problem.from_dict(data)
    people = problem.read(worlds.random_people(problem, 0, 80))
    program = random_program(problem, 1, stops=0.8)
    run = program.run(people.states)
    trial = Trial(people.states, run, run.stopped, np.ones(80), problem.encoding(people))
    card = card_of(program, trial, origin(people.states))
    groups = (card.groups or {})["age"]
    assert sum(group.people for group in groups.values()) == 80
    assert len(groups) > 1


@pytest.mark.parametrize("budget", [10, 60])
def test_whom_the_model_was_not_asked_about_is_not_on_the_card(recourse: Recourse, budget: int) -> None:
    box = BlackBox(SYN.model, budget=budget)
    card: Any = Recourse(SYN.problem, box, surrogate=recourse.surrogate_).distil(PEOPLE, **SMALL).model_card
    assert box.queries == budget
    assert card.queries["people_as_they_are"] + card.queries["its_plans"] <= budget
    assert card.tried_on.with_plan <= budget
    assert card.tried_on.without_plan == 0, "nobody has looked"
    assert "no more queries to the model were allowed" in card.limitations[-1]


def test_protected_features_are_tested_only_if_wished(recourse: Recourse) -> None:
    mine = Recourse(SYN.problem, SYN.model, surrogate=recourse.surrogate_)
    made = mine.distil(PEOPLE, **SMALL, protected=True)
    assert made.model_card.protected_avoided == ()
    assert made.model_card.protected_tested == made.tests_protected()


def test_what_is_missing_is_named(recourse: Recourse) -> None:
    with pytest.raises(NotFittedError, match=r"distilled with a surrogate: call fit\(people, method='guided'\)"):
        Recourse(SYN.problem, SYN.model, agent=recourse.agent_).distil(PEOPLE)
    with pytest.raises(NotFittedError, match=r"an agent: call fit\(people, method='search', settings='paper'\)"):
        Recourse(SYN.problem, SYN.model, surrogate=recourse.surrogate_).distil(PEOPLE, preset="paper")
    with pytest.raises(NotFittedError, match=r"requires a program: call distil\(people\)"):
        Recourse(SYN.problem, SYN.model, surrogate=recourse.surrogate_).planner("program")
    with pytest.raises(PeopleError, match="there is nobody"):
        Recourse(SYN.problem, SYN.model, surrogate=recourse.surrogate_).distil(PEOPLE.head(0))


def test_progress_is_told(recourse: Recourse) -> None:
    seen: list[str] = []
    mine = Recourse(SYN.problem, SYN.model, surrogate=recourse.surrogate_)
    mine.distil(PEOPLE, **SMALL, progress=lambda what, done, total: seen.append(what))
    assert list(dict.fromkeys(seen)) == ["demonstrating", "distilling", "trying"]


def test_the_papers_program_imitates_what_the_agent_does(recourse: Recourse) -> None:
    box = BlackBox(SYN.model)
    seen: list[tuple[str, int]] = []
    mine = Recourse(SYN.problem, box, agent=recourse.agent_)
    people = SYN.refused_train.head(300)
    made = mine.distil(people, preset="paper", traces=60, progress=lambda what, done, total: seen.append((what, done)))
    card: Any = made.model_card
    assert list(dict.fromkeys(what for what, _ in seen)) == ["sampling", "trying"]
    assert max(done for what, done in seen if what == "sampling") == card.made_with["traces"] <= 60
    assert sum(card.people) == card.made_with["traces"]
    assert card.queries["traces"] >= card.made_with["traces"] - 5
    assert box.queries <= sum(card.queries.values())
    assert set(made.trees) <= set(made.nodes)
    assert made.recommend(REFUSED).counts["found"] > 5
    again = Recourse(SYN.problem, BlackBox(SYN.model), agent=recourse.agent_)
    assert to_json(again.distil(people, preset="paper", traces=60)) == to_json(made)
    loaded = json.loads(to_json(made))["card"]["made_with"]
    assert loaded["method"].startswith("imitation")
    assert loaded["search"] == settings_to_dict(SearchSettings.preset("paper"))
    assert loaded["agent"] == settings_to_dict(recourse.agent_.config)  # type: ignore[union-attr]


def test_the_papers_program_has_no_fallbacks(recourse: Recourse) -> None:
    mine = Recourse(SYN.problem, SYN.model, agent=recourse.agent_)
    made = mine.distil(SYN.refused_train.head(300), preset="paper", traces=60)
    assert all(len(leaf.choices) == 1 for tree in made.trees.values() for _, leaf in leaves(tree))
    missing = replace(made, trees={INTERVENE: made.trees[INTERVENE]})
    assert missing.recommend(REFUSED).counts.get("found", 0) == 0, "a node without a tree cannot stop"
    first = {step.function for plan in made.recommend(REFUSED) for step in plan.steps[:1]}
    forbidden = made.recommend(REFUSED, forbid=sorted(first))
    assert forbidden.counts.get("found", 0) == 0, "an action that is not possible is a failure"


@pytest.mark.parametrize(("protected", "avoided"), [(None, False), (True, False), (False, True)])
def test_the_papers_program_sees_protected_features_by_default(
    recourse: Recourse, protected: bool | None, avoided: bool
) -> None:
    mine = Recourse(SYN.problem, SYN.model, agent=recourse.agent_)
    card = mine.distil(SYN.refused_train.head(200), preset="paper", traces=20, protected=protected).model_card
    hidden = tuple(feature.name for feature in SYN.problem.features if feature.protected)
    assert card.protected_avoided == (hidden if avoided else ())
    assert not (avoided and card.protected_tested)


def test_synthetic_people_are_added_if_there_are_few(recourse: Recourse) -> None:
    mine = Recourse(SYN.problem, SYN.model, agent=recourse.agent_)
    card: Any = mine.distil(SYN.refused_train.head(40), preset="paper", traces=60).model_card
    assert card.made_with["traces"] == 60
    assert 0 < card.people.real <= 32
    assert card.people.synthetic == 60 - card.people.real


def test_traces_end_with_the_budget(recourse: Recourse) -> None:
    box = BlackBox(SYN.model, budget=360)
    mine = Recourse(SYN.problem, box, agent=recourse.agent_)
    card: Any = mine.distil(SYN.refused_train.head(300), preset="paper", traces=60).model_card
    assert 0 < card.made_with["traces"] < 60
    assert box.queries == 360
