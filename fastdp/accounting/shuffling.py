"""Local reports in a random order, which hide one another: the privacy blanket.

Every other report is, with probability gamma, one of a law that does not depend on its value, the blanket. With
P and Q the laws of the report of one person on two values, and W drawn from the blanket,

    delta(epsilon) <= E[(X_1 + ... + X_n)+] / (gamma n),  X = (P(W) - e^epsilon Q(W)) / blanket(W) or, else, 0.

[Balle, Bell, Gascón, Nissim 2019, lemma 5.3] It is inverted as compositions are: docs/accounting.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from fastdp import validation
from fastdp.accounting.brackets import Bounds, solve
from fastdp.accounting.curve import Curve, checked_delta, checked_epsilon
from fastdp.accounting.positive_part import Atoms, positive_part
from fastdp.errors import ParameterError
from fastdp.losses import AtomicLoss
from fastdp.privacy import MetricPrivacy, Neighbours, Privacy

MOST_RECORDS = 10**12
KINKS = 128
"""Points of the curve that a composition takes; chords between them lie above it."""


@runtime_checkable
class Uniform(Protocol):
    """A local mechanism whose report is the truth or else uniform over so many values, the truth among them."""

    @property
    def uniform_over(self) -> int: ...


def shuffled(local: Any, *, n: int | None = None, width: float = 1e-5) -> ShuffledCurve:
    """The privacy curve of ``n`` local reports that are released in a uniformly random order.

    For k-ary and binary randomized response by their own blanket, for every other epsilon-DP report by clones, which
    hold for all of them. A plan is one report per record: it is refused unless every released column is randomized,
    since a column that is kept would link rows; a receipt also says whether the order was drawn. Who calls this with a
    mechanism vouches for both. The ends of its brackets hold the bound, which holds for all data of the others.
    [Balle, Bell, Gascón, Nissim 2019; Feldman, McMillan, Talwar 2021]

    Parameters
    ----------
    local
        A local mechanism, a `Privacy` of one report, a plan, or the receipt of a shuffled release.
    n
        The number of reports; a receipt knows it.
    width
        The relative width of the bracket of epsilon that is aimed at.

    >>> import fastdp as fd
    >>> crowd = shuffled(fd.KRR(epsilon=1.0, domain=2), n=10_000)
    >>> round(crowd.epsilon(delta=1e-6).upper, 4)
    0.0432
    """
    if n is None:
        n = getattr(local, "rows", None)
    if n is None:
        raise ParameterError("shuffled: give n, the number of reports that are shuffled together")
    n = validation.positive_integer("shuffled", "n", n)
    if n > MOST_RECORDS:
        raise ParameterError(f"shuffled: n must be at most {MOST_RECORDS}, got {n!r}")
    width = validation.as_float(width)
    if not 1e-7 <= width <= 0.1:
        raise ParameterError(f"shuffled: width must be a number between 1e-7 and 0.1, got {width!r}")
    if getattr(local, "shuffled", True) is False:
        raise ParameterError("shuffled: this release kept the order of its input; sanitize with shuffle=True")
    _check_columns(getattr(local, "plan", local))
    stated = local if isinstance(local, Privacy) else getattr(local, "privacy", None)
    privacy = getattr(stated, "record", stated)
    if getattr(stated, "metric", None) or isinstance(privacy, MetricPrivacy):
        raise ParameterError("shuffled: a guarantee by distance has no blanket; randomize whole values")
    if not isinstance(privacy, Privacy) or privacy.epsilon is None or privacy.delta:
        raise ParameterError("shuffled: give a local mechanism, a plan or a Privacy with an epsilon and no delta")
    if privacy.neighbours != "replace":
        raise ParameterError(
            "shuffled: reports are local where they hide the replacement of a value by any other; this guarantee is "
            "for neighbours 'add/remove': use privacy.for_replacement()"
        )
    return ShuffledCurve(privacy.epsilon, _domain_size(local), n, privacy.unit, width)


def _check_columns(plan: Any) -> None:
    """Refuse a plan that releases a column as it is."""
    kept = [part.name for part in getattr(plan, "parts", ()) if part.action not in {"drop", "randomize"}]
    if kept:
        raise ParameterError(
            f"shuffled: column {kept[0]!r} is released as it is and tells rows apart; drop or randomize it"
        )
    shown = [part.name for part in getattr(plan, "parts", ()) if part.nulls in {"public", "drop"}]
    if shown:
        raise ParameterError(f"shuffled: nulls of column {shown[0]!r} are public and tell rows apart; set nulls")


def _domain_size(local: Any) -> int | None:
    """The k of k-ary randomized response; None for other mechanisms."""
    return local.uniform_over if isinstance(local, Uniform) else None


@dataclass(frozen=True, eq=False)
class ShuffledCurve(Curve):
    """The curve of shuffled reports: of randomized response on ``k`` values, or where it is None of any mechanism."""

    report: float
    """The epsilon of one report."""
    k: int | None
    n: int
    unit: str = "record"
    width: float = 1e-5
    neighbours: Neighbours = "replace"

    def _atoms(self, epsilon: float) -> tuple[Atoms, float]:
        """Values and probabilities of X, and gamma."""
        grown, less = math.exp(epsilon), math.exp(-self.report)
        if self.k is None:  # a clone with probability e^-report: a bit that is 0 or 1 as often
            p, q, gamma, size, rest = 1 / (1 + less), less / (1 + less), less, 2, -math.expm1(-self.report)
        else:
            p, size = 1 / (1 + (self.k - 1) * less), self.k
            q = less * p
            gamma, rest = size * q, -math.expm1(-self.report) * p
        values = [0.0, size * (p - grown * q), size * (q - grown * p), -size * q * math.expm1(epsilon)]
        spans = [0.0, size * (p + grown * q), size * (q + grown * p), size * q * math.expm1(epsilon)]
        masses = [rest, gamma / size, gamma / size, gamma * (size - 2) / size]
        kept = [i for i in range(4) if masses[i] > 0]
        return Atoms(*(np.array([row[i] for i in kept]) for row in (values, masses, spans))), gamma

    def delta(self, *, epsilon: float) -> Bounds:
        """Bounds on the blanket's delta at an epsilon >= 0, which is an upper bound on the release's."""
        epsilon = checked_epsilon("ShuffledCurve", epsilon)
        if epsilon >= self.report:
            return Bounds(0.0, 0.0)
        atoms, gamma = self._atoms(epsilon)
        lower, upper = positive_part(atoms, self.n, self.width)
        # a blanket of a single report hides nothing: that report's own curve
        own = -math.expm1(epsilon - self.report) / (1 + math.exp(-self.report)) * (1 + 1e-14)
        share = gamma * self.n
        return Bounds(min(lower / share * (1 - 1e-12), own), min(upper / share * (1 + 1e-12), own))

    def epsilon(self, *, delta: float) -> Bounds:
        """Bounds on the epsilon at which the blanket's delta is the given one."""
        delta = checked_delta("ShuffledCurve", delta)
        if delta == 0:
            return Bounds(self.report, self.report)
        upper = solve(lambda e: self.delta(epsilon=e).upper, delta, 0.0, self.report, self.width / 20)[1]
        low = upper * (1 - 4 * self.width)
        while low > 1e-12 * upper and self.delta(epsilon=low).lower <= delta:
            low = upper - 4 * (upper - low)
        if not low > 0:
            return Bounds(0.0, upper)
        return Bounds(solve(lambda e: self.delta(epsilon=e).lower, delta, low, upper, self.width / 20)[0], upper)

    def losses(self) -> tuple[AtomicLoss, ...]:
        """A pair of distributions whose curve lies above: chords in e^epsilon between points of this one."""
        far = self.epsilon(delta=1e-30).upper
        ends = np.unique([*np.linspace(0, far, KINKS), self.report])
        deltas = np.array([self.delta(epsilon=float(end)).upper for end in ends])
        places = np.exp(ends)
        # a slope is at most those after it: the chords are then convex, and nowhere below the points
        slopes = np.minimum.accumulate((np.diff(deltas) / np.diff(places))[::-1])[::-1]
        q = np.diff(np.append(np.minimum(slopes, 0.0), 0.0))
        p = q * places[1:]
        rest = max(0.0, 1 - float(p.sum()) - float(q.sum()))
        kept = p > 0
        losses, p, q = ends[1:][kept][::-1], p[kept][::-1], q[kept][::-1]
        return (
            AtomicLoss(
                losses=np.concatenate([losses, [0.0], -losses[::-1]]), p=np.concatenate([p, [rest], q[::-1]]),
                q=np.concatenate([q, [rest], p[::-1]]), margin=1e-12,
            ),
        )  # fmt: skip

    @property
    def privacy(self) -> Privacy:
        """What holds for sure: the guarantee of one report."""
        return Privacy(epsilon=self.report, unit=self.unit, neighbours=self.neighbours)
