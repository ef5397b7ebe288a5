"""Loss and gain functions: what a guess costs, or is worth, when the truth is known."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from fastdp import validation
from fastdp.errors import ParameterError
from fastdp.measures.inputs import read_numbers

BLOCK = 1 << 20
"""Entries of a block; 8 MB."""

Index = slice | np.ndarray
Function = Callable[[np.ndarray, np.ndarray], Any]
PayoffLike: TypeAlias = str | Function | ArrayLike


@dataclass(frozen=True, slots=True)
class Payoff:
    """A matrix of guesses by truths, parts of which are computed when they are needed."""

    guesses: int
    part: Callable[[Index, Index], np.ndarray]
    """The rows of some guesses, the columns of some truths."""

    def blocks(self, width: int) -> Iterator[tuple[int, np.ndarray]]:
        """The rows of all guesses, a few at a time, each with the number of its first; ``width`` entries per guess."""
        step = max(1, BLOCK // width)
        for first in range(0, self.guesses, step):
            yield first, self.part(slice(first, first + step), slice(None))


def distances(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Between all places of ``one`` and all of ``other``: numbers, or points as rows of coordinates (Euclidean)."""
    found: np.ndarray = np.abs(one[:, None] - other[None, :]) if one.ndim == 1 else np.sqrt(_squared(one, other))
    return found


def _squared(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    if one.ndim == 1:
        squares: np.ndarray = np.square(one[:, None] - other[None, :])
        return squares
    total = np.zeros((one.shape[0], other.shape[0]))
    for axis in range(one.shape[1]):  # one axis at a time: no third dimension in memory
        total += np.square(one[:, None, axis] - other[None, :, axis])
    return total


def _differ(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    differ = one[:, None] != other[None, :]
    losses: np.ndarray = (differ if one.ndim == 1 else differ.any(axis=2)).astype(np.float64)
    return losses


NAMES: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "zero-one": _differ,
    "absolute": distances,
    "squared": _squared,
}


def matrix_payoff(owner: str, name: str, value: ArrayLike, truths: int) -> Payoff:
    """A matrix with a row per guess and a column per truth."""
    matrix = read_numbers(owner, name, value, 2)
    if matrix.shape[1] != truths:
        raise ParameterError(
            f"{owner}: a {name} matrix has a row per guess and a column per input, {truths} of them, "
            f"got {matrix.shape[0]} x {matrix.shape[1]}"
        )
    return Payoff(matrix.shape[0], lambda rows, columns: matrix[:, columns][rows])


def named_payoff(owner: str, name: str, value: str, guesses: np.ndarray, truths: np.ndarray) -> Payoff:
    """A loss of the two places, by its name."""
    of_places = NAMES[validation.one_of(owner, name, value, tuple(NAMES))]
    return Payoff(guesses.shape[0], lambda rows, columns: of_places(guesses[rows], truths[columns]))


def function_payoff(owner: str, name: str, value: Function, guesses: np.ndarray, truths: np.ndarray) -> Payoff:
    """A function of two arrays of places that broadcast: guesses down, truths across."""

    def part(rows: Index, columns: Index) -> np.ndarray:
        some, others = guesses[rows], truths[columns]
        rule = (
            f"{owner}: {name} must be a function of two arrays, guesses and truths, with finite numbers for all pairs"
        )
        try:
            result = np.asarray(value(some[:, None], others[None, :]), np.float64)
            result = np.broadcast_to(result, (some.shape[0], others.shape[0]))
        except (TypeError, ValueError) as error:
            raise ParameterError(f"{rule}; one of two numbers becomes one by numpy.vectorize") from error
        if not np.isfinite(result).all():
            raise ParameterError(rule)
        return result

    return Payoff(guesses.shape[0], part)
