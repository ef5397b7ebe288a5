"""Reconstruction: enough noisy counts of subsets give back nearly every bit. [Dinur, Nissim 2003]"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from fastdp import validation
from fastdp.attacks.attack import Attack, add_noise, phi, read_bits, standard_deviation
from fastdp.errors import ParameterError
from fastdp.kernels.products.walsh import apply_walsh
from fastdp.mechanisms.base import ColumnMechanism
from fastdp.typing import Numbers

if TYPE_CHECKING:
    from fastdp import Rng

OWNER = "attacks.reconstruction"
DEFENCE = "one budget for all counts: with rho in all, Phi(-sqrt(rho / 8)) of the bits stay wrong, whatever n"
MOST_RANDOM = 20_000
Answer = Callable[[np.ndarray], np.ndarray]


def reconstruction(
    bits: Numbers,
    *,
    release: ColumnMechanism | Callable[[np.ndarray], np.ndarray] | None = None,
    queries: str | np.ndarray = "hadamard",
    rng: Rng | None = None,
) -> Attack:
    """Win a column of bits back from noisy counts of subsets.

    With Hadamard queries the counts are as many as the people, rounded up to a power of two, and one fast transform
    inverts them: a million bits in a tenth of a second. With a matrix of subsets, by least squares.

    Parameters
    ----------
    bits
        One bit per person.
    release
        What answers: None for exact counts; a mechanism that adds noise to each count; or a callable that takes all
        true counts and returns the answers.
    queries
        "hadamard", or a matrix of zeros and ones with one row per count.

    rng
        Where a mechanism's randomness comes from; the process's own stream by default.

    >>> import fastdp as fd
    >>> fd.attacks.reconstruction([0, 1, 1, 0, 1, 1, 1, 0]).success
    1.0
    """
    true = read_bits(OWNER, "bits", bits)
    answer = partial(_ask, release, rng=rng)
    spread = standard_deviation(release) if release is not None else 0.0
    if isinstance(queries, str):
        if queries != "hadamard":
            raise ParameterError(f'{OWNER}: queries must be "hadamard" or a matrix, got {queries!r}')
        found, size = _by_hadamard(true, answer)
        formula, strength = "Phi(sqrt(n) / (4 sigma))", math.sqrt(size) / 4
    else:
        found, rows = _by_least_squares(true, answer, queries)
        formula, strength = "Phi(sqrt(m - n) / (4 sigma))", math.sqrt(max(rows - true.size, 0)) / 4
    judged = slice(1, None) if isinstance(queries, str) and true.size > 1 else slice(None)  # record 0 has the noise of
    guess = (found > 0.5)[judged]  # the total in it
    expected = None if spread is None else 1.0 if spread == 0 else phi(strength / spread)
    baseline = max(float(true.mean()), 1 - float(true.mean()))
    success = float((guess == (true > 0.5)[judged]).mean())
    return Attack("reconstruction", "bits won back", success, expected, baseline, guess.size, formula, DEFENCE)


def _ask(
    release: ColumnMechanism | Callable[[np.ndarray], np.ndarray] | None, counts: np.ndarray, *, rng: Rng | None
) -> np.ndarray:
    if release is None or isinstance(release, ColumnMechanism):
        return add_noise(release, counts, rng)
    answers = np.asarray(release(counts), float)
    if answers.shape != counts.shape:
        raise ParameterError(f"{OWNER}: release must return one answer per count")
    return answers


def _by_hadamard(bits: np.ndarray, answer: Answer) -> tuple[np.ndarray, int]:
    """Query j counts the ones among those people where row j of the Hadamard matrix is 1."""
    size = 1 << max(bits.size - 1, 1).bit_length()
    values = np.zeros(size)
    values[: bits.size] = bits
    apply_walsh(values)
    return win_back(answer((values + values[0]) / 2))[: bits.size], size


def win_back(answers: np.ndarray) -> np.ndarray:
    """Every bit, unbiased, from counts of all Hadamard subsets; the first is that of everyone.

    >>> win_back(np.array([1.0, 0.0])).tolist()
    [0.0, 1.0]
    """
    signed: np.ndarray = 2 * np.asarray(answers, float) - answers[0]
    apply_walsh(signed)
    signed /= signed.size
    return signed


def _by_least_squares(bits: np.ndarray, answer: Answer, queries: np.ndarray) -> tuple[np.ndarray, int]:
    matrix = validation.floats(OWNER, "queries", queries)
    if matrix.ndim != 2 or matrix.shape[1] != bits.size or matrix.size > MOST_RANDOM * MOST_RANDOM:
        raise ParameterError(f"{OWNER}: queries must be a matrix with one column per bit, of at most 20,000 bits")
    answers = answer(matrix @ bits)
    normal = matrix.T @ matrix
    normal[np.diag_indices_from(normal)] += 1e-9 * np.trace(normal) / len(normal)
    found: np.ndarray = np.linalg.solve(normal, matrix.T @ answers)
    return found, len(matrix)
