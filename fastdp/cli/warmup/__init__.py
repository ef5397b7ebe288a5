"""``fastdp warmup``: compile every kernel into the cache."""

from __future__ import annotations

import json
import time

import click


@click.command("warmup")
@click.option("-n", "--dry-run", is_flag=True, help="Name the kernels, compile nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print what was done as JSON.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")
def command(*, dry_run: bool, as_json: bool, quiet: bool) -> None:
    """Compile every kernel once, so that no later call waits.

    The compiled code goes to the user's cache folder (FASTDP_CACHE_DIR, else XDG_CACHE_HOME, else ~/.cache).

    \b
    Examples:
      fastdp warmup
      fastdp warmup --dry-run
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from fastdp.cli.warmup.compiled import jobs
    from fastdp.kernels.jit import cache_folder

    console = Console(stderr=True, quiet=quiet)
    started = time.perf_counter()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    work = list(jobs())
    names = [name for name, _ in work]
    if dry_run:
        click.echo(json.dumps({"kernels": names}, indent=2) if as_json else "\n".join(names))
        return
    with Progress(*columns, console=console, disable=quiet or not console.is_terminal) as progress:
        task = progress.add_task("compiling", total=len(work))
        for name, job in work:
            progress.update(task, description=name)
            job()
            progress.advance(task)
    folder, seconds = cache_folder(), time.perf_counter() - started
    if as_json:
        shown = {"kernels": names, "seconds": seconds, "folder": None if folder is None else str(folder)}
        click.echo(json.dumps(shown, indent=2))
    where = f"cached in {folder}" if folder else "for this process only: no folder to cache in"
    console.print(f"{len(work)} kernels ready in {seconds:.1f} s, {where}", highlight=False)
