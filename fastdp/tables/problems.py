"""Every problem of a plan and a file at once: what is wrong with the plan, the names, the types, and the values.

Counts and values are for the owner of the data; none of them is ever part of a release.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastdp.columns.arrow import decode
from fastdp.errors import FastDPError, ParameterError
from fastdp.plans.column_entry import ColumnEntry
from fastdp.plans.column_group import Group
from fastdp.plans.documents.named_files import with_files
from fastdp.plans.documents.positions import line_numbers
from fastdp.plans.plan import Plan, parse

if TYPE_CHECKING:
    import pyarrow as pa

    from fastdp.tables.sanitizing.columns import Columns
    from fastdp.tables.sanitizing.job import Job

SHOWN = 10
"""Offending values that are kept for the owner's screen."""


@dataclass(slots=True)
class Problem:
    """What is wrong with a column, the line of the plan that says so, and the line to add."""

    column: str
    what: str
    line: int | None = None
    add: str = ""
    count: int = 0
    values: list[Any] = field(default_factory=list, repr=False)
    code: int = 2
    """The exit code of a command that finds it: 2 for the plan, 3 for the data."""


def read_plan(path: Path) -> tuple[Plan | None, list[Problem], dict[str, int]]:
    """The plan of a file, or all that is wrong with its entries, each judged by itself; and the lines of columns."""
    text = path.read_bytes().decode("utf-8-sig", "replace")
    lines = line_numbers(text)
    found = []
    content = parse(text)
    columns = content.get("columns", {})
    for name, entry in columns.items() if isinstance(columns, Mapping) else ():
        try:
            ColumnEntry.read(name, with_files({name: entry}, path.parent)[name])
        except FastDPError as error:
            found.append(Problem(name, _without_owner(error), lines.get(name)))
    groups = content.get("groups", [])
    for number, group in enumerate(groups if isinstance(groups, list) else (), 1):
        try:
            Group.read(number, group)
        except FastDPError as error:
            found.append(Problem(f"group {number}", _without_owner(error), lines.get(f"group {number}")))
    if found:
        return None, found, lines
    return Plan.load(path), found, lines


def _without_owner(error: FastDPError) -> str:
    text = str(error)
    head, _, rest = text.partition(": ")
    if head != "Plan":
        return text
    owner, _, stated = rest.partition(": ")
    return stated if owner.startswith(("column", "group")) and stated else rest


def check_names(plan: Plan, schema: pa.Schema, lines: Mapping[str, int]) -> list[Problem]:
    """All columns that only one of the two names, or that the file names more than once."""
    from fastdp.validation import unknown

    names = set(schema.names)
    repeated = [
        Problem(name, f"appears {count} times in the file; rename all but one", lines.get(name), code=3)
        for name, count in Counter(schema.names).items()
        if count > 1
    ]
    missing = [
        Problem(name, "is not in the plan", None, _to_add(name), code=3)
        for name in dict.fromkeys(schema.names)
        if name not in plan.names
    ]
    more = [
        Problem(name, f"is not in the file: {unknown('column', name, tuple(schema.names))}", lines.get(name), code=3)
        for name in plan.names
        if name not in names
    ]
    return repeated + missing + more


def _to_add(name: str) -> str:
    from fastdp.plans.documents.template import _key

    return f'[columns.{_key(name)}] with action = "drop"'


def check_types(columns: Columns, lines: Mapping[str, int]) -> list[Problem]:
    """All parts whose mechanism does not take their columns."""
    found = []
    for part in columns.plan.parts:
        try:
            columns.result_types(part)
        except FastDPError as error:
            text = str(error).removeprefix(f"plan: {part.title}: ")
            found.append(Problem(part.name, text, lines.get(part.name), code=3))
    return found


def check_values(job: Job, lines: Mapping[str, int]) -> list[Problem]:
    """All values that sanitizing would refuse, in one pass."""
    parts = [part for part in job.plan.parts if part.mechanism is not None]
    found: dict[tuple[str, str], Problem] = {}
    names = list(dict.fromkeys(name for part in parts for name in part.columns))
    if not names:
        return []
    for batch in job.source.batches(names, None, []):
        for part in parts:
            for name in part.columns:
                for what, add, offending in _offending(part, batch.column(name)):
                    count = len(offending)
                    if not count:
                        continue
                    one = found.setdefault(
                        (name, what), Problem(name, what, lines.get(name, lines.get(part.name)), add, code=3)
                    )
                    one.count += count
                    if len(one.values) < SHOWN:
                        fresh = offending.unique().slice(0, SHOWN).to_pylist()
                        one.values += [value for value in fresh if value not in one.values][: SHOWN - len(one.values)]
    return list(found.values())


def _offending(part: Any, values: pa.Array) -> Iterator[tuple[str, str, pa.Array]]:
    """What a part refuses of a column, with the line that says what becomes of it."""
    import pyarrow as pa
    import pyarrow.compute as pc

    plain = decode(values)
    policies = part.policies if isinstance(part, ColumnEntry) else None
    if policies is not None and policies.items:
        lengths = pc.list_value_length(plain).fill_null(0)
        if part.nulls == "error":
            yield "empty lists and nulls", 'nulls = "public"', plain.filter(pc.equal(lengths, 0))
        plain = plain.flatten()
    elif part.nulls == "error":
        yield "nulls", _null_line(part), plain.filter(plain.is_null())
    plain = plain.drop_null()
    if policies is None:
        return
    if pa.types.is_floating(plain.type) and policies.lowest is None and part.ticks is None:
        yield "NaN", 'nan = "lower"', plain.filter(pc.is_nan(plain.cast(pa.float64())))
    if policies.domain is not None and policies.others is None:
        if policies.spelling is not None:
            plain = policies.spelling.settle(plain)
        strange = policies.undeclared(plain)
        if strange is not None:
            yield "labels outside the domain", 'out_of_domain = "uniform"', plain.filter(strange)


def _null_line(part: Any) -> str:
    if isinstance(part, ColumnEntry) and part.policies.domain is not None and part.policies.domain.labels:
        return f'nulls = "category", null_label = {part.policies.domain.labels[0]!r}'
    bounds = part.given.get("bounds")
    return f"nulls = {bounds[0]}" if isinstance(bounds, list) else 'nulls = "public"'


def find_problems(
    plan_path: Path, source: Any, input_format: str | None, csv: Mapping[str, Any] | None = None
) -> list[Problem]:
    """All problems of a plan, and of a file under it where the plan can be read.

    What needs no data comes first, all of it; values are read only where names and types fit.
    """
    from fastdp.io.open import open_source
    from fastdp.plans.text_types import text_types
    from fastdp.tables.sanitizing.columns import Columns
    from fastdp.tables.sanitizing.job import Job
    from fastdp.tables.sanitizing.struct_fields import by_field

    plan, found, lines = read_plan(plan_path)
    if plan is None or source is None:
        return found
    opened = by_field(
        open_source("plan", source, input_format=input_format, types=lambda: text_types(plan), csv=csv), plan.names
    )
    found = check_names(plan, opened.schema, lines)
    if found or all(part.action == "drop" for part in plan.parts):
        return found
    try:
        job = Job(source, plan, input_format=input_format, owner="plan", csv=csv)
    except FastDPError as error:
        probe = Columns.probe(opened.schema, plan, "plan")
        return check_types(probe, lines) or [Problem("", _without_owner(ParameterError(str(error))))]
    return check_values(job, lines)
