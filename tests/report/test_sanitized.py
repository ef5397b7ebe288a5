"""The page of a sanitized file: what it says, and how it looks in narrow and wide windows, light and dark."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

import fastdp as fd
from fastdp.report.sanitized import sanitized_page
from tests.report.browser import BROWSER, show
from tests.report.html import Page

ROWS = 4000
PLAN = fd.Plan(columns={
    "born": {"mechanism": "geometric", "epsilon": 4.0, "bounds": [dt.date(1950, 1, 1), dt.date(2009, 12, 31)]},
    "income": {"mechanism": "laplace", "epsilon": 4.0, "bounds": [0, 200_000], "null_share": True},
    "a_column_with_a_long_name": {"mechanism": "krr", "epsilon": 2.0, "domain": ["canary", "b" * 60, "c"]},
    "region": "keep", "name": "drop",
})  # fmt: skip


@pytest.fixture(scope="module")
def page():
    source = np.random.default_rng(1)
    table = pa.table({
        "born": pa.array(source.integers(0, 10_000, ROWS).astype(np.int32)).cast(pa.date32()),
        "income": pa.array(source.gamma(2.0, 20_000.0, ROWS).clip(0, 200_000), mask=source.random(ROWS) < 0.2),
        "a_column_with_a_long_name": pa.array(["b" * 60, "c"]).take(pa.array(source.integers(0, 2, ROWS))),
        "region": ["north"] * ROWS, "name": ["Ann Canary"] * ROWS,
    })  # fmt: skip
    private = fd.sanitize(table, PLAN, rng=fd.Rng.unsafe_seed(1))
    return sanitized_page(PLAN, fd.estimate_table(private, PLAN, bins=4), title="People <2026>")


def test_page__has_distributions_guarantees_and_no_truth(page):
    text = Page(page).text
    for expected in ("People <2026>", "What not to do", "Distribution from", "Quartiles from", "Guarantee: epsilon 4",
                     "epsilon 1 of it", "null", f"on shares of {ROWS:,}"):  # fmt: skip
        assert expected in text
    assert "Ann Canary" not in page
    assert "e+0" not in text
    assert Page(page).tags.count("svg") >= 3


@pytest.mark.skipif(BROWSER is None, reason="no Chromium on the PATH, and FASTDP_BROWSER names none")
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [420, 1280])
def test_page__fits_the_window(page, tmp_path, width, dark):
    """Nothing reaches into the margins, the scheme is the reader's, and nothing is asked of the network."""
    dots, requests = show(page, tmp_path, width, dark=dark)
    assert dots.shape[1] == width
    ground = dots[0, 0].astype(int)
    assert (ground.max() < 64) == dark
    assert (dots[:, :6] == ground).all()
    assert (dots[:, -6:] == ground).all()
    assert (np.abs(dots.astype(int) - ground).max(axis=2) > 100).any()  # ink on it
    assert not requests
