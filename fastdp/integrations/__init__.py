"""Other engines and libraries: what is sanitized there, by which key, once.

Thin glue over ``tables``: each module imports its engine when it is used, and draws nothing itself. Reached as
``fastdp.duckdb``, ``fastdp.polars`` and so on.
"""

from __future__ import annotations

import importlib
from types import ModuleType

ENGINES = ("dask", "datafusion", "duckdb", "numpy", "opendp", "pandas", "polars", "spark")


def __getattr__(name: str) -> ModuleType:
    if name not in ENGINES:
        raise AttributeError(f"module 'fastdp.integrations' has no attribute {name!r}")
    return importlib.import_module(f"fastdp.integrations.{name}")
