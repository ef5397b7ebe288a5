"""The pages: whole in themselves, all maps on one scale, loud where they are not private; also in a real browser."""

from __future__ import annotations

import base64
import hashlib
import math
import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import fastdp as fd
from fastdp.locations import Grid, clustered_checkins
from fastdp.locations.lecture import lecture
from fastdp.locations.survey import survey
from fastdp.report.lecture import lecture_page, winners
from fastdp.report.pictures import STOPS, Frame, colours
from fastdp.report.survey import survey_page, top_of
from tests.report.browser import BROWSER, Tab, show
from tests.report.html import Page, read_address

GRID = Grid(x=(0, 3000), y=(0, 2400), cell=300)


@pytest.fixture(scope="module")
def surveys():
    x, y = clustered_checkins(GRID, 3000, seed=1)
    table = pa.table({"x": x, "y": y})
    return {
        truth: survey(table, GRID, epsilon=math.log(2) / 150, columns=("x", "y"), truth=truth, max_iterations=30)
        for truth in (False, True)
    }


@pytest.fixture(scope="module")
def results():
    return lecture(runs=1, cell=500.0, rng=fd.Rng.unsafe_seed(3))


def check_whole(text):
    """Every address holds what it stands for, and nothing could load anything."""
    page = Page(text)
    assert page.addresses
    assert all(address.startswith("data:") for address in page.addresses)
    scripts = re.findall("<script>(.*?)</script>", text, re.DOTALL)
    assert page.tags.count("script") == len(scripts) <= 1
    for script in scripts:  # the page's own, which the browser runs alone, and which asks for nothing
        assert base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() in text
        assert not re.search(r"fetch|XMLHttp|import|eval|WebSocket|sendBeacon", script)
    assert not {"iframe", "object", "embed", "base", "form", "video", "audio"} & set(page.tags)
    styles = " ".join(page.styles)
    assert "url(" not in styles
    assert "@import" not in styles
    assert "default-src 'none'" in text
    for outside in ("http://", "https://", "//www", "ftp:"):
        assert outside not in text
    for _, address in page.pictures:
        assert read_address(address).size
    return page


@pytest.mark.parametrize("truth", [False, True])
def test_survey_page__is_whole(surveys, truth):
    page = check_whole(survey_page(surveys[truth], "Heat map <of> places"))
    assert "Heat map <of> places" in page.text
    assert page.tags.count("svg") == 2
    for expected in ("The guarantee", "epsilon", "Privacy against utility", "3,000 places"):
        assert expected in page.text


def test_map__says_where_it_is_and_what_lies_outside(surveys):
    """Corners, a scale bar, the share of each cell, and a scale that a heavy border does not flatten."""
    found = surveys[False]
    text = survey_page(found, "Map")
    assert text.count('class="map"') == 4
    for frame in (Frame.of(GRID),):
        assert frame.north_east in text
        assert frame.south_west in text
        assert f"width: {100 * frame.part:.2f}%" in text
    cells = [float(one) for one in re.search('data-cells="([^"]*)"', text)[1].split()]
    assert np.allclose(cells, 100 * found.maps["noisy"].ravel(), rtol=0.01)
    x, y = clustered_checkins(GRID, 3000, seed=1)
    far = np.where(np.arange(3000) % 2 == 0, x, x + 1e6)
    table = pa.table({"x": far, "y": y})
    crowded = survey(table, GRID, epsilon=math.log(2) / 150, columns=("x", "y"), max_iterations=5, curve=False)
    assert 700 < crowded.reports_outside < 2000  # the noise brings half of them back inside
    assert f"{crowded.reports_outside:,} of 3,000 reports" in survey_page(crowded, "Map")
    assert top_of(crowded.maps) < max(float(one.max()) for one in crowded.maps.values())


def test_missing_solver__leaves_its_parts_out(surveys):
    """No empty chart, no column of dashes; the page says how to get them."""
    found = surveys[True]
    bare = {name: replace(errors, wasserstein=None) for name, errors in found.errors.items()}
    points = tuple(
        replace(point, noisy=replace(point.noisy, wasserstein=None), restored=replace(point.restored, wasserstein=None))
        for point in found.curve.points
    )
    text = survey_page(replace(found, errors=bare, curve=replace(found.curve, points=points)), "Map")
    page = Page(text)
    assert page.tags.count("svg") == 1
    assert "earth mover's distance," not in page.text
    assert "fastdp[transport]" in page.text


def test_survey_page__shows_the_original_only_when_asked_and_says_so(surveys):
    private, open_ = (Page(survey_page(surveys[truth], "Map")) for truth in (False, True))
    assert "NOT PRIVATE" in open_.text
    assert "NOT PRIVATE" not in private.text
    names = ["noisy", "restored by inversion", "restored by IBU", "restored, regularised default"]
    assert [alt for alt, _ in private.pictures] == [f"map: {name}" for name in names] + ["colour scale"]
    assert [alt for alt, _ in open_.pictures] == [f"map: {name}" for name in ["original", *names]] + ["colour scale"]
    assert "Errors against the original" in open_.text
    assert "Errors against the original" not in private.text


