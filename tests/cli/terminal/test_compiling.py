"""A command that waits for the compiler says so, to a person."""

from __future__ import annotations

import logging
import sys

import pytest

from fastdp.cli.terminal.compiling import noted


@pytest.mark.parametrize(("terminal", "quiet", "lines"), [(True, False, 1), (True, True, 0), (False, False, 0)])
def test_line__is_for_a_terminal_that_is_not_told_to_be_quiet(terminal, quiet, lines, monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    with noted(lambda: quiet):
        logging.getLogger("fastdp.kernels").warning("compiling kernels")
    assert capsys.readouterr().err.count("compiling kernels") == lines
    assert not logging.getLogger("fastdp.kernels").handlers
