"""A release, its receipt, its plan and its ledger: they agree as they were made, and every change is seen."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner

import fastdp as fd
from fastdp.cli import main
from fastdp.io.digests import HashedFile, digest_of
from fastdp.tables.verify import verify

PLAN = {
    "ill": {"mechanism": "randomized_response", "epsilon": 1.0},
    "age": {"mechanism": "geometric", "epsilon": 0.5, "bounds": [0, 120]},
}
OUTPUTS = ["a.parquet", "a.csv", "a.arrow", "a.arrows", "a/"]


@pytest.fixture
def made(tmp_path, monkeypatch):
    """A function that sanitizes a table to an output, paid from a ledger."""
    monkeypatch.chdir(tmp_path)
    ledger = fd.Ledger.create("people.ledger", epsilon=9.0)
    ages = np.random.default_rng(1).integers(0, 120, 500)
    table = pa.table({"ill": ages % 3 == 0, "age": ages})

    def make(output):
        return fd.sanitize(table, fd.Plan(columns=PLAN), output, ledger=ledger, rng=fd.Rng.unsafe_seed(3))

    return make


def receipt_of(output: str) -> Path:
    return Path(output.rstrip("/") + ".receipt.json")


def states(found) -> dict[str, bool | None]:
    return {check.subject: check.agrees for check in found.checks}


@pytest.mark.parametrize("output", OUTPUTS)
def test_release__agrees_as_it_was_made(made, output):
    made(output)
    found = verify(output, plan=fd.Plan(columns=PLAN), ledger="people.ledger")
    assert found.agrees
    assert {"guarantee", "plan", "plan's digest", "ledger", "settlement"} <= {
        subject for subject, agrees in states(found).items() if agrees
    }


@pytest.mark.parametrize("output", OUTPUTS)
def test_a_changed_byte__is_seen(made, output):
    made(output)
    path = Path(output)
    file = next(path.iterdir()) if path.is_dir() else path
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(bytes(content))
    try:
        found = verify(output)
    except fd.FastDPError:  # so changed that it cannot be opened any more
        return
    assert not found.agrees


@pytest.mark.parametrize(
    ("subject", "change"),
    [
        ("rows", lambda stated: stated.update(rows=499)),
        ("guarantee", lambda stated: stated["guarantee"].update(record="epsilon 0.1")),
        ("plan's digest", lambda stated: stated["plan"]["columns"]["age"].update(epsilon=0.25)),
        ("receipt inside", lambda stated: stated.update(order="shuffled")),
        ("ledger", lambda stated: stated["ledger"].update(head="00" * 32)),
        ("settlement", lambda stated: stated.update(versions={})),
    ],
)
def test_a_changed_receipt__is_seen(made, subject, change):
    made("a.parquet")
    stated = json.loads(receipt_of("a.parquet").read_text())
    change(stated)
    receipt_of("a.parquet").write_text(json.dumps(stated, indent=2, ensure_ascii=False) + "\n")
    found = verify("a.parquet", ledger="people.ledger")
    assert states(found)[subject] is False


def test_another_plan_or_ledger__is_seen(made):
    made("a.parquet")
    other = fd.Plan(columns=PLAN | {"age": "drop"})
    assert states(verify("a.parquet", plan=other))["plan"] is False
    fd.Ledger.create("other.ledger", epsilon=1.0)
    assert states(verify("a.parquet", ledger="other.ledger"))["ledger"] is False


def test_folder__misses_a_part_or_has_one_too_many(made):
    made("a/")
    Path("a/more.parquet").write_bytes(Path("a/part-00000.parquet").read_bytes())
    assert states(verify("a/"))["folder"] is False
    Path("a/more.parquet").unlink()
    Path("a/part-00000.parquet").rename("a/part-00001.parquet")
    assert states(verify("a/"))["file part-00000.parquet"] is False


def test_older_receipt__without_digests_is_not_known(made):
    made("a.parquet")
    stated = json.loads(receipt_of("a.parquet").read_text())
    del stated["release"]
    receipt_of("a.parquet").write_text(json.dumps(stated))
    found = verify("a.parquet")
    assert states(found)["file"] is None
    assert found.agrees


def test_same_key__gives_the_same_file_whenever_it_is_made(made, monkeypatch):
    """What is in the receipt beside a release, such as the time, is not inside it."""
    first = made("a.csv").release["output"]
    second = made("b.csv").release["output"]
    assert first == second


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["a.parquet"], 0, "agrees     file"),
        (["a.parquet", "--ledger", "people.ledger"], 0, "agrees     settlement"),
        (["b.parquet", "--receipt", "a.parquet.receipt.json"], 1, "DIFFERS    file"),
        (["b.parquet", "--receipt", "missing.json"], 2, "no receipt"),
        (["b.parquet", "--receipt", "people.ledger"], 3, "is no receipt"),
    ],
)
def test_command__says_what_differs(made, arguments, code, text):
    made("a.parquet")
    fd.sanitize(pa.table({"ill": [True]}), fd.Plan(columns={"ill": PLAN["ill"]}), "b.parquet")
    done = CliRunner().invoke(main, ["verify", *arguments])
    assert done.exit_code == code, done.output
    assert text in done.output


def test_command__as_json(made):
    made("a.parquet")
    found = json.loads(CliRunner().invoke(main, ["verify", "a.parquet", "--json"]).stdout)
    assert found["agrees"] is True
    assert {"file", "rows", "guarantee"} <= {check["subject"] for check in found["checks"]}


def test_hashed_file__is_that_of_what_was_written(tmp_path):
    with (tmp_path / "x").open("wb") as file:
        hashed = HashedFile(file)
        hashed.write(b"ab")
        hashed.write(memoryview(np.arange(3, dtype=np.uint16)))
        hashed.buffered.write(b"c")
        digest = hashed.digest()
        assert hashed.tell() == 9
    with (tmp_path / "x").open("rb") as file:
        assert digest_of(file) == digest
