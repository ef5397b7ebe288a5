"""Walks through the package, counted in Python calls: ``python -m benchmarks.walks [--show NAME] [--check]``.

Counted is every call of a Python function of the package, on all threads, generators and comprehensions included, in a
process that has compiled and imported everything. ``fastdp sanitize`` is the body of the command, plan file to receipt;
``fd.sanitize`` has its plan and its table in memory. A count does not depend on the machine or its load, so that a
detour shows at once. The aims are the design's; ``MOST`` is what is reached, and ``--check`` fails where a walk has
grown beyond it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import fastdp as fd
from fastdp.cli import sanitize

ROOT = str(Path(fd.__file__).parent) + "/"
AIMS = {"Laplace.randomize": 30, "fastdp sanitize": 600, "fd.sanitize": 600, "estimate(Geometric)": 500}
MOST = {
    "Laplace.randomize": 30,
    "KRR.randomize": 60,
    "fastdp sanitize": 600,
    "fd.sanitize": 392,
    "estimate(Geometric)": 500,
    "estimate(KRR)": 2_530,
}
"""With room for a tenth more in estimates, whose steps may differ from one CPU to another."""

PLAN = """
[columns]
name = "drop"
ill = { mechanism = "randomized_response", epsilon = 1.0 }
income = { mechanism = "laplace", epsilon = 1.0, bounds = [0, 100_000] }
city = { mechanism = "krr", epsilon = 1.0, domain = ["a", "b", "c"] }
"""

Step = tuple[int, str, str]
"""The depth of a call, and the file and the function that it enters."""


def count(work: Callable[[], Any]) -> list[Step]:
    """Every call of a function of the package, in order, once everything is compiled and cached."""
    work()
    steps: list[Step] = []

    def enter(frame: Any, event: str, _argument: Any) -> None:
        if event != "call" or not frame.f_code.co_filename.startswith(ROOT):
            return
        depth, outer = 0, frame.f_back
        while outer is not None:
            depth += outer.f_code.co_filename.startswith(ROOT)
            outer = outer.f_back
        steps.append((depth, frame.f_code.co_filename[len(ROOT) :], frame.f_code.co_qualname))

    threading.setprofile(enter)
    sys.setprofile(enter)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return steps


def walks(folder: Path) -> dict[str, Callable[[], Any]]:
    """The walks by name, each as a call without arguments."""
    source, rng = np.random.default_rng(0), fd.Rng.unsafe_seed(1)
    laplace, numbers = fd.Laplace(epsilon=1.0, sensitivity=1.0), source.random(10_000)
    krr = fd.KRR(epsilon=1.0, domain=["cold", "flu", "none"])
    labels = pa.array(["flu", "none", "cold"] * 3_000)
    people = pa.table(
        {
            "name": ["Ann", "Bob"] * 2_000,
            "ill": [True, False] * 2_000,
            "income": source.random(4_000) * 1e5,
            "city": ["a", "b", "c", "a"] * 1_000,
        }
    )
    source_path, plan_path, output = (folder / name for name in ("in.parquet", "plan.toml", "out.parquet"))
    pq.write_table(people, source_path)
    plan_path.write_text(PLAN)
    plan = fd.Plan.loads(PLAN)
    geometric, counted = fd.Geometric(epsilon=0.5, bounds=(0, 99)), fd.KRR(epsilon=1.0, domain=10)
    values = source.integers(0, 100, 20_000)
    noisy, answers = geometric.randomize(values, rng=rng), counted.randomize(values % 10, rng=rng)

    def fresh(work: Callable[[], Any]) -> None:
        for path in folder.glob("out.*"):
            path.unlink()
        work()

    def command() -> None:
        options = ["-p", str(plan_path), "-o", str(output), "--quiet"]
        with sanitize.command.make_context("sanitize", [str(source_path), *options]) as context:
            sanitize.command.invoke(context)

    return {
        "Laplace.randomize": lambda: laplace.randomize(numbers, rng=rng),
        "KRR.randomize": lambda: krr.randomize(labels, rng=rng),
        "fastdp sanitize": lambda: fresh(command),
        "fd.sanitize": lambda: fresh(lambda: fd.sanitize(people, plan, output)),
        "estimate(Geometric)": lambda: fd.estimate(geometric, noisy, progress=False),
        "estimate(KRR)": lambda: fd.estimate(counted, answers, progress=False),
    }


def main(arguments: list[str] | None = None) -> int:
    """Print the number of calls of each walk; 1 if ``--check`` finds one that has grown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--show", metavar="NAME", help="print every call of one walk")
    parser.add_argument("--check", action="store_true", help="fail where a walk takes more calls than it did")
    options = parser.parse_args(arguments)
    fd.set_threads(1)
    grown = False
    with tempfile.TemporaryDirectory() as folder:
        for name, work in walks(Path(folder)).items():
            steps = count(work)
            files, depth = len({file for _, file, _ in steps}), max(at for at, _, _ in steps)
            aim = f", aim {AIMS[name]}" if name in AIMS else ""
            print(f"{name}: {len(steps):,} calls of {files} files, depth {depth}; at most {MOST[name]:,}{aim}")
            grown |= len(steps) > MOST[name]
            if options.show == name:
                print(*("  " * at + f"{file}:{function}" for at, file, function in steps), sep="\n")
    return int(options.check and grown)


if __name__ == "__main__":
    sys.exit(main())
