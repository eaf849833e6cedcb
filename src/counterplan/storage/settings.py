"""Settings as they are stored: by the keys of existing files, whatever the attributes are called."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any


def settings_to_dict(settings: Any) -> dict[str, Any]:
    """Convert a settings dataclass to plain data, recursively, as `dataclasses.asdict` does.

    A field is stored under `metadata["key"]`, if it has one, so that checkpoints and fingerprints written before an
    attribute was renamed stay comparable. A field with `metadata["added"]` is left out if it has its default, so that
    those written before it was added do too.

    Examples
    --------
    >>> from dataclasses import dataclass, field
    >>> @dataclass
    ... class Settings:
    ...     batch_size: int = field(default=64, metadata={"key": "together"})
    ...     shuffle: bool = field(default=True, metadata={"added": True})
    >>> settings_to_dict(Settings())
    {'together': 64}
    >>> settings_to_dict(Settings(shuffle=False))
    {'together': 64, 'shuffle': False}
    """
    return {
        field.metadata.get("key", field.name): _plain(getattr(settings, field.name))
        for field in fields(settings)
        if not (field.metadata.get("added") and getattr(settings, field.name) == field.default)
    }


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return settings_to_dict(value)
    if isinstance(value, (list, tuple)):
        return type(value)(_plain(item) for item in value)
    return {key: _plain(item) for key, item in value.items()} if isinstance(value, dict) else value
