"""What a person sees besides the data: a progress bar, notes on standard error, bars that fit the window."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import IO, Any

from fastdp.cli.terminal.signals import end_if_asked

LIVE: list[Any] = []
"""What is being redrawn on the terminal; only the last is shown."""
PLAIN = (1e-4, 1e15)
"""Sizes of numbers that are read without an exponent."""
Update = Callable[[int, int | None], None]
"""``update(rows done, rows in all)``"""


@contextmanager
def progress(*, quiet: bool, doing: str = "") -> Iterator[Update]:
    """What is done, rows, rate and time left, on a terminal; each update ends the command if a signal asked for it."""
    if quiet or not sys.stderr.isatty():
        yield end_if_asked
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Any:
            return f"{(task.speed or 0) / 1e6:.1f} M/s" if task.completed else ""

    bar = (TextColumn("{task.description}"), BarColumn(), Rate(), TimeRemainingColumn())
    with alone(Progress(*bar, console=Console(stderr=True), transient=True)) as shown:
        task = shown.add_task(f"{doing} records".lstrip(), total=None)

        def update(done: int, total: int | None) -> None:
            end_if_asked()
            progress_text = f"{done:,}" if total is None else f"{done:,} of {total:,}"
            shown.update(task, completed=done, total=total, description=f"{doing} {progress_text} records".lstrip())

        yield update


@contextmanager
def alone(shown: Any) -> Iterator[Any]:
    """Something of rich's that is redrawn, the only one on the terminal while it is."""
    for other in LIVE:
        other.stop()
    LIVE.append(shown)
    try:
        with shown:
            yield shown
    finally:
        LIVE.remove(shown)


def has_colour(stream: IO[str]) -> bool:
    """Whether to colour what goes there: a terminal that is not dumb, where NO_COLOR is not set."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def draws_blocks(stream: IO[str]) -> bool:
    """Whether the stream can show block characters."""
    try:
        "█░▏".encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def draw_bar(part: float, reach: float, width: int, *, blocks: bool) -> str:
    """A bar of ``part`` of the width, to an eighth of a character, with what it may still ``reach`` in a paler one.

    >>> draw_bar(0.5, 0.75, 8, blocks=True)
    '████░░'
    >>> draw_bar(0.5, 0.75, 8, blocks=False)
    '####..'
    """
    part, reach = (min(max(share, 0.0), 1.0) for share in (part, reach))
    full, pale = ("█", "░") if blocks else ("#", ".")
    eighths = round(part * width * 8) if blocks else 8 * round(part * width)
    whole, rest = divmod(eighths, 8)
    bar = full * whole + ("▏▎▍▌▋▊▉"[rest - 1] if rest else "")
    return bar + pale * (round(reach * width) - len(bar))


def in_digits(number: float) -> str:
    """A number with four digits that count, in thousands, without an exponent where that can be read.

    >>> in_digits(47617.3), in_digits(0.33727), in_digits(-2.0), in_digits(3e-9)
    ('47,617', '0.3373', '-2.000', '3e-09')
    """
    size = abs(number)
    if size and not PLAIN[0] <= size < PLAIN[1]:  # also where it is not finite
        return f"{number:.4g}"
    decimals = 4 if size < 1 else max(0, 4 - len(str(int(size))))
    return f"{number:,.{decimals}f}"


def in_digits_together(numbers: Iterable[float]) -> Callable[[float], str]:
    """`in_digits` for numbers that stand side by side: tiny ones among plain ones are shown as nothing.

    >>> show = in_digits_together([-0.00003, 1.25])
    >>> show(-0.00003), show(1.25), in_digits_together([3e-9])(3e-9)
    ('0.0000', '1.250', '3e-09')
    """
    plain = any(PLAIN[0] <= abs(number) < PLAIN[1] for number in numbers)
    return lambda number: in_digits(0.0 if plain and abs(number) < PLAIN[0] else number)


@contextmanager
def spoken() -> Iterator[None]:
    """What the stages report, on standard error."""
    import logging

    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(relativeCreated)8.0f ms  %(message)s"))
    log = logging.getLogger("fastdp")
    before = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(before)
