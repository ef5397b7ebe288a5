"""sanitize: a table or file, column by column as its plan says."""

from __future__ import annotations

import os
from typing import Any

from fastdp.columns.frames import same_kind
from fastdp.errors import ParameterError
from fastdp.random.rng import Rng, resolve
from fastdp.tables.job import Job
from fastdp.tables.plan import Plan
from fastdp.tables.sinks import TableSink
from fastdp.tables.sources import Progress


def sanitize(
    source: Any,
    plan: Plan,
    output: str | os.PathLike[str] | None = None,
    *,
    rng: Rng | None = None,
    shuffle: bool = False,
    receipt: str | os.PathLike[str] | None = None,
    input_format: str | None = None,
    output_format: str | None = None,
    force: bool = False,
    batch_rows: int | None = None,
    progress: Progress | None = None,
) -> Any:
    """The sanitized table in memory, or the receipt of the file that ``output`` names.

    A table in memory comes back as what it was, a pandas data frame with its rows numbered afresh; kinds that nobody
    here knows how to make come back as pyarrow tables.

    ``source`` is a table of pyarrow, pandas, polars, numpy (a structured array, a dict of columns), DuckDB, DataFusion,
    arro3, nanoarrow or anything else with an Arrow stream, or a stream itself; or the path of a Parquet, Arrow
    or CSV file or of a folder of Parquet files, or "-" for standard input (an Arrow stream or CSV). The format is told
    by the first bytes, else by the ending; ``input_format`` ("parquet", "arrow" or "csv") says it where neither does.
    Columns of CSV are read as what their mechanism takes; those that are kept stay the text that they are.

    An output's format follows its ending, or ``output_format``: .parquet, .arrow (also .feather, .ipc), .arrows for an
    Arrow stream, .csv, and a name that ends in "/" for a new folder of Parquet files. It appears when it is complete,
    with its receipt beside it (or where ``receipt`` says) and in its metadata; on any error nothing is left. Output "-"
    is standard output, as CSV if the source is CSV, else as an Arrow stream. That cannot be taken back: on an error it
    ends early, an Arrow stream without its end marker, CSV without a sign but the error itself. The receipt inside
    Arrow data stands before the rows and does not say how many there are.

    Files are streamed: memory is bounded by a few batches, whatever the size of the file and its row groups; of Arrow
    data, by the largest of their own batches. ``shuffle`` releases the rows in a uniformly random order, which hides
    what a sorted input would tell; rows that exceed memory wait in nameless temporary files beside the output.

    The guarantee is ``plan.privacy``, for one record replaced by another. Results depend on the key of ``rng`` alone,
    not on batches, threads or formats; without one, the operating system keys the job.

    >>> import fastdp as fd, pyarrow as pa
    >>> plan = Plan(columns={"name": "drop", "ill": {"mechanism": "randomized_response", "epsilon": 1.0}})
    >>> sanitize(pa.table({"name": ["Ann", "Bob"], "ill": [True, False]}), plan).column_names
    ['ill']
    """
    chosen = Rng() if rng is None else resolve("sanitize", rng)
    job = Job(source, plan, batch_rows=batch_rows, input_format=input_format, shuffle=shuffle)
    if output is None:
        if receipt is not None or output_format is not None:
            raise ParameterError("sanitize: receipt and output_format are for an output; name one")
        sink = TableSink(job.schema)
        job.run(sink, chosen, progress)
        return same_kind(sink.table, source)
    place = job.place(output, receipt=receipt, output_format=output_format, force=force)
    return job.write(place, chosen, progress)
