"""What a person sees while a command waits for the compiler: a line, and how many kernels are done."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from fastdp.cli.terminal.screen import LIVE


class _Status(logging.Handler):
    """Shows what kernels report, if a person looks at it; to a file nothing goes."""

    def __init__(self, is_quiet: Callable[[], bool]) -> None:
        super().__init__(logging.WARNING)
        self._is_quiet = is_quiet
        self._own: Any = None
        self._listener: Any = None

    def emit(self, record: logging.LogRecord) -> None:
        if not sys.stderr.isatty() or self._is_quiet():
            return
        import click

        if LIVE:
            LIVE[-1].console.print(self.format(record), style="dim", highlight=False, soft_wrap=True)
        else:
            click.secho(self.format(record), err=True, dim=True)
        if self._listener is None:
            self._count()

    def _count(self) -> None:
        """A count of what is compiled, under the bar of the command, or by itself until one is shown."""
        from rich.console import Console
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        from fastdp.kernels.compiler import LISTENERS

        if not LIVE:
            columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
            self._own = Progress(*columns, console=Console(stderr=True), transient=True)
            self._own.start()
            LIVE.append(self._own)
        shown = LIVE[-1]
        task = shown.add_task("compiling kernels, once", total=None)
        done = 0

        def count() -> None:
            nonlocal done
            done += 1
            shown.update(task, description=f"compiling kernels, once: {done} done")

        self._listener = count
        LISTENERS.append(count)

    def stop(self) -> None:
        """Show nothing any more."""
        if self._listener is not None:
            from fastdp.kernels.compiler import LISTENERS

            LISTENERS.remove(self._listener)
            self._listener = None
        if self._own is not None:
            self._own.stop()
            LIVE[:] = [one for one in LIVE if one is not self._own]
            self._own = None


@contextmanager
def noted(is_quiet: Callable[[], bool]) -> Iterator[None]:
    """Reports of kernels go to the terminal while a command runs, and not to a file that standard error goes to."""
    logger, status = logging.getLogger("fastdp.kernels"), _Status(is_quiet)
    logger.addHandler(status)
    try:
        yield
    finally:
        status.stop()
        logger.removeHandler(status)
