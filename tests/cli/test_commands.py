"""The command line, as a person uses it: what holds for every command."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import click
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import fastdp
from fastdp.cli import main
from fastdp.cli.main import COMMANDS, explain
from tests.patience import PATIENCE


def call(*arguments: str):
    return CliRunner().invoke(main, list(arguments), env={"COLUMNS": "200"})


def leaves(command=main, path=()) -> list[tuple[str, ...]]:
    """Every command and subcommand, by its words."""
    if not isinstance(command, click.Group):
        return [path]
    context = click.Context(command)
    parts = [(name, command.get_command(context, name)) for name in command.list_commands(context)]
    return [path, *(leaf for name, part in parts for leaf in leaves(part, (*path, name)))]


LEAVES = leaves()
GROUPS = {("plan",), ("budget",), ("audit",), ("audit", "attack"), ("release",)}


def test_leaves__are_all_there():
    assert {words[0] for words in LEAVES if words} == set(COMMANDS)
    assert ("plan", "init") in LEAVES


@pytest.mark.parametrize("words", LEAVES, ids=" ".join)
def test_help__has_examples(words):
    done = call(*words, "--help")
    assert done.exit_code == 0
    assert "Example" in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize(
    "words",
    [words for words in LEAVES if words and words not in GROUPS],
    ids=" ".join,
)
def test_every_command__is_quiet_or_verbose_if_asked(words):
    shown = call(*words, "--help").stdout
    assert "-q, --quiet" in shown
    assert "-v, --verbose" in shown


def test_help__loads_no_engine_and_takes_little_time():
    """Of all commands together, in one process: a fifth of a second for each."""
    code = f"""
import sys, time
from click.testing import CliRunner
from fastdp.cli import main
for words in {LEAVES!r}:
    assert CliRunner().invoke(main, [*words, "--help"]).exit_code == 0
print([name for name in ("numba", "pyarrow", "numpy", "rich", "pandas") if name in sys.modules])
print(time.process_time())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE)
    loaded, seconds = done.stdout.splitlines()
    assert loaded == "[]"
    assert float(seconds) < 0.2 * len(LEAVES)


def test_version__is_the_packages():
    assert call("--version").stdout == f"fastdp, version {fastdp.__version__}\n"


@pytest.mark.parametrize("words", [("sanitise",), ("--nonsense",), ("demo", "--nonsense"), ("plan", "chek")])
def test_usage__is_refused_in_one_line(words):
    done = call(*words)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert done.stderr.startswith("fastdp: ")
    assert done.stderr.count("\n") == 1
    assert "--help" in done.stderr


class TestErrors:
    """One line, an exit code, and no traceback but for those who ask."""

    def fail(self, monkeypatch, error):
        @click.command()
        def command():
            raise error

        monkeypatch.setattr("fastdp.cli.warmup.command", command)
        return call("warmup")

    @pytest.mark.parametrize(
        ("error", "code"),
        [
            (fastdp.ParameterError("a"), 2),
            (fastdp.DomainError("b"), 3),
            (fastdp.SchemaError("c"), 3),
            (fastdp.InputCorruptError("d"), 3),
            (fastdp.BudgetExceededError("e"), 4),
            (fastdp.OutputExistsError("f"), 5),
            (OSError(28, "No space left on device", "out.parquet"), 5),
            (MemoryError(), 5),
            (KeyboardInterrupt(), 130),
            (ValueError("SECRET"), 5),
        ],
    )
    def test_errors__have_a_line_and_a_code(self, monkeypatch, error, code):
        done = self.fail(monkeypatch, error)
        assert done.exit_code == code
        assert done.stdout == ""
        assert done.stderr.strip().count("\n") == 0
        assert "fastdp: " in done.stderr
        assert "SECRET" not in done.stderr
        assert "Traceback" not in done.output

    def test_debug__shows_the_traceback(self, monkeypatch):
        monkeypatch.setenv("FASTDP_DEBUG", "1")
        assert isinstance(self.fail(monkeypatch, ValueError("a")).exception, ValueError)
        assert isinstance(self.fail(monkeypatch, fastdp.ParameterError("a")).exception, fastdp.ParameterError)

    def test_lines__stay_lines(self):
        assert explain(fastdp.SchemaError("one\ntwo")) == ("one two", 3)

    def test_environment__is_checked(self, monkeypatch):
        monkeypatch.setenv("FASTDP_THREADS", "none")
        monkeypatch.setattr("fastdp.threads._threads", None)
        done = call("demo", "--rows", "10")
        assert done.exit_code == 2
        assert "FASTDP_THREADS" in done.stderr


def test_verbose__is_heard_while_the_command_runs(tmp_path):
    import logging

    (tmp_path / "plan.toml").write_text('[columns.x]\naction = "keep"\n')
    assert call("plan", "check", str(tmp_path / "plan.toml"), "-v").exit_code == 0
    assert not logging.getLogger("fastdp").handlers


