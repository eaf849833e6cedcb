"""Real programs for tests, imitated or distilled."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from counterplan.benchmarks import suite
from counterplan.blackbox import BlackBox
from counterplan.distillation.demonstrations import DemonstrationSettings, demonstrate
from counterplan.distillation.policy_search import PolicySearch, PolicySearchSettings
from counterplan.planners import ExactPlanner
from counterplan.problem import People, Problem
from counterplan.problem.parts import STOP
from counterplan.program import INTERVENE, Choice, Leaf, ModelCard, Program, Split, Test, Tree
from counterplan.search.orders import NO_ACTION


@cache
def imitated(name: str = "german", people: int = 80, depth: int = 4) -> Program:
    """A program that imitates the cheapest plans of a benchmark's refused people, with scikit-learn's trees."""
    world = suite.load(name)
    problem, transitions = world.problem, world.problem.transitions
    plans = ExactPlanner(problem, BlackBox(world.model)).plan(world.refused_train.iloc[:people])
    by_name = {str(action): action.index for action in transitions.actions}
    seen: dict[str, list[tuple[Any, int]]] = {}
    transited: dict[str, int] = {}
    for plan in plans:
        node, state = INTERVENE, problem.state(plan.start)
        for action in [*(by_name[step.action] for step in plan.steps), transitions.stop]:
            if not plan.steps:
                break
            seen.setdefault(node, []).append((state, action))
            way = f"{node}>{transitions.actions[action].function}"
            transited[way] = transited.get(way, 0) + 1
            node, state = transitions.actions[action].function, transitions.apply(state[None], np.array([action]))[0]
    assert STOP in transited_to(transited)
    trees = {node: _imitate(problem, rows, depth) for node, rows in seen.items()}
    examples = [problem.describe(state) for state, _ in seen[INTERVENE][:5]]
    card = {
        "made_with": "scikit-learn trees, from the cheapest plans",
        "people": len(plans),
        "success": 0.72,
        "cost_ratio": 1.14,
        "questions": plans.queries,
        "groups": {"sex": {"female": {"success": 0.7, "effort": 11.5}, "male": {"success": 0.74, "effort": 10.9}}},
        "cannot": ["It was made from few people, for a test."],
        "transitions": transited,
        "examples": examples,
    }
    return Program(problem, trees, ModelCard.from_data(card))


class Knows:
    """A surrogate that is never wrong: the benchmark's model itself."""

    hints = None

    def __init__(self, problem: Problem, people: People, model: object) -> None:
        self.asked = BlackBox(model).session(problem, people.take(slice(0, 1)))

    def logit(self, states: np.ndarray) -> np.ndarray:
        """[B] far from zero, for `states` [B, F]."""
        return np.where(self.asked(states, np.zeros(len(states), np.intp)), 5.0, -5.0)


@cache
def distilled(name: str, people: int = 250, rounds: int = 2) -> Program:
    """A small program as `distil` makes it: by policy search, simplified, with targets and fallbacks."""
    world = suite.load(name)
    problem, rng = world.problem, np.random.default_rng(0)
    learners = problem.read(world.train.head(2000))
    knows: Any = Knows(problem, learners, world.model)
    settings = DemonstrationSettings(people=people, max_expansions=20_000)
    demonstrations = demonstrate(problem, learners, knows, settings, rng)
    search = PolicySearch(
        problem, demonstrations, knows.logit, PolicySearchSettings(rounds=rounds, max_rows=people), rng
    )
    functions = [function.name for function in problem.transitions.functions]
    tried = {name: {"people": 50, "plans": 40 - place, "hold": 30} for place, name in enumerate(functions)}
    return Program(problem, search.run(), ModelCard.from_data({"without": tried})).simplified()


def transited_to(transited: dict[str, int]) -> set[str]:
    return {way.split(">")[1] for way in transited}


def _imitate(problem: Problem, rows: list[tuple[Any, int]], depth: int) -> Tree:
    states, actions = np.array([state for state, _ in rows]), np.array([action for _, action in rows])
    learned = DecisionTreeClassifier(max_depth=depth, min_samples_leaf=2, random_state=0).fit(states, actions)
    inner = learned.tree_

    def grow(node: int) -> Tree:
        if inner.children_left[node] < 0:
            order = np.argsort(-inner.value[node][0], kind="stable")
            likely = [int(learned.classes_[i]) for i in order if inner.value[node][0][i] > 0]
            return Leaf(tuple(Choice(action) for action in [*likely, problem.transitions.stop]))
        feature = problem.features[int(inner.feature[node])]
        cut = float(inner.threshold[node])
        whole = feature.integer or not feature.is_number
        least = float(np.floor(cut)) + 1 if whole else float(np.nextafter(cut, np.inf))
        test = Test(feature.index, at_least=least)
        if feature.kind == "category":
            test = Test(feature.index, among=tuple(range(int(least), len(feature.natives))))
        return Split(test, grow(int(inner.children_right[node])), grow(int(inner.children_left[node])))

    return grow(0)


def actions_of(program: Program, states: np.ndarray, allowed: np.ndarray | None = None) -> list[list[str]]:
    """What the program itself does for people in `states` [B, F], by name."""
    names = [str(action) for action in program.problem.transitions.actions]
    run = program.run(states, allowed)
    return [[names[action] for action in row if action != NO_ACTION] for row in run.actions.tolist()]
