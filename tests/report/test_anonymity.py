"""Pages of anonymity: whole in themselves, bars as long as shares, no small number, no value; also in a browser."""

from __future__ import annotations

import re

import numpy as np
import pytest

import fastdp as fd
from fastdp.report.anonymity import BAR, CHOSEN, SMALL, anonymized_page, bins, classes_page, lattice_chart, size_chart
from tests.report.browser import BROWSER, show
from tests.report.html import Page
from tests.report.test_pages import check_whole

WIDE, NARROW = 1280, 420


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    return {
        "age <b>": rng.binomial(60, 0.5, 800),
        "zip": rng.choice(["canary-1", "canary-2", "canary-3"], 800),
        "ill": rng.choice(["canary-flu", "canary-HIV"], 800),
    }


@pytest.fixture(scope="module")
def found(table):
    return fd.anonymity.classes(table, ["age <b>", "zip"], ["ill"])


@pytest.fixture(scope="module")
def made(table):
    quasi = {"age <b>": fd.Hierarchy.intervals(5, 20), "zip": fd.Hierarchy.suppress()}
    return fd.anonymize(table, quasi, k=10, sensitive="ill")


def test_page__is_whole_and_shows_no_value(found, made):
    for text in (classes_page(found, found.risk(), failed=["k is below 5"]), anonymized_page(made)):
        page = check_whole(text)
        assert "b" not in page.tags
        assert "age <b>" in page.text
        assert "canary" not in text
    assert 'class="loud"' in classes_page(found, found.risk(), failed=["k is below 5"])
    assert "k-anonymity" in Page(classes_page(found, found.risk())).text


def test_bins__hold_all_people_once(found):
    sizes, counts = found.sizes
    assert sum(rows for *_, rows in bins(found)) == 800
    for low, high, rows in bins(found):
        inside = (sizes >= low) & (sizes < (high or np.inf))
        assert rows == (sizes * counts)[inside].sum()


def test_bars__are_as_long_as_shares_and_small_ones_are_withheld(found):
    chart = size_chart(found, 10)
    heights = [float(h) for h in re.findall(r'height="([0-9.]+)" fill', chart)]
    for height, (low, _, rows) in zip(heights, bins(found), strict=True):
        expected = max(rows, 10 if rows else 0) / 800 * (260 - 14 - 44)
        assert height == pytest.approx(expected, abs=0.06), low
    assert f"k = {found.k}" in chart
    small = [rows for *_, rows in bins(found) if 0 < rows < 10]
    assert chart.count("fewer than 10") == len(small)


def test_lattice__has_a_dot_per_node_and_marks_the_chosen_one(made):
    chart = lattice_chart(made.nodes, 800)
    assert chart.count("<circle") == len(made.nodes)
    assert chart.count(CHOSEN) == 1


@pytest.mark.skipif(BROWSER is None, reason="no Chromium on the PATH, and FASTDP_BROWSER names none")
def test_browser__draws_the_bars_and_asks_for_nothing(found, tmp_path):
    dots, requests = show(classes_page(found, found.risk()), tmp_path)
    assert requests == []
    for colour, wanted in ((SMALL, any), (BAR, any)):
        value = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
        drawn = np.all(dots == value, axis=-1).sum()
        assert wanted([drawn > 50])


def test_pictures__fit_a_narrow_screen(found, made):
    """Every picture is scaled by its frame, and nothing else has a width of its own."""
    for text in (classes_page(found, found.risk()), anonymized_page(made)):
        assert re.findall(r"<svg[^>]*\swidth=", text) == []
        assert text.count("<svg viewBox") == text.count("<svg")
