"""What a batch is given by name, because every process loads it by itself."""

from __future__ import annotations

from pathlib import Path

from counterplan.benchmarks import NAMES
from counterplan.errors import SettingError


def require_names(**given: object) -> None:
    """Raise a SettingError if a parameter, by its name, is neither a text nor a path nor None."""
    for name, named in given.items():
        if named is not None and not isinstance(named, (str, Path)):
            raise SettingError(
                f"'{name}' is given by name in a batch, because every process loads it by itself: pass 'MODULE:ATTR', "
                f"a file or a URL, not {type(named).__name__}"
            )


def place_of(learned: str | Path) -> str:
    """The absolute path of a folder or a file; the name of a benchmark as it is."""
    name = str(learned)
    return name if name in NAMES or not Path(name).exists() else str(Path(name).absolute())
