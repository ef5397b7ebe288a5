"""Local reports of numbers within bounds, for means: Duchi's two points, the piecewise mechanism, their hybrid."""

from __future__ import annotations

import math

import numpy as np

from fastdp import validation
from fastdp.channels.window import WindowChannel
from fastdp.kernels.local.count_numbers import count_reports
from fastdp.kernels.local.numeric import ALL
from fastdp.mechanisms.annotations import (
    Pair,
    frozen,
)
from fastdp.mechanisms.base import FiniteMechanism
from fastdp.mechanisms.local.means.reports import MeanReports, window_channel
from fastdp.typing import Column

BINS = 256
HYBRID_FROM = math.log(
    (-5 + 2 * (6353 - 405 * math.sqrt(241)) ** (1 / 3) + 2 * (6353 + 405 * math.sqrt(241)) ** (1 / 3)) / 27
)
"""The epsilon from which a mix beats two points alone in the worst case, about 0.6093525."""


@frozen()
class Duchi(MeanReports):
    """Report one of two numbers, unbiased: the upper one the more often the larger the value.

    epsilon-local DP for one report per person. With the bounds scaled to [-1, 1] reports are -B and B,
    B = (e**epsilon + 1) / (e**epsilon - 1). Values beyond the ``bounds`` count as the bounds, which are declared, never
    inferred. The best of its kind for epsilon below 0.6; above 1.29 see :class:`Piecewise`, or :class:`Hybrid` for all.

    2 random bytes per report. [Duchi, Jordan, Wainwright 2018]

    Parameters
    ----------
    epsilon
        The privacy of one report.
    bounds
        The interval (low, high) that values are clamped to; public.

    >>> import fastdp as fd
    >>> from fastdp.mechanisms.local.numeric import Duchi
    >>> mechanism = Duchi(epsilon=1.0, bounds=(0, 100))
    >>> mechanism.randomize([20.0, 30.0, 70.0], rng=fd.Rng.unsafe_seed(7))
    [158.19767070..., -58.19767070..., 158.19767070...]
    """

    bounds: Pair

    def __post_init__(self) -> None:
        self._set_up_mean(lambda _: 0)

    @property
    def p(self) -> float:
        """The probability of the upper report at the upper bound."""
        return float(1 - self._two_point.q)

    @property
    def q(self) -> float:
        """The probability of the upper report at the lower bound."""
        return float(self._two_point.q)


@frozen()
class Piecewise(MeanReports, FiniteMechanism):
    """Report a number from a window around the value, with a larger probability than one from outside it; unbiased.

    epsilon-local DP for one report per person. With the bounds scaled to [-1, 1] reports lie in [-C, C],
    C = (e**(epsilon/2) + 1) / (e**(epsilon/2) - 1), and the window has the width C - 1. Values are rounded to 2**-20 of
    the bounds' width, or finer; those beyond the ``bounds`` count as the bounds, which are declared, never inferred.
    Better than :class:`Duchi` in the worst case for epsilon above 1.29, and on small values below it.

    6 random bytes per report. [Wang et al. 2019]

    Parameters
    ----------
    epsilon, bounds
        As in `Duchi`.

    >>> import fastdp as fd
    >>> from fastdp.mechanisms.local.numeric import Piecewise
    >>> mechanism = Piecewise(epsilon=4.0, bounds=(0, 100))
    >>> mechanism.randomize([20.0, 30.0, 70.0], rng=fd.Rng.unsafe_seed(7))
    [8.50688012..., 33.91157161..., 77.46371606...]
    """

    bounds: Pair

    def __post_init__(self) -> None:
        self._set_up_mean(lambda _: ALL)

    def channel(self, bins: int = BINS) -> WindowChannel:
        """The channel from equal bins of the bounds to the bins of reports that :meth:`count_outputs` counts.

        Parameters
        ----------
        bins
            The number of equal bins of the bounds.
        """
        return window_channel(self._window, validation.positive_integer("Piecewise", "bins", bins))

    def count_outputs(self, reports: Column, bins: int = BINS) -> np.ndarray:
        """How many reports fall in each output bin of the channel, for an estimate of the whole distribution.

        Parameters
        ----------
        reports
            This mechanism's reports, a column of any container.
        bins
            The number of equal bins of the bounds.
        """
        channel, (low, high) = self.channel(bins), self.bounds
        contrast, middle = float(self._window.contrast), self._kernel[1].middle
        first, slope = middle - (middle - low) / contrast, contrast * bins / (high - low)
        counts = np.zeros((4, channel.shape[1]), np.int64)
        self._add_up(
            reports,
            lambda block, least, most: count_reports(block, first, slope, float(channel.margin), least, most, counts),
        )
        total: np.ndarray = counts.sum(axis=0)
        return total


@frozen()
class Hybrid(MeanReports):
    """Report by :class:`Piecewise` with probability 1 - e**(-epsilon/2), else by :class:`Duchi`; unbiased.

    epsilon-local DP for one report per person. The coin does not depend on the value, and evens the variance out: it is
    the same for all values, and below the worst case of both. For epsilon up to 0.6093525 this is Duchi alone. Values
    beyond the ``bounds`` count as the bounds, which are declared, never inferred.

    8 random bytes per report, or 2. [Wang et al. 2019]

    Parameters
    ----------
    epsilon
        The privacy of one report; above 0.61 it also decides how often a report is by the window.
    bounds
        The interval (low, high) that values are clamped to; public.

    >>> import fastdp as fd
    >>> from fastdp.mechanisms.local.numeric import Hybrid
    >>> Hybrid(epsilon=1.0, bounds=(0, 100)).randomize([20.0, 30.0, 70.0], rng=fd.Rng.unsafe_seed(7))
    [-93.19155862..., 241.41947348..., 158.19767070...]
    >>> round(Hybrid(epsilon=1.0, bounds=(0, 100)).share, 3)
    0.393
    """

    bounds: Pair

    def __post_init__(self) -> None:
        self._set_up_mean(lambda epsilon: round(-math.expm1(-epsilon / 2) * ALL) if epsilon > HYBRID_FROM else 0)

    @property
    def share(self) -> float:
        """The probability of a report by :class:`Piecewise`."""
        return float(self._share / ALL)
