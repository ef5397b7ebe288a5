"""One release on an engine: paid for first, then its stream of batches, then its receipt."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from fastdp.plans.plan import Plan
from fastdp.random.job import JobKey
from fastdp.tables.chunks import WHOLE
from fastdp.tables.sanitize import read_key
from fastdp.tables.sanitizing.payment import Budget, pay_for
from fastdp.tables.sanitizing.receipt import Receipt
from fastdp.tables.task import Task

if TYPE_CHECKING:
    import pyarrow as pa

    from fastdp.accounting.ledger.entries import Spending


class Release:
    """A task whose table is one place, and what it cost.

    Engines print the errors of a stream in words of their own: ``error`` is the one that was raised.
    """

    def __init__(
        self, schema: pa.Schema, plan: Plan, key: JobKey | None, *, ledger: Budget, name: str, records: int | None
    ) -> None:
        self._key = read_key("sanitize", key, None)
        self._task = Task(schema.remove_metadata(), plan, self._key)
        self._plan, self._rows = plan, 0
        self.schema = self._task.schema
        self.error: BaseException | None = None
        self._paid: Spending | None = pay_for(plan, ledger, name=name, records=records)

    def batches(self, given: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The sanitized rows of a stream."""
        try:
            for made in self._task.run(WHOLE, given):
                self._rows += made.num_rows
                yield made
        except BaseException as error:
            self.error = error
            raise

    def reader(self, given: Iterable[pa.RecordBatch]) -> pa.RecordBatchReader:
        """The same as an Arrow stream."""
        import pyarrow as pa

        return pa.RecordBatchReader.from_batches(self.schema, self.batches(given))

    def receipt(self) -> Receipt:
        """Of what was released, when all of it was."""
        stamp = None if self._paid is None else self._paid.stamp
        return Receipt.of(self._plan, self._rows, self._key, ledger=stamp, tags=self._task.tags)

    def settle(self) -> Receipt:
        """The receipt, noted in the ledger."""
        found = self.receipt()
        if self._paid is not None:
            self._paid.settle(found)
        return found
