"""Identify a model by a digest of its content, the same in every process.

Objects are inspected, not called, pickled or unpickled. Installed code counts by its name, the user's own by its
bytecode, so that an edited function, or a retrained estimator that it uses, is another model.
"""

from __future__ import annotations

import dis
import hashlib
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

_LENGTH = 12
_PLAIN = (type(None), type(...), bool, int, float, complex, str, bytes)
_LEARNED = ("predict", "transform", "state_dict")
"""Objects with one of these were fitted to data: all their content counts."""
_OUTPUT_METHODS = {"__call__", "predict", "predict_proba", "labels", "scores"}
"""The methods that compute an object's outputs."""
CONTENTS: dict[str, Callable[[Any], object]] = {}
"""By package: data that determine the outputs of one of its models, or None; `registry` fills it."""
_IGNORED = frozenset(
    [
        "__dict__",
        "__weakref__",
        "__module__",
        "__doc__",
        "__firstlineno__",
        "__static_attributes__",
        "__annotations__",
        "_abc_impl",
    ]
)
"""Members of a class that do not affect its behaviour."""


def identity_of(model: object) -> str:
    """A short digest of everything that affects the outputs of `model`; empty if it cannot be computed.

    A text attribute `identity` of the model takes precedence.
    """
    try:
        if isinstance(identity := getattr(model, "identity", None), str):
            return identity
        module = type(model).__module__
        return _Walk().digest(model, _installed(module) and not _standard(module)).hex()[:_LENGTH]
    except Exception:  # foreign attributes may raise anything; the name remains
        return ""


def digest_of(parts: Iterable[bytes]) -> str:
    """A short digest of several byte strings."""
    return _joined(*parts).hex()[:_LENGTH]


class _Walk:
    """Digests objects by value, each once; shared and equal objects have the same digest."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, bool], bytes] = {}
        self._alive: list[object] = []
        """Keeps visited objects alive, so that no other object gets their id."""

    def digest(self, thing: Any, whole: bool) -> bytes:
        """The digest of `thing`; unless `whole`, unfitted objects of installed classes (sessions, connections) count by
        their type only."""
        if isinstance(thing, _PLAIN):
            return _joined(type(thing).__name__.encode(), repr(thing).encode())
        key = (id(thing), whole)
        if key not in self._known:
            self._known[key] = b"a cycle"
            self._alive.append(thing)
            self._known[key] = _joined(_type_name(type(thing)), *self._parts(thing, whole))
        return self._known[key]

    def _parts(self, thing: Any, whole: bool) -> Iterator[bytes]:
        if isinstance(thing, np.ndarray):
            yield from self._array(thing, whole)
        elif isinstance(thing, np.generic):
            yield from self._array(np.asarray(thing), whole)
        elif isinstance(thing, pd.DataFrame):
            yield from (self.digest(thing[column].to_numpy(), whole) for column in thing.columns)
            yield self.digest(list(thing.columns), whole)
        elif isinstance(thing, (pd.Series, pd.Index)):
            yield self.digest(thing.to_numpy(), whole)
        elif isinstance(thing, Mapping):
            pairs = (_joined(self.digest(key, whole), self.digest(value, whole)) for key, value in thing.items())
            yield from sorted(pairs)
        elif isinstance(thing, (set, frozenset)):
            yield from sorted(self.digest(one, whole) for one in thing)
        elif isinstance(thing, (list, tuple)):
            yield from (self.digest(one, whole) for one in thing)
        elif isinstance(thing, types.FunctionType):
            yield from self._function(thing)
        elif isinstance(thing, types.CodeType):
            yield from self._code(thing)
        elif isinstance(thing, types.MethodType):
            yield self.digest(thing.__func__, False)
            if _installed(type(thing.__self__).__module__):
                yield self.digest(thing.__self__, False)
            else:
                yield from self._own(thing.__self__, False, _OUTPUT_METHODS | {thing.__func__.__name__})
        elif isinstance(thing, types.ModuleType):
            yield thing.__name__.encode()
        elif isinstance(thing, type):
            yield from self._class(thing)
        elif isinstance(thing, property):
            yield from (self.digest(part, whole) for part in (thing.fget, thing.fset, thing.fdel))
        elif callable(inner := getattr(thing, "__wrapped__", None) or getattr(thing, "__func__", None)):
            yield self.digest(inner, whole)  # a cached function, a static method
        else:
            yield from self._object(thing, whole)

    def _array(self, array: np.ndarray[Any, Any], whole: bool) -> Iterator[bytes]:
        if array.dtype.names:  # padding between fields is arbitrary
            yield from (self.digest(array[name], whole) for name in array.dtype.names)
        elif array.dtype.hasobject:
            yield self.digest(array.tolist(), whole)
        else:
            yield from (str((array.dtype.str, array.shape)).encode(), np.ascontiguousarray(array).tobytes())

    def _function(self, function: types.FunctionType) -> Iterator[bytes]:
        """Code, defaults and referenced objects, except those that it assigns: they are state, not definition."""
        if _installed(function.__module__):
            yield function.__qualname__.encode()
            return
        code, outside = function.__code__, function.__globals__
        read, written = _names(code)
        yield self.digest(code, False)
        yield self.digest([function.__defaults__, function.__kwdefaults__], False)
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            if name not in written:
                yield _joined(name.encode(), self.digest(_content(cell), False))
        for name in sorted(read - written):
            if name in outside:
                yield _joined(name.encode(), self.digest(outside[name], False))
                if isinstance(module := outside[name], types.ModuleType) and not _installed(module.__name__):
                    used = sorted(read.intersection(vars(module)))
                    yield from (_joined(part.encode(), self.digest(vars(module)[part], False)) for part in used)

    def _code(self, code: types.CodeType) -> Iterator[bytes]:
        yield from (code.co_code, code.co_exceptiontable)
        counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
        yield self.digest([code.co_consts, code.co_names, code.co_varnames, code.co_freevars, counts], False)

    def _class(self, kind: type) -> Iterator[bytes]:
        yield _type_name(kind)
        if not _installed(kind.__module__):
            yield from (self.digest(base, False) for base in kind.__bases__)
            for name in sorted(vars(kind).keys() - _IGNORED):
                part = vars(kind)[name]
                if not isinstance(part, (types.GetSetDescriptorType, types.MemberDescriptorType)):
                    yield _joined(name.encode(), self.digest(part, False))

    def _own(self, thing: Any, whole: bool, methods: set[str]) -> Iterator[bytes]:
        """An object of a user's class, except the attributes that its output methods assign."""
        kind = type(thing)
        yield self.digest(kind, False)
        written = _written_by(kind, methods)
        yield self.digest({key: value for key, value in _attributes(thing).items() if key not in written}, whole)

    def _object(self, thing: Any, whole: bool) -> Iterator[bytes]:
        """Any other object: its reduced form (as for pickling), or else its attributes."""
        kind, learned = type(thing), any(hasattr(thing, name) for name in _LEARNED)
        if isinstance(identity := getattr(thing, "identity", None), str):
            yield from (str(getattr(thing, "name", "")).encode(), identity.encode())
        elif not _installed(kind.__module__):
            yield from self._own(thing, whole, _OUTPUT_METHODS)
        elif (content := _content_of(thing)) is not None:
            yield self.digest(content, True)
        elif callable(getattr(thing, "get_tree_stats", None)):  # the rest of a neighbours tree is usage statistics
            yield self.digest(thing.get_arrays(), whole)
        elif whole or learned or _standard(kind.__module__):
            try:
                rebuilt = thing.__reduce_ex__(4)
            except Exception:  # objects bound to this process cannot be reduced
                rebuilt = _attributes(thing)
            if isinstance(rebuilt, tuple):
                rebuilt = [list(part) if isinstance(part, Iterator) else part for part in rebuilt]
            yield self.digest(rebuilt, whole or learned)


