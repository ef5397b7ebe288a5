"""The common base of what estimators return."""

from __future__ import annotations

from typing import ClassVar


class Result:
    """What was estimated from reports: a frozen dataclass, under a name of its own and as ``value``.

    ``value`` is the distribution of an `Estimate`, the frequencies of a `FrequencyEstimate`, the mean of a
    `MeanEstimate`, the shares of a `DistributionEstimate`, the lines of a `ColumnEstimate`. Those with a sampling
    distribution in closed form have ``std_error`` and ``interval(level)`` too.
    """

    __slots__ = ()
    estimated: ClassVar[str]
    """The name of the field with the estimate itself."""

    @property
    def value(self) -> object:
        """The estimate itself, whatever the field with it is called."""
        return getattr(self, self.estimated)
