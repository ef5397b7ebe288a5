"""A line on the terminal when a command waits for the compiler."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class _Status(logging.Handler):
    """Writes what kernels report to standard error, if a person looks at it."""

    def __init__(self, is_quiet: Callable[[], bool]) -> None:
        super().__init__(logging.WARNING)
        self._is_quiet = is_quiet

    def emit(self, record: logging.LogRecord) -> None:
        if sys.stderr.isatty() and not self._is_quiet():
            import click

            click.secho(self.format(record), err=True, dim=True)


@contextmanager
def noted(is_quiet: Callable[[], bool]) -> Iterator[None]:
    """Reports of kernels go to the terminal while a command runs, and not to a file that standard error goes to."""
    logger, status = logging.getLogger("fastdp.kernels"), _Status(is_quiet)
    logger.addHandler(status)
    try:
        yield
    finally:
        logger.removeHandler(status)
