"""The page of a ledger: whole in itself, its bar as long as what was spent; also in a real browser."""

from __future__ import annotations

import re

import numpy as np
import pytest

import fastdp as fd
from fastdp.report.ledger import LEFT, SPENT, WIDTH, ledger_page
from tests.report.browser import BROWSER, show
from tests.report.html import Page
from tests.report.test_pages import check_whole


@pytest.fixture
def ledger(tmp_path):
    made = fd.Ledger.create(tmp_path / "people.ledger", epsilon=2.0, name="people <2026>", metric={"age": 4.0})
    made.spend(fd.Laplace(epsilon=0.5, sensitivity=1.0), name="mean <b>income</b>").settle("digest")
    made.spend(fd.Laplace(epsilon=0.25, sensitivity=1.0), name="open")
    return made


def test_page__is_whole_and_says_what_is_left(ledger):
    page = check_whole(ledger_page(ledger))
    assert "b" not in page.tags
    for expected in ("people <2026>", "mean <b>income</b>", "Spent: epsilon 0.75. Left: epsilon 1.25.", "37.5%",
                     "not settled; counts fully",
                     "If all releases had been fixed beforehand: epsilon", ledger.id, ledger.head, "age"):  # fmt: skip
        assert expected in page.text, expected


def test_bar__is_as_long_as_what_was_spent(ledger):
    width = float(re.search(rf'<rect width="([0-9.]+)" height="26" fill="{SPENT}"', ledger_page(ledger)).group(1))
    assert width == pytest.approx(0.375 * WIDTH, abs=0.01)


def test_page__is_loud_about_a_raise(ledger):
    assert 'class="loud"' not in ledger_page(ledger)
    ledger.raise_limit(epsilon=3.0, because="the board <agreed>")
    text = ledger_page(ledger)
    assert 'class="loud"' in text
    assert "the board <agreed>" in Page(text).text


@pytest.mark.skipif(BROWSER is None, reason="no Chromium on the PATH, and FASTDP_BROWSER names none")
def test_browser__draws_the_bar_and_asks_for_nothing(ledger, tmp_path):
    dots, requests = show(ledger_page(ledger), tmp_path)
    assert requests == []
    red, green = (_count(dots, colour) for colour in (SPENT, LEFT))
    assert red / (red + green) == pytest.approx(0.375 / 2, abs=0.01)  # the account of age is untouched


def _count(dots, colour: str) -> int:
    wanted = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return int(np.all(dots == wanted, axis=-1).sum())
