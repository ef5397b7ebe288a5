"""One part of a plan: a column, or several columns that go through one mechanism together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from fastdp.privacy import Privacy

if TYPE_CHECKING:
    import pyarrow as pa

    from fastdp.plans.public.generalize import Generalized
    from fastdp.plans.public.pseudonym import Pseudonym
    from fastdp.plans.values.null_share import NullShare
    from fastdp.random.rng import Rng

Action = Literal["keep", "drop", "generalize", "pseudonym", "randomize"]
NullPolicy = Literal["error", "public", "category", "value", "drop"]
RECORDS = 10_000
"""The number of records that errors of estimates are stated for."""


@dataclass(frozen=True, slots=True)
class PlanPart(ABC):
    """Columns with one action; ``given`` is what the plan says of them, in the plan's own words.

    ``privacy`` is the guarantee of these columns together, for one record's values replaced by others, and None where
    nothing is randomized. A metric one is a `MetricPrivacy`: for values up to one unit of distance apart, and by
    distance beyond.
    """

    columns: tuple[str, ...]
    action: Action
    given: Mapping[str, Any]
    mechanism: Any
    privacy: Privacy | None
    nulls: NullPolicy
    """Policy on nulls in any of the columns; "public" and "drop" (of their rows) are visible in the output."""
    name: str = field(init=False)
    """The names of the columns, separated by commas."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", ", ".join(self.columns))

    @property
    def mechanisms(self) -> tuple[Any, ...]:
        """All that is drawn of these columns; their costs add up to `privacy`."""
        return () if self.mechanism is None else (self.mechanism,)

    @property
    def rewrite(self) -> Generalized | Pseudonym | None:
        """What is released of a public column instead of its values; None of all other parts."""
        return None

    @property
    def null_share(self) -> NullShare | None:
        """How nullness is reported where it is randomized by itself."""
        return None

    @property
    @abstractmethod
    def title(self) -> str:
        """The part, as errors name it."""

    @property
    @abstractmethod
    def ways_out(self) -> str:
        """The keys by which a plan says what becomes of values that the mechanism does not take."""

    @property
    @abstractmethod
    def labelled(self) -> tuple[str, ...]:
        """Its columns that hold labels that are text."""

    @property
    @abstractmethod
    def expected_error(self) -> str:
        """Where 95 % of the errors lie, in words."""

    def error_for(self, records: int) -> str:  # noqa: ARG002  # the errors of some parts depend on no number
        """`expected_error` of estimates from so many records."""
        return self.expected_error

    @abstractmethod
    def text_types(self) -> dict[str, pa.DataType]:
        """How its columns are read from text; none where nothing is randomized."""

    @abstractmethod
    def agrees_with(self, other: PlanPart | None) -> bool:
        """Whether reports of the other part can be estimated from as reports of this one."""

    @abstractmethod
    def stream(self, rng: Rng) -> Rng:
        """The random stream of these columns."""

    @abstractmethod
    def randomize(self, values: list[pa.Array], rng: Rng) -> list[pa.Array]:
        """Reports, a column for each column.

        Every row takes its slots of each stream, also rows that are null or dropped afterwards.
        """

    @abstractmethod
    def result_types(self, kinds: list[pa.DataType]) -> list[pa.DataType]:
        """The types of reports of columns of these types; refused if the mechanism does not take such values."""

    @property
    @abstractmethod
    def reported_labels(self) -> tuple[str, ...]:
        """Its columns whose reports are labels that are text, as those of k-RR are."""

    @property
    @abstractmethod
    def keeps_nulls(self) -> bool:
        """Whether a null among the reports is one of the values, which the plan releases."""

    @property
    @abstractmethod
    def not_estimable(self) -> str:
        """Why there is no estimate from the reports, where there is none, and what to do instead."""
