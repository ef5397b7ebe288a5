"""``fastdp warmup``: compile every kernel into the cache."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float64", "float32")


def jobs() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Every compiled path, each with a call that takes it."""
    from fastdp import KRR, DiscreteGaussian, Gaussian, Geometric, Laplace, Rng, Staircase

    rng = Rng.unsafe_seed(0)

    def call(mechanism: Any, dtype: str) -> Callable[[], Any]:
        return lambda: mechanism.randomize(np.zeros(16, dtype), rng=rng)

    each = np.full(16, 1.0)
    for dtype in FLOATS:
        yield f"Laplace {dtype}", call(Laplace(epsilon=1.0, sensitivity=1.0), dtype)
        folded = Laplace(epsilon=1.0, sensitivity=1.0, bounds=(0, 8), boundary="fold")
        yield f"Laplace {dtype}, folded", call(folded, dtype)
    for dtype in INTEGERS:
        yield f"Geometric {dtype}", call(Geometric(epsilon=1.0), dtype)
        yield f"KRR {dtype}", call(KRR(epsilon=1.0, domain=100), dtype)
        yield f"Geometric {dtype}, folded", call(Geometric(epsilon=1.0, bounds=(0, 8), boundary="fold"), dtype)
    yield "Geometric of middle scale", call(Geometric(scale=1000.0), "int64")
    wide = Laplace(epsilon=1.0, sensitivity=1.0, bounds=(0, 8), boundary="resample")
    narrow = Laplace(epsilon=0.1, sensitivity=1.0, bounds=(0, 1), boundary="resample")
    yield "Laplace, resampled", call(wide, "float64")
    yield "Laplace, resampled in a narrow interval", call(narrow, "float64")
    yield "Gaussian", call(Gaussian(rho=0.5, sensitivity=1.0), "float64")
    yield "DiscreteGaussian", call(DiscreteGaussian(rho=0.5), "int64")
    yield "Staircase", call(Staircase(epsilon=1.0, sensitivity=1.0), "float64")
    yield "Laplace, one epsilon per record", call(Laplace(epsilon=each, sensitivity=1.0), "float64")
    yield "Staircase, one epsilon per record", call(Staircase(epsilon=each, sensitivity=1.0), "float64")
    yield "Gaussian, one rho per record", call(Gaussian(rho=each, sensitivity=1.0), "float64")


@click.command("warmup")
def command() -> None:
    """Compile every kernel once, so that no later call waits.

    The compiled code goes to the user's cache folder (FASTDP_CACHE_DIR, else XDG_CACHE_HOME, else ~/.cache).

    \b
    Example:
      fastdp warmup
    """
    from fastdp.kernels.jit import cache_folder

    console = Console(stderr=True)
    started = time.perf_counter()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    work = list(jobs())
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task("compiling", total=len(work))
        for name, job in work:
            progress.update(task, description=name)
            job()
            progress.advance(task)
    folder = cache_folder()
    where = f"cached in {folder}" if folder else "for this process only: no folder to cache in"
    console.print(f"{len(work)} kernels ready in {time.perf_counter() - started:.1f} s, {where}", highlight=False)
