"""numpy: a generator with numpy's names, whose noise is exact and on a grid."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from fastdp.errors import ParameterError
from fastdp.mechanisms.central.gaussian import Gaussian
from fastdp.mechanisms.central.laplace import Laplace
from fastdp.random.rng import Rng, resolve
from fastdp.validation import positive_integer

Size = int | tuple[int, ...] | None
WAYS_OUT = {"geometric": "numpy's is one-sided; fastdp.Geometric adds two-sided noise to integers"}
NOISE = "laplace, normal and standard_normal are; for draws that protect nobody, numpy.random.default_rng()"


class Generator:
    """Noise as ``numpy.random.Generator`` gives it, drawn with cryptographic bits and added on a power-of-two grid.

    Code that calls ``rng.laplace(loc=values, scale=b)`` or ``rng.normal(...)`` needs no other change. The noise is that
    of `fastdp.Laplace` and `fastdp.Gaussian`: pass the values as ``loc``, so that they are rounded to the grid before
    noise is added; noise that is drawn alone and added afterwards leaks through the bits of the sum. ``scale`` may be
    an array, too. numpy's other distributions are refused, for none of them is noise that fastdp draws exactly.

    Parameters
    ----------
    rng
        The stream; by default the process's own.

    >>> noisy = Generator().laplace(loc=[10.0, 20.0], scale=1.0)
    >>> noisy.shape
    (2,)
    """

    def __init__(self, rng: Rng | None = None) -> None:
        self._rng = resolve("fastdp.numpy.Generator", rng)
        self._spawned = 0

    def laplace(self, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, size: Size = None) -> Any:
        """Laplace noise of this scale, around ``loc``."""
        return self._around("laplace", Laplace, loc, scale, size)

    def normal(self, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, size: Size = None) -> Any:
        """Gaussian noise of this standard deviation, around ``loc``."""
        return self._around("normal", Gaussian, loc, scale, size)

    def standard_normal(self, size: Size = None, dtype: DTypeLike = np.float64, out: np.ndarray | None = None) -> Any:
        """Gaussian noise of standard deviation 1, by itself: values to protect are the ``loc`` of `normal`."""
        if np.dtype(dtype) != np.float64:
            raise ParameterError("Generator.standard_normal: dtype must be float64, in which the grid is exact")
        if out is None:
            return self.normal(size=size)
        fits = isinstance(out, np.ndarray) and (size is None or tuple(np.atleast_1d(size).tolist()) == out.shape)
        if not fits or out.dtype != np.float64:
            raise ParameterError("Generator.standard_normal: out must be a float64 array of the given size")
        out[...] = self.normal(size=out.shape)
        return out

    def spawn(self, n_children: int) -> list[Generator]:
        """Generators of independent streams, other ones at every call.

        Parameters
        ----------
        n_children
            How many.
        """
        count = positive_integer("Generator.spawn", "n_children", n_children)
        first, self._spawned = self._spawned, self._spawned + count
        return [Generator(self._rng.child(f"spawned {number}")) for number in range(first, first + count)]

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_") or not hasattr(np.random.Generator, name):
            raise AttributeError(f"fastdp.numpy.Generator has no {name!r}")
        way_out = WAYS_OUT.get(name, NOISE)
        raise AttributeError(f"fastdp.numpy.Generator: {name} is not noise that fastdp draws exactly; {way_out}")

    def _around(self, name: str, kind: Any, loc: Any, scale: Any, size: Any) -> Any:
        centre, spread = np.asarray(loc, np.float64), np.asarray(scale, np.float64)
        try:
            together = np.broadcast_shapes(centre.shape, spread.shape)
            shape = together if size is None else tuple(np.atleast_1d(size).tolist())
            values = np.array(np.broadcast_to(centre, shape)).ravel()
            each = np.broadcast_to(spread, shape).ravel()
        except ValueError:
            raise ParameterError(f"Generator.{name}: loc, scale and size must be of shapes that broadcast") from None
        amount = float(spread) if spread.ndim == 0 else np.array(each)
        made = kind(scale=amount, sensitivity=amount).randomize(values, rng=self._rng).reshape(shape)
        return made if shape or size is not None else float(made)
