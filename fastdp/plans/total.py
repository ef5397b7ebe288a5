"""The guarantee of a whole record: what its columns compose to, metric ones apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fastdp.privacy import MetricPrivacy, Privacy


@dataclass(frozen=True, slots=True)
class RecordPrivacy:
    """``record`` composes all columns whose whole value is hidden; ``metric`` holds the others, by column.

    A metric guarantee depends on the distance of two values, so it has no part in the sum: values far apart cost more.
    Its ``kind`` says how, and ``at(distance)`` how much. Columns that are kept are public, and in neither.
    """

    record: Privacy | None
    metric: Mapping[str, MetricPrivacy] = field(default_factory=dict)
