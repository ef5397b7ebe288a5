"""The library of prebuilt kernels, for tools that are not Python, and why it is used here or not."""

from __future__ import annotations

from pathlib import Path


def library() -> Path | None:
    """The shared library of prebuilt kernels that this process uses; None where kernels are compiled."""
    from fastdp.kernels import native

    return native.library()


def why() -> str:
    """Which code runs, and why, in one line; ``fastdp doctor`` prints it."""
    from fastdp.kernels import native

    return native.chosen().why
