"""What is to be said of a plan that goes around something forbidden: a program is made for people who can change
everything, and how often its plans hold without one function is on its card, as far as that was tried."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from counterplan.problem.transitions import Bools, Ints
from counterplan.program.parts import INTERVENE
from counterplan.program.protocol import ProgramLike
from counterplan.search.orders import NO_ACTION


class Cautions(NamedTuple):
    """Sentences for plans that are not what they would be if nothing were forbidden."""

    without: tuple[str, ...]
    """By function: where it alone is forbidden, and wholly."""
    otherwise: str
    """Where anything else is."""


def cautions(program: ProgramLike) -> Cautions:
    """What a program has to say, by what it was tried without."""
    told = program.card.to_data().get("without")
    told = told if isinstance(told, Mapping) else {}
    made = "This program was made for people who can change everything"
    otherwise = f"{made}; where something is forbidden, its plans are less sure."
    said = []
    for name in program.nodes[1:]:
        tried = told.get(name)
        plans, hold = (tried.get(key) if isinstance(tried, Mapping) else None for key in ("plans", "hold"))
        known = type(plans) is int and type(hold) is int and 0 <= hold <= plans and plans > 0
        count = "the 1 plan that it gave" if plans == 1 else f"the {plans:,} plans that it gave" if known else ""
        said.append(f"{made}; tried without “{spoken(name)}”, {hold:,} of {count} held." if known else otherwise)
    return Cautions(tuple(said), otherwise)


def cautioned(program: ProgramLike, actions: Ints, freely: Ints, allowed: Bools) -> dict[int, str]:
    """By row: what is to be said of plans `actions` [B, T] that would be `freely` [B, T] if nothing were forbidden."""
    said, spans = cautions(program), program.problem.transitions.spans
    rows = np.flatnonzero((actions != freely).any(axis=1) & (actions[:, 0] != NO_ACTION))
    wishes, whose = np.unique(allowed[rows], axis=0, return_inverse=True)
    sentences = []
    for wish in wishes:
        touched = [f for f, span in enumerate(spans) if not wish[span].all()]
        alone = len(touched) == 1 and not wish[spans[touched[0]]].any()
        sentences.append(said.without[touched[0]] if alone else said.otherwise)
    return {row: sentences[which] for row, which in zip(rows.tolist(), whose.ravel().tolist(), strict=True)}


def spoken(name: str) -> str:
    """A node's name for people: "Change job" for CHANGE_JOB."""
    if name == INTERVENE:
        return "Begin"
    words = name.replace("_", " ").strip()
    return words[:1].upper() + words[1:].lower() if words.isupper() else words
