"""Tags: what was sanitized at which place, as fingerprints under the job's key; they merge over tasks and attempts."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from fastdp.errors import InputChangedError, InputCorruptError
from fastdp.random.job import Place

TAG_BYTES = 16


@dataclass(frozen=True, slots=True)
class Tag:
    """One content of one place: its rows and chunks, and the fold of the chunks' tags."""

    place: Place
    rows: int
    chunks: int
    fold: bytes

    def to_list(self) -> list[Any]:
        """As JSON has it."""
        return [*self.place, self.rows, self.chunks, self.fold.hex()]

    @classmethod
    def from_list(cls, given: list[Any]) -> Tag:
        """What `to_list` gave."""
        try:
            file, group, rows, chunks, fold = given
            return cls((int(file), int(group)), int(rows), int(chunks), bytes.fromhex(fold))
        except (ValueError, TypeError):
            raise InputCorruptError("sanitize: a task's tag is not readable") from None


class Tags:
    """The tags of all places so far; the same task run again adds nothing.

    Another content of a place is a change of the input, which no receipt may cover, unless the place holds another
    number of rows: then the table was dealt to places anew, which draws anew and is counted.
    """

    __slots__ = ("_found", "_open")

    def __init__(self, tags: Iterable[Tag] = ()) -> None:
        self._found: dict[Place, dict[int, Tag]] = {}
        self._open: dict[Place, tuple[int, int, Any]] = {}
        for tag in tags:
            self.add(tag)

    def add(self, tag: Tag) -> None:
        """Take the tag of a place that is complete."""
        known = self._found.setdefault(tag.place, {}).setdefault(tag.rows, tag)
        if known != tag:
            raise InputChangedError(
                f"sanitize: the rows at place {tag.place} changed while the job ran, so that parts of two tables would "
                "be released; write the input to files that nobody changes, and start anew"
            )

    def add_chunk(self, place: Place, rows: int, tag: bytes) -> None:
        """Take the next chunk of a place that is being read."""
        seen, chunks, fold = self._open.get(place) or (0, 0, hashlib.blake2b(digest_size=TAG_BYTES))
        fold.update(tag)
        self._open[place] = (seen + rows, chunks + 1, fold)

    def close(self) -> None:
        """Complete the places that are being read."""
        opened, self._open = self._open, {}
        for place, (rows, chunks, fold) in opened.items():
            self.add(Tag(place, rows, chunks, fold.digest()))

    def __add__(self, other: Tags) -> Tags:
        return Tags([*self, *other])

    def __iter__(self) -> Iterator[Tag]:
        return iter([variants[rows] for _, variants in sorted(self._found.items()) for rows in sorted(variants)])

    def __len__(self) -> int:
        return len(self._found)

    @property
    def versions(self) -> int:
        """How many independent draws of one row there are at the most: 1 unless places were dealt anew."""
        return 1 + sum(map(len, self._found.values())) - len(self._found)

    @property
    def rows(self) -> int:
        """The rows that were read, where places were not dealt anew."""
        return sum(tag.rows for tag in self)

    @property
    def root(self) -> str:
        """One fingerprint of them all."""
        found = hashlib.blake2b(digest_size=32, person=b"fastdp tags")
        for tag in self:
            found.update(struct.pack("<qqqq", *tag.place, tag.rows, tag.chunks) + tag.fold)
        return found.hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """As a receipt states them: not how many places there are, for files may be cut by the size of their values."""
        return {"versions": self.versions, "root": self.root}
