"""The command `ask`."""

from __future__ import annotations

import sys
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
from counterplan.plans import Plans, Status
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

    def run(self) -> None:
        """Ask until no question pays or the person ends it; show the plan, unless the person only leaves."""
        self._greet()
        try:
            finished = self._ask()
            if finished:
                self._conclude()
        except KeyboardInterrupt:
            echo()
            self._say_where(finished=False)
            raise typer.Exit(130) from None
        self._say_where(finished)

    def _greet(self) -> None:
        known = self.elicitation.answers
        if known:
            echo(f"Person {self.elicitation.person}, continued after {count(known, 'answer')}.\n")
        else:
            echo(f"Person {self.elicitation.person}.\n")

    def _ask(self) -> bool:
        """Ask; False if the person leaves without wanting to see the plan."""
        while (question := self.elicitation.question()) is not None:
            echo(f"{question}\n\n{_help(question)}")
            while True:
                line = _read_line()
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
            name = self._function(question, rest.strip())
            if name is None:
                return False
            self.elicitation.cannot(name)
            echo(f"No plan has {name} from now on.")
        else:
            echo(_help(question))
            return False
        return True

    def _function(self, question: Question, text: str) -> str | None:
        """The function or action that a text names, by any part of its name; None, after a message, if none does."""
        transitions = self.elicitation.problem.transitions
        functions = [function.name for function in transitions.functions]
        actions = [str(action) for action in transitions.actions[:-1]]
        shown = list(dict.fromkeys(step.function for option in question.options for step in option.steps))
        wanted = text.casefold()
        for names in (functions, actions):
            exact = [name for name in names if name.casefold() == wanted]
            if exact:
                return exact[0]
        for names in (shown, functions):
            similar = [name for name in names if wanted and wanted in name.casefold()]
            if len(similar) == 1:
                return similar[0]
        hint = did_you_mean(text, [*functions, *actions]) if text else ""
        unknown = f"There is no step {text}{hint or '.'} " if text else ""
        echo(f"{unknown}What can you not do? Write c and one of these: {', '.join(shown)}")
        return None

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


def _read_line() -> str | None:
    """The next line of the input, without spaces around it; None at its end."""
    if sys.stdin is None:
        return None
    if sys.stdin.isatty():
        sys.stdout.write("> ")
        sys.stdout.flush()
    line = sys.stdin.readline(_LONGEST_LINE)
    return line.strip() if line else None
