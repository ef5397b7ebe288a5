"""Guarantees by Rényi divergences, as others state them, so that they compose with everything else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fastdp import validation
from fastdp.errors import ParameterError
from fastdp.losses import RenyiLoss
from fastdp.privacy import Neighbours


@dataclass(frozen=True, slots=True)
class RenyiPrivacy:
    """A guarantee of Rényi differential privacy: an epsilon for each of some orders.

    Between orders, (order - 1) epsilon is at most the chord, since cumulants are convex; beyond the last one nothing is
    known. [Mironov 2017]

    Parameters
    ----------
    orders
        An epsilon for each order > 1.
    unit, neighbours
        What is protected, and how neighbouring data sets differ, as in `Privacy`.

    >>> import fastdp as fd
    >>> gaussian = RenyiPrivacy({order: order * 0.5 for order in (2, 4, 8, 16, 32)})
    >>> round(fd.compose([gaussian]).epsilon(delta=1e-6).upper, 2)
    5.54
    """

    orders: Mapping[float, float]
    unit: str = "record"
    neighbours: Neighbours = "add/remove"

    def __post_init__(self) -> None:
        if not isinstance(self.orders, Mapping) or not self.orders:
            raise ParameterError("RenyiPrivacy: orders must map each order > 1 to its epsilon")
        read = {}
        for order, epsilon in self.orders.items():
            order, epsilon = validation.as_float(order), validation.as_float(epsilon)  # noqa: PLW2901
            if not 1 < order < float("inf") or not 0 <= epsilon < float("inf"):
                raise ParameterError("RenyiPrivacy: orders must be finite numbers > 1, their epsilons finite and >= 0")
            read[order] = epsilon
        validation.one_of("RenyiPrivacy", "neighbours", self.neighbours, ("add/remove", "replace"))
        object.__setattr__(self, "orders", dict(sorted(read.items())))

    @property
    def loss(self) -> RenyiLoss:
        """What is known of the loss."""
        return RenyiLoss(orders=tuple(self.orders), epsilons=tuple(self.orders.values()))

    def __hash__(self) -> int:
        return hash((tuple(self.orders.items()), self.unit, self.neighbours))
