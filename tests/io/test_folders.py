"""Folders of Parquet files: one table in, numbered parts out, all or nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastdp as fd
from fastdp.io import folders
from fastdp.io.stamps import METADATA_KEY
from fastdp.plans.plan import Plan
from fastdp.tables.sanitize import sanitize
from tests.tables.files import write
from tests.tables.people import COLUMNS, people

PLAN = Plan(columns=COLUMNS)


@pytest.fixture
def folder(tmp_path):
    path = Path(write(people(900), tmp_path / "in", "folder"))
    for hidden in (".part.crc", "_SUCCESS", ".hidden.parquet"):
        (path / hidden).write_text("not a table")
    (path / "_temporary").mkdir()
    (path / "_temporary" / "x.parquet").write_text("not a table")
    return path


def test_parts__hold_all_rows_and_their_receipts(folder, tmp_path, monkeypatch):
    """Of a fixed number of rows, with numbers for names: nothing is told of the files that came in."""
    monkeypatch.setattr(folders, "PART_ROWS", 400)
    receipt = sanitize(folder, PLAN, f"{tmp_path}/out/", batch_rows=77)
    parts = sorted((tmp_path / "out").iterdir())
    assert [part.name for part in parts] == ["part-00000.parquet", "part-00001.parquet", "part-00002.parquet"]
    assert [pq.read_metadata(part).num_rows for part in parts] == [400, 400, 100]
    inside = [json.loads(pq.read_metadata(part).metadata[METADATA_KEY.encode()]) for part in parts]
    stated = {key: value for key, value in receipt.to_dict().items() if key != "release"}
    stated |= {"job": {"key": receipt.key}}  # the fingerprint of all rows is not known before the last
    assert inside == [stated | {"rows": rows} for rows in (400, 400, 100)]
    assert list(receipt.release["output"]["files"]) == [part.name for part in parts]
    assert json.loads((tmp_path / "out.receipt.json").read_text()) == receipt.to_dict()
    assert receipt.rows == 900
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o700
    assert {part.stat().st_mode & 0o777 for part in parts} == {0o600}
    pq.ParquetFile(parts[0], page_checksum_verification=True).read()


def test_folder__becomes_a_folder_or_a_file_by_the_name(folder, tmp_path):
    sanitize(folder, PLAN, tmp_path / "out")
    assert (tmp_path / "out").is_dir()
    sanitize(folder, PLAN, tmp_path / "out.parquet")
    assert pq.read_table(tmp_path / "out.parquet").num_rows == 900
    sanitize(tmp_path / "out", Plan(columns={name: entry for name, entry in COLUMNS.items() if name != "name"}))


def test_no_rows__give_one_empty_part(tmp_path):
    sanitize(people(3).slice(0, 0), PLAN, f"{tmp_path}/out/")
    assert [pq.read_table(part).num_rows for part in (tmp_path / "out").iterdir()] == [0]


@pytest.mark.parametrize(
    ("name", "error", "said"),
    [
        ("city=canary/x.parquet", fd.SchemaError, "values of 'city'"),
        ("notes.txt", fd.SchemaError, "no Parquet file"),
        ("z.parquet", fd.SchemaError, "other columns or types"),
        ("broken.parquet", fd.InputCorruptError, "contradicts its own format"),
    ],
)
def test_strange_folders__are_refused(folder, tmp_path, name, error, said):
    """Values in the names of folders are neither lost silently nor printed."""
    (folder / name).parent.mkdir(exist_ok=True)
    pq.write_table(pa.table({"x": [1]}), folder / name)
    if name == "broken.parquet":
        (folder / name).write_bytes(b"PAR1PAR1")
    with pytest.raises(error, match=said) as caught:
        sanitize(folder, PLAN, f"{tmp_path}/out/")
    assert "canary" not in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_file_broken_halfway__leaves_nothing(folder, tmp_path):
    """The second file is found broken when the first is already sanitized."""
    content = bytearray((folder / "b" / "1.pq").read_bytes())
    content[4 : len(content) // 2] = bytes(len(content) // 2 - 4)
    (folder / "b" / "1.pq").write_bytes(content)
    with pytest.raises(fd.InputCorruptError):
        sanitize(folder, PLAN, f"{tmp_path}/out/")
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_empty_folder__is_refused(tmp_path):
    (tmp_path / "in").mkdir()
    with pytest.raises(fd.ParameterError, match="holds no Parquet files"):
        sanitize(tmp_path / "in", PLAN, tmp_path / "out.parquet")


class TestOutput:
    """A folder is new, lies elsewhere, and is never emptied."""

    @pytest.mark.parametrize("force", [False, True])
    def test_existing__is_refused_even_when_forced(self, folder, tmp_path, force):
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "mine").write_text("mine")
        with pytest.raises(fd.OutputExistsError, match="exists"):
            sanitize(folder, PLAN, f"{tmp_path}/out/", force=force)
        assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine"]

    def test_came_in_the_meantime__is_not_replaced(self, folder, tmp_path):
        def meanwhile(*_):
            (tmp_path / "out").mkdir(exist_ok=True)
            (tmp_path / "out" / "theirs").write_text("theirs")

        with pytest.raises(fd.OutputExistsError):
            sanitize(folder, PLAN, f"{tmp_path}/out/", progress=meanwhile)
        assert [path.name for path in (tmp_path / "out").iterdir()] == ["theirs"]
        assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out"]

    @pytest.mark.parametrize("name", ["in/out.parquet", "in/out/", "in/", "in"])
    def test_inside_the_input__is_refused(self, folder, tmp_path, name):
        before = sorted(folder.rglob("*"))
        with pytest.raises(fd.OutputExistsError):
            sanitize(folder, PLAN, f"{tmp_path}/{name}", force=True)
        assert sorted(folder.rglob("*")) == before

    def test_other_formats__are_refused(self, folder, tmp_path):
        with pytest.raises(fd.ParameterError, match="Parquet"):
            sanitize(folder, PLAN, f"{tmp_path}/out/", output_format="csv")
