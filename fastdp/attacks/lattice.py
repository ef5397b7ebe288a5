"""The lattice attack: the digits of floating-point noise tell the value under it. [Mironov 2012]"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from fastdp import validation
from fastdp.attacks.attack import Attack, is_laplace, standard_deviation
from fastdp.audits.cells import Bins
from fastdp.audits.draws import open_source
from fastdp.errors import ParameterError
from fastdp.kernels.audits.cells import DIGITS, most_digits
from fastdp.mechanisms.base import Mechanism

if TYPE_CHECKING:
    from fastdp import Rng

OWNER = "attacks.lattice"
DEFENCE = "noise of whole steps on a grid of powers of two, as every mechanism of fastdp adds it"
BINS = 64


def lattice(
    release: Mechanism | Callable[[float, int], Any],
    a: float = 0.0,
    b: float = 1.0,
    *,
    draws: int = 10**6,
    epsilon: float | None = None,
    rng: Rng | None = None,
) -> Attack:
    """Tell two values apart by the size and the binary digits of one noisy output.

    The likelier value of each cell of outputs is learned from draws of their own. Without a leak nobody is right more
    often than noise allows: 1 - e^(-e/2) / 2 of the outputs for Laplace noise, one sensitivity apart.

    Parameters
    ----------
    release
        A mechanism on floats, or a callable ``release(value, draws)``.
    a, b
        Two values that should be hard to tell apart.
    draws
        Outputs of each value that are judged, and as many to learn from.
    epsilon
        The epsilon of the Laplace noise of a callable, for the closed form.

    rng
        Where a mechanism's randomness comes from; the process's own stream by default.

    >>> import fastdp as fd
    >>> source = np.random.default_rng(1)
    >>> leaky = lattice(lambda value, n: value + source.laplace(size=n), draws=10**5)
    >>> safe = lattice(fd.Laplace(epsilon=1.0, sensitivity=1.0), draws=10**5)
    >>> leaky.success > 0.74, safe.success < 0.71
    (True, True)
    """
    draws = validation.positive_integer(OWNER, "draws", draws)
    source = open_source(release, (a, b), rng)
    sample = np.concatenate([np.asarray(source.draw(value, min(draws, 10**5)), np.float64) for value in (a, b)])
    if sample.ndim != 1 or not np.isfinite(sample).all() or a == b:
        raise ParameterError(f"{OWNER}: outputs must be finite numbers, and the two values different")
    low, high = np.quantile(sample, [0.001, 0.999])
    first = max(0, int(most_digits(sample.view(np.uint64))) - DIGITS + 1)
    cells = Bins(float(low), float(high - low) / BINS or 1.0, BINS, first)
    learned = [source.counts(value, draws, [cells])[0] for value in (a, b)]
    judged = [source.counts(value, draws, [cells])[0] for value in (a, b)]
    says_a = learned[0] > learned[1]
    says_b = learned[1] > learned[0]
    unsure = ~(says_a | says_b)
    right = judged[0][says_a].sum() + judged[1][says_b].sum() + (judged[0] + judged[1])[unsure].sum() / 2
    certain = judged[0][learned[1] == 0].sum() + judged[1][learned[0] == 0].sum()
    if is_laplace(release):
        epsilon = abs(b - a) * math.sqrt(2) / (standard_deviation(release) or 1.0)
    expected = None if epsilon is None else 1 - math.exp(-epsilon / 2) / 2
    return Attack(
        "lattice", "outputs that tell the value", float(right) / (2 * draws), expected, 0.5, 2 * draws,
        "1 - e^(-e/2) / 2", DEFENCE, {"never_seen_of_the_other": int(certain)},
    )  # fmt: skip
