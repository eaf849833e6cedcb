import ast
import builtins
import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import LinearSVC

import services
from counterplan.errors import ModelError
from counterplan.models import HttpModel, OnnxModel, adapt, adapters, dtypes_of, labels_and_scores
from counterplan.models import http as models_http
from counterplan.models.registry import PACKAGES


def table(rows: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "marital-status": rng.choice(["single", "married", "widowed"], rows),
            "income": rng.normal(3, 1, rows).astype("float32"),
            "children": rng.integers(0, 4, rows),
        }
    )


def verdicts(people: pd.DataFrame, no: object = "bad", yes: object = "good") -> np.ndarray:
    return np.where(people["income"] + (people["marital-status"] == "married") > 3.2, yes, no)


def pipeline(people: pd.DataFrame, labels: np.ndarray) -> Pipeline:
    columns = make_column_transformer((OneHotEncoder(), ["marital-status"]), remainder="passthrough")
    return make_pipeline(columns, LogisticRegression()).fit(people, labels)


def test_a_pipeline_answers_about_a_table_whatever_the_order_of_its_columns():
    people = table()
    estimator = pipeline(people, verdicts(people))
    model = adapt(estimator)
    assert (model.name, model.classes) == ("model 'Pipeline'", ("bad", "good"))
    shuffled = people[["children", "income", "marital-status"]].assign(note="not a feature")
    assert model.labels(shuffled).tolist() == estimator.predict(people).tolist()
    np.testing.assert_array_equal(model.scores(shuffled, {"good"}), estimator.predict_proba(people)[:, 1])


def test_an_estimator_fitted_on_an_array_gets_an_array():
    people = table()[["income", "children"]]
    estimator = RandomForestClassifier(5, random_state=0).fit(people.to_numpy(), people["children"] * 10)
    model = adapt(estimator)
    assert model.classes == ("0", "10", "20", "30")
    assert model.labels(people).tolist() == estimator.predict(people.to_numpy()).tolist()
    both = model.scores(people, ["10", "30"])
    np.testing.assert_allclose(both, estimator.predict_proba(people.to_numpy())[:, [1, 3]].sum(axis=1))


def test_an_object_that_only_has_predict_gets_the_table():
    class Rule:
        def predict(self, people: pd.DataFrame) -> pd.Series:
            return people["income"] > 3

    model = adapt(Rule())
    people = table()
    assert model.classes is None
    assert model.labels(people).tolist() == (people["income"] > 3).tolist()


def test_classes_are_known_as_texts():
    people = table()
    assert adapt(pipeline(people, verdicts(people, False, True).astype(bool))).classes == ("false", "true")
    assert adapt(pipeline(people, verdicts(people, 0.0, 1.0))).classes == ("0", "1")


def test_an_estimator_fitted_after_it_was_adapted_knows_its_classes():
    people = table()[["income"]]
    estimator = LogisticRegression()
    model = adapt(estimator)
    estimator.fit(people, people["income"] > 3)
    np.testing.assert_array_equal(model.scores(people, {"true"}), estimator.predict_proba(people)[:, 1])


def test_an_estimator_without_probabilities_has_labels_only():
    people = table()[["income"]]
    model = adapt(LinearSVC().fit(people, people["income"] > 3))
    assert model.labels(people).dtype == bool
    with pytest.raises(ModelError, match="model 'LinearSVC' has no predict_proba"):
        model.scores(people, {"true"})


def test_the_numbers_of_a_regressor_are_scores_if_its_method_is_the_model():
    people = table()[["income"]]
    regressor = LinearRegression().fit(people, people["income"])
    np.testing.assert_allclose(adapt(regressor.predict).scores(people, {"1"}), people["income"], rtol=1e-5)


def test_a_favourable_label_that_the_estimator_never_gives():
    people = table()
    model = adapt(pipeline(people, verdicts(people)))
    with pytest.raises(ModelError, match=r"never gives the label 'goood', only bad, good; did you mean 'good'\?"):
        model.scores(people, {"goood"})


