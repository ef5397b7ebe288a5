"""What makes kernels of functions, and what they are compiled for.

kernel    what Python calls                     pasted    put into a kernel before that is compiled
inlined   compiled into its callers by force    summed    a sum, in whatever order is fastest
part      what kernels call                     largest   a maximum, in vectors
summed_apart    as summed, optimized by itself first
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from fastdp.kernels import native
from fastdp.kernels.cache import cache_folder, source_digest

if TYPE_CHECKING or native.library() is None:
    from llvmlite import ir
    from numba.core import cgutils, types
    from numba.extending import intrinsic, overload

    from fastdp.kernels.compiler import inlined, kernel, largest, part, pasted, summed, summed_apart
else:
    from fastdp.kernels.lazy import (
        Module,
        inlined,
        intrinsic,
        kernel,
        largest,
        overload,
        part,
        pasted,
        summed,
        summed_apart,
    )

    ir, cgutils, types = Module("llvmlite.ir"), Module("numba.core.cgutils"), Module("numba.core.types")

__all__ = [
    "cache_folder", "cgutils", "inlined", "intrinsic", "ir", "kernel", "largest", "overload", "part",
    "pasted", "source_digest", "summed", "summed_apart", "target_features", "target_name", "types",
]  # fmt: skip


@functools.cache
def target_features() -> frozenset[str]:
    """The CPU features that kernels are compiled for, which a user may have narrowed below the host's."""
    if native.library() is not None:
        return native.chosen().features
    from numba.core.registry import cpu_target

    flags = cpu_target.target_context.codegen()._tm_features  # noqa: SLF001
    return frozenset(flag[1:] for flag in flags.split(",") if flag.startswith("+"))


def target_name() -> str:
    """The CPU that kernels are compiled for."""
    if native.library() is not None:
        return native.chosen().level
    import llvmlite.binding
    from numba.core import config

    return config.CPU_NAME or str(llvmlite.binding.get_host_cpu_name())
