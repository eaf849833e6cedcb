"""Random programs over random problems, and the states that their nodes can be in."""

from __future__ import annotations

import math
from random import Random

import numpy as np
from hypothesis import strategies as st

import worlds
from counterplan.problem import Feature, Problem
from counterplan.program import INTERVENE, Choice, Leaf, ModelCard, Program, Split, Test, Tree, leaves


def random_program(problem: Problem, seed: int | Random, depth: int = 3, stops: float = 0.0) -> Program:
    """A tree in every node that some choice leads to, and in others; every kind of test and of choice; `stops` is how
    many leaves end with STOP."""
    random = Random(seed) if isinstance(seed, int) else seed
    functions = [function.name for function in problem.transitions.functions]
    spare = {name for name in functions if random.random() < 0.5}
    trees = {name: _tree(problem, random, depth, stops) for name in (INTERVENE, *functions)}
    spare -= _led_to(problem, trees)
    return Program(problem, {name: tree for name, tree in trees.items() if name not in spare}, ModelCard(seed=0))


def _led_to(problem: Problem, trees: dict[str, Tree]) -> set[str]:
    choices = (choice for tree in trees.values() for _, leaf in leaves(tree) for choice in leaf.choices)
    return {problem.transitions.actions[choice.action].function for choice in choices}


def programs(problem: Problem) -> st.SearchStrategy[Program]:
    return st.randoms(use_true_random=False).map(lambda random: random_program(problem, random))


def _tree(problem: Problem, random: Random, depth: int, stops: float) -> Tree:
    if depth == 0 or random.random() < 0.2:
        choices = [_choice(problem, random) for _ in range(random.choice([0, 1, 1, 2, 3, 6]))]
        return Leaf((*choices, *([Choice(problem.transitions.stop)] if random.random() < stops else [])))
    test = _test(random, random.choice(problem.features))
    return Split(test, _tree(problem, random, depth - 1, stops), _tree(problem, random, depth - 1, stops))


def _test(random: Random, feature: Feature) -> Test:
    if random.random() < 0.15:
        return Test(feature.index)
    if feature.is_number:
        return Test(feature.index, at_least=_number(random, feature))
    places = range(len(feature.natives))
    if feature.kind == "ordered" and random.random() < 0.6:
        return Test(feature.index, at_least=float(random.choice(places)))
    return Test(feature.index, among=tuple(sorted(random.sample(places, random.randint(1, len(places))))))


def _choice(problem: Problem, random: Random) -> Choice:
    transitions = problem.transitions
    if random.random() < 0.25:
        return Choice(transitions.stop)
    number = random.randrange(len(transitions.functions))
    span = transitions.spans[number]
    if transitions.functions[number].adds and random.random() < 0.5:
        return Choice(span.start, reach=_number(random, problem.features[transitions.functions[number].target]))
    return Choice(random.randrange(span.start, span.stop))


def _number(random: Random, feature: Feature) -> float:
    """One that people have, or another."""
    others = [-4, 0, 1, 2.5, 3, 5, 5.5, 6.1, 8, 12, 0.1, 50, 10_000.0]
    return float(random.choice([*others, *[worlds._some_value(random, feature) or 0] * len(others)]))


def states_at(program: Program, node: str, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """States that `node` can be in: people, or what comes of them by the choices that lead to it."""
    if node == INTERVENE:
        return states
    problem = program.problem
    transitions = problem.transitions
    span = transitions.spans[program.nodes.index(node) - 1]
    on_the_way = worlds.random_plan_actions(problem, states, rng).states.reshape(-1, states.shape[1])
    legal = transitions.legal(on_the_way)
    found = [np.empty((0, states.shape[1]))]
    all_ = (choice for tree in program.trees.values() for _, leaf in leaves(tree) for choice in leaf.choices)
    for choice in dict.fromkeys(all_):
        if span.start <= choice.action < span.stop:
            action = choice.pick(transitions, on_the_way, legal)
            rows = np.flatnonzero(action >= 0)
            found.append(transitions.apply(on_the_way[rows], action[rows]))
    return np.concatenate(found)


def reference(program: Program, start: np.ndarray, allowed: np.ndarray) -> tuple[list[int], bool]:
    """What the program does for one person, step by step, and whether it stops."""
    transitions = program.problem.transitions
    node, state, actions = INTERVENE, start, []
    while node in program.trees:
        tree = program.trees[node]
        while isinstance(tree, Split):
            tree = tree.yes if _passes(tree.test, float(state[tree.test.feature])) else tree.no
        legal = transitions.legal(state[None])[0] & allowed
        if len(actions) == program.problem.max_actions:
            legal[:-1] = False
        legal[-1] = len(actions) > 0
        picks = [action for action in (_pick(program, choice, state, legal) for choice in tree.choices) if action >= 0]
        if not picks:
            return [], False
        if picks[0] == transitions.stop:
            return actions, True
        actions.append(picks[0])
        state = transitions.apply(state[None], np.array(picks[:1]))[0]
        node = transitions.actions[picks[0]].function
    return [], False


def _passes(test: Test, value: float) -> bool:
    if test.at_least is not None:
        return value >= test.at_least
    return value in test.among if test.among is not None else math.isnan(value)


def _pick(program: Program, choice: Choice, state: np.ndarray, legal: np.ndarray) -> int:
    transitions = program.problem.transitions
    if choice.reach is None:
        return choice.action if legal[choice.action] else -1
    number = int(transitions.function_of[choice.action])
    span, target = transitions.spans[number], transitions.functions[number].target
    ends = {
        action: float(transitions.apply(state[None], np.array([action]))[0, target])
        for action in range(span.start, span.stop)
        if legal[action]
    }
    if max(transitions.functions[number].arguments) < 0:
        enough = {action: end for action, end in ends.items() if end <= choice.reach}
        return max(enough, key=enough.__getitem__) if enough else min(ends, key=ends.__getitem__, default=-1)
    enough = {action: end for action, end in ends.items() if end >= choice.reach}
    return min(enough, key=enough.__getitem__) if enough else max(ends, key=ends.__getitem__, default=-1)
