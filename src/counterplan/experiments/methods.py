"""The methods that are compared: what each is called here and in the paper, what it needs, and how it is drawn."""

from __future__ import annotations

from dataclasses import dataclass

AGENT, SURROGATE, PROGRAM, PAPER_AGENT, IMITATION = "agent", "surrogate", "program", "paper-agent", "imitation"
"""What can be learned, by the name of the cell that does it."""


@dataclass(frozen=True)
class Method:
    """A way to get plans."""

    name: str
    label: str
    told: str
    """What it does, in a few words."""
    needs: tuple[str, ...] = ()
    """What has to be learned first."""
    paper: str | None = None
    """What the paper calls it."""
    colour: str | None = None
    """None: that of the text."""
    marker: str = "o"
    hollow: bool = False
    compared: bool = True
    """Whether it counts for the people whom every method solves."""
    optional: bool = False


BLUE, ORANGE, GREEN, PURPLE, VERMILLION, SKY = "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9"
"""Okabe and Ito's colours; what is a variant of another method has its colour and a hollow marker."""

METHODS = (
    Method("search", "search", "tree search guided by a trained agent", (AGENT,), "M_mcts", BLUE, "s"),
    Method(
        "policy", "agent alone", "the agent’s favourite action at each step; asks nothing", (AGENT,), "M_agent", PURPLE,
        "P", compared=False,
    ),
    Method(
        "untrained", "search, untrained", "the same search with an agent that has learned nothing", (), None, BLUE,
        "s", hollow=True, compared=False,
    ),
    Method(
        "program", "program", "rules distilled by policy search on a surrogate; asks nothing", (SURROGATE, PROGRAM),
        "M_prog", GREEN, "^",
    ),
    Method(
        "paper_program", "program, paper’s way", "the paper’s construction: trees that imitate the agent’s traces",
        (AGENT, IMITATION), "M_prog", GREEN, "v", hollow=True,
    ),
    Method("evolution", "CSCF", "the evolutionary baseline, from scratch for each person", (), "M_cscf", ORANGE, "D"),
    Method(
        "evolution_small", "CSCF small", "the same with fewer generations and candidates", (), "M_cscf small", ORANGE,
        "d", hollow=True,
    ),
    Method("guided", "guided", "a surrogate says where a question pays", (SURROGATE,), None, VERMILLION, "o"),
    Method(
        "cascade", "cascade", "the program, checked with one question; guided where it fails", (SURROGATE, PROGRAM),
        None, SKY, "X",
    ),
    Method("exact", "exact", "uniform-cost search: the least effort, or a proof that there is no plan", marker="*"),
    Method(
        "paper_search", "search, paper’s way", "trained and searched by the paper’s preset", (PAPER_AGENT,), "M_mcts",
        BLUE, "p", hollow=True, compared=False, optional=True,
    ),
    Method(
        "paper_policy", "its agent alone", "the agent that was trained by the paper’s preset", (PAPER_AGENT,),
        "M_agent", PURPLE, "h", hollow=True, compared=False, optional=True,
    ),
)  # fmt: skip
"""In the order of tables and figures."""

BY_NAME = {method.name: method for method in METHODS}
ABLATION = ("search", "policy", "untrained")


_BROUGHT = ("<", ">", "H", "8", "1", "2")
"""Markers of methods that others brought."""


def known_as(name: str) -> Method:
    """A method by name; one that counterplan does not know is somebody else's planner."""
    if name in BY_NAME:
        return BY_NAME[name]
    marker = _BROUGHT[sum(map(ord, name)) % len(_BROUGHT)]
    return Method(name, name, "a planner that is not counterplan’s own", marker=marker, hollow=True, compared=False)


def label_of(name: str) -> str:
    """What a method is called in words."""
    return known_as(name).label
