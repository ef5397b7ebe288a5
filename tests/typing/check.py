"""Run mypy and pyright on the consumer's file: ``python -m tests.typing.check [mypy] [pyright]``.

Fails unless each reports an error on every line that is marked so, and on no other.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

CONSUMER = Path(__file__).with_name("consumer.py")
ROOT = Path(__file__).parent.parent.parent
MARK = "  # error: "


def marked(text: str) -> set[int]:
    """The numbers of the lines that must be errors."""
    return {number for number, line in enumerate(text.splitlines(), 1) if MARK in line}


def _run(*command: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *command, str(CONSUMER)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode > 1:
        raise RuntimeError(f"{command[0]} did not run:\n{done.stdout}{done.stderr}")
    return done.stdout


def run_mypy() -> dict[int, str]:
    """Mypy's errors by line."""
    rows = re.findall(r"^(\S+?):(\d+): error: (.*)$", _run("mypy", "--strict", "--no-pretty"), re.MULTILINE)
    return {int(line): message for path, line, message in rows if Path(path).name == CONSUMER.name}


def run_pyright() -> dict[int, str]:
    """Pyright's errors by line."""
    answer = json.loads(_run("pyright", "--outputjson", "--pythonpath", sys.executable))
    rows = [row for row in answer["generalDiagnostics"] if row["severity"] == "error"]
    return {row["range"]["start"]["line"] + 1: row["message"].splitlines()[0] for row in rows}


CHECKERS = {"mypy": run_mypy, "pyright": run_pyright}


def differences(found: dict[int, str], expected: set[int]) -> list[str]:
    """What a checker reported without a mark, and marks that it did not report."""
    unexpected = [f"line {line}: {message}" for line, message in sorted(found.items()) if line not in expected]
    return unexpected + [f"line {line}: not an error" for line in sorted(expected - found.keys())]


def main(names: list[str]) -> int:
    """Check by the named checkers, or by both; 1 if one does not agree with the marks."""
    expected = marked(CONSUMER.read_text())
    failed = False
    for name in names or CHECKERS:
        wrong = differences(CHECKERS[name](), expected)
        failed |= bool(wrong)
        result = f"{len(wrong)} lines differ from the marks" if wrong else f"{len(expected)} errors as marked"
        print(f"{name}: {CONSUMER.name}: {result}")
        print("".join(f"  {row}\n" for row in wrong), end="")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
