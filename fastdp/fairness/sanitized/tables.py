"""The table of the truth behind a table of reports: everything that a table of what is seen tells, with intervals."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fastdp import validation
from fastdp.binomial import normal_quantile
from fastdp.errors import NotIdentifiableError, ParameterError
from fastdp.fairness.achieving.platt import Scaling, scale_groups
from fastdp.fairness.achieving.policies import Economics, Policy
from fastdp.fairness.achieving.prices import Price, best_policy, price_of
from fastdp.fairness.contrasts import Contrast, Group, largest_gap, smallest_ratio
from fastdp.fairness.criteria import COUNTERFACTUAL, Criterion, verdict_lines
from fastdp.fairness.encoding import OWNER
from fastdp.fairness.incompatibility import Incompatibility, explain
from fastdp.fairness.labels import LabelSensitivity, sensitivity
from fastdp.fairness.rates import RATES, Rates, divide, percentiles, weights_of
from fastdp.fairness.sanitized.moments import Moments, Sums, nearest_counts, pull, win_back
from fastdp.fairness.sanitized.reports import domain_values
from fastdp.fairness.sanitized.scoring import calibration_of, score_moments, true_scores
from fastdp.fairness.sanitized.verdicts import assess_reports
from fastdp.fairness.scores import Calibration, Roc, ScoreTable
from fastdp.fairness.tables import CHOOSE, LEVEL, FairnessTable
from fastdp.mechanisms.local.frequencies import CategoryReports

if TYPE_CHECKING:
    from fastdp.channels import Channel

LARGEST_CONDITION = 1e9


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

    def __add__(self, other: SanitizedTable) -> SanitizedTable:
        """The table of the rows of both."""
        if (self.truth, dict(self.mechanisms)) != (other.truth, dict(other.mechanisms)):
            raise ParameterError(f"{OWNER}: only tables of reports of the same mechanisms add up")
        return replace(self, naive=self.naive + other.naive)

    @property
    def attributes(self) -> tuple[str, ...]:
        """The names of the attributes."""
        return self.naive.attributes

    @property
    def positive(self) -> Any:
        """The class that counts as positive."""
        return self.naive.positive

    @property
    def classes(self) -> tuple[Any, ...]:
        """All values of labels and decisions."""
        return self.naive.classes

    @property
    def rows(self) -> float:
        """How many rows were counted, or the sum of their weights."""
        return self.naive.rows

    @property
    def strata(self) -> tuple[Any, ...]:
        """The values of ``given``; one, None, without it."""
        return self.naive.strata

    @property
    def _axes(self) -> tuple[str, ...]:
        return (*self.attributes, "given", "y_true", "y_pred")

    def inverses(self, axes: tuple[str, ...] | None = None) -> dict[int, np.ndarray]:
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
    def _known(self) -> np.ndarray:
        """How many rows have each combination of the attributes that are kept, for every group."""
        counts = self.naive.tally.counts
        sanitized = tuple(i for i, name in enumerate(self.attributes) if name in self.mechanisms)
        sizes = counts.sum(axis=(-3, -2, -1)).sum(axis=sanitized, keepdims=True)
        return np.broadcast_to(sizes, counts.shape[:-3])

    @property
    def groups(self) -> tuple[Group, ...]:
        """Every combination of the attributes' values that may have people."""
        return tuple(itertools.compress(itertools.product(*self.naive.tally.values[:-3]), self._known.ravel() > 0))

    @property
    def counts(self) -> np.ndarray:
        """Unbiased counts of the truth, by attributes, stratum, label and decision; some may be negative."""
        return win_back(self.naive.tally.counts, self.inverses())

    @property
    def cells(self) -> np.ndarray:
        """Unbiased counts [group, label, decision], both binary; some may be negative."""
        return self._binary(self.counts)

    def _binary(self, counts: np.ndarray) -> np.ndarray:
        labels, decisions = self._classes_are_positive()
        flat = counts.sum(axis=-3).reshape(-1, *counts.shape[-2:])[self._known.ravel() > 0]
        one, two = np.stack([1 - labels, labels]), np.stack([1 - decisions, decisions])
        return np.asarray(one @ flat @ two.T)

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

    def by(self, *names: str) -> SanitizedTable:
        """The table of some of the attributes, in this order, summed over the others."""
        naive = self.naive.by(*names)
        gone = set(self.attributes) - set(names)
        left = {name: one for name, one in self.mechanisms.items() if name not in gone}
        return replace(self, naive=naive, mechanisms=left)

    def one_vs_rest(self, value: Any) -> SanitizedTable:
        """The same counts with one class as the positive one, and all others as negative; without scores."""
        return replace(self, naive=self.naive.one_vs_rest(value))

    def large(self, least: int) -> tuple[SanitizedTable, int]:
        """The table without groups whose kept attributes fewer rows have in common, and how many groups it leaves out.

        Nobody knows who is in a group by a report, so only the other attributes are counted.
        """
        small = (self._known > 0) & (self._known < least)
        return replace(self, naive=self.naive.within(~small)), int(small.sum())

    def _classes_are_positive(self) -> tuple[np.ndarray, np.ndarray]:
        if self.positive is None:
            raise ParameterError(f"{OWNER}: there are several classes; {CHOOSE}")
        labels, decisions = (np.array([int(v == self.positive) for v in axis]) for axis in self.naive.tally.values[-2:])
        return labels, decisions

    def sums(self, name: str, stratum: int | None = None) -> Sums:
        """What a rate counts and divides by in every group, of all strata or of one, from reports."""
        labels, decisions = self._classes_are_positive()
        shape = self.naive.tally.counts.shape
        places = np.flatnonzero(self._known)
        member = np.eye(self._known.size)[places].reshape(places.size, *shape[:-3], 1, 1, 1)
        whole = (np.arange(shape[-3]) == stratum).astype(float) if stratum is not None else np.ones(shape[-3])
        base = member * whole[:, None, None]
        counted, divided = (one[np.ix_(labels, decisions)] for one in weights_of(name))
        inverses = self.inverses()
        return Sums(pull(base * counted, inverses), pull(base * divided, inverses))

    def _moments(self, name: str) -> Moments:
        tally = self.naive.tally
        squares = None if tally.squares is None else tally.squares.ravel()
        return self.sums(name).moments(tally.counts.ravel(), squares, truth=self.truth)

    def rates(self, name: str, *, level: float = LEVEL, method: str = "fieller") -> Rates:
        """A rate in every group, with Fieller's interval; undefined where a group may have nobody to divide by.

        Wilson's and Clopper and Pearson's are for counts that are seen, and not for those that are won back.
        """
        validation.one_of(f"{OWNER}: rates of reports", "method", method, ("fieller",))
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
        low, high = self._moments(name).ratios(normal_quantile(level, self._pairs()))
        return smallest_ratio(name, self.groups, self.rates(name).values, low, high, level)

    def differences(self, name: str, *, level: float = LEVEL, intervals: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Intervals of the differences of all pairs of groups, first minus second."""
        return self._moments(name).differences(normal_quantile(validation.level(OWNER, level), intervals))

    def four_fifths(self, *, favourable: int = 1, level: float = LEVEL) -> Contrast:
        """The smallest ratio of the true shares that get the favourable decision, 1 or 0."""
        return self.ratio("selection" if favourable else "rejection", level=level)

    def criteria(self, *, tolerance: float = 0.05, favourable: int = 1, level: float = LEVEL) -> tuple[Criterion, ...]:
        """Every criterion of the truth with its gap, its p-value where reports have one, and what can be said of it."""
        tolerance, level = validation.probability(OWNER, "tolerance", tolerance), validation.level(OWNER, level)
        return assess_reports(self, tolerance=tolerance, favourable=favourable, level=level)

    def incompatible(self, *, level: float = LEVEL) -> Incompatibility:
        """Which criteria cannot hold together here, shown with the estimates of the truth."""
        return explain(self.groups, self.cells, self.gap("base", level=level))

    def label_sensitivity(
        self, rate: str, *, wrong: float | Mapping[Any, Any], tolerance: float = 0.05
    ) -> LabelSensitivity:
        """How far a rate and its gap move if up to a share ``wrong`` of the labels behind the reports is not the truth.

        As of a :class:`FairnessTable`, from estimates of the truth of which none is negative.
        """
        tolerance = validation.probability(OWNER, "tolerance", tolerance)
        cells = self._binary(nearest_counts(self.naive.tally.counts, self.inverses()))
        return sensitivity(rate, self.groups, cells, wrong, tolerance)

    def bootstrap(self, name: str, *, runs: int = 1000, level: float = LEVEL, seed: int = 0) -> Mapping[str, Any]:
        """Percentile intervals of each group's rate: reports are drawn again, and the truth is won back from each draw.

        Like :meth:`FairnessTable.bootstrap` it has no interval of the largest gap.
        """
        tally, sums = self.naive.tally, self.sums(name)
        if tally.squares is not None or self.truth == "fixed":
            raise ParameterError(f'{OWNER}: the bootstrap is for rows without weights, and for truth="sample"')
        cells = tally.counts.ravel()
        draws = np.random.default_rng(seed).multinomial(int(cells.sum()), cells / cells.sum(), size=runs)
        rates = np.clip(divide(draws @ sums.counted.T, draws @ sums.divided.T), 0, 1)
        low, high = percentiles(rates, level)
        return {"groups": self.groups, "low": low, "high": high}

    def _pairs(self) -> int:
        return max(len(self.groups) * (len(self.groups) - 1) // 2, 1)

    def score_inverses(self) -> dict[int, np.ndarray]:
        """The inverses for the axes of a table of scores, where labels are 0 and 1."""
        found = self.inverses((*self.attributes, "y_true", "score"))
        label = len(self.attributes)
        if label in found and domain_values(self.mechanisms["y_true"])[0] == self.positive:
            found[label] = found[label][::-1, ::-1]
        return found

    @property
    def scores(self) -> ScoreTable | None:
        """Counts of the truth by attributes, label and score, none negative; None without scores.

        Of groups that may have nobody there are none: what reports say of their scores is noise.
        """
        if self.naive.scores is None:
            return None
        told = np.zeros(self._known.size)
        told[np.flatnonzero(self._known)] = ~np.isnan(self.rates("selection").values)
        return true_scores(self.naive.scores, self.score_inverses(), told.reshape(self._known.shape))

    def _scores(self) -> ScoreTable:
        if self.scores is None:
            raise ParameterError(f"{OWNER}: the table has no scores; give score=")
        return self.scores

    def _scored(self, table: ScoreTable) -> tuple[Group, ...]:
        """The groups that the table of scores has people of."""
        seen = table.tally.counts.sum(axis=(-2, -1)).ravel() > 0
        return tuple(itertools.compress(itertools.product(*table.tally.values[:-2]), seen))

    def roc(self) -> Roc:
        """The true and false positive rates of every threshold in every group, of the truth."""
        table = self._scores()
        return table.roc(self._scored(table))

    def thresholds(
        self, criterion: str, *, gain: float, cost: float, tolerance: float = 0.0, randomized: bool = True
    ) -> Policy:
        """The most profitable decisions under a criterion, as of a :class:`FairnessTable`, by estimates of the truth.

        Its groups are the true ones: whoever decides by it must know the attribute.
        """
        table = self._scores()
        return best_policy(
            table, self._scored(table), criterion, Economics(gain, cost), tolerance=tolerance, randomized=randomized
        )

    def price(self, *, gain: float, cost: float, tolerance: float = 0.0) -> Price:
        """The best policy under every criterion, side by side, by estimates of the truth."""
        table = self._scores()
        return price_of(table, self._scored(table), Economics(gain, cost), tolerance=tolerance)

    def scaling(self) -> Scaling:
        """Platt scaling of every true group's scores."""
        table = self._scores()
        return scale_groups(table, self._scored(table))

    def calibration(self, *, level: float = LEVEL, bins: int | None = None) -> Calibration:
        """The share of positives at every score in every group, of the truth, with Fieller's intervals."""
        level = validation.level(OWNER, level)
        moments, scores = self.calibration_moments(bins)
        return calibration_of(moments, scores, self.groups, level)

    def calibration_moments(self, bins: int | None = None) -> tuple[Moments, np.ndarray]:
        """Of positives at every score in every group [score, group], and the scores."""
        if self.naive.scores is None:
            raise ParameterError(f"{OWNER}: the table has no scores; give score=")
        table, scores = self.naive.scores.few(bins)
        return score_moments(table, self.score_inverses(), self._known.ravel() > 0, self.truth), scores

    def naive_bias(self, name: str) -> float:
        """How much smaller the gap looks if reports are taken at face value: the estimated gap less the naive one."""
        return self.gap(name).value - self.naive.gap(name).value

    def __str__(self) -> str:
        names = ", ".join(f"{name} by {type(one).__name__}" for name, one in self.mechanisms.items())
        head = f"{self.rows:,.0f} rows, {len(self.groups)} groups by {', '.join(self.attributes)}; reports: {names}"
        return verdict_lines(self, head)

    def to_dict(self, *, level: float = LEVEL, tolerance: float = 0.05, favourable: int = 1) -> dict[str, Any]:
        """Rates and gaps, as JSON has them, beside the naive gaps."""
        names = tuple(RATES)
        criteria = self.criteria(tolerance=tolerance, favourable=favourable, level=level)
        return {
            "attributes": list(self.attributes),
            "rows": self.rows,
            "sanitized": {name: mechanism.to_dict() for name, mechanism in self.mechanisms.items()},
            "rates": [self.rates(name, level=level).to_dict() for name in names],
            "gaps": [
                {**self.gap(name, level=level).to_dict(), "naive": self.naive.gap(name).to_dict()["value"]}
                for name in names
            ],
            "criteria": [criterion.to_dict() for criterion in criteria],
            "incompatible": self.incompatible(level=level).to_dict(),
            "counterfactual": COUNTERFACTUAL,
        }
