"""The table that every group criterion is a function of: groups by strata by labels by decisions."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fastdp import validation
from fastdp.errors import ParameterError
from fastdp.fairness.achieving.platt import Scaling, scale_groups
from fastdp.fairness.achieving.policies import Economics, Policy
from fastdp.fairness.achieving.prices import Price, best_policy, price_of
from fastdp.fairness.contrasts import Contrast, gap_of, ratio_of
from fastdp.fairness.criteria import COUNTERFACTUAL, Criterion, assess, verdict_lines
from fastdp.fairness.encoding import OWNER
from fastdp.fairness.incompatibility import Incompatibility, explain
from fastdp.fairness.labels import LabelSensitivity, sensitivity
from fastdp.fairness.rates import Rates, divide, percentiles, rates_of, weights_of
from fastdp.fairness.scores import Calibration, Roc, ScoreTable
from fastdp.fairness.tally import Tally

LEVEL = 0.95
CHOOSE = "choose one with positive= or .one_vs_rest(value)"


@dataclass(frozen=True, slots=True)
class FairnessTable:
    """Counts of rows by sensitive attributes, ``given`` stratum, true label and decision.

    Every criterion is computed from these counts alone, so tables of batches, files and machines add up with ``+``.
    ``by`` sums over some of the attributes, ``one_vs_rest`` chooses the class that counts as positive.
    """

    attributes: tuple[str, ...]
    tally: Tally
    positive: Any = None
    scores: ScoreTable | None = None

    def __post_init__(self) -> None:
        if self.positive is None and set(self.classes) <= {0, 1}:
            object.__setattr__(self, "positive", 1)

    def __add__(self, other: FairnessTable) -> FairnessTable:
        """The table of the rows of both."""
        if self.attributes != other.attributes or (self.scores is None) != (other.scores is None):
            raise ParameterError(f"{OWNER}: only tables of the same attributes add up, all with scores or none")
        scores = None if self.scores is None or other.scores is None else self.scores + other.scores
        positive = self.positive if self.positive == other.positive else None
        return FairnessTable(self.attributes, self.tally + other.tally, positive, scores)

    @property
    def classes(self) -> tuple[Any, ...]:
        """All values of labels and decisions."""
        return tuple(dict.fromkeys((*self.tally.values[-2], *self.tally.values[-1])))

    @property
    def rows(self) -> float:
        """How many rows were counted, or the sum of their weights."""
        return float(self.tally.counts.sum())

    @property
    def strata(self) -> tuple[Any, ...]:
        """The values of ``given``; one, None, without it."""
        return self.tally.values[-3]

    @property
    def groups(self) -> tuple[tuple[Any, ...], ...]:
        """Every combination of the attributes' values that a row has."""
        return tuple(itertools.compress(itertools.product(*self.tally.values[:-3]), self._present()))

    def _present(self) -> np.ndarray:
        counts = self.tally.counts
        return np.asarray(counts.reshape(-1, *counts.shape[-3:]).sum(axis=(1, 2, 3)) > 0)

    def by(self, *names: str) -> FairnessTable:
        """The table of some of the attributes, in this order, summed over the others."""
        for name in names:
            if name not in self.attributes:
                raise ParameterError(f"{OWNER}: {validation.unknown('attribute', name, self.attributes)}")
        axes = [self.attributes.index(name) for name in names]
        gone = tuple(i for i in range(len(self.attributes)) if i not in axes)
        order = [*np.argsort(np.argsort(axes)), *range(len(axes), len(axes) + 3)]

        def turn(counts: np.ndarray) -> np.ndarray:
            return np.asarray(counts.sum(axis=gone).transpose(order))

        values = (*(self.tally.values[i] for i in axes), *self.tally.values[-3:])
        squares = None if self.tally.squares is None else turn(self.tally.squares)
        scores = None if self.scores is None else self.scores.by(axes)
        return FairnessTable(tuple(names), Tally(values, turn(self.tally.counts), squares), self.positive, scores)

    def large(self, least: int) -> tuple[FairnessTable, int]:
        """The table of groups with at least so many rows, and how many groups it leaves out.

        Rates of a handful of people tell their labels: a page for others is made of large groups alone.
        """
        sizes = self.tally.counts.sum(axis=(-3, -2, -1))
        kept = sizes >= least
        return self.within(kept), int(((sizes > 0) & ~kept).sum())

    def within(self, kept: np.ndarray) -> FairnessTable:
        """The table of the groups that ``kept`` is true of, by attributes."""

        def cut(table: Tally, axes: int) -> Tally:
            mask = kept.reshape(*kept.shape, *(1,) * axes)
            squares = None if table.squares is None else table.squares * mask
            return Tally(table.values, table.counts * mask, squares)

        scores = None if self.scores is None else replace(self.scores, tally=cut(self.scores.tally, 2))
        return replace(self, tally=cut(self.tally, 3), scores=scores)

    def __str__(self) -> str:
        return verdict_lines(self, f"{self.rows:,.0f} rows, {len(self.groups)} groups by {', '.join(self.attributes)}")

    def one_vs_rest(self, value: Any) -> FairnessTable:
        """The same counts with one class as the positive one, and all others as negative; without scores."""
        if value not in self.classes:
            raise ParameterError(f"{OWNER}: positive must be one of the labels or decisions")
        return replace(self, positive=value, scores=None)

    def stratified(self, counts: np.ndarray | None = None) -> np.ndarray:
        """Counts [group, stratum, label, decision], both binary."""
        if self.positive is None:
            raise ParameterError(f"{OWNER}: there are several classes; {CHOOSE}")
        counts = self.tally.counts if counts is None else counts
        flat = counts.reshape(-1, *counts.shape[-3:])[self._present()]
        labels, decisions = ([int(value == self.positive) for value in axis] for axis in self.tally.values[-2:])
        binary = np.zeros((*flat.shape[:2], 2, 2), flat.dtype)
        for i, label in enumerate(labels):
            for j, decision in enumerate(decisions):
                binary[:, :, label, decision] += flat[:, :, i, j]
        return binary

    @property
    def cells(self) -> np.ndarray:
        """Counts [group, label, decision], both binary: true negatives at [0, 0], true positives at [1, 1]."""
        return np.asarray(self.stratified().sum(axis=1))

    @property
    def squares(self) -> np.ndarray | None:
        """Sums of squared weights in the same cells; None if rows count alike."""
        return None if self.tally.squares is None else np.asarray(self.stratified(self.tally.squares).sum(axis=1))

    def rates(self, name: str, *, level: float = LEVEL, method: str = "wilson") -> Rates:
        """A rate in every group with its interval, ``"wilson"`` or ``"clopper-pearson"``.

        >>> import fastdp as fd
        >>> f = fd.fairness.table(y_true=[1, 1, 0, 0], y_pred=[1, 0, 0, 1], sensitive={"sex": ["f", "f", "m", "m"]})
        >>> f.rates("tpr")["f"], f.rates("tpr").undefined
        (0.5, (('m',),))
        """
        return rates_of(name, self.groups, self.cells, self.squares, level, method)

    def effective(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Counts and sizes of a rate; those of weighted rows are effective sample sizes."""
        hits, denominator = weights_of(name)
        counts = (self.cells * hits).sum(axis=(1, 2))
        totals = (self.cells * denominator).sum(axis=(1, 2))
        if self.squares is None:
            return counts, totals
        sizes = divide(totals**2, (self.squares * denominator).sum(axis=(1, 2)))
        return np.nan_to_num(divide(counts, totals) * sizes), np.nan_to_num(sizes)

    def gap(self, name: str, *, level: float = LEVEL) -> Contrast:
        """The largest difference of a rate between two groups, with a simultaneous Newcombe interval."""
        return gap_of(name, self.groups, *self.effective(name), validation.level(OWNER, level))

    def ratio(self, name: str, *, level: float = LEVEL) -> Contrast:
        """The smallest ratio of a rate between two groups, with a simultaneous Koopman interval."""
        return ratio_of(name, self.groups, *self.effective(name), validation.level(OWNER, level))

    def four_fifths(self, *, favourable: int = 1, level: float = LEVEL) -> Contrast:
        """The smallest ratio of the shares that get the favourable decision, 1 or 0; below 0.8 is adverse impact.

        [Uniform Guidelines on Employee Selection Procedures, 29 CFR 1607.4 D]
        """
        counts, sizes = self.effective("selection")
        counts = counts if favourable else sizes - counts
        return ratio_of("selection", self.groups, counts, sizes, validation.level(OWNER, level))

    def criteria(self, *, tolerance: float = 0.05, favourable: int = 1, level: float = LEVEL) -> tuple[Criterion, ...]:
        """Every criterion with its gap, its p-value and what can be said of it."""
        return assess(self, tolerance=tolerance, favourable=favourable, level=validation.level(OWNER, level))

    def incompatible(self, *, level: float = LEVEL) -> Incompatibility:
        """Which criteria cannot hold together here, shown with the table's own numbers."""
        return explain(self.groups, self.cells, self.gap("base", level=level))

    def label_sensitivity(
        self, rate: str, *, wrong: float | Mapping[Any, Any], tolerance: float = 0.05
    ) -> LabelSensitivity:
        """How far a rate and its gap move if up to a share ``wrong`` of labels is not the truth.

        ``wrong`` is one share for all groups, or one for each group by its name, or pairs: of negatives that are
        labelled positive, and of positives that are labelled negative. Which labels are wrong is taken to be
        independent of the decision, given group and truth.

        >>> import fastdp as fd
        >>> f = fd.fairness.table(y_true=[1, 1, 0, 1], y_pred=[1, 0, 0, 1], sensitive={"sex": ["f", "f", "m", "m"]})
        >>> f.label_sensitivity("selection", wrong=0.1).gap_high  # no label takes part in it
        0.0
        """
        tolerance = validation.probability(OWNER, "tolerance", tolerance)
        return sensitivity(rate, self.groups, self.cells, wrong, tolerance)

    def bootstrap(self, name: str, *, runs: int = 1000, level: float = LEVEL, seed: int = 0) -> Mapping[str, Any]:
        """Percentile intervals of each group's rate: resampling rows is a multinomial draw of the cells.

        It costs nothing per row. It has no interval of the largest gap: the percentile one covers 0 % where groups are
        equal.
        """
        if self.squares is not None:
            raise ParameterError(f"{OWNER}: the bootstrap is for rows without weights")
        cells, (hits, denominator) = self.cells, weights_of(name)
        draws = np.random.default_rng(seed).multinomial(int(cells.sum()), cells.ravel() / cells.sum(), size=runs)
        drawn = draws.reshape(runs, *cells.shape)
        rates = divide((drawn * hits).sum(axis=(2, 3)), (drawn * denominator).sum(axis=(2, 3)))
        low, high = percentiles(rates, level)
        return {"groups": self.groups, "low": low, "high": high}

    def calibration(self, *, level: float = LEVEL, bins: int | None = None) -> Calibration:
        """The share of positives at every score in every group, with intervals.

        More than 20 different scores are merged into ten of equal size, or into as many ``bins``.
        """
        return self._scores().calibration(self.groups, validation.level(OWNER, level), bins)

    def roc(self) -> Roc:
        """The true and false positive rates of every threshold in every group."""
        return self._scores().roc(self.groups)

    def thresholds(
        self, criterion: str, *, gain: float, cost: float, tolerance: float = 0.0, randomized: bool = True
    ) -> Policy:
        """The most profitable decisions from the scores under a criterion, exact on the table.

        A true positive brings ``gain``, a false one costs ``cost``. ``criterion`` is ``"profit"`` (none), ``"single"``
        (one threshold for all), ``"independence"``, ``"equal_opportunity"``, ``"predictive_equality"`` (equal false
        positive rates) or ``"separation"`` (equalized odds); rates may be ``tolerance`` apart. A randomized policy
        mixes two thresholds in a group, without which rates can seldom be equal.

        >>> import fastdp as fd
        >>> f = fd.fairness.table(
        ...     y_true=[0, 1, 1, 0, 0, 1], y_pred=[0, 0, 1, 0, 1, 1], score=[1, 2, 3, 1, 2, 3],
        ...     sensitive={"sex": ["f", "f", "f", "m", "m", "m"]},
        ... )
        >>> print(f.thresholds("profit", gain=1, cost=1))
        profit: 1.0000 of the largest profit
          f: from 2 on
          m: from 3 on
        """
        return best_policy(
            self._scores(), self.groups, criterion, Economics(gain, cost), tolerance=tolerance, randomized=randomized
        )

    def price(self, *, gain: float, cost: float, tolerance: float = 0.0) -> Price:
        """The best policy under every criterion, side by side, and the share of the profit that each keeps."""
        return price_of(self._scores(), self.groups, Economics(gain, cost), tolerance=tolerance)

    def scaling(self) -> Scaling:
        """Platt scaling of every group's scores, which makes them calibrated as far as a logistic curve can."""
        return scale_groups(self._scores(), self.groups)

    def _scores(self) -> ScoreTable:
        if self.scores is None:
            raise ParameterError(f"{OWNER}: the table has no scores; give score=")
        return self.scores

    def to_dict(self, *, level: float = LEVEL, tolerance: float = 0.05, favourable: int = 1) -> dict[str, Any]:
        """Rates and criteria, as JSON has them."""
        from fastdp.fairness.rates import RATES

        criteria = self.criteria(tolerance=tolerance, favourable=favourable, level=level)
        return {
            "attributes": list(self.attributes),
            "rows": self.rows,
            "rates": [self.rates(name, level=level).to_dict() for name in RATES],
            "criteria": [criterion.to_dict() for criterion in criteria],
            "incompatible": self.incompatible(level=level).to_dict(),
            "counterfactual": COUNTERFACTUAL,
        }
