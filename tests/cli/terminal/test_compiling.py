"""A command that waits for the compiler says so, to a person."""

from __future__ import annotations

import logging
import sys

import pytest

from fastdp.cli.terminal.compiling import noted
from fastdp.cli.terminal.screen import LIVE, progress


@pytest.mark.parametrize(("terminal", "quiet", "lines"), [(True, False, 1), (True, True, 0), (False, False, 0)])
def test_line__is_for_a_terminal_that_is_not_told_to_be_quiet(terminal, quiet, lines, monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    with noted(lambda: quiet):
        logging.getLogger("fastdp.kernels").warning("compiling kernels")
    assert ("compiling kernels" in capsys.readouterr().err) == bool(lines)
    assert not logging.getLogger("fastdp.kernels").handlers


def test_count__is_of_what_is_compiled(monkeypatch, capsys):
    """Beside the bar of the command where there is one, and nothing of it is left."""
    from fastdp.kernels.compiler import LISTENERS

    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with noted(lambda: False):
        logging.getLogger("fastdp.kernels").warning("compiling kernels")
        (shown,) = LIVE
        with progress(quiet=False, doing="reading") as update:
            update(1, 2)
            assert LIVE[-1] is not shown
        for listener in LISTENERS:
            listener()
        assert "1 done" in shown.tasks[-1].description
    assert not LIVE
    assert not LISTENERS
    capsys.readouterr()
