"""TreeNoise and BandedNoise: noise for the steps of a training that cancels in its prefix sums.

The integers of every step come from slots of their own, so that old noise is drawn again instead of kept: a model
whose ring of old noise does not fit into memory trains as well.
"""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from fastdp import validation
from fastdp.engine.runner import working_memory
from fastdp.errors import ParameterError
from fastdp.kernels.gradients.streams import add_scaled, solve_banded
from fastdp.laws.central.gaussian import GaussianLaw
from fastdp.learning.clipping import MOST_COORDINATES, ClippedSum, Gradients, check_shapes, read_gradients
from fastdp.learning.streams import (
    COEFFICIENT_BITS,
    invert,
    optimal_coefficients,
    prefix_errors,
    quantise,
    squared_sensitivity,
)
from fastdp.losses import GaussianLoss
from fastdp.privacy import Privacy
from fastdp.random.rng import Rng, Slots, resolve
from fastdp.threads import for_each_block
from fastdp.typing import Numbers

GRID = 1 << 20
"""Steps of the gradients' grid within the clip."""
FINE = 1 << COEFFICIENT_BITS
"""Steps of the noise within a step of the gradients."""
KEEPS = ("ring", "nothing")


class StreamNoise:
    """Integers of draw t from the slots t * dimension, t * dimension + 1, ...: the same whenever they are asked for.

    Gradients are in steps of clip / GRID, noise in steps of clip / (GRID * FINE): multiples of the coefficients.
    """

    def __init__(self, owner: str, steps: int, dimension: int, sigma: float, clip: float, rng: Rng | None) -> None:
        self.steps = validation.positive_integer(owner, "steps", steps)
        self.dimension = validation.positive_integer(owner, "dimension", dimension)
        self.clip = validation.positive(owner, "clip", clip)
        if self.dimension > MOST_COORDINATES:
            raise ParameterError(f"{owner}: dimension must be at most 2**32")
        self._law = GaussianLaw.of_sigma(sigma * GRID * FINE, owner)
        self._sum = ClippedSum(self.clip, GRID, ((self.dimension,),))
        self._fill = self._law.sampler()
        self._draws = self._count_draws()
        self._slots: Slots = resolve(owner, rng).reserve(self._draws * self.dimension)

    def _count_draws(self) -> int:
        return self.steps

    def _drawn(self, number: int) -> np.ndarray:
        """The integers of one draw."""
        key, start = self._slots
        out = np.empty(self.dimension, np.int64)

        def work(first: int, stop: int) -> None:
            slot = start + np.uint64(number * self.dimension + first)
            with working_memory() as memory:
                self._fill(key, slot, first, None, memory.scratch, out[first:stop])

        for_each_block(self.dimension, work)
        return out

    def add(self, gradients: Gradients) -> Self:
        """Add the gradients of some examples to the sum of the step at hand: an array (n, dimension)."""
        owner = type(self).__name__
        parts, shapes = read_gradients(owner, gradients)
        check_shapes(owner, self._sum.shapes, shapes)
        self._sum.add(parts)
        return self

    def _take_sum(self) -> np.ndarray:
        """The exact sum of the step at hand, and a new step."""
        found = self._sum.totals[0].copy()
        self._sum.clear()
        return found

    @property
    def scale(self) -> float:
        """A step of the noise in units of the gradients."""
        return self.clip / GRID / FINE

    def _guarantee(self, squared: float) -> Privacy:
        """Of Gaussian noise on a vector of this squared sensitivity, in units of the clip; rounded up."""
        rho = self._law.rho(GRID * FINE) * squared * (1 + 1e-12)
        return Privacy(rho=rho)

    def _loss(self, squared: float) -> GaussianLoss:
        one = self._law.loss(GRID * FINE)
        assert isinstance(one, GaussianLoss)
        count = float(self._draws) * self.dimension
        mu = one.mu * math.sqrt(squared) * (1 + 1e-12)
        return GaussianLoss(mu=mu, margin=one.margin * count, distance=one.distance * count)


