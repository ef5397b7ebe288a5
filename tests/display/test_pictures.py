"""What results show of themselves: reprs that never flood, HTML, pictures, frames and dicts."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from matplotlib import pyplot as plt

import fastdp as fd
from fastdp.channels import Channel

LABELS = [f"city {i}" for i in range(5000)]
LONGEST = 2000


@pytest.fixture(autouse=True)
def _close_pictures():
    yield
    plt.close("all")


def _plan() -> fd.Plan:
    cities = {"mechanism": "krr", "epsilon": 3.0, "domain": LABELS}
    ages = {"mechanism": "geometric", "epsilon": 1.0, "bounds": [0, 120]}
    return fd.Plan(columns={"city": cities, "age": ages, "<b>": "drop"})


def _everything(tmp_path):
    plan, rng = _plan(), fd.Rng.unsafe_seed(1)
    table = pa.table({"city": LABELS * 4, "age": [i % 120 for i in range(20_000)], "<b>": ["x"] * 20_000})
    source, target = tmp_path / "in.parquet", tmp_path / "out.parquet"
    pq.write_table(table, source)
    receipt = fd.sanitize(source, plan, output=target, rng=rng)
    krr = fd.KRR(epsilon=3.0, domain=LABELS)
    reports = krr.randomize(table["city"], rng=rng)
    ledger = fd.Ledger.create(tmp_path / "budget.ledger", epsilon=2.0, name="people")
    few = fd.KRR(epsilon=1.0, domain=["a", "b"])
    return {
        "mechanism": krr,
        "per record": fd.Laplace(epsilon=np.ones(5000), sensitivity=1.0),
        "estimate": fd.estimate(krr, reports),
        "frequencies": krr.estimate(reports),
        "table": fd.estimate_table(target),
        "column": fd.estimate_table(target)["city"],
        "plan": plan,
        "receipt": receipt,
        "ledger": ledger,
        "channel": krr.channel(),
        "few": fd.estimate(few, few.randomize(["a"] * 70 + ["b"] * 30, rng=rng)),
        "comparison": fd.compare(["KRR", "oue"], [0.5, 1.0], k=20, n=5000, rng=rng),
        "mean": _mean(rng),
        "bins": _bins(rng),
        "answer": fd.release.count(range(1000), epsilon=1.0, rng=rng),
        "answers": fd.release.group_by(
            {"city": LABELS}, by="city", keys=LABELS, answers=["count"], epsilon=1.0, rng=rng
        ),
    }


def _mean(rng):
    mechanism = fd.Piecewise(epsilon=1.0, bounds=(0, 10))
    return mechanism.estimate(mechanism.randomize(np.full(500, 4.0), rng=rng))


def _bins(rng):
    wave = fd.SquareWave(epsilon=1.0, bounds=(0, 4), bins=8)
    return wave.estimate(wave.randomize(np.full(500, 2.0), rng=rng))


def test_reprs__say_something_and_never_flood(tmp_path):
    for name, value in _everything(tmp_path).items():
        assert 10 < len(repr(value)) < LONGEST, name
        assert repr(value).count("\n") < 130, name
        if name != "channel":
            html = value._repr_html_()
            assert html.startswith("<table>"), name
            assert len(html) < 20_000, name
            assert "<b>" not in html.replace("<b>a</b>", ""), name  # names of columns are escaped


def test_reprs__of_what_is_small_are_the_calls_that_make_it():
    assert repr(fd.KRR(epsilon=1.0, domain=["a", "b"])) == "KRR(epsilon=1.0, domain=['a', 'b'])"
    assert repr(fd.KRR(epsilon=1.0, domain=LABELS)) == "KRR(epsilon=1.0, domain=<5000 values>)"
    assert repr(fd.KRR(epsilon=1.0, domain=3).channel()) == "KRRChannel(3 inputs, 3 outputs)"


def test_plots__show_the_numbers(tmp_path):
    found = _everything(tmp_path)
    axes = found["few"].plot(level=0.95)
    assert [bar.get_height() for bar in axes.patches] == pytest.approx(found["few"].distribution.tolist())
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["a", "b"]
    for name in ("estimate", "frequencies", "column"):
        assert len(found[name].plot().patches) == len(LABELS)
    lines = found["comparison"].plot().lines
    assert lines[0].get_ydata() == pytest.approx(found["comparison"].error[0])
    small = fd.Geometric(epsilon=1.0, bounds=(0, 9)).channel()
    assert np.asarray(small.plot().images[0].get_array()) == pytest.approx(small.dense())
    with pytest.raises(fd.ParameterError, match="at most 2000"):
        found["channel"].plot()
    bars = found["bins"].plot().patches
    assert [bar.get_height() for bar in bars] == pytest.approx(found["bins"].distribution.tolist())
    assert [bar.get_x() for bar in bars] == pytest.approx(np.arange(8) / 2)
    low, high = found["mean"].interval(0.95)
    (whiskers,) = found["mean"].plot(level=0.95).collections
    assert whiskers.get_segments()[0][:, 0] == pytest.approx([low, high])


def test_frames_and_dicts__hold_the_same(tmp_path):
    few = _everything(tmp_path)["few"]
    frame, plain = few.to_pandas(0.9), few.to_dict(0.9)
    assert frame["probability"].tolist() == plain["probability"] == few.distribution.tolist()
    assert frame["low"].tolist() == plain["low"] == few.interval(0.9)[0].tolist()
    assert json.loads(json.dumps(plain))["n"] == 100
    protocol = fd.UnaryEncoding(epsilon=1.0, domain=3)
    unbiased = protocol.estimate(protocol.randomize([0, 1, 2] * 100, rng=fd.Rng.unsafe_seed(3)))
    assert unbiased.to_pandas(0.9)["frequency"].tolist() == unbiased.to_dict()["frequency"]
    assert json.dumps(unbiased.to_dict(0.9))


def test_means_and_bins__hold_the_same_in_frames_and_dicts():
    rng = fd.Rng.unsafe_seed(4)
    mean, bins = _mean(rng), _bins(rng)
    plain = json.loads(json.dumps(mean.to_dict(0.9)))
    assert (plain["low"], plain["high"]) == mean.interval(0.9)
    assert mean.to_pandas(0.9).loc[0].to_dict() == plain
    assert json.loads(json.dumps(bins.to_dict()))["distribution"] == bins.distribution.tolist()
    frame = bins.to_pandas()
    assert frame["to"].tolist() == (np.arange(1, 9) / 2).tolist()
    assert frame["share"].tolist() == bins.distribution.tolist()
    assert f"{bins.distribution[3]:.4f}" in bins._repr_html_()


def test_answers__are_frames_and_tables_of_their_groups():
    answers = fd.release.group_by(
        {"city": LABELS}, by="city", keys=LABELS, answers=["count"], epsilon=1.0, rng=fd.Rng.unsafe_seed(5)
    )
    assert answers.to_pandas(0.9).equals(answers.to_arrow(0.9).to_pandas())
    assert answers["count"].to_pandas()["value"].tolist() == answers["count"].values.tolist()
    assert f"{len(LABELS) - 40:,} more" in answers._repr_html_()


def test_channel__of_a_matrix_is_named():
    assert repr(Channel.from_matrix(np.eye(2))) == "DenseChannel(2 inputs, 2 outputs)"
