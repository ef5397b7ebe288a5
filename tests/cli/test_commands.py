"""The command line, as a person uses it."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from fastdp.cli import main


def call(*arguments: str):
    return CliRunner().invoke(main, list(arguments), env={"COLUMNS": "200"})


def test_demo__says_what_it_did():
    done = call("demo", "--rows", "3e4")
    assert done.exit_code == 0
    for expected in ("30,000 records", "Laplace", "Geometric", "epsilon ", "rho ", "million values per second"):
        assert expected in done.output


@pytest.mark.parametrize("rows", ["0", "many", "-5"])
def test_demo__refuses_bad_rows(rows):
    done = call("demo", "--rows", rows)
    assert done.exit_code == 2
    assert "Traceback" not in done.output


def test_warmup__compiles_everything():
    done = call("warmup")
    assert done.exit_code == 0
    assert "kernels ready" in done.output


@pytest.mark.parametrize("command", ["demo", "warmup"])
def test_help__has_an_example(command):
    done = call(command, "--help")
    assert done.exit_code == 0
    assert "Example" in done.output


def test_unknown_command__is_refused():
    assert call("sanitise").exit_code == 2


def test_errors__are_one_line(monkeypatch):
    """No traceback, the way out, and the exit code for parameters."""
    monkeypatch.setenv("FASTDP_THREADS", "none")
    monkeypatch.setattr("fastdp.parallel._threads", None)
    done = call("demo", "--rows", "10")
    assert done.exit_code == 2
    assert "FASTDP_THREADS" in done.output
    assert "Traceback" not in done.output
