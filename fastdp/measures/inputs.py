"""Channels and distributions as they are given, checked."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from fastdp.channels import Channel, DenseChannel
from fastdp.errors import ParameterError

ChannelLike: TypeAlias = Channel | ArrayLike
"""A channel, or its matrix of inputs by outputs."""
SUM_TOLERANCE = 1e-9
"""How far from 1 the sum of a distribution may be."""


def read_channel(owner: str, channel: ChannelLike) -> Channel:
    """A channel as it is, or a matrix of inputs by outputs as a channel."""
    return channel if isinstance(channel, Channel) else DenseChannel(read_numbers(owner, "channel", channel, 2))


def read_numbers(owner: str, name: str, value: ArrayLike, *dimensions: int) -> np.ndarray:
    """Finite numbers as float64, at least one, in one of the given numbers of dimensions."""
    try:
        given = np.asarray(value)
    except (TypeError, ValueError):
        given = np.zeros(0, object)
    if given.dtype.kind not in "iuf" or given.ndim not in dimensions or not given.size or np.ma.isMaskedArray(value):
        shape = " or ".join(f"{count}-dimensional" for count in dimensions)
        raise ParameterError(f"{owner}: {name} must be a {shape} array of numbers, not empty")
    numbers = given.astype(np.float64)
    if not np.isfinite(numbers).all():
        raise ParameterError(f"{owner}: {name} must hold finite numbers")
    return numbers


def read_distribution(owner: str, name: str, value: ArrayLike, size: int | None = None) -> np.ndarray:
    """Probabilities that sum to 1 within ``SUM_TOLERANCE``, as given: they are not divided by their sum."""
    numbers = read_numbers(owner, name, value, 1)
    if size is not None and numbers.size != size:
        raise ParameterError(f"{owner}: {name} must have {size} entries, one per input, got {numbers.size}")
    if (numbers < 0).any():
        raise ParameterError(f"{owner}: {name} must hold probabilities >= 0")
    if abs(numbers.sum() - 1) > SUM_TOLERANCE:
        raise ParameterError(f"{owner}: {name} must sum to 1 within {SUM_TOLERANCE:g}; divide it by its sum")
    return numbers


def read_pair(owner: str, p: ArrayLike, q: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Two distributions over the same values."""
    p, q = read_distribution(owner, "p", p), read_distribution(owner, "q", q)
    if p.size != q.size:
        raise ParameterError(f"{owner}: p and q must have the same length, got {p.size} and {q.size}")
    return p, q
