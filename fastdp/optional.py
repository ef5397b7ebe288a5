"""Packages that a few functions need and that are not installed with fastdp."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

from fastdp.errors import MissingPackageError


def is_installed(package: str) -> bool:
    """Whether a package can be imported."""
    return importlib.util.find_spec(package) is not None


def load(owner: str, module: str, *, extra: str) -> Any:
    """The module; where its package is not installed, an error that names the extra that brings it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingPackageError(
            f"{owner}: needs {module.partition('.')[0]}; install it with: pip install 'fastdp[{extra}]'"
        ) from None
