"""``python -m benchmarks.instructions``: how many instructions five kernels execute per record, by callgrind.

Counts do not depend on what else the machine does. They are those of code compiled for one named CPU, whatever the
host's is: callgrind knows no AVX-512. Two calls of different sizes are counted, and their difference is divided by that
of their sizes, so that what a call costs by itself falls out.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import click

from benchmarks.measuring.machine import ROOT

REFERENCE = ROOT / "bench_results" / "instructions.json"
TARGET = "haswell"
FEATURES = (
    *("64bit", "avx", "avx2", "bmi", "bmi2", "cmov", "crc32", "cx16", "cx8", "f16c", "fma", "fsgsbase", "fxsr"),
    *("lzcnt", "mmx", "movbe", "pclmul", "popcnt", "sahf", "sse", "sse2", "sse3", "sse4.1", "sse4.2", "ssse3"),
    *("xsave", "xsaveopt"),
)
BLOCK = 1 << 17
MOST_MORE = 0.05
"""The gate: this much more than the reference, per record, is a regression."""
TIMEOUT = 900


def kernels() -> dict[str, tuple[Callable[[int], Any], int, int]]:
    """A call for each kernel that does so many records with a fixed key, and two sizes to give it."""
    import numpy as np

    import fastdp as fd
    from benchmarks.jobs import estimation

    fd.set_threads(1)
    numbers, integers = np.zeros(3 * BLOCK), np.zeros(3 * BLOCK, np.int64)
    codes, few = np.arange(3 * BLOCK, dtype=np.uint8) % 100, np.arange(6000, dtype=np.int32) % 1000
    laplace, geometric = fd.Laplace(epsilon=1.0, sensitivity=1.0), fd.Geometric(scale=1.4)
    krr, unary = fd.KRR(epsilon=1.0, domain=100), fd.UnaryEncoding(epsilon=1.0, domain=1000)
    problem = estimation.dense(100)
    observed = problem.channel.prepare(problem.counts)

    def draw(mechanism: Any, values: np.ndarray) -> Callable[[int], Any]:
        return lambda count: mechanism.randomize(values[:count], rng=fd.Rng.unsafe_seed(1))

    return {
        "laplace-float64": (draw(laplace, numbers), BLOCK, 3 * BLOCK),
        "geometric-int64-1.4": (draw(geometric, integers), BLOCK, 3 * BLOCK),
        "krr-uint8-100": (draw(krr, codes), BLOCK, 3 * BLOCK),
        "oue-1000": (draw(unary, few), 200, 600),
        "ibu-dense-100": (lambda count: observed.iterate(problem.p, count), 100, 300),
    }


def count_all() -> None:
    """Run every kernel, compiled before; under callgrind, count both sizes of each."""
    from benchmarks.measuring.callgrind import Callgrind

    listener, chosen = Callgrind(), kernels()
    for call, small, large in chosen.values():
        call(large)
        call(small)
    if not listener.running:
        return
    listener.start()
    for name, (call, small, large) in chosen.items():
        for count in (small, large):
            listener.zero()
            call(count)
            listener.dump(f"{name} {count}")
    listener.stop()


def settings(cache: Path) -> dict[str, str]:
    """The environment of a counted process: one target, one thread, a fixed order of sets, kernels kept in a folder."""
    return os.environ | {
        "NUMBA_CPU_NAME": TARGET,
        "NUMBA_CPU_FEATURES": ",".join(f"+{name}" for name in FEATURES),
        "FASTDP_CACHE_DIR": str(cache),
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONHASHSEED": "0",
    }


def read_counts(folder: Path) -> dict[str, dict[int, int]]:
    """Instructions by kernel and size, from the files that callgrind dumped."""
    found: dict[str, dict[int, int]] = {}
    for path in folder.glob("counts*"):
        text = path.read_text(errors="replace")
        named = re.search(r"^desc: Trigger: Client Request: (\S+) (\d+)$", text, re.MULTILINE)
        total = re.search(r"^summary: (\d+)", text, re.MULTILINE)
        if named and total:
            found.setdefault(named[1], {})[int(named[2])] = int(total[1])
    return found


def per_record(counts: dict[str, dict[int, int]]) -> dict[str, float]:
    """Instructions per record: the slope between the two sizes."""
    found = {}
    for name, by_size in sorted(counts.items()):
        (small, few), (large, many) = sorted(by_size.items())
        found[name] = round((many - few) / (large - small), 3)
    return found


def missing() -> str | None:
    """Why instructions cannot be counted here; None if they can."""
    import platform

    if platform.machine() not in {"x86_64", "AMD64"}:
        return "instructions are counted on x86-64 alone"
    return None if shutil.which("valgrind") else "valgrind is not installed; on Debian: apt-get install valgrind"


def measure() -> dict[str, Any]:
    """Instructions per record of each kernel, with what they were compiled by."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cache = folder / "cache"
        cache.mkdir(mode=0o700)
        program = [sys.executable, "-c", "from benchmarks.instructions import count_all; count_all()"]
        tool = ["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={folder / 'counts'}"]
        for command in (program, [*tool, *program]):  # the first compiles, on the bare machine
            done = subprocess.run(
                command, cwd=ROOT, env=settings(cache), capture_output=True, text=True, timeout=TIMEOUT, check=False
            )
            if done.returncode:
                raise click.ClickException(f"the counted program failed: {done.stderr.strip().splitlines()[-1:]}")
        counts = per_record(read_counts(folder))
    versions = {package: metadata.version(package) for package in ("numba", "llvmlite", "numpy")}
    return {"versions": versions, "per_record": counts}


