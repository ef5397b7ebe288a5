"""sanitize: a table or file, column by column as its plan says."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fastdp.columns.tables import same_kind
from fastdp.errors import ParameterError
from fastdp.io.base import Progress
from fastdp.io.memory import TableSink
from fastdp.plans.plan import Plan
from fastdp.random.job import JobKey
from fastdp.random.rng import Rng, resolve
from fastdp.tables.sanitizing.job import Job
from fastdp.typing import TableSource

if TYPE_CHECKING:
    from fastdp.accounting.ledger import Ledger


def sanitize(
    source: TableSource,
    plan: Plan,
    output: str | os.PathLike[str] | None = None,
    *,
    rng: Rng | None = None,
    key: JobKey | None = None,
    shuffle: bool = False,
    receipt: str | os.PathLike[str] | None = None,
    input_format: str | None = None,
    output_format: str | None = None,
    force: bool = False,
    csv: Mapping[str, str | None] | None = None,
    batch_rows: int | None = None,
    progress: Progress | None = None,
    ledger: Ledger | str | os.PathLike[str] | None = None,
    name: str = "",
    records: int | None = None,
) -> Any:
    """The sanitized table in memory, or the receipt of the file that ``output`` names.

    A table in memory comes back as what it was, a pandas data frame with its rows numbered afresh; kinds that nobody
    here knows how to make come back as pyarrow tables.

    ``source`` is a table of pyarrow, pandas, polars, numpy (a structured array, a dict of columns), DuckDB, DataFusion,
    arro3, nanoarrow or anything else with an Arrow stream, or a stream itself; or the path of a Parquet, Arrow
    or CSV file or of a folder of Parquet files, or "-" for standard input (an Arrow stream or CSV). The format is told
    by the first bytes, else by the ending; ``input_format`` ("parquet", "arrow" or "csv") says it where neither does.
    Columns of CSV are read as what their mechanism takes; those that are kept stay the text that they are. CSV may be
    compressed, .csv.gz or .csv.zst, in and out.

    An output's format follows its ending, or ``output_format``: .parquet, .arrow (also .feather, .ipc), .arrows for an
    Arrow stream, .csv, and a name that ends in "/" for a new folder of Parquet files. It appears when it is complete,
    with its receipt beside it (or where ``receipt`` says) and in its metadata; on any error nothing is left. Output "-"
    is standard output, as CSV if the source is CSV, else as an Arrow stream. That cannot be taken back: on an error it
    ends early, an Arrow stream without its end marker, CSV without a sign but the error itself. The receipt inside
    Arrow data stands before the rows and does not say how many there are.

    Files are streamed: memory is bounded by a few batches, whatever the size of the file and its row groups; of Arrow
    data, by the largest of their own batches. ``shuffle`` releases the rows in a uniformly random order, which hides
    what a sorted input would tell; rows that exceed memory wait in nameless temporary files beside the output.

    The guarantee is ``plan.privacy``, for one record replaced by another. Noise is bound to the job's key, the plan and
    where the rows are: the row groups of a Parquet file, each file of a folder, else the table as a whole. The same
    ``key`` gives the same bytes again, on any engine and whatever the batches, threads and retries; rows that are
    elsewhere, or others, get independent noise. Without a key or ``rng``, the operating system keys the job.

    The release is paid from its ledger before a record is read. What does not fit is refused, and nothing is released.
    What was spent stays spent, whatever happens afterwards. The receipt names the entry.

    Parameters
    ----------
    source
        A table, a stream, or the path of a file or folder.
    plan
        What becomes of each column.
    output
        The path to write; without one the sanitized table is returned.
    rng
        The source of noise, in tests: a stream that keys this job and is then advanced.
    key
        The `JobKey` of the job, to repeat it byte by byte, which a ledger is then not charged for again. One key is for
        one plan and one snapshot of the table.
    shuffle
        Release the rows in a uniformly random order.
    receipt
        The path of the receipt; by default the output's name and ".receipt.json".
    input_format, output_format
        "parquet", "arrow" or "csv", where content or ending do not show the format.
    csv
        How CSV is written, of the source and of the output: a dict of "delimiter", "quote", "encoding" and "decimal".
    force
        Replace existing files.
    batch_rows
        The largest number of rows in memory per batch.
    progress
        Called with the rows done and the rows in all, after every batch.
    ledger
        The `Ledger` that the release is paid from, or its path; by default the one that the plan names.
    name
        The name of the ledger's entry.
    records
        The largest number of records that one unit of the budget, such as a person, has.

    >>> import fastdp as fd, pyarrow as pa
    >>> plan = Plan(columns={"name": "drop", "ill": {"mechanism": "randomized_response", "epsilon": 1.0}})
    >>> sanitize(pa.table({"name": ["Ann", "Bob"], "ill": [True, False]}), plan).column_names
    ['ill']
    """
    chosen = read_key("sanitize", key, rng)
    job = Job(source, plan, batch_rows=batch_rows, input_format=input_format, shuffle=shuffle, csv=csv)
    if output is None:
        if receipt is not None or output_format is not None:
            raise ParameterError("sanitize: receipt and output_format are for an output; name one")
        job.pay(ledger, chosen, name=name, records=records, repeatable=key is not None)
        sink = TableSink(job.schema)
        job.run(sink, chosen, progress)
        return same_kind(sink.table, source)
    opened = job.open_output(output, receipt=receipt, output_format=output_format, force=force)
    job.pay(ledger, chosen, opened, name=name, records=records, repeatable=key is not None)
    return job.write(opened, chosen, progress)


def read_key(owner: str, key: JobKey | None, rng: Rng | None) -> JobKey:
    """The given key, or one of the stream's, or of the operating system's."""
    if key is None:
        return JobKey.derived(None if rng is None else resolve(owner, rng))
    if rng is not None:
        raise ParameterError(f"{owner}: give a key or an rng, not both")
    if not isinstance(key, JobKey):
        raise ParameterError(f"{owner}: key must be a fastdp.JobKey, got {type(key).__name__}")
    return key
