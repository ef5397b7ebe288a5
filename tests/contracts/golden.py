"""The first draws of every case for a fixed seed. ``python -m tests.contracts.golden`` writes them anew."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

import fastdp as fd
from tests.contracts.cases import CASES, Case, size_of, values_of

PATH = Path(__file__).with_name("golden.json")
SHOWN = 40


def draws_of(case: Case) -> list[str]:
    """Draws as exact hexadecimal floats or integers, from around the end of a tile of slots."""
    rng = fd.Rng.unsafe_seed(42)
    rng.reserve(1000)
    out = case.mechanism.randomize(values_of(case, size_of(case, SHOWN)), rng=rng)[:SHOWN]
    return [float(v).hex() if np.issubdtype(out.dtype, np.floating) else str(v) for v in out]


if __name__ == "__main__":
    PATH.write_text(json.dumps({case.name: draws_of(case) for case in CASES}, indent=1) + "\n")
