"""Print the kernels that the jobs of ``fastdp warmup`` leave cold, without those that the arguments name.

A kernel that is called by a compiled one was compiled with it, and is not loaded by itself from the cache.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import sys
from collections.abc import Iterator
from typing import Any

from numba.core.dispatcher import Dispatcher

import fastdp.kernels
from fastdp.cli.warmup.compiled import jobs
from fastdp.kernels.jit import kernel
from fastdp.kernels.prebuild import SIGNATURES, describe_type


def kernels() -> dict[str, Any]:
    """Every dispatcher that `kernel` made, by its full name; parts that are compiled into others are left out."""
    found = {}
    for module in pkgutil.walk_packages(fastdp.kernels.__path__, "fastdp.kernels."):
        for name, value in vars(importlib.import_module(module.name)).items():
            if isinstance(value, Dispatcher) and value.py_func.__module__ == module.name and _is_kernel(value):
                found[f"{module.name}.{name}"] = value
    return found


def _is_kernel(dispatcher: Any) -> bool:
    return type(dispatcher._cache) is type(kernel(lambda: None)._cache)


def callees(dispatcher: Any) -> Iterator[Any]:
    """The dispatchers that a function refers to."""
    function = dispatcher.py_func
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    for value in [*(function.__globals__.get(name) for name in function.__code__.co_names), *cells]:
        if isinstance(value, Dispatcher):
            yield value


def cold(skipped: list[str]) -> list[str]:
    for name, job in jobs():
        if not name.startswith(tuple(skipped)):
            job()
    every = kernels()
    warm = [dispatcher for dispatcher in every.values() if dispatcher.signatures]
    reached: set[int] = set()
    while warm:
        dispatcher = warm.pop()
        if id(dispatcher) not in reached:
            reached.add(id(dispatcher))
            warm.extend(callees(dispatcher))
    return [name for name, dispatcher in every.items() if id(dispatcher) not in reached]


def signatures() -> list[dict[str, Any]]:
    """Every list of types that the jobs compiled a kernel for, as ``kernels.prebuild`` reads it."""
    found = []
    for name, dispatcher in sorted(kernels().items()):
        for kinds in dispatcher.overloads:
            described = [describe_type(kind) for kind in kinds]
            if None not in described:
                found.append({"kernel": name, "arguments": described})
    return sorted(found, key=json.dumps)


if __name__ == "__main__":
    if sys.argv[1:] == ["--record"]:
        cold([])
        SIGNATURES.write_text("[\n" + ",\n".join(json.dumps(one) for one in signatures()) + "\n]\n")
        sys.exit()
    sys.stdout.write(" ".join([str(len(kernels())), *cold(sys.argv[1:])]))
