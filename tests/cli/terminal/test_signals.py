"""An interrupt is never lost, whatever code it comes upon."""

import ctypes
import os
import signal
import sys
import threading

import pytest

from fastdp.cli.terminal.signals import end_if_asked, ended_by_signals
from tests.patience import PATIENCE

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no such signals here")


def interrupt_a_callback(number: int) -> None:
    """Send a signal whose exception C code loses, as libraries do that call back."""

    def called() -> None:
        os.kill(os.getpid(), number)
        for _ in range(1000):  # the handler runs between two instructions
            pass

    ctypes.CFUNCTYPE(None)(called)()


@pytest.mark.parametrize(("number", "expected"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit)])
def test_lost_in_a_callback__comes_again(number, expected):
    def wait() -> None:
        with ended_by_signals():
            interrupt_a_callback(number)
            threading.Event().wait(PATIENCE)

    with pytest.raises(expected):
        wait()


def test_swallowed__is_noticed_between_batches():
    with ended_by_signals():
        try:
            os.kill(os.getpid(), signal.SIGINT)
            threading.Event().wait(PATIENCE)
        except KeyboardInterrupt:
            pass
        with pytest.raises(KeyboardInterrupt):
            end_if_asked()
    end_if_asked()


def test_afterwards__handlers_are_as_before():
    before, hook = signal.getsignal(signal.SIGINT), sys.unraisablehook
    with ended_by_signals():
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before
    assert sys.unraisablehook is hook
