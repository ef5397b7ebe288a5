"""Plans, receipts, ledgers and released files of every version are read by this one, and say what they said."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import fastdp as fd
from fastdp.tables.verify import verify

HERE = Path(__file__).parent
VERSIONS = sorted(path.name for path in HERE.iterdir() if (path / "expected.json").is_file())
ENDINGS = ("parquet", "arrow", "csv")


@pytest.fixture(params=VERSIONS)
def files(request, tmp_path):
    """A version's files, copied: a reader must not need to write beside them."""
    return Path(shutil.copytree(HERE / request.param, tmp_path / request.param))


def _expected(files: Path) -> dict:
    return json.loads((files / "expected.json").read_text())


def test_this_version__is_in_the_corpus():
    assert fd.__version__ in VERSIONS, "run: python -m tests.upgrades.make"


def test_plans__load_with_the_same_guarantee(files):
    plan = fd.Plan.load(files / "plan.toml")
    assert plan.privacy.record.epsilon == pytest.approx(_expected(files)["epsilon"], rel=1e-9)
    assert [query.name for query in fd.ReleasePlan.load(files / "release.toml").queries] == ["all"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_releases__agree_with_receipt_plan_and_ledger(files, ending):
    release = files / f"private.{ending}"
    found = verify(release, plan=files / "plan.toml", ledger=files / "people.ledger")
    assert found.agrees
    assert sum(check.agrees is True for check in found.checks) >= 3
    changed = bytearray(release.read_bytes())
    changed[len(changed) // 2] ^= 1
    release.write_bytes(changed)
    try:
        assert not verify(release).agrees
    except fd.InputCorruptError:
        assert ending != "csv"  # a file that cannot be opened any more


@pytest.mark.parametrize("ending", ENDINGS)
def test_releases__give_the_same_estimates(files, ending):
    plan = fd.Plan.load(files / "plan.toml")
    options = {} if ending != "csv" else {"plan": plan}
    shares = fd.estimate_table(files / f"private.{ending}", **options)["disease"]
    assert {line.value: line.estimate for line in shares.lines} == pytest.approx(_expected(files)["disease"], abs=1e-6)


def test_ledgers__are_whole_and_go_on(files):
    ledger = fd.Ledger(files / "people.ledger")
    expected = _expected(files)
    before = [entry for entry in ledger.entries() if entry.kind == "spend"]
    assert len(before) == expected["entries"]
    assert ledger.spent.amount == expected["spent"]  # in billionths of epsilon
    ledger.verify()
    with ledger.spend(fd.KRR(epsilon=1.0, domain=3), name="one more"):
        pass
    assert ledger.spent.amount == pytest.approx(expected["spent"] + 1e9, rel=1e-6)


def test_mechanisms__are_made_again_and_cost_no_less(files):
    expected = _expected(files)
    for described, epsilon in zip(expected["mechanisms"], expected["guarantees"], strict=True):
        found = fd.Mechanism.from_dict(described)
        assert found.to_dict() == described
        assert found.privacy.epsilon == pytest.approx(epsilon, rel=1e-9)
