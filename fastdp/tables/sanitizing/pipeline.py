"""Reader, kernels and writer, each on its own thread, with a few batches between them."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator
from typing import Any

DEPTH = 1
"""Batches that wait between two stages: enough to overlap them, few enough to bound memory."""
_END = object()


class _Stopped(Exception):  # noqa: N818
    """Another stage has failed; its error is the one to raise."""


class Pipeline:
    """Runs ``work`` on what a reader yields and gives the results to ``write``, in order.

    The first error of any stage stops all three, and is raised when they have ended.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._stopped = False
        self._failure: BaseException | None = None
        self._seconds = {"read": 0.0, "work": 0.0, "write": 0.0}

    def __str__(self) -> str:
        """The seconds that each stage took, without waiting for the others."""
        return "read {read:.2f}, work {work:.2f}, write {write:.2f}".format_map(self._seconds)

    def run(
        self,
        items: Iterator[Any],
        work: Callable[[Any], Any],
        write: Callable[[Any], None],
        cancel: Callable[[], None] | None = None,
    ) -> None:
        """All items; ``cancel`` wakes a reader that waits, when the others have stopped."""
        inbox: deque[Any] = deque()
        outbox: deque[Any] = deque()

        def read() -> None:
            while True:
                began = time.perf_counter()
                item = next(items, _END)
                self._seconds["read"] += time.perf_counter() - began
                self._put(inbox, item)
                if item is _END:
                    return

        def drain() -> None:
            while (item := self._get(outbox)) is not _END:
                began = time.perf_counter()
                write(item)
                self._seconds["write"] += time.perf_counter() - began

        reader = threading.Thread(target=self._guarded, args=(read,), daemon=True)
        writer = threading.Thread(target=self._guarded, args=(drain,), daemon=True)
        complete = False
        try:
            reader.start()
            writer.start()
            while (item := self._get(inbox)) is not _END:
                began = time.perf_counter()
                item = work(item)
                self._seconds["work"] += time.perf_counter() - began
                self._put(outbox, item)
                item = None  # not held while waiting for the next
            self._put(outbox, _END)
            writer.join()
            complete = True
        except _Stopped:
            pass
        finally:
            if not complete:
                self._halt()
            if self._stopped and cancel is not None:
                cancel()
            for thread in (reader, writer):
                if thread.is_alive():  # one that an interrupt kept from starting ends as soon as it starts
                    thread.join()
            if isinstance(items, Generator):
                items.close()
        if self._failure is not None:
            raise self._failure

    def _guarded(self, task: Callable[[], None]) -> None:
        try:
            if not self._stopped:
                task()
        except _Stopped:
            pass
        except BaseException as error:  # noqa: BLE001 - raised again on the caller's thread
            self._failure = self._failure or error
            self._halt()

    def _halt(self) -> None:
        """Stop all stages, those too that wait for an item or for room."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def _put(self, line: deque[Any], item: Any) -> None:
        with self._changed:
            while not self._stopped and len(line) >= DEPTH:
                self._changed.wait()
            if self._stopped:
                raise _Stopped
            line.append(item)
            self._changed.notify_all()

    def _get(self, line: deque[Any]) -> Any:
        with self._changed:
            while not self._stopped and not line:
                self._changed.wait()
            if self._stopped:
                raise _Stopped
            self._changed.notify_all()
            return line.popleft()
