"""Cautions about plans that avoid forbidden actions.

A program is made for people who can take every action. Its card has, for each function, how many of its plans were
favourable in a trial without that function, as far as there was one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from counterplan.plans import Coded
from counterplan.problem.transitions import Bools, Ints
from counterplan.program.interpreter import ProgramRun
from counterplan.program.parts import INTERVENE, leaves
from counterplan.program.protocol import ProgramLike
from counterplan.program.wording import NOTHING_HELPS
from counterplan.search.orders import NO_ACTION


class Cautions(NamedTuple):
    """Sentences for plans that differ from the plan without constraints."""

    without: tuple[str, ...]
    """By function: for people with this function forbidden, all of it and no other."""
    otherwise: str
    """For all other constraints."""


def cautions(program: ProgramLike) -> Cautions:
    """The sentences of a program, with the figures of its card."""
    trials = program.model_card.to_data().get("without")
    trials = trials if isinstance(trials, Mapping) else {}
    made = "This program was made for people who can change everything"
    otherwise = f"{made}; where something cannot be changed, its plans are less certain."
    without = []
    for name in program.nodes[1:]:
        trial = trials.get(name)
        plans, hold = (trial.get(key) if isinstance(trial, Mapping) else None for key in ("plans", "hold"))
        known = type(plans) is int and type(hold) is int and 0 <= hold <= plans and plans > 0
        count = "its 1 other plan" if plans == 1 else f"its {plans:,} other plans" if known else ""
        without.append(f"{made}; tried without “{spoken(name)}”, {hold:,} of {count} worked." if known else otherwise)
    return Cautions(tuple(without), otherwise)


def given_up(program: ProgramLike, node: str, leaf: int) -> str:
    """The sentence for people who reach a leaf without choices: `Nothing in this program is likely to help: …`."""
    rule, sentence = program.rule(node, leaf), NOTHING_HELPS[:1].upper() + NOTHING_HELPS[1:]
    return f"{sentence} where {rule.text}." if rule.conditions else f"{sentence}."


def given_up_for(program: ProgramLike, run: ProgramRun, cautions: Coded[str] | None) -> Coded[str] | None:
    """`cautions` [B] with the sentence for everyone whose first leaf has no choices; None if there are none at all."""
    ends = [leaf for _, leaf in leaves(program.trees[INTERVENE])]
    codes = cautions.codes.copy() if cautions else np.full(len(run.actions), -1)
    values = list(cautions.values) if cautions else []
    for number in (number for number, leaf in enumerate(ends) if not leaf.choices):
        codes[run.leaves[:, 0] == number] = len(values)
        values.append(given_up(program, INTERVENE, number))
    return Coded(codes, values) if values else cautions


def cautions_for(program: ProgramLike, actions: Ints, unconstrained: Ints, allowed: Bools) -> Coded[str]:
    """Cautions [B] about plans `actions` [B, T] that differ from those without the constraints `allowed` [B, A]."""
    sentences, spans = cautions(program), program.problem.transitions.spans
    rows = np.flatnonzero((actions != unconstrained).any(axis=1) & (actions[:, 0] != NO_ACTION))
    masks, codes = np.unique(allowed[rows], axis=0, return_inverse=True)
    result: Coded[str] = Coded.empty((len(actions),))
    result.codes[rows] = codes.ravel()
    for mask in masks:
        constrained = [f for f, span in enumerate(spans) if not mask[span].all()]
        alone = len(constrained) == 1 and not mask[spans[constrained[0]]].any()
        result.values.append(sentences.without[constrained[0]] if alone else sentences.otherwise)
    return result


def spoken(name: str) -> str:
    """The name of a node in words: "Change job" for CHANGE_JOB."""
    if name == INTERVENE:
        return "Begin"
    words = name.replace("_", " ").strip()
    return words[:1].upper() + words[1:].lower() if words.isupper() else words
