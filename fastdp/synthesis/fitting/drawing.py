"""Rows from a model: clique by clique, each given what it shares with its parent, in strata."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np

from fastdp.kernels.synthesis.strata import draw_strata, fill_uniforms
from fastdp.synthesis.fitting.axes import Columns
from fastdp.synthesis.fitting.model import Model

CHUNK = 1 << 18
"""Rows that are drawn together: the shares of cells are exact in each chunk, up to single rows."""


def seed_of(secret: bytes, *names: object) -> np.uint64:
    """A 64-bit seed for one purpose."""
    digest = hashlib.blake2b(repr(names).encode(), key=secret, digest_size=8, person=b"fastdp rows").digest()
    return np.uint64(int.from_bytes(digest, "little"))


def draw_uniforms(secret: bytes, size: int, *names: object) -> np.ndarray:
    """Floats in [0, 1) for one purpose."""
    out = np.empty(size)
    fill_uniforms(seed_of(secret, *names), out)
    return out


class Drawer:
    """Draws chunks of codes; the same secret and number of rows give the same rows."""

    def __init__(self, model: Model) -> None:
        self._sizes = model.tree.sizes
        self._steps = []
        for clique, separator, table in zip(model.tree.cliques, model.tree.separators, model.tables, strict=True):
            rest = tuple(column for column in clique if column not in separator)
            shaped = np.transpose(
                table.reshape([self._sizes[c] for c in clique]), [clique.index(c) for c in (*separator, *rest)]
            )
            width = int(np.prod([self._sizes[c] for c in rest]))
            self._steps.append((separator, rest, np.cumsum(shaped.reshape(-1, width), axis=1)))

    def chunks(self, rows: int, secret: bytes) -> Iterator[np.ndarray]:
        """Codes, one row per column, CHUNK rows at a time."""
        for number, start in enumerate(range(0, rows, CHUNK)):
            yield self._chunk(min(CHUNK, rows - start), secret, number)

    def _chunk(self, rows: int, secret: bytes, number: int) -> np.ndarray:
        codes = np.zeros((len(self._sizes), rows), np.int32)
        cells, order = np.empty(rows, np.int64), np.empty(rows, np.int64)
        for step, (separator, rest, cumulative) in enumerate(self._steps):
            given = self._flat(codes, separator)
            groups = cumulative.shape[0]
            draw_strata(
                given, np.zeros(groups, np.int64), cumulative, seed_of(secret, number, step),
                np.empty(groups + 1, np.int64), order, cells,
            )  # fmt: skip
            left = cells.copy()
            for column in reversed(rest):
                left, codes[column] = np.divmod(left, self._sizes[column])
        return codes

    def _flat(self, codes: np.ndarray, columns: Columns) -> np.ndarray:
        flat = np.zeros(codes.shape[1], np.int64)
        for column in columns:
            flat *= self._sizes[column]
            flat += codes[column]
        return flat
