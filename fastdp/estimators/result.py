"""What an estimator returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from fastdp import optional, validation
from fastdp.display.html import to_html
from fastdp.display.plotting import draw_shares, new_axes
from fastdp.errors import NotIdentifiableError, ParameterError
from fastdp.results import Result

if TYPE_CHECKING:
    import pyarrow as pa

    from fastdp.estimators.intervals.spread import Spread


class Interval(NamedTuple):
    """An estimate and the ends of its confidence interval: numbers, or arrays of them."""

    estimate: Any
    low: Any
    high: Any


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Estimate(Result):
    """A distribution of inputs estimated from counts of outputs, with proof of how likely it is.

    ``gap`` bounds how far the mean log-likelihood per report is from the best there is; an estimate that is regularised
    has a large one on purpose. ``log_likelihood`` is that of all reports together.

    >>> from fastdp.channels import KRRChannel
    >>> from fastdp.estimators import ibu
    >>> ibu(KRRChannel(2, 0.75, 0.25), [60, 40])
    Estimate of 2 values from 100 reports, closed form of k-RR
      gap 2.7e-15 after 0 iterations, log-likelihood -67.3012
      0: 0.7000
      1: 0.3000
    """

    estimated = "distribution"

    distribution: np.ndarray
    gap: float
    log_likelihood: float
    iterations: int
    method: str
    n: float
    values: Any = None
    """What the entries stand for, in order; None for their numbers."""
    _spread: Callable[[Estimate], Spread] | None = None
    _cache: dict[str, Any] = field(default_factory=dict)
    edges: np.ndarray | None = None
    """Where the entries begin and end if they are bins, one more than there are entries."""

    def _get_spread(self) -> Spread:
        if self._spread is None:
            raise NotIdentifiableError(
                f"Estimate: {self.method} leaves no counts behind to work out standard errors from"
            )
        if "spread" not in self._cache:
            self._cache["spread"] = self._spread(self)
        spread: Spread = self._cache["spread"]
        return spread

    @property
    def std_error(self) -> np.ndarray:
        """How much each entry would vary from one sample of people to another: its spread.

        Worked out when first asked for: by the information matrix where the maximum likelihood is regular, else by a
        bootstrap. It says nothing of the bias of a regularised estimate, so that no interval can be made of it; use
        :meth:`interval`, :meth:`share` or :meth:`bounds`.
        """
        return self._get_spread().std_error

    def interval(self, level: float) -> tuple[np.ndarray, np.ndarray]:
        """Confidence intervals of each value's share among all people, one at a time; not all together.

        In closed form for k-RR (Wilson's), for unbiased frequencies and where the maximum likelihood is regular; else
        certified as :meth:`bounds` are, for up to 128 values. Each holds its estimate.

        Parameters
        ----------
        level
            The probability that an interval holds the truth, between 0 and 1.
        """
        return self._get_spread().interval(validation.level("interval", level))

    def bounds(self, functional: ArrayLike, level: float, *, simultaneous: bool = False) -> Interval:
        """Confidence interval of a functional h'p, such as a mean, a share or a value of the distribution function.

        ``functional`` has one number h per value, or is a matrix of such rows. The interval covers the truth with
        probability ``level`` whatever the distribution is: it is the mean over the reports of weights found on others,
        plus the worst bias that these can have, plus their standard error. Where reports do not determine the
        functional it is wide. ``simultaneous=True`` makes the intervals of all rows hold together (Bonferroni).

        Parameters
        ----------
        functional
            The weights of a linear function of the distribution, one per value, or rows of such.
        level
            The probability that an interval holds the truth, between 0 and 1.
        simultaneous
            Whether all intervals hold together with this probability, not each by itself.

        >>> from fastdp.channels import KRRChannel
        >>> from fastdp.estimators import ibu
        >>> found = ibu(KRRChannel(3, 0.8, 0.1), [600, 300, 100])
        >>> [round(end, 2) for end in found.bounds([0, 1, 2], 0.95)]  # the mean
        [0.29, 0.24, 0.35]
        """
        level = validation.level("bounds", level)
        rows = _read_functionals(functional, self.distribution.size)
        matrix = np.atleast_2d(rows)
        low, high = self._get_spread().bounds(matrix, level, len(matrix) if simultaneous else 1)
        middle = matrix @ self.distribution
        if rows.ndim == 1:
            return Interval(float(middle[0]), float(low[0]), float(high[0]))
        return Interval(middle, low, high)

    def share(self, which: object, level: float) -> Interval:
        """Confidence interval of the share of some values together: one of them, several, or a mask of all entries.

        Parameters
        ----------
        which
            The values whose share is wanted: labels, numbers, or a truth value for each.
        level
            The probability that an interval holds the truth, between 0 and 1.

        >>> import fastdp as fd
        >>> mechanism = fd.KRR(epsilon=3.0, domain=["cold", "flu", "none"])
        >>> reports = mechanism.randomize(["flu"] * 400 + ["none"] * 600, rng=fd.Rng.unsafe_seed(1))
        >>> found = fd.estimate(mechanism, reports)
        >>> found.share(["cold", "flu"], 0.95).low < 0.4 < found.share(["cold", "flu"], 0.95).high
        True
        """
        return self.bounds(self._mask(which).astype(np.float64), level)

    def _mask(self, which: Any) -> np.ndarray:
        size = self.distribution.size
        mask = np.asarray(which)
        if mask.dtype == bool and mask.shape == (size,):
            return mask
        chosen = which if isinstance(which, list | tuple | set | range | np.ndarray) else [which]
        names = range(size) if self.values is None else self.values
        numbers = {name: i for i, name in enumerate(names)}
        mask = np.zeros(size, bool)
        for one in chosen:
            place = numbers.get(one.item() if isinstance(one, np.generic) else one)
            if place is None:
                raise ParameterError("share: which must be values of this estimate, or a mask of all of them")
            mask[place] = True
        return mask

    def quantile(self, q: float, level: float) -> Interval:
        """Confidence interval of a quantile: the smallest value that a part ``q`` of people do not exceed.

        Values must be numbers in order. Ends are rounded outwards: to values, or to the edges of bins.

        Parameters
        ----------
        q
            The quantile, between 0 and 1.
        level
            The probability that an interval holds the truth, between 0 and 1.

        >>> import fastdp as fd, numpy as np
        >>> mechanism = fd.Geometric(epsilon=2.0, bounds=(0, 20))
        >>> reports = mechanism.randomize(np.arange(21).repeat(500), rng=fd.Rng.unsafe_seed(1))
        >>> found = fd.estimate(mechanism, reports).quantile(0.5, 0.95)
        >>> found.low <= 10 <= found.high
        True
        """
        from fastdp.binomial import normal_quantile
        from fastdp.estimators.intervals.quantiles import (
            LARGEST,
            choose_marks,
            distribution_functionals,
            quantile_range,
        )

        if not validation.is_number(q) or not 0 < q < 1:
            raise ParameterError(f"quantile: q must be a number between 0 and 1, got {q!r}")
        level, size = validation.level("quantile", level), self.distribution.size
        if self.values is not None and not all(isinstance(value, Real) for value in self.values[:2]):
            raise ParameterError("quantile: the values of this estimate are labels, which have no order")
        if size > LARGEST:
            raise ParameterError(f"quantile: at most {LARGEST:,} values, got {size:,}")
        place = int(np.searchsorted(np.cumsum(self.distribution)[:-1], q))
        low = high = place
        if size > 1:
            marks = choose_marks(size)
            lower, upper = self._get_spread().open_bounds(distribution_functionals(marks, size), normal_quantile(level))
            low, high = quantile_range(q, marks, size, lower, upper)
        low, high = min(low, place), max(high, place)
        if self.edges is not None:
            return Interval(self._inside_bin(q, place), float(self.edges[low]), float(self.edges[high + 1]))
        names = range(size) if self.values is None else self.values
        return Interval(names[place], names[low], names[high])

    def _inside_bin(self, q: float, place: int) -> float:
        """Where in a bin the quantile is if its people are spread evenly."""
        assert self.edges is not None  # the caller has looked
        before, own = float(self.distribution[:place].sum()), float(self.distribution[place])
        part = min(max((q - before) / own, 0.0), 1.0) if own > 0 else 0.5
        return float(self.edges[place] + part * (self.edges[place + 1] - self.edges[place]))

    def to_arrow(self, level: float | None = None) -> pa.Table:
        """A table of values and probabilities; with a level also of their spread and intervals.

        The rest of the estimate is in the metadata of its schema.

        Parameters
        ----------
        level
            The probability that an interval holds the truth, between 0 and 1.
        """
        import pyarrow as pa

        columns = {
            "value": pa.array(list(self.values) if self.values is not None else np.arange(self.distribution.size)),
            "probability": pa.array(self.distribution),
        }
        if level is not None:
            low, high = self.interval(level)
            columns |= {"spread": pa.array(self.std_error), "low": pa.array(low), "high": pa.array(high)}
        details = {
            "n": f"{self.n:.17g}", "gap": repr(self.gap), "log_likelihood": repr(self.log_likelihood),
            "iterations": str(self.iterations), "method": self.method,
        }  # fmt: skip
        return pa.table(columns).replace_schema_metadata(details)

    def to_pandas(self, level: float | None = None) -> Any:
        """The table of `to_arrow` as a pandas frame; needs pandas.

        Parameters
        ----------
        level
            The probability that an interval holds the truth, between 0 and 1.
        """
        optional.load("Estimate.to_pandas", "pandas", extra="pandas")
        return self.to_arrow(level).to_pandas()

    def to_dict(self, level: float | None = None) -> dict[str, Any]:
        """Everything in plain Python: lists of values and probabilities, and with a level of their intervals.

        Parameters
        ----------
        level
            The probability that an interval holds the truth, between 0 and 1.
        """
        columns: dict[str, Any] = self.to_arrow(level).to_pydict()
        return columns | {
            "n": self.n, "gap": self.gap, "log_likelihood": self.log_likelihood, "iterations": self.iterations,
            "method": self.method,
        }  # fmt: skip

    def plot(self, *, level: float | None = None, ax: Any = None) -> Any:
        """The distribution as bars, or over its bins; needs matplotlib. Returns the axes.

        Parameters
        ----------
        level
            The level of the intervals that are drawn; none by default.
        ax
            The axes to draw on; new ones by default.
        """
        axes = new_axes("Estimate.plot", ax)
        interval = None if level is None else self.interval(level)
        return draw_shares(axes, self.distribution, names=self.values, edges=self.edges, interval=interval)

    def _repr_html_(self) -> str:
        names = range(self.distribution.size) if self.values is None else self.values
        order = np.argsort(-self.distribution, kind="stable")
        rows = [[str(names[i]), f"{self.distribution[i]:.4f}"] for i in order]
        return to_html(f"{self.n:,.12g} reports, {self.method}, gap {self.gap:.1e}", rows, head=["value", "share"])

    def __repr__(self) -> str:
        size = self.distribution.size
        order = np.argsort(-self.distribution, kind="stable")[:5] if size > 5 else np.arange(size)
        names = [str(self.values[i]) if self.values is not None else f"{i}" for i in order]
        width = max(map(len, names))
        lines = [
            f"Estimate of {size:,} values from {self.n:,.12g} reports, {self.method}",
            f"  gap {self.gap:.1e} after {self.iterations:,} iterations, log-likelihood {self.log_likelihood:.6g}",
            *(f"  {name:>{width}}: {self.distribution[i]:.4f}" for name, i in zip(names, order, strict=True)),
        ]
        return "\n".join([*lines, f"  {'...':>{width}}"] if size > 5 else lines)


def _read_functionals(functional: ArrayLike, size: int) -> np.ndarray:
    """A finite number per value, or rows of such numbers."""
    try:
        rows = np.asarray(functional, np.float64)
    except (TypeError, ValueError):
        rows = np.zeros((0, 0))
    if rows.ndim not in {1, 2} or rows.shape[-1] != size or not rows.size or not np.isfinite(rows).all():
        raise ParameterError(f"bounds: the functional must hold {size} finite numbers, one per value, or rows of them")
    return rows
