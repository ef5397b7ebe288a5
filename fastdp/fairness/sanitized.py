"""Fairness when attributes, labels or decisions are reports of a mechanism: counts won back through its channel.

Taken at face value such reports make decisions look fairer than they are: with two groups of one size the gap shrinks
by tanh(epsilon / 2). Here every count is a linear function of the counts of reports, with the inverse of the channel as
its coefficients, one factor for each column that was sanitized. Its variance is that of a multinomial sample, so rates
and differences have intervals that cover.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fastdp import validation
from fastdp.binomial import normal_quantile
from fastdp.columns.categories import flat_codes
from fastdp.columns.domain import Domain
from fastdp.errors import NotIdentifiableError, ParameterError
from fastdp.fairness.achieving.policies import Economics, Policy
from fastdp.fairness.achieving.prices import best_policy
from fastdp.fairness.contrasts import Contrast, largest_gap, smallest_ratio
from fastdp.fairness.criteria import COUNTERFACTUAL, Criterion, assess_gaps
from fastdp.fairness.encoding import OWNER, Codes, encode
from fastdp.fairness.rates import RATES, Rates, weights_of
from fastdp.fairness.scores import Calibration, Roc, ScoreTable
from fastdp.fairness.tables import LEVEL, FairnessTable
from fastdp.fairness.tally import Tally
from fastdp.mechanisms.local.frequencies import CategoryReports

if TYPE_CHECKING:
    from fastdp.channels import Channel

LARGEST_CONDITION = 1e9


def encode_reports(name: str, column: Any, mechanism: Any) -> Codes:
    """The codes of reports, over the whole domain that the mechanism declares."""
    if not isinstance(mechanism, CategoryReports):
        raise ParameterError(
            f"{OWNER}: the mechanism of {name} must report values of its own domain, as KRR and RandomizedResponse do"
        )
    values = domain_values(mechanism)
    if values == (False, True):
        seen = encode(name, column).exact()
        if not set(seen.values) <= {0, 1}:
            raise ParameterError(f"{OWNER}: the reports of {name} must be truth values")
        return Codes(np.array([int(value) for value in seen.values], np.uint8)[seen.codes], (0, 1))
    domain = Domain.read(OWNER, list(values))
    return Codes(flat_codes(f"{OWNER}: {name}", column, domain).astype(np.uint16), values)


def domain_values(mechanism: CategoryReports) -> tuple[Any, ...]:
    """What the inputs of a mechanism's channel stand for."""
    names = mechanism.value_names()
    if names is not None:
        return tuple(names)
    size = mechanism.channel().shape[0]
    return (False, True) if not hasattr(mechanism, "domain") else tuple(range(size))


