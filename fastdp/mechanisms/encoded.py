"""Local protocols whose reports encode a value in a type of their own: bits, an index, a hash."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from fastdp.columns.categories import read_codes
from fastdp.columns.numeric import Nulls
from fastdp.columns.reports import ReportType
from fastdp.engine.runner import ReportBlock, run_reports
from fastdp.mechanisms.annotations import gives_reports
from fastdp.mechanisms.local.frequencies import FrequencyProtocol
from fastdp.random.rng import Rng, resolve
from fastdp.typing import Column


class EncodedReports(FrequencyProtocol):
    """A local protocol on categories that says how a block of codes becomes a block of reports."""

    __slots__ = ()

    @property
    @abstractmethod
    def report_type(self) -> ReportType:
        """The type of the reports."""

    @property
    def _slots(self) -> int:
        """The slots of randomness of one report."""
        return 1

    @abstractmethod
    def _block(self) -> ReportBlock:
        """The function that writes the reports of a block of codes."""

    @gives_reports
    def randomize(self, values: Column, *, rng: Rng | None = None, nulls: Nulls = "error") -> Any:
        """One report per value, of `report_type`: arrow reports for arrow values, numpy ones for everything else."""
        owner = type(self).__name__
        column = read_codes(owner, values, self.domain, nulls=nulls)
        source = resolve(owner, rng)
        return run_reports(owner, values, column, source, self.report_type, self._block(), slots=self._slots)
