"""Points brought back onto the simplex."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from fastdp.errors import ParameterError
from fastdp.kernels.products.simplex import apply_simplex


def project_simplex(values: ArrayLike) -> np.ndarray:
    """The distribution nearest to ``values`` in Euclidean distance; linear time. [Condat 2016]

    Parameters
    ----------
    values
        Any finite numbers.

    >>> project_simplex([1.1, -0.1]).tolist()
    [1.0, 0.0]
    >>> project_simplex([0.5, 0.4, 0.4]).round(4).tolist()
    [0.4, 0.3, 0.3]
    """
    point = _read("project_simplex", values)
    return _normalised(_filtered(point))


def clip_simplex(values: ArrayLike) -> np.ndarray:
    """``values`` with negative ones set to 0, divided by their sum.

    Parameters
    ----------
    values
        Any finite numbers.

    >>> clip_simplex([0.9, 0.3, -0.2]).tolist()
    [0.75, 0.25, 0.0]
    """
    point = np.maximum(_read("clip_simplex", values), 0.0)
    top = point.max()
    if not top > 0:
        raise ParameterError('clip_simplex: no value is above 0, so nothing is left to divide; use "simplex"')
    return _normalised(point / top)


def _filtered(point: np.ndarray) -> np.ndarray:
    out = np.empty_like(point)
    apply_simplex(point, np.empty_like(point), np.empty_like(point), out)
    return out


def _normalised(point: np.ndarray) -> np.ndarray:
    point /= point.sum()
    return point


def _read(owner: str, values: ArrayLike) -> np.ndarray:
    try:
        point = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        point = np.zeros(0)
    if point.ndim != 1 or not point.size or not np.isfinite(point).all():
        raise ParameterError(f"{owner}: values must be a one-dimensional array of finite numbers, not empty")
    return point
