"""`Question`: plans that a person compares, as text for a terminal and as HTML for notebooks."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from html import escape

from counterplan.plans import Plan
from counterplan.plans.time_text import about_text
from counterplan.problem.values import visible

ASKED = "Which would be easier for you?"
_WIDTH = 96
_LINE = "rgba(128,128,128,.4)"


@dataclass(frozen=True, repr=False)
class Question:
    """A question to one person: a few plans, of which they choose the easiest.

    `print(question)` shows it in plain words. `Elicitation.answer` takes the index of the choice.

    Parameters
    ----------
    number : int
        Number of the question, from 1.
    options : tuple of Plan
        Two to four plans for the person, which the model has confirmed.
    gain : float
        Expected saving by the choice of a person who makes no mistakes, as a share of the expected cost of the plan
        without the question.

    Examples
    --------
    >>> from counterplan import Elicitation, Recourse, benchmarks
    >>> german = benchmarks.load("german")
    >>> recourse = Recourse(german.problem, german.model)
    >>> person = german.refused_test.iloc[[14]]
    >>> question = Elicitation(recourse, person, options=2, planner="exact").question()
    >>> print(question)
    Question 1. Which would be easier for you?
    <BLANKLINE>
      1.  Change your job from "skilled" to "highly skilled"
          Move your savings from "little" to "rich"
          Change your housing from "rent" to "own"
          Takes about 29.4 months.
    <BLANKLINE>
      2.  Move your savings from "little" to "rich"
          Pay the loan back 10 months sooner
          Takes about 3.6 months.
    """

    number: int
    options: tuple[Plan, ...]
    gain: float

    def __str__(self) -> str:
        lines = [f"Question {self.number}. {ASKED}"]
        for place, option in enumerate(self.options, 1):
            lines.append("")
            for i, step in enumerate(option.steps):
                indent = f"  {place}.  " if i == 0 else "      "
                lines += textwrap.wrap(step.text, _WIDTH, initial_indent=indent, subsequent_indent="        ")
            lines += [f"      {_takes(option)}"] if option.duration is not None else []
        return visible("\n".join(lines))

    def __repr__(self) -> str:
        return f"Question({self.number}, {len(self.options)} options, gain={self.gain:.2g})"

    def _repr_html_(self) -> str:
        cards = "".join(_card(place, option) for place, option in enumerate(self.options, 1))
        return (
            f'<div style="max-width:60em;line-height:1.5"><div style="font-weight:600">{escape(ASKED)}</div>'
            f'<div style="display:flex;flex-wrap:wrap;gap:1em;margin:.6em 0">{cards}</div></div>'
        )


def _card(place: int, option: Plan) -> str:
    """One option: its number, its steps, and how long it takes."""
    steps = "".join(f"<li>{escape(visible(step.text))}</li>" for step in option.steps)
    takes = "" if option.duration is None else f"<div>{escape(visible(_takes(option)))}</div>"
    return (
        f'<div style="flex:1 1 14em;border:1px solid {_LINE};border-radius:.5em;padding:.6em .8em">'
        f'<div style="font-weight:600">{place}</div><ol style="margin:.2em 0;padding-left:1.2em">{steps}</ol>{takes}'
        "</div>"
    )


def _takes(option: Plan) -> str:
    """How long an option takes, as a sentence."""
    if not option.duration:
        return "Takes no time."
    return f"Takes {about_text(option.duration, option.time_unit)}."
