"""Broken versions of the five benchmark files: whatever is wrong with a file, the user reads a message."""

import contextlib
import re
from random import Random

import pytest

from counterplan.errors import ProblemError
from counterplan.problem import Problem, check
from worlds import BENCHMARKS, benchmark_file

JUNK = [
    "~", "null", "no", "on", "true", "True", "-1", "-1e9", "1e400", "-.inf", ".nan", "NaN", "0x1F", "007", "1_000",
    "99999999999999999999999999", "0", "1.5", "''", '""', "[]", "{}", "[[[[]]]]", "{a: {b: {c: 1}}}", "!!python/none x",
    "*nobody", "&me", "@", "%", "`", "'", '"', "|", ">", "? x", "- x", "<<: x", "a: b: c", "[1, 2", "{a", "\t", "\x00",
    "\u2028", "\ufeff", "ß", "💥", '"\\ud800"', '"\\UFFFFFFFF"', "argument", "STOP", "kind", "all", "auto", "a=b",
    "x" * 5000, "(" * 200, "not " * 100, "1" + "+1" * 2000, "income / 0 > 1", "__import__('os')", "`", "argument > job",
]  # fmt: skip
KEYS = ["kind", "values", "set", "add", "arguments", "when", "cost", "base", "from", "to", "scale", "table", "outcome"]


def scalars(text):
    """Where each scalar of a file stands, more or less."""
    return [match.span() for match in re.finditer(r"[^\s\[\]{},:#'\"]+", text)]


def delete_line(random, lines):
    del lines[random.randrange(len(lines))]


def repeat_line(random, lines):
    lines.insert(random.randrange(len(lines)), random.choice(lines))


def swap_lines(random, lines):
    a, b = random.randrange(len(lines)), random.randrange(len(lines))
    lines[a], lines[b] = lines[b], lines[a]


def indent_line(random, lines):
    at = random.randrange(len(lines))
    lines[at] = lines[at].lstrip(" ") if random.random() < 0.5 else random.choice([" ", "  ", "\t"]) + lines[at]


def junk_scalar(random, lines):
    text = "\n".join(lines)
    start, end = random.choice(scalars(text))
    lines[:] = (text[:start] + random.choice(JUNK) + text[end:]).split("\n")


def swap_scalars(random, lines):
    text = "\n".join(lines)
    (a, b), (c, d) = sorted(random.sample(scalars(text), 2))
    lines[:] = (text[:a] + text[c:d] + text[b:c] + text[a:b] + text[d:]).split("\n")


def rename_key(random, lines):
    at = random.choice([i for i, line in enumerate(lines) if ":" in line])
    key = random.choice([*KEYS, *JUNK])
    lines[at] = re.sub(r"[\w?\"-]+:", lambda match: f"{key}:", lines[at], count=1)


def cut_off(random, lines):
    text = "\n".join(lines)
    lines[:] = text[: random.randrange(len(text))].split("\n")


def nest(random, lines):
    at = random.choice([i for i, line in enumerate(lines) if ":" in line])
    depth = random.choice([3, 30, 500])
    opening, closing = random.choice([("[", "]"), ("{a: ", "}"), ("- ", "")])
    lines[at] = lines[at].split(":")[0] + ": " + opening * depth + "x" + closing * depth


def repeat_block(random, lines):
    at = random.randrange(len(lines))
    lines[at:at] = lines[at : at + random.randint(2, 10)]


CHANGES = [
    delete_line, repeat_line, swap_lines, indent_line, junk_scalar, junk_scalar, junk_scalar, swap_scalars,
    swap_scalars, rename_key, cut_off, nest, repeat_block,
]  # fmt: skip


def mutated(name, seed):
    """The bytes of a benchmark file after one to three accidents."""
    random = Random(f"{name} {seed}")
    lines = benchmark_file(name).read_text("utf-8").split("\n")
    for _ in range(random.choice([1, 1, 2, 3])):
        if len(lines) > 5:
            random.choice(CHANGES)(random, lines)
    raw = bytearray("\n".join(lines).encode("utf-8", "surrogatepass"))
    if random.random() < 0.1:
        at = random.randrange(len(raw))
        raw[at:at] = random.randbytes(random.randint(1, 20))
    return bytes(raw)


@pytest.mark.parametrize("name", BENCHMARKS)
def test_whatever_happens_to_a_file_its_user_reads_a_message(tmp_path, name):
    path = tmp_path / "broken.yaml"
    broken = 0
    for seed in range(40):
        path.write_bytes(mutated(name, seed))
        problem, findings = check(path)
        errors = [finding for finding in findings if finding.severity == "error"]
        assert (problem is None) == bool(errors), seed
        for finding in findings:
            assert finding.message.strip(), seed
            finding.text(str(path)).encode()
        with pytest.raises(ProblemError) if errors else contextlib.nullcontext() as caught:
            Problem.load(path)
        if errors:
            assert len(str(caught.value).splitlines()) >= 1
            assert str(path) in str(caught.value)
            broken += 1
        else:
            assert problem.fingerprint == Problem.from_dict(problem.to_dict()).fingerprint
    assert 20 < broken < 40
