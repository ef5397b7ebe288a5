"""What becomes of the columns of a table: types that fit the plan, and batches that are randomized."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fastdp.columns.containers import check_known
from fastdp.errors import DomainError, FastDPError, InputCorruptError, ParameterError
from fastdp.mechanisms.central.additive import Additive
from fastdp.plans.plan import Plan
from fastdp.plans.policies import drop_rows
from fastdp.plans.public.pseudonym import Pseudonym
from fastdp.tables.sanitizing.public_column import keep, kept_type

if TYPE_CHECKING:
    import pyarrow as pa

    from fastdp.plans.part import PlanPart
    from fastdp.random.rng import Rng

WIDE = 1000.0
"""The standard deviation of noise in steps from which a dictionary of the reports of a row group saves nothing."""


class Columns:
    """A schema and a plan that fit each other; names and types are checked before a record is read."""

    def __init__(self, schema: pa.Schema, plan: Plan, *, owner: str = "sanitize") -> None:
        import pyarrow as pa

        if not isinstance(plan, Plan):
            raise ParameterError(f"{owner}: plan must be a fastdp.Plan, got {type(plan).__name__}")
        self.plan, self._source, self._owner = plan, schema, owner
        plan.check_names(schema.names, owner=owner)
        types = {  # views are released as plain text, as kept ones are: they cannot be put in another order
            name: pa.large_string() if pa.types.is_string_view(kind) else kind
            for part in plan.parts
            for name, kind in self.result_types(part).items()
        }
        if not types:
            raise ParameterError(f"{owner}: the plan drops every column; nothing would be written")
        self.schema = pa.schema([pa.field(name, types[name]) for name in schema.names if name in types])
        self.stated = self.schema
        """The schema of batches, which may hold in dictionaries what the schema has as text."""
        self.parts: list[PlanPart] = [*filter(None, map(plan.columns.get, self.schema.names)), *plan.groups]
        self.plain = {
            name
            for part in self.parts
            if part.action != "keep"
            for name in part.columns
            if pa.types.is_floating(types[name])
            or pa.types.is_fixed_size_binary(types[name])
            or _has_wide_noise(part.mechanism)
        }
        self._dropping = plan.dropping
        folder = Path() if plan.path is None else plan.path.parent
        self._keys = {
            part.name: part.rewrite.key(f"{owner}: {part.title}", folder)
            for part in self.parts
            if part.mechanism is None and isinstance(part.rewrite, Pseudonym)
        }
        """The keys of all pseudonyms, by their columns."""
        self.plain |= self._keys.keys()  # they hardly ever repeat
        self.labelled = [name for part in self.parts for name in part.labelled]
        self.randomized = [name for part in self.parts if part.mechanism is not None for name in part.columns]

    @classmethod
    def probe(cls, schema: pa.Schema, plan: Plan, owner: str) -> Columns:
        """What tells the types that a plan gives, of a schema that may not fit it."""
        made = cls.__new__(cls)
        made.plan, made._source, made._owner = plan, schema, owner  # noqa: SLF001 - its own
        return made

    def result_types(self, part: PlanPart) -> dict[str, pa.DataType]:
        """The types of the results of a part's columns, by their names; none of columns that are dropped."""
        import pyarrow as pa

        if part.action == "drop":
            return {}
        kinds = list(map(self._type_of, part.columns))
        if part.action == "keep":
            return {part.name: kept_type(self._owner, part.name, *kinds)}
        if part.mechanism is None:
            assert part.rewrite is not None
            return {part.name: part.rewrite.result_type(f"{self._owner}: {part.title}", *kinds)}
        try:
            return dict(zip(part.columns, part.result_types(kinds), strict=True))
        except (FastDPError, pa.ArrowException) as error:
            raise withheld(self._owner, part, error) from None

    def _rewrite(self, part: PlanPart, values: pa.Array) -> pa.Array:
        """What is released of a public column instead of its values."""
        if isinstance(part.rewrite, Pseudonym):
            return part.rewrite.apply(self._keys[part.name], values)
        assert part.rewrite is not None
        return part.rewrite.apply(f"{self._owner}: {part.title}", values)

    def _type_of(self, column: str) -> pa.DataType:
        kind = self._source.field(column).type
        check_known(f"{self._owner}: column {column!r}", kind)
        return kind

    def state_dictionaries(self) -> bool:
        """Let labels that are text stay in dictionaries; whether there are any.

        A Parquet file holds them as such anyway: written out as text, they would all be looked up again.
        """
        import pyarrow as pa

        kinds = {}
        for name in self.labelled:
            if name in self.plan.columns and pa.types.is_string(self.schema.field(name).type):
                part = self.plan.columns[name]
                (kinds[name],) = part.result_types([pa.dictionary(pa.int32(), pa.string())])
        if not any(map(pa.types.is_dictionary, kinds.values())):
            return False
        self.stated = pa.schema([pa.field(field.name, kinds.get(field.name, field.type)) for field in self.schema])
        return True

    def randomize(self, batch: pa.RecordBatch, rng: Rng, *, copy: bool) -> pa.RecordBatch:
        """The results of a batch, of those of its rows that the plan does not drop; kept columns copied if asked."""
        import pyarrow as pa

        results: dict[str, pa.Array] = {}
        for part in self.parts:
            values = list(map(batch.column, part.columns))
            if part.action == "keep":
                results[part.name] = keep(self._owner, part.name, *values, copy=copy)
                continue
            if part.mechanism is None:
                results[part.name] = self._rewrite(part, keep(self._owner, part.name, *values, copy=False))
                continue
            try:
                results |= zip(part.columns, part.randomize(values, part.stream(rng)), strict=True)
            except (FastDPError, pa.ArrowException, UnicodeDecodeError) as error:
                raise withheld(self._owner, part, error) from None
        fitting = [
            results[name] if results[name].type == kind else results[name].cast(kind)
            for name, kind in zip(self.stated.names, self.stated.types, strict=True)
        ]
        made = pa.RecordBatch.from_arrays(fitting, schema=self.stated)
        return drop_rows(made, batch, self._dropping)


def _has_wide_noise(mechanism: object) -> bool:
    """Whether reports are hardly ever the same twice, though they are whole numbers."""
    return isinstance(mechanism, Additive) and float(mechanism.variance) > WIDE**2


def withheld(owner: str, part: PlanPart, error: Exception) -> FastDPError:
    """The error in the name of a part, without any of its values."""
    if isinstance(error, DomainError):
        or_else = f"; or let the plan say what becomes of them: {part.ways_out}" if part.ways_out else ""
        return DomainError(f"{owner}: {part.title}: {error}{or_else}")
    if isinstance(error, FastDPError):
        return type(error)(f"{owner}: {part.title}: {error}")
    return InputCorruptError(f"{owner}: {part.title} contradicts its own format")
