"""``fastdp doctor``: which code runs on this machine, and why."""

from __future__ import annotations

import json
import platform
from importlib import metadata

import click

from fastdp._version import __version__


def findings() -> dict[str, str]:
    """What decides how fast fastdp is here, and how safe its cache."""
    from fastdp.kernels import native
    from fastdp.kernels.cache import cache_folder
    from fastdp.random.generator import process_generator
    from fastdp.threads import get_threads

    using, folder = native.chosen(), cache_folder()
    fitting = native.levels_of(native.cpu_flags())
    return {
        "fastdp": __version__,
        "python": f"{platform.python_version()} on {platform.system()} {platform.machine()}",
        "kernels": using.why,
        "library": str(using.path or "none"),
        "this CPU runs": ", ".join(fitting) or "no level that kernels are prebuilt for",
        "generator": process_generator(),
        "threads": str(get_threads()),
        "compiled kernels": str(folder) if folder else "kept in this process only: no folder is private to the user",
        **{name: metadata.version(name) for name in ("numpy", "numba", "pyarrow")},
    }


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def command(*, as_json: bool) -> None:
    """Say which code runs here and why: prebuilt kernels or compiled ones, the cipher, threads, the cache.

    \b
    Examples:
      fastdp doctor
      fastdp doctor --json
    """
    found = findings()
    if as_json:
        click.echo(json.dumps(found, indent=2))
        return
    width = max(map(len, found))
    for name, what in found.items():
        click.echo(f"{name:<{width}}  {what}")