def judge(now: dict[str, Any], reference: dict[str, Any] | None) -> tuple[list[str], bool]:
    """A line per kernel, and whether any executes too many more instructions than its reference.

    Another version of the compiler makes other code: then there is nothing to compare with, and nothing is judged.
    """
    if reference is None:
        return [f"{name}: {count:,.2f}, no reference" for name, count in now["per_record"].items()], False
    known, lines, worse = reference["per_record"], [], False
    same = reference["versions"]["llvmlite"] == now["versions"]["llvmlite"]
    for name in dict.fromkeys((*known, *now["per_record"])):
        if name not in now["per_record"]:
            lines.append(f"{name}: was not counted")
            worse = True
            continue
        count = now["per_record"][name]
        if name not in known:
            lines.append(f"{name}: {count:,.2f}, no reference")
            continue
        change = count / known[name] - 1
        bad = same and change > MOST_MORE
        worse |= bad
        lines.append(f"{name}: {count:,.2f}, {change:+.2%}" + (", MORE THAN ALLOWED" if bad else ""))
    if not same:
        versions = [found["versions"]["llvmlite"] for found in (reference, now)]
        lines.append("not judged: llvmlite was {} and is {}; write the reference anew with --write".format(*versions))
    return lines, worse


def stored() -> dict[str, Any]:
    """References by CPU target."""
    return json.loads(REFERENCE.read_text()) if REFERENCE.exists() else {}


@click.command()
@click.option("--check", is_flag=True, help="Exit with 1 if a kernel executes over 5 % more than its reference.")
@click.option("--write", is_flag=True, help="Make what is counted now the reference.")
def main(check: bool, write: bool) -> None:
    """Count instructions per record of five kernels, and compare them with bench_results/instructions.json.

    \b
    Examples:
      python -m benchmarks.instructions
      python -m benchmarks.instructions --check
    """
    reason = missing()
    if reason is not None:
        click.echo(f"instructions: skipped, {reason}", err=True)
        return
    now = measure()
    lines, worse = judge(now, stored().get(TARGET))
    click.echo(f"instructions per record, compiled for {TARGET}:")
    for line in lines:
        click.echo(f"  {line}")
    if write:
        REFERENCE.write_text(json.dumps(stored() | {TARGET: now}, indent=1, sort_keys=True) + "\n")
        click.echo(f"wrote {REFERENCE.name}", err=True)
    sys.exit(1 if check and worse else 0)


if __name__ == "__main__":
    main()
