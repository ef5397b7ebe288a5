"""The lattice attack on floating-point noise. ``python -m tests.attacks.lattice`` shows it at work.

A sum ``x + noise`` in floating point cannot take every float near it: which low-order bits occur tells x. The attacker
asks of each output how many binary digits it needs after the point, and compares how often each answer comes for two
inputs that should be indistinguishable. The bound on epsilon that follows is a proof by counterexample: Clopper-Pearson
bounds on both frequencies, corrected for the number of questions asked. [Mironov 2012]
"""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import beta

import fastdp as fd

DEEPEST = 1100


def digits_after_point(outputs: np.ndarray) -> np.ndarray:
    """The smallest k >= 0 for which the output is a multiple of 2**-k."""
    mantissa, exponent = np.frexp(outputs.astype(np.float64))
    whole = np.abs(np.ldexp(mantissa, 53)).astype(np.uint64)
    lowest_bit = whole & (~whole + np.uint64(1))
    trailing = np.where(whole == 0, 2000, np.log2(np.maximum(lowest_bit, 1).astype(np.float64)))
    return np.clip(53 - exponent - trailing, 0, DEEPEST).astype(np.int64)


def proven_epsilon(first: np.ndarray, second: np.ndarray, confidence: float = 1 - 1e-6) -> float:
    """The largest epsilon that the outputs of two neighbouring inputs refute, over all sets 'at most k digits'."""
    size = min(first.size, second.size)
    tails = [
        np.bincount(digits_after_point(sample[:size]), minlength=DEEPEST + 1)[::-1].cumsum()[::-1]
        for sample in (first, second)
    ]
    alpha = (1 - confidence) / (4 * DEEPEST)
    best = 0.0
    for a, b in (tails, tails[::-1]):
        for counts_a, counts_b in ((a, b), (size - a, size - b)):
            useful = np.unique(np.flatnonzero(counts_a > counts_b))
            if useful.size:
                low = beta.ppf(alpha, counts_a[useful], size - counts_a[useful] + 1)
                high = beta.ppf(1 - alpha, counts_b[useful] + 1, size - counts_b[useful])
                best = max(best, float(np.log(low / np.where(np.isnan(high), 1.0, high)).max()))
    return best


def attack(randomize, size: int = 1_000_000) -> float:
    """What is proven of a mechanism on the inputs 0 and 1."""
    return proven_epsilon(randomize(np.zeros(size)), randomize(np.ones(size)))


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
