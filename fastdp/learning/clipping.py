"""Clip the gradients of single examples and add them up on an integer grid: a sum that has no order.

A gradient g becomes the integers trunc(g * f), f = steps / max(clip, |g|) * (1 - 2**-20). What the norm, the factor and
the products are rounded by is less than the last factor takes away: the norm is right to (d / 512 + 512) 2**-53, which
is below 2**-22 up to 2**32 coordinates, factor and product to 2**-24 each. Truncation shrinks every coordinate. So the
integers of one example have a norm of at most ``steps``, and that is their L2 sensitivity, exactly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from fastdp.errors import ParameterError, SchemaError
from fastdp.kernels.gradients.clipping import LANES, add_square_norms, add_steps, add_steps_ahead, flush_steps
from fastdp.kernels.memory import zeros_aligned

SLACK = 1 - 2.0**-20
MOST_COORDINATES = 1 << 32
MOST_STEPS = 1 << 24
"""Steps of the grid within the clip: products stay within the precision of float32, and 64 of them within int32."""
FLUSHED = 64
PAIR = 2
"""Rows that `add_steps_ahead` adds while it reads the norms of as many."""
NEAR = 1 << 22
"""Bytes of rows that are read for their norms and again for their sum while they are near."""
MOST_EXAMPLES = 1 << 38
"""Examples whose sum is certain to fit an int64."""

Shapes = tuple[tuple[int, ...], ...]


class Tensor(Protocol):
    """An array of another library that speaks DLPack, such as a tensor of torch or an array of JAX."""

    def __dlpack__(self, **options: Any) -> Any: ...

    def __dlpack_device__(self) -> Any: ...


Gradients = np.ndarray | Tensor | Sequence[np.ndarray | Tensor]
"""One row per example; of one parameter of a model, or of each."""


def read_gradients(owner: str, given: Gradients) -> tuple[list[np.ndarray], Shapes]:
    """The gradients of n examples: one array (n, ...), or one for each parameter of the model; flat rows, and shapes.

    Arrays of numpy, or whatever speaks DLPack from the main memory (torch, JAX): float16, float32 or float64.
    """
    parts = [_read_part(owner, part) for part in (given if isinstance(given, list | tuple) else [given])]
    if not parts:
        raise SchemaError(f"{owner}: gradients must be an array, or a list of one array for each parameter")
    if len({part.shape[0] for part in parts}) > 1:
        raise SchemaError(f"{owner}: gradients of all parameters must be of the same number of examples")
    shapes = tuple(part.shape[1:] for part in parts)
    return [np.ascontiguousarray(part.reshape(part.shape[0], size_of(part.shape[1:]))) for part in parts], shapes


def size_of(shape: tuple[int, ...]) -> int:
    """The number of coordinates of one parameter."""
    return math.prod(shape)


def _read_part(owner: str, given: Any) -> np.ndarray:
    if not isinstance(given, np.ndarray):
        given = _from_dlpack(owner, given)
    if isinstance(given, np.ma.MaskedArray):
        raise SchemaError(f"{owner}: gradients must not be masked; fill what is masked")
    if given.ndim < 2:
        raise SchemaError(f"{owner}: gradients must have one row per example and at least one coordinate")
    if given.dtype == np.float16:
        given = given.astype(np.float32)
    if given.dtype not in (np.float32, np.float64):
        raise SchemaError(f"{owner}: gradients must be float16, float32 or float64, got {given.dtype}")
    return np.asarray(given)


def _from_dlpack(owner: str, given: Any) -> np.ndarray:
    detached = given.detach() if hasattr(given, "detach") else given
    if not hasattr(detached, "__dlpack__"):
        raise SchemaError(f"{owner}: gradients must be numpy arrays or tensors (DLPack), got {type(given).__name__}")
    try:
        return np.asarray(np.from_dlpack(detached))
    except (BufferError, TypeError, ValueError, RuntimeError):
        raise SchemaError(
            f"{owner}: these tensors cannot be read; move them to the CPU as float32, such as tensor.float().cpu()"
        ) from None


class ClippedSum:
    """The sum of clipped gradients in steps of clip / steps: an int64 per coordinate."""

    __slots__ = ("_chosen", "_lanes", "_norms", "_sums", "clip", "count", "shapes", "steps", "totals")

    def __init__(self, clip: float, steps: int, shapes: Shapes) -> None:
        self.clip, self.steps, self.shapes = clip, steps, shapes
        sizes = [size_of(shape) for shape in shapes]
        self.totals = [np.zeros(size, np.int64) for size in sizes]
        self._sums = [zeros_aligned(size, np.int32) for size in sizes]
        self._lanes, self._chosen = (
            zeros_aligned(PAIR * LANES, np.float64).reshape(PAIR, LANES),
            np.zeros(FLUSHED, np.int64),
        )
        self._norms = np.zeros(FLUSHED)
        self.count = 0

    def add(self, parts: Sequence[np.ndarray]) -> None:
        """Add gradients, as `read_gradients` gives them, of the shapes of this sum."""
        self.count += parts[0].shape[0]
        width = sum(part.shape[1] * part.itemsize for part in parts)
        if 4 * width > NEAR:
            self._add_far(parts)
        else:
            self._add_near(parts, min(FLUSHED, NEAR // max(1, width)))
        self._flush()

    def _add_near(self, parts: Sequence[np.ndarray], near: int) -> None:
        """Add rows of which ``near`` stay in a cache between their norms and their sum."""
        held = 0
        for first in range(0, parts[0].shape[0], near):
            rows = [part[first : first + near] for part in parts]
            factors = self._factors(rows)
            if held + factors.size > FLUSHED:
                self._flush()
                held = 0
            for row, sums in zip(rows, self._sums, strict=True):
                add_steps(row, factors, self._chosen[: factors.size], sums)
            held += factors.size

    def _add_far(self, parts: Sequence[np.ndarray]) -> None:
        """Add rows that no cache holds: the norms of the next two are read while two are added."""
        rows = [part[:PAIR] for part in parts]
        factors = self._factors(rows)
        for first in range(0, parts[0].shape[0], PAIR):
            if first % FLUSHED == 0:
                self._flush()
            ahead = [part[first + PAIR : first + 2 * PAIR] for part in parts]
            squares = self._norms[: ahead[0].shape[0]]
            squares[:] = 0.0
            for row, sums, later in zip(rows, self._sums, ahead, strict=True):
                add_steps_ahead(row, factors, sums, later, self._lanes, squares)
            rows, factors = ahead, self._factors_of(squares, ahead)

    def _factors(self, rows: Sequence[np.ndarray]) -> np.ndarray:
        squares = self._norms[: rows[0].shape[0]]
        squares[:] = 0.0
        for row in rows:
            add_square_norms(row, self._lanes, squares)
        return self._factors_of(squares, rows)

    def _factors_of(self, squares: np.ndarray, rows: Sequence[np.ndarray]) -> np.ndarray:
        """What each example is multiplied by, from its square norm; 0 for one that is not finite."""
        factors = np.zeros(squares.size)
        finite = squares < np.inf  # neither is NaN
        factors[finite] = self.steps / np.maximum(np.sqrt(squares[finite]), self.clip) * SLACK
        if any(row.dtype == np.float32 for row in rows):
            factors = factors.astype(np.float32).astype(np.float64)
        return factors

    def _flush(self) -> None:
        for sums, total in zip(self._sums, self.totals, strict=True):
            flush_steps(sums, total)

    def clear(self) -> None:
        """Start again from nothing."""
        for total in self.totals:
            total[:] = 0
        self.count = 0


def check_shapes(owner: str, shapes: Shapes, given: Shapes) -> None:
    """Refuse gradients of another model."""
    if shapes != given:
        raise ParameterError(f"{owner}: gradients have shapes {given}, those before had {shapes}")
