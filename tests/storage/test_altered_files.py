"""Files that a stranger altered, with a hash that fits: they load and can be used, or a StorageError says why not."""

from __future__ import annotations

import copy
import gzip
import io
import json
import math
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

import worlds
from counterplan import BlackBox, StorageError, benchmarks
from counterplan.agent import Agent, load_agent, save_agent
from counterplan.agent.network import NetworkConfig
from counterplan.search.change_sets import Hints
from counterplan.storage import serialization
from counterplan.storage.answer_cache import LabelledStates
from counterplan.storage.arrays import ArraySpec, read_arrays, validate_arrays, write_arrays
from counterplan.surrogate import Surrogate, load_surrogate, save_surrogate

pytest.importorskip("jax")
from counterplan.agent.training import AgentTrainer
from counterplan.surrogate.active_learning import ActiveLearner, LearningSettings
from counterplan.surrogate.fitting import FitSettings, fit
from quick import FIT, TRAINING

PROBLEM = worlds.benchmark("syn")
STATES = PROBLEM.read(worlds.random_people(PROBLEM, 1, 400)).states
STRANGE: list[Any] = [
    *(None, True, "x", "", -1, 0, 1, 7, 2**31, 2**63, 10**30, 10**400, 0.5, -0.5, 1e300, math.inf, -math.inf),
    *([], {}, [[]], [1], ["x"], {"x": 1}, [math.inf], [None], ["nan"], ["-1"]),
]


def altered_facts(facts: Any) -> Iterator[Any]:
    """`facts` with one part removed, or replaced by a third of `STRANGE`, the next part by the next third.

    Of a list, the first two and the last item.
    """
    for number, path in enumerate(_paths(facts)):
        for value in STRANGE[number % 3 :: 3]:
            changed = copy.deepcopy(facts)
            _parent(changed, path)[path[-1]] = value
            yield changed
        changed = copy.deepcopy(facts)
        del _parent(changed, path)[path[-1]]
        yield changed


