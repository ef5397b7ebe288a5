"""The ``fastdp`` command and its list of subcommands."""

from __future__ import annotations

import errno
import importlib
import os
import sys
from typing import Any

import click

from fastdp._version import __version__
from fastdp.errors import BudgetExceededError, FastDPError, ParameterError, SchemaError

COMMANDS = {
    "sanitize": "Sanitize a file, column by column, as its plan says.",
    "plan": "Write a plan for a file, or explain one.",
    "estimate": "Estimate shares and means from a sanitized file.",
    "demo": "Sanitize a generated table of ten million records and show what it cost.",
    "warmup": "Compile every kernel once, so that no later call waits.",
}


class LazyGroup(click.Group):
    """A group whose commands live in modules of the same name, imported only when one of them runs."""

    def list_commands(self, _context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, _context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"fastdp.cli.{name}").command
        return command

    def format_commands(self, _context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, context: click.Context) -> Any:
        try:
            return super().invoke(context)
        except FastDPError as error:
            if os.environ.get("FASTDP_DEBUG"):
                raise
            click.echo(f"fastdp: {error}", err=True)
            sys.exit(exit_code(error))
        except OSError as error:
            if os.environ.get("FASTDP_DEBUG") or error.errno == errno.EPIPE:
                raise
            about = f": {str(error.filename)!r}" if error.filename else ""
            click.echo(f"fastdp: {error.strerror or 'the system refused'}{about}", err=True)
            sys.exit(5)


def exit_code(error: FastDPError) -> int:
    """2 for parameters, 4 for the budget, 3 for bad input data, 5 for the output and the system."""
    if isinstance(error, ParameterError):
        return 2
    if isinstance(error, BudgetExceededError):
        return 4
    return 3 if isinstance(error, SchemaError | ValueError) else 5


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="fastdp")
def main() -> None:
    """Differential privacy for millions of values per call, safe by default.

    \b
    Examples:
      fastdp demo               see it work, in under a minute
      fastdp plan init people.parquet > plan.toml
      fastdp sanitize people.parquet -p plan.toml -o private.parquet
      fastdp estimate private.parquet -p plan.toml
      fastdp demo --rows 1e6    on a smaller table
      fastdp warmup             compile all kernels once
    """