class TestCompletion:
    """Scripts for three shells, and what they are told."""

    @pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
    def test_script__is_printed(self, shell):
        done = call("completion", shell)
        assert done.exit_code == 0
        assert "_FASTDP_COMPLETE" in done.stdout
        assert done.stderr == ""

    def test_shells__that_are_not_known(self):
        assert call("completion", "cmd").exit_code == 2

    @pytest.mark.parametrize(
        ("words", "expected"), [("fastdp est", "estimate"), ("fastdp plan ch", "check"), ("fastdp demo --ke", "--keep")]
    )
    def test_words__are_completed(self, words, expected):
        number = len(words.split()) - 1
        environment = os.environ | {"_FASTDP_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(number)}
        code = "from fastdp.cli import main; main(prog_name='fastdp')"
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=PATIENCE
        )
        assert f"plain,{expected}" in done.stdout.splitlines()


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """One run of the demo with all its words, and the folder that it kept."""
    kept = tmp_path_factory.mktemp("demo") / "kept"
    return call("demo", "--rows", "1e5", "--keep", str(kept)), kept


class TestDemo:
    """A table of people, planned, sanitized and estimated back."""

    def test_demo__says_what_it_did(self, demo):
        done, _ = demo
        assert done.exit_code == 0
        for expected in ("[columns.disease]", "100,000 records", "laplace", "geometric", "epsilon 4.5", "d-privacy",
                         "truth", "noisy", "restored", "million values per second"):  # fmt: skip
            assert expected in done.stdout
        assert done.stderr == ""

    def test_demo__as_json_is_json_alone(self, monkeypatch):
        monkeypatch.setattr("fastdp.cli.demo._compile", lambda *_, **__: None)  # which the run above has tried
        said = json.loads(call("demo", "--rows", "1e4", "--json").stdout)
        assert said["rows"] == 10_000
        (age,) = [line for line in said["columns"] if line["column"] == "age"]
        assert abs(age["restored"] - age["truth"]) < 4 * age["within"]
        asked = {(line["question"], line["of"]): line for line in said["answers"]}
        assert len(asked) == 7
        for line in asked.values():
            room = 4 * (line["high"] - line["low"]) + 1
            assert line["low"] - room <= line["truth"] <= line["high"] + room

    def test_demo__answers_three_questions_and_shows_what_is_left(self, demo):
        """The ledger holds both releases, and what it says is left is what they leave."""
        done, kept = demo
        for expected in ("people with", "mean of", "median of", "95 % interval", "remains"):
            assert expected in done.stdout
        entries = [entry for entry in fastdp.Ledger(kept / "people.ledger").entries() if entry.kind == "spend"]
        assert [entry.body["name"] for entry in entries] == ["demo", "three questions"]

    def test_demo__makes_nothing_in_a_dry_run(self, tmp_path):
        done = call("demo", "-n", "--keep", str(tmp_path / "kept"))
        assert "[columns.income]" in done.stdout
        assert json.loads(call("demo", "-n", "--json").stdout)["rows"] == 10_000_000
        assert not (tmp_path / "kept").exists()

    def test_demo__restores_the_truth(self, demo):
        done, _ = demo
        rows = {tuple(line.split()[:2]): line.replace(",", "").split() for line in done.stdout.splitlines()}
        for key in (("disease", "none"), ("smoker", "true")):
            truth, noisy, restored = (float(rows[key][place]) for place in (2, 4, 6))
            assert abs(restored - truth) < 3
            assert abs(noisy - truth) > 10
        truth, noisy, restored = map(float, rows["weight", "mean"][2:5])  # reports lie within the bounds
        assert abs(restored - truth) < 3
        assert abs(noisy - truth) > 10
        truth, noisy, restored = map(float, rows["income", "mean"][2:5])  # open: reports are right on average
        assert abs(restored - truth) < 6000
        assert noisy == restored

    def test_demo__keeps_its_files_if_asked_and_writes_over_none(self, demo):
        _, kept = demo
        assert sorted(path.name for path in kept.iterdir()) == [
            "people.ledger", "people.parquet", "plan.toml", "private.parquet", "private.parquet.receipt.json",
        ]  # fmt: skip
        assert pq.read_metadata(kept / "private.parquet").num_rows == 100_000
        again = call("demo", "--rows", "10", "--keep", str(kept))
        assert again.exit_code == 5
        assert "exists" in again.stderr
        assert call("estimate", str(kept / "private.parquet"), "-p", str(kept / "plan.toml")).exit_code == 0

    @pytest.mark.parametrize("rows", ["0", "many", "-5", "inf", "nan"])
    def test_demo__refuses_bad_rows(self, rows):
        assert call("demo", "--rows", rows).exit_code == 2


def test_warmup__compiles_everything():
    done = call("warmup")
    assert done.exit_code == 0
    assert done.stdout == ""
    assert "kernels ready" in done.stderr


def test_warmup__names_kernels_without_compiling_them(monkeypatch):
    named = call("warmup", "--dry-run").stdout.splitlines()
    assert len(named) > 20
    assert json.loads(call("warmup", "-n", "--json").stdout) == {"kernels": named}
    monkeypatch.setattr("fastdp.cli.warmup.compiled.jobs", lambda: [("one", lambda: None)])
    assert json.loads(call("warmup", "--json", "-q").stdout)["kernels"] == ["one"]


def test_unknown_commands__are_refused_with_the_nearest_name():
    done = call("sanitise", "in.csv")
    assert done.exit_code == 2
    assert "did you mean 'sanitize'?" in done.stderr


@pytest.mark.parametrize("group", [[], ["plan"], ["budget"]])
def test_group_alone__prints_its_help(group):
    """Lines as --help has them, not folded into an error."""
    done = CliRunner().invoke(main, group)
    assert done.output == CliRunner().invoke(main, [*group, "--help"]).output
    assert "\nCommands:\n" in done.output
    assert done.exit_code in {0, 2}
