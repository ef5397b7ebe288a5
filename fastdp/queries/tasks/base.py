"""What every query is to the run: it asks for shares of the budget, reads batches, and answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

from fastdp import rounding
from fastdp.errors import ParameterError, SchemaError
from fastdp.privacy import Privacy, _epsilon_of_zcdp
from fastdp.queries.answers.answer import Answers
from fastdp.queries.answers.noise import Spend
from fastdp.queries.plans.columns import ColumnSpec
from fastdp.queries.unit import Norm, Unit
from fastdp.validation import unknown

if TYPE_CHECKING:
    import pyarrow as pa

    from fastdp.random.rng import Rng


@dataclass(frozen=True, slots=True)
class Setting:
    """What all queries of a release share: the unit, the columns, the kind of budget, and the data's schema."""

    unit: Unit
    columns: Mapping[str, ColumnSpec]
    pure: bool
    delta: Fraction
    schema: pa.Schema
    seed: int
    """Of hash tables; it has no part in what is released."""
    owner: str = "release"

    @property
    def norm(self) -> Norm:
        """The norm that noise is calibrated to."""
        return "L1" if self.pure else "L2"

    def check_column(self, name: str) -> pa.DataType:
        """The type of a column that the data must have once."""
        names = self.schema.names
        if name not in names:
            raise SchemaError(f"{self.owner}: {unknown('column', name, tuple(names))}")
        if names.count(name) > 1:
            raise SchemaError(f"{self.owner}: column {name!r} appears more than once; rename one")
        return self.schema.field(name).type

    def column(self, name: str) -> ColumnSpec:
        """What is declared of a column."""
        return self.columns.get(name) or ColumnSpec(name)

    def privacy(self, cost: Spend) -> Privacy:
        """A cost as a guarantee for one unit, rounded up."""
        return to_privacy(cost, self.unit)


def to_privacy(cost: Spend, unit: Unit) -> Privacy:
    """A cost as a guarantee for one unit, rounded up; rho beside a delta is converted at a delta of the same size."""
    about: dict[str, Any] = {"unit": unit.name, "neighbours": unit.neighbours}
    delta = rounding.float_up(cost.delta)
    if cost.epsilon is None and cost.rho is None:
        raise ParameterError("release: everything asked for is public under these neighbours; nothing is to be paid")
    if cost.rho is None:
        assert cost.epsilon is not None
        return Privacy(epsilon=rounding.float_up(cost.epsilon), delta=delta, **about)
    rho = rounding.float_up(cost.rho)
    if not delta:
        return Privacy(rho=rho, **about)
    epsilon = rounding.up(_epsilon_of_zcdp(rho, delta))
    return Privacy(epsilon=epsilon, delta=rounding.float_up(2 * cost.delta + Fraction(1, 1 << 90)), **about)


class Task(Protocol):
    """One query, bound to a schema."""

    name: str
    share: float | None

    def amounts(self) -> Sequence[float]:
        """The sensitivity of each of its parts, in the unit that its error is measured in; 0 if it is public."""

    def fund(self, parts: Sequence[Spend], delta: Fraction) -> None:
        """Choose the noise of each part from what may be spent on it."""

    @property
    def needs_delta(self) -> bool:
        """Whether it selects keys."""

    @property
    def cost(self) -> Spend:
        """What it costs as it will be drawn."""

    @property
    def columns(self) -> Sequence[str]:
        """The columns that it reads."""

    def start(self, rng: Rng, expected_rows: int | None) -> None:
        """Make ready for the pass over the data."""

    def add(self, batch: pa.RecordBatch) -> None:
        """One batch of rows."""

    def answer(self, rng: Rng) -> Answers:
        """The sums of all batches, with noise."""

    def explain(self, level: float) -> list[dict[str, Any]]:
        """What each answer will be like: noise, standard error, interval; before any data."""

    def describe(self) -> dict[str, Any]:
        """What was drawn, for the receipt: integers and parameters, nothing of the data."""
