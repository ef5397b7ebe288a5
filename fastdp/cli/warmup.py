"""``fastdp warmup``: compile every kernel into the cache."""

from __future__ import annotations

import time

import click


@click.command("warmup")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")
def command(*, quiet: bool) -> None:
    """Compile every kernel once, so that no later call waits.

    The compiled code goes to the user's cache folder (FASTDP_CACHE_DIR, else XDG_CACHE_HOME, else ~/.cache).

    \b
    Example:
      fastdp warmup
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from fastdp.cli.compiled import jobs
    from fastdp.kernels.jit import cache_folder

    console = Console(stderr=True, quiet=quiet)
    started = time.perf_counter()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    work = list(jobs())
    with Progress(*columns, console=console, disable=quiet or not console.is_terminal) as progress:
        task = progress.add_task("compiling", total=len(work))
        for name, job in work:
            progress.update(task, description=name)
            job()
            progress.advance(task)
    folder = cache_folder()
    where = f"cached in {folder}" if folder else "for this process only: no folder to cache in"
    console.print(f"{len(work)} kernels ready in {time.perf_counter() - started:.1f} s, {where}", highlight=False)
