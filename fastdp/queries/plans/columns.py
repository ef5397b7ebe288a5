"""What a release declares of a column: bounds, or that they are found privately, and what nulls count as."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fastdp import validation
from fastdp.errors import ParameterError
from fastdp.queries.data.measures import NULLS, Nulls, read_bounds

PRIVATE = "private"
KEYS = ("bounds", "nulls", "share")


@dataclass(frozen=True, slots=True)
class ColumnSpec:
    """Bounds of a column (None: not declared, or found privately with a share of the budget), and what nulls are."""

    name: str
    bounds: tuple[float, float] | None = None
    nulls: Nulls = "drop"
    share: float | None = None

    @classmethod
    def read(cls, owner: str, name: str, given: object) -> ColumnSpec:
        """What ``[columns.NAME]`` says."""
        if not isinstance(given, Mapping):
            raise ParameterError(f"{owner}: column {name!r} takes a table with bounds and nulls")
        for key in given:
            if key not in KEYS:
                raise ParameterError(f"{owner}: column {name!r}: {validation.unknown('key', key, KEYS)}")
        nulls = given.get("nulls", "drop")
        if nulls == "error":
            raise ParameterError(
                f"{owner}: column {name!r}: an error that depends on the data would tell; nulls must be one of "
                f"{', '.join(NULLS)}"
            )
        validation.one_of(owner, f"nulls of {name!r}", nulls, NULLS)
        bounds, share = given.get("bounds"), given.get("share")
        if bounds == PRIVATE:
            share = 0.05 if share is None else validation.probability(owner, f"share of {name!r}", share)
            return cls(name, None, nulls, share)
        if share is not None:
            raise ParameterError(f'{owner}: column {name!r}: share is for bounds = "private"')
        return cls(name, None if bounds is None else read_bounds(owner, name, bounds), nulls)

    def to_dict(self) -> dict[str, Any]:
        """The same words again."""
        stated: dict[str, Any] = {"nulls": self.nulls}
        if self.share is not None:
            return {"bounds": PRIVATE, "share": self.share, **stated}
        return stated if self.bounds is None else {"bounds": list(self.bounds), **stated}
