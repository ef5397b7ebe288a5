"""Task: sanitize the rows of a place with noise that is bound to the key, the plan, the place and the rows themselves.

The only place that binds. `fastdp.sanitize` and every engine run through it, so that one key gives the same bytes on
all of them, however often a task is run.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from fastdp.random.job import JobKey, Place
from fastdp.tables.chunks import WHOLE, Chunk, Digester, rechunk
from fastdp.tables.sanitizing.columns import Columns
from fastdp.tables.tags import TAG_BYTES, Tags
from fastdp.threads import for_each

if TYPE_CHECKING:
    import pyarrow as pa

    from fastdp.plans.plan import Plan

FORMAT = 1
"""Of the derivation of streams: another one gives other noise for the same key."""


def context_of(plan: Plan, key: JobKey) -> bytes:
    """A digest of all that noise depends on but the key and the rows: plan, generator and compiled core.

    Without the core for a fixed seed, whose draws are the same as long as the sampler's are.
    """
    from fastdp.kernels.jit import source_digest

    stated = json.dumps(plan.to_dict(), sort_keys=True, ensure_ascii=False, default=str)
    core = "" if key.is_unsafe else source_digest()
    text = "\0".join([str(FORMAT), key.generator, core, stated])
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=32).digest()


class Task:
    """A schema, a plan and a job's key, ready to sanitize any of the job's places.

    >>> import fastdp as fd, pyarrow as pa
    >>> from fastdp.random.job import JobKey
    >>> plan = fd.Plan(columns={"ill": {"mechanism": "randomized_response", "epsilon": 1.0}})
    >>> table, key = pa.table({"ill": [True, False] * 500}), JobKey()
    >>> runs = [list(Task(table.schema, plan, key).run((3, 0), table.to_batches(rows))) for rows in (1000, 7)]
    >>> runs[0] == runs[1]
    True
    """

    def __init__(self, schema: pa.Schema, plan: Plan, key: JobKey, *, owner: str = "sanitize") -> None:
        self._set_up(Columns(schema, plan, owner=owner), key)

    @classmethod
    def of(cls, columns: Columns, key: JobKey) -> Task:
        """The task of columns that were checked before."""
        made = cls.__new__(cls)
        made._set_up(columns, key)  # noqa: SLF001
        return made

    def _set_up(self, columns: Columns, key: JobKey) -> None:
        self.columns, self.key, self.schema = columns, key, columns.schema
        self.tags = Tags()
        self._digester = Digester(key)
        self._context = context_of(columns.plan, key)

    def run(
        self, place: Place = WHOLE, batches: Iterable[pa.RecordBatch] = (), *, copy: bool = True
    ) -> Iterator[pa.RecordBatch]:
        """The rows of a place, sanitized; its tag is among ``tags`` when they have all been taken."""
        for chunks in rechunk(batches, ((place, None),)):
            yield from self.sanitize(chunks, copy=copy)
        self.tags.close()

    def sanitize(self, chunks: list[Chunk], *, copy: bool) -> list[pa.RecordBatch]:
        """Chunks that follow one another, on several threads where there are several."""
        made: list[pa.RecordBatch] = [None] * len(chunks)
        tags = [b""] * len(chunks)

        def work(i: int) -> None:
            place, number, rows = chunks[i]
            counted = struct.pack("<Q", number) + self._digester.digest(rows, self.columns.randomized)
            made[i] = self.columns.randomize(rows, self.key.rng(self._context, place, counted), copy=copy)
            tags[i] = self.key.digest(b"tag", struct.pack("<qq", *place), counted)[:TAG_BYTES]

        for_each(len(chunks), work)
        for (place, _, rows), tag in zip(chunks, tags, strict=True):
            self.tags.add_chunk(place, rows.num_rows, tag)
        return made

    def note(self, chunks: list[Chunk]) -> None:
        """Take chunks into the tags without drawing anything."""
        for place, number, rows in chunks:
            counted = struct.pack("<Q", number) + self._digester.digest(rows, self.columns.randomized)
            tag = self.key.digest(b"tag", struct.pack("<qq", *place), counted)[:TAG_BYTES]
            self.tags.add_chunk(place, rows.num_rows, tag)

    @property
    def root(self) -> str:
        """A fingerprint of the places so far and of all else that the noise depends on; the tags must be closed."""
        self.tags.close()
        return self.key.digest(b"root", self._context, self.tags.root.encode()).hex()
