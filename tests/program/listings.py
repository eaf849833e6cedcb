"""Reads a listing back, so that what it says can be compared with what its program does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from counterplan.program import INTERVENE, Choice, Program, text
from counterplan.program.condition import Condition

Said = list[Choice | None]
"""Choices in a row; None: no plan is known."""
Body = "tuple[list[tuple[list[Condition], Body]], Body] | Said"
"""If, else if and otherwise, or what a leaf says."""


class Listing:
    """What a listing says at each node, read from its lines alone; conditions and choices are numbered in it."""

    def __init__(self, program: Program) -> None:
        self.transitions = program.problem.transitions
        self.conditions: list[Condition] = []
        self.choices: list[Choice] = []
        with self._numbered():
            self.lines = program.to_text().splitlines()
        self.nodes: dict[str, tuple[Body, Said]] = {}
        while self.lines:
            head = re.fullmatch(r"(?:To begin with|After (\w+)):(.*)", self.lines.pop(0))
            if head is not None:
                body = self._row(head[2]) if head[2].strip() else self._body(2)
                self.nodes[head[1] or INTERVENE] = body, self._spare()

    @contextmanager
    def _numbered(self) -> Iterator[None]:
        def condition(one: Condition) -> str:
            self.conditions.append(one)
            return f"<{len(self.conditions) - 1}>"

        def choice(_: object, one: Choice) -> tuple[str, str, str]:
            if one not in self.choices:
                self.choices.append(one)
            return "do", "it", f"[{self.choices.index(one)}]"

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Condition, "text", property(condition))
            patch.setattr(text, "choice_words", choice)
            patch.setattr(text, "WIDTH", 10**6)
            yield

    def _row(self, words: str) -> Said:
        """`do it [3], else [4], or else stop`"""
        said: Said = []
        for word in re.split(r", (?:or )?else ", words.strip().rstrip(".")):
            number = re.search(r"\[(\d+)\]$", word)
            stop = Choice(self.transitions.stop) if word == "stop" else None
            assert number or stop or word in ("no plan is known", f"no plan: {text.NOTHING_HELPS}"), word
            said.append(self.choices[int(number[1])] if number else stop)
        return said

    def _spare(self) -> Said:
        start = "  Where none of these steps is possible: "
        return self._row(self.lines.pop(0).removeprefix(start)) if self.lines and start in self.lines[0] else []

    def _body(self, indent: int) -> Body:
        """The lines at one depth, with what is further in."""
        chain: list[tuple[list[Condition], Body]] = []
        while True:
            line = self.lines.pop(0)
            assert len(line) - len(line.lstrip()) == indent, line
            test = re.fullmatch(r"(else )?if ((?:<\d+>(?:, or )?)+):(.*)", line.strip())
            if test is None:
                assert line.strip().startswith("otherwise: ") == bool(chain), line
                return chain, self._row(line.strip().removeprefix("otherwise: "))
            assert bool(test[1]) == bool(chain), line
            conditions = [self.conditions[int(number)] for number in re.findall(r"\d+", test[2])]
            said, _, otherwise = test[3].partition("; otherwise: ")
            chain.append((conditions, self._row(said) if said.strip() else self._body(indent + 2)))
            if otherwise:
                return chain, self._row(otherwise)

    def decide(self, node: str, state: np.ndarray, legal: np.ndarray) -> int:
        """The action that somebody takes who reads it; -1 if there is none."""
        body, spare = self.nodes[node]
        while isinstance(body, tuple):
            chain, last = body
            body = next((then for some, then in chain if any(one(state[None])[0] for one in some)), last)
        for choice in [*body, *spare]:
            action = -1 if choice is None else int(choice.pick(self.transitions, state[None], legal[None])[0])
            if choice is None or action >= 0:
                return action
        return -1
