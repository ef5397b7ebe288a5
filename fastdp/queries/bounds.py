"""Bounds of a column, found privately: the exponential mechanism over powers of two, for both ends.

Candidates are 0 and ±2**k for k from -40 to 60, the same for every column. The lower end aims at the 20th part of the
rows from below, the upper end from above; each candidate's score is how far the number of rows beyond it is off. A
person counts with at most ``max_rows`` rows. No histogram is thresholded: nothing depends on the data but two choices.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from fastdp.mechanisms.central.selection import ExponentialMechanism
from fastdp.queries.answers.noise import Spend
from fastdp.queries.data.measures import check_numbers, to_floats
from fastdp.queries.data.persons import Limits, PersonRows
from fastdp.queries.data.tally import Persons
from fastdp.queries.tasks.base import Setting

if TYPE_CHECKING:
    import pyarrow as pa

    from fastdp.random.rng import Rng

_POWERS = 2.0 ** np.arange(-40, 61)
CANDIDATES = np.concatenate([-_POWERS[::-1], [0.0], _POWERS])
PARTS = 20
"""The 20th part of the rows may lie beyond an end, before it is rounded outward to a power of two."""
WIDEST = (float(CANDIDATES[0]), float(CANDIDATES[-1]))


class BoundsTask:
    """The bounds of one column, from a share of the budget."""

    def __init__(self, setting: Setting, column: str, spend: Spend) -> None:
        self.setting, self.column, self.spend = setting, column, spend
        check_numbers(setting.owner, column, setting.check_column(column))
        self._persons = None
        if setting.unit.person is not None:
            self._persons = Persons(setting.owner, setting.schema, setting.unit.person, setting.seed + 1)
        self._counts = np.zeros(CANDIDATES.size + 1, np.int64)

    @property
    def _mechanism(self) -> ExponentialMechanism:
        sensitivity = self.setting.unit.rank(PARTS - 1, PARTS)
        epsilon = self.spend.as_epsilon(rho_of=Fraction(1, 8), times=2)
        return ExponentialMechanism(epsilon=float(epsilon * (1 - Fraction(1, 1 << 40))), sensitivity=float(sensitivity))

    @property
    def cost(self) -> Spend:
        """Of both choices."""
        one = self._mechanism.privacy
        if self.setting.pure:
            return Spend(epsilon=2 * Fraction(one.epsilon or 0))
        return Spend(rho=2 * Fraction(one.rho or 0))

    @property
    def columns(self) -> list[str]:
        return [self.column, *([] if self._persons is None else [self._persons.column])]

    def start(self, rng: Rng, expected_rows: int | None) -> None:
        self._rows = None
        if self._persons is not None:
            self._rows = PersonRows(rng.child("bounding"), np.zeros(0, np.int64), expected_rows=expected_rows)

    def add(self, batch: pa.RecordBatch) -> None:
        """Rows by the candidates that they lie between: cell c holds values above candidate c - 1, up to c."""
        values = to_floats(batch.column(self.column))
        cells = np.searchsorted(CANDIDATES, values, "left").astype(np.int32)
        cells[np.isnan(values)] = -1
        if self._rows is None:
            self._counts += np.bincount(cells[cells >= 0], minlength=self._counts.size)
            return
        assert self._persons is not None
        identities, absent = self._persons.read(batch)
        if absent is not None:
            cells[absent] = -1
        self._rows.add(identities, cells, np.empty((0, cells.size), np.int32))

    def finish(self, rng: Rng) -> tuple[float, float]:
        """The bounds, the lower below the upper."""
        if self._rows is not None and self._persons is not None:
            found: list[np.ndarray] = []
            limits = Limits(1, self.setting.unit.rows, "rows")
            try:
                self._rows.bounded(
                    limits, lambda _thread, kept, count: found.append(kept[:count, [0, 2]].copy()),
                    seeds=self._persons.seeds,
                )  # fmt: skip
            finally:
                self._rows.close()
            for part in found:
                np.add.at(self._counts, part[:, 0], part[:, 1])
        below = np.cumsum(self._counts)[:-1]  # rows up to each candidate
        return choose_bounds(self._mechanism, below, int(self._counts.sum()), rng)

    def describe(self) -> dict[str, Any]:
        """The choice, for the receipt."""
        return {"bounds of": self.column, "mechanism": self._mechanism.to_dict(), "choices": 2}


def choose_bounds(mechanism: ExponentialMechanism, below: np.ndarray, size: int, rng: Rng) -> tuple[float, float]:
    """Two choices: of candidates that have about the 20th part of the rows beyond them, those farthest out.

    A value that many rows share may leave no candidate with that rank: then the nearest outer one scores best.
    """
    strict = np.concatenate([[0], below[:-1]])  # rows up to the candidate before
    low = mechanism.choose(-np.maximum(np.maximum(PARTS * strict - size, size - PARTS * below), 0), rng=rng)
    beyond, outer = size - below, size - strict
    high = mechanism.choose(-np.maximum(np.maximum(PARTS * beyond - size, size - PARTS * outer), 0), rng=rng)
    low = max(0, low - 1)
    high = max(high, low + 1)
    return float(CANDIDATES[low]), float(CANDIDATES[high])
