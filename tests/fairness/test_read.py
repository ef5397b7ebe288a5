"""Tables of files: streamed, of every format, and from sanitized files by their receipts."""

from __future__ import annotations

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastdp as fd
from tests.fairness.test_tables import people
from tests.tables.files import KINDS, write

COLUMNS = {"y_true": "y", "y_pred": "r", "sensitive": ["race", "sex"]}


def whole(data, **more):
    sensitive = {"race": data["race"], "sex": data["sex"]}
    return fd.fairness.table(y_true=data["y"], y_pred=data["r"], sensitive=sensitive, **more)


@pytest.mark.parametrize("kind", KINDS)
def test_files__of_every_kind_give_the_table_of_their_rows(kind, tmp_path):
    data = people(700) | {"s": np.random.default_rng(1).random(700).round(2)}
    source = write(pa.table(data), tmp_path / "in", kind)
    found = fd.fairness.read(source, **COLUMNS, score="s")
    due = whole(data, score=data["s"])
    assert np.array_equal(found.cells, due.cells)
    assert found.groups == due.groups
    assert np.array_equal(found.scores.tally.counts, due.scores.tally.counts)
    assert found.positive == 1


def test_batches__are_added_up(tmp_path):
    """Many row groups, each of which lacks some values; scores that are binned; weights and strata too."""
    data = people(5000) | {"s": np.random.default_rng(1).normal(size=5000), "w": np.arange(5000) % 3 + 0.5}
    order = np.argsort(data["race"], kind="stable")
    data = {name: values[order] for name, values in data.items()}
    pq.write_table(pa.table(data), tmp_path / "in.parquet", row_group_size=300)
    seen = []
    found = fd.fairness.read(
        tmp_path / "in.parquet", **COLUMNS, score="s", weights="w", given="income",
        progress=lambda done, _: seen.append(done),
    )  # fmt: skip
    due = whole(data, score=data["s"], weights=data["w"], given=data["income"])
    assert found.tally.counts == pytest.approx(due.tally.counts)
    assert found.tally.squares == pytest.approx(due.tally.squares)
    assert found.scores.width == due.scores.width
    assert found.scores.tally.counts == pytest.approx(due.scores.tally.counts)
    assert seen[-1] == 5000
    frame = pl.DataFrame(data)
    assert fd.fairness.read(frame, **COLUMNS).cells.sum() == 5000


def test_classes__that_are_text(tmp_path):
    data = {"y": ["no", "yes", "no", "yes"], "r": ["yes", "yes", "no", "no"], "g": ["a", "b", "a", "b"]}
    pq.write_table(pa.table(data), tmp_path / "in.parquet", row_group_size=1)
    names = {"y_true": "y", "y_pred": "r", "sensitive": ["g"]}
    found = fd.fairness.read(tmp_path / "in.parquet", **names, positive="yes")
    assert found.cells.tolist() == [[[1, 1], [0, 0]], [[0, 0], [1, 1]]]
    with pytest.raises(fd.ParameterError, match="one of the labels"):
        fd.fairness.read(tmp_path / "in.parquet", **names, positive="maybe")
    truths = pa.table(data | {"y": ["0", "1", "0", "1"], "r": ["true", "true", "false", "false"]})
    assert fd.fairness.read(truths, **names).cells.tolist() == found.cells.tolist()
    assert (
        fd.fairness.read(pa.table(data | {"y": [0, 1, 0, 1], "r": [1, 1, 0, 0]}), **names, positive="1").positive == 1
    )
    mixed = pa.table(data | {"y": ["0", "1", "0", "1"]})
    with pytest.raises(fd.DomainError, match="partly text"):
        fd.fairness.read(mixed, **names)


