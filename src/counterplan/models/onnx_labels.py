"""The labels of a classifier in an ONNX file, which onnxruntime does not tell."""

from __future__ import annotations

from collections.abc import Iterator

_GRAPH, _NODE, _ATTRIBUTE = 7, 1, 5
"""Fields of ModelProto, GraphProto and NodeProto."""
_NAME, _INTS, _STRINGS = 1, 8, 9
"""Fields of AttributeProto."""
_LABELS = ("classlabels_strings", "classlabels_int64s", "classlabels_ints")


def labels_in(content: bytes) -> tuple[str, ...] | None:
    """The class labels in the nodes of an ONNX model, in the order of its probabilities; None if there is not one list.

    The file is protobuf: a sequence of fields, each with a number, a wire type and a value.
    """
    found: set[tuple[str, ...]] = set()
    try:
        for graph in _parts(memoryview(content), _GRAPH):
            for node in _parts(graph, _NODE):
                found.update(labels for part in _parts(node, _ATTRIBUTE) if len(labels := _labels(part)) > 1)
    except (IndexError, UnicodeDecodeError, ValueError):
        return None
    return found.pop() if len(found) == 1 else None


def _labels(attribute: memoryview) -> tuple[str, ...]:
    fields = list(_fields(attribute))
    names = [bytes(value).decode() for number, value in fields if number == _NAME and isinstance(value, memoryview)]
    if not set(names) & {*_LABELS}:
        return ()
    labels: list[str] = []
    for number, value in fields:
        if number == _STRINGS and isinstance(value, memoryview):
            labels.append(bytes(value).decode())
        elif number == _INTS:
            labels += [str(_signed(item)) for item in (_varints(value) if isinstance(value, memoryview) else [value])]
    return tuple(labels)


def _parts(message: memoryview, wanted: int) -> Iterator[memoryview]:
    """The nested messages in a field."""
    return (value for number, value in _fields(message) if number == wanted and isinstance(value, memoryview))


def _fields(message: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Number and value of each field: an integer, or the bytes of anything else."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        if key & 7 == 0:
            number, at = _varint(message, at)
            yield key >> 3, number
            continue
        size = {1: 8, 5: 4}.get(key & 7, -1)
        if key & 7 == 2:
            size, at = _varint(message, at)
        if size < 0 or at + size > len(message):
            raise ValueError("not protobuf")
        yield key >> 3, message[at : at + size]
        at += size


def _varint(message: memoryview, at: int) -> tuple[int, int]:
    """The integer at a position, 7 bits to a byte, and the position after it."""
    number, shift = 0, 0
    while True:
        byte = message[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return number, at
        if shift > 63:
            raise ValueError("not protobuf")


def _varints(packed: memoryview) -> list[int]:
    numbers, at = [], 0
    while at < len(packed):
        number, at = _varint(packed, at)
        numbers.append(number)
    return numbers


def _signed(number: int) -> int:
    return number - 2**64 if number >= 2**63 else number
