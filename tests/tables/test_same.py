"""For a fixed seed the results are the same, whatever holds the rows on their way in and out."""

from __future__ import annotations

import itertools

import pyarrow as pa
import pytest

import fastdp as fd
from fastdp.io import folders
from fastdp.plans.plan import Plan
from fastdp.tables.sanitize import sanitize
from fastdp.tables.sanitizing import shuffle
from tests.tables.files import KINDS, path_for, read, write
from tests.tables.people import COLUMNS, people

ROWS = 3001


def values(table: pa.Table) -> pa.Table:
    """Without metadata, chunks and the width of integers, which CSV does not tell."""
    table = table.replace_schema_metadata(None).combine_chunks()
    return table.set_column(table.column_names.index("age"), "age", table["age"].cast(pa.int64()))


@pytest.fixture(scope="module")
def expected():
    return {
        shuffled: values(sanitize(people(ROWS), Plan(columns=COLUMNS), rng=fd.Rng.unsafe_seed(5), shuffle=shuffled))
        for shuffled in (False, True)
    }


@pytest.mark.parametrize(("source", "output"), list(itertools.product(KINDS, KINDS)))
@pytest.mark.parametrize(("rows", "count", "shuffled"), [(None, 2, False), (97, 1, True)])
def test_results__do_not_depend_on_format_batches_or_threads(
    expected, tmp_path, monkeypatch, threads, source, output, rows, count, shuffled
):
    """Every format in and out; the shuffled ones by way of files, the folders in several parts."""
    monkeypatch.setattr(folders, "PART_ROWS", 1234)
    monkeypatch.setattr(shuffle, "MEMORY", 20_000)
    threads(count)
    given = write(people(ROWS), tmp_path / "in", source)
    made = path_for(tmp_path / "out", output)
    options = {"rng": fd.Rng.unsafe_seed(5), "batch_rows": rows, "shuffle": shuffled}
    receipt = sanitize(given, Plan(columns=COLUMNS), made, **options)
    assert receipt.rows == ROWS
    if source in ("folder", "parquet"):  # whose files and row groups are places of their own
        expected = {
            shuffled: values(sanitize(given, Plan(columns=COLUMNS), rng=fd.Rng.unsafe_seed(5), shuffle=shuffled))
        }
    assert values(read(made)).equals(expected[shuffled])


@pytest.mark.parametrize("rows", [1, 1000, None])
def test_results__do_not_depend_on_the_blocks_of_csv(expected, tmp_path, monkeypatch, rows):
    """Blocks of a few rows give what one block gives."""
    from fastdp.io.csv import source as csv_files

    monkeypatch.setattr(csv_files, "BLOCK", 300)
    given = write(people(ROWS), tmp_path / "in", "csv")
    result = sanitize(given, Plan(columns=COLUMNS), rng=fd.Rng.unsafe_seed(5), batch_rows=rows)
    assert values(result).equals(expected[False])
