"""The fast tier of `make check`, and the CPU times that every run prints."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_slow_tests_exist() -> None:
    lines = (ROOT / "tests" / "slow.txt").read_text("utf-8").splitlines()
    assert lines == sorted(set(lines))
    for line in lines:
        file, _, test = line.partition("::")
        assert (ROOT / file).is_file(), f"{line}: no such file; run 'make slow'"
        assert f"def {test}(" in (ROOT / file).read_text("utf-8") or not test, f"{line}: no such test; run 'make slow'"


def test_a_run_prints_cpu_times_and_sends_each_file_to_one_worker() -> None:
    files = [f"tests/search/{name}.py" for name in ("test_probes", "test_synthetic")]
    words = [sys.executable, "-m", "pytest", "-vv", "-n", "2", "--cpu-goal", "0.01", *files]
    ran = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout
    assert "CPU time by file" in ran.stdout
    total = re.search(r"([\d.]+) s  in all, MORE THAN 0 s", ran.stdout)
    assert total is not None, ran.stdout
    assert float(total[1]) > 0
    for file in files:
        workers = re.findall(rf"\[(gw\d)\].* PASSED {file}", ran.stdout)
        assert len(workers) > 1
        assert len(set(workers)) == 1