class TestSanitizedFiles:
    """Straight from a sanitized file and its receipt."""

    PLAN = fd.Plan(
        columns={
            "race": {"mechanism": "krr", "epsilon": 2.0, "domain": ["c", "b", "a"]}, "sex": "keep", "income": "drop",
            "y": {"mechanism": "randomized_response", "epsilon": 2.5}, "r": "keep",
        }
    )  # fmt: skip

    def sanitized(self, tmp_path, kind="parquet"):
        data = people(60_000)
        table = pa.table(data | {"y": data["y"] == 1})
        out = tmp_path / f"private.{kind}"
        fd.sanitize(table, self.PLAN, out, rng=fd.Rng.unsafe_seed(3))
        return data, out

    @pytest.mark.parametrize("kind", ["parquet", "csv", "arrow"])
    def test_receipt__says_what_was_sanitized(self, tmp_path, kind):
        """The truth lies in the intervals, the naive gap does not; the domain keeps its own order."""
        data, out = self.sanitized(tmp_path, kind)
        found = fd.fairness.read(out, y_true="y", y_pred="r", sensitive=["race"])
        assert set(found.mechanisms) == {"race", "y_true"}
        due = fd.fairness.table(y_true=data["y"], y_pred=data["r"], sensitive={"race": data["race"]})
        for rate in ("base", "tpr", "fpr", "selection"):
            truth = due.rates(rate)
            rates = found.rates(rate, level=0.9999)
            for group in "abc":
                place = found.groups.index((group,))
                assert rates.low[place] <= truth[group] <= rates.high[place], (rate, group)
        gap = found.gap("base", level=0.9999)
        assert gap.low <= due.gap("base").value <= gap.high
        assert found.naive.gap("base").value < gap.low
        assert {criterion.name for criterion in found.criteria()} >= {"independence", "four_fifths", "separation"}
        assert found.four_fifths(favourable=0).rate == "rejection"

    def test_plan__that_contradicts_the_receipt_is_refused(self, tmp_path):
        _, out = self.sanitized(tmp_path)
        other = fd.Plan(columns={**self.PLAN.to_dict()["columns"], "sex": "drop", "race": "keep"})
        with pytest.raises(fd.ParameterError, match="fairness: of column 'race'"):
            fd.fairness.read(out, y_true="y", y_pred="r", sensitive=["race"], plan=other)

    def test_columns__that_tell_nothing_of_fairness_are_refused(self):
        table = pa.table({"y": [0, 1], "r": [0, 1], "g": ["a", "b"], "s": [0.1, 0.2]})
        plan = fd.Plan(
            columns={"y": "keep", "r": "keep", "g": "keep",
                     "s": {"mechanism": "laplace", "epsilon": 1.0, "bounds": [0.0, 1.0]}}
        )  # fmt: skip
        private = fd.sanitize(table, plan, rng=fd.Rng.unsafe_seed(1))
        with pytest.raises(fd.ParameterError, match="'s' was sanitized by laplace"):
            fd.fairness.read(private, y_true="y", y_pred="r", sensitive=["g"], score="s")
        assert fd.fairness.read(private, y_true="y", y_pred="r", sensitive=["g"]).rows == 2


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        ({"sensitive": ["rcae"]}, fd.SchemaError, "did you mean 'race'"),
        ({"sensitive": "race"}, fd.ParameterError, "list"),
        ({"plan": {}}, fd.ParameterError, "fastdp.Plan"), ({"positive": "x"}, fd.ParameterError, "must be a number"),
    ],
)  # fmt: skip
def test_errors__name_the_column(change, error, said):
    with pytest.raises(error, match=said):
        fd.fairness.read(pa.table(people(10)), **(COLUMNS | change))
    with pytest.raises(fd.ParameterError, match="no rows"):
        fd.fairness.read(pa.table(people(10)).slice(0, 0), **COLUMNS)


def test_small_groups__are_left_out_of_what_is_shown():
    data = people(400)
    data["race"] = np.where(np.arange(400) < 3, "rare", data["race"])
    table = whole(data, score=data["income"])
    shown, withheld = table.large(10)
    assert withheld == len({group for group in table.groups if group[0] == "rare"})
    assert all(group[0] != "rare" for group in shown.groups)
    assert shown.rows == 397
    assert shown.roc().fpr.shape[0] == len(shown.groups)
