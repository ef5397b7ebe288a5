"""What a plan says of values that a mechanism does not take: nulls, NaN and undeclared categories.

All of it happens before a value is randomized, to each value by itself, so the mechanism's guarantee covers it. Only
two policies show something, and say so: ``nulls = "public"`` leaves nulls where they are, and ``nulls = "drop"`` leaves
out their rows, so that the number of dropped rows, and which rows are left, is public.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from fastdp import validation
from fastdp.columns import arrow
from fastdp.columns.domain import Domain
from fastdp.errors import ParameterError, SchemaError
from fastdp.plans.values.items import Items
from fastdp.plans.values.spelling import Spelling

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from fastdp.columns.numeric import Nulls
    from fastdp.random.rng import Rng
    from fastdp.units.ticks import Ticks

KEYS = ("nulls", "null_label", "nan", "out_of_domain", "aliases", "fold_case", "items")
UNIFORM = "uniform"
"""An undeclared category becomes any of the declared ones, drawn uniformly, exactly."""


@dataclass(frozen=True, slots=True)
class Policies:
    """The policies of one column; ``domain`` is what its categories can be."""

    nulls: Literal["error", "public", "category", "value", "drop"] = "error"
    null_label: Any = None
    lowest: float | None = None
    """What NaN counts as; None where it is an error."""
    others: Any = None
    """The label that undeclared values count as, or UNIFORM; None where they are an error."""
    domain: Domain | None = None
    filled: Any = None
    """The number that nulls count as, in steps where the column has them."""
    items: Items | None = None
    """Whether a record's value is an element of its list."""
    spelling: Spelling | None = None
    """How labels may be spelled; None where they are as they are."""

    @classmethod
    def read(
        cls,
        owner: str,
        given: Mapping[str, Any],
        *,
        domain: Domain | None,
        bounds: Any = None,
        truths: bool = False,
        ticks: Ticks | None = None,
    ) -> Policies:
        """From a plan's keys; ``domain`` is that of categories, ``bounds`` are those of numbers, ``ticks`` of dates."""
        nulls: Any = given.get("nulls", "error")
        filled = None
        if domain is None and not truths and nulls not in ("error", "public", "category", "drop"):
            filled, nulls = _read_filled(owner, nulls, bounds, ticks), "value"
        else:
            validation.one_of(owner, "nulls", nulls, ("error", "public", "category", "drop"))
        label = given.get("null_label")
        if nulls == "category":
            if domain is None and not truths:
                raise ParameterError(
                    f'{owner}: nulls = "category" is for categories; numbers have a value within the bounds, which '
                    'nulls count as, "public" (released as they are) and "drop" (rows left out, which shows)'
                )
            if not (isinstance(label, bool) if truths else domain is not None and has_label(domain, label)):
                kind = "true or false" if truths else "a label of the domain"
                raise ParameterError(
                    f'{owner}: nulls = "category" needs null_label, {kind}, which nulls are counted as; declare one '
                    "for them"
                )
        elif label is not None:
            raise ParameterError(f'{owner}: null_label is for nulls = "category"')
        lowest = _read_nan(owner, given["nan"], bounds) if "nan" in given else None
        others = _read_others(owner, given["out_of_domain"], domain) if "out_of_domain" in given else None
        return cls(
            nulls, label, lowest, others, domain, filled,
            items=Items.read(owner, given) if "items" in given else None,
            spelling=Spelling.read(owner, given, domain),
        )  # fmt: skip

    @property
    def change_values(self) -> bool:
        """Whether some values are replaced before they are randomized."""
        return self.nulls in {"category", "value"} or (self.lowest, self.others, self.spelling) != (None, None, None)

    @property
    def for_mechanism(self) -> Nulls:
        """The mechanism's policy on nulls: rows to be dropped stay until then, so that every row has its slot."""
        return "public" if self.nulls in {"public", "drop"} else "error"

    def settle(self, values: pa.Array, rng: Rng) -> pa.Array:
        """Values that the mechanism takes, by these policies; ``rng`` is asked for one slot per value, or never."""
        if self.lowest is not None:
            values = _replace_nan(values, self.lowest)
        if self.spelling is not None:
            values = self.spelling.settle(decode(values))
        if self.nulls == "category":
            values = self._fill_nulls(values)
        elif self.nulls == "value":
            values = _fill_numbers(values, self.filled)
        return values if self.others is None else self._rename(values, rng)

    def settled_type(self, kind: pa.DataType) -> pa.DataType:
        """The type of the values that `settle` gives; refused if it cannot hold a label that others count as."""
        import pyarrow as pa

        if self.lowest is None and self.others is None and self.nulls != "category" and self.spelling is None:
            return kind
        plain = decoded_type(kind)
        if self.lowest is not None and pa.types.is_floating(plain):
            kind = plain
        if self.spelling is not None and self._is_of_domain(plain):
            kind = plain
        if self.nulls == "value" and _is_number(plain):
            _scalar(self.filled, plain)
            kind = plain
        if self.nulls == "category" and (pa.types.is_boolean if self.domain is None else self._is_of_domain)(plain):
            kind = _scalar(self.null_label, plain).type
        if self.others is None or not self._is_of_domain(plain):
            return kind
        return plain if self.others == UNIFORM else _scalar(self.others, plain).type

    def _fill_nulls(self, values: pa.Array) -> pa.Array:
        import pyarrow as pa

        kind = pa.types.is_boolean if self.domain is None else self._is_of_domain
        plain = decode(values)
        return plain.fill_null(_scalar(self.null_label, plain.type)) if kind(plain.type) else values

    def _is_of_domain(self, kind: pa.DataType) -> bool:
        import pyarrow as pa

        assert self.domain is not None
        if self.domain.labels is not None and isinstance(self.domain.labels[0], str):
            return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
        return bool(pa.types.is_integer(kind))

    def _rename(self, values: pa.Array, rng: Rng) -> pa.Array:
        """Undeclared values as declared ones; nulls stay. One slot per value, whatever the values are."""
        import pyarrow.compute as pc

        from fastdp.engine.uniform import uniform_codes

        assert self.domain is not None
        drawn = uniform_codes(rng, len(values), self.domain.size) if self.others == UNIFORM else None
        plain = decode(values)
        if not self._is_of_domain(plain.type):  # the mechanism says what is wrong
            return values
        declared = pc.or_(self._declared(plain), plain.is_null())
        if drawn is None:
            return pc.if_else(declared, plain, _scalar(self.others, plain.type))
        return pc.if_else(declared, plain, label_codes(drawn, self.domain, plain.type))

    def undeclared(self, values: pa.Array) -> pa.Array | None:
        """Which values are no label of the domain; None where the mechanism does not take their type."""
        import pyarrow.compute as pc

        return pc.invert(self._declared(values)) if self._is_of_domain(values.type) else None

    def _declared(self, values: pa.Array) -> pa.Array:
        import pyarrow as pa
        import pyarrow.compute as pc

        assert self.domain is not None
        labels = self.domain.labels
        if labels is None:
            numbers = values.fill_null(0).to_numpy(zero_copy_only=False)
            return pa.array((numbers >= 0) & (numbers < self.domain.size))
        if isinstance(labels[0], str):
            return pc.is_in(values, pa.array(labels, values.type))
        info = _limits(values.type)
        return pc.is_in(values, pa.array([label for label in labels if info.min <= label <= info.max], values.type))


