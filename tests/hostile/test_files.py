"""Hundreds of malformed files: an error of fastdp's own or a whole output, never a crash, a partial file or a value."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.hostile.counts import LEAST, TRIED
from tests.hostile.malformed import CANARY, all_files, whole_files

pytestmark = pytest.mark.slow

SHARE = 100
"""Files that one process tries."""
WORKER = """
import json, sys, warnings
from pathlib import Path
import fastdp as fd
from tests.tables.files import read
from tests.tables.people import COLUMNS

warnings.simplefilter("ignore")
folder = Path(sys.argv[1])
for path in sorted(folder.glob("in*")):
    kind = path.suffix[1:]
    output = folder / "out.arrows"
    print(json.dumps({"file": path.name}), flush=True)
    said = {"file": path.name, "error": None, "message": "", "left": []}
    try:
        fd.sanitize(path, fd.Plan(columns=COLUMNS), output)
        read(str(output)).validate(full=True)
        output.unlink()
        (folder / "out.arrows.receipt.json").unlink()
    except fd.FastDPError as error:
        said |= {"error": type(error).__name__, "message": str(error)}
    except BaseException as error:
        said |= {"error": "NOT OURS " + type(error).__name__, "message": ""}
    said["left"] = sorted(left.name for left in folder.iterdir() if not left.name.startswith("in"))
    print(json.dumps(said), flush=True)
"""


@cache
def shares() -> list[list[tuple[str, bytes]]]:
    files = list(all_files())
    return [files[start : start + SHARE] for start in range(0, len(files), SHARE)]


def run(folder: Path, files: list[tuple[str, bytes]]) -> list[dict]:
    """What became of each file, in a process that they may crash."""
    for number, (kind, content) in enumerate(files):
        (folder / f"in{number:04}.{kind}").write_bytes(content)
    done = subprocess.run([sys.executable, "-c", WORKER, str(folder)], capture_output=True, text=True, cwd=Path.cwd())
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, (done.returncode, lines[-1:], done.stderr[-500:])
    return [line for line in lines if "error" in line]


@pytest.mark.parametrize("number", range(14))
def test_malformed_files__end_well(number, tmp_path):
    files = shares()[number]
    found = run(tmp_path, files)
    TRIED["malformed files"] += len(found)
    assert len(found) == len(files)
    for said in found:
        assert not (said["error"] or "").startswith("NOT OURS"), said
        assert not said["left"], said
        assert str(int(CANARY)) not in said["message"], said["file"]


def test_whole_files__are_taken(tmp_path):
    """What the malformed ones are made of is in order; else they would be refused for another reason."""
    files = [(name.rpartition(".")[2], content) for name, content in whole_files().items()]
    assert all(said["error"] is None for said in run(tmp_path, files))


def test_most_of_them__are_refused(tmp_path):
    """Files that are cut are refused, all but texts that end after a row."""
    files = [(name.rpartition(".")[2], content) for name, content in whole_files().items()]
    cut = [(kind, content[: len(content) // 2]) for kind, content in files if kind != "csv"]
    assert all(said["error"] == "InputCorruptError" for said in run(tmp_path, cut))


def test_files__are_as_many_as_promised():
    assert len(shares()) == 14
    assert sum(map(len, shares())) >= LEAST["malformed files"]
