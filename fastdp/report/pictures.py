"""Maps as pictures inside a page: PNG files in the address of the image, made without any library."""

from __future__ import annotations

import base64
import struct
import zlib
from dataclasses import dataclass
from html import escape

import numpy as np

from fastdp.locations.grid import Grid
from fastdp.plane import Plane
from fastdp.units.lengths import METRES

STOPS = ((255, 255, 255), (254, 240, 200), (253, 204, 138), (252, 141, 89), (215, 48, 31), (127, 0, 0), (50, 0, 10))
"""Colours from nothing to the most, evenly apart."""
SMALLEST = 320
"""Dots of a picture's longer side, at least: cells are drawn as squares of several dots."""


@dataclass(frozen=True, slots=True)
class Frame:
    """Where a map lies: its corners in words, and a length as a part of its width."""

    north_east: str
    south_west: str
    length: str
    part: float

    @classmethod
    def of(cls, grid: Grid) -> Frame:
        """Of a grid, in degrees where it is on the globe.

        >>> Frame.of(Grid(x=(0, 4000), y=(0, 3000), cell=500))
        Frame(north_east='4000, 3000 m', south_west='0, 0 m', length='1000 m', part=0.25)
        """
        (west, east), (south, north) = grid.bounds
        if grid.origin is None:
            corners = [f"{east:.6g}, {north:.6g} {grid.unit}", f"{west:.6g}, {south:.6g} {grid.unit}"]
        else:
            ends = np.array([[east, west], [north, south]]) * METRES[grid.unit]
            latitude, longitude = Plane("Grid", *grid.origin).unproject(*ends)
            corners = [f"{a:.4f}°, {b:.4f}°" for a, b in zip(latitude, longitude, strict=True)]
        length = _round_length((east - west) / 3)
        return cls(corners[0], corners[1], f"{length:g} {grid.unit}", length / (east - west))


def _round_length(most: float) -> float:
    """The largest of 1, 2 or 5 times a power of ten that is not above ``most``."""
    power = 10.0 ** np.floor(np.log10(most))
    return float(next(step * power for step in (5, 2, 1) if step * power <= most * (1 + 1e-12)))


def map_figure(shares: np.ndarray | None, top: float, name: str, about: str, frame: Frame) -> str:
    """A map with its corners, a bar for its scale, and the share of the cell under the pointer (`HOVER`)."""
    caption = f"<figcaption><b>{escape(name)}</b>{escape(about)}</figcaption>"
    if shares is None:
        return f'<figure><div class="none">none</div>{caption}</figure>'
    cells = " ".join(f"{100 * share:.3g}" for share in shares.ravel().tolist())
    return (
        f'<figure class="map" data-columns="{shares.shape[1]}" data-rows="{shares.shape[0]}" data-cells="{cells}">'
        f'<div class="edge"><span></span><span>{escape(frame.north_east)}</span></div>'
        f'<img src="{map_address(shares, top)}" alt="map: {escape(name, quote=True)}">'
        f'<div class="edge"><span>{escape(frame.south_west)}</span>'
        f'<b style="width: {100 * frame.part:.2f}%">{escape(frame.length)}</b></div>'
        f"<output></output>{caption}</figure>"
    )


HOVER = """
for (const map of document.querySelectorAll("figure.map")) {
  const image = map.querySelector("img"), said = map.querySelector("output");
  const cells = map.dataset.cells.split(" "), columns = +map.dataset.columns, rows = +map.dataset.rows;
  image.addEventListener("pointermove", event => {
    const box = image.getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left) / box.width * columns);
    const row = Math.floor((event.clientY - box.top) / box.height * rows);
    if (column >= 0 && row >= 0 && column < columns && row < rows)
      said.textContent = `row ${row + 1}, column ${column + 1}: ${cells[row * columns + column]} %`;
  });
  image.addEventListener("pointerleave", () => { said.textContent = ""; });
}
"""
"""The script of pages with maps; it sends nothing anywhere."""


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
