"""Which cipher makes the keystream: chosen once per process, kept by children and forks, told by whatever it made."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import fastdp as fd
from fastdp.kernels.stream.aes import expand_key, is_available
from fastdp.random.generator import AES, CHACHA, process_generator
from tests.generators import each_generator, needs_aes
from tests.patience import PATIENCE
from tests.random.test_rng import in_children

MECHANISMS = [
    fd.Laplace(epsilon=1.0, sensitivity=1.0),
    fd.KRR(epsilon=1.0, domain=10),
    fd.RandomizedResponse(epsilon=1.0),
    fd.UnaryEncoding(epsilon=1.0, domain=10),
]
DRAW = "import fastdp as fd; rng = fd.Rng(); rng.reserve(1); print(rng.generator, fd.Rng().child(1).generator)"


def run(code: str, **env: str) -> subprocess.CompletedProcess:
    """A new process, whose generator nobody has chosen yet."""
    clean = {name: value for name, value in os.environ.items() if name != "FASTDP_GENERATOR"}
    root = Path(fd.__file__).parents[1]
    return subprocess.run(
        [sys.executable, "-c", code], env={**clean, **env}, cwd=root, capture_output=True, text=True, timeout=PATIENCE
    )


def values_for(mechanism, size: int) -> np.ndarray:
    kinds = {fd.Laplace: np.float64, fd.RandomizedResponse: np.bool_}
    return np.zeros(size, kinds.get(type(mechanism), np.int64))


def test_process__takes_aes_where_it_is_compiled_in():
    assert run(DRAW).stdout.split() == [AES if is_available() else CHACHA] * 2


@each_generator
def test_process__takes_the_generator_that_is_named(generator):
    assert run(DRAW, FASTDP_GENERATOR=generator).stdout.split() == [generator] * 2


def test_process__refuses_an_unknown_generator():
    done = run(DRAW, FASTDP_GENERATOR="mt19937")
    assert done.returncode != 0
    assert "ParameterError: FASTDP_GENERATOR: the generator must be 'aes-256-ctr' or 'chacha20'" in done.stderr


def test_process__chooses_once():
    """What the environment says later changes nothing; the mutant that asks again is seen here."""
    code = (
        "import os, fastdp as fd; os.environ['FASTDP_GENERATOR'] = 'chacha20'; rng = fd.Rng(); a = rng.generator;"
        "os.environ['FASTDP_GENERATOR'] = 'mt19937'; print(a, rng.generator, fd.Rng().generator)"
    )
    assert run(code).stdout.split() == [CHACHA] * 3


def test_rng__loads_no_engine_until_it_draws():
    code = (
        "import sys, fastdp as fd; rngs = [fd.Rng(), fd.Rng().child(1), fd.Rng.unsafe_seed(1)];"
        "print(rngs[2].generator, [m for m in ('numba', 'numpy') if m in sys.modules])"
    )
    assert run(code).stdout.strip() == "chacha20 []"


@pytest.mark.skipif(platform.machine() != "x86_64", reason="names an x86 processor")
def test_process__without_aes_uses_chacha_and_says_why(tmp_path):
    """Compiled for a CPU without it: the draws are those of every machine, and asking for AES is an error."""
    env = {"NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": "+avx2,+aes", "FASTDP_CACHE_DIR": str(tmp_path)}
    code = (
        "import fastdp as fd; m = fd.RandomizedResponse(epsilon=1.0); print(fd.Rng().generator, end=' ');"
        "m.randomize([True]); print(*m.randomize([True] * 40, rng=fd.Rng.unsafe_seed(5)));"
        "fd.Rng.unsafe_seed(5, generator='aes-256-ctr')"
    )
    done = run(code, **env)
    ours = fd.RandomizedResponse(epsilon=1.0).randomize([True] * 40, rng=fd.Rng.unsafe_seed(5))
    assert done.stdout.split() == [CHACHA, *map(str, ours)]
    assert "ParameterError: Rng.unsafe_seed: generator 'aes-256-ctr' needs a CPU with VAES" in done.stderr
    named = run(DRAW, FASTDP_GENERATOR=AES, **env)
    assert "ParameterError: FASTDP_GENERATOR: the generator 'aes-256-ctr' needs" in named.stderr


@pytest.mark.parametrize("generator", ["mt19937", "AES", "", None, 7, ["chacha20"]])
def test_unsafe_seed__refuses_other_generators(generator):
    with pytest.raises(fd.ParameterError, match="Rng.unsafe_seed: generator must be 'aes-256-ctr' or 'chacha20'"):
        fd.Rng.unsafe_seed(7, generator=generator)


@needs_aes
def test_unsafe_seed__states_its_generator():
    rng = fd.Rng.unsafe_seed(7, generator=AES)
    assert repr(rng) == "Rng.unsafe_seed(7, generator='aes-256-ctr')"
    assert repr(rng.child("a")) == "Rng.unsafe_seed(7, generator='aes-256-ctr').child('a')"
    assert repr(fd.Rng.unsafe_seed(7, generator=CHACHA)) == repr(fd.Rng.unsafe_seed(7)) == "Rng.unsafe_seed(7)"
    assert (rng.generator, rng.child("a").generator, rng.is_unsafe) == (AES, AES, True)


@needs_aes
def test_reserve__hands_out_the_key_of_the_generator():
    """An expanded key, made once, that a caller cannot change for the others."""
    rng = fd.Rng.unsafe_seed(7, generator=AES)
    first = rng.reserve(1).key
    assert np.array_equal(first, expand_key(rng._key))
    first[:] = 0
    assert np.array_equal(rng.reserve(1).key, expand_key(rng._key))
    assert rng.reserve(1).key.flags.writeable == fd.Rng.unsafe_seed(7).reserve(1).key.flags.writeable


@each_generator
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: type(m).__name__)
def test_draws__are_the_same_for_any_threads_and_chunks(mechanism, generator, threads):
    values = values_for(mechanism, 200_003)
    results = []
    for count in (1, 2, 3):
        threads(count)
        results.append(mechanism.randomize(values, rng=fd.Rng.unsafe_seed(5, generator=generator)))
    rng = fd.Rng.unsafe_seed(5, generator=generator)
    results.append(np.concatenate([mechanism.randomize(part, rng=rng) for part in np.split(values, [1, 1000, 70_001])]))
    assert all(np.array_equal(results[0], result) for result in results)


@needs_aes
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: type(m).__name__)
def test_draws__of_the_generators_differ(mechanism):
    values = values_for(mechanism, 1000)
    draws = [mechanism.randomize(values, rng=fd.Rng.unsafe_seed(5, generator=name)) for name in (AES, CHACHA, AES)]
    assert np.array_equal(draws[0], draws[2])
    assert not np.array_equal(draws[0], draws[1])


@needs_aes
def test_threads__of_one_stream_repeat_nothing():
    rng, mechanism = fd.Rng.unsafe_seed(3, generator=AES), MECHANISMS[0]
    with ThreadPoolExecutor(8) as pool:
        draws = list(pool.map(lambda _: mechanism.randomize(np.zeros(500), rng=rng).tobytes(), range(64)))
    assert len(set(draws)) == 64


@needs_aes
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_fork__keeps_the_generator_and_leaves_the_key(monkeypatch):
    """Forked streams repeat nothing; one whose expanded key outlived the fork would, and is seen here."""
    rng, mechanism = fd.Rng.unsafe_seed(3, generator=AES), MECHANISMS[0]

    def noise(_i: int = 0) -> bytes:
        return rng.generator.encode() + mechanism.randomize(np.zeros(500), rng=rng).tobytes()

    noise()
    children = in_children(4, noise)
    assert all(child.startswith(AES.encode()) for child in children)
    assert len({*children, noise()}) == 5
    original = fd.Rng._rekey_after_fork

    def forgetful(self):
        words = self._words
        original(self)
        self._words = words

    monkeypatch.setattr(fd.Rng, "_rekey_after_fork", forgetful)
    assert len(set(in_children(4, noise))) == 1


@each_generator
def test_receipt__names_the_generator(generator):
    plan = fd.Plan(columns={"ill": {"mechanism": "randomized_response", "epsilon": 1.0}})
    made = fd.sanitize(pa.table({"ill": [True, False]}), plan, rng=fd.Rng.unsafe_seed(1, generator=generator))
    assert f"{generator}, unsafe seed" in made.schema.metadata[b"fastdp.receipt"].decode()
    made = fd.sanitize(pa.table({"ill": [True, False]}), plan)
    said = f"{process_generator()}, keyed by the operating system"
    assert said in made.schema.metadata[b"fastdp.receipt"].decode()
