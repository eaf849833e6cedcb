"""Versions of the packages that results may depend on."""

from __future__ import annotations

import importlib.metadata
import platform
import sys
from collections.abc import Iterable

PACKAGES = ("numpy", "pandas", "scikit-learn", "pyarrow", "distributed")


def own_version() -> str:
    """The version of counterplan, which is imported before any of its modules."""
    return str(sys.modules["counterplan"].__version__)


def versions(packages: Iterable[str] = PACKAGES) -> dict[str, str]:
    """Versions of counterplan, Python and `packages`; "none" of those that are not installed."""
    found = {"counterplan": own_version(), "python": platform.python_version()}
    for package in packages:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = "none"
    return found
