"""The lattice attack on floating-point noise, as an audit. ``python -m tests.attacks.lattice`` shows it at work.

A sum ``x + noise`` in floating point cannot take every float near it: which low-order bits occur tells x. Cells of an
audit are bins of the value and the number of binary digits that it needs. [Mironov 2012]
"""

from __future__ import annotations

import math

import numpy as np

import fastdp as fd


def attack(randomize, size: int = 300_000) -> float:
    """The epsilon that is proven of a mechanism on the inputs 0 and 1."""
    found = fd.audit.epsilon(lambda value, count: randomize(np.full(count, value)), 0.0, 1.0, draws=size)
    return found.epsilon


def main() -> None:
    """Show the attack on numpy's noise and on ours."""
    unsafe = np.random.default_rng(1)
    safe = fd.Laplace(epsilon=1.0, sensitivity=1.0)
    print("claimed epsilon: 1")  # noqa: T201
    print(f"x + numpy laplace:  the outputs prove epsilon >= {attack(lambda x: x + unsafe.laplace(size=x.size)):.2f}")  # noqa: T201
    print(f"fastdp.Laplace:     the outputs prove epsilon >= {attack(safe.randomize):.2f}")  # noqa: T201
    print(f"fastdp granularity: 2**{math.log2(safe.granularity):.0f}, every output a multiple of it")  # noqa: T201


if __name__ == "__main__":
    main()
