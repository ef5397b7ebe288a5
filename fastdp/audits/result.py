"""What an audit has proven, as a value that prints itself."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from fastdp.rounding import digits_up

if TYPE_CHECKING:
    import pyarrow as pa

DELTAS = (0.0, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1)


def digits_down(value: float, digits: int = 4) -> str:
    """Format what is proven with ``digits`` decimals, rounded down.

    >>> digits_down(0.99999), digits_down(12.18345, 2)
    ('0.9999', '12.18')
    """
    scale = 10**digits
    return f"{math.floor(value * scale) / scale:.{digits}f}" if math.isfinite(value) else str(value)


@dataclass(frozen=True, slots=True)
class Witness:
    """The event that proves an epsilon: outputs that one input gives far more often than the other."""

    event: str
    """The event in words."""
    likelier: str
    """The input that it is likelier for, "a" or "b"."""
    counts: tuple[int, int]
    """How many draws of the likelier and of the other input are in it."""
    limits: tuple[float, float]
    """The lower limit of its probability for the likelier input, and the upper limit for the other."""


@dataclass(frozen=True, slots=True, repr=False)
class EpsilonAudit:
    """The largest epsilon that the outputs of a mechanism prove, at a confidence level.

    The mechanism is not (epsilon', delta)-private for any epsilon' below ``epsilon``, unless an event happened whose
    probability is at most 1 - ``level``.
    """

    epsilon: float
    """The proven epsilon at ``delta``."""
    delta: float
    level: float
    draws: int
    """Draws per input that the proof rests on; training draws come on top."""
    claimed: float | None
    """The epsilon that the mechanism states at ``delta``, or that was given; None if there is none."""
    exact: float | None
    """The epsilon of the two inputs by the mechanism's channel, where it has one."""
    witness: Witness
    curve: tuple[tuple[float, float], ...]
    """The proven epsilon for each of several deltas, all at once."""
    name: str
    pair: tuple[str, str]
    unsafe: bool = False
    """Whether draws came from a fixed seed."""
    histogram: dict[str, Any] = field(default_factory=dict, compare=False)
    """Counts of outputs in bins and the bins of the event, for pictures; empty where outputs are no numbers."""
    promise: tuple[tuple[int, float], ...] = field(default=(), compare=False)
    """What the proving event would prove with fewer draws, at the same frequencies; for pictures."""

    @property
    def verdict(self) -> str:
        """Whether the claim is refuted; an audit never proves that it holds."""
        if self.claimed is None:
            return "nothing was claimed"
        if self.epsilon > self.claimed:
            return "refuted"
        return f"not refuted (gap {self.claimed - self.epsilon:.4f})"

    @property
    def is_refuted(self) -> bool:
        """Whether more is proven than was claimed."""
        return self.claimed is not None and self.epsilon > self.claimed

    def to_dict(self) -> dict[str, Any]:
        """Everything but the counts for pictures, for JSON."""
        return {
            "mechanism": self.name, "pair": list(self.pair), "epsilon": self.epsilon, "delta": self.delta,
            "level": self.level, "draws": self.draws, "claimed": self.claimed, "exact": self.exact,
            "verdict": self.verdict, "curve": [list(point) for point in self.curve], "unsafe_seed": self.unsafe,
            "witness": {
                "event": self.witness.event, "likelier": self.witness.likelier, "counts": list(self.witness.counts),
                "limits": list(self.witness.limits),
            },
        }  # fmt: skip

    def table(self) -> pa.Table:
        """The proven curve, as an Arrow table of delta and epsilon."""
        import pyarrow as pa

        deltas, epsilons = np.array(self.curve).T
        return pa.table({"delta": deltas, "epsilon": epsilons})

    def __str__(self) -> str:
        """What is proven, against what is claimed, and by which event."""
        at = f" at delta {self.delta:g}" if self.delta else ""
        other = "b" if self.witness.likelier == "a" else "a"
        low, high = self.witness.limits
        proven = f"epsilon >= {digits_down(self.epsilon)}{at}"
        lines = [
            f"{self.name} on {self.pair[0]} and {self.pair[1]}",
            f"  proven   {proven}, confidence 1 - {1 - self.level:.2g}, {self.draws:,} draws each",
        ]
        if self.claimed is not None:
            lines.append(f"  claimed  epsilon = {digits_up(self.claimed)}: {self.verdict}")
        if self.exact is not None:
            lines.append(f"  exact    epsilon = {self.exact:.4f} by the channel")
        lines += [
            f"  event    {self.witness.event}",
            f"           {self.witness.likelier}: {self.witness.counts[0]:,} draws, probability >= {low:.6g}",
            f"           {other}: {self.witness.counts[1]:,} draws, probability <= {high:.6g}",
        ]
        return "\n".join([*lines, *(["  drawn with a fixed seed"] if self.unsafe else [])])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"