def test_a_column_that_the_people_lack():
    people = table()
    model = adapt(pipeline(people, verdicts(people)))
    with pytest.raises(ModelError, match=r"trained on column 'income', .* did you mean 'Income'\?"):
        model.labels(people.rename(columns={"income": "Income"}))


def test_an_error_inside_the_model_names_the_model_and_its_cause():
    with pytest.raises(
        ModelError, match="model 'RandomForestClassifier' failed on 60 rows: NotFittedError: "
    ) as raised:
        adapt(RandomForestClassifier()).labels(table())
    assert type(raised.value.__cause__).__name__ == "NotFittedError"


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (["yes", "no"], ["yes", "no"]),
        (["yes", True], ["yes", True]),
        ([["yes"], ["no"]], ["yes", "no"]),
        ((1, None), [1, None]),
        (pd.Series([True, False], index=[5, 3]), [True, False]),
        (pd.DataFrame({"label": ["a", "b"]}), ["a", "b"]),
        (pd.Series(["a", "b"], dtype="category"), ["a", "b"]),
        (np.array([[1], [2]]), [1, 2]),
        ([1, 2, 3], [1, 2, 3]),  # the wrong length is the caller's to notice
    ],
)
def test_answers_come_as_an_array_of_one_dimension(answer, expected):
    labels = adapt(lambda people: answer).labels(table(2))
    assert isinstance(labels, np.ndarray)
    assert labels.ndim == 1
    assert labels.tolist() == expected


def test_a_single_person_keeps_a_single_answer():
    assert adapt(lambda people: np.ones((1, 1))).labels(table(1)).shape == (1,)


@pytest.mark.parametrize(
    "answer",
    ["yes", 1, None, {"label": 1}, np.zeros((2, 2)), np.zeros((1, 2)), [[1], [2, 3]], [1, [2]], [{}, {}]],
)
def test_answers_of_any_other_shape_are_refused(answer):
    with pytest.raises(ModelError, match="must give one answer per person, but gave"):
        adapt(lambda people: answer).labels(table(2))


@pytest.mark.parametrize(
    ("answer", "expected"),
    [([0.25, 1], [0.25, 1]), (np.float32([0.5, 2]), [0.5, 2]), ([[0.5], [1]], [0.5, 1]), ([None, 1], [np.nan, 1])],
)
def test_numbers_of_a_function_are_scores(answer, expected):
    scores = adapt(lambda people: answer).scores(table(2), {"1"})
    assert scores.dtype == float
    np.testing.assert_array_equal(scores, expected)


@pytest.mark.parametrize(
    "answer", [["yes", "no"], ["0.5", "0.7"], [0.5, True], np.array([True, False]), np.array(["yes", "no"])]
)
def test_labels_of_a_function_are_not_scores(answer):
    with pytest.raises(ModelError, match=r"gives labels \(such as ['TF]"):
        adapt(lambda people: answer).scores(table(2), {"yes"})


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit(3), AssertionError("off")])
def test_whatever_a_function_raises_is_a_model_error(error):
    def broken(people: pd.DataFrame) -> list[int]:
        raise error

    with pytest.raises(ModelError, match=f"model 'broken' failed on 1 row: {type(error).__name__}: {error}") as raised:
        adapt(broken).labels(table(1))
    assert raised.value.__cause__ is error


def test_ctrl_c_passes():
    def stopped(people: pd.DataFrame) -> list[int]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        adapt(stopped).labels(table(1))


def test_a_function_cannot_change_the_callers_table():
    def careless(people: pd.DataFrame) -> pd.Series:
        people["income"] = 0.0
        return people["income"]

    people = table(3)
    adapt(careless).labels(people)
    pd.testing.assert_frame_equal(people, table(3))


def test_a_model_stays_as_it_is():
    model = adapt(lambda people: [1])
    assert adapt(model) is model


