"""A model is known by its content: the same in every process, another one as soon as it decides by something else."""

from __future__ import annotations

import functools
import json
import pickle
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer, StandardScaler

from counterplan import (
    BlackBox,
    ForeignAnswersWarning,
    LabelledStates,
    Plans,
    Problem,
    Program,
    Recourse,
    SettingError,
    benchmarks,
)
from counterplan.models import HttpModel, adapt
from counterplan.program import Choice, Leaf

X = np.random.default_rng(0).normal(size=(200, 4))
Y = (X[:, 0] > 0).astype(int)
LIMIT = 1_000
CLIENT = threading.Lock()


def model_id(model: object) -> str:
    return BlackBox(model).model_id


@pytest.mark.parametrize(
    "estimator",
    [
        LogisticRegression(),
        RandomForestClassifier(20, random_state=0),
        GradientBoostingClassifier(n_estimators=10, random_state=0),
        HistGradientBoostingClassifier(max_iter=10, random_state=0),
        KNeighborsClassifier(),
        make_pipeline(SplineTransformer(), StandardScaler(), LogisticRegression()),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_a_retrained_estimator_is_another_model(estimator) -> None:
    first = model_id(estimator.fit(X, Y))
    assert first.startswith(f"model '{type(estimator).__name__}' (")
    estimator.predict(X)
    assert model_id(estimator) == first, "asking changes nothing"
    assert model_id(pickle.loads(pickle.dumps(estimator))) == first
    assert model_id(lambda people: estimator.predict(people)) == model_id(lambda people: estimator.predict(people))
    wrapped, method = model_id(lambda people: estimator.predict(people)), model_id(estimator.predict)
    assert model_id(estimator.fit(X, Y)) == first, "the same data, the same model"
    assert model_id(estimator.fit(X[:150], Y[:150])) != first
    assert model_id(lambda people: estimator.predict(people)) != wrapped
    assert model_id(estimator.predict) != method


def test_functions_are_distinguished_by_their_code() -> None:
    def above(limit, *, strict=False):
        return lambda people: people["x"] > limit if strict else people["x"] >= limit

    def defaulted(people, limit=5):
        return people["x"] > limit

    def refers(people):
        return people["x"] > LIMIT

    def nested(people):
        return [(lambda value: value > 7)(value) for value in people["x"]]

    def other_nested(people):
        return [(lambda value: value > 8)(value) for value in people["x"]]

    other_nested.__name__ = "nested"
    models = [
        lambda people: people["x"] > 1,
        lambda people: people["x"] > 2,
        lambda people: people["y"] > 1,
        lambda people: people["x"] >= 1,
        above(1),
        above(2),
        above(1, strict=True),
        above({"a": np.arange(3)}),
        above({"a": np.arange(4)}),
        above(pd.DataFrame({"a": [1, 2]})),
        above(pd.DataFrame({"a": [1, 3]})),
        defaulted,
        functools.partial(defaulted, limit=6),
        functools.partial(defaulted, limit=7),
        refers,
        nested,
        other_nested,
        np.vectorize(lambda value: value > 3),
    ]
    identities = [model_id(model) for model in models]
    assert len(set(identities)) == len(identities)
    assert model_id(above(1)) == model_id(above(1))
    assert model_id(functools.partial(defaulted, limit=6)) == model_id(functools.partial(defaulted, limit=6))


def test_what_a_function_refers_to_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    def model(people):
        return helper(people) > LIMIT

    before = model_id(model)
    monkeypatch.setattr(sys.modules[__name__], "LIMIT", 2_000)
    assert model_id(model) != before
    monkeypatch.undo()
    assert model_id(model) == before
    monkeypatch.setattr(sys.modules[__name__], "helper", lambda people: people["x"] * 2)
    assert model_id(model) != before


def helper(people):
    return people["x"]


def test_what_a_function_keeps_count_of_does_not_count() -> None:
    rows = 0

    def model(people):
        nonlocal rows
        rows += len(people)
        with CLIENT:
            return people["x"] > LIMIT

    before = model_id(model)
    model(pd.DataFrame({"x": [1]}))
    assert model_id(model) == before


class Scorecard:
    def __init__(self, points, lock=None) -> None:
        self.points, self.lock = points, lock
        self.itself = self

    def __call__(self, people):
        self.count(len(people))
        return people["x"] > self.points

    def count(self, rows):
        self.asked = getattr(self, "asked", 0) + rows

    def decide(self, people):
        return self(people)

    def fit(self, points):
        self.points = points


def test_objects_are_distinguished_by_their_content() -> None:
    assert model_id(Scorecard(1)) == model_id(Scorecard(1)) != model_id(Scorecard(2))
    assert model_id(Scorecard(1).decide) == model_id(Scorecard(1).decide) != model_id(Scorecard(2).decide)
    assert model_id(Scorecard(1, threading.Lock())) == model_id(Scorecard(1, threading.Lock()))

    asked = Scorecard(1)
    asked(pd.DataFrame({"x": [1]}))
    assert model_id(asked) == model_id(Scorecard(1))
    assert model_id(asked.decide) == model_id(Scorecard(1).decide)
    asked.fit(2)
    assert model_id(asked) == model_id(Scorecard(2))

    class Other(Scorecard):
        def __call__(self, people):
            return people["x"] < self.points

    Other.__name__ = Other.__qualname__ = "Scorecard"
    assert model_id(Other(1)) != model_id(Scorecard(1))


def test_a_model_may_say_itself_what_it_is() -> None:
    card = Scorecard(1)
    card.identity = "as of May"  # type: ignore[attr-defined]
    assert model_id(card) == "model 'Scorecard' (as of May)"
    german = benchmarks.load("german").model
    assert model_id(german) == german.name


def test_nothing_is_raised() -> None:
    class Odd:
        def __call__(self, people):
            return people

        @property
        def identity(self):
            raise RuntimeError("odd")

    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    assert model_id(Odd()) == "model 'Odd'"
    assert model_id(lambda people: deep) == "model '<lambda>'"
    while deep:  # Python itself would overflow
        deep = deep.pop()


def test_services_are_known_by_their_address() -> None:
    assert model_id(HttpModel("http://localhost/a")) == "http://localhost/a"
    with_key = model_id(HttpModel("http://localhost/a?model=1"))
    assert with_key != model_id(HttpModel("http://localhost/a?model=2"))
    assert "model=1" not in with_key


def test_an_onnx_file_is_known_by_its_bytes(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    skl2onnx = pytest.importorskip("skl2onnx")
    for name, limit in (("a", 200), ("b", 200), ("c", 100)):
        (tmp_path / name).mkdir()
        model = LogisticRegression().fit(X[:limit], Y[:limit])
        content = skl2onnx.to_onnx(model, X[:1].astype(np.float32)).SerializeToString()
        (tmp_path / name / "model.onnx").write_bytes(content)
    a, b, c = (model_id(str(tmp_path / name / "model.onnx")) for name in "abc")
    assert a.startswith("model.onnx (")
    if (tmp_path / "a" / "model.onnx").read_bytes() == (tmp_path / "b" / "model.onnx").read_bytes():
        assert a == b
    assert a != c


BANK = """
import numpy as np
import rules
from sklearn.ensemble import RandomForestClassifier

random = np.random.default_rng({seed})
X = random.normal(size=(100, 3))
forest = RandomForestClassifier(10, random_state=0).fit(X, X[:, 0] > 0)
names = {{"a", "b", "c", "dd", "eee"}}

def decide(people):
    return ["yes" if name in names and forest.predict(X)[0] else rules.otherwise(name) for name in people["name"]]
"""
ASK = """
import json
import sys
from counterplan import BlackBox
for folder in ("first", "other_rules", "retrained"):
    sys.path[0] = folder
    print(json.dumps([BlackBox(model).model_id for model in ("bank:forest", "bank:decide")]))
    del sys.modules["bank"], sys.modules["rules"]
"""


def test_the_same_in_another_process(tmp_path: Path) -> None:
    def ask(seed: str) -> list[list[str]]:
        ran = subprocess.run(
            [sys.executable, "-c", ASK], cwd=tmp_path, text=True, capture_output=True, check=True,
            env={"PYTHONHASHSEED": seed},
        )  # fmt: skip
        return [json.loads(line) for line in ran.stdout.splitlines()]

    for folder, seed, otherwise in (("first", 1, "no"), ("other_rules", 1, "yes"), ("retrained", 2, "no")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "bank.py").write_text(BANK.format(seed=seed))
        (tmp_path / folder / "rules.py").write_text(f"def otherwise(name): return {otherwise!r}\n")
    first, other_rules, retrained = answers = ask("1")
    assert answers == ask("2")
    forest, decide = first
    assert forest != decide
    assert other_rules[0] == forest
    assert other_rules[1] != decide
    assert retrained[0] != forest


def test_answers_of_a_retrained_model_are_not_used(tmp_path: Path) -> None:
    german = benchmarks.load("german")
    people = german.test.head(40)

    def trained(limit: int) -> Recourse:
        numbers = german.train[["age", "credit_amount", "duration"]]
        estimator = LogisticRegression(max_iter=1_000).fit(
            numbers, np.where(numbers["credit_amount"] < limit, "good", "bad")
        )
        return Recourse(german.problem, estimator)

    first = trained(2_500)
    first.box.favourable(german.problem, people)
    first.save_answers(tmp_path)
    answers = tmp_path / "answers.csv.gz"
    with pytest.raises(SettingError, match=r"these are answers of model 'LogisticRegression' \(\w+\), not of"):
        trained(900).fit(people, answers=answers)
    cached = LabelledStates.load(answers, german.problem)
    assert cached.model == trained(2_500).box.model_id != trained(900).box.model_id


LOANS_MODEL = """
from sklearn.linear_model import LogisticRegression
import pandas as pd
people = pd.DataFrame({"income": [float(i) for i in range(0, 4000, 100)]})
estimator = LogisticRegression().fit(people, ["yes" if x > 2000 else "no" for x in people["income"]])
"""


@pytest.mark.parametrize("threshold", [None, 1])
@pytest.mark.parametrize("given", [None, ["yes"]])
def test_answers_are_shared_between_python_and_the_command_line(run, folder: Path, given, threshold) -> None:
    """The name of the model differs, and the favourable outcome is given once and implied once."""
    (folder / "scoring.py").write_text(LOANS_MODEL)
    problem = Problem.load("loan.yaml")
    estimator = adapt("scoring:estimator").estimator
    box = BlackBox(estimator, given, threshold=threshold)
    stop = Leaf((Choice(problem.transitions.stop),))
    recourse = Recourse(problem, box, program=Program(problem, {"INTERVENE": stop}))
    plans = recourse.recommend(pd.read_csv("people.csv"), "exact")
    assert plans.queries > 3
    recourse.save("learned")
    words = ("recommend", "learned", "--planner", "exact", "--people", "people.csv", "--model", "scoring:estimator")
    limit = () if threshold is None else ("--threshold", float(threshold))
    ran = run(*words, *limit, "--json", "plans.json")
    assert "are those of" not in ran.err
    again = Plans.from_json(Path("plans.json").read_text())
    assert (again.queries, again.cached > 0) == (0, True)
    assert [plan.cost for plan in again] == pytest.approx([plan.cost for plan in plans], nan_ok=True)
    for other in (BlackBox(estimator, "no"), BlackBox(estimator, given, threshold=0.25)):
        with pytest.warns(ForeignAnswersWarning, match="they are not used"):
            assert Recourse.load("learned", other).box.cached_answers(problem) == {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        back = Recourse.load("learned", BlackBox("scoring:estimator", threshold=threshold))
    assert len(back.answers_) == len(recourse.answers_)
    ran = run(*words, "--threshold", 0.125)
    assert ran.err.count("they are not used") == 1
    assert "ForeignAnswersWarning" not in ran.err


def test_a_model_of_unknown_content_is_known_by_its_name() -> None:
    german = benchmarks.load("german")
    box = BlackBox(german.model, threshold=2)
    for text, same in (
        (f"{german.model.name}, threshold 2.0", True),
        (f"{german.model.name}, threshold 2", True),
        (f"{german.model.name}, threshold 2, favourable good", True),
        (f"{german.model.name}, threshold 2, favourable bad", False),
        ("another model, threshold 2.0", False),
        (german.model.name, False),
    ):
        assert box.is_model(text, german.problem) == same
