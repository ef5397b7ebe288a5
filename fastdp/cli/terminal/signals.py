"""Interrupts: Ctrl-C and its kin end a command politely, also where a library swallows what the handler raises."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
AGAIN = 0.05
"""Seconds after which a signal whose exception was lost is sent again."""
_received: list[int] = []


def end_if_asked(_done: int = 0, _total: int | None = None) -> None:
    """End the command if a signal has come and what its handler raised was lost; `Progress` between batches."""
    if _received:
        raise KeyboardInterrupt if _received[0] == signal.SIGINT else SystemExit(128 + _received[0])


def _end(number: int, _frame: Any) -> None:
    _received.append(number)
    end_if_asked()


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Run a command so that signals end it by an exception, whatever code they interrupt.

    An exception is lost where a library calls back from C, as when compiled kernels are loaded. Python reports it to
    ``sys.unraisablehook``, and from there the signal is sent again; what is swallowed without a report is noticed by
    `end_if_asked`.
    """
    before: dict[int, Any] = {}
    report = sys.unraisablehook
    ended = threading.Event()

    def send_again() -> None:
        if not ended.wait(AGAIN):
            os.kill(os.getpid(), _received[0])

    def notice(lost: Any) -> None:
        if not _received:
            report(lost)
        elif lost.exc_type in {KeyboardInterrupt, SystemExit}:
            threading.Thread(target=send_again, daemon=True).start()

    try:
        for name in NAMES:
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) in {signal.SIG_DFL, signal.default_int_handler}:
                before[number] = signal.signal(number, _end)
        sys.unraisablehook = notice
    except ValueError:  # not on the main thread
        pass
    try:
        yield
    finally:
        ended.set()
        sys.unraisablehook = report
        for number, handler in before.items():
            signal.signal(number, handler)
        _received.clear()
