"""JobKey: the secret of one release, from which every task of every engine derives the same noise for the same rows.

Noise that is drawn afresh whenever a task runs again gives two noisy versions of one person; noise that depends on the
place of a row alone gives, when the rows are dealt to tasks otherwise, the difference of two people's values. So the
key of each stream is derived from the place and from a digest of what is there: the same rows at the same place get the
same noise, any others get independent noise. This is the synthetic initial value of misuse-resistant encryption
[Rogaway, Shrimpton 2006], for noise.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
import struct
from pathlib import Path
from typing import Any, NoReturn, Self

from fastdp.errors import OutputExistsError, ParameterError, UnsafeRngError
from fastdp.random.generator import CHACHA, process_generator, read_generator
from fastdp.random.rng import KEY_BYTES, Rng

Place = tuple[int, int]
"""Where rows are, whatever runs: the number of the file or partition, and of the row group in it."""
HEADER = "fastdp job key 1"


class JobKey:
    """The secret key of one release of one snapshot of a table, under one plan.

    With it `sanitize` gives the same bytes again, on one machine and on every engine, as long as rows lie in the same
    places: files and row groups, or partitions. A key is for one plan and one snapshot: equal parts of two releases
    under one key would tell that nobody in them changed.

    Parameters
    ----------
    generator
        The cipher of its streams: by default ChaCha20, which every machine of a cluster runs.

    >>> key = JobKey()
    >>> len(key.id)
    16
    """

    __slots__ = ("_generator", "_id", "_key", "_seeded")

    def __init__(self, *, generator: str = CHACHA) -> None:
        self._set_up(secrets.token_bytes(KEY_BYTES), read_generator("JobKey: generator", generator), seeded=False)

    def _set_up(self, key: bytes, generator: str, *, seeded: bool) -> None:
        self._key, self._generator, self._seeded = key, generator, seeded
        self._id = self.digest(b"id")[:8].hex()

    @classmethod
    def _of(cls, key: bytes, generator: str, *, seeded: bool) -> Self:
        made = cls.__new__(cls)
        made._set_up(key, generator, seeded=seeded)
        return made

    @classmethod
    def derived(cls, rng: Rng | None) -> Self:
        """A key of the stream's own, another one at every call; from the operating system if there is no stream.

        Parameters
        ----------
        rng
            The stream, whose generator the key keeps.
        """
        if rng is None:
            return cls._of(secrets.token_bytes(KEY_BYTES), process_generator(), seeded=False)
        words, start = rng.child(b"job").reserve(1)
        text = words.tobytes() + struct.pack("<Q", int(start))
        key = hashlib.blake2b(text, digest_size=KEY_BYTES, person=b"fastdp job").digest()
        return cls._of(key, rng.generator, seeded=rng.is_unsafe)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The key that `save` wrote; refused if others than its owner may read the file.

        Parameters
        ----------
        path
            The file.
        """
        file = Path(path)
        if hasattr(os, "getuid") and stat.S_IMODE(file.stat().st_mode) & 0o077:
            raise ParameterError(f"JobKey.load: others may read {str(file)!r}, so the key is no secret; chmod 600 it")
        lines = file.read_text("ascii", "replace").split("\n")
        try:
            header, generator, text = lines[:3]
            key = bytes.fromhex(text)
        except ValueError:
            header, generator, key = "", "", b""
        if header != HEADER or len(key) != KEY_BYTES:
            raise ParameterError(f"JobKey.load: {str(file)!r} holds no job key; JobKey.save writes one")
        return cls._of(key, read_generator("JobKey.load: generator", generator), seeded=False)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the key to a new file that only its owner may read. Who has it and a release can undo the noise.

        Parameters
        ----------
        path
            The file, which must not exist.
        """
        if self._seeded:
            raise UnsafeRngError("JobKey.save: a key from a fixed seed is no secret; make one with JobKey()")
        try:
            number = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        except FileExistsError:
            raise OutputExistsError(f"JobKey.save: {str(path)!r} exists; a key is never overwritten") from None
        with os.fdopen(number, "w", encoding="ascii") as file:
            file.write(f"{HEADER}\n{self._generator}\n{self._key.hex()}\n")
            file.flush()
            os.fsync(file.fileno())

    @property
    def id(self) -> str:
        """Its public name, of 16 digits, which tells nothing about it."""
        return self._id

    @property
    def generator(self) -> str:
        """The cipher of its streams."""
        return self._generator

    @property
    def is_unsafe(self) -> bool:
        """Whether it comes from a fixed seed."""
        return self._seeded

    def rng(self, context: bytes, place: Place, content: bytes) -> Rng:
        """The stream for one content at one place; the same three give the same stream, any others an independent one.

        Parameters
        ----------
        context
            A digest of the plan and of what draws the noise.
        place
            The number of the file or partition, and of the row group.
        content
            A keyed digest of the rows.
        """
        key = self.digest(b"task", context, struct.pack("<qq", *place), content)
        rng = Rng.__new__(Rng)
        rng._set_up(key, f"JobKey({self._id}).rng", seeded=self._seeded, generator=self._generator)
        return rng

    def digest(self, purpose: bytes, *parts: bytes) -> bytes:
        """32 pseudorandom bytes for a purpose and any parts, of which none can pass for another.

        Parameters
        ----------
        purpose
            At most 16 bytes that name what they are for.
        parts
            What they depend on.
        """
        found = hashlib.blake2b(digest_size=KEY_BYTES, key=self._key, person=b"job " + purpose)
        for part in parts:
            found.update(struct.pack("<Q", len(part)))
            found.update(part)
        return found.digest()

    def stretched(self, purpose: bytes, size: int) -> bytes:
        """As many pseudorandom bytes: the digests for a purpose and the numbers 0, 1, 2, ..., one after another.

        Parameters
        ----------
        purpose
            At most 16 bytes that name what they are for.
        size
            The number of bytes.
        """
        common = hashlib.blake2b(struct.pack("<Q", 8), digest_size=KEY_BYTES, key=self._key, person=b"job " + purpose)
        parts = []
        for number in range(-(-size // KEY_BYTES)):
            part = common.copy()
            part.update(struct.pack("<Q", number))
            parts.append(part.digest())
        return b"".join(parts)[:size]

    def travelling(self) -> TravellingKey:
        """The key as engines carry it to their tasks, inside what they run; for integrations alone."""
        return TravellingKey(self._key, self._generator, seeded=self._seeded)

    def __repr__(self) -> str:
        return f"JobKey({self.id})"

    def _refuse(self, *_: object) -> NoReturn:
        raise UnsafeRngError("JobKey: it is secret, so that it is neither copied nor pickled; save it to a file")

    __copy__ = __deepcopy__ = __reduce__ = __reduce_ex__ = __getstate__ = _refuse


class TravellingKey:
    """A job key on its way to a task: it can be pickled, and neither its repr nor its token tells it."""

    __slots__ = ("_parts",)

    def __init__(self, key: bytes, generator: str, *, seeded: bool) -> None:
        self._parts = (key, generator, seeded)

    def arrive(self) -> JobKey:
        """The key, where the task runs."""
        key, generator, seeded = self._parts
        return JobKey._of(key, read_generator("JobKey: generator", generator), seeded=seeded)

    def __reduce__(self) -> tuple[Any, ...]:
        return _arrived, self._parts

    def __repr__(self) -> str:
        return f"TravellingKey({self.arrive().id})"

    def __dask_tokenize__(self) -> str:
        """What Dask names tasks after: the id, never the key."""
        return self.arrive().id


def _arrived(key: bytes, generator: str, seeded: bool) -> TravellingKey:
    return TravellingKey(key, generator, seeded=seeded)
