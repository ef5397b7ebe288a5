"""GradientSum: the noisy mean of clipped gradients, exact on an integer grid."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from fastdp import validation
from fastdp.errors import ParameterError
from fastdp.laws.loss_atoms import statement
from fastdp.learning.clipping import (
    MOST_COORDINATES,
    MOST_EXAMPLES,
    MOST_STEPS,
    ClippedSum,
    Gradients,
    Shapes,
    check_shapes,
    read_gradients,
    size_of,
)
from fastdp.losses import GaussianLoss, Loss
from fastdp.mechanisms.central.discrete_gaussian import DiscreteGaussian
from fastdp.mechanisms.central.geometric import Geometric
from fastdp.privacy import Privacy
from fastdp.random.rng import Rng, resolve

if TYPE_CHECKING:
    from fastdp.accounting.ledger import Ledger

LEAST_SIGMA = 1 << 16
"""Of Gaussian noise, in steps: from here on the integers add nothing to what a million coordinates cost."""
CLIPS = (2.0**-100, 2.0**100)


class GradientSum:
    """Clip the gradient of every example, add them up exactly, and release their noisy mean.

    Gradients of norm above ``clip`` are scaled down to it, truncated toward zero to a grid of clip / steps and added as
    integers; discrete Gaussian noise is added to the sum, which is divided by ``batch``. The same bits for any order
    of the examples and any cut into microbatches. A gradient that is not finite counts as zero: an error would tell.

    rho-zCDP for adding or removing one example (or, by ``epsilon``, pure DP through geometric noise, for few
    coordinates). ``fd.sampled(sum, rate=...)`` is the cost of a step on a Poisson sample, and
    ``fd.compose([(fd.sampled(sum, rate=...), steps)])`` of a whole training. 8 random bytes per coordinate.
    [Abadi et al. 2016; Kairouz, Liu, Steinke 2021 for the grid]

    Parameters
    ----------
    clip
        The largest L2 norm of one example's gradient.
    rho
        The zCDP of one release.
    noise_multiplier
        Sigma as a multiple of the clip, instead of rho.
    epsilon
        The pure DP of one release, instead of rho.
    batch
        What the sum is divided by: the expected number of examples, which is declared and never counted.
    steps
        Steps of the grid within the clip, a power of two of at most 2**24.
    shapes
        The shape of each parameter of the model; taken from the first gradients where it is not given.
    rng
        The stream of noise; None is the process's own.

    >>> import fastdp as fd, numpy as np
    >>> mean = GradientSum(clip=1.0, noise_multiplier=1.0, batch=4, rng=fd.Rng.unsafe_seed(1))
    >>> mean.add(np.array([[3.0, 4.0], [0.1, 0.0], [np.nan, 1.0]])).release().shape
    (2,)
    >>> mean.privacy
    Privacy(rho=0.49999..., unit='record', neighbours='add/remove')
    """

    def __init__(
        self,
        *,
        clip: float,
        batch: float,
        rho: float | None = None,
        noise_multiplier: float | None = None,
        epsilon: float | None = None,
        steps: int = MOST_STEPS,
        shapes: Shapes | None = None,
        rng: Rng | None = None,
    ) -> None:
        owner = "GradientSum"
        self.clip = validation.positive(owner, "clip", clip)
        if not CLIPS[0] <= self.clip <= CLIPS[1]:
            raise ParameterError(f"{owner}: clip must lie between 2**-100 and 2**100, got {clip!r}; rescale the loss")
        self.batch = validation.positive(owner, "batch", batch)
        self.steps = int(validation.power_of_two(owner, "steps", validation.positive_integer(owner, "steps", steps)))
        if self.steps > MOST_STEPS:
            raise ParameterError(f"{owner}: steps must be at most 2**24, got {steps!r}")
        kind = validation.exactly_one(owner, rho=rho, noise_multiplier=noise_multiplier, epsilon=epsilon)
        self.epsilon = None if epsilon is None else validation.positive(owner, "epsilon", epsilon)
        self._gaussian: DiscreteGaussian | None = None
        if kind == "rho":
            self._gaussian = DiscreteGaussian(rho=rho, sensitivity=self.steps)
        elif noise_multiplier is not None:
            scale = validation.positive(owner, "noise_multiplier", noise_multiplier) * self.steps
            self._gaussian = DiscreteGaussian(scale=scale, sensitivity=self.steps)
        if self._gaussian is not None and self.sigma < LEAST_SIGMA:
            raise ParameterError(
                f"{owner}: sigma is {self.sigma:.6g} steps of the grid, below 2**16; give more steps, or more noise"
            )
        self.shapes = shapes
        self._rng = resolve(owner, rng)
        self._sum: ClippedSum | None = None
        self._single, self._dtype = False, np.dtype(np.float64)
        if shapes is not None:
            self.declare(shapes)

    def declare(self, shapes: Shapes) -> None:
        """Say what shapes the gradients will have, where they were not given; refused if others were."""
        shapes = tuple(tuple(shape) for shape in shapes)
        if self._sum is not None:
            check_shapes("GradientSum", self._sum.shapes, shapes)
            return
        if sum(map(size_of, shapes)) > MOST_COORDINATES:
            raise ParameterError("GradientSum: a model has at most 2**32 coordinates here")
        self._sum = ClippedSum(self.clip, self.steps, shapes)
        self.shapes = shapes

    @property
    def sigma(self) -> float:
        """The scale of the Gaussian noise in steps of the grid."""
        if self._gaussian is None:
            raise ParameterError("GradientSum: geometric noise has no sigma; ask `mechanism`")
        return math.sqrt(float(self._gaussian.variance))

    @property
    def noise_multiplier(self) -> float:
        """The scale of the Gaussian noise as a multiple of the clip."""
        return self.sigma / self.steps

    @property
    def coordinates(self) -> int:
        """The number of coordinates of a gradient, once it is known; 2**32, the most that there can be, until then."""
        return MOST_COORDINATES if self._sum is None else sum(total.size for total in self._sum.totals)

    @property
    def mechanism(self) -> DiscreteGaussian | Geometric:
        """What draws the noise of each coordinate, in steps of the grid.

        Geometric noise is for the L1 norm, which is at most that of L2 times the root of the number of coordinates.
        """
        if self._gaussian is not None:
            return self._gaussian
        if self._sum is None:
            raise ParameterError("GradientSum: the scale of geometric noise depends on the model; give shapes")
        return Geometric(epsilon=self.epsilon, sensitivity=math.isqrt(self.steps**2 * self.coordinates))

    @property
    def privacy(self) -> Privacy:
        """The guarantee of one release for adding or removing one example."""
        if self._gaussian is None:
            return Privacy(epsilon=self.epsilon)
        return Privacy(rho=self._gaussian.privacy.rho)

    def losses(self) -> tuple[Loss, ...]:
        """The privacy loss of one release: a Gaussian's, with the rounding of every coordinate charged."""
        if self.epsilon is not None:
            return (statement(self.epsilon),)
        (one,) = self.mechanism.losses()
        assert isinstance(one, GaussianLoss)
        count = float(self.coordinates)
        return (GaussianLoss(mu=one.mu, margin=one.margin * count, distance=one.distance * count),)

    def to_dict(self) -> dict[str, Any]:
        """The parameters, as a ledger stores them."""
        noise = {"epsilon": self.epsilon} if self.epsilon is not None else {"noise_multiplier": self.noise_multiplier}
        return {"type": "GradientSum", "clip": self.clip, "batch": self.batch, "steps": self.steps, **noise}

    def add(self, gradients: Gradients) -> GradientSum:
        """Add the gradients of some examples: an array (n, ...), or one for each parameter of the model.

        Numpy arrays, or tensors of torch and JAX in the main memory (DLPack). Nothing is added if any is refused.
        """
        parts, shapes = read_gradients("GradientSum", gradients)
        self.declare(shapes)
        assert self._sum is not None
        if self._sum.count + parts[0].shape[0] > MOST_EXAMPLES:
            raise ParameterError("GradientSum: a sum is of at most 2**38 examples")
        self._single = not isinstance(gradients, list | tuple)
        self._dtype = parts[0].dtype
        self._sum.add(parts)
        return self

    def release(self, *, ledger: Ledger | None = None) -> Any:
        """The noisy mean, in the shapes and the type of the gradients; the sum starts again from nothing.

        With a ``ledger`` the release is paid for before noise is drawn.
        """
        if self._sum is None:
            raise ParameterError("GradientSum: nothing was added and no shapes were given; add gradients first")
        mechanism = self.mechanism
        if ledger is not None:
            ledger.spend(self, name="gradient sum")
        exact = self._sum.totals[0] if len(self._sum.totals) == 1 else np.concatenate(self._sum.totals)
        noisy = np.asarray(mechanism.randomize(exact, rng=self._rng))
        self._sum.clear()
        means = (noisy * (self.clip / self.steps / self.batch)).astype(self._dtype, copy=False)
        edges = np.cumsum([total.size for total in self._sum.totals])[:-1]
        shaped = [part.reshape(shape) for part, shape in zip(np.split(means, edges), self._sum.shapes, strict=True)]
        return shaped[0] if self._single else shaped

    def __repr__(self) -> str:
        noise = (
            f"epsilon={self.epsilon!r}" if self.epsilon is not None else f"noise_multiplier={self.noise_multiplier!r}"
        )
        return f"GradientSum(clip={self.clip!r}, {noise}, batch={self.batch!r}, steps={self.steps!r})"
