"""Standard streams that the caller closed: an error in words, or nothing to say, and never a file in their place."""

from __future__ import annotations

import shlex
import subprocess
import sys

import pytest

from tests.patience import PATIENCE
from tests.tables.people import PLAN

FASTDP = f"{shlex.quote(sys.executable)} -c 'from fastdp.cli import main; main()'"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "in.csv").write_text("ill\ntrue\nfalse\n")
    (tmp_path / "plan.toml").write_text('[columns.ill]\nmechanism = "randomized_response"\nepsilon = 1.0\n')
    (tmp_path / "people.toml").write_text(PLAN)
    return tmp_path


def shell(folder, command):
    return subprocess.run(
        ["sh", "-c", f"{FASTDP} {command}"], cwd=folder, capture_output=True, text=True, timeout=PATIENCE
    )


@pytest.mark.skipif(sys.platform == "win32", reason="no such shell here")
@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("sanitize in.csv -p plan.toml -o - >&-", "standard output is closed"),
        ("sanitize in.csv -p plan.toml -o - --to arrow >&-", "standard output is closed"),
        ("sanitize - -p plan.toml -o out.csv <&-", "standard input is closed"),
        ("estimate - -p plan.toml <&-", "standard input is closed"),
        ("plan init in.csv >&-", "standard output is closed"),
        ("plan check people.toml >&-", "standard output is closed"),
    ],
)
def test_streams__that_are_needed_and_closed_are_an_error(folder, command, said):
    done = shell(folder, command)
    assert done.returncode == 5
    assert done.stderr == f"fastdp: {said}\n"
    assert not (folder / "out.csv").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="no such shell here")
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", ">&- 2>&- <&-"])
def test_streams__that_are_not_needed_may_be_closed(folder, closed):
    """The output must not get the number of a closed stream, and be written to by whoever prints."""
    done = shell(folder, f"sanitize in.csv -p plan.toml -o out.csv -v {closed}")
    assert done.returncode == 0
    lines = (folder / "out.csv").read_text().splitlines()
    assert lines[0] == '"ill"'
    assert len(lines) == 3