def _names(code: types.CodeType) -> tuple[set[str], set[str]]:
    """The names that code and nested code refer to, and the outer names that they assign."""
    read, written = set(code.co_names), set()
    for step in dis.get_instructions(code):
        outside = step.argval in code.co_freevars if step.opname == "STORE_DEREF" else step.opname == "STORE_GLOBAL"
        if outside:
            written.add(step.argval)
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            more, overwritten = _names(inner)
            read |= more
            written |= overwritten - set(code.co_cellvars)
    return read, written


def _written_by(kind: type, methods: set[str]) -> set[str]:
    """The attributes that `methods` of a class, and the methods that they refer to, assign."""
    written: set[str] = set()
    seen: set[str] = set()
    while waiting := methods - seen:
        name = waiting.pop()
        seen.add(name)
        code = getattr(getattr(kind, name, None), "__code__", None)
        if isinstance(code, types.CodeType):
            methods = methods | set(code.co_names)
            written |= {step.argval for step in dis.get_instructions(code) if step.opname == "STORE_ATTR"}
    return written


def _content_of(thing: Any) -> object:
    """The content of a model that its package serializes; None for all other objects."""
    serialize = CONTENTS.get(type(thing).__module__.partition(".")[0])
    try:
        return None if serialize is None else serialize(thing)
    except Exception:  # an unfitted model, or another object of the package
        return None


def _content(cell: types.CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _attributes(thing: Any) -> dict[str, Any]:
    """The instance attributes of an object."""
    held = dict(getattr(thing, "__dict__", {}))
    for kind in type(thing).__mro__:
        slots = vars(kind).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__") and hasattr(thing, name):
                held[name] = getattr(thing, name)
    return held


def _installed(module: str | None) -> bool:
    """Whether a module belongs to Python or to an installed package, so that its name identifies its code."""
    if _standard(module):
        return True
    top = str(module).partition(".")[0]
    parts = str(getattr(sys.modules.get(top), "__file__", None)).replace("\\", "/").split("/")
    return top == "counterplan" or "site-packages" in parts or "dist-packages" in parts


def _standard(module: str | None) -> bool:
    top = str(module).partition(".")[0]
    return top in sys.stdlib_module_names and top != "__main__"


def _type_name(kind: type) -> bytes:
    return kind.__qualname__.encode()


def _joined(*parts: bytes) -> bytes:
    """One digest of several parts, each prefixed with its length to avoid ambiguity."""
    total = hashlib.sha256()
    for part in parts:
        total.update(len(part).to_bytes(8, "little"))
        total.update(part)
    return total.digest()
