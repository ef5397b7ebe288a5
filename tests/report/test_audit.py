"""Pages of audits and attacks: whole in themselves, their bars as high as the counts; also in a real browser."""

from __future__ import annotations

import re

import numpy as np
import pytest

import fastdp as fd
from fastdp.report.attack import attack_page
from fastdp.report.audit import EVENT, FIRST, SECOND, audit_page, bars
from tests.report.browser import BROWSER, show
from tests.report.html import Page
from tests.report.test_pages import check_whole


@pytest.fixture(scope="module")
def audit():
    laplace = fd.Laplace(epsilon=1.0, sensitivity=1.0)
    return fd.audit.epsilon(laplace, 0.0, 1.0, draws=10**5, rng=fd.Rng.unsafe_seed(1))


@pytest.fixture(scope="module")
def attacks():
    bits = np.arange(4096) % 2
    scales = [8.0, 16.0, 32.0]
    found = [
        (s, fd.attacks.reconstruction(bits, release=fd.Gaussian(scale=s, sensitivity=1.0), rng=fd.Rng.unsafe_seed(2)))
        for s in scales
    ]
    return {"exact": fd.attacks.reconstruction(bits), "noisy": found[0][1]}, ("standard deviation", found)


def test_audit_page__is_whole_and_says_what_is_proven(audit):
    page = check_whole(audit_page(audit))
    for expected in ("Proven: epsilon is at least 0.9", "Claimed: 1.0000", "not refuted", "fixed seed", "outputs"):
        assert expected in page.text, expected
    assert page.tags.count("svg") == 2


def test_audit_page__is_loud_where_a_claim_is_refuted():
    source = np.random.default_rng(1)
    found = fd.audit.epsilon(lambda x, n: x + source.laplace(size=n), 0.0, 1.0, draws=10**5, claimed=1.0)
    assert 'class="loud"' in audit_page(found)


def test_bars__are_as_high_as_their_counts(audit):
    """The highest bar is that of the largest count, and others are in proportion."""
    heights = [float(h) for h in re.findall(rf'height="([0-9.]+)" fill="{FIRST}"', bars(audit))]
    counts = np.array(audit.histogram["a"])
    assert heights == pytest.approx(max(heights) * counts / counts.max(), abs=0.02)
    shaded = len(re.findall(f'fill="{EVENT}"', bars(audit)))
    assert shaded == sum(share > 0 for share in audit.histogram["event"])


def test_names__are_escaped():
    def draw(value, count):
        return np.arange(count) % 2

    draw.__name__ = "<b>draw</b>"
    found = fd.audit.epsilon(draw, "<i>a</i>", "b", draws=100)
    assert not {"b", "i"} & set(Page(audit_page(found)).tags)


def test_attack_page__has_theory_and_dots(attacks):
    text = attack_page(*attacks)
    page = check_whole(text)
    assert "What defends" in page.text
    assert text.count("<circle") == 6
    assert f"{attacks[0]['noisy'].expected:.4f}" in page.text


@pytest.mark.skipif(BROWSER is None, reason="no Chromium on the PATH, and FASTDP_BROWSER names none")
@pytest.mark.parametrize("width", [420, 1280])
def test_browser__draws_both_histograms_and_asks_for_nothing(audit, tmp_path, width):
    dots, requests = show(audit_page(audit), tmp_path, width=width)
    assert requests == []
    assert dots.shape[1] == width
    for colour in (FIRST, SECOND):
        wanted = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
        assert np.all(dots == wanted, axis=-1).sum() > 300
    background = dots[:, -6:].reshape(-1, 3)
    assert (background == 255).all(), "something reaches beyond the right edge"