@dataclass(frozen=True, slots=True)
class SanitizedTable:
    """Rates and gaps of the truth behind a table of reports; ``naive`` is the table that takes them at face value.

    ``truth="sample"`` asks for the rates of the population that people were drawn from; ``"fixed"`` for those of these
    very people, where only the mechanism is random.
    """

    naive: FairnessTable
    mechanisms: Mapping[str, CategoryReports]
    truth: str = "sample"

    def __post_init__(self) -> None:
        validation.one_of(OWNER, "truth", self.truth, ("sample", "fixed"))

    @property
    def _axes(self) -> tuple[str, ...]:
        return (*self.naive.attributes, "given", "y_true", "y_pred")

    def _inverses(self, axes: tuple[str, ...] | None = None) -> dict[int, np.ndarray]:
        """The inverse of the channel of each axis that was sanitized."""
        found = {}
        for axis, name in enumerate(self._axes if axes is None else axes):
            if name in self.mechanisms:
                matrix = self.mechanisms[name].channel().dense()
                if np.linalg.cond(matrix) > LARGEST_CONDITION:
                    raise NotIdentifiableError(f"{OWNER}: the reports of {name} hold nothing about the truth")
                found[axis] = np.linalg.inv(matrix)
        return found

    @property
    def groups(self) -> tuple[tuple[Any, ...], ...]:
        """Every combination of the attributes' values that may have people."""
        return tuple(itertools.product(*self.naive.tally.values[:-3]))

    @property
    def counts(self) -> np.ndarray:
        """Unbiased counts of the truth, by attributes, stratum, label and decision; some may be negative."""
        return _win_back(self.naive.tally.counts, self._inverses())

    def likeliest(self) -> np.ndarray:
        """The likeliest counts of the truth, none of them negative: iterative Bayesian update on the joint table."""
        from fastdp.channels import Channel
        from fastdp.channels.product import ProductChannel
        from fastdp.estimators.ibu import ibu

        tally = self.naive.tally
        if tally.squares is not None:
            raise ParameterError(f"{OWNER}: the likeliest counts are of rows without weights")
        parts: list[Channel] = [
            self.mechanisms[name].channel() if name in self.mechanisms else Channel.from_matrix(np.eye(len(values)))
            for name, values in zip(self._axes, tally.values, strict=True)
            if len(values) > 1
        ]
        found = ibu(ProductChannel(*parts) if len(parts) > 1 else parts[0], tally.counts.ravel())
        return np.asarray(found.distribution.reshape(tally.counts.shape) * tally.counts.sum())

    def _selectors(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """The cells of the truth that a rate counts and divides by, [group, ...axes]."""
        if self.naive.positive is None:
            raise ParameterError(f"{OWNER}: there are several classes; choose one with positive=")
        labels, decisions = (
            np.array([int(value == self.naive.positive) for value in axis]) for axis in self.naive.tally.values[-2:]
        )
        shape = self.naive.tally.counts.shape
        size = len(self.groups)
        member = np.eye(size).reshape(size, *shape[:-3], 1, 1, 1)
        hits, denominator = (one[np.ix_(labels, decisions)] for one in weights_of(name))
        whole = np.ones((*(1,) * len(shape[:-3]), shape[-3], 1, 1))
        return member * whole * hits, member * whole * denominator

    def _moments(self, name: str) -> _Moments:
        over, under = self._selectors(name)
        tally = self.naive.tally
        reports, inverses = tally.counts.ravel().astype(float), self._inverses()
        squares = tally.counts if tally.squares is None else tally.squares  # of the weights, which vary with the rows
        one, two = _pull(over, inverses), _pull(under, inverses)
        products = [(a * squares.ravel()) @ b.T for a, b in ((one, one), (one, two), (two, two))]
        if self.truth == "fixed":
            plain, flat = (
                _win_back(squares, inverses).ravel(),
                (over.reshape(len(over), -1), under.reshape(len(under), -1)),
            )
            inner = [(a * plain) @ b.T for a, b in ((flat[0], flat[0]), (flat[0], flat[1]), (flat[1], flat[1]))]
            products = [product - part for product, part in zip(products, inner, strict=True)]
        n = reports.sum() if self.truth == "sample" and tally.squares is None else np.inf
        xx, xt, tt = products
        return _Moments(one @ reports, two @ reports, xx, xt, tt, float(n))

    def rates(self, name: str, *, level: float = LEVEL) -> Rates:
        """A rate in every group, with Fieller's interval; undefined where a group may have nobody to divide by."""
        level = validation.level(OWNER, level)
        moments = self._moments(name)
        low, high = moments.fieller(normal_quantile(level))
        return Rates(name, self.groups, moments.x, moments.t, moments.rates(low, high), low, high, level)

    def gap(self, name: str, *, level: float = LEVEL) -> Contrast:
        """The largest difference between two groups, with intervals that hold for all pairs together."""
        level = validation.level(OWNER, level)
        low, high = self.differences(name, level=level, intervals=self._pairs())
        return largest_gap(name, self.groups, self.rates(name).values, low, high, level)

    def ratio(self, name: str, *, level: float = LEVEL) -> Contrast:
        """The smallest ratio between two groups, with intervals that hold for all pairs together."""
        level = validation.level(OWNER, level)
        moments = self._moments(name)
        low, high = moments.ratios(normal_quantile(level, self._pairs()))
        return smallest_ratio(name, self.groups, self.rates(name).values, low, high, level)

    def differences(self, name: str, *, level: float = LEVEL, intervals: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Intervals of the differences of all pairs of groups, first minus second."""
        return self._moments(name).differences(normal_quantile(validation.level(OWNER, level), intervals))

    def four_fifths(self, *, favourable: int = 1, level: float = LEVEL) -> Contrast:
        """The smallest ratio of the true shares that get the favourable decision, 1 or 0."""
        return self.ratio("selection" if favourable else "rejection", level=level)

    def criteria(self, *, tolerance: float = 0.05, favourable: int = 1, level: float = LEVEL) -> tuple[Criterion, ...]:
        """Every criterion of the truth with its gap and what can be said of it."""
        tolerance, level = validation.probability(OWNER, "tolerance", tolerance), validation.level(OWNER, level)
        return tuple(assess_gaps(self, {}, tolerance=tolerance, favourable=favourable, level=level))

    def _pairs(self) -> int:
        return max(len(self.groups) * (len(self.groups) - 1) // 2, 1)

    def _score_inverses(self) -> dict[int, np.ndarray]:
        """The inverses for the axes of a table of scores, where labels are 0 and 1."""
        axes = (*self.naive.attributes, "y_true", "score")
        found = self._inverses(axes)
        label = len(self.naive.attributes)
        if label in found and domain_values(self.mechanisms["y_true"])[0] == self.naive.positive:
            found[label] = found[label][::-1, ::-1]
        return found

    def scores(self) -> ScoreTable:
        """Unbiased counts of the truth by attributes, label and score, where positive: for ROC curves and policies."""
        naive = self.naive.scores
        if naive is None:
            raise ParameterError(f"{OWNER}: the table has no scores; give score=")
        counts = np.maximum(_win_back(naive.tally.counts, self._score_inverses()), 0.0)
        return ScoreTable(Tally(naive.tally.values, counts), naive.width)

    def roc(self) -> Roc:
        """The true and false positive rates of every threshold in every group, of the truth."""
        table = self.scores()
        return table.roc(self._groups_of(table))

    def _groups_of(self, table: ScoreTable) -> tuple[tuple[Any, ...], ...]:
        seen = table.tally.counts.sum(axis=(-2, -1)).ravel() > 0
        return tuple(itertools.compress(itertools.product(*table.tally.values[:-2]), seen))

    def thresholds(
        self, criterion: str, *, gain: float, cost: float, tolerance: float = 0.0, randomized: bool = True
    ) -> Policy:
        """The most profitable decisions under a criterion, as of a :class:`FairnessTable`, by estimates of the truth.

        Its groups are the true ones: whoever decides by it must know the attribute.
        """
        table = self.scores()
        return best_policy(
            table, self._groups_of(table), criterion, Economics(gain, cost), tolerance=tolerance, randomized=randomized
        )

    def calibration(self, *, level: float = LEVEL, bins: int | None = None) -> Calibration:
        """The share of positives at every score in every group, of the truth, with Fieller's intervals."""
        level = validation.level(OWNER, level)
        if self.naive.scores is None:
            raise ParameterError(f"{OWNER}: the table has no scores; give score=")
        table, scores = self.naive.scores.few(bins)
        inverses = self._score_inverses()
        shape = table.tally.counts.shape[:-1]
        member = np.eye(len(self.groups)).reshape(len(self.groups), *shape[:-1], 1)
        positive = np.array([int(value) for value in table.tally.values[-2]], float)
        one, two = _pull(member * positive, inverses), _pull(member * np.ones(positive.size), inverses)
        counts = table.tally.counts.reshape(-1, scores.size).astype(float)
        squares = counts if table.tally.squares is None else table.tally.squares.reshape(counts.shape)
        found = np.empty((4, len(self.groups), scores.size))
        for place in range(scores.size):
            xx, xt, tt = ((a * squares[:, place]) @ b.T for a, b in ((one, one), (one, two), (two, two)))
            moments = _Moments(one @ counts[:, place], two @ counts[:, place], xx, xt, tt, np.inf)
            low, high = moments.fieller(normal_quantile(level))
            found[:, :, place] = moments.t, moments.rates(low, high), low, high
        sizes, values, lows, highs = found
        return Calibration(self.groups, scores, sizes, values, lows, highs, level)

    def naive_bias(self, name: str) -> float:
        """How much smaller the gap looks if reports are taken at face value: the estimated gap less the naive one."""
        return self.gap(name).value - self.naive.gap(name).value

    def to_dict(self, *, level: float = LEVEL, tolerance: float = 0.05, favourable: int = 1) -> dict[str, Any]:
        """Rates and gaps, as JSON has them, beside the naive gaps."""
        names = tuple(RATES)
        criteria = self.criteria(tolerance=tolerance, favourable=favourable, level=level)
        return {
            "attributes": list(self.naive.attributes),
            "rows": self.naive.rows,
            "sanitized": {name: mechanism.to_dict() for name, mechanism in self.mechanisms.items()},
            "rates": [self.rates(name, level=level).to_dict() for name in names],
            "gaps": [
                {**self.gap(name, level=level).to_dict(), "naive": self.naive.gap(name).to_dict()["value"]}
                for name in names
            ],
            "criteria": [criterion.to_dict() for criterion in criteria],
            "counterfactual": COUNTERFACTUAL,
        }


def _win_back(counts: np.ndarray, inverses: Mapping[int, np.ndarray]) -> np.ndarray:
    """Unbiased sums over the truth from sums over reports."""
    counts = counts.astype(float)
    for axis, inverse in inverses.items():
        counts = np.moveaxis(np.tensordot(counts, inverse, (axis, 0)), -1, axis)
    return counts


def _pull(selectors: np.ndarray, inverses: Mapping[int, np.ndarray]) -> np.ndarray:
    """Coefficients of reports for each sum over the truth."""
    for axis, inverse in inverses.items():
        selectors = np.moveaxis(np.tensordot(inverse, selectors, (1, axis + 1)), 0, axis + 1)
    return selectors.reshape(selectors.shape[0], -1)


@dataclass(frozen=True, slots=True)
class _Moments:
    """Sums x over t of every group, their second moments [group, group] over reports, and the size of the sample."""

    x: np.ndarray
    t: np.ndarray
    xx: np.ndarray
    xt: np.ndarray
    tt: np.ndarray
    n: float

    def rates(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """NaN where the interval is all of [0, 1]: the data do not tell whether anybody is there."""
        told = (self.t > 0) & ((low > 0) | (high < 1))
        quotient = np.divide(self.x, self.t, out=np.full(self.x.shape, np.nan), where=told)
        return np.asarray(np.clip(quotient, 0, 1))

    def fieller(self, z: float) -> tuple[np.ndarray, np.ndarray]:
        """All rates r at which x - r t is within z standard errors of 0; [0, 1] where they have no bound."""
        f = 1 + z * z / self.n
        xx, xt, tt = np.diag(self.xx), np.diag(self.xt), np.diag(self.tt)
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
            cross = self.xx - r[None, :] * self.xt - r[:, None] * self.xt.T + np.outer(r, r) * self.tt
            return np.asarray(cross / np.outer(self.t, self.t))

    def differences(self, z: float) -> tuple[np.ndarray, np.ndarray]:
        """Wald's intervals of differences, correlated as the reports make them; [-1, 1] where a rate is not told."""
        low, high = self.fieller(z)
        spread = self.covariance()
        told = (self.t > 0) & ((low > 0) | (high < 1))
        with np.errstate(all="ignore"):
            r = self.x / self.t
            error = z * np.sqrt(np.diag(spread)[:, None] + np.diag(spread)[None, :] - 2 * spread)
            gap = r[:, None] - r[None, :]
        both = told[:, None] & told[None, :]
        down = np.where(both, gap - error, low[:, None] - high[None, :])
        up = np.where(both, gap + error, high[:, None] - low[None, :])
        return np.clip(down, -1, 1), np.clip(up, -1, 1)

    def ratios(self, z: float) -> tuple[np.ndarray, np.ndarray]:
        """Log intervals of ratios of rates; [0, inf] where one may be 0."""
        low, high = self.fieller(z)
        with np.errstate(all="ignore"):
            r, spread = self.x / self.t, self.covariance()
            relative = np.diag(spread) / r**2
            error = z * np.sqrt(relative[:, None] + relative[None, :] - 2 * spread / np.outer(r, r))
            ratio = r[:, None] / r[None, :]
            down, up = ratio * np.exp(-error), ratio * np.exp(error)
        both = ((low > 0) & (high < 1))[:, None] & ((low > 0) & (high < 1))[None, :]
        return np.where(both, down, 0.0), np.where(both, up, np.inf)
