"""Sums over the truth as linear functions of counts of reports, their variances, and intervals of what they divide to.

The coefficients are those of the inverse of the channel, one factor for each column that was sanitized. The variance is
that of a multinomial sample, so rates and differences have intervals that cover.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from fastdp.estimators.simplex import project_simplex


def win_back(counts: np.ndarray, inverses: Mapping[int, np.ndarray]) -> np.ndarray:
    """Unbiased sums over the truth from sums over reports."""
    counts = counts.astype(float)
    for axis, inverse in inverses.items():
        counts = np.moveaxis(np.tensordot(counts, inverse, (axis, 0)), -1, axis)
    return counts


def pull(selectors: np.ndarray, inverses: Mapping[int, np.ndarray]) -> np.ndarray:
    """Coefficients [group, cell] of reports for each sum over the truth."""
    for axis, inverse in inverses.items():
        selectors = np.moveaxis(np.tensordot(inverse, selectors, (1, axis + 1)), 0, axis + 1)
    return selectors.reshape(selectors.shape[0], -1)


def nearest_counts(counts: np.ndarray, inverses: Mapping[int, np.ndarray]) -> np.ndarray:
    """Counts of the truth of which none is negative: the nearest to unbiased ones with the same totals.

    Totals are over the axes that were sanitized; those of the other axes are known, and kept.
    """
    axes = sorted(inverses)
    found = np.moveaxis(win_back(counts, inverses), axes, range(-len(axes), 0))
    rows = found.reshape(-1, int(np.prod(found.shape[-len(axes) :])))
    for place in np.flatnonzero((rows < 0).any(axis=1)):
        total = rows[place].sum()
        rows[place] = total * project_simplex(rows[place] / total) if total > 0 else 0.0
    return np.moveaxis(rows.reshape(found.shape), range(-len(axes), 0), axes)


def monotone_counts(counts: np.ndarray) -> np.ndarray:
    """Counts along a line of scores of which none is negative, from unbiased ones.

    Their sums from the first score on are the rising ones that are nearest in the largest error. Both passes are
    nonexpansive in it, so no sum is further from the truth than the worst unbiased one; setting negative counts to 0
    adds up their noise instead.
    """
    sums = counts.cumsum(axis=-1)
    sums = np.clip(sums, 0.0, np.maximum(sums[..., -1:], 0.0))
    rising = np.maximum.accumulate(sums, axis=-1)
    falling = np.minimum.accumulate(sums[..., ::-1], axis=-1)[..., ::-1]
    return np.maximum(np.diff((rising + falling) / 2, axis=-1, prepend=0.0), 0.0)


@dataclass(frozen=True, slots=True)
class Sums:
    """What a rate counts in every group and what it divides by, as coefficients [group, cell] of reports.

    Both are sums over cells of the truth: those of different groups have none in common, and all that are counted are
    among those that are divided by.
    """

    counted: np.ndarray
    divided: np.ndarray

    def moments(self, reports: np.ndarray, squares: np.ndarray | None = None, *, truth: str = "sample") -> Moments:
        """Of counts of reports [..., cell], or of sums of weights with those of their ``squares``."""
        reports = reports.astype(float)
        spread = reports if squares is None else squares
        one, two = (part * spread[..., None, :] for part in (self.counted, self.divided))
        xx, xt, tt = one @ self.counted.T, one @ self.divided.T, two @ self.divided.T
        if truth == "fixed":  # less the variance of the truth itself, which is diagonal
            own = np.eye(len(self.counted))
            x, t = (own * (spread @ part.T)[..., None, :] for part in (self.counted, self.divided))
            xx, xt, tt = xx - x, xt - x, tt - t
        n = reports.sum(axis=-1)[..., None] if truth == "sample" and squares is None else np.inf
        return Moments(reports @ self.counted.T, reports @ self.divided.T, xx, xt, tt, n)


@dataclass(frozen=True, slots=True)
class Moments:
    """Sums x over t of every group, their second moments [group, group] over reports, and the size of the sample.

    Axes before that of the groups are tables of their own.
    """

    x: np.ndarray
    t: np.ndarray
    xx: np.ndarray
    xt: np.ndarray
    tt: np.ndarray
    n: np.ndarray | float

    @classmethod
    def stack(cls, parts: Iterable[Moments]) -> Moments:
        """Those of several sums over the same reports, on a first axis."""
        found = list(parts)
        x, t, xx, xt, tt = (np.stack([getattr(one, name) for one in found]) for name in ("x", "t", "xx", "xt", "tt"))
        return cls(x, t, xx, xt, tt, found[0].n)

    def rates(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """NaN where the interval is all of [0, 1]: the data do not tell whether anybody is there."""
        quotient = np.divide(self.x, self.t, out=np.full(self.x.shape, np.nan), where=self._told(low, high))
        return np.asarray(np.clip(quotient, 0, 1))

    def _told(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        return np.asarray((self.t > 0) & ((low > 0) | (high < 1)))

    def fieller(self, z: float) -> tuple[np.ndarray, np.ndarray]:
        """All rates r at which x - r t is within z standard errors of 0; [0, 1] where they have no bound."""
        f = 1 + z * z / self.n
        xx, xt, tt = (np.diagonal(part, axis1=-2, axis2=-1) for part in (self.xx, self.xt, self.tt))
        a, b, c = f * self.t**2 - z * z * tt, f * self.x * self.t - z * z * xt, f * self.x**2 - z * z * xx
        bounded = (a > 0) & (self.t > 0)
        root = np.sqrt(np.maximum(b * b - a * c, 0))
        safe = np.where(bounded, a, 1.0)
        low, high = np.where(bounded, (b - root) / safe, 0.0), np.where(bounded, (b + root) / safe, 1.0)
        return np.clip(low, 0, 1), np.clip(high, 0, 1)

    def covariance(self) -> np.ndarray:
        """The covariance of the rates, linearised: that of (x - r t) / t."""
        with np.errstate(all="ignore"):
            r = self.x / self.t
            cross = self.xx - r[..., None, :] * self.xt - r[..., :, None] * np.swapaxes(self.xt, -1, -2)
            return np.asarray((cross + _outer(r) * self.tt) / _outer(self.t))

    def differences(self, z: float) -> tuple[np.ndarray, np.ndarray]:
        """Wald's intervals of differences, correlated as the reports make them; [-1, 1] where a rate is not told."""
        low, high = self.fieller(z)
        with np.errstate(all="ignore"):
            r = self.x / self.t
            error = z * np.sqrt(_of_differences(self.covariance()))
            gap = r[..., :, None] - r[..., None, :]
        told = self._told(low, high)
        both = told[..., :, None] & told[..., None, :]
        down = np.where(both, gap - error, low[..., :, None] - high[..., None, :])
        up = np.where(both, gap + error, high[..., :, None] - low[..., None, :])
        return np.clip(down, -1, 1), np.clip(up, -1, 1)

    def ratios(self, z: float) -> tuple[np.ndarray, np.ndarray]:
        """Log intervals of ratios of rates; [0, inf] where one may be 0."""
        low, high = self.fieller(z)
        with np.errstate(all="ignore"):
            r = self.x / self.t
            error = z * np.sqrt(_of_differences(self.covariance() / _outer(r)))
            ratio = r[..., :, None] / r[..., None, :]
            down, up = ratio * np.exp(-error), ratio * np.exp(error)
        told = (low > 0) & (high < 1)
        both = told[..., :, None] & told[..., None, :]
        return np.where(both, down, 0.0), np.where(both, up, np.inf)


def _outer(vectors: np.ndarray) -> np.ndarray:
    return np.asarray(vectors[..., :, None] * vectors[..., None, :])


def _of_differences(covariance: np.ndarray) -> np.ndarray:
    """The variances of the differences of all pairs."""
    own = np.diagonal(covariance, axis1=-2, axis2=-1)
    return np.asarray(own[..., :, None] + own[..., None, :] - 2 * covariance)
