"""Text with a separator between fields, in and out: what its dialect is, its rows as batches, batches as its rows."""

from fastdp.io.csv.dialect import Dialect
from fastdp.io.csv.sinks import CsvSink, CsvStreamSink
from fastdp.io.csv.source import CsvSource

__all__ = ["CsvSink", "CsvSource", "CsvStreamSink", "Dialect"]
