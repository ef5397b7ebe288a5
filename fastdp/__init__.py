"""fastdp: differential privacy for millions of values per call, safe by default.

Names are loaded when they are first used, so that importing the package stays cheap. ``__init__.pyi`` lists them.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from fastdp._moved import redirect
from fastdp._version import __version__ as __version__


def _read_homes() -> dict[str, str]:
    """The module that each public name lives in, by the lines ``from module import name as name`` of the stub."""
    stub = Path(__file__).with_name("__init__.pyi").read_text(encoding="utf-8")
    words = (line.split() for line in stub.splitlines() if line.startswith("from "))
    return {name: module for _, module, _, name, *_ in words}


_HOMES = _read_homes()
__all__ = sorted(_HOMES)  # noqa: PLE0605  # the stub is the list

redirect()


class _Package(ModuleType):
    """The package, whose public names no module takes the place of: ``fastdp.parallel`` was one, and is a function."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (isinstance(value, ModuleType) and _HOMES.get(name, "fastdp") != "fastdp"):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'fastdp' has no attribute {name!r}")
    if home == "fastdp":
        return importlib.import_module(f"fastdp.{name}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
