"""Rng: a 256-bit key, the generator that it is for, and a counter of slots.

Every record that is randomized takes the next slot of its Rng, and reads only the keystream words of that slot (see
``kernels.stream.words``). Slots are handed out under a lock and never twice, so neither threads, nor batches, nor
processes forked from this one ever see the same noise.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import threading
import weakref
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from fastdp.errors import ParameterError, UnsafeRngError
from fastdp.random.generator import CHACHA, key_words, process_generator, read_generator

if TYPE_CHECKING:
    import numpy as np

KEY_BYTES = 32
SLOTS = 1 << 62


class Slots(NamedTuple):
    """A range of slots that belongs to one call: the key as words of its generator, and the first slot."""

    key: np.ndarray
    start: np.uint64


class Rng:
    """A cryptographic stream of noise, keyed with 256 bits from the operating system.

    >>> Rng()
    Rng(keyed by the operating system)
    >>> Rng.unsafe_seed(7).child("ages")
    Rng.unsafe_seed(7).child('ages')

    It cannot be copied or pickled, for a copy would repeat its noise: give each worker a ``child``.

    Its keystream is AES-256 in counter mode where the CPU has vector AES, else ChaCha20, with the same guarantees;
    ``generator`` says which. The environment variable FASTDP_GENERATOR names one of them for the process.
    """

    __slots__ = (
        "__weakref__", "_busy", "_children", "_generator", "_key", "_lock", "_name", "_next", "_pid", "_seeded",
        "_words",
    )  # fmt: skip

    def __init__(self) -> None:
        self._set_up(secrets.token_bytes(KEY_BYTES), "Rng(keyed by the operating system)", seeded=False, generator=None)

    def _set_up(self, key: bytes, name: str, *, seeded: bool, generator: str | None) -> None:
        self._key = key
        self._words: np.ndarray | None = None
        self._name = name
        self._seeded = seeded
        self._generator = generator  # None is the process's, which is settled on first use: it loads the compiled core
        self._next = 0
        self._children: dict[bytes, Rng] = {}
        self._lock = threading.RLock()  # a handler that interrupts this thread must get an error, not wait for ever
        self._busy = False
        self._pid = os.getpid()
        _living.add(self)

    @classmethod
    def _keyed(cls, key: bytes, name: str, *, seeded: bool, generator: str | None) -> Rng:
        rng = cls.__new__(cls)
        rng._set_up(key, name, seeded=seeded, generator=generator)
        return rng

    @classmethod
    def unsafe_seed(cls, seed: int, *, generator: str = CHACHA) -> Rng:
        """A reproducible stream for tests and benchmarks; anyone who knows the seed can remove the noise.

        With ``"chacha20"`` the draws are the same on every machine; ``"aes-256-ctr"`` needs a CPU with vector AES.

        Parameters
        ----------
        seed
            The seed, an integer.
        generator
            ``"chacha20"`` or ``"aes-256-ctr"``.

        >>> Rng.unsafe_seed(7).generator
        'chacha20'
        """
        if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
            raise ParameterError(f"Rng.unsafe_seed: seed must be an integer >= 0, got {seed!r}")
        key = hashlib.blake2b(str(seed).encode(), digest_size=KEY_BYTES, person=b"fastdp unsafe").digest()
        chosen = read_generator("Rng.unsafe_seed: generator", generator)
        name = f"{seed}" if chosen == CHACHA else f"{seed}, generator={chosen!r}"
        return cls._keyed(key, f"Rng.unsafe_seed({name})", seeded=True, generator=chosen)

    @property
    def generator(self) -> str:
        """The cipher of its keystream, ``"aes-256-ctr"`` or ``"chacha20"``; children and forked processes keep it."""
        return self._generator or process_generator()

    @property
    def is_unsafe(self) -> bool:
        """Whether this stream comes from a fixed seed."""
        return self._seeded

    def child(self, label: int | str | bytes) -> Rng:
        """The independent stream of that label; the same label gives the same object, so its noise never repeats.

        Children are remembered as long as their parent lives, for the same reason.

        Parameters
        ----------
        label
            The name of the child; the same label gives the same stream.
        """
        if isinstance(label, bool) or not isinstance(label, int | str | bytes):
            raise ParameterError(f"Rng.child: label must be an int, str or bytes, got {type(label).__name__}")
        tagged = label if isinstance(label, bytes) else str(label).encode("utf-8", "surrogatepass")
        tagged = type(label).__name__.encode() + b":" + tagged
        with self._lock:
            if self._pid != os.getpid():
                self._rekey_after_fork()
            if tagged not in self._children:
                key = hashlib.blake2b(tagged, digest_size=KEY_BYTES, key=self._key, person=b"fastdp child").digest()
                made = Rng.__new__(Rng)
                made._set_up(key, f"{self._name}.child({label!r})", seeded=self._seeded, generator=self._generator)
                self._children[tagged] = made
            return self._children[tagged]

    def reserve(self, count: int) -> Slots:
        """Take the next ``count`` slots; no other call of any thread or process gets them."""
        import numpy as np

        generator = self._generator or process_generator()
        with self._lock:
            if self._busy:
                raise UnsafeRngError("Rng: drawn from inside its own bookkeeping, by a signal handler; give it its own")
            self._busy = True
            try:
                if self._pid != os.getpid():
                    self._rekey_after_fork()
                start = self._next
                if start + count > SLOTS:
                    raise UnsafeRngError("Rng: this key has no slots left; use a child")
                self._next = start + count
                if self._words is None:
                    self._words = key_words(generator, self._key)
                words = self._words.copy()
            finally:
                self._busy = False
        return Slots(words, np.uint64(start))

    def _rekey_after_fork(self) -> None:
        """In a forked process, leave the parent's key: its slots are the parent's to use."""
        fresh = secrets.token_bytes(KEY_BYTES)
        self._key = hashlib.blake2b(fresh, digest_size=KEY_BYTES, key=self._key, person=b"fastdp fork").digest()
        self._words = None
        self._name += " rekeyed after a fork"
        self._next = 0
        self._children = {}
        self._pid = os.getpid()

    def __repr__(self) -> str:
        return self._name

    def _refuse(self, *_: object) -> NoReturn:
        raise UnsafeRngError("Rng: a copy would repeat its noise; give each worker rng.child(label) instead")

    __copy__ = __deepcopy__ = __reduce__ = __reduce_ex__ = __getstate__ = _refuse


_living: weakref.WeakSet[Rng] = weakref.WeakSet()
_default: Rng | None = None
_default_lock = threading.RLock()


def default_rng() -> Rng:
    """The process's own stream, used where no ``rng`` is given."""
    global _default
    with _default_lock:
        if _default is None:
            _default = Rng()
        return _default


def _after_fork() -> None:
    """Mark every stream as the parent's, so that its key changes on first use here.

    The process id alone could be fooled by a grandchild that gets the number of a process long gone. Locks that other
    threads held at the fork would stay locked for ever: make them anew.
    """
    global _default_lock
    _default_lock = threading.RLock()
    for rng in list(_living):
        rng._lock = threading.RLock()
        rng._busy = False
        rng._pid = -1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def resolve(owner: str, rng: Rng | None) -> Rng:
    """The given stream, or the process's own."""
    if rng is None:
        return default_rng()
    if not isinstance(rng, Rng):
        raise ParameterError(f"{owner}: rng must be a fastdp.Rng or None, got {type(rng).__name__}")
    return rng
