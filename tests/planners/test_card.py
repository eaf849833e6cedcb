"""The card planner: without queries, as exact search with the card as black box; with queries, at most so many."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import worlds
from counterplan import BlackBox, CardPlanner, ExactPlanner, ModelError, Problem, SettingError, Status
from counterplan.planners.registry import create_planner
from counterplan.scorecard import CardFeature, Scorecard
from counterplan.search.few_queries import FewQueries
from scorecard.random_cards import random_card

LINE = Problem.from_dict(
    {
        "counterplan": 1,
        "name": "line",
        "outcome": {"column": "y", "values": ["no", "yes"], "favourable": "yes"},
        "max_actions": 3,
        "features": {"x": {"kind": "number", "integer": True, "bins": []}, "z": {"kind": "number", "bins": []}},
        "functions": {
            "ADD": {"add": "x", "arguments": [1, 2, 5], "cost": {"base": 1, "surcharge": [0, 1, 4]}},
            "RAISE": {"add": "z", "arguments": [1], "cost": 2},
        },
    }
)
CARD = Scorecard(
    LINE, (CardFeature(0, (1.0, 2.0, 4.0, 6.0, 9.0), (0, 4, 8, 12, 16, 20)),), needed=12, slope=0.6, shift=6.0
)
PEOPLE = pd.DataFrame({"x": [0, 0, 3], "z": [0.0, 5.0, 0.0]})


def at_least(x: float) -> BlackBox:
    return BlackBox(lambda table: np.where(table["x"] >= x, "yes", "no"))


def as_box(card: Scorecard) -> BlackBox:
    """A black box that favours states with enough points."""
    values = card.problem.outcome.natives
    good = next(value for value in values if str(worlds._text(value)) in card.problem.outcome.favourable)
    bad = next(value for value in values if str(worlds._text(value)) not in card.problem.outcome.favourable)

    def decide(table: pd.DataFrame) -> list[object]:
        points = card.points(card.problem.read(table).states)
        return [good if own >= card.needed else bad for own in points]

    return BlackBox(decide)


@settings(max_examples=40)
@given(st.data())
def test_without_queries_plans_are_those_of_exact_search_on_the_card(data: st.DataObject) -> None:
    problem = data.draw(worlds.problems())
    card = random_card(problem, data.draw(st.integers(0, 10**6)))
    people = problem.read(data.draw(worlds.people(problem)))
    forbid = data.draw(st.lists(st.sampled_from([f.name for f in problem.transitions.functions]), max_size=1))
    shape = (len(people), len(problem.transitions))
    seed = data.draw(st.none() | st.integers(0, 1000))
    weights = None if seed is None else np.random.default_rng(seed).choice([0.01, 0.5, 1.0, 3.0], shape)
    own = CardPlanner(problem, None, card, queries=0).plan(people, refused=True, forbid=forbid, weights=weights)
    exact = ExactPlanner(problem, as_box(card)).plan(people, refused=True, forbid=forbid, weights=weights)
    points = card.points(people.states)
    for row, (plan, best) in enumerate(zip(own, exact, strict=True)):
        assert not plan.verified
        assert not plan.optimal
        end = card.points(problem.states([plan.steps[-1].after]))[0] if plan.steps else None
        if best.status is Status.FOUND and points[row] < card.needed:
            assert plan.actions == best.actions
            assert plan.cost == pytest.approx(best.cost, abs=0, nan_ok=True)
        elif end is not None:  # more points than the person has, or the most within reach
            assert end > points[row]
            assert end >= card.even
            assert ("the most within reach" in plan.caution) == (end < card.required(people.states)[row])
            if plan.caution:
                reached = replace(card, needed=int(end) + 1)
                further = ExactPlanner(problem, as_box(reached)).plan(
                    people.take([row]),
                    refused=True,
                    forbid=forbid,
                    weights=None if weights is None else weights[[row]],
                )
                assert further[0].status is Status.INFEASIBLE
    assert own.queries == 0


@settings(max_examples=20)
@given(st.data())
def test_at_most_so_many_queries_and_only_confirmed_plans(data: st.DataObject) -> None:
    problem = data.draw(worlds.problems())
    card = random_card(problem, data.draw(st.integers(0, 10**6)))
    people = problem.read(data.draw(worlds.people(problem)))
    model = data.draw(worlds.black_boxes(problem))
    queries = data.draw(st.integers(1, 4))
    box = BlackBox(model)
    plans = CardPlanner(problem, box, card, queries=queries).plan(people, refused=True)
    assert max((plan.queries for plan in plans), default=0) <= queries
    assert box.queries <= queries * len(people)
    for plan in plans:
        assert plan.status in (Status.FOUND, Status.NOT_FOUND)
        if plan.status is Status.FOUND:
            assert plan.verified
            assert plan.replay(problem, BlackBox(model)).ok


def test_nothing_is_sent_without_queries_or_with_a_budget_of_0() -> None:
    box = at_least(6)
    for planner, budget in ((CardPlanner(LINE, box, CARD, queries=0), None), (CardPlanner(LINE, box, CARD), 0)):
        plans = planner.plan(PEOPLE, refused=True, budget=budget)
        assert [plan.actions for plan in plans] == [["ADD=2", "ADD=2"], ["ADD=2", "ADD=2"], ["ADD=1"]]
        assert [plan.verified for plan in plans] == [False] * 3
    assert box.queries == 0


def test_a_budget_limits_the_queries_of_the_card() -> None:
    plans = CardPlanner(LINE, at_least(6), CARD, queries=3).plan(PEOPLE, refused=True, budget=1)
    assert max(plan.queries for plan in plans) == 1


def test_more_queries_find_cheaper_plans() -> None:
    """The card is certain only of x ≥ 6; the model is favourable from x = 4 on."""
    costs = [CardPlanner(LINE, at_least(4), CARD, queries=n).plan(PEOPLE, refused=True).costs[0] for n in (1, 3)]
    assert costs[1] <= costs[0]
    assert costs[1] == ExactPlanner(LINE, at_least(4)).plan(PEOPLE, refused=True).costs[0]


def test_falls_through_to_the_guided_planner() -> None:
    """The card knows nothing about z, which decides."""
    box = BlackBox(lambda table: np.where(table["z"] >= 7, "yes", "no"))

    def surrogate(states: np.ndarray) -> np.ndarray:
        return 4 * (states[:, 1] - 6.5)

    alone = CardPlanner(LINE, box, CARD, queries=2, surrogate=surrogate, fall_through=False)
    assert alone.plan(PEOPLE, refused=True).counts["found"] == 0
    plans = CardPlanner(LINE, box, CARD, queries=2, surrogate=surrogate).plan(PEOPLE, refused=True)
    assert [plan.status for plan in plans] == [Status.NOT_FOUND, Status.FOUND, Status.NOT_FOUND]
    assert plans[1].verified
    assert plans[1].actions == ["RAISE=1", "RAISE=1"]
    assert plans[1].queries >= 3


def test_people_who_cannot_reach_enough_points_have_no_plan() -> None:
    plans = CardPlanner(LINE, None, CARD, queries=0).plan(PEOPLE, refused=True, forbid="ADD")
    assert {plan.status for plan in plans} == {Status.NOT_FOUND}


def test_weights_change_the_plan() -> None:
    weights = pd.DataFrame({"ADD=2": [5.0] * 3}, index=PEOPLE.index)
    plans = CardPlanner(LINE, None, CARD, queries=0).plan(PEOPLE, refused=True, weights=weights)
    assert plans[0].actions == ["ADD=5"]


def test_a_card_is_a_scorecard() -> None:
    with pytest.raises(SettingError, match="'card' must be a Scorecard"):
        CardPlanner(LINE, None, None)  # type: ignore[arg-type]


def test_without_a_model_nothing_can_be_queried() -> None:
    with pytest.raises(ModelError, match="no model to query"):
        CardPlanner(LINE, None, CARD, queries=1).plan(PEOPLE, refused=True)


def test_wrong_parameters_are_rejected() -> None:
    with pytest.raises(SettingError, match="'queries' must be an integer"):
        CardPlanner(LINE, None, CARD, queries=-1)
    with pytest.raises(SettingError, match="another problem"):
        CardPlanner(worlds.benchmark("german"), None, CARD)
    for settings_ in ({"shared": 1.0}, {"failure_cost": 1.0}, {"query_cost": -1.0}, {"lookahead": 0}):
        with pytest.raises(SettingError):
            FewQueries(**settings_)  # type: ignore[arg-type]


def test_a_card_is_passed_by_name_and_a_surrogate_if_there_is_one() -> None:
    planner = create_planner(CardPlanner, LINE, at_least(6), {"card": lambda: CARD, "surrogate": lambda: None})
    assert isinstance(planner, CardPlanner)
    assert planner.card is CARD
