"""What a plan says of several columns together."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fastdp.columns.numeric import check_arrow
from fastdp.errors import DomainError, ParameterError
from fastdp.plans import category_group as joint
from fastdp.plans import point_group as points
from fastdp.plans.part import PlanPart
from fastdp.plans.policies import decode, missing_rows
from fastdp.plans.spec import check_keys, in_plain_words
from fastdp.validation import unknown

if TYPE_CHECKING:
    import pyarrow as pa

    from fastdp.random.rng import Rng

Body = points.Points | joint.Joint | joint.Several
_SEVERAL = (joint.Several, (*joint.KEYS, "protocol"))
GROUPS: Mapping[str, tuple[Any, tuple[str, ...]]] = {
    "planar_laplace": (points.Points, points.KEYS),
    "krr": (joint.Joint, joint.KEYS),
    "split": _SEVERAL,
    "sample": _SEVERAL,
    "sample_and_fake": _SEVERAL,
}
"""Mechanisms on several columns, and the keys that each of them takes."""


@dataclass(frozen=True, slots=True)
class Group(PlanPart):
    """Several columns that go through one mechanism."""

    body: Body

    @classmethod
    def read(cls, number: int, value: object) -> Group:
        """From a table with ``columns``, ``mechanism`` and its keys; the ``number`` is for errors."""
        owner = f"Plan: group {number}"
        if not isinstance(value, Mapping):
            raise ParameterError(f"{owner}: give a table with columns and a mechanism")
        given = {key: item for key, item in in_plain_words(value).items() if item is not None}
        columns = given.get("columns")
        if not isinstance(columns, list) or not columns or not all(isinstance(name, str) for name in columns):
            raise ParameterError(f"{owner}: columns must be a list of names of columns")
        owner = f"{owner} ({', '.join(columns)})"
        if len(set(columns)) < len(columns):
            raise ParameterError(f"{owner}: names a column twice")
        name = given.get("mechanism")
        if not isinstance(name, str) or name not in GROUPS:
            raise ParameterError(f"{owner}: {unknown('mechanism of a group', name, tuple(GROUPS))}")
        kind, keys = GROUPS[name]
        check_keys(owner, given, ("columns", "mechanism", *keys))
        body: Body = kind.read(owner, tuple(columns), given)
        return cls(tuple(columns), "randomize", given, body.mechanism, body.privacy, body.nulls.nulls, body)

    @property
    def title(self) -> str:
        return f"group ({self.name})"

    @property
    def ways_out(self) -> str:
        return ""  # its errors say them

    @property
    def expected_error(self) -> str:
        return self.body.expected_error

    @property
    def labelled(self) -> tuple[str, ...]:
        return tuple(
            name for name, filler in zip(self.columns, self.body.fillers, strict=True) if isinstance(filler, str)
        )

    def text_types(self) -> dict[str, pa.DataType]:
        import pyarrow as pa

        kinds = {str: pa.string(), int: pa.int64(), float: pa.float64()}
        return {name: kinds[type(filler)] for name, filler in zip(self.columns, self.body.fillers, strict=True)}

    def result_types(self, kinds: list[pa.DataType]) -> list[pa.DataType]:
        return self.body.result_types(kinds)

    @property
    def reported_labels(self) -> tuple[str, ...]:
        return self.labelled if self.body.reports_values else ()

    @property
    def keeps_nulls(self) -> bool:
        return self.body.reports_values and self.nulls == "public"

    @property
    def not_estimable(self) -> str:
        return self.body.not_estimable

    def agrees_with(self, other: PlanPart | None) -> bool:
        return isinstance(other, Group) and (self.columns, self.given) == (other.columns, other.given)

    def stream(self, rng: Rng) -> Rng:
        """The stream of these columns; no column's own has this label, which is of another type."""
        return rng.child(json.dumps(self.columns).encode())

    def randomize(self, values: list[pa.Array], rng: Rng) -> list[pa.Array]:
        """Reports, a column for each column; where any of a row's values is null, all of its reports are.

        Every row takes its slots, also one that is null or dropped afterwards: a public value stands in for it.
        """
        import numpy as np
        import pyarrow as pa

        for name, column in zip(self.columns, values, strict=True):
            check_arrow(f"column {name!r}", column, "public")
        values = self.body.settle(values, rng)
        missing = missing_rows(values)
        if not missing.any():
            return self.body.randomize(values, rng)
        if self.nulls not in {"public", "drop"}:
            raise DomainError(
                'the columns hold nulls; drop or fill them, or say nulls = "public" to keep them or "drop" to leave '
                "their rows out"
            )
        filled = [_fill(column, filler) for column, filler in zip(values, self.body.fillers, strict=True)]
        absent = pa.array(np.arange(missing.size), mask=missing)
        return [column.take(absent) for column in self.body.randomize(filled, rng)]


def _fill(values: pa.Array, filler: Any) -> pa.Array:
    """The values with a public one in place of nulls."""
    import pyarrow as pa

    plain = decode(values)
    return plain.fill_null(pa.scalar(filler).cast(plain.type, safe=False))
