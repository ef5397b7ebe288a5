"""Which plan made a file: the receipt that it carries, or the one beside it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastdp.errors import FastDPError, InputCorruptError, ParameterError
from fastdp.io.base import STANDARD
from fastdp.io.open import open_source
from fastdp.io.sinks import receipt_path
from fastdp.io.stamps import METADATA_KEY
from fastdp.plans.documents.earlier import read_stated
from fastdp.plans.plan import Plan
from fastdp.plans.text_types import report_types
from fastdp.typing import TableSource

if TYPE_CHECKING:
    import pyarrow as pa

    from fastdp.io.base import Source
    from fastdp.plans.part import PlanPart


def open_with_plan(
    source: TableSource,
    given: Plan | None,
    columns: Iterable[str],
    input_format: str | None,
    csv: Mapping[str, Any] | None = None,
) -> tuple[Source, Plan]:
    """A sanitized table or file, and its plan: the given one, unless its receipt contradicts it, or the receipt's."""
    opened, plan = open_with_receipt("estimate", source, given, columns, input_format, csv=csv)
    if plan is None:
        raise ParameterError("estimate: no receipt states the plan of these reports; give the plan (-p PLAN)")
    return opened, plan


def open_with_receipt(
    owner: str,
    source: TableSource,
    given: Plan | None,
    columns: Iterable[str],
    input_format: str | None,
    types: Mapping[str, pa.DataType] | None = None,
    csv: Mapping[str, Any] | None = None,
) -> tuple[Source, Plan | None]:
    """A table or file, and the plan that it was sanitized with; None where neither the caller nor a receipt has one.

    ``types`` are those of columns that a format without types, CSV, is read with where the plan does not say.
    """
    beside = _receipt_beside(source)
    known = given or (None if beside is None else _read(owner, beside))
    opened = open_source(
        owner,
        source,
        input_format=input_format,
        csv=csv,
        types=lambda: {**(types or {}), **({} if known is None else report_types(known))},
    )
    text = own_receipt(opened) or beside
    stated = None if text is None else _read(owner, text)
    if given is not None and stated is not None:
        _check_agreement(owner, given, stated, set(columns))
    return opened, given or stated


def _read(owner: str, text: bytes) -> Plan:
    try:
        receipt = json.loads(text)
        return read_stated(receipt["plan"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, FastDPError):
        raise InputCorruptError(
            f"{owner}: the receipt states no plan that this version can read; use the version that made it"
        ) from None


def _check_agreement(owner: str, given: Plan, stated: Plan, columns: set[str]) -> None:
    """Refuse a plan that says other things of these columns, or of any, than the receipt."""
    theirs = parts_of(stated)
    for name, part in parts_of(given).items():
        if (not columns or name in columns) and not part.agrees_with(theirs.get(name)):
            raise ParameterError(
                f"{owner}: of column {name!r} the plan says something else than the receipt of these reports; give "
                "the plan that they were made with, or none, to use the receipt's"
            )


def parts_of(plan: Plan) -> dict[str, PlanPart]:
    """What the plan says of each column."""
    return {name: part for part in plan.parts for name in part.columns}


def own_receipt(source: Source) -> bytes | None:
    """From the metadata of the table, or of the file or of the first in the folder."""
    found = _get(source.schema.metadata)
    path = source.path
    if found is None and path is not None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        if path.is_dir():
            path = min(path.rglob("*.parquet"), default=path)
        try:
            found = _get(pq.read_metadata(path).metadata)
        except (pa.ArrowException, OSError):  # not Parquet, which has no other place for it
            return None
    return found


def _get(metadata: Mapping[bytes, bytes] | None) -> bytes | None:
    return None if metadata is None else metadata.get(METADATA_KEY.encode())


def _receipt_beside(source: Any) -> bytes | None:
    if not isinstance(source, str | os.PathLike) or os.fspath(source) == STANDARD:
        return None
    beside = receipt_path(Path(source))
    return beside.read_bytes() if beside.is_file() else None
