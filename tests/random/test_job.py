"""Job keys: what they derive, and where they may not go."""

from __future__ import annotations

import copy
import pickle
import stat

import pytest

import fastdp as fd
from fastdp.random.job import JobKey


def words(key: JobKey, *labels) -> bytes:
    return key.rng(*labels).reserve(1).key.tobytes()


def test_streams__differ_for_every_label_and_key():
    key = JobKey()
    labels = [(c, p, d) for c in (b"", b"a") for p in ((0, 0), (0, 1), (1, 0)) for d in (b"", b"a")]
    found = [words(key, *label) for label in labels]
    assert len(set(found)) == len(labels)
    assert found == [words(key, *label) for label in labels]
    assert words(JobKey(), *labels[0]) != found[0]


def test_digest__takes_no_part_for_another():
    key = JobKey()
    assert len({key.digest(b"x", b"ab", b"c"), key.digest(b"x", b"a", b"bc"), key.digest(b"x", b"abc")}) == 3


def test_file__holds_the_key_for_its_owner_alone(tmp_path):
    key = JobKey()
    key.save(tmp_path / "key")
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600
    again = JobKey.load(tmp_path / "key")
    assert again.id == key.id
    assert words(again, b"", (0, 0), b"") == words(key, b"", (0, 0), b"")
    with pytest.raises(fd.errors.OutputExistsError, match="never overwritten"):
        key.save(tmp_path / "key")
    (tmp_path / "key").chmod(0o640)
    with pytest.raises(fd.ParameterError, match="others may read"):
        JobKey.load(tmp_path / "key")


@pytest.mark.parametrize("text", ["", "fastdp job key 1\nchacha20\nabcd\n", "other\nchacha20\n" + "00" * 32])
def test_file__that_is_no_key_is_refused(tmp_path, text):
    (tmp_path / "key").write_text(text)
    (tmp_path / "key").chmod(0o600)
    with pytest.raises(fd.ParameterError, match="holds no job key"):
        JobKey.load(tmp_path / "key")


def test_key__is_neither_copied_nor_pickled_nor_shown():
    key = JobKey()
    for use in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(fd.UnsafeRngError):
            use(key)
    assert repr(key) == f"JobKey({key.id})"
    with pytest.raises(fd.UnsafeRngError):
        JobKey.derived(fd.Rng.unsafe_seed(1)).save("never")


def test_travelling_key__arrives_and_shows_its_id_alone():
    key = JobKey()
    travelling = pickle.loads(pickle.dumps(key.travelling()))
    assert travelling.arrive().id == key.id
    assert words(travelling.arrive(), b"", (0, 0), b"") == words(key, b"", (0, 0), b"")
    secret = key._key.hex()
    assert secret not in repr(travelling) + travelling.__dask_tokenize__()


def test_derived_key__is_another_at_each_call():
    rng = fd.Rng.unsafe_seed(3)
    ids = [JobKey.derived(rng).id for _ in range(3)]
    assert len(set(ids)) == 3
    assert JobKey.derived(fd.Rng.unsafe_seed(3)).id == ids[0]
    assert JobKey.derived(rng).is_unsafe
    assert not JobKey.derived(None).is_unsafe


def test_generator__is_pinned():
    assert JobKey().generator == "chacha20"
    with pytest.raises(fd.ParameterError, match="generator"):
        JobKey(generator="mt19937")


def test_stretched__is_the_digests_of_numbers():
    key = JobKey.derived(fd.Rng.unsafe_seed(5))
    due = b"".join(key.digest(b"words", number.to_bytes(8, "little")) for number in range(3))
    assert key.stretched(b"words", 96) == due
    assert key.stretched(b"words", 70) == due[:70]
    assert key.stretched(b"other", 32) != due[:32]
