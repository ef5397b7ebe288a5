"""Maps as pictures inside a page: PNG files in the address of the image, made without any library."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np

STOPS = ((255, 255, 255), (254, 240, 200), (253, 204, 138), (252, 141, 89), (215, 48, 31), (127, 0, 0), (50, 0, 10))
"""Colours from nothing to the most, evenly apart."""
SMALLEST = 320
"""Dots of a picture's longer side, at least: cells are drawn as squares of several dots."""


def colours(shares: np.ndarray, top: float) -> np.ndarray:
    """Red, green and blue of each cell; by the square root of its part of ``top``, so that small ones show."""
    part = np.sqrt(np.clip(shares / top if top > 0 else shares * 0.0, 0.0, 1.0)) * (len(STOPS) - 1)
    places, stops = np.arange(len(STOPS)), np.array(STOPS, np.float64)
    return np.stack([np.interp(part, places, stops[:, k]) for k in range(3)], axis=-1).round().astype(np.uint8)


def map_address(shares: np.ndarray, top: float) -> str:
    """The map as an image's address; cells above ``top`` all look alike."""
    times = max(1, SMALLEST // max(shares.shape))
    return png_address(np.repeat(np.repeat(colours(shares, top), times, axis=0), times, axis=1))


def scale_address() -> str:
    """All colours from left to right, as they stand for equal steps of a cell's part."""
    return png_address(np.repeat(colours(np.linspace(0, 1, 256)[None, :], 1.0), 12, axis=0))


def png_address(pixels: np.ndarray) -> str:
    """Rows of red, green and blue bytes as the address of a PNG image."""
    rows, columns, _ = pixels.shape
    lines = np.zeros((rows, 1 + 3 * columns), np.uint8)  # each line begins with 0: no filter
    lines[:, 1:] = pixels.reshape(rows, -1)
    header = struct.pack(">IIBBBBB", columns, rows, 8, 2, 0, 0, 0)
    parts = (b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes(), 9)), (b"IEND", b"")
    file = b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*part) for part in parts)
    return "data:image/png;base64," + base64.b64encode(file).decode()


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
