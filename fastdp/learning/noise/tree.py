"""Noise of prefix sums from a binary tree."""

from __future__ import annotations

import math

import numpy as np

from fastdp import validation
from fastdp.errors import ParameterError
from fastdp.kernels.gradients.streams import add_scaled
from fastdp.learning.noise.stream import FINE, StreamNoise
from fastdp.losses import GaussianLoss
from fastdp.privacy import Privacy
from fastdp.random.rng import Rng


class TreeNoise(StreamNoise):
    """Noise of the prefix sums of a training from a binary tree: O(log steps) draws in each sum.

    ``add`` the gradients of a step and ``release`` the noisy sum of all steps so far. Node sums of a binary tree get
    noise once each, and a prefix is made of few nodes. ``prefix(t)`` is the noise by itself, for sums that are made
    elsewhere, exact up to the rounding of floats; with ``online=True`` every node is averaged with what is under it
    (Honaker), which is for `prefix` alone. rho-zCDP for one example that takes part in one step. Nodes are drawn again
    from their slots. [Dwork et al. 2010; Chan, Shi, Song 2011; Honaker 2015; Kairouz et al. 2021]

    Parameters
    ----------
    steps, dimension, clip, rng
        As in `BandedNoise`.
    noise_multiplier
        Sigma of a node as a multiple of clip times sensitivity: rho is 1 / (2 noise_multiplier**2).
    online
        Average every node with the nodes under it.

    >>> import fastdp as fd
    >>> noise = TreeNoise(steps=16, dimension=3, noise_multiplier=1.0, rng=fd.Rng.unsafe_seed(1))
    >>> noise.prefix(6).shape, round(noise.privacy.rho, 6)
    ((3,), 0.5)
    """

    def __init__(
        self,
        *,
        steps: int,
        dimension: int,
        noise_multiplier: float,
        clip: float = 1.0,
        online: bool = False,
        rng: Rng | None = None,
    ) -> None:
        owner = "TreeNoise"
        steps = validation.positive_integer(owner, "steps", steps)
        self.online = bool(online)
        self.levels = (steps - 1).bit_length() + 1
        multiplier = validation.positive(owner, "noise_multiplier", noise_multiplier)
        super().__init__(owner, steps, dimension, multiplier * math.sqrt(self.levels), clip, rng)
        self._next = 0
        self._total = np.zeros(self.dimension, np.int64)

    def _count_draws(self) -> int:
        return 2 << (self.levels - 1)

    @property
    def privacy(self) -> Privacy:
        """The guarantee of all prefix sums for one example in one step: it is in one node of every level."""
        return self._guarantee(float(self.levels))

    def losses(self) -> tuple[GaussianLoss, ...]:
        """The privacy loss of all prefix sums: a Gaussian's."""
        return (self._loss(float(self.levels)),)

    def nodes(self, step: int) -> dict[int, float]:
        """The nodes of a prefix and their weights; node 2**d + i is the i-th at depth d, the root being node 1."""
        if not 0 <= step < self.steps:
            raise ParameterError(f"TreeNoise: step must be at least 0 and below {self.steps}, got {step!r}")
        found: dict[int, float] = {}
        end, start = step + 1, 0
        for height in reversed(range(self.levels)):
            if end >> height & 1:
                depth = self.levels - 1 - height
                self._weigh((1 << depth) + (start >> height), height, 1.0, found)
                start += 1 << height
        return found

    def _weigh(self, node: int, height: int, weight: float, found: dict[int, float]) -> None:
        """A node alone, or with what is under it at the weights of the least variance, 1 / (2 - 2**-height)."""
        if not self.online or not height:
            found[node] = found.get(node, 0.0) + weight
            return
        own = honaker_variance(height)
        found[node] = found.get(node, 0.0) + weight * own
        for child in (2 * node, 2 * node + 1):
            self._weigh(child, height - 1, weight * (1 - own), found)

    def prefix_std_errors(self) -> np.ndarray:
        """The standard deviation of the noise in each prefix sum of gradients, in their unit."""
        squares = [math.fsum(weight**2 for weight in self.nodes(step).values()) for step in range(self.steps)]
        return np.asarray(np.sqrt(squares) * self._law.sigma * self.scale)

    def release(self) -> np.ndarray:
        """The noisy sum of the gradients of all steps so far; the next step begins."""
        if self.online:
            raise ParameterError("TreeNoise: averages of nodes are no integers; release needs online=False")
        if self._next == self.steps:
            raise ParameterError(f"TreeNoise: all {self.steps} steps were released")
        self._total += self._take_sum()
        noisy = self._total * FINE
        for node in self.nodes(self._next):
            noisy += self._drawn(node)
        self._next += 1
        return noisy * self.scale

    def prefix(self, step: int) -> np.ndarray:
        """The noise of the sum of the gradients of steps 0 ... step; any step, any number of times."""
        total = np.zeros(self.dimension)
        for node, weight in self.nodes(step).items():
            add_scaled(self._drawn(node), weight * self.scale, total)
        return total


def honaker_variance(height: int) -> float:
    """The variance of a node that is averaged with all under it, for unit noise: 1 / (2 - 2**-height).

    >>> [round(honaker_variance(k), 6) for k in range(4)]
    [1.0, 0.666667, 0.571429, 0.533333]
    """
    return 1 / (2 - 2.0**-height)
