"""The ``fastdp`` command and its list of subcommands."""

from __future__ import annotations

import difflib
import errno
import importlib
import io
import os
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NoReturn

import click

from fastdp._version import __version__
from fastdp.cli.terminal.signals import ended_by_signals
from fastdp.errors import BudgetExceededError, FastDPError, ParameterError, SchemaError

COMMANDS = {
    "sanitize": "Sanitize a file, column by column, as its plan says.",
    "plan": "Write a plan for a file, or explain one.",
    "estimate": "Estimate shares, means and distributions from a sanitized file.",
    "verify": "Compare a release with its receipt, its plan and its ledger.",
    "report": "Write a page about a sanitized file, for the people who get it.",
    "release": "Release counts, means, quantiles and histograms of a file, from a budget.",
    "budget": "Keep the budget of a data set in a ledger.",
    "anonymize": "Generalize a table until every class has k rows, at the least loss.",
    "synthesize": "Make synthetic rows of a file, from a budget.",
    "audit": "Measure what a mechanism, a table or a release gives away.",
    "geo": "Win a heat map back from places that planar Laplace noise has moved.",
    "demo": "Sanitize a generated table of ten million people, and estimate it back.",
    "bench": "Measure fastdp on this machine, and judge it against stored results.",
    "docs": "Open the built site of the documentation, or build it.",
    "warmup": "Compile every kernel once, so that no later call waits.",
    "doctor": "Say which code runs on this machine, and why.",
    "completion": "Print the script that lets a shell complete commands.",
}
INTERRUPTED = 130
QUIET = "fastdp.quiet"
"""Where a command notes that it was asked to say nothing."""
NO_ARGUMENTS: Any = getattr(click.exceptions, "NoArgsIsHelpError", ())
"""What click raises for a group without a command from version 8.2 on; before, it prints the help by itself."""


