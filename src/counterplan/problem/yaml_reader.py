"""Read a YAML problem file as plain data, with the line of every location in it.

Python objects, tags and merge keys are not part of a problem file. Lines are limited before the text is parsed, and
texts, nodes and nesting while it is, so that a large file is refused before it costs much time or memory.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from counterplan.problem import limits
from counterplan.problem.scalars import scalar
from counterplan.problem.source import (
    LimitExceeded,
    Location,
    Source,
    TooManyFindings,
    too_deep,
    too_long,
    too_many_nodes,
)

_SURROGATE = re.compile("[\ud800-\udfff]")
_USUAL_TAGS = {f"tag:yaml.org,2002:{kind}" for kind in ("str", "seq", "map")}


def read_source(path: str | Path) -> Source:
    """Read a problem file; whatever is wrong with it as YAML is in `findings`."""
    source = Source(str(path))
    try:
        if Path(path).exists() and not Path(path).is_file() and not Path(path).is_dir():
            source.report("this is not a regular file")
            return source
        with open(path, "rb") as file:
            raw = file.read(limits.MAX_FILE_BYTES + 1)
        if len(raw) > limits.MAX_FILE_BYTES:
            source.report(f"a problem file has at most {limits.MAX_FILE_BYTES:,} bytes, and this one has more")
            return source
        text = raw.decode("utf-8-sig")
    except FileNotFoundError:
        source.report("there is no such file")
    except IsADirectoryError:
        source.report("this is a directory, not a file")
    except UnicodeDecodeError as error:
        source.report(f"the file is not UTF-8 text (byte {error.start})")
    except (OSError, ValueError) as error:
        source.report(f"the file cannot be read: {getattr(error, 'strerror', None) or error}")
    else:
        parse_yaml(text, source)
    return source


def parse_yaml(text: str, source: Source) -> None:
    """Fill `source` from YAML text."""
    try:
        _check_lines(text)
        root = yaml.compose(text, Loader=_BoundedLoader)
        if root is None:
            source.report("the file is empty")
        else:
            source.data = _DataBuilder(source).build(root, ())
    except LimitExceeded as error:
        source.data = None
        source.report(str(error), error.location, line=error.line)
    except TooManyFindings:
        source.data = None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        parts = [error.problem or "cannot be read", error.context or ""]
        if not parts[1].startswith("while"):  # "expected a single document", "but found another"
            parts.reverse()
        source.report(f"not YAML: {' '.join(parts).strip()}", line=mark.line + 1 if mark else None)
    except yaml.YAMLError as error:
        source.report("not YAML: " + " ".join(str(error).split())[:200])
    except (ValueError, OverflowError):
        source.report('not YAML: a "\\U…" in double quotes stands for no character')
    except RecursionError:
        source.report("not YAML: nested too deeply")


def _check_lines(text: str) -> None:
    """Raise `LimitExceeded` if there are too many lines, or one with a text that is too long with its key."""
    most = 2 * limits.MAX_TEXT_LENGTH
    lines = text.splitlines()
    if len(lines) > limits.MAX_LINES:
        message = f"a problem file has at most {limits.MAX_LINES:,} lines, and this one has {len(lines):,}"
        raise LimitExceeded(message, line=limits.MAX_LINES + 1)
    for number, line in enumerate(lines, 1):
        if len(line) > most and max(map(len, line.split(","))) > most:
            raise too_long(line=number)


class _BoundedLoader(yaml.BaseLoader):
    """Counts nodes and their nesting while they are composed, and characters while a text is scanned."""

    def __init__(self, stream: Any) -> None:
        super().__init__(stream)
        self._nodes = 0
        self._depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        self._nodes += 1
        self._depth += 1
        if self._nodes > limits.MAX_NODES or self._depth > limits.MAX_DEPTH + 1:
            line = self.peek_event().start_mark.line + 1  # type: ignore[no-untyped-call]
            raise (too_many_nodes if self._nodes > limits.MAX_NODES else too_deep)(line=line)
        node: yaml.Node | None = super().compose_node(parent, index)
        self._depth -= 1
        return node

    def scan_flow_scalar_spaces(self, double: bool, start_mark: yaml.Mark) -> list[Any]:
        self._check_length(start_mark)
        return super().scan_flow_scalar_spaces(double, start_mark)

    def scan_plain_spaces(self, indent: int, start_mark: yaml.Mark) -> list[Any] | None:
        self._check_length(start_mark)
        return super().scan_plain_spaces(indent, start_mark)

    def scan_block_scalar(self, style: Any) -> yaml.ScalarToken:
        self._block_start = self.get_mark()
        return super().scan_block_scalar(style)

    def scan_block_scalar_breaks(self, indent: int) -> tuple[list[Any], yaml.Mark]:
        self._check_length(self._block_start)
        return super().scan_block_scalar_breaks(indent)

    def _check_length(self, start: yaml.Mark) -> None:
        """Raise `LimitExceeded` if the text that begins at `start` is too long already."""
        if self.index - start.index > limits.MAX_TEXT_LENGTH:
            raise too_long(line=start.line + 1)


class _DataBuilder:
    """Turns YAML nodes into dicts, lists and scalars, and records the line of each."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.count = 0

    def build(self, node: yaml.Node, location: Location) -> Any:
        """The data of `node`; nodes that aliases repeat count each time."""
        self._count(location)
        if len(location) > limits.MAX_DEPTH:
            raise too_deep(location)
        self.source.lines.setdefault(location, node.start_mark.line + 1)
        if node.tag not in _USUAL_TAGS:
            self.source.report(f"the tag {node.tag} is not allowed here", location)
            return None
        if isinstance(node, yaml.ScalarNode):
            if _SURROGATE.search(node.value):
                self.source.report("has half a character (a lone surrogate) in it", location)
                return None
            return scalar(node.value) if not node.style else str(node.value)
        if isinstance(node, yaml.SequenceNode):
            return [self.build(item, (*location, i)) for i, item in enumerate(node.value)]
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            self._count(location)
            if not isinstance(key_node, yaml.ScalarNode) or _SURROGATE.search(key_node.value):
                self.source.report("a key must be a plain word", location)
                continue
            key = str(key_node.value)
            inner = (*location, key)
            self.source.lines.setdefault(inner, key_node.start_mark.line + 1)
            if key in result:
                self.source.report("this key is written twice", inner, line=key_node.start_mark.line + 1)
            result[key] = self.build(value_node, inner)
        return result

    def _count(self, location: Location) -> None:
        self.count += 1
        if self.count > limits.MAX_NODES:
            raise too_many_nodes(location)
