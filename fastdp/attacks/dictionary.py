"""The dictionary attack: unkeyed pseudonyms are undone by hashing everything they could stand for.

As with the licences of New York's taxis, of which there are 22 million, hashed with MD5. [Pandurangan 2014]
"""

from __future__ import annotations

import hashlib
import itertools
import string
from collections.abc import Callable, Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fastdp.attacks.attack import Attack
from fastdp.columns.arrow import decode
from fastdp.errors import ParameterError, SchemaError
from fastdp.typing import Column

OWNER = "attacks.dictionary"
DEFENCE = "keyed pseudonyms (HMAC with a secret key), or random ones; and even those link rows of one person"
SETS = {"9": string.digits, "A": string.ascii_uppercase, "a": string.ascii_lowercase}
MOST = 50_000_000
BATCH = 1 << 18
HASHES = ("md5", "sha1", "sha224", "sha256", "sha384", "sha512", "blake2b", "blake2s", "sha3_256")


def dictionary(
    pseudonyms: Column | Callable[[pa.Array], Column], candidates: str | Iterable[str], *,
    algorithm: str | Callable[[bytes], str] = "md5", truth: Column | None = None, records: Column | None = None,
) -> Attack:  # fmt: skip
    """The share of pseudonyms that the hashes of all candidates undo.

    Parameters
    ----------
    pseudonyms
        A column of hashes, as hexadecimal text; or a callable that takes the true texts and returns their pseudonyms.
    candidates
        All that could have been hashed, or a pattern of it in which 9, A and a stand for a digit, a capital and a small
        letter: "9A99" has 26,000 values. At most 50 million.
    algorithm
        The name of the hash, such as "md5" or "sha256"; or a callable from bytes to text.
    truth
        For each row the hash of what is true of it; a row that is undone then counts only if it is that.
    records
        The true texts, for a callable; its ``truth`` is their hashes by default.

    >>> import hashlib
    >>> hidden = [hashlib.md5(text.encode()).hexdigest() for text in ("5X55", "7B12")]
    >>> dictionary(hidden, "9A99").success
    1.0
    """
    digest = _hash(algorithm)
    if callable(pseudonyms):
        if records is None:
            raise ParameterError(f"{OWNER}: a callable release needs records, the true texts that it is given")
        texts = pa.chunked_array(_texts(records), pa.string()).combine_chunks()
        truth = [digest(str(text).encode()) for text in texts.to_pylist()] if truth is None else truth
        pseudonyms = pseudonyms(texts)
    column = pa.chunked_array(_texts(pseudonyms))
    if not len(column):
        raise ParameterError(f"{OWNER}: there are no pseudonyms")
    own = None if truth is None else pa.chunked_array(_texts(truth))
    if own is not None and len(own) != len(column):
        raise SchemaError(f"{OWNER}: truth must be one hash for each pseudonym")
    wanted = pc.unique(pc.utf8_lower(column))
    found, tried = np.zeros(len(wanted), bool), 0
    every = iter(expand(candidates) if isinstance(candidates, str) else candidates)
    while batch := list(itertools.islice(every, BATCH)):
        tried += len(batch)
        if tried > MOST:
            raise ParameterError(f"{OWNER}: more than {MOST:,} candidates; give fewer")
        hashes = pa.array([digest(text.encode()) for text in batch])
        places = pc.index_in(hashes, value_set=wanted).drop_null()
        found[np.asarray(places)] = True
    known = pc.is_in(pc.utf8_lower(column), value_set=wanted.filter(pa.array(found)))
    if own is not None:
        known = pc.and_(known, pc.equal(pc.utf8_lower(column), pc.utf8_lower(own)))
    success = float(np.asarray(known).mean())
    details = {"candidates": tried, "distinct": len(wanted), "undone": int(found.sum())}
    return Attack(
        "dictionary", "rows undone", success, None, 0.0, len(column), "all of them if the hash has no key", DEFENCE,
        details,
    )  # fmt: skip


def expand(pattern: str) -> Iterator[str]:
    """Every text of a pattern.

    >>> list(expand("9-a"))[:3], sum(1 for _ in expand("9A99"))
    (['0-a', '0-b', '0-c'], 26000)
    """
    sets = [SETS.get(letter, letter) for letter in pattern]
    if not pattern or np.prod([float(len(one)) for one in sets]) > MOST:
        raise ParameterError(f"{OWNER}: the pattern must stand for 1 to {MOST:,} texts")
    return map("".join, itertools.product(*sets))


def _texts(pseudonyms: Column) -> list[pa.Array]:
    try:
        column = pseudonyms if isinstance(pseudonyms, pa.Array | pa.ChunkedArray) else pa.array(pseudonyms)
        chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        return [decode(chunk).cast(pa.string()) for chunk in chunks]
    except (TypeError, ValueError, pa.ArrowException):
        raise SchemaError(f"{OWNER}: pseudonyms must be a column of text") from None


def checked_algorithm(name: str) -> str:
    """The name of a hash that is known."""
    if name not in HASHES:
        raise ParameterError(f"{OWNER}: algorithm must be one of {', '.join(HASHES)}, or a callable, got {name!r}")
    return name


def _hash(name: str | Callable[[bytes], str]) -> Callable[[bytes], str]:
    if callable(name):
        return name
    made = getattr(hashlib, checked_algorithm(name))
    return lambda text: made(text).hexdigest()
