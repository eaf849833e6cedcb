"""The write-ahead log: every answer is in the file before the call that delivered it returns."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from counterplan import BlackBox, Problem, StorageError, benchmarks
from counterplan.blackbox import Answer
from counterplan.storage.answer_cache import LabelledStates
from counterplan.storage.write_ahead import FILE, WriteAheadLog
from loans import LOAN, MANY, MODEL

TRAINING = """
import os, signal
from pathlib import Path
import pandas as pd
from counterplan import BlackBox, Problem
from counterplan.storage.write_ahead import WriteAheadLog
import bank

problem = Problem.load("loan.yaml")
box = BlackBox(bank.decide)
log = WriteAheadLog(problem, box.model_id, Path("."))
many = pd.read_csv("many.csv")
with box.recording(log):
    for shift in range(5):
        box.favourable(problem, many.assign(income=many["income"] + shift))
    print(box.queries, flush=True)
    # A training step that is long and gives no other thread a chance to run.
    os.kill(os.getpid(), signal.SIGSTOP)
"""


def test_kill_9_in_a_training_right_after_queries_loses_no_answer(tmp_path: Path) -> None:
    (tmp_path / "loan.yaml").write_text(LOAN)
    (tmp_path / "bank.py").write_text(MODEL)
    MANY.to_csv(tmp_path / "many.csv", index=False)
    process = subprocess.Popen(
        [sys.executable, "-c", TRAINING], cwd=tmp_path, stdout=subprocess.PIPE, text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])},
    )  # fmt: skip
    assert process.stdout is not None
    queries = int(process.stdout.readline())
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert queries == 5 * len(MANY)
    assert len(LabelledStates.load(tmp_path / FILE, Problem.load(tmp_path / "loan.yaml"))) == queries


def test_a_log_that_cannot_be_written_is_an_error_only_if_it_is_required(tmp_path: Path) -> None:
    problem = benchmarks.load("syn").problem
    (tmp_path / FILE).mkdir()
    answers = {problem.read(benchmarks.load("syn").test.head(1)).states.tobytes(): Answer(True, 0.75)}
    with pytest.raises(StorageError, match="cannot be written"):
        WriteAheadLog(problem, "model", tmp_path)(problem.query_fingerprint, answers)
    log = WriteAheadLog(problem, "model", tmp_path, required=False)
    log(problem.query_fingerprint, answers)
    assert log.path is None
    assert log.known == answers


def test_rows_are_those_of_pandas() -> None:
    german = benchmarks.load("german")
    box = BlackBox(german.model)
    box.favourable(german.problem, german.test)
    answers = LabelledStates.from_cache(box, german.problem)
    strange = LabelledStates(answers.states, answers.favourable, ('a,"b"\n', *answers.extras[1:]), "m")
    for labelled in (answers, strange):
        text = labelled.rows(german.problem, header=True)
        table = pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=False)
        assert table.to_csv(index=False, lineterminator="\n") == text
        assert np.array_equal(table["counterplan: favourable"] == "1", labelled.favourable)