def test_packages_of_models_are_imported_on_use_only():
    folder = Path(adapters.__file__).parent
    for path in folder.glob("*.py"):
        for node in ast.parse(path.read_text("utf-8")).body:  # not the imports inside functions
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                names = [node.module] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
                assert not {str(name).split(".")[0] for name in names} & {*PACKAGES, "onnxruntime", "pyarrow"}, path


def test_an_incomplete_model_is_refused():
    class Half:
        name = "half"

        def labels(self, people): ...

        def scores(self, people, favourable): ...

    with pytest.raises(ModelError, match="model 'Half' has 'labels' and 'scores' but lacks 'batch', 'classes'"):
        adapt(Half())


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (RandomForestClassifier, "'RandomForestClassifier' is a class"),
        (HttpModel, "'HttpModel' is a class"),
        (lambda: 1, "is a function without arguments"),
        (lambda people, more: 1, "cannot be called with one DataFrame .missing a required argument: 'more'"),
        (3, "of type 'int'"),
        (None, "of type 'NoneType'"),
        ("model.pkl", "'model.pkl' is not a model; a model is an estimator"),
        ("ftp://host/model", "is not a model"),
        ("localhost:8080", "is not a model"),
        ("", "is not a model"),
        (Path("forest.joblib"), "is not a model"),
    ],
)
def test_what_is_not_a_model(model, message):
    with pytest.raises(ModelError, match=message):
        adapt(model)


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Iterator[Path]:
    """An empty current directory; what is imported from it is forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield tmp_path
    for module in set(sys.modules) - before:
        del sys.modules[module]


MODULE = """
class Forest:
    classes_ = ["bad", "good"]

    def predict(self, people):
        return ["good"] * len(people)

class Shelf:
    forest = Forest()

shelf = Shelf()
address = "shop:address"

def rule(people):
    from neighbour import answer
    return [answer] * len(people)

def make():
    raise RuntimeError("must not be called")
