"""The compared methods: labels, names in the paper, learned objects they need, and how they are drawn."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

AGENT, SURROGATE, PROGRAM = "agent", "surrogate", "program"
PAPER_AGENT, UNSEARCHED, IMITATION = "paper-agent", "unsearched-agent", "imitation"
"""The learned objects, by the name of the cell that makes them."""


@dataclass(frozen=True)
class Method:
    """A method that produces plans."""

    name: str
    label: str
    description: str
    needs: tuple[str, ...] = ()
    """Objects to learn first."""
    paper: str | None = None
    """Name in the paper."""
    colour: str | None = None
    """None: the colour of text."""
    marker: str = "o"
    hollow: bool = False


BLUE, ORANGE, GREEN, PURPLE, VERMILLION, SKY = "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9"
"""The palette of Okabe and Ito; variants of a method share its colour."""

METHODS = (
    Method(
        "paper_search",
        "M_mcts",
        "the paper’s search, with an agent trained by the paper’s preset",
        needs=(PAPER_AGENT,),
        paper="M_mcts",
        colour=BLUE,
        marker="p",
        hollow=True,
    ),
    Method(
        "paper_program",
        "M_prog",
        "the paper’s construction: decision trees that imitate traces of M_mcts; no queries",
        needs=(PAPER_AGENT, IMITATION),
        paper="M_prog",
        colour=GREEN,
        marker="v",
        hollow=True,
    ),
    Method(
        "evolution",
        "M_cscf",
        "the evolutionary baseline (CSCF), run from scratch for each person",
        paper="M_cscf",
        colour=ORANGE,
        marker="D",
    ),
    Method(
        "evolution_small",
        "M_cscf small",
        "the same with fewer generations and a smaller population",
        paper="M_cscf small",
        colour=ORANGE,
        marker="d",
        hollow=True,
    ),
    Method(
        "paper_policy",
        "M_agent",
        "the agent of M_mcts without search: its most probable action at each step; no queries. The published code for "
        "it never updates the hidden state of its LSTM, which explains its published success of .00 to .59",
        needs=(PAPER_AGENT,),
        paper="M_agent",
        colour=PURPLE,
        marker="h",
        hollow=True,
    ),
    Method(
        "unsearched",
        "M_agent, no MCTS",
        "the same for an agent trained without tree search: on traces sampled from its own policy, with as many "
        "gradient steps after each group of people and the same budget of queries",
        needs=(UNSEARCHED,),
        colour=PURPLE,
        marker="P",
        hollow=True,
    ),
    Method("search", "search", "Monte Carlo tree search guided by a trained agent", (AGENT,), colour=BLUE, marker="s"),
    Method(
        "program",
        "program",
        "rules distilled by policy search on a surrogate (prefer='balanced'); no queries",
        needs=(SURROGATE, PROGRAM),
        colour=GREEN,
        marker="^",
    ),
    Method(
        "guided",
        "guided",
        "cost-ordered search whose queries are selected by a surrogate",
        needs=(SURROGATE,),
        colour=VERMILLION,
    ),
    Method(
        "cascade",
        "cascade",
        "the program, verified with one query; guided where it fails",
        needs=(SURROGATE, PROGRAM),
        colour=SKY,
        marker="X",
    ),
    Method("exact", "exact", "uniform-cost search: the optimal plan, or a proof of infeasibility", marker="*"),
    Method(
        "policy",
        "agent alone",
        "the agent of search without search; no queries",
        needs=(AGENT,),
        colour=PURPLE,
        marker="P",
    ),
    Method(
        "untrained",
        "search, untrained",
        "the same search with an untrained agent",
        colour=BLUE,
        marker="s",
        hollow=True,
    ),
)
"""In the order of tables and figures: the paper's by the paper's preset, then those of this library."""

BY_NAME = {method.name: method for method in METHODS}
ABLATION = ("paper_search", "paper_policy", "unsearched", "search", "policy", "untrained")
PAPER_MODELS = ("paper_search", "paper_program", "evolution", "evolution_small")
"""The methods whose intersection of solved people the paper compares."""
OWN_MODELS = ("search", "program", "guided", "cascade", "exact")
"""The methods of this library that are compared in the same way."""
_EXTERNAL_MARKERS = ("<", ">", "H", "8", "1", "2")


def method_named(name: str) -> Method:
    """A method by name; an unknown name is that of an external planner."""
    if name in BY_NAME:
        return BY_NAME[name]
    marker = _EXTERNAL_MARKERS[sum(map(ord, name)) % len(_EXTERNAL_MARKERS)]
    return Method(name, name, "an external planner", marker=marker, hollow=True)


def label_of(name: str) -> str:
    """The label of a method."""
    return method_named(name).label


def in_order(names: Iterable[object]) -> list[str]:
    """Distinct method names in the order of tables and figures; external planners come last."""
    present = dict.fromkeys(str(name) for name in names)
    known = [method.name for method in METHODS if method.name in present]
    return [*known, *(name for name in present if name not in BY_NAME)]
