"""Words for choices and values, as the readers of a program see them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from counterplan.problem import Feature, Function, Problem
from counterplan.program.parts import INTERVENE, Choice


def choice_name(problem: Problem, choice: Choice) -> str:
    """`CHANGE_JOB=manager`, `CHANGE_INCOME to 80000`, `STOP`"""
    action = problem.transitions.actions[choice.action]
    return str(action) if choice.reach is None else f"{action.function} to {plain_number(choice.reach)}"


def choice_words(problem: Problem, choice: Choice) -> tuple[str, str, str]:
    """The verb, the object and the target of a choice other than STOP: `change`, `your job`, `to "manager"`.

    `raise`, `your income`, `to 80,000 €`: by the smallest step that brings it there or beyond, else by the largest.
    """
    function, feature, argument = _meant(problem, choice)
    if not function.adds:
        return "change", feature.label, f"to {_value(feature, argument)}"
    if choice.reach is None:
        return "raise" if argument > 0 else "lower", feature.label, f"by {feature.format_value(abs(argument))}"
    ways = function.arguments
    way = "lower" if (ways < 0).all() else "raise" if (ways > 0).all() else "move"
    return way, feature.label, f"to {feature.format_value(choice.reach)}"


_NAMED = 3
"""Most steps that are named as not possible; of more, all but two are only counted."""
_DOING = {"change": "changing", "raise": "raising", "lower": "lowering", "move": "moving"}


def not_open(problem: Problem, choices: Sequence[Choice]) -> str:
    """The text for choices that are not possible: not legal, forbidden, or at the end of a plan."""
    targets: dict[tuple[str, str], list[str]] = {}
    for choice in choices:
        way, label, target = choice_words(problem, choice)
        aims = targets.setdefault((way, label), [])
        if choice.reach is None:
            aims.append(target)
        else:
            aims[:] = []  # no step of this function is possible, whatever its target
    words = [" ".join([_DOING[way], label, joined(aims, "or")]).rstrip() for (way, label), aims in targets.items()]
    if len(words) > _NAMED:
        words[_NAMED - 1 :] = [f"{len(words) - _NAMED + 1} other steps"]
    return f"{joined(words, 'and')} {'is' if len(words) == 1 else 'are'} not possible for you at this point"


def _meant(problem: Problem, choice: Choice) -> tuple[Function, Feature, float]:
    """The function of a choice, the feature it changes, and its argument."""
    number = int(problem.transitions.function_of[choice.action])
    function = problem.transitions.functions[number]
    argument = float(function.arguments[choice.action - problem.transitions.spans[number].start])
    return function, problem.features[function.target], argument


NOTHING_HELPS = "nothing in this program is likely to help"
"""The text of a leaf without choices."""


def for_everyone(node: str, stop: bool) -> str:
    """The text of a rule without conditions."""
    if stop:
        return "nothing more is needed after that step"
    if node == INTERVENE:
        return "it comes first for everyone who can take it"
    return "it comes next for everyone who can take it"


def verb(label: str) -> str:
    """ "is" or "are", by the last word before a preposition: your savings are, the purpose of the loan is."""
    noun = re.split(r" (?:of|per|in|at|for|on|with|from|to|you) ", label)[0].split(" ")[-1]
    return "are" if re.search(r"[^siu]s$", noun) else "is"


def _value(feature: Feature, number: float) -> str:
    return feature.format_value(number) if feature.is_number else quoted(feature, int(number))


def quoted(feature: Feature, place: int) -> str:
    """The label of a value of a category, in quotes unless it is a number."""
    label = feature.labels[place]
    return label if re.fullmatch(r"-?[0-9.]+", label) else f'"{label}"'


def joined(words: Sequence[str], last: str) -> str:
    """`a, b or c`"""
    return f" {last} ".join([*([", ".join(words[:-1])] if len(words) > 1 else []), *words[-1:]])


def plain_number(number: float) -> int | float:
    """An integer if `number` is one."""
    return int(number) if float(number).is_integer() and abs(number) < 2**53 else float(number)