class BandedNoise(StreamNoise):
    """Noise for each step of a training, correlated by a banded Toeplitz matrix: much of it cancels in prefix sums.

    ``add`` the gradients of a step and ``release`` their noisy sum: noise is added to the integers of C x, and what is
    released follows from these alone. ``noise(t)`` is the noise by itself, for sums that are made elsewhere; it is
    exact only up to the rounding of floats. rho-zCDP for one example that takes part in at most ``participations``
    steps, at least ``separation`` apart, which whoever makes the batches must keep to. The coefficients are rounded to
    multiples of 2**-12 first; ``None`` takes those of the least error.
    [Choquette-Choo et al. 2023; Kalinin, Lampert 2024]

    Parameters
    ----------
    bands
        The number of coefficients; 1 is independent noise.
    steps
        The number of steps of the training.
    dimension
        The number of coordinates of a gradient.
    noise_multiplier
        Sigma of the underlying noise as a multiple of clip times sensitivity: rho is 1 / (2 noise_multiplier**2).
    clip
        The largest L2 norm of one example's gradient.
    participations
        How often an example takes part at the most.
    separation
        How many steps lie between two of its participations at the least; no less than ``bands`` is best.
    coefficients
        The coefficients, the first 1, none above the one before; None computes the best.
    keep
        "ring" keeps the last bands - 1 rows of noise; "nothing" draws all old noise again, t rows at step t.
    rng
        The stream of noise; None is the process's own.

    >>> import fastdp as fd
    >>> noise = BandedNoise(bands=4, steps=16, dimension=3, noise_multiplier=1.0, rng=fd.Rng.unsafe_seed(1))
    >>> noise.noise(0).shape, round(noise.privacy.rho, 6)
    ((3,), 0.5)
    """

    def __init__(
        self,
        *,
        bands: int,
        steps: int,
        dimension: int,
        noise_multiplier: float,
        clip: float = 1.0,
        participations: int = 1,
        separation: int | None = None,
        coefficients: Numbers | None = None,
        keep: str = "ring",
        rng: Rng | None = None,
    ) -> None:
        owner = "BandedNoise"
        bands = validation.positive_integer(owner, "bands", bands)
        steps = validation.positive_integer(owner, "steps", steps)
        if bands > steps:
            raise ParameterError(f"{owner}: bands must be at most steps, got {bands} of {steps}")
        self.participations = validation.positive_integer(owner, "participations", participations)
        chosen = bands if separation is None else separation
        self.separation = validation.positive_integer(owner, "separation", chosen)
        self.keep = validation.one_of(owner, "keep", keep, KEEPS)
        if coefficients is None:
            coefficients = optimal_coefficients(bands, steps, self.participations, self.separation)
        self.coefficients = _read_coefficients(owner, coefficients, bands)
        self._squared = squared_sensitivity(self.coefficients, steps, self.participations, self.separation)
        multiplier = validation.positive(owner, "noise_multiplier", noise_multiplier)
        super().__init__(owner, steps, dimension, multiplier * math.sqrt(self._squared), clip, rng)
        self._ring = np.zeros((bands - 1, dimension if self.keep == "ring" else 0), np.float32)
        self._inverse = np.zeros(0) if self.keep == "ring" else invert(self.coefficients, steps)
        self._next = 0
        self._whole = np.rint(self.coefficients * FINE).astype(np.int64)
        self._sums: list[np.ndarray] = []
        self._released: np.ndarray | None = None

    @property
    def sensitivity(self) -> float:
        """The L2 sensitivity of C x in units of the clip."""
        return math.sqrt(self._squared) * (1 + 1e-15)

    @property
    def privacy(self) -> Privacy:
        """The guarantee of the whole training for one example, rounded up."""
        return self._guarantee(self._squared)

    def losses(self) -> tuple[GaussianLoss, ...]:
        """The privacy loss of the whole training: a Gaussian's."""
        return (self._loss(self._squared),)

    def prefix_std_errors(self) -> np.ndarray:
        """The standard deviation of the noise in each prefix sum of gradients, in their unit."""
        return np.asarray(np.sqrt(prefix_errors(self.coefficients, self.steps)) * self._law.sigma * self.scale)

    def release(self) -> np.ndarray:
        """The noisy sum of the gradients that were added since the last release: one step of the training."""
        step = self._next
        if step == self.steps:
            raise ParameterError(f"BandedNoise: all {self.steps} steps were released")
        self._sums = [self._take_sum(), *self._sums[: self.coefficients.size - 1]]
        noisy = self._drawn(step)
        for whole, old in zip(self._whole, self._sums, strict=False):
            noisy += whole * old
        if self._released is None:
            self._released = np.zeros((self.coefficients.size - 1, self.dimension), np.float32)
        out = np.empty(self.dimension, np.float32)
        solve_banded(noisy, self.coefficients, self._released, step, self.scale, out)
        self._next += 1
        return out

    def noise(self, step: int) -> np.ndarray:
        """The noise of a step; with ``keep="ring"`` steps are asked for in order, once each."""
        if not 0 <= step < self.steps:
            raise ParameterError(f"BandedNoise: step must be at least 0 and below {self.steps}, got {step!r}")
        if self.keep == "nothing":
            total = np.zeros(self.dimension)
            for back in range(step + 1):
                add_scaled(self._drawn(step - back), self._inverse[back] * self.scale, total)
            return total.astype(np.float32)
        if step != self._next:
            raise ParameterError(
                f"BandedNoise: the next step is {self._next}, got {step!r}; steps in any order need keep='nothing'"
            )
        out = np.empty(self.dimension, np.float32)
        solve_banded(self._drawn(step), self.coefficients, self._ring, step, self.scale, out)
        self._next += 1
        return out


def _read_coefficients(owner: str, given: Any, bands: int) -> np.ndarray:
    found = quantise(validation.floats(owner, "coefficients", given))
    if found.shape != (bands,) or found[0] != 1 or not np.isfinite(found).all():
        raise ParameterError(
            f"{owner}: coefficients must be {bands} numbers, the first 1, as multiples of 2**-{COEFFICIENT_BITS}"
        )
    return found


class TreeNoise(StreamNoise):
    """Noise of the prefix sums of a training from a binary tree: O(log steps) draws in each sum.

    ``add`` the gradients of a step and ``release`` the noisy sum of all steps so far. Node sums of a binary tree get
    noise once each, and a prefix is made of few nodes. ``prefix(t)`` is the noise by itself, for sums that are made
    elsewhere, exact up to the rounding of floats; with ``online=True`` every node is averaged with what is under it
    (Honaker), which is for `prefix` alone. rho-zCDP for one example that takes part in one step. Nodes are drawn again
    from their slots. [Dwork et al. 2010; Chan, Shi, Song 2011; Honaker 2015; Kairouz et al. 2021]

    Parameters
    ----------
    steps
        The number of steps.
    dimension
        The number of coordinates of a gradient.
    noise_multiplier
        Sigma of a node as a multiple of clip times sensitivity: rho is 1 / (2 noise_multiplier**2).
    clip
        The largest L2 norm of one example's gradient.
    online
        Average every node with the nodes under it.
    rng
        The stream of noise; None is the process's own.

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
