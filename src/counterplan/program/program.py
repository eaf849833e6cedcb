"""The program: an automaton with a decision tree in each node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

from counterplan.problem import Problem
from counterplan.problem.transitions import Bools, Floats, Ints
from counterplan.program import io
from counterplan.program.interpreter import Decisions, ProgramRun, decide_actions, run_program
from counterplan.program.model_card import ModelCard
from counterplan.program.parts import Tree, leaves, node_names, tested_features
from counterplan.program.recommendation import recommend
from counterplan.program.rules import Rule, RuleExtractor
from counterplan.program.simplify import simplified_trees
from counterplan.program.text import program_text
from counterplan.program.verification import Verification, verify

if TYPE_CHECKING:
    from counterplan.plans import Forbid, Plans
    from counterplan.problem import People, PeopleTable


@dataclass(frozen=True, repr=False)
class Program:
    """A policy that people can read: an automaton with a decision tree in each node.

    A run starts in the node INTERVENE. The leaf that a state reaches lists choices in order of preference; the first
    legal one is taken and leads to the node of its function. STOP ends the run. A program needs no model to run.

    Parameters
    ----------
    problem : Problem
        The problem that the program plans for.
    trees : mapping of str to Tree
        A tree for INTERVENE, and one for each function that some choice names.
    model_card : ModelCard, optional
        How the program was made, how it performed and its limitations.

    Attributes
    ----------
    nodes : tuple of str
        Names of all nodes, by number: INTERVENE, then the functions of the problem.

    Examples
    --------
    >>> from counterplan import Program, benchmarks
    >>> from counterplan.program import Choice, Leaf
    >>> problem = benchmarks.load_problem("german")
    >>> save, stop = Leaf((Choice(3),)), Leaf((Choice(problem.transitions.stop),))
    >>> program = Program(problem, {"INTERVENE": save, "CHANGE_SAVINGS": stop})
    >>> program
    Program('german': 2 nodes, 2 leaves)
    """

    problem: Problem
    trees: Mapping[str, Tree]
    model_card: ModelCard = field(default_factory=ModelCard)

    @cached_property
    def nodes(self) -> tuple[str, ...]:
        """Names of all nodes, by number: INTERVENE, then the functions of the problem."""
        return node_names(self.problem)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Load a program from a file. Nothing in the file is executed.

        Parameters
        ----------
        path : str or Path
            A program.json.

        Returns
        -------
        Program
            The program, with the problem that it was made for.

        Raises
        ------
        StorageError
            If the file cannot be read or is damaged; the message names the place.
        ProblemError
            If the problem in the file is invalid.

        Examples
        --------
        >>> from counterplan import Program, benchmarks
        >>> from counterplan.program import Choice, Leaf
        >>> problem = benchmarks.load_problem("german")
        >>> save, stop = Leaf((Choice(3),)), Leaf((Choice(problem.transitions.stop),))
        >>> Program(problem, {"INTERVENE": save, "CHANGE_SAVINGS": stop}).save("program.json")
        >>> Program.load("program.json")
        Program('german': 2 nodes, 2 leaves)
        """
        return cls(*io.load(path))

    def save(self, path: str | Path) -> None:
        """Save the program to a file, whole or not at all; equal programs give equal files.

        Parameters
        ----------
        path : str or Path
            The file, which `load` reads.

        Raises
        ------
        StorageError
            If the file cannot be written.
        SettingError
            If a node that some choice leads to has no tree, or the model card holds something other than plain data.

        Examples
        --------
        >>> from pathlib import Path
        >>> from counterplan import Program, benchmarks
        >>> from counterplan.program import Choice, Leaf
        >>> problem = benchmarks.load_problem("german")
        >>> save, stop = Leaf((Choice(3),)), Leaf((Choice(problem.transitions.stop),))
        >>> Program(problem, {"INTERVENE": save, "CHANGE_SAVINGS": stop}).save("program.json")
        >>> Path("program.json").exists()
        True
        """
        io.save(self, path)

    def recommend(self, people: PeopleTable | People, *, forbid: Forbid = (), allowed: Bools | None = None) -> Plans:
        """Recommend a plan to each person without querying a model, with the rule behind each step.

        Parameters
        ----------
        people : DataFrame or People
            People who are taken to be refused.
        forbid : optional
            Functions or actions that are not to be used, for everyone or for each person.
        allowed : bool array of shape [B, A], optional
            The same as a mask.

        Returns
        -------
        Plans
            One plan per person, in the same order; none is verified.

        Examples
        --------
        >>> from counterplan import Program, benchmarks
        >>> from counterplan.program import Choice, Leaf
        >>> german = benchmarks.load("german")
        >>> save, stop = Leaf((Choice(3),)), Leaf((Choice(german.problem.transitions.stop),))
        >>> program = Program(german.problem, {"INTERVENE": save, "CHANGE_SAVINGS": stop})
        >>> plans = program.recommend(german.refused_test.head(2))
        >>> [plan.actions for plan in plans]
        [['CHANGE_SAVINGS=quite_rich'], ['CHANGE_SAVINGS=quite_rich']]
        """
        return recommend(self, people, forbid, allowed)

    def verify(self, people: PeopleTable | People, model: object, *, forbid: Forbid = ()) -> Verification:
        """Query a model once for each recommended plan, and count the plans that lead to a favourable decision.

        Parameters
        ----------
        people : DataFrame or People
            People who are taken to be refused.
        model : BlackBox or classifier
            A classifier is wrapped in a BlackBox with the threshold and the favourable outcomes that the program was
            made for. A BlackBox keeps its own; if they are others, the result states it.
        forbid : optional
            Functions or actions that are not to be used, for everyone or for each person.

        Returns
        -------
        Verification
            The number of plans, and how many of them hold; `print` shows it as a sentence.

        Examples
        --------
        >>> from counterplan import Program, benchmarks
        >>> from counterplan.program import Choice, Leaf
        >>> german = benchmarks.load("german")
        >>> save, stop = Leaf((Choice(3),)), Leaf((Choice(german.problem.transitions.stop),))
        >>> program = Program(german.problem, {"INTERVENE": save, "CHANGE_SAVINGS": stop})
        >>> print(program.verify(german.refused_test.head(10), german.model))
        8 of 10 people got a plan; 1 holds, 7 do not (10.0% of all).
        """
        return verify(self, people, model, forbid)

    def rule(self, node: str, leaf: int, rank: int = 0) -> Rule:
        """The shortest rule under which a choice is taken.

        Parameters
        ----------
        node : str
            Name of the node.
        leaf : int
            Index of the leaf in the tree of the node.
        rank : int, default=0
            Position of the choice in the leaf.

        Returns
        -------
        Rule
            Conditions on features; `text` states them in plain words.

        Examples
        --------
        >>> from counterplan import Program, benchmarks
        >>> from counterplan.program import Choice, Leaf, Split, Test
        >>> problem = benchmarks.load_problem("german")
        >>> save, stop = Leaf((Choice(3),)), Leaf((Choice(problem.transitions.stop),))
        >>> tree = Split(Test(0, at_least=30.0), save, stop)
        >>> program = Program(problem, {"INTERVENE": tree, "CHANGE_SAVINGS": stop})
        >>> program.rule("INTERVENE", leaf=0).text
        'your age is at least 30 years'
        """
        return self._rules(node, leaf, rank)

    @cached_property
    def _rules(self) -> RuleExtractor:
        return RuleExtractor(self.problem, self.trees)

    @cached_property
    def _numbered(self) -> dict[int, Tree]:
        """The trees by the number of their node."""
        return {number: self.trees[name] for number, name in enumerate(self.nodes) if name in self.trees}

    def tests_protected(self) -> tuple[str, ...]:
        """Names of the protected features that some tree tests.

        Returns
        -------
        tuple of str
            Feature names; empty if no tree tests a protected feature.

        Examples
        --------
        >>> from counterplan import Program, benchmarks
        >>> from counterplan.program import Choice, Leaf, Split, Test
        >>> problem = benchmarks.load_problem("german")
        >>> save, stop = Leaf((Choice(3),)), Leaf((Choice(problem.transitions.stop),))
        >>> tree = Split(Test(1, among=(0,)), save, stop)
        >>> Program(problem, {"INTERVENE": tree, "CHANGE_SAVINGS": stop}).tests_protected()
        ('sex',)
        """
        tested = {index for tree in self.trees.values() for index in tested_features(tree)}
        return tuple(feature.name for feature in self.problem.features if feature.protected and feature.index in tested)

    def simplified(self) -> Self:
        """An equivalent program without choices, tests and branches that make no difference.

        Returns
        -------
        Program
            A program that gives the same plans.

        Examples
        --------
        >>> from counterplan import Program, benchmarks
        >>> from counterplan.program import Choice, Leaf, Split, Test
        >>> problem = benchmarks.load_problem("german")
        >>> save, stop = Leaf((Choice(3),)), Leaf((Choice(problem.transitions.stop),))
        >>> tree = Split(Test(0, at_least=30.0), save, save)
        >>> Program(problem, {"INTERVENE": tree, "CHANGE_SAVINGS": stop}).simplified()
        Program('german': 2 nodes, 2 leaves)
        """
        return replace(self, trees=simplified_trees(self.problem, self.trees))

    def to_text(self) -> str:
        """The program as an indented listing in plain words.

        Returns
        -------
        str
            Several lines of plain text.

        Examples
        --------
        >>> from counterplan import Program, benchmarks
        >>> from counterplan.program import Choice, Leaf, Split, Test
        >>> problem = benchmarks.load_problem("german")
        >>> save, stop = Leaf((Choice(3),)), Leaf((Choice(problem.transitions.stop),))
        >>> tree = Split(Test(0, at_least=30.0), save, stop)
        >>> print(Program(problem, {"INTERVENE": tree, "CHANGE_SAVINGS": stop}).to_text())
        german: 2 nodes, 3 leaves, at most 4 steps
        Where none of the steps named is possible, no plan is known.
        <BLANKLINE>
        To begin with:
          if your age is at least 30 years: change your savings to "quite rich"
          otherwise: no plan: nothing in this program is likely to help
        <BLANKLINE>
        After CHANGE_SAVINGS: stop
        """
        return program_text(self.problem, self.trees)

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        count = sum(1 for tree in self.trees.values() for _ in leaves(tree))
        return f"Program({self.problem.name!r}: {len(self.trees)} nodes, {count} leaves)"

    def _repr_html_(self) -> str:
        from counterplan.program.export.display import to_display

        return to_display(self)

    def decide(self, nodes: Ints, states: Floats, legal: Bools) -> Decisions:
        """One step of the program.

        Parameters
        ----------
        nodes : int array of shape [n]
            Number of the node of each person.
        states : array of shape [n, F]
            The current state of each person.
        legal : bool array of shape [n, A]
            Actions that are possible.

        Returns
        -------
        Decisions
            Leaves, ranks of the choices and actions, each of shape [n].
        """
        transitions = self.problem.transitions
        can_stop = legal[:, transitions.stop]
        return decide_actions(transitions, self._numbered, nodes, states, can_stop, lambda rows: legal[rows])

    def run(self, states: Floats, allowed: Bools | None = None) -> ProgramRun:
        """Run the program on states.

        Parameters
        ----------
        states : array of shape [B, F]
            The state in which each person starts.
        allowed : bool array of shape [B, A], optional
            Actions that each person may take.

        Returns
        -------
        ProgramRun
            Actions, and the nodes and leaves that selected them, of each person.

        Examples
        --------
        >>> from counterplan import Program, benchmarks
        >>> from counterplan.program import Choice, Leaf
        >>> german = benchmarks.load("german")
        >>> save, stop = Leaf((Choice(3),)), Leaf((Choice(german.problem.transitions.stop),))
        >>> program = Program(german.problem, {"INTERVENE": save, "CHANGE_SAVINGS": stop})
        >>> run = program.run(german.problem.read(german.refused_test.head(2)).states)
        >>> run.actions
        array([[ 3, -1, -1, -1],
               [ 3, -1, -1, -1]])
        """
        return run_program(self.problem, self._numbered, states, allowed)