"""


def test_a_model_in_a_module_of_the_current_directory(folder):
    (folder / "shop.py").write_text(MODULE)
    (folder / "neighbour.py").write_text("answer = 7")
    forest = adapt("shop:shelf.forest")
    assert (forest.name, forest.classes) == ("model 'shop:shelf.forest'", ("bad", "good"))
    assert forest.labels(table(2)).tolist() == ["good", "good"]
    assert adapt("shop:rule").labels(table(2)).tolist() == [7, 7]


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("shop:ruel", r"module 'shop' has no attribute 'ruel'; did you mean 'rule'\?"),
        ("shop:shelf.forst", r"'shelf' in module 'shop' has no attribute 'forst'; did you mean 'forest'\?"),
        ("shop:Forest", "model 'shop:Forest' is a class"),
        ("shop:make", "model 'shop:make' is a function without arguments"),
        ("shop:address", "model 'shop:address' is of type 'str'"),
        ("shp:rule", "cannot import module 'shp': ModuleNotFoundError: No module named 'shp'"),
    ],
)
def test_what_is_wrong_with_a_reference(folder, reference, message):
    (folder / "shop.py").write_text(MODULE)
    with pytest.raises(ModelError, match=message):
        adapt(reference)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("def rule(people:\n", r"SyntaxError: .*broken.py, line 1"),
        ("import no_such_thing", "ModuleNotFoundError: No module named 'no_such_thing'"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("raise SystemExit('usage: …')", "SystemExit: usage"),
    ],
)
def test_a_module_that_cannot_be_imported(folder, code, message):
    (folder / "broken.py").write_text(code)
    with pytest.raises(ModelError, match=f"cannot import module 'broken': {message}"):
        adapt("broken:rule")


def exported(path: Path, estimator: object, sample: object, **options: object) -> Path:
    skl2onnx = pytest.importorskip("skl2onnx")
    onnx_model = skl2onnx.to_onnx(estimator, sample, options={id(estimator): options} if options else None)
    path.write_bytes(onnx_model.SerializeToString())
    return path


def test_an_onnx_pipeline_with_one_input_per_column_answers_like_its_estimator(tmp_path):
    people = table()
    estimator = pipeline(people, verdicts(people))
    model = adapt(exported(tmp_path / "loan.onnx", estimator, people[:1]))
    assert (model.name, model.classes) == ("loan.onnx", ("bad", "good"))
    assert {name: dtype.kind for name, dtype in dtypes_of(model).items()} == {
        "marital_status": "O",
        "income": "f",
        "children": "i",
    }
    shuffled = people[["children", "income", "marital-status"]].assign(children=people["children"].astype(float))
    assert model.labels(shuffled).tolist() == estimator.predict(people).tolist()
    expected = estimator.predict_proba(people)
    np.testing.assert_allclose(model.scores(shuffled, {"good"}), expected[:, 1], atol=1e-6)
    np.testing.assert_allclose(model.scores(shuffled, {"good", "bad"}), 1, atol=1e-6)
    assert model.classes == ("bad", "good")
    with pytest.raises(ModelError, match=r"loan.onnx never gives the label 'goood'.* did you mean 'good'"):
        model.scores(people, {"goood"})


@pytest.mark.parametrize("zipmap", [True, False])
def test_an_onnx_model_that_takes_a_matrix_answers_like_its_estimator(tmp_path, zipmap):
    people = table()[["income", "children"]]
    matrix = people.to_numpy(dtype=np.float32)
    estimator = LogisticRegression().fit(matrix, (people["income"] > 3).astype(int))
    model = OnnxModel(exported(tmp_path / "loan.onnx", estimator, matrix[:1], **({} if zipmap else {"zipmap": False})))
    assert model.labels(people).tolist() == estimator.predict(matrix).tolist()
    for label, column in (("0", 0), ("1", 1)):
        np.testing.assert_allclose(model.scores(people, {label}), estimator.predict_proba(matrix)[:, column], atol=1e-6)


@pytest.mark.parametrize("zipmap", [True, False, "columns"])
@pytest.mark.parametrize("labels", [("bad", "good"), (1, 2), (-1, 1)])
def test_an_onnx_model_names_its_labels_with_and_without_zipmap(tmp_path, labels, zipmap):
    people = table()[["income"]]
    matrix = people.to_numpy(dtype=np.float32)
    estimator = LogisticRegression().fit(matrix, np.where(people["income"] > 3, labels[1], labels[0]))
    model = OnnxModel(exported(tmp_path / "loan.onnx", estimator, matrix[:1], zipmap=zipmap))
    assert model.classes == tuple(map(str, labels))
    found, scores = labels_and_scores(model, people, {str(labels[1])})
    assert found.tolist() == model.labels(people).tolist() == estimator.predict(matrix).tolist()
    np.testing.assert_allclose(scores, estimator.predict_proba(matrix)[:, 1], atol=1e-6)
    assert labels_and_scores(model, people, {"goood"})[1] is None
    with pytest.raises(ModelError, match="never gives the label 'goood'"):
        model.scores(people, {"goood"})


def test_onnx_probabilities_of_unknown_labels_are_refused(tmp_path):
    people = table()[["income"]]
    matrix = people.to_numpy(dtype=np.float32)
    estimator = MLPClassifier(2, max_iter=2).fit(matrix, np.where(people["income"] > 3, "good", "bad"))
    path = exported(tmp_path / "loan.onnx", estimator, matrix[:1], zipmap=False)
    model = OnnxModel(path)
    assert model.labels(people).tolist() == estimator.predict(matrix).tolist()
    assert labels_and_scores(model, people, {"good"})[1] is None
    with pytest.raises(ModelError, match="does not say which label each probability is of; export it with ZipMap"):
        model.scores(people, {"good"})
    named = OnnxModel(path, classes=["bad", "good"])
    np.testing.assert_allclose(named.scores(people, {"good"}), estimator.predict_proba(matrix)[:, 1], atol=1e-6)


def test_the_only_float_output_of_an_onnx_model_is_its_score(tmp_path):
    people = table()[["income", "children"]]
    matrix = people.to_numpy(dtype=np.float32)
    estimator = LinearRegression().fit(matrix, people["income"] * 2)
    model = OnnxModel(exported(tmp_path / "score.onnx", estimator, matrix[:1]))
    expected = estimator.predict(matrix)
    np.testing.assert_allclose(model.scores(people, {"1"}), expected, atol=1e-4)
    np.testing.assert_allclose(model.labels(people), expected, atol=1e-4)


def test_an_onnx_matrix_of_another_width_or_with_text(tmp_path):
    matrix = table()[["income", "children"]].to_numpy(dtype=np.float32)
    model = OnnxModel(exported(tmp_path / "loan.onnx", LogisticRegression().fit(matrix, matrix[:, 0] > 3), matrix[:1]))
    people = table(3)
    with pytest.raises(ModelError, match=r"takes 2 values per person, .* have 3: marital-status, income, children"):
        model.labels(people)
    with pytest.raises(ModelError, match=r"column 'marital-status' holds '.*', but the model takes numbers"):
        model.labels(people[["marital-status", "income"]])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"income": ["much"] * 3}, "column 'income' holds 'much', but the model takes numbers"),
        ({"children": [1.5, 2, 3]}, "column 'children' holds 1.5, but the model takes whole numbers"),
        ({"children": [1, None, 3]}, "column 'children' holds nan, but the model takes whole numbers"),
        ({"children": [1e300, 2, 3]}, r"column 'children' holds 1e\+300, but the model takes whole numbers"),
        ({"marital-status": ["single", None, "single"]}, "column 'marital-status' holds a missing value"),
        ({"marital-status": ["single", "engaged", "single"]}, "loan.onnx failed on 3 rows: "),
    ],
)
def test_a_column_that_does_not_fit_an_onnx_input(tmp_path, change, message):
    people = table()
    model = OnnxModel(exported(tmp_path / "loan.onnx", pipeline(people, verdicts(people)), people[:1]))
    with pytest.raises(ModelError, match=message):
        model.labels(people[:3].assign(**change))


def test_numbers_reach_an_onnx_model_from_any_kind_of_column(tmp_path):
    people = table(3)
    model = OnnxModel(exported(tmp_path / "loan.onnx", pipeline(table(), verdicts(table())), people[:1]))
    expected = model.labels(people).tolist()
    for kind in (object, "category", "Int64", "float64", str):
        assert model.labels(people.astype({"children": kind})).tolist() == expected


def test_a_column_that_an_onnx_model_needs_and_the_people_lack(tmp_path):
    people = table()
    model = OnnxModel(exported(tmp_path / "loan.onnx", pipeline(people, verdicts(people)), people[:1]))
    with pytest.raises(ModelError, match=r"takes a column 'income', which the people lack; did you mean 'incomes'\?"):
        model.labels(people.rename(columns={"income": "incomes"}))


def test_an_onnx_file_that_cannot_be_read(tmp_path):
    with pytest.raises(ModelError, match=r"none\.onnx: there is no such file"):
        adapt(tmp_path / "none.onnx")
    (tmp_path / "damaged.onnx").write_bytes(b"\x08\x07not a model")
    with pytest.raises(ModelError, match=r"damaged\.onnx: not a usable ONNX model"):
        adapt(str(tmp_path / "damaged.onnx"))


def test_without_onnxruntime_the_way_out_is_named(tmp_path, monkeypatch):
    original = builtins.__import__

    def without(name: str, *rest: object) -> object:
        if name == "onnxruntime":
            raise ImportError(name)
        return original(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ModelError, match=r"pip install 'counterplan\[onnx\]'"):
        adapt(tmp_path / "loan.onnx")


Answer = Callable[[BaseHTTPRequestHandler, list[dict]], None]


@contextmanager
def serving(*answers: Answer) -> Iterator[tuple[str, list[bytes]]]:
    """A service that gives these answers in turn, the last one for ever; its address and the requests it had."""
    received: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            received.append(body)
            with_answer = answers[min(len(received), len(answers)) - 1]
            with suppress(OSError):  # the model may give up on a slow answer
                with_answer(self, json.loads(body)["instances"])

        def log_message(self, *args: object) -> None: ...

    with services.serving(Handler) as address:
        yield f"{address}/predict", received


def send(body: object, status: int = 200, **headers: str) -> Answer:
    def answer(handler: BaseHTTPRequestHandler, instances: list[dict]) -> None:
        content = body(instances) if callable(body) else body
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)

    return answer


def verdict_of_each(instances: list[dict]) -> dict:
    return {"predictions": ["good" if one["income"] > 3 else "bad" for one in instances]}


def hang(handler: BaseHTTPRequestHandler, instances: list[dict]) -> None:
    time.sleep(5)


def drip_body(handler: BaseHTTPRequestHandler, instances: list[dict]) -> None:
    handler.send_response(200)
    handler.end_headers()
    for _ in range(250):
        handler.wfile.write(b" ")
        time.sleep(0.02)


def drip_headers(handler: BaseHTTPRequestHandler, instances: list[dict]) -> None:
    for byte in b"HTTP/1.0 200 OK\r\nX: " + b"x" * 230:
        handler.wfile.write(bytes([byte]))
        time.sleep(0.02)


def cut_off(handler: BaseHTTPRequestHandler, instances: list[dict]) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b"[1, ")


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")


GOOD = send(verdict_of_each)


def test_a_batch_is_one_request():
    people = table(2500)
    with serving(GOOD) as (url, received):
        model = adapt(url)
        assert (model.name, model.batch, model.classes) == (url, 1000, None)
        assert model.labels(people).tolist() == verdict_of_each(people.to_dict("records"))["predictions"]
    assert len(received) == 1


def test_a_service_receives_plain_json():
    people = pd.DataFrame(
        {
            "int": np.array([1, 2], dtype="int8"),
            "float": np.array([0.5, np.nan], dtype="float32"),
            "bool": [True, False],
            "text": ["é", None],
            "category": pd.Categorical(["a", None]),
            "nullable": pd.array([3, None], dtype="Int64"),
            "day": pd.to_datetime(["2024-02-29", None]),
        }
    )
    with serving(send([1, 2])) as (url, received):
        assert adapt(url).scores(people, {"1"}).tolist() == [1.0, 2.0]
    first = {"int": 1, "float": 0.5, "bool": True, "text": "é", "category": "a", "nullable": 3}
    nothing = dict.fromkeys(("float", "text", "category", "nullable", "day"))
    assert json.loads(received[0]) == {
        "instances": [{**first, "day": "2024-02-29T00:00:00"}, {"int": 2, "bool": False, **nothing}]
    }


def test_a_value_that_json_cannot_hold():
    with pytest.raises(ModelError, match="column 'income' holds inf, which JSON cannot"):
        HttpModel("http://127.0.0.1:1").labels(pd.DataFrame({"income": [1.0, np.inf]}))


def test_numbers_of_a_service_are_scores_and_labels_are_not():
    with serving(send({"predictions": [0.5, 1, None]}), send(["good", "bad", "bad"])) as (url, _):
        model = adapt(url)
        np.testing.assert_array_equal(model.scores(table(3), {"1"}), [0.5, 1, np.nan])
        with pytest.raises(ModelError, match=r"gives labels \(such as 'good'\)"):
            model.scores(table(3), {"good"})


def test_headers_are_sent():
    seen = []

    def answer(handler: BaseHTTPRequestHandler, instances: list[dict]) -> None:
        seen.append((handler.headers["Authorization"], handler.headers["Content-Type"]))
        GOOD(handler, instances)

    with serving(answer) as (url, _):
        HttpModel(url, headers={"Authorization": "Bearer x"}).labels(table(1))
    assert seen == [("Bearer x", "application/json")]


@pytest.mark.parametrize("trouble", [send({}, 500), send({}, 503), cut_off])
def test_transient_failures_are_retried_with_backoff(trouble):
    waits: list[float] = []
    with serving(trouble, trouble, GOOD) as (url, received):
        labels = HttpModel(url, sleep=waits.append).labels(table(4))
    assert len(labels) == 4
    assert len(received) == 3
    assert waits == [0.5, 1.0]


@pytest.mark.parametrize(("asked_for", "waits"), [("7", 7.0), ("3600", 30.0), ("Wed, 21 Oct 2015 07:28:00 GMT", 0.5)])
def test_a_service_that_is_too_busy_says_how_long_to_wait(asked_for, waits):
    waited: list[float] = []
    with serving(send({}, 429, Retry_After=asked_for), GOOD) as (url, received):
        HttpModel(url, sleep=waited.append).labels(table(1))
    assert len(received) == 2
    assert waited == [waits]


def test_lasting_failures_are_reported():
    message = "gave no response in 3 attempts; the last: HTTP 500: .*out of memory"
    with serving(send({"error": "out of memory"}, 500)) as (url, received), pytest.raises(ModelError, match=message):
        HttpModel(url, retries=2, sleep=lambda _: None).labels(table(1))
    assert len(received) == 3


def test_nobody_listens():
    with serving(GOOD) as (url, _):
        pass
    with pytest.raises(ModelError, match="in 2 attempts; the last: ConnectionRefusedError"):
        HttpModel(url, retries=1, sleep=lambda _: None).labels(table(1))


@pytest.mark.parametrize("slow", [hang, drip_body, drip_headers])
def test_a_slow_service_is_given_up_in_time(slow):
    with serving(slow) as (url, received):
        start = time.monotonic()
        with pytest.raises(ModelError, match=r"in 2 attempts; the last: no response within 0.15 s"):
            HttpModel(url, timeout=0.15, retries=1, sleep=lambda _: None).labels(table(1))
        assert 0.25 < time.monotonic() - start < 2
    assert len(received) == 2


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"<html><body>Welcome</body></html>", "not JSON: '<html><body>Welcome"),
        (b"\xff\xfe\x00", "not JSON"),
        (b"", "not JSON: ''"),
        (b'{"predictions": [1e999]}', "not JSON: '.*1e999"),
        (b'{"predictions": [-Infinity]}', "not JSON: '.*Infinity"),
        (b"[" * 300 + b"]" * 300, "not JSON"),
        (b"[" * 100_000, "not JSON: '" + r"\[" * 80 + "'$"),
        ({"error": "no such model"}, "without a list of predictions: .*no such model"),
        ({"predictions": "good"}, "without a list of predictions"),
        (3, "without a list of predictions: '3'"),
        (None, "without a list of predictions"),
        ({"predictions": [[0.1, 0.9]]}, r"not one label or number each; .* HttpModel\(url, classes="),
        ({"predictions": [[0.1, 0.9], 1]}, "not one label or number each"),
        ({"predictions": [[0.1, "x"]]}, "probabilities that are not numbers"),
        ([{"label": "good", "score": 1}], "not one label or number each"),
    ],
)
def test_invalid_responses_are_shown_and_not_retried(body, message):
    with serving(send(body)) as (url, received), pytest.raises(ModelError, match=message):
        adapt(url).labels(table(1))
    assert len(received) == 1


def test_a_huge_answer_is_refused(monkeypatch):
    monkeypatch.setattr(models_http, "MAX_BODY_BYTES", 2**20)
    message = "response of more than 1 MB: 'xxx"
    with serving(send(b"x" * (2**20 + 1))) as (url, received), pytest.raises(ModelError, match=message):
        adapt(url).labels(table(1))
    assert len(received) == 1


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (send({"error": "no route"}, 404), "refused the query with HTTP 404: .*no route"),
        (send({}, 422), "refused the query with HTTP 422"),
        (send({}, 302, Location="http://127.0.0.1:9/new"), r"redirects to http://127.0.0.1:9/new \(HTTP 302\)"),
        (send({}, 308, Location="/new"), r"redirects to /new \(HTTP 308\)"),
    ],
)
def test_a_refusal_or_redirect_is_final(answer, message):
    with serving(answer) as (url, received), pytest.raises(ModelError, match=message):
        adapt(url).labels(table(1))
    assert len(received) == 1


@pytest.mark.parametrize("url", ["ftp://host/x", "file:///etc/passwd", "http://", "http://host:port/", "http://a b/"])
def test_what_is_not_an_address(url):
    with pytest.raises(ModelError, match="is not an http:// or https:// address"):
        HttpModel(url)


def test_a_host_that_cannot_be():
    with pytest.raises(ModelError, match=r"http://a\.\.b/ cannot be queried"):
        HttpModel("http://a..b/").labels(table(1))


def test_control_characters_of_a_service_do_not_reach_a_terminal():
    body = "\x1b[2J\x9b1m\u202eevil"
    with serving(send(body.encode(), 404)) as (url, _), pytest.raises(ModelError) as raised:
        adapt(url).labels(table(1))
    assert str(raised.value).endswith("'\\x1b[2J\\x9b1m\\u202eevil'")
    with serving(send({}, 302, Location="/new\x1b[2J\x07")) as (url, _), pytest.raises(ModelError) as raised:
        adapt(url).labels(table(1))
    assert "redirects to /new\ufffd[2J\ufffd (HTTP 302)" in str(raised.value)


def test_control_characters_of_a_models_exception_do_not_reach_a_terminal(folder):
    def fail(people):
        raise ValueError("\x1b]0;evil\x07 over\rwritten\nsecond line\r\nthird")

    with pytest.raises(ModelError) as raised:
        adapt(fail).labels(table(2))
    message = "model 'fail' failed on 2 rows: ValueError: \ufffd]0;evil\ufffd over\ufffdwritten\nsecond line\nthird"
    assert str(raised.value) == message
    (folder / "evil.py").write_text("raise ImportError('\\x1b[31mred')")
    with pytest.raises(ModelError) as raised:
        adapt("evil:model")
    assert "ImportError: \ufffd[31mred" in str(raised.value)


def test_long_or_broken_exceptions_are_shortened():
    class Broken(Exception):
        def __str__(self):
            raise RuntimeError

    def fail(people):
        raise (Broken() if people["income"].iloc[0] else ValueError("x" * 10_000_000))

    frame = table(1)
    with pytest.raises(ModelError, match=r"x…$") as raised:
        adapt(fail).labels(frame.assign(income=0))
    assert len(str(raised.value)) < 3_000
    with pytest.raises(ModelError, match=r"Broken: \(its message cannot be read\)"):
        adapt(fail).labels(frame.assign(income=1))


def test_masked_arrays_are_refused():
    masked = np.ma.masked_array([0.1, 0.9], mask=[False, True])
    with pytest.raises(ModelError, match="gave a masked array; fill in the masked values"):
        adapt(lambda people: masked).labels(table(2))

    class Estimator:
        classes_ = ("bad", "good")

        def predict(self, people):
            return np.ma.masked_array(["good", "bad"])

        def predict_proba(self, people):
            return np.ma.masked_array([[0.1, 0.9], [0.2, 0.8]], mask=[[False, False], [True, True]])

    with pytest.raises(ModelError, match="gave a masked array"):  # even if nothing is masked in this call
        adapt(Estimator()).labels(table(2))
    with pytest.raises(ModelError, match="gave a masked array"):
        adapt(Estimator()).scores(table(2), {"good"})


def test_secrets_stay_out_of_messages():
    assert HttpModel("http://host/predict?key=secret").name == "http://host/predict"
    with pytest.raises(ModelError, match="headers=") as raised:
        HttpModel("http://me:secret@host/")
    assert "secret" not in str(raised.value)
    with pytest.raises(ModelError, match="header 'Authorization' has a character that cannot be sent") as raised:
        HttpModel("http://host/", headers={"Authorization": "Bearer secret\n"})
    assert "secret" not in str(raised.value)
