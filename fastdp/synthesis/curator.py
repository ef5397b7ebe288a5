"""The curator: it alone holds the data, and gives out noisy counts and noisy choices, each at its exact cost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from fastdp.errors import ParameterError
from fastdp.kernels.synthesis.marginals import AT_ONCE, count_cells
from fastdp.mechanisms.central.selection import ExponentialMechanism
from fastdp.queries.answers.noise import Noise, Spend
from fastdp.queries.data.persons import Limits, PersonRows
from fastdp.queries.data.tally import Persons
from fastdp.synthesis.columns import Coder
from fastdp.synthesis.fitting.axes import Columns
from fastdp.synthesis.fitting.descent import Measurement

if TYPE_CHECKING:
    import pyarrow as pa

    from fastdp.random.rng import Rng
    from fastdp.synthesis.plan import SynthesisPlan

STEPS = 16
"""Public estimates are rounded to 1/16 of a row where distances to them are measured, so that they are integers."""
CACHED_CELLS = 1 << 24
"""Cells of exact counts that are kept for later rounds: 128 MiB."""
OWNER = "synthesize"


class Curator:
    """Reads the data once; every answer afterwards has its noise."""

    def __init__(self, plan: SynthesisPlan, schema: pa.Schema, rng: Rng, expected_rows: int | None) -> None:
        seed = int.from_bytes(rng.child("tables").reserve(1).key.tobytes()[:6], "little")
        self._unit, self._sizes, self._rng = plan.unit, plan.sizes, rng.child("noise")
        self._coders = [Coder(OWNER, schema, domain, seed + 11 * i) for i, domain in enumerate(plan.domains)]
        self._kind = np.uint8 if max(plan.sizes) <= 1 << 8 else np.uint16
        self._chunks: list[np.ndarray] = []
        self._count = 0
        self._persons, self._rows = None, None
        if plan.unit.person is not None:
            self._persons = Persons(OWNER, schema, plan.unit.person, seed + 1)
            empty = np.zeros(0, np.int64)
            self._rows = PersonRows(rng.child("bounding"), empty, expected_rows=expected_rows)
        self._known: dict[Columns, np.ndarray] = {}
        self._cached = 0
        self.cost = Spend()
        self.parts: list[dict[str, Any]] = []

    @property
    def columns(self) -> list[str]:
        """The columns that are read."""
        persons = [] if self._persons is None else [self._persons.column]
        return [*(coder.domain.name for coder in self._coders), *persons]

    def add(self, batch: pa.RecordBatch) -> None:
        """One batch of rows; those with a value that was not declared are dropped."""
        codes = np.stack([coder.encode(batch) for coder in self._coders])
        kept = (codes >= 0).all(axis=0)
        if self._persons is not None and self._rows is not None:
            identities, absent = self._persons.read(batch)
            if absent is not None:
                kept &= ~absent
            numbers = np.cumsum(kept, dtype=np.int64) - 1 + self._count
            if numbers.size and numbers[-1] >= 1 << 31:
                raise ParameterError(f"{OWNER}: persons are bounded over at most 2**31 rows; split the table")
            chosen = np.where(kept, numbers, -1).astype(np.int32)
            self._rows.add(identities, chosen, np.empty((0, chosen.size), np.int32))
        self._chunks.append(np.ascontiguousarray(codes[:, kept].astype(self._kind)))
        self._count += int(kept.sum())

    def finish(self) -> None:
        """All rows are there: keep those of each person that count."""
        if self._rows is None or self._persons is None:
            return
        counted = np.zeros(self._count, bool)

        def use(_thread: int, kept: np.ndarray, count: int) -> None:
            counted[kept[:count, 0]] = True

        try:
            self._rows.bounded(Limits(self._unit.rows, 1), use, seeds=self._persons.seeds)
        finally:
            self._rows.close()
        start = 0
        for number, chunk in enumerate(self._chunks):
            own = counted[start : start + chunk.shape[1]]
            start += chunk.shape[1]
            self._chunks[number] = np.ascontiguousarray(chunk[:, own])

    def close(self) -> None:
        """Forget the data."""
        self._chunks, self._known = [], {}

    def _truth(self, subset: Columns) -> np.ndarray:
        """The exact counts of a marginal."""
        if subset in self._known:
            return self._known[subset]
        sides = [self._sizes[column] for column in subset]
        strides = np.array([math.prod(sides[place + 1 :]) for place in range(len(sides))], np.int64)
        counts, cells = np.zeros(math.prod(sides), np.int64), np.empty(AT_ONCE, np.int64)
        for chunk in self._chunks:
            count_cells(chunk, np.array(subset, np.int64), strides, cells, counts)
        if self._cached + counts.size <= CACHED_CELLS:
            self._known[subset] = counts
            self._cached += counts.size
        return counts

    def noise(self, subset: Columns, spend: Spend) -> Noise:
        """The noise of a measurement at this price; it depends on no data."""
        cells = math.prod(self._sizes[column] for column in subset)
        return Noise.of(OWNER, spend, self._unit.cells(cells))

    def measure(self, subset: Columns, spend: Spend) -> Measurement:
        """Noisy counts of a marginal."""
        noise = self.noise(subset, spend)
        found = noise.add(self._truth(subset), self._rng.child(f"{len(self.parts)}"))
        self._charge(noise.cost, {"measured": self._names(subset), **noise.describe()})
        return Measurement(subset, found.astype(np.float64), max(noise.variance, 1e-12))

    def choose(
        self, estimates: Mapping[Columns, np.ndarray], scores: Mapping[Columns, tuple[int, float]], spend: Spend
    ) -> Columns:
        """A marginal that the estimates, public counts, are far from: the exponential mechanism on weighted distances.

        A score is the weight times the L1 distance less an allowance, both public, in steps of 1/16 of a row.
        """
        most = max(weight for weight, _ in scores.values())
        epsilon = float(spend.as_epsilon(rho_of=Fraction(1, 8))) * (1 - 2.0**-30)
        sensitivity = most * self._unit.distances(1, STEPS).largest
        mechanism = ExponentialMechanism(epsilon=epsilon, sensitivity=float(sensitivity))
        subsets = list(scores)
        values = np.array([
            scores[subset][0] * (self._distance(subset, estimates[subset]) - round(STEPS * scores[subset][1]))
            for subset in subsets
        ], np.int64)  # fmt: skip
        chosen = subsets[mechanism.choose(values, rng=self._rng.child(f"{len(self.parts)}"))]
        stated = mechanism.privacy
        cost = (
            Spend(rho=Fraction(stated.rho or 0.0))
            if not spend.is_pure
            else Spend(epsilon=Fraction(stated.epsilon or 0.0))
        )
        self._charge(cost, {"chosen": self._names(chosen), "of": len(subsets), "epsilon": stated.epsilon})
        return chosen

    def distances(self, estimates: Mapping[Columns, np.ndarray], spend: Spend) -> tuple[np.ndarray, Noise]:
        """Noisy L1 distances of the data from public counts, in steps of 1/16 of a row, and their noise."""
        noise = Noise.of(OWNER, spend, self._unit.distances(len(estimates), STEPS))
        exact = np.array([self._distance(subset, found) for subset, found in estimates.items()], np.int64)
        noisy = noise.add(exact, self._rng.child(f"{len(self.parts)}"))
        self._charge(noise.cost, {"checked": len(estimates), **noise.describe()})
        return noisy, noise

    def _distance(self, subset: Columns, estimate: np.ndarray) -> int:
        public = np.rint(np.clip(estimate, -(2.0**40), 2.0**40) * STEPS).astype(np.int64)
        return int(np.abs(self._truth(subset) * STEPS - public).sum())

    def _names(self, subset: Columns) -> list[str]:
        return [self._coders[column].domain.name for column in subset]

    def _charge(self, cost: Spend, part: dict[str, Any]) -> None:
        self.cost += cost
        self.parts.append(part)

    @property
    def coders(self) -> Sequence[Coder]:
        """How codes become values; public."""
        return self._coders
