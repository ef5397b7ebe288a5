"""``python -m tests.kernels.compare_prebuilt``: the jobs of ``fastdp warmup`` on prebuilt and on compiled kernels.

Each call of a kernel that has a prebuilt version is made twice, on copies of the same memory: everything it wrote and
what it gave back must be the same bytes. Sums whose order is free may differ in their last digits. Prints how many
calls and versions were compared, then what differed.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from fastdp.kernels import lazy, native

LEAST_SHARE = 0.7
"""Of the prebuilt kernels, those that Python calls in the jobs; others are called by kernels alone."""
FREE_ORDER = 1e-9
"""How far sums may lie apart that are added up in whatever order is fastest."""


def copy_memory(value: Any, copies: dict[int, np.ndarray]) -> Any:
    """The same arguments in memory of their own; arrays that share memory go on sharing it."""
    if isinstance(value, tuple):
        return type(value)(*(copy_memory(one, copies) for one in value))
    if not isinstance(value, np.ndarray):
        return value
    root = value
    while isinstance(root.base, np.ndarray):
        root = root.base
    if not root.flags.c_contiguous:
        return value.copy()
    if id(root) not in copies:
        raw = root.reshape(-1).view(np.uint8)
        aligned = np.empty(raw.size + 64, np.uint8)
        start = (root.ctypes.data - aligned.ctypes.data) % 64
        aligned[start : start + raw.size] = raw
        copies[id(root)] = aligned[start : start + raw.size]
    memory = copies[id(root)]
    offset = value.ctypes.data - root.ctypes.data
    found = np.ndarray(value.shape, value.dtype, memory, offset if value.size else 0, value.strides)
    found.flags.writeable = value.flags.writeable
    return found


def arrays(value: Any) -> list[np.ndarray]:
    if isinstance(value, tuple):
        return [found for one in value for found in arrays(one)]
    return [value] if isinstance(value, np.ndarray) else []


def differ(one: Any, other: Any) -> bool:
    a, b = np.asarray(one), np.asarray(other)
    if a.tobytes() == b.tobytes():
        return False
    close = a.dtype.kind == "f" and np.allclose(a, b, rtol=FREE_ORDER, atol=FREE_ORDER, equal_nan=True)
    return not (close and not free_of_order)


free_of_order = True
SUMS = ("products.", "likelihood", "losses.", "gradients.", "interior", "quadratic", "simplex")


def compare() -> tuple[int, set[str], set[str]]:
    """Calls that were made twice, versions that were compared, and kernels that differed."""
    from fastdp.cli.warmup.compiled import jobs

    calls, seen, wrong = 0, set(), set()

    def call_twice(kernel: Any, *arguments: Any) -> Any:
        global free_of_order
        nonlocal calls
        version = kernel.prebuilt(*map(native.kind_of, arguments))
        if version is None:
            return kernel.made()(*arguments)
        copies: dict[int, np.ndarray] = {}
        other = copy_memory(arguments, copies)
        back = version(arguments)
        expected = kernel.made()(*other)
        name = f"{kernel.__module__}.{kernel.__name__}"
        free_of_order = not any(part in name for part in SUMS)
        pairs = [(back, expected)] if expected is not None else []
        pairs += list(zip(arrays(arguments), arrays(other), strict=True))
        if any(differ(a, b) for a, b in pairs):
            wrong.add(name)
        calls += 1
        seen.add(version.symbol)
        return back

    lazy.LazyKernel.__call__ = call_twice  # type: ignore[method-assign]
    for _, job in jobs():
        job()
    return calls, seen, wrong


if __name__ == "__main__":
    made, versions, different = compare()
    sys.stdout.write(f"{native.chosen().why}: {made} calls of {len(versions)} prebuilt kernels compared\n")
    sys.stdout.write("".join(f"{name} differs\n" for name in sorted(different)))
    prebuilt = sum(map(len, native.chosen().kernels.values()))
    sys.exit(1 if different or not versions or len(versions) < LEAST_SHARE * prebuilt else 0)
