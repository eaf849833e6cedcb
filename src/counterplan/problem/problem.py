"""`Problem`: features, actions, causal graph and outcome of a recourse problem."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from counterplan.errors import PeopleError, ProblemError, SettingError
from counterplan.problem.builder import Parts, build
from counterplan.problem.description import ProblemParts, problem_data, problem_text
from counterplan.problem.dtypes import Dtypes
from counterplan.problem.encoding import Encoding
from counterplan.problem.frames import BadCell, People, as_dtypes, read_people, read_valid_people
from counterplan.problem.graph_svg import graph_svg
from counterplan.problem.html import problem_html
from counterplan.problem.intake import PeopleTable
from counterplan.problem.parts import Feature, Outcome
from counterplan.problem.source import Source
from counterplan.problem.targets import TargetLike, read_target
from counterplan.problem.transitions import Bools, Floats, Transitions
from counterplan.problem.values import Native, did_you_mean, listed, text_of
from counterplan.problem.yaml_reader import parse_yaml, read_source


class Problem:
    """A recourse problem: features, actions with preconditions and costs, the causal graph, and the outcome.

    Create it with `Problem.load` from a YAML file or with `Problem.from_dict` from data of the same form.

    Parameters
    ----------
    parts : Parts
        The validated parts of a problem file; `load`, `from_yaml` and `from_dict` make them.

    Attributes
    ----------
    name : str
        Short name of the problem, such as "german".
    features : tuple of Feature
        The F features, in the order of a state's numbers.
    outcome : Outcome
        The column and the values of the decision, and the favourable ones.
    max_actions : int
        The longest plan, STOP not counted.
    time_unit : str
        The unit of durations, in the plural; empty if no action takes time.
    transitions : Transitions
        Legality, costs, durations and effects of the A actions, as array operations.

    Examples
    --------
    >>> from counterplan import Problem
    >>> problem = Problem.from_dict({
    ...     "counterplan": 1,
    ...     "name": "loan",
    ...     "outcome": {"column": "loan", "values": ["no", "yes"], "favourable": "yes"},
    ...     "max_actions": 2,
    ...     "features": {"income": {"kind": "number", "minimum": 0, "bins": [0, 1000]}},
    ...     "functions": {"EARN": {"add": "income", "arguments": [100, 200], "cost": 1}},
    ... })
    >>> problem
    Problem('loan': 1 features, 1 functions, 2 actions)
    >>> problem.transitions.legal(problem.state({"income": 500})[None])
    array([[ True,  True,  True]])
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self.name: str = parts.file.name
        self.features: tuple[Feature, ...] = parts.features
        self.outcome: Outcome = parts.outcome
        self.max_actions: int = parts.file.max_actions
        self.transitions = Transitions(parts.features, parts.functions, parts.causes)
        self.time_unit: str = parts.file.time_unit.strip() if self.transitions.has_durations else ""
        self._with_target: dict[frozenset[str], Problem] = {}

    @classmethod
    def load(cls, path: str | Path) -> Problem:
        """Read a problem file.

        Parameters
        ----------
        path : str or Path
            A YAML file; docs/problem-files.md describes the format and its limits.

        Returns
        -------
        Problem
            The problem that the file describes.

        Raises
        ------
        ProblemError
            If the file cannot be read or has mistakes; the message lists all of them with their lines.

        Examples
        --------
        >>> from importlib.resources import as_file, files
        >>> from counterplan import Problem
        >>> file = files("counterplan.benchmarks").joinpath("german/problem.yaml")
        >>> with as_file(file) as path:
        ...     problem = Problem.load(path)
        >>> problem
        Problem('german': 9 features, 6 functions, 27 actions)
        """
        return cls._from_source(read_source(path))

    @classmethod
    def from_yaml(cls, text: str, name: str = "problem") -> Problem:
        """Create a problem from the text of a problem file.

        Parameters
        ----------
        text : str
            YAML; the limits of files apply.
        name : str, default="problem"
            Stands for the file name in messages.

        Returns
        -------
        Problem
            The problem that the text describes.

        Raises
        ------
        ProblemError
            If the text has mistakes; the message lists all of them with their lines.

        Examples
        --------
        >>> from counterplan import Problem
        >>> text = '''counterplan: 1
        ... name: loan
        ... outcome: {column: decision, values: [yes, no], favourable: yes}
        ... max_actions: 2
        ... features: {income: {kind: number, bins: auto}}
        ... functions: {EARN: {add: income, arguments: [500, 1000], cost: {base: [1, 2]}}}'''
        >>> Problem.from_yaml(text)
        Problem('loan': 1 features, 1 functions, 2 actions)
        """
        source = Source(name)
        parse_yaml(text, source)
        return cls._from_source(source)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], name: str = "problem") -> Problem:
        """Create a problem from data of the form of a problem file, such as `to_dict` returns.

        Parameters
        ----------
        data : mapping
            The keys and values of a problem file. The limits of files apply.
        name : str, default="problem"
            Stands for the file name in messages.

        Returns
        -------
        Problem
            The problem that the data describe.

        Raises
        ------
        ProblemError
            If the data have mistakes; the message lists all of them.

        Examples
        --------
        >>> from counterplan import Problem, benchmarks
        >>> data = benchmarks.load_problem("german").to_dict() | {"max_actions": 2}
        >>> Problem.from_dict(data).max_actions
        2
        """
        return cls._from_source(Source(name, data))

    @classmethod
    def _from_source(cls, source: Source) -> Problem:
        parts = build(source)
        if parts is None:
            errors = [finding for finding in source.findings if finding.severity == "error"]
            raise ProblemError("\n".join(finding.text(source.name) for finding in errors))
        return cls(parts)

    def to_dict(self) -> dict[str, Any]:
        """Serialize the problem to plain data, the inverse of `from_dict`.

        Returns
        -------
        dict
            The keys and values of a problem file; values that are the default are left out.

        Examples
        --------
        >>> from counterplan import Problem, benchmarks
        >>> problem = benchmarks.load_problem("german")
        >>> problem.to_dict()["functions"]["CHANGE_JOB"]["set"]
        'job'
        >>> Problem.from_dict(problem.to_dict()).fingerprint == problem.fingerprint
        True
        """
        return self._parts.file.model_dump(mode="json", by_alias=True, exclude_defaults=True) | {"counterplan": 1}

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the whole definition; surrogates, agents and programs belong to one fingerprint."""
        text = json.dumps(self.to_dict())  # the order of the file, which numbers features and actions
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @cached_property
    def query_fingerprint(self) -> str:
        """A hash of the features and the outcome, without actions and costs: cached model outputs belong to it."""
        outcome: list[Any] = [self.outcome.natives, sorted(self.outcome.favourable)]
        if self.outcome.score is not None:
            outcome.append([self.outcome.score.limit, self.outcome.score.at_most])
        if self.outcome.codes:
            outcome.append(self.outcome.codes)
        text = json.dumps([self._feature_facts, *outcome])
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def _feature_facts(self) -> list[tuple[Any, ...]]:
        """Everything about the features that answers of a model depend on."""
        return [(feature.name, feature.kind, feature.integer, feature.natives) for feature in self.features]

    @cached_property
    def label_fingerprint(self) -> str | None:
        """A hash of the features and all outcomes, whichever are favourable; None if there are not three or more.

        Labels that a model returned serve every problem with the same one: see `with_target`.
        """
        if len(self.outcome.values) < 3:
            return None
        text = json.dumps([self._feature_facts, self.outcome.natives, self.outcome.codes])
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def with_target(self, target: TargetLike) -> Problem:
        """Return the same problem with other favourable outcomes.

        Parameters
        ----------
        target : str, number, bool or set of these
            The outcome to reach, or a set of outcomes any of which is to be reached.

        Returns
        -------
        Problem
            The problem itself if these are its favourable outcomes.

        Raises
        ------
        SettingError
            If the target is not among the outcomes, or the outcome is a score.

        Examples
        --------
        >>> from counterplan import Problem
        >>> grades = Problem.from_dict({
        ...     "counterplan": 1,
        ...     "name": "grades",
        ...     "outcome": {
        ...         "column": "grade", "values": ["A", "B", "C"], "favourable": ["A", "B"]
        ...     },
        ...     "max_actions": 1,
        ...     "features": {"income": {"kind": "number", "bins": [0, 1000]}},
        ...     "functions": {"EARN": {"add": "income", "arguments": [100], "cost": 1}},
        ... })
        >>> grades.with_target("A").outcome.describe()
        'A'
        >>> grades.with_target({"A", "B"}) is grades
        True
        """
        chosen = read_target(self.outcome, target)
        if chosen == self.outcome.favourable:
            return self
        if chosen not in self._with_target:
            natives = [native for native in self.outcome.natives if text_of(native) in chosen]
            spec = {"favourable": natives[0] if len(natives) == 1 else natives}
            file = self._parts.file.model_copy(update={"outcome": self._parts.file.outcome.model_copy(update=spec)})
            outcome = replace(self.outcome, favourable=chosen)
            self._with_target[chosen] = Problem(replace(self._parts, file=file, outcome=outcome))
        return self._with_target[chosen]

    def read(self, people: PeopleTable | People, dtypes: Dtypes | pd.DataFrame | None = None) -> People:
        """Read and validate people.

        Parameters
        ----------
        people : pandas.DataFrame, polars.DataFrame, pyarrow.Table, list of dict, dict or People
            One row per person with a column per feature; a list has a dict per person, and one dict is one person.
            Extra columns are passed on to the model; the outcome's column is dropped. Categorical columns of any
            table become pandas categoricals. `People` of this problem are returned unchanged.
        dtypes : mapping of str to dtype, or pandas.DataFrame, optional
            Dtypes that the model expects, for some columns; a table stands for those of its columns. The columns are
            cast: a CSV of texts has the categories that a model was trained on. A categorical dtype has categories.

        Returns
        -------
        People
            The validated people, encoded as states.

        Raises
        ------
        PeopleError
            If columns are missing or values do not match the features or the dtypes; names column, row and value.

        Examples
        --------
        >>> from counterplan import benchmarks
        >>> german = benchmarks.load("german")
        >>> people = german.problem.read(german.test)
        >>> people
        People(200 people, 9 features)
        >>> people.states.shape
        (200, 9)
        """
        if isinstance(people, People):
            if people.features != self.features:
                raise PeopleError(f"these people were read for another problem than {self.name}")
            return people if dtypes is None else replace(people, table=as_dtypes(people.table, dtypes))
        read = read_people(self.features, people, self.outcome.column)
        return replace(read, table=as_dtypes(read.table, dtypes))

    def read_valid(self, people: PeopleTable) -> tuple[People, list[BadCell]]:
        """Read the people whose values match the features.

        Parameters
        ----------
        people : pandas.DataFrame or other table
            As for `read`.

        Returns
        -------
        people : People
            The valid people; the index of their table has the labels of the original one.
        bad : list of BadCell
            Row, column and mistake of each cell that does not match.

        Raises
        ------
        PeopleError
            If columns are missing.

        Examples
        --------
        >>> from counterplan import benchmarks
        >>> german = benchmarks.load("german")
        >>> table = german.test.head(3).assign(housing=["own", "rnet", "free"])
        >>> people, bad = german.problem.read_valid(table)
        >>> len(people)
        2
        >>> print(bad[0])
        column 'housing', row 1: 'rnet' is not a value of this feature; did you mean 'rent'?
        """
        return read_valid_people(self.features, people, self.outcome.column)

    def encoding(self, people: People | None = None) -> Encoding:
        """The binary encoding of states; `people` are needed only if a feature has `bins: auto`."""
        return Encoding.of(self.features, None if people is None else people.states)

    def state(self, values: Mapping[str, Native | None]) -> Floats:
        """Encode a mapping of feature names to values as a state [F]; absent features are missing values.

        Parameters
        ----------
        values : mapping of str to value
            The values by feature name. None, and a feature without a value, are missing values.

        Returns
        -------
        numpy.ndarray of shape (F,)
            The encoded values, in the order of `features`; NaN where a value is missing.

        Raises
        ------
        PeopleError
            If there is no such feature, or a value does not match it.

        Examples
        --------
        >>> from counterplan import benchmarks
        >>> german = benchmarks.load("german")
        >>> values = german.test.drop(columns="risk").iloc[0].to_dict()
        >>> values["housing"]
        'own'
        >>> german.problem.state(values).tolist()
        [32.0, 1.0, 2.0, 2.0, 1.0, 0.0, 4594.0, 18.0, 5.0]
        """
        state: Floats = self.states([values])[0]
        return state

    def states(self, mappings: Sequence[Mapping[str, Native | None]]) -> Floats:
        """Encode n mappings, as of `state`, as states [n, F].

        Parameters
        ----------
        mappings : sequence of mappings
            The values of each person, as for `state`.

        Returns
        -------
        numpy.ndarray of shape (B, F)
            One state for each mapping, in the same order.

        Raises
        ------
        PeopleError
            If there is no such feature, or a value does not match it.

        Examples
        --------
        >>> from counterplan import benchmarks
        >>> german = benchmarks.load("german")
        >>> rows = german.test.drop(columns="risk").head(2).to_dict("records")
        >>> german.problem.states(rows).shape
        (2, 9)
        """
        names = [feature.name for feature in self.features]
        for name in dict.fromkeys(name for values in mappings for name in values):
            if name not in names:
                raise PeopleError(f"there is no feature '{name}'{did_you_mean(name, names)}")
        columns = {name: [values.get(name) for values in mappings] for name in names}
        return self.read(pd.DataFrame(columns, dtype=object)).states

    def describe(self, state: Floats) -> dict[str, Native | None]:
        """Decode a state [F] to a mapping of feature names to values; None for missing values.

        Parameters
        ----------
        state : numpy.ndarray of shape (F,)
            A state, such as a row of `People.states`.

        Returns
        -------
        dict of str to value
            The value of each feature by name; None is a missing value.

        Examples
        --------
        >>> from counterplan import benchmarks
        >>> german = benchmarks.load("german")
        >>> person = german.problem.read(german.test.head(1))
        >>> german.problem.describe(person.states[0])["job"]
        'skilled'
        """
        return {feature.name: feature.native(float(state[feature.index])) for feature in self.features}

    def description(self) -> dict[str, Any]:
        """The functions, the causal graph and the features of the problem as plain data.

        Returns
        -------
        dict
            `functions` have their effect, the kind of their argument, arguments, precondition, costs and the features
            that scale these, and, if any takes time, durations; `causes` are the edges of the causal graph, each with
            its scale, table or formula; `features` have their kind, values or bounds, and whether they are immutable,
            protected, derived from others, or may be missing.

        Examples
        --------
        >>> from counterplan import benchmarks
        >>> description = benchmarks.load_problem("german").description()
        >>> list(description)
        ['name', 'title', 'max_actions', 'time_unit', 'outcome', 'features', 'functions', 'causes']
        >>> [one["name"] for one in description["functions"]]
        ['CHANGE_SAVINGS', 'CHANGE_JOB', 'CHANGE_CREDIT', 'CHANGE_HOUSING', 'CHANGE_DURATION', 'CHANGE_PURPOSE', 'STOP']
        """
        return problem_data(self._described())

    def to_text(self) -> str:
        """Describe the problem: functions with arguments, preconditions and costs, the causal graph, and features.

        Returns
        -------
        str
            Several lines of plain text.

        Examples
        --------
        >>> from counterplan import benchmarks
        >>> print(benchmarks.load_problem("german").to_text())
        german: German Credit
        9 features, 6 functions, 27 actions; plans of at most 4 actions; favourable risk: good
        ...
        """
        return problem_text(self._described())

    def to_svg(self) -> str:
        """Draw the causal graph as a standalone SVG file: features with their costs, and edges with their effects.

        Returns
        -------
        str
            A standalone SVG document.

        Examples
        --------
        >>> from pathlib import Path
        >>> from counterplan import benchmarks
        >>> svg = benchmarks.load_problem("german").to_svg()
        >>> _ = Path("german.svg").write_text(svg, encoding="utf-8")
        """
        return graph_svg(self._described())

    def _described(self) -> ProblemParts:
        return ProblemParts(
            self.name, self._parts.file.title, self.transitions, self.outcome, self.max_actions, self.time_unit
        )

    def allowed(self, forbid: Sequence[str] = ()) -> Bools:
        """Mask the actions that remain when some are forbidden.

        Parameters
        ----------
        forbid : sequence of str
            Functions ("CHANGE_JOB") or single actions ("CHANGE_JOB=manager").

        Returns
        -------
        numpy.ndarray of bool, shape (A,)
            True for the actions that remain, in the order of `transitions.actions`.

        Raises
        ------
        SettingError
            If there is no such function or action.

        Examples
        --------
        >>> from counterplan import benchmarks
        >>> problem = benchmarks.load_problem("german")
        >>> allowed = problem.allowed(["CHANGE_HOUSING", "CHANGE_JOB=skilled"])
        >>> [str(action) for action in problem.transitions.actions if not allowed[action.index]]
        ['CHANGE_JOB=skilled', 'CHANGE_HOUSING=free', 'CHANGE_HOUSING=rent', 'CHANGE_HOUSING=own']
        """
        allowed = np.ones(len(self.transitions), bool)
        names = [str(action) for action in self.transitions.actions[:-1]]
        functions = [function.name for function in self.transitions.functions]
        if isinstance(forbid, str):
            forbid = [forbid]
        for item in forbid:
            if not isinstance(item, str):
                raise SettingError(f"cannot forbid {item!r}: name a function or an action, such as '{names[0]}'")
            if item in functions:
                allowed[self.transitions.spans[functions.index(item)]] = False
            elif item in names:
                allowed[names.index(item)] = False
            else:
                hint = did_you_mean(item, [*functions, *names]) or f"; there are {listed(functions)}"
                raise SettingError(f"cannot forbid '{item}': there is no such function or action{hint}")
        return allowed

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle the definition; compiled conditions are functions, which cannot be pickled."""
        return type(self).from_dict, (self.to_dict(), self.name)

    def __repr__(self) -> str:
        return (
            f"Problem({self.name!r}: {len(self.features)} features, {len(self.transitions.functions)} functions, "
            f"{len(self.transitions) - 1} actions)"
        )

    def _repr_html_(self) -> str:
        return problem_html(self._described())
