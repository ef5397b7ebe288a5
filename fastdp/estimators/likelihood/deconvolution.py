"""Undoing the noise of a map too large to write its channel out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fastdp.channels import GridChannel

TOLERANCE = 1e-11
"""Of what is left over, in parts of the shares."""
MOST_STEPS = 200
"""Thirty are needed where epsilon is 1/2 per cell, eight at 1.7; 200 take half a minute on 500 x 500 cells."""

Apply = Callable[[np.ndarray], np.ndarray]


def deconvolve(channel: GridChannel, shares: np.ndarray, most_condition: float) -> np.ndarray | None:
    """The solution p of p C = shares by some tens of products with the channel; None where it is not found.

    Away from the border the channel is a convolution, which a division of Fourier transforms undoes; stabilised
    biconjugate gradients put right what is wrong with that at the border. [van der Vorst 1992]
    """
    undo = _undo_convolution(channel, most_condition)
    return None if undo is None else _biconjugate_gradients(lambda p: _forward(channel, p), undo, shares)


def _forward(channel: GridChannel, p: np.ndarray) -> np.ndarray:
    """The product p C of any numbers: the channel's own takes results below 0 for rounding."""
    product: np.ndarray = channel.forward(np.maximum(p, 0.0)) - channel.forward(np.maximum(-p, 0.0))
    return product


def _undo_convolution(channel: GridChannel, most_condition: float) -> Apply | None:
    """What divides by the noise's transform, on twice the grid's sides; None if that is nearly 0 somewhere."""
    rows, columns = channel.grid
    sides = (2 * rows, 2 * columns)
    masses = np.zeros(sides)
    masses[:-1, :-1] = channel.masses
    waves = np.fft.rfft2(np.roll(masses, (1 - rows, 1 - columns), axis=(0, 1)))
    sizes = np.abs(waves)
    if not sizes.min() * most_condition > sizes.max():
        return None
    gathered = channel.forward(np.ones(rows * columns))  # the border gathers what falls outside

    def undo(values: np.ndarray) -> np.ndarray:
        transformed = np.fft.rfft2((values / gathered).reshape(rows, columns), s=sides)
        return np.fft.irfft2(transformed / waves, s=sides)[:rows, :columns].reshape(-1)

    return undo


def _biconjugate_gradients(apply: Apply, undo: Apply, wanted: np.ndarray) -> np.ndarray | None:
    """The x with apply(x) = wanted, where undo nearly undoes apply; None if it is not found."""
    x = undo(wanted)
    left = wanted - apply(x)
    shadow, enough = left.copy(), TOLERANCE * float(np.linalg.norm(wanted))
    direction, image = np.zeros(wanted.size), np.zeros(wanted.size)
    rho = alpha = omega = 1.0
    with np.errstate(all="ignore"):  # a breakdown shows as a norm that is not finite
        for _ in range(MOST_STEPS):
            size = float(np.linalg.norm(left))
            if size <= enough:
                return x
            if not np.isfinite(size):
                return None
            before, rho = rho, float(shadow @ left)
            direction = left + np.divide(rho, before) * np.divide(alpha, omega) * (direction - omega * image)
            step = undo(direction)
            image = apply(step)
            alpha = float(np.divide(rho, shadow @ image))
            half = left - alpha * image
            other = undo(half)
            product = apply(other)
            omega = float(np.divide(product @ half, product @ product))
            x = x + alpha * step + omega * other
            left = half - omega * product
    return None