def test_survey_page__is_loud_about_a_seed(surveys):
    x, y = clustered_checkins(GRID, 300, seed=1)
    found = survey(
        pa.table({"x": x, "y": y}), GRID, epsilon=0.01, columns=("x", "y"), max_iterations=3, curve=False,
        rng=fd.Rng.unsafe_seed(1),
    )  # fmt: skip
    assert "fixed seed" in Page(survey_page(found, "Map")).text


def test_maps__are_on_one_scale(surveys):
    """Equal parts have equal colours whatever the map: the darkest is the largest part of all but the inversion."""
    found = surveys[True]
    top = max(cells.max() for name, cells in found.maps.items() if name != "inversion")
    pictures = dict(Page(survey_page(found, "Map")).pictures)
    for alt, name in (("original", "original"), ("noisy", "noisy"), ("restored, regularised default", "restored")):
        dots = read_address(pictures[f"map: {alt}"])
        times = dots.shape[0] // GRID.shape[0]
        assert np.array_equal(dots[times // 2 :: times, times // 2 :: times], colours(found.maps[name], top))
    assert tuple(colours(np.array([[top]]), top)[0, 0]) == STOPS[-1]
    assert tuple(colours(np.array([[0.0]]), top)[0, 0]) == STOPS[0]


def test_lecture_page__states_calibration_iterations_and_winners(results):
    page = check_whole(lecture_page(results))
    for expected in ("ln 8", "ln 2", "1 km²", "300 iterations", "500 for k-RR", "564 m", "188 m", "synthetic"):
        assert expected in page.text, expected
    for sentence in winners(results):
        assert sentence in page.text
        assert "wins in total variation" in sentence
    assert len(page.pictures) == 2 * (7 + 1)


def test_winners__are_those_with_smaller_errors(results):
    for result in results:
        said = next(one for one in winners(results) if one.startswith(f"{result.city.name}, noisy"))
        planar, krr = (result.mean(name, "noisy")[0] for name in ("planar", "krr"))
        winner = "planar Laplace" if planar < krr else "k-RR"
        assert f"{winner} wins in total variation by a factor of {max(planar, krr) / min(planar, krr):.2f}" in said


POINT = """(() => {
  const image = document.querySelector("figure.map img"), box = image.getBoundingClientRect();
  const place = {clientX: box.left + 0.51 * box.width, clientY: box.top + 0.51 * box.height};
  image.dispatchEvent(new PointerEvent("pointermove", place));
  return document.querySelector("figure.map output").textContent;
})()"""


def colours_of(dots) -> set[tuple[int, int, int]]:
    """The different colours of a picture; as numbers they are sorted a hundred times as fast as as rows."""
    numbers = np.unique(dots.reshape(-1, 3).astype(np.int64) @ [1 << 16, 1 << 8, 1])
    return {(number >> 16, number >> 8 & 255, number & 255) for number in numbers.tolist()}


@pytest.mark.skipif(BROWSER is None, reason="no Chromium on the PATH, and FASTDP_BROWSER names none")
class TestBrowser:
    """In Chromium: what is drawn, and what is asked for."""

    def seen(self, found, name, dots):
        """The part of a map's colours that are on the screen."""
        top = max(cells.max() for other, cells in found.maps.items() if other != "inversion")
        wanted = {tuple(colour) for colour in colours(found.maps[name], top).reshape(-1, 3).tolist()}
        there = colours_of(dots)
        return len(wanted & there) / len(wanted)

    def test_page__renders_with_its_pictures_and_asks_for_nothing(self, surveys, tmp_path):
        found = surveys[True]
        dots, requests = show(survey_page(found, "Map"), tmp_path)
        assert requests == []
        for name in found.maps:
            assert self.seen(found, name, dots) > 0.95, name

    def test_map__says_the_share_of_the_cell_under_the_pointer(self, surveys, tmp_path):
        tab = Tab(survey_page(surveys[False], "Map"), tmp_path)
        try:
            said = tab.ask(POINT)
        finally:
            tab.close()
        rows, columns = GRID.shape
        share = 100 * surveys[False].maps["noisy"][rows // 2, columns // 2]
        assert said == f"row {rows // 2 + 1}, column {columns // 2 + 1}: {share:.3g} %"

    def test_lecture__renders_and_asks_for_nothing(self, results, tmp_path):
        dots, requests = show(lecture_page(results), tmp_path)
        assert requests == []
        assert len(colours_of(dots)) > 200

    def test_check__hears_requests_and_misses_pictures(self, surveys, tmp_path):
        """A page that fetches is heard once its policy is gone, and one without its maps is seen through."""
        found = surveys[True]
        page = survey_page(found, "Map")
        fetches = page.replace("</h1>", '</h1><img src="http://pictures.invalid/a.png">')
        _, requests = show(fetches.replace("default-src 'none'; img-src data:;", ""), tmp_path)
        assert any("pictures.invalid" in request for request in requests)
        assert show(fetches, tmp_path)[1] == []
        dots, _ = show(page.replace("data:image/png;base64,", "data:image/png;base64,AAAA"), tmp_path)
        assert self.seen(found, "restored", dots) < 0.2
