"""Privacy losses as plain data: the pair of output distributions that dominates a release, in closed form or as atoms.

The loss of an output y is ln P(y) / Q(y), where P and Q are its distributions on two neighbouring data sets. Laws make
these values from the integers of their samplers, `accounting` composes them; neither needs to know the other.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """One release on one pair of neighbouring data sets.

    The sampler may differ from the closed form or the atoms in two ways, both charged by `accounting`: each
    probability by a factor within ``e**±margin``, and both distributions by a statistical ``distance``.
    """

    margin: float = 0.0
    distance: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianLoss(Loss):
    """N(mu, 1) against N(0, 1): the loss is N(mu**2 / 2, mu**2). The same in both directions."""

    mu: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LaplaceLoss(Loss):
    """Continuous Laplace noise whose scale is 1 / epsilon of the shift. The same in both directions."""

    epsilon: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GeometricLoss(Loss):
    """Noise with P(z) proportional to e**(-rate |z|) on the integers, shifted by ``steps``.

    The losses are (steps - 2 j) * rate for j = 0..steps. The same in both directions.
    """

    rate: float
    steps: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledGaussianLoss(Loss):
    """Gaussian noise on a Poisson sample: (1 - rate) N(0, 1) + rate N(mu, 1) against N(0, 1), or ``reverse``d."""

    mu: float
    rate: float
    reverse: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ConcentratedLoss(Loss):
    """Any loss of rho-zCDP: E e**(z L) <= e**(rho z (z + 1)) for z > 0, and no more is known. The same both ways."""

    rho: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RenyiLoss(Loss):
    """Any loss of which E e**(z L) <= e**(z epsilon) is known at some z = order - 1 > 0. The same both ways."""

    orders: tuple[float, ...]
    epsilons: tuple[float, ...]


HEAD = 4
"""Numbers before the atoms of a packed `AtomicLoss`: margin, distance, p_infinite, q_infinite."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AtomicLoss(Loss):
    """Finitely many losses: atom i has mass ``p[i]`` under P and ``q[i]`` under Q, so that its loss is ln p[i] / q[i].

    ``losses`` holds that logarithm, since the quotient of two floats would lose digits near 0. ``p_infinite`` is the
    mass of P where Q has none, ``q_infinite`` the reverse. Masses and losses are right to a relative 2**-50. The other
    direction swaps P and Q.
    """

    losses: np.ndarray = field(repr=False)
    p: np.ndarray = field(repr=False)
    q: np.ndarray = field(repr=False)
    p_infinite: float = 0.0
    q_infinite: float = 0.0
    _known: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

    @property
    def packed(self) -> bytes:
        """All that it holds, as float64 one after the other: `HEAD` numbers, then losses, p and q."""
        found = self._known.get("packed")
        if found is None:
            head = np.array([self.margin, self.distance, self.p_infinite, self.q_infinite])
            found = self._known["packed"] = np.concatenate([head, self.losses, self.p, self.q]).astype(float).tobytes()
        packed: bytes = found
        return packed

    @property
    def is_symmetric(self) -> bool:
        """Whether both directions have the same atoms, in the reverse order."""
        if "is_symmetric" not in self._known:
            mirrored = np.array_equal(self.p, self.q[::-1]) and np.array_equal(self.losses, -self.losses[::-1])
            self._known["is_symmetric"] = mirrored and self.p_infinite == self.q_infinite
        return bool(self._known["is_symmetric"])

    __eq__ = object.__eq__  # not that of `Loss`, to which all atoms of one margin are the same
    __hash__ = object.__hash__


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CellsLoss(Loss):
    """A loss between two others: outcomes merged to cells lie ``below``, cells spread to their ends ``above``."""

    below: AtomicLoss
    above: AtomicLoss

    __eq__ = object.__eq__
    __hash__ = object.__hash__
