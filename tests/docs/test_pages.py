"""Examples on pages print what they say, scripts of the site run, links hold, and README's examples work."""

from __future__ import annotations

import doctest
import re
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastdp as fd
from fastdp.mechanisms.catalogue import ROWS

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))
from docs.site import api, cells, index_page, mechanisms  # noqa: E402 - a folder beside the package

PAGES = sorted(path for path in (ROOT / "docs").rglob("*.md") if ">>>" in path.read_text())
SCRIPTS = sorted([*(ROOT / "docs").glob("*/*.py"), ROOT / "docs" / "tutorial.py"])
SCRIPTS = [path for path in SCRIPTS if path.parent.name != "site"]
LINKED = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "benchmarks/README.md"]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_examples__print_what_the_page_says(page):
    text = page.read_text().replace("```", "")
    found = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    assert doctest.DocTestRunner(optionflags=FLAGS).run(found).failed == 0


@pytest.mark.slow
@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_scripts__run(path, monkeypatch):
    """Lectures, examples and the tutorial, with the numbers that they assert; the site's build runs them in CI."""
    monkeypatch.setenv("MPLBACKEND", "Agg")
    done = cells.run(path)
    assert cells.as_page(done).startswith("# ")
    assert '"nbformat": 4' in cells.as_notebook(done)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_scripts__assert_numbers_in_cells_and_tell_what_they_are(path):
    found = cells.read(path)
    assert found[0].kind == "markdown"
    assert "Untitled" not in cells.title(found)
    assert sum(cell.source.count("assert ") for cell in found if cell.kind == "code") >= 1


def test_cells__run_in_order_and_show_what_comes_out(tmp_path):
    script = tmp_path / "a.py"
    code = "# %%\nx = 2\n\n# %%\nprint('said')\nx + 1\n\n"
    script.write_text(f"# %% [markdown]\n# # Title\n\n{code}# %% [sh]\n# echo $((1 + 1))\n")
    done = cells.run(script)
    assert [cell.text for cell in done] == ["", "", "said\n3\n", "2\n"]
    assert "```text\nsaid\n3\n```" in cells.as_page(done)


@pytest.mark.parametrize("wrong", ["# %%\nassert 1 == 2\n", "# %% [sh]\n# exit 3\n"])
def test_cells__fail_where_what_is_asserted_is_wrong(tmp_path, wrong):
    script = tmp_path / "a.py"
    script.write_text("# %% [markdown]\n# # Title\n\n" + wrong)
    with pytest.raises((AssertionError, RuntimeError)):
        cells.run(script)


def test_readme__examples_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source = np.random.default_rng(1)
    diseases = source.choice(["cold", "flu", "none"], 3000)
    ages = source.integers(0, 100, 3000)
    names = {"fd": fd, "diseases": diseases, "ages": ages}
    pq.write_table(pa.table({"name": ["x"] * 3000, "disease": diseases, "age": ages}), "people.parquet")
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert len(blocks) == 3
    for block in blocks:
        exec(block, names)
    assert names["receipt"].privacy.record.epsilon == pytest.approx(3.0, rel=1e-5)
    assert abs(names["count"] - 10_000) < 100
    assert names["found"].distribution.sum() == pytest.approx(1)


def test_readme__is_short_with_twelve_rows():
    text = (ROOT / "README.md").read_text()
    assert len(text.splitlines()) <= 110
    assert text[text.index("<!-- bench:begin -->") : text.index("<!-- bench:end -->")].count("\n| ") == 12 + 2


@pytest.mark.parametrize("name", LINKED)
def test_links__lead_to_files(name):
    page = ROOT / name
    links = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_front_page__links_to_pages_of_the_site():
    assert not re.search(r"\]\((docs/|\w+/README|[A-Z]+\.md)", index_page.text())


def test_mechanism_pages__have_plans_that_load():
    assert mechanisms.names() == [row.name for row in ROWS]
    shown = {name: text for name in mechanisms.names() if (text := mechanisms.plan_example(name))}
    assert len(shown) > 12
    for name, text in shown.items():
        plan = _plan(text)
        assert type(plan.parts[0].mechanism).__name__ == name
    bad = shown["KRR"].replace('"krr"', '"kr"')
    with pytest.raises(fd.FastDPError):
        _plan(bad)


def _plan(text: str) -> fd.Plan:
    import tomllib

    return fd.Plan(columns=tomllib.loads(text)["columns"])


def test_reference__holds_every_public_name():
    text = "\n".join(page for _, _, page in api.pages())
    own = set(mechanisms.names())
    missing = [
        name
        for name, module in api.homes().items()
        if module != "fastdp" and name not in {"__version__", *own} and f".{name}\n" not in text + "\n"
    ]
    assert [name for name in missing if not _shown_elsewhere(name, text)] == []


def _shown_elsewhere(name: str, text: str) -> bool:
    """Whether it is a class beside a mechanism, on that one's page, or a room."""
    return api.homes()[name].startswith("fastdp.mechanisms.") or f"::: fastdp.{name}" in text
