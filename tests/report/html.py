"""Reading pages back: what they refer to, and what their pictures show."""

from __future__ import annotations

import base64
import struct
import zlib
from html.parser import HTMLParser

import numba
import numpy as np

ADDRESSES = {"src", "href", "srcset", "data", "action", "poster", "background", "xlink:href", "formaction"}


class Page(HTMLParser):
    """All tags, addresses and words of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.pictures: list[tuple[str, str]] = []
        self.words: list[str] = []
        self.styles: list[str] = []
        self._open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.tags.append(tag)
        self.addresses += [value for name, value in attributes if name in ADDRESSES]
        self.styles += [value for name, value in attributes if name == "style"]
        if tag == "img":
            self.pictures.append((given["alt"], given["src"]))
        self._open.append(tag)

    def handle_endtag(self, tag):
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data):
        (self.styles if self._open and self._open[-1] == "style" else self.words).append(data)

    @property
    def text(self) -> str:
        return " ".join(self.words)


def read_address(address: str) -> np.ndarray:
    """The dots of an image in its own address."""
    kind, content = address.split(",", 1)
    assert kind == "data:image/png;base64"
    return read_png(base64.b64decode(content, validate=True))


def read_png(file: bytes) -> np.ndarray:
    """Red, green and blue of the dots of a PNG file of 8 bits a colour."""
    assert file[:8] == b"\x89PNG\r\n\x1a\n"
    place, data, header = 8, b"", b""
    while place < len(file):
        (length,) = struct.unpack(">I", file[place : place + 4])
        kind, content = file[place + 4 : place + 8], file[place + 8 : place + 8 + length]
        (check,) = struct.unpack(">I", file[place + 8 + length : place + 12 + length])
        assert check == zlib.crc32(kind + content)
        header = content if kind == b"IHDR" else header
        data += content if kind == b"IDAT" else b""
        place += 12 + length
    columns, rows, depth, colour, *rest = struct.unpack(">IIBBBBB", header)
    assert (depth, rest) == (8, [0, 0, 0])
    width = {2: 3, 6: 4}[colour]
    lines = np.frombuffer(zlib.decompress(data), np.uint8).reshape(rows, 1 + width * columns)
    dots = np.zeros((rows + 1, width * (columns + 1)), np.uint8)  # with a line above and a dot to the left
    unfilter(lines, width, dots)
    return dots[1:, width:].reshape(rows, columns, width)[:, :, :3].copy()


@numba.njit
def unfilter(lines, width, out):
    """The bytes of each line, from what their guesses by the dot to the left and the line above left to say."""
    for i in range(lines.shape[0]):
        kind = lines[i, 0]
        for j in range(1, lines.shape[1]):
            at = j - 1 + width
            left, up, corner = np.int64(out[i + 1, at - width]), np.int64(out[i, at]), np.int64(out[i, at - width])
            guess = np.int64(0)
            if kind == 1:
                guess = left
            elif kind == 2:
                guess = up
            elif kind == 3:
                guess = (left + up) // 2
            elif kind == 4:
                to_left, to_up, to_corner = abs(up - corner), abs(left - corner), abs(left + up - 2 * corner)
                guess = corner
                if to_left <= to_up and to_left <= to_corner:
                    guess = left
                elif to_up <= to_corner:
                    guess = up
            out[i + 1, at] = np.uint8((np.int64(lines[i, j]) + guess) % 256)