def _paths(data: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    keys = list(data) if isinstance(data, dict) else sorted({0, 1, len(data) - 1} & {*range(len(data))})
    for key in keys:
        yield (*at, key)
        if isinstance(data[key], (dict, list)):
            yield from _paths(data[key], (*at, key))


def _parent(data: Any, path: tuple[Any, ...]) -> Any:
    for key in path[:-1]:
        data = data[key]
    return data


def altered_arrays(arrays: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """`arrays` with one removed, added, or of another dtype, shape or content."""
    yield arrays | {"unknown": np.zeros(3)}
    yield {}
    for name, array in arrays.items():
        yield {key: value for key, value in arrays.items() if key != name}
        with np.errstate(all="ignore"):
            others = [array.astype(kind) for kind in (np.float64, np.float32, np.float16, np.int64, np.uint8, bool)]
        others += [array.ravel(), array[None], array.T, np.zeros((), array.dtype), np.zeros(0, array.dtype)]
        if array.ndim:
            others += [array[:-1], np.concatenate([array, array[-1:]]), array[:0], np.zeros_like(array)]
        if array.dtype != bool:
            full = np.iinfo(array.dtype).max if array.dtype.kind in "iu" else np.finfo(array.dtype).max
            others += [np.full_like(array, full), np.full_like(array, -full if array.dtype.kind != "u" else 1)]
        if array.dtype.kind == "f":
            others += [np.full_like(array, np.nan), np.full_like(array, np.inf)]
        for other in others:
            yield arrays | {name: np.ascontiguousarray(other)}


def error_of(load: Callable[[], None]) -> StorageError | None:
    """The StorageError that `load` raises, if any; every other error is a failure of the test."""
    try:
        load()
    except StorageError as error:
        return error
    return None


def damaged_loads(folder: Path, kind: str, load: Callable[[], None]) -> tuple[int, int]:
    """Load every alteration of an artifact; returns how many were loaded and how many refused."""
    weights_file, facts_file = serialization.artifact_files(kind)
    facts = json.loads((folder / facts_file).read_text())
    weights = (folder / weights_file).read_bytes()
    arrays = safetensors.numpy.load(weights)
    loaded = refused = 0
    cases = [(changed, arrays) for changed in altered_facts(facts)]
    cases += [(facts, changed) for changed in altered_arrays(arrays)]
    for changed_facts, changed_arrays in cases:
        raw = weights if changed_arrays is arrays else safetensors.numpy.save(changed_arrays)
        changed = {key: value for key, value in changed_facts.items() if key != "check"}
        changed["check"] = serialization._checksum(changed, raw)
        (folder / weights_file).write_bytes(raw)
        (folder / facts_file).write_text(json.dumps(changed))
        error = error_of(load)
        assert error is None or str(folder) in str(error)
        loaded, refused = loaded + (error is None), refused + (error is not None)
    return loaded, refused


@pytest.fixture(scope="module")
def surrogate() -> Surrogate:
    settings = FitSettings(members=2, hidden=(4, 4), steps=3, refit_steps=2, trees=4)
    made = fit(PROBLEM, STATES, STATES[:, 0] > np.nanmedian(STATES[:, 0]), settings, seed=1)
    plans = np.full((2, PROBLEM.max_actions), -1, np.intp)
    return replace(made, hints=Hints(STATES[:3], plans))


def test_an_altered_surrogate_predicts_or_is_refused(surrogate: Surrogate, tmp_path: Path) -> None:
    save_surrogate(surrogate, tmp_path)

    def load() -> None:
        with np.errstate(all="ignore"):
            read = load_surrogate(tmp_path, PROBLEM)
            for parts in ("networks", "trees", "both"):
                assert read.with_parts(parts)(STATES[:9]).shape == (9,)
                rows, logits = read.with_parts(parts).held_out(STATES[:9])
                assert rows.shape == logits.shape

    load()
    loaded, refused = damaged_loads(tmp_path, "surrogate", load)
    assert refused > 100, (loaded, refused)


def test_an_altered_agent_predicts_or_is_refused(tmp_path: Path) -> None:
    people = PROBLEM.read(worlds.random_people(PROBLEM, 1, 50))
    save_agent(Agent.new(PROBLEM, people, NetworkConfig(4, 4), np.random.default_rng(1)), tmp_path)

    def load() -> None:
        with np.errstate(all="ignore"):
            read = load_agent(tmp_path, PROBLEM)
            legal = np.ones((9, len(PROBLEM.transitions)), bool)
            policy, value, _ = read(STATES[:9], read.start(9), legal)
            assert policy.shape == legal.shape
            assert value.shape == (9,)

    load()
    loaded, refused = damaged_loads(tmp_path, "agent", load)
    assert refused > 100, (loaded, refused)


def few(cases: list[Any], most: int) -> list[Any]:
    """About `most` of `cases`, from all over the list."""
    return cases[:: max(1, len(cases) // most)]


@pytest.mark.parametrize("kind", ["learning", "training"])
def test_an_altered_checkpoint_resumes_or_is_refused(kind: str, tmp_path: Path) -> None:
    syn = benchmarks.load("syn")
    people = syn.problem.read(syn.refused_train.head(60))
    if kind == "learning":
        fitting = replace(FIT, steps=3, refit_steps=2, trees=4)
        settings: Any = LearningSettings(people=30, validation=10, budget=200, fit=fitting)
        run: Any = ActiveLearner(syn.problem, people, BlackBox(syn.model), settings, 1, tmp_path)
    else:
        settings = replace(TRAINING, people=30, validation=10, budget=200, max_refusals=8)
        run = AgentTrainer(syn.problem, people, BlackBox(syn.model), settings, 1, tmp_path)
    run.advance()
    run.save()
    path = tmp_path / f"{kind}.npz"
    original = path.read_bytes()
    arrays, facts = read_arrays(path)

    def resume() -> None:
        read = type(run).resumed(syn.problem, people, BlackBox(syn.model), settings, 1, tmp_path)
        with np.errstate(all="ignore"):
            if kind == "learning":
                assert read.best(people.states).shape == (len(people),)
            else:
                legal = np.ones((len(people), len(syn.problem.transitions)), bool)
                read.best_agent(people.states, read.best_agent.start(len(people)), legal)

    resume()
    cases = [(arrays, changed) for changed in few(list(altered_facts(facts)), 40)]
    cases += [(changed, facts) for changed in few(list(altered_arrays(arrays)), 60)]
    refused = 0
    for changed_arrays, changed_facts in cases:
        write_arrays(path, changed_arrays, changed_facts)
        error = error_of(resume)
        assert error is None or str(path) in str(error)
        refused += error is not None
    assert refused > len(cases) / 3
    path.write_bytes(original)
    resume()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda raw: b"",
        lambda raw: raw[:100],
        lambda raw: raw[: len(raw) // 2],
        lambda raw: raw[:-10],
        lambda raw: b"PK\x05\x06" + bytes(18),
        lambda raw: raw.replace(b"'shape': (3,)", b"'shape': (9,)"),
        lambda raw: raw.replace(b"'shape': (3,), }", b"'shape': (10**15,)}"),
        lambda raw: raw.replace(b"'<f8'", b"'|O8'"),
        lambda raw: _compressed(np.zeros(50_000_000)),
    ],
    ids=["empty", "head", "half", "tail", "nothing", "larger", "senseless", "objects", "bomb"],
)  # fmt: skip
def test_a_spoiled_file_of_arrays_is_refused(tmp_path: Path, spoil: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "arrays.npz"
    write_arrays(path, {"a": np.arange(3.0)}, {"facts": 1})
    arrays, facts = read_arrays(path)
    assert (arrays["a"].tolist(), facts) == ([0, 1, 2], {"facts": 1})
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(StorageError, match=r"arrays\.npz: the file is damaged"):
        read_arrays(path)


def _compressed(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, a=array, facts=np.frombuffer(b"{}", np.uint8))
    return buffer.getvalue()


def test_arrays_that_overlap_are_refused(tmp_path: Path) -> None:
    """Many entries of a .zip that point to the same data would be many times as large as the file."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a.npy", bytes(100_000))
        info = archive.infolist()[0]
        for i in range(50):
            other = copy.copy(info)
            other.filename = f"{i}.npy"
            archive.filelist.append(other)
            archive.NameToInfo[other.filename] = other
        archive._didModify = True  # type: ignore[attr-defined]
    (tmp_path / "arrays.npz").write_bytes(buffer.getvalue())
    with pytest.raises(StorageError, match="damaged"):
        read_arrays(tmp_path / "arrays.npz")


def test_answers_that_unpack_to_far_more_than_they_are_refused(tmp_path: Path) -> None:
    syn = benchmarks.load("syn")
    box = BlackBox(syn.model)
    box.favourable(syn.problem, syn.test.head(5))
    answers = LabelledStates.from_cache(box, syn.problem)
    head = answers.head(syn.problem) + answers.rows(syn.problem, header=True)
    path = tmp_path / "answers.csv.gz"
    with gzip.open(path, "wb") as file:
        file.write(head.encode())
        for _ in range(150):
            file.write(bytes(1_000_000))
    assert path.stat().st_size < 300_000
    with pytest.raises(StorageError, match="unpacks to more than"):
        LabelledStates.load(path, syn.problem)


def test_validation_says_what_is_wrong() -> None:
    spec = {"a": ArraySpec(float, ("n", 2), finite=True), "b": ArraySpec(np.int64, ("n",), low=0, high=5)}
    good = {"a": np.zeros((3, 2)), "b": np.zeros(3, np.int64)}
    assert validate_arrays(good, spec) == {"n": 3}
    for changed, message in [
        ({"a": np.zeros((3, 2))}, "'b' is missing"),
        (good | {"c": np.zeros(1)}, "unknown array 'c'"),
        (good | {"a": np.zeros((3, 2), np.float32)}, "'a' has dtype float32, expected float64"),
        (good | {"a": np.zeros((3, 3))}, r"'a' has shape \(3, 3\)"),
        (good | {"b": np.zeros(4, np.int64)}, "'b' has shape"),
        (good | {"b": np.zeros((), np.int64)}, "'b' has shape"),
        (good | {"a": np.full((3, 2), np.nan)}, "not finite"),
        (good | {"b": np.array([0, 0, 6])}, "above 5"),
        (good | {"b": np.array([0, 0, -1])}, "below 0"),
    ]:
        with pytest.raises(ValueError, match=message):
            validate_arrays(changed, spec)
