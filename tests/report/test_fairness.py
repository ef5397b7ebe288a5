"""The page of a fairness audit: whole in itself, its pictures and its sliders as the table says; in a real browser."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import fastdp as fd
from fastdp.report.fairness import fairness_page
from fastdp.report.thresholds import SCRIPT
from tests.report.browser import BROWSER, Tab, show
from tests.report.html import Page

NAME = "b </script><b>bold</b>"


@pytest.fixture(scope="module")
def table():
    """Two groups, one with a hostile name, scores from 1 to 8, and no positives in a third."""
    source = np.random.default_rng(1)
    group = source.choice(["a", NAME, "none"], 3000, p=[0.5, 0.4, 0.1])
    score = np.clip(source.normal(4.5 + (group == "a"), 2, 3000).round(), 1, 8)
    label = ((source.random(3000) < score / 9) & (group != "none")).astype(int)
    return fd.fairness.table(y_true=label, y_pred=(score >= 5).astype(int), sensitive={"race": group}, score=score)


@pytest.fixture(scope="module")
def page(table):
    return fairness_page(table, "Fairness <of> loans", economics=(1.0, 2.0), withheld=3)


def test_page__is_whole(page):
    """One script, which the policy names by its digest, and nothing that could load anything."""
    found = Page(page)
    assert all(address.startswith("data:") for address in found.addresses)
    assert found.tags.count("script") == 2  # the data and the code
    assert not {"iframe", "object", "embed", "base", "form", "video", "audio", "b"} & set(found.tags)
    assert page.count("</script>") == 2
    assert "default-src 'none'" in page
    assert re.search(r"script-src 'sha256-[A-Za-z0-9+/=]{44}'", page)
    assert "unsafe-inline'; script" in page
    assert "script-src 'unsafe" not in page
    outside = page.replace("http://www.w3.org/2000/svg", "")  # a name that is not an address
    assert not any(part in outside for part in ("http://", "https://", "url(", "@import"))
    for word in ("Fairness <of> loans", NAME, "3 groups are too small", "cannot be told", "not differentially private",
                 "causal model", "exclude each other", "equalized odds"):  # fmt: skip
        assert word in found.text, word


def test_dots__are_at_their_rates(page, table):
    """A dot for every group whose rate is defined, where the axis has it."""
    rates = table.rates("tpr")
    chart = re.search(r'<svg[^>]*aria-label="tpr.*?</svg>', page, re.DOTALL).group()
    dots = [float(x) for x in re.findall(r'class="dot" cx="([0-9.]+)"', chart)]
    assert dots == pytest.approx([150 + 294 * v for v in rates.values if not np.isnan(v)], abs=0.06)
    assert chart.count("#bbbbbb") == 1


def test_page__without_scores_has_no_script(table):
    plain = fd.fairness.FairnessTable(table.attributes, table.tally)
    text = fairness_page(plain, "Plain")
    assert "<script" not in text
    assert "script-src" not in text


@pytest.fixture(scope="module")
def reports():
    """Two groups behind k-RR, with a sex that is kept."""
    source, mechanism = np.random.default_rng(2), fd.KRR(epsilon=1.0, domain=["a", "b"])
    group, label = source.choice(["a", "b"], 20_000), source.integers(0, 2, 20_000)
    decision = np.where(group == "a", label, source.integers(0, 2, 20_000))
    return fd.fairness.table(
        y_true=label, y_pred=decision, score=3 * decision + label + source.integers(0, 5, 20_000),
        mechanisms={"g": mechanism},
        sensitive={
            "g": mechanism.randomize(group, rng=fd.Rng.unsafe_seed(1)), "sex": source.choice(["f", "m"], 20_000)
        },
    )  # fmt: skip


def test_sanitized__page_shows_what_reports_hide(reports):
    page = fairness_page(reports, "Reports")
    text = Page(page).text
    kept = "Only reports are private. This page tells sex, the labels, the decisions, the scores as they are."
    for word in ("Sanitized columns", "KRR", f"{reports.naive_bias('tpr'):.3f}", "By g, sex:", "equalized odds", kept):
        assert word in text, word
    assert "not differentially private" not in text
    assert "threshold-data" in page


def test_sanitized__page_of_reports_alone_is_private():
    mechanisms = {"g": fd.KRR(epsilon=1.0, domain=["a", "b"])}
    mechanisms |= {name: fd.RandomizedResponse(epsilon=2.0) for name in ("y_true", "y_pred")}
    truths = np.arange(4000) % 2
    found = fd.fairness.table(
        y_true=truths, y_pred=truths, sensitive={"g": np.array(["a", "b"])[truths]}, mechanisms=mechanisms
    )
    assert "All columns are reports" in Page(fairness_page(found, "Reports")).text


@pytest.mark.skipif(BROWSER is None, reason="no Chromium on the PATH, and FASTDP_BROWSER names none")
class TestBrowser:
    """In Chromium: what is drawn and asked for, and the sliders by keyboard."""

    def test_page__asks_for_nothing(self, page, tmp_path):
        dots, requests = show(page, tmp_path)
        assert requests == []
        assert len(np.unique(dots.reshape(-1, 3), axis=0)) > 20

    @pytest.mark.parametrize("width", [420, 1280])
    def test_page__fits_a_phone_and_a_desk(self, page, reports, tmp_path, width):
        """Wide tables scroll by themselves; the mutant without that is wider than a phone."""
        mutant = page.replace("overflow-x: auto", "overflow: visible")
        for text, fits in ((page, True), (fairness_page(reports, "Reports"), True), (mutant, width > 1000)):
            tab = Tab(text, tmp_path)
            try:
                tab.call(
                    "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False
                )
                assert (tab.ask("document.documentElement.scrollWidth") <= width) == fits
                assert tab.complaints == []
            finally:
                tab.close()

    def test_thresholds__by_keyboard(self, page, table, tmp_path):
        """Every preset shows the rates and the profit of its policy; arrow keys move one group's threshold."""
        tab = Tab(page, tmp_path)
        try:
            self.check_presets(tab, table)
            self.check_slider(tab, table)
            assert tab.complaints == []
        finally:
            tab.close()

    def shown(self, tab, rate, group):
        return tab.ask(f'document.getElementById("{rate}-{group}").textContent')

    def check_presets(self, tab, table):
        price = table.price(gain=1.0, cost=2.0)
        for policy in price.policies:
            tab.ask(f"document.querySelector('[data-policy=\"{policy.criterion}\"]').focus()")
            tab.press("Enter", 13, "\r")
            for group in range(3):
                for rate in ("selection", "tpr", "fpr"):
                    value = getattr(policy, rate)[group]
                    due = "cannot be told" if np.isnan(value) else f"{100 * value:.1f} %"
                    assert self.shown(tab, rate, group) == due, (policy.criterion, rate, group)
            profit = tab.ask('document.getElementById("threshold-profit").textContent')
            assert profit == f"Profit per person {policy.profit:.4f}, {100 * policy.share:.2f} % of the most"
            assert tab.ask("document.activeElement.getAttribute('aria-pressed')") == "true"

    def check_slider(self, tab, table):
        tab.ask("document.querySelector('[data-policy=\"single\"]').click()")
        before = int(tab.ask('document.getElementById("slider-0").value'))
        tab.ask('document.getElementById("slider-0").focus()')
        tab.press("ArrowRight", 39)
        assert int(tab.ask('document.getElementById("slider-0").value')) == before + 1
        edge = table.scores.edges[before + 1]
        above = table.scores.above()[0, :, before + 1]
        totals = table.scores.above()[0, :, 0]
        assert self.shown(tab, "tpr", 0) == f"{100 * above[1] / totals[1]:.1f} %"
        assert self.shown(tab, "fpr", 0) == f"{100 * above[0] / totals[0]:.1f} %"
        assert tab.ask('document.getElementById("slider-0").getAttribute("aria-valuetext")') == f"from {edge:g}"
        tab.press("End", 35)
        assert self.shown(tab, "selection", 0) == "0.0 %"
        assert tab.ask('document.getElementById("threshold-0").textContent') == "nobody"

    def test_script__that_is_changed_does_not_run(self, page, tmp_path):
        """The mutant: the policy lets no script run but the one it names."""
        tab = Tab(page.replace(SCRIPT, SCRIPT + "document.title = 'changed';"), tmp_path)
        try:
            assert tab.ask("document.title") == "Fairness <of> loans"
            assert tab.ask('document.getElementById("tpr-0").textContent') == ""
            assert any("Content Security Policy" in json.dumps(event) for event in tab.complaints)
        finally:
            tab.close()
