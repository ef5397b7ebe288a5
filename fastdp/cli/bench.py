"""``fastdp bench``: how fast this machine runs fastdp, and whether it was faster before.

The suite, ``benchmarks/``, and the results it is compared with, ``bench_results/``, live in a checkout and are not
installed: it needs rivals that no user of fastdp does.
"""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path
from typing import Any

import click

import fastdp
from fastdp._version import __version__
from fastdp.errors import ParameterError


class MissingSuiteError(click.ClickException):
    """The benchmark suite, or something that it needs, is not here; 1 is the exit code of a regression."""

    exit_code = 5


@click.command("bench")
@click.argument("topic", required=False)
@click.option("--quick/--full", default=True, help="Small inputs, under 2 minutes (the default), or everything.")
@click.option(
    "--compare",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="Judge against this stored run instead of the newest of this machine.",
)
@click.option("--readme", is_flag=True, help="Repeat README's rows in an environment of its own; say what it took.")
@click.option("-n", "--dry-run", is_flag=True, help="Name the jobs and who does them, measure nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print every number as JSON.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but the results.")
def command(
    topic: str | None, *, quick: bool, compare: Path | None, readme: bool, dry_run: bool, as_json: bool, quiet: bool
) -> None:
    """Measure fastdp beside its rivals, as shares of what the machine can do, and judge it against stored results.

    Works in a checkout of the repository. Without a TOPIC all jobs are measured; topics are noise, local, keystream,
    locations, estimation, files, limits, scaling and calls. The exit code is 1 if a job is slower than in the stored
    results of this machine, beyond the measured noise. Nothing is stored; python -m benchmarks.run does that.

    \b
    Examples:
      fastdp bench
      fastdp bench noise --full
      fastdp bench --dry-run
      fastdp bench --readme
      fastdp bench --compare bench_results/20261116T183928Z-5d4b607.json --json
    """
    if readme:
        if topic is not None or compare is not None or as_json:
            raise ParameterError("bench: --readme repeats README's rows, and takes no TOPIC, --compare or --json")
        sys.exit(repeat_readme(find_suite(), quick=quick, dry_run=dry_run, quiet=quiet))
    suite = load_suite()
    if topic is not None and topic not in suite.TOPICS:
        raise ParameterError(f"bench: topic must be one of {', '.join(suite.TOPICS)}, got {topic!r}")
    if dry_run:
        suite.planned(topic, quick=quick, as_json=as_json)
        return
    sys.exit(suite.bench(topic, quick=quick, compare=compare, as_json=as_json, quiet=quiet))


def find_suite() -> Path:
    """The checkout that this package was installed from and is used in place, else the one that this is run in."""
    for root in (Path(fastdp.__file__).parent.parent, *(here := Path.cwd(), *here.parents)):
        if not (root / "benchmarks" / "bench.py").is_file():
            continue
        try:
            text = (root / "fastdp" / "_version.py").read_text()
        except OSError:
            continue
        if re.search(rf'__version__ = "{re.escape(__version__)}"', text):
            return root
    raise MissingSuiteError(
        f"bench: the benchmarks of version {__version__} are not here; they are not installed with fastdp. Run this in "
        "a checkout of its repository, after pip install --editable '.[bench]'"
    )


def repeat_readme(root: Path, *, quick: bool, dry_run: bool, quiet: bool) -> int:
    """Measure README's rows in a fresh virtual environment that is deleted afterwards; the exit code."""
    steps = [
        ["{python}", "-m", "pip", "install", "--quiet", f"{root}[bench]"],
        ["{python}", "-m", "benchmarks.pages.readme", *([] if quick else ["--full"])],
    ]
    if dry_run:
        for step in [["python", "-m", "venv", "ENVIRONMENT"], *steps]:
            click.echo(" ".join(step).replace("{python}", "ENVIRONMENT/bin/python"))
        return 0
    with tempfile.TemporaryDirectory(prefix="fastdp-bench-") as folder:
        started = time.monotonic()
        venv.create(folder, with_pip=True)
        python = str(Path(folder) / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))
        for step in steps:
            words = [word.replace("{python}", python) for word in step]
            found = subprocess.run(words, cwd=root, check=False).returncode  # noqa: S603 - the words are our own
            if found:
                return found
        if not quiet:
            click.echo(f"took {(time.monotonic() - started) / 60:.1f} minutes, environment included", err=True)
    return 0


def load_suite() -> Any:
    """The module that runs a bench."""
    root = str(find_suite())
    if root not in sys.path:
        sys.path.insert(0, root)
    try:
        return importlib.import_module("benchmarks.bench")
    except ImportError as error:
        name = error.name or "a package"
        raise MissingSuiteError(f"bench: needs {name}; install it with: pip install --editable '.[bench]'") from None
