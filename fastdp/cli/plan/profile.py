"""``fastdp plan init --profile``: a proposal on standard output, what was seen on standard error."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fastdp.validation import visible_text

if TYPE_CHECKING:
    import pyarrow as pa

    from fastdp.io.base import Source


def print_profile(source: Source, *, write_domains: bool) -> None:
    """The proposal for a source, of which the first rows are looked at."""
    from fastdp.plans.documents.kinds import look
    from fastdp.plans.documents.profile import propose

    sample = _sample(source)
    seen = {name: look(name, sample.column(name)) for name in sample.column_names}
    domains = {}
    if write_domains:
        labelled = [name for name, one in seen.items() if one.kind == "categories"]
        domains = {name: sorted(set(sample.column(name).drop_null().to_pylist())) for name in labelled}
    click.echo(f"the first {sample.num_rows:,} rows, for your eyes; nothing of this is stored:", err=True)
    for name, one in seen.items():
        shown = (
            f"  {visible_text(name)[:24]:<24}  {one.kind or '-':<10}  {one.distinct:>9,} distinct  {one.nulls:>8,} null"
        )
        click.echo(shown, err=True)
    if domains:
        click.echo(f"labels of {', '.join(domains)} are in the plan: whoever reads it learns that they occur", err=True)
    click.echo(propose(source.schema, seen, domains=domains), nl=False)


def _sample(source: Source) -> pa.Table:
    import pyarrow as pa

    from fastdp.plans.documents.kinds import SAMPLE

    batches, rows = [], 0
    for batch in source.batches(source.schema.names, None, []):
        batches.append(batch.slice(0, SAMPLE - rows))
        rows += batches[-1].num_rows
        if rows >= SAMPLE:
            break
    return pa.Table.from_batches(batches, source.schema) if batches else source.schema.empty_table()
