"""``fastdp docs`` opens what was built, and says what is missing; ``fastdp bench --readme`` says what it would do."""

from __future__ import annotations

import webbrowser

import pytest
from click.testing import CliRunner

from fastdp.cli import bench, docs


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A checkout without a site."""
    (tmp_path / "docs" / "site").mkdir(parents=True)
    (tmp_path / "docs" / "site" / "hooks.py").touch()
    (tmp_path / "mkdocs.yml").touch()
    monkeypatch.setattr(docs.fastdp, "__file__", str(tmp_path / "fastdp" / "__init__.py"))
    return tmp_path


def test_docs__opens_the_built_site(checkout, monkeypatch):
    opened = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    missing = CliRunner().invoke(docs.command)
    assert missing.exit_code == 5
    assert "fastdp docs --build" in missing.output
    (checkout / "site").mkdir()
    page = checkout / "site" / "index.html"
    page.touch()
    assert CliRunner().invoke(docs.command, ["--path"]).output.strip() == str(page)
    assert opened == []
    assert CliRunner().invoke(docs.command).exit_code == 0
    assert opened == [page.as_uri()]


def test_build__names_the_extra_that_is_missing(checkout, monkeypatch):
    monkeypatch.setattr(docs.importlib.util, "find_spec", lambda _name: None)
    found = CliRunner().invoke(docs.command, ["--build"])
    assert found.exit_code == 5
    assert ".[docs]" in found.output


def test_build__that_fails_is_an_error(checkout, monkeypatch):
    monkeypatch.setattr(docs.importlib.util, "find_spec", lambda _name: object())
    monkeypatch.setattr(docs.sys, "executable", "/bin/false")
    assert CliRunner().invoke(docs.command, ["--build"]).exit_code == 5


def test_without_a_checkout__is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(docs.fastdp, "__file__", str(tmp_path / "fastdp" / "__init__.py"))
    monkeypatch.chdir(tmp_path)
    assert "not installed" in CliRunner().invoke(docs.command).output


def test_bench_readme__says_its_steps_and_takes_no_topic():
    said = CliRunner().invoke(bench.command, ["--readme", "--dry-run"]).output
    assert "venv" in said
    assert "[bench]" in said
    assert "benchmarks.pages.readme" in said
    assert CliRunner().invoke(bench.command, ["noise", "--readme"]).exit_code != 0
