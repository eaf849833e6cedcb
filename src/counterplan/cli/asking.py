"""The command `ask`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from counterplan.cli.common import Like, ModelName, ProblemName, Threshold, count, explained, load_recourse, recording
from counterplan.cli.terminal import echo
from counterplan.errors import SettingError
from counterplan.inputs import resolve
from counterplan.personal.elicitation import Elicitation
from counterplan.personal.question import Question
from counterplan.plans import Plan, Plans, Status
from counterplan.problem.values import did_you_mean
from counterplan.recourse import Recourse
from counterplan.storage.files import require_writable

_LONGEST_LINE = 10_000


def ask(
    problem: ProblemName,
    person: Annotated[int | None, typer.Option(min=0, help="The person: a row of the people, counted from 0.")] = None,
    people: Annotated[
        Path | None, typer.Option(help="The people: CSV or Parquet (a benchmark brings its refused test people).")
    ] = None,
    model: ModelName = None,
    threshold: Threshold = None,
    like: Like = None,
    options: Annotated[int, typer.Option(min=2, max=4, help="Most plans to choose from in a question.")] = 3,
    planner: Annotated[
        str | None, typer.Option(help="How to plan: auto, exact, guided or card (default: auto).")
    ] = None,
    questions: Annotated[int, typer.Option(min=0, max=50, help="Most questions.")] = 10,
    save: Annotated[Path | None, typer.Option(help="Save the answers to this file after each of them.")] = None,
    resume: Annotated[
        Path | None, typer.Option(help="Continue with the person and the answers in this file, and save them there.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of a benchmark, and of the questions.")] = 0,
) -> None:
    """Ask a person which plans would be easier, learn what is hard for them, and plan with that."""
    if (person is None) == (resume is None):
        raise SettingError("name either a person, with --person ROW, or a file to continue, with --resume FILE")
    target = save or resume
    if target is not None:
        require_writable(target)
    given = pd.DataFrame() if resume is not None and people is None else people
    inputs = resolve(problem, given, model, threshold=threshold, seed=seed, like=like, lazy=True)
    recourse = Recourse(inputs.problem, inputs.box)
    if inputs.workspace is not None:
        recourse = load_recourse(inputs.workspace, inputs.box)
    if resume is not None:
        elicitation = Elicitation.load(resume, recourse, planner=planner)
    else:
        one = inputs.take([person or 0]).people()
        elicitation = Elicitation(recourse, one, options=options, planner=planner, seed=seed, max_questions=questions)
    with recording(recourse, inputs.workspace):
        _Conversation(recourse, elicitation, target).run()


class _Conversation:
    """Questions and answers on a terminal, or with answers from a pipe."""

    def __init__(self, recourse: Recourse, elicitation: Elicitation, target: Path | None) -> None:
        self.recourse, self.elicitation, self.target = recourse, elicitation, target
        self.ended = False
        """Whether the input is at its end."""

    def run(self) -> None:
        """Ask until no question pays or the person ends it; show the plan, unless the person only leaves."""
        self._greet()
        try:
            while finished := self._ask():
                self._conclude()
                if not self._rule_out_steps():
                    break
        except KeyboardInterrupt:
            echo()
            self._say_where(finished=False)
            raise typer.Exit(130) from None
        self._say_where(finished)

    def _greet(self) -> None:
        known = self.elicitation.answers
        continued = f", continued after {count(known, 'answer')}" if known else ""
        echo(f"Person {self.elicitation.person}{continued}.\n")

    def _ask(self) -> bool:
        """Ask; False if the person leaves without wanting to see the plan."""
        while (question := self.elicitation.question()) is not None:
            echo(f"{question}\n\n{_help(question)}")
            while True:
                line = self._read_line()
                if line is None or line in ("d", "done"):
                    echo()
                    return True
                if line in ("q", "quit"):
                    return False
                if self._take(question, line):
                    break
            self._save()
            echo()
        return True

    def _take(self, question: Question, line: str) -> bool:
        """Use an answer; False, after an explanation, if it is none."""
        word, _, rest = line.partition(" ")
        if word.isdecimal() and len(word) < 3 and 1 <= int(word) <= len(question.options) and not rest:
            self.elicitation.answer(int(word) - 1)
        elif word in ("n", "same") and not rest:
            self.elicitation.answer(None)
        elif word in ("c", "cannot"):
            return self._rule_out(rest.strip(), question.options)
        else:
            echo(_help(question))
            return False
        return True

    def _rule_out_steps(self) -> bool:
        """After the plan: whether the person cannot do one of its steps, so that there is more to ask."""
        plan = self.elicitation.plan()
        while not self.ended and plan.steps:
            echo("\nEnter: that is fine   c NAME: I cannot do that")
            line = self._read_line()
            if not line or line in ("d", "done", "q", "quit"):
                return False
            word, _, rest = line.partition(" ")
            if word in ("c", "cannot") and self._rule_out(rest.strip(), [plan]):
                self._save()
                echo()
                return True
        return False

    def _rule_out(self, text: str, plans: Sequence[Plan]) -> bool:
        """Rule out the function or action that a text names, by any part of its name; False if it names none."""
        transitions = self.elicitation.problem.transitions
        functions = [function.name for function in transitions.functions]
        actions = [str(action) for action in transitions.actions[:-1]]
        shown = list(dict.fromkeys(step.function for plan in plans for step in plan.steps))
        wanted = text.casefold()
        found = [name for name in (*functions, *actions) if name.casefold() == wanted]
        for names in (shown, functions):
            similar = [name for name in names if wanted and wanted in name.casefold()]
            found += similar if len(similar) == 1 else []
        if not found:
            hint = did_you_mean(text, [*functions, *actions]) or "."
            unknown = f"There is no step {text}{hint} " if text else ""
            echo(f"{unknown}What can you not do? Write c and one of these: {', '.join(shown)}")
            return False
        self.elicitation.cannot(found[0])
        echo(f"No plan has {found[0]} from now on.")
        return True

    def _read_line(self) -> str | None:
        """The next line of the input, without spaces around it; None at its end."""
        if sys.stdin is None:
            self.ended = True
            return None
        if sys.stdin.isatty() and sys.stdout is not None:
            sys.stdout.write("> ")
            sys.stdout.flush()
        line = sys.stdin.readline(_LONGEST_LINE)
        self.ended = not line
        return line.strip() if line else None

    def _save(self) -> None:
        if self.target is not None:
            self.elicitation.save(self.target)

    def _conclude(self) -> None:
        """Show what was learned, and the plan."""
        elicitation = self.elicitation
        plan = elicitation.plan()
        if plan.status is Status.FOUND and elicitation.done and elicitation.answers < elicitation.max_questions:
            echo("There is nothing more worth asking.\n" if elicitation.answers else "There is nothing to compare.\n")
        learned = elicitation.learned
        if learned:
            echo("\n".join(["What your answers say:", *(f"  {sentence}" for sentence in learned), ""]))
        echo(explained(self.recourse, Plans([plan]))[0])

    def _say_where(self, finished: bool) -> None:
        """Save, and say where."""
        self._save()
        if self.target is not None:
            going_on = "" if finished else f"; continue with --resume {self.target}"
            echo(f"\nSaved to {self.target}{going_on}.")
        elif self.elicitation.answers or self.elicitation.cannot_do:
            echo("\nThe answers were not saved: --save FILE does that.")


def _help(question: Question) -> str:
    """What a person may answer."""
    *numbers, last = (str(place) for place in range(1, len(question.options) + 1))
    return (
        f"{', '.join(numbers)} or {last}: this one   n: no difference   c NAME: I cannot do that   "
        "d: show me the plan   q: quit"
    )
