"""`FunctionWords`: functions and actions in the words of applicants, and the functions that a text of theirs names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from itertools import chain

from counterplan.plans import Step
from counterplan.problem import Function, Problem
from counterplan.problem.parts import placeholders
from counterplan.problem.values import did_you_mean, text_of, visible

_ARTICLE = re.compile(r"^(your|my|the|a|an) (?=.)")


class FunctionWords:
    """Names of functions and actions for people who do not know the problem file.

    A function is named by the label of the feature that it changes, and also by its own name if several functions
    change that feature. Capitals, underscores and quotes do not matter.

    Parameters
    ----------
    problem : Problem

    Examples
    --------
    >>> from counterplan import benchmarks
    >>> words = FunctionWords(benchmarks.load_problem("german"))
    >>> words.changed("CHANGE_JOB"), words.changed("CHANGE_JOB=highly_skilled")
    ('your job', 'your job to "highly skilled"')
    >>> words.short("CHANGE_JOB"), words.find("Job"), words.find("loan back")
    ('job', ['CHANGE_JOB'], ['CHANGE_DURATION'])
    """

    def __init__(self, problem: Problem) -> None:
        transitions = problem.transitions
        self._labels = {one.name: problem.features[one.target].label for one in transitions.functions}
        self._counts = Counter(self._labels.values())
        self._names = {one.name: self._names_of(one) for one in transitions.functions}
        """By function, what a person may write in full, the plainest first."""
        self._phrases = {one.name: _plain(_without_placeholders(one.phrase)) for one in transitions.functions}
        self._arguments: dict[str, dict[str, set[str]]] = {}
        """By function and action, what a person may write for the argument."""
        self._changed: dict[str, str] = {}
        """By action, the change in words."""
        for function, span in zip(transitions.functions, transitions.spans, strict=True):
            feature, texts = problem.features[function.target], self._arguments.setdefault(function.name, {})
            for action, number in zip(transitions.actions[span], function.arguments.tolist(), strict=True):
                value = feature.format_value(number)
                texts[str(action)] = {_plain(text_of(action.argument)), _plain(value)}
                change = f"by {value}" if function.adds else f"to {value}" if feature.is_number else f'to "{value}"'
                self._changed[str(action)] = f"{self.changed(function.name)} {change}"

    def _names_of(self, function: Function) -> list[str]:
        label, name = _plain(self._labels[function.name]), _plain(function.name)
        return [text for text in (_ARTICLE.sub("", label), label, name) if text]

    def changed(self, name: str) -> str:
        """What a function or an action changes: `your job`, `your job to "manager"`, `your income by 1,000 €`."""
        if name in self._changed:
            return self._changed[name]
        label = visible(self._labels[name])
        return f"{label} ({_plain(name)})" if self._counts[self._labels[name]] > 1 else label

    def short(self, name: str) -> str:
        """A short text by which `find` finds a function or an action and nothing else."""
        function, equals, argument = name.partition("=")
        texts = (text for text in self._names[function] if self.find(text) == [function])
        return visible(next(texts, function) + equals + argument)

    def find(self, text: str, *, steps: Sequence[Step] = (), among: Collection[str] | None = None) -> list[str]:
        """The functions, or actions, that a text names.

        Parameters
        ----------
        text : str
            The name or the words of a function, or a part of them; with "=" and an argument: an action.
        steps : sequence of Step
            Steps that a person sees: their functions take precedence, and their words name them, too.
        among : collection of str, optional
            Functions to choose from. Default: all.

        Returns
        -------
        list of str
            More than one if the text is ambiguous; empty if there is none.
        """
        written, equals, argument = text.partition("=")
        functions = self._find_functions(written.strip(), steps, self._names if among is None else among)
        if not equals:
            return functions
        actions = dict(chain.from_iterable(self._arguments[name].items() for name in functions))
        exact = [f"{name}={argument}" for name in functions if f"{name}={argument}" in actions]
        return exact or [action for action, texts in actions.items() if _plain(argument) in texts]

    def _find_functions(self, text: str, steps: Sequence[Step], among: Collection[str]) -> list[str]:
        if text in self._names:
            return [text] if text in among else []
        wanted, functions = _plain(text), [name for name in self._names if name in among]
        if not wanted:
            return []
        shown = {name: [_plain(step.text) for step in steps if step.function == name] for name in functions}
        seen = [name for name in functions if shown[name]]
        for names in (seen, functions):
            found = [name for name in names if wanted in self._names[name]]
            if found:
                return found
        if not re.search(r"[^\W\d]", wanted):  # a number may be that of an option, or be part of anything
            return []
        for names in (seen, functions):
            found = [
                name
                for name in names
                if any(wanted in known for known in (*self._names[name], self._phrases[name], *shown[name]))
            ]
            if found:
                return found
        return []

    def hint(self, text: str) -> str:
        """A hint for a text that names nothing: "; did you mean 'job'?"; empty if no name is close to it."""
        return visible(did_you_mean(_plain(text), dict.fromkeys(chain.from_iterable(self._names.values()))))


def _plain(text: str) -> str:
    """A text as names are compared: without capitals, underscores, quotes and superfluous spaces."""
    return " ".join(re.sub(r'[_"“”]', " ", text.casefold()).split())


def _without_placeholders(phrase: str) -> str:
    for name in placeholders(phrase):
        phrase = phrase.replace(f"{{{name}}}", " ")
    return phrase
