"""Write parts of a problem file: texts, numbers and lists in YAML, and names of functions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence

from counterplan.problem.conditions import Node
from counterplan.problem.scalars import scalar
from counterplan.problem.values import text_of

LONGEST_TEXT = 1_000
"""The limit of YAML keys is slightly above."""
_PLAIN = re.compile(r"[-+.<]?\w([\w .+/<>=%€$()&'!`-]*[\w.+/<>=%€$)'`-])?")


def commented(first: str, *more: str) -> list[str]:
    """The lines of a mapping, commented out."""
    return [f"  # {first}", *(f"  #   {line}" for line in more)]


def sorted_values(values: Iterable[str]) -> list[str]:
    """Sort numbers by size, then texts alphabetically."""
    texts = sorted(values)
    numbers = [text for text in texts if re.fullmatch(r"-?[0-9]{1,300}(\.[0-9]+)?", text)]
    return sorted(numbers, key=float) + [text for text in texts if text not in numbers]


def values_lines(values: Sequence[str], indent: str) -> list[str]:
    """The values of a category, in one line if it is short."""
    written = [yaml_scalar(value) for value in values]
    line = f"{indent}values: [{', '.join(written)}]"
    return [line] if len(line) <= 100 else [f"{indent}values:", *(f"{indent}  - {value}" for value in written)]


def number_text(number: float) -> str:
    """A number in YAML and in conditions; whole ones without a point."""
    return str(int(number)) if float(number).is_integer() else repr(float(number))


def yaml_scalar(text: str) -> str:
    """Write `text` in YAML: plain if that reads back the same, otherwise in double quotes."""
    return (
        text if _PLAIN.fullmatch(text) and text.isprintable() and text_of(scalar(text)) == text else yaml_quoted(text)
    )


def yaml_quoted(text: str) -> str:
    """Write `text` in YAML in double quotes."""
    codes = [(letter, ord(letter)) for letter in json.dumps(text, ensure_ascii=False)]
    return "".join(c if c.isprintable() else f"\\u{n:04x}" if n < 0x10000 else f"\\U{n:08x}" for c, n in codes)


def is_writable(text: str) -> bool:
    """Whether `text` can be a key or a value of a problem file."""
    return len(yaml_scalar(text)) <= LONGEST_TEXT and not re.search("[\ud800-\udfff]", text)


def shortened(text: str) -> str:
    """`text` for a comment, in one line, cut if it is long."""
    return yaml_scalar(text if len(text) <= 60 else text[:59] + "…")


def name_in_condition(name: str) -> str:
    """The name of a feature as conditions write it."""
    return str(Node("name", (name,)))


def constant_case(name: str) -> str:
    """The name of a feature as part of the name of a function."""
    return re.sub(r"\W+", "_", name).strip("_").upper()[:40] or "IT"


def plain_words(name: str) -> str:
    """The name of a feature as words for applicants."""
    return re.sub(r"[\s_{}]+", " ", name).strip() or "it"
