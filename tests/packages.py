"""Packages that tests need and the library does not."""

from __future__ import annotations

import importlib
import os
from typing import Any

import pytest


def required(name: str) -> Any:
    """The package `name`; without it the tests of a file are skipped, except in continuous integration."""
    return importlib.import_module(name) if os.environ.get("CI") else pytest.importorskip(name)
