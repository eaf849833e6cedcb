"""Protocols of programs, for functions that `Program` calls; `Program` implements all of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from counterplan.problem import Problem
from counterplan.problem.transitions import Bools, Floats
from counterplan.program.interpreter import ProgramRun
from counterplan.program.model_card import ModelCard
from counterplan.program.parts import Tree
from counterplan.program.rules import Rule


class Artefact(Protocol):
    """Something distilled from a model: a program or a scorecard."""

    @property
    def problem(self) -> Problem:
        """The problem that it was made for."""

    @property
    def model_card(self) -> ModelCard:
        """How it was made, and how it performed."""


class ProgramParts(Artefact, Protocol):
    """A problem, a tree for each node and a model card."""

    @property
    def trees(self) -> Mapping[str, Tree]:
        """The trees by the name of their node."""


class ProgramLike(ProgramParts, Protocol):
    """The parts of a program, and the rules and runs that follow from them."""

    @property
    def nodes(self) -> tuple[str, ...]:
        """The names of all nodes, by number."""

    def rule(self, node: str, leaf: int, rank: int = 0) -> Rule:
        """The rule of a choice."""

    def run(self, states: Floats, allowed: Bools | None = None) -> ProgramRun:
        """Run the program for people in `states` [B, F]."""
