"""The table of a file in one streaming pass; columns that its receipt says are sanitized are won back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fastdp import validation
from fastdp.errors import DomainError, ParameterError, SchemaError
from fastdp.fairness.build import count
from fastdp.fairness.encoding import OWNER
from fastdp.fairness.sanitized.tables import SanitizedTable
from fastdp.fairness.tables import FairnessTable
from fastdp.io.base import Cancellable, Progress, Source, expected_rows
from fastdp.mechanisms.local.frequencies import CategoryReports
from fastdp.plans.plan import Plan
from fastdp.tables.sanitizing.pipeline import Pipeline
from fastdp.tables.sanitizing.receipt_lookup import open_with_receipt, parts_of
from fastdp.typing import TableSource

if TYPE_CHECKING:
    import pyarrow as pa


def read(
    source: TableSource,
    *,
    y_true: str,
    y_pred: str,
    sensitive: Sequence[str],
    given: str | None = None,
    score: str | None = None,
    weights: str | None = None,
    positive: Any = None,
    plan: Plan | None = None,
    truth: str = "sample",
    input_format: str | None = None,
    progress: Progress | None = None,
) -> FairnessTable | SanitizedTable:
    """Count the rows of a file, a folder or any table, as `fastdp.fairness.table` does, in memory for one batch.

    Columns are given by name. A column that the file's receipt, or ``plan``, says was sanitized by k-RR or randomized
    response is won back through its channel, and the result is a :class:`SanitizedTable`. Without a receipt values are
    taken as they are.

    >>> import fastdp as fd, pyarrow as pa
    >>> plan = fd.Plan(columns={"y": "keep", "r": "keep", "sex": {
    ...     "mechanism": "krr", "epsilon": 2.0, "domain": ["f", "m"]}})
    >>> people = pa.table({"y": [1, 0] * 3000, "r": [1, 0, 1, 1] * 1500, "sex": ["f", "f", "m", "m"] * 1500})
    >>> private = fd.sanitize(people, plan, rng=fd.Rng.unsafe_seed(1))
    >>> found = read(private, y_true="y", y_pred="r", sensitive=["sex"])
    >>> round(found.gap("fpr").value, 1), round(found.naive.gap("fpr").value, 1)
    (1.0, 0.8)
    """
    if isinstance(sensitive, str) or not sensitive:
        raise ParameterError(f"{OWNER}: sensitive must be a list of names of columns")
    if plan is not None and not isinstance(plan, Plan):
        raise ParameterError(f"{OWNER}: plan must be a fastdp.Plan, got {type(plan).__name__}")
    roles = {"y_true": y_true, "y_pred": y_pred, "given": given, "score": score, "weights": weights}
    names = list(dict.fromkeys([*sensitive, *(name for name in roles.values() if name is not None)]))
    opened, stated = open_with_receipt(OWNER, source, plan, names, input_format, _number_types(score, weights))
    for name in names:
        if opened.schema.names.count(name) != 1:
            found = validation.unknown("column", name, tuple(dict.fromkeys(opened.schema.names)))
            raise SchemaError(f"{OWNER}: the table must hold column {name!r} once: {found}")
    mechanisms = _mechanisms(stated, sensitive, roles)
    positive = _typed(positive, opened.schema.field(y_true).type)
    total = _count(opened, sensitive, roles, positive, mechanisms, progress)
    if positive is not None and positive not in total.classes and not set(total.classes) <= {0, 1}:
        raise ParameterError(f"{OWNER}: positive must be one of the labels or decisions")
    return SanitizedTable(total, mechanisms, truth) if mechanisms else total


def _number_types(*names: str | None) -> dict[str, pa.DataType]:
    import pyarrow as pa

    return {name: pa.float64() for name in names if name is not None}


def _mechanisms(plan: Plan | None, sensitive: Sequence[str], roles: dict[str, str | None]) -> dict[str, Any]:
    """The mechanisms of the columns that were sanitized, by their part in the table."""
    parts = {} if plan is None else parts_of(plan)
    found = {}
    for role, name in [*((name, name) for name in sensitive), *roles.items()]:
        part = None if name is None else parts.get(name)
        if part is None or part.action != "randomize":
            continue
        if role in {"score", "weights"} or len(part.columns) > 1 or not isinstance(part.mechanism, CategoryReports):
            raise ParameterError(
                f"{OWNER}: column {name!r} was sanitized by {part.given['mechanism']}, which fairness cannot be told "
                "from; attributes, labels and decisions must be kept, or reports of krr or randomized_response"
            )
        found[role] = part.mechanism
    return found


def _typed(positive: Any, kind: pa.DataType) -> Any:
    """A class that is given as text, as the type of the labels."""
    import pyarrow as pa

    if not isinstance(positive, str):
        return positive
    if pa.types.is_boolean(kind):
        return {"true": 1, "false": 0, "1": 1, "0": 0}.get(positive.lower(), positive)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        number = validation.as_float(_number(positive))
        return int(number) if number.is_integer() else number
    return _value(positive)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        raise ParameterError(f"{OWNER}: positive must be a number, as the labels are") from None


def _count(
    opened: Source,
    sensitive: Sequence[str],
    roles: dict[str, str | None],
    positive: Any,
    mechanisms: dict[str, Any],
    progress: Progress | None,
) -> FairnessTable:
    """One pass: the tables of all batches, added up."""
    import pyarrow as pa

    total: FairnessTable | None = None
    rows = 0

    def column(batch: pa.RecordBatch, role: str) -> Any:
        name = roles[role]
        if name is None:
            return None
        values = batch.column(name)
        return _truths(values) if role in {"y_true", "y_pred"} and role not in mechanisms else values

    def work(batch: pa.RecordBatch) -> None:
        nonlocal total, rows
        if batch.num_rows == 0:
            return
        attributes = {name: batch.column(name) for name in sensitive}
        given, score, weights = (column(batch, role) for role in ("given", "score", "weights"))
        labels, decisions = column(batch, "y_true"), column(batch, "y_pred")
        found = count(labels, decisions, attributes, given, score, weights, positive, mechanisms)
        total = found if total is None else total + found
        rows += batch.num_rows
        if progress is not None:
            progress(rows, expected_rows(opened, rows))

    names = list(dict.fromkeys([*sensitive, *(name for name in roles.values() if name is not None)]))
    text = [name for name in names if pa.types.is_string(opened.schema.field(name).type)]
    cancel = opened.cancel if isinstance(opened, Cancellable) else None
    Pipeline().run(opened.batches(names, None, text), work, lambda _: None, cancel)
    if total is None:
        raise ParameterError(f"{OWNER}: there are no rows")
    if len({isinstance(value, str) for value in total.classes}) > 1:
        raise DomainError(f"{OWNER}: labels and decisions are partly text and partly truth values; name all classes")
    return total


def _value(text: str) -> Any:
    """A label that is text, with 0 and 1 and truth values as numbers: so CSV writes them."""
    return {"0": 0, "1": 1, "false": 0, "true": 1, "False": 0, "True": 1}.get(text, text)


def _truths(values: pa.Array) -> Any:
    """Labels that are text, with truth values as numbers where all of them are."""
    import pyarrow as pa

    encoded = values if pa.types.is_dictionary(values.type) else None
    if encoded is None and (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        encoded = values.dictionary_encode()
    if encoded is None or encoded.null_count:
        return values
    labels = [_value(value) if isinstance(value, str) else None for value in encoded.dictionary.to_pylist()]
    if not labels or not set(labels) <= {0, 1}:
        return values
    return pa.array(labels, pa.uint8()).take(encoded.indices)