def has_label(domain: Domain, label: object) -> bool:
    """Whether the domain declares this label or code."""
    if domain.labels is None:
        return type(label) is int and 0 <= label < domain.size
    return type(label) in (str, int) and label in domain.labels


def _read_filled(owner: str, value: object, bounds: Any, ticks: Ticks | None) -> Any:
    """The value that nulls count as, which must be one that can occur."""
    found = ticks.of(owner, "nulls", value) if ticks is not None else value
    if bounds is None or not validation.is_number(found) or not bounds[0] <= found <= bounds[1]:
        raise ParameterError(
            f'{owner}: nulls must be a value within the bounds, which nulls count as, or "error", "public" or "drop"'
        )
    return found


def _read_nan(owner: str, policy: object, bounds: tuple[float, float] | None) -> float | None:
    if validation.one_of(owner, "nan", policy, ("error", "lower")) == "error":
        return None
    if bounds is None:
        raise ParameterError(f'{owner}: nan = "lower" counts NaN as the lower bound; give bounds')
    return float(bounds[0])


def _read_others(owner: str, others: str | int, domain: Domain | None) -> str | int | None:
    if others == "error":
        return None
    if domain is None:
        raise ParameterError(f"{owner}: out_of_domain is for categories; numbers beyond their bounds are clamped")
    if others == UNIFORM:
        if has_label(domain, UNIFORM):
            raise ParameterError(f'{owner}: out_of_domain = "uniform" means a random label; rename the label "uniform"')
        return UNIFORM
    if not has_label(domain, others):
        raise ParameterError(
            f'{owner}: out_of_domain must be a label of the domain, which others are counted as, or "uniform"'
        )
    return others


