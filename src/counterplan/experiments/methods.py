"""The compared methods: labels, names in the paper, learned objects they need, and how they are drawn."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

AGENT, SURROGATE, PROGRAM, PAPER_AGENT, IMITATION = "agent", "surrogate", "program", "paper-agent", "imitation"
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
    compared: bool = True
    """Whether it takes part in the intersection of people solved by every method."""
    optional: bool = False


BLUE, ORANGE, GREEN, PURPLE, VERMILLION, SKY = "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9"
"""The palette of Okabe and Ito; variants of a method share its colour and have a hollow marker."""

METHODS = (
    Method("search", "search", "Monte Carlo tree search guided by a trained agent", (AGENT,), "M_mcts", BLUE, "s"),
    Method(
        "policy",
        "agent alone",
        "the agent’s most probable action at each step; no queries",
        needs=(AGENT,),
        paper="M_agent",
        colour=PURPLE,
        marker="P",
        compared=False,
    ),
    Method(
        "untrained",
        "search, untrained",
        "the same search with an untrained agent",
        colour=BLUE,
        marker="s",
        hollow=True,
        compared=False,
    ),
    Method(
        "program",
        "program",
        "rules distilled by policy search on a surrogate; no queries",
        needs=(SURROGATE, PROGRAM),
        paper="M_prog",
        colour=GREEN,
        marker="^",
    ),
    Method(
        "paper_program",
        "program, paper’s way",
        "the paper’s construction: decision trees that imitate traces of the agent",
        needs=(AGENT, IMITATION),
        paper="M_prog",
        colour=GREEN,
        marker="v",
        hollow=True,
    ),
    Method(
        "evolution",
        "CSCF",
        "the evolutionary baseline, run from scratch for each person",
        paper="M_cscf",
        colour=ORANGE,
        marker="D",
    ),
    Method(
        "evolution_small",
        "CSCF small",
        "the same with fewer generations and a smaller population",
        paper="M_cscf small",
        colour=ORANGE,
        marker="d",
        hollow=True,
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
        "paper_search",
        "search, paper’s way",
        "training and search with the paper’s preset",
        needs=(PAPER_AGENT,),
        paper="M_mcts",
        colour=BLUE,
        marker="p",
        hollow=True,
        compared=False,
        optional=True,
    ),
    Method(
        "paper_policy",
        "its agent alone",
        "the agent trained with the paper’s preset, without search",
        needs=(PAPER_AGENT,),
        paper="M_agent",
        colour=PURPLE,
        marker="h",
        hollow=True,
        compared=False,
        optional=True,
    ),
)
"""In the order of tables and figures."""

BY_NAME = {method.name: method for method in METHODS}
ABLATION = ("search", "policy", "untrained")
COMPARED = tuple(method.name for method in METHODS if method.compared)
"""The methods of the intersection of people solved by every method."""
_EXTERNAL_MARKERS = ("<", ">", "H", "8", "1", "2")


def method_named(name: str) -> Method:
    """A method by name; an unknown name is that of an external planner."""
    if name in BY_NAME:
        return BY_NAME[name]
    marker = _EXTERNAL_MARKERS[sum(map(ord, name)) % len(_EXTERNAL_MARKERS)]
    return Method(name, name, "an external planner", marker=marker, hollow=True, compared=False)


def label_of(name: str) -> str:
    """The label of a method."""
    return method_named(name).label


def in_order(names: Iterable[object]) -> list[str]:
    """Distinct method names in the order of tables and figures; external planners come last."""
    present = dict.fromkeys(str(name) for name in names)
    known = [method.name for method in METHODS if method.name in present]
    return [*known, *(name for name in present if name not in BY_NAME)]
