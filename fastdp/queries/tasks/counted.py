"""Queries that count rows or persons by keys and add one kind of noise to the counts."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from fastdp.queries.answers.noise import Noise, Spend
from fastdp.queries.data.keys import BinKeys, ColumnKeys
from fastdp.queries.data.persons import Limits
from fastdp.queries.data.tally import Persons, Tally
from fastdp.queries.tasks.base import Setting
from fastdp.queries.unit import Sensitivity

if TYPE_CHECKING:
    import pyarrow as pa

    from fastdp.random.rng import Rng


class CountedTask:
    """What such queries share: the persons and their limits, the noise, and the pass over the data."""

    needs_delta = False
    _sensitivity: Sensitivity

    def __init__(
        self, setting: Setting, name: str, keys: BinKeys | ColumnKeys, *, known: int | None, share: float | None
    ) -> None:
        self._setting, self.name, self.share = setting, name, share
        self._owner, self._keys = f"{setting.owner}: {name}", keys
        self._persons = None
        if setting.unit.person is not None:
            setting.check_column(setting.unit.person)
            self._persons = Persons(self._owner, setting.schema, setting.unit.person, setting.seed + 1)
        self._limits = Limits(setting.unit.groups(self._owner, known), setting.unit.rows)
        self._noise: Noise | None = None

    def fund(self, parts: Sequence[Spend], delta: Fraction) -> None:  # noqa: ARG002
        self._noise = Noise.of(self._owner, parts[0], self._sensitivity)

    @property
    def noise(self) -> Noise:
        """The noise, once it is paid for."""
        assert self._noise is not None
        return self._noise

    @property
    def cost(self) -> Spend:
        return self.noise.cost

    @property
    def columns(self) -> list[str]:
        return [*self._keys.columns, *([] if self._persons is None else [self._persons.column])]

    def start(self, rng: Rng, expected_rows: int | None) -> None:
        self._tally = Tally(
            self._keys, (), persons=self._persons, limits=self._limits, rng=rng.child("bounding"),
            expected_rows=expected_rows,
        )  # fmt: skip

    def add(self, batch: pa.RecordBatch) -> None:
        self._tally.add(batch)