def decode(values: pa.Array) -> pa.Array:
    """The values without a dictionary, runs or views."""
    import pyarrow as pa

    values = arrow.decode(values)
    return values.cast(pa.large_string()) if pa.types.is_string_view(values.type) else values


def decoded_type(kind: pa.DataType) -> pa.DataType:
    """The type of `decode` of values of this type."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        kind = kind.value_type
    return pa.large_string() if pa.types.is_string_view(kind) else kind


def label_codes(codes: np.ndarray, domain: Domain, kind: pa.DataType) -> pa.Array:
    """Codes as the declared labels, of the type that the column has."""
    import pyarrow as pa

    try:
        return arrow.to_labels(codes, domain, kind)
    except pa.ArrowInvalid:
        raise _too_narrow(kind) from None


def missing_rows(columns: Sequence[pa.Array]) -> np.ndarray:
    """Which rows have a null in any of the columns, whatever they are encoded as."""
    import numpy as np

    missing = np.zeros(len(columns[0]), np.bool_)
    for values in map(arrow.show_nulls, columns):
        if values.null_count:
            missing |= values.is_null().to_numpy(zero_copy_only=False)
    return missing


def drop_rows(results: pa.RecordBatch, batch: pa.RecordBatch, columns: Sequence[str]) -> pa.RecordBatch:
    """The results of those rows of a batch that have no null in any of these columns."""
    import pyarrow as pa

    if not columns:
        return results
    missing = missing_rows([batch.column(name) for name in columns])
    return results.filter(pa.array(~missing)) if missing.any() else results


def _is_number(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _fill_numbers(values: pa.Array, number: float) -> pa.Array:
    plain = decode(values)
    return plain.fill_null(_scalar(number, plain.type)) if _is_number(plain.type) else values


def _replace_nan(values: pa.Array, lowest: float) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    plain = decode(values)
    if not pa.types.is_floating(plain.type):
        return values
    return pc.if_else(pc.is_nan(plain), pa.scalar(lowest, plain.type), plain)


def _scalar(label: Any, kind: pa.DataType) -> pa.Scalar:
    import pyarrow as pa

    try:
        return pa.scalar(label, kind)
    except (pa.ArrowInvalid, OverflowError):
        raise _too_narrow(kind) from None


def _too_narrow(kind: pa.DataType) -> SchemaError:
    return SchemaError(f"arrow type {kind} cannot hold all labels of the domain; convert the column to a wider type")


def _limits(kind: pa.DataType) -> Any:
    import numpy as np

    return np.iinfo(kind.to_pandas_dtype())
