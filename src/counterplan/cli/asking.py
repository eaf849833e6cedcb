"""The command `ask`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from counterplan.cli.common import Like, ModelName, ProblemName, Threshold, explained, load_recourse, recording
from counterplan.cli.terminal import echo
from counterplan.errors import SettingError
from counterplan.inputs import resolve
from counterplan.personal.elicitation import Elicitation
from counterplan.personal.elicitation_file import read_elicitation
from counterplan.personal.function_words import FunctionWords
from counterplan.personal.question import Question
from counterplan.plans import Plan, Plans, Status, Step
from counterplan.problem.values import count, cut, listed, one_line
from counterplan.recourse import Recourse
from counterplan.storage.files import require_writable

_LONGEST_LINE = 10_000
_REVISIONS = {"c": "cannot", "cannot": "cannot", "can": "can", "u": "undo", "undo": "undo"}
"""What a person may write besides answers."""


def ask(
    problem: ProblemName,
    person: Annotated[int | None, typer.Option(min=0, help="The person: a row of the people, counted from 0.")] = None,
    people: Annotated[
        Path | None, typer.Option(help="The people: CSV or Parquet (a benchmark brings its refused test people).")
    ] = None,
    model: ModelName = None,
    threshold: Threshold = None,
    like: Like = None,
    options: Annotated[
        int | None, typer.Option(min=2, max=4, help="Most plans to choose from in a question (default: 3).")
    ] = None,
    planner: Annotated[
        str | None, typer.Option(help="How to plan: auto, exact, guided or card (default: auto).")
    ] = None,
    questions: Annotated[
        int | None, typer.Option(min=0, max=50, help="Most questions, with those of --resume (default: 10).")
    ] = None,
    deadline: Annotated[
        float | None,
        typer.Option(min=0, help="The longest time that a plan may take, in the problem's unit, such as 12 months."),
    ] = None,
    save: Annotated[Path | None, typer.Option(help="Save the answers to this new file after each of them.")] = None,
    resume: Annotated[
        Path | None,
        typer.Option(help="Continue with the person, the settings and the answers in this file, and save them there."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Seed of a benchmark, and of the questions (default: 0).")
    ] = None,
) -> None:
    """Ask a person which plans would be easier, learn what is hard for them, and plan with that."""
    if (person is None) == (resume is None):
        raise SettingError("name either a person, with --person ROW, or a file to continue, with --resume FILE")
    given: Path | pd.DataFrame | None = people
    if resume is not None:
        seed = _saved_seed(resume, people, options, seed, deadline)
        given = pd.DataFrame()
    target = save or resume
    if target is not None:
        _require_free(target, resume)
    seed = seed or 0
    inputs = resolve(problem, given, model, threshold=threshold, seed=seed, like=like, lazy=True)
    recourse = Recourse(inputs.problem, inputs.box)
    if inputs.workspace is not None:
        recourse = load_recourse(inputs.workspace, inputs.box)
    if resume is not None:
        elicitation = Elicitation.load(resume, recourse, planner=planner, max_questions=questions)
    else:
        one = inputs.take([person or 0]).people()
        elicitation = Elicitation(
            recourse,
            one,
            options=3 if options is None else options,
            planner=planner,
            seed=seed,
            max_questions=10 if questions is None else questions,
            deadline=deadline,
        )
    with recording(recourse, inputs.workspace):
        _Conversation(recourse, elicitation, target).run()


def _saved_seed(
    resume: Path, people: Path | None, options: int | None, seed: int | None, deadline: float | None
) -> int:
    """The seed of a file to continue; SettingError about an option that contradicts the file."""
    saved = read_elicitation(resume)
    way_out = "leave it out, or start anew with --person ROW"
    if people is not None:
        raise SettingError(f"--people {people}: the person is in {resume}; {way_out}")
    for name, wanted, known in (
        ("--options", options, saved.options),
        ("--seed", seed, saved.seed),
        ("--deadline", deadline, saved.deadline),
    ):
        if wanted is not None and wanted != known:
            started = f"without {name}" if known is None else f"with {name} {known:.15g}"
            raise SettingError(f"{name} {wanted:.15g}: {resume} was started {started}; {way_out}")
    return saved.seed


def _require_free(target: Path, resume: Path | None) -> None:
    """Raise an error if answers cannot be saved to a file, or would replace another one than that to continue."""
    require_writable(target)
    if target.exists() and not (resume is not None and target.samefile(resume)):
        raise SettingError(
            f"--save {target}: there is such a file already; continue it with --resume {target}, or save to another one"
        )


class _Conversation:
    """Questions and answers on a terminal, or with answers from a pipe."""

    def __init__(self, recourse: Recourse, elicitation: Elicitation, target: Path | None) -> None:
        self.recourse, self.elicitation, self.target = recourse, elicitation, target
        self.words = FunctionWords(elicitation.problem)
        self.ended = False
        """Whether the input is at its end."""

    def run(self) -> None:
        """Ask until no question pays or the person ends it; show the plan, unless the person only leaves."""
        self._greet()
        try:
            while finished := self._ask():
                self._conclude()
                if not self._revise_plan():
                    break
        except KeyboardInterrupt:
            echo()
            self._say_where(finished=False)
            raise typer.Exit(130) from None
        self._say_where(finished)

    def _greet(self) -> None:
        known, left_out = self.elicitation.answers, self.elicitation.cannot_do
        continued = f", continued after {count(known, 'answer')}" if known else ""
        echo(f"Person {one_line(self.elicitation.person)}{continued}.")
        if left_out:
            echo(f"No step changes {' or '.join(map(self.words.changed, left_out))}, as you said.")
        echo()

    def _ask(self) -> bool:
        """Ask; False if the person leaves without wanting to see the plan."""
        while (question := self.elicitation.question()) is not None:
            *numbers, last = (str(place) for place in range(1, len(question.options) + 1))
            choices = [
                f"{', '.join(numbers)} or {last}: this one",
                "n: no difference",
                "d: show me the plan",
                "q: quit",
            ]
            usage = self._usage(choices, question.options)
            echo(f"{question}\n\n{usage}")
            while True:
                line = self._read_line()
                word, rest = _parted(line or "")
                if line is None or line.casefold() in ("d", "done"):
                    echo()
                    return True
                if line.casefold() in ("q", "quit"):
                    return False
                if self._answer(question, word, rest):
                    break
                if word not in _REVISIONS:
                    echo(usage)
                elif self._revise(word, rest, question.options):
                    break
            self._save()
            echo()
        return True

    def _answer(self, question: Question, word: str, rest: str) -> bool:
        """Answer a question; False if the words are no answer to it."""
        if rest:
            return False
        if word.isdecimal() and len(word) < 3 and 1 <= int(word) <= len(question.options):
            self.elicitation.answer(int(word) - 1)
        elif word in ("n", "same"):
            self.elicitation.answer(None)
        else:
            return False
        return True

    def _revise_plan(self) -> bool:
        """After the plan: whether the person takes something back or cannot do a step, so that there is more to ask."""
        plan = self.elicitation.plan()
        while not self.ended and (plan.steps or self.elicitation.undoable):
            echo(f"\n{self._usage(['Enter: that is fine'], [plan])}")
            line = self._read_line()
            if not line or line.casefold() in ("d", "done", "q", "quit"):
                return False
            if self._revise(*_parted(line), [plan]):
                self._save()
                echo()
                return True
        return False

    def _usage(self, choices: Sequence[str], plans: Sequence[Plan]) -> str:
        """What a person may write: `choices`, and what revises the plans."""
        steps, left_out, more = [step for plan in plans for step in plan.steps], self.elicitation.cannot_do, []
        if steps:
            more.append(f"c and words of a step, such as c {self.words.short(steps[0].function)}: I cannot do that")
        if left_out:
            more.append(f"can {self.words.short(left_out[-1])}: I can, after all")
        if self.elicitation.undoable:
            more.append("u: undo")
        return "\n".join("   ".join(line) for line in (choices, more) if line)

    def _revise(self, word: str, text: str, plans: Sequence[Plan]) -> bool:
        """Undo something or rule something out; False, after an explanation, if that is not possible."""
        kind = _REVISIONS.get(word)
        if kind == "cannot":
            return self._rule_out(text, [step for plan in plans for step in plan.steps])
        if kind == "can":
            return self._allow(text)
        return kind == "undo" and self._undo()

    def _undo(self) -> bool:
        """Take back what the person said last: an answer, or what they can or cannot do."""
        if not self.elicitation.undoable:
            echo("There is nothing to undo.")
            return False
        before = self.elicitation.cannot_do
        self.elicitation.undo()
        after = self.elicitation.cannot_do
        allowed, left_out = (
            [name for name in one if name not in other] for one, other in ((before, after), (after, before))
        )
        if allowed:
            echo(f"Steps may change {self.words.changed(allowed[0])} again.")
        elif left_out:
            echo(f"Again, no step changes {self.words.changed(left_out[0])}{self._unless_by_itself(left_out[0])}.")
        else:
            echo("Your last answer does not count any more.")
        return True

    def _allow(self, text: str) -> bool:
        """Take back that something cannot be done."""
        left_out = self.elicitation.cannot_do
        if not left_out:
            echo("You have not said that you cannot do something.")
            return False
        found = self.words.find(text, among={name.partition("=")[0] for name in left_out})
        meant = [name for name in left_out if name in found]
        name = self._only(text, meant or [one for one in left_out if one.partition("=")[0] in found], left_out, "can")
        if name is None:
            return False
        self.elicitation.can(name)
        inside = [one for one in self.elicitation.cannot_do if one.startswith(f"{name}=")]
        rest = f"; {listed(inside)} {'stays' if len(inside) == 1 else 'stay'} ruled out" if inside else ""
        echo(f"Steps may change {self.words.changed(name)} again{rest}.")
        return True

    def _rule_out(self, text: str, steps: Sequence[Step]) -> bool:
        """Rule out the function or action that a text names."""
        every = [function.name for function in self.elicitation.problem.transitions.functions]
        shown = list(dict.fromkeys(step.function for step in steps)) or every
        name = self._only(text, self.words.find(text, steps=steps), shown, "c")
        if name is None:
            return False
        self.elicitation.cannot(name)
        echo(f"From now on, no step changes {self.words.changed(name)}{self._unless_by_itself(name)}.")
        return True

    def _unless_by_itself(self, name: str) -> str:
        """A remark if other steps change the same feature as a consequence; empty otherwise."""
        transitions = self.elicitation.problem.transitions
        target = next(one.target for one in transitions.functions if one.name == name.partition("=")[0])
        follows = any(cause.target == target for cause in transitions.causes if cause.sets)
        return "; it may still follow from other steps" if follows else ""

    def _only(self, text: str, found: Sequence[str], shown: Sequence[str], word: str) -> str | None:
        """The one that was found; None, after an explanation, if there are none or several."""
        if len(found) == 1:
            return found[0]
        examples = listed(f"{word} {self.words.short(name)}" for name in found or shown)
        if found:
            echo(f'"{cut(text)}" may mean several things. Write one of these: {examples}')
        else:
            unknown = f'There is no step "{cut(text)}"{self.words.hint(text) or "."} ' if text else ""
            echo(f"{unknown}Write one of these: {examples}")
        return None

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


def _parted(line: str) -> tuple[str, str]:
    """The first word of a line, without capitals, and the rest."""
    word, *rest = line.split(maxsplit=1) or [""]
    return word.casefold(), "".join(rest)