class LazyGroup(click.Group):
    """A group whose commands live in modules of the same name, imported only when one of them runs."""

    package: ClassVar[str] = "fastdp.cli"
    parts: ClassVar[Mapping[str, str]] = COMMANDS
    """The commands, each with its line of help."""

    def list_commands(self, _context: click.Context) -> list[str]:
        return list(self.parts)

    def get_command(self, _context: click.Context, name: str) -> click.Command | None:
        if name not in self.parts:
            return None
        command: click.Command = importlib.import_module(f"{self.package}.{name}").command
        return add_loudness(command)

    def resolve_command(self, context: click.Context, args: list[str]) -> Any:
        """The command, or the nearest name to one that is unknown."""
        near = difflib.get_close_matches(args[0], self.parts, 1)
        if near and args[0] not in self.parts:
            context.fail(f"No such command {args[0]!r}; did you mean {near[0]!r}?")
        return super().resolve_command(context, args)

    def format_commands(self, _context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            if self.parts:
                formatter.write_dl(list(self.parts.items()))

    def main(self, args: Sequence[str] | None = None, *, standalone_mode: bool = True, **more: Any) -> Any:  # type: ignore[override]
        """Run a command; its errors are one line on standard error, and an exit code."""
        if not standalone_mode:
            return super().main(args, standalone_mode=False, **more)
        fill_standard_streams()
        try:
            with ended_by_signals():
                sys.exit(super().main(args, standalone_mode=False, **more) or 0)
        except click.exceptions.Abort:
            _end("interrupted", INTERRUPTED)
        except click.ClickException as error:
            if isinstance(error, NO_ARGUMENTS):
                click.echo(error.ctx.get_help())
                sys.exit(error.exit_code)
            _end(in_one_line(error), error.exit_code)
        except Exception as error:
            if os.environ.get("FASTDP_DEBUG"):
                raise
            _end(*explain(error))


class ClosedOutput(io.TextIOBase):
    """Standard output that the caller closed: what is printed there is an error, not lost."""

    def write(self, _text: str) -> int:
        raise OSError(errno.EBADF, "standard output is closed")

    @property
    def buffer(self) -> Any:
        return self


def fill_standard_streams() -> None:
    """Something in the place of standard streams that the caller closed.

    Files that are opened would get their numbers, and what libraries print would end up in them.
    """
    if None not in (sys.stdin, sys.stdout, sys.stderr):
        return
    while (handle := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(handle)
    if sys.stdout is None:
        sys.stdout = ClosedOutput()
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123 - until the process ends


def _end(message: str, code: int) -> NoReturn:
    from fastdp.cli.terminal.screen import has_colour

    if has_colour(sys.stderr):
        options = re.sub(r"(?<![\w-])--?[a-z][a-z-]*\b", lambda found: click.style(found[0], bold=True), message)
        message = f"{click.style('fastdp:', fg='red', bold=True)} {options}"
    else:
        message = f"fastdp: {message}"
    click.echo(message, err=True)
    sys.exit(code)


def in_one_line(error: click.ClickException) -> str:
    """What was wrong with a call, and where to read how it is right."""
    message = " ".join(error.format_message().split())
    context = getattr(error, "ctx", None)
    return message if context is None else f"{message.rstrip('.')}; see {context.command_path} --help"


def explain(error: Exception) -> tuple[str, int]:
    """An error in one line, and its exit code; those of other libraries may hold values, and are not shown."""
    if isinstance(error, FastDPError):
        return " ".join(str(error).splitlines()), exit_code(error)
    if isinstance(error, MemoryError):
        return "out of memory; use fewer threads, or a machine with more", 5
    if isinstance(error, OSError):
        about = f": {str(error.filename)!r}" if error.filename else ""
        return f"{error.strerror or 'the system refused'}{about}", 5
    kind = type(error).__name__
    return f"an error that should not happen ({kind}); FASTDP_DEBUG=1 shows where, and may show values", 5


def exit_code(error: FastDPError) -> int:
    """2 for parameters, 4 for the budget, 3 for bad input data, 5 for the output and the system."""
    if isinstance(error, ParameterError):
        return 2
    if isinstance(error, BudgetExceededError):
        return 4
    return 3 if isinstance(error, SchemaError | ValueError) else 5


def add_loudness(command: click.Command) -> click.Command:
    """The command, or its subcommands, with ``-q`` and ``-v`` where it has none of its own."""
    if isinstance(command, click.Group):
        for part in command.commands.values():
            add_loudness(part)
        return command
    taken = {name for parameter in command.params for name in parameter.opts}
    if "-v" not in taken:
        command.params.append(
            click.Option(
                ["-v", "--verbose"], is_flag=True, expose_value=False, callback=_speak, help="Say what is done."
            )
        )
    if "-q" not in taken:
        command.params.append(
            click.Option(["-q", "--quiet"], is_flag=True, expose_value=False, help="Say nothing but the results.")
        )
    for parameter in command.params:
        if "-q" in parameter.opts and parameter.callback is None:
            parameter.callback = _hush
    return command


def _hush(context: click.Context, _parameter: click.Parameter, value: bool) -> bool:
    """Nothing is said of the compiler either."""
    context.meta[QUIET] = value
    return value


def _speak(context: click.Context, _parameter: click.Parameter, value: bool) -> None:
    """What the stages report goes to standard error while the command runs."""
    if value:
        from fastdp.cli.terminal.screen import spoken

        context.with_resource(spoken())


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="fastdp")
@click.pass_context
def main(context: click.Context) -> None:
    """Differential privacy for millions of values per call, safe by default.

    \b
    Examples:
      fastdp demo               see it work, in under a minute
      fastdp plan init people.parquet > plan.toml
      fastdp sanitize people.parquet -p plan.toml -o private.parquet
      fastdp estimate private.parquet --chart
      fastdp demo --rows 1e6    on a smaller table
      fastdp warmup             compile all kernels once
    """
    from fastdp.cli.terminal.compiling import noted

    context.with_resource(noted(lambda: bool(context.meta.get(QUIET))))
