"""How each library does each kind of job, by the best of its public calls; fresh output every time.

A *way* takes the job and its input and gives back a call that does the whole job once. Rivals are imported inside.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import fastdp as fd
from fastdp.random.generator import AES, key_words

if TYPE_CHECKING:
    from benchmarks.jobs.job import Job

Call = Callable[[], Any]
Make = Callable[["Job", np.ndarray], Call]
Judge = Callable[["Job", Any, np.ndarray], float]
"""The p-value of an output for an input."""

KEY = bytes(range(32))
"""The key of the keystream job: public, so that two libraries can be compared byte by byte."""


@dataclass(frozen=True)
class Way:
    """How to do one kind of job; ``law`` where it is not the job's own, ``exact`` where every output is known.

    ``judge`` gives the p-value of an output where the job does not say how; ``largest`` is the most that it is given;
    ``part`` is how much of the job a call does, where it would take too long and its time is known to be proportional.
    """

    make: Make
    law: str | None = None
    exact: Callable[[np.ndarray], Any] | None = None
    judge: Judge | None = None
    largest: int | None = None
    part: float = 1


def fastdp_noise(job: Job, values: np.ndarray) -> Call:
    fd.set_threads(1)
    mechanism = job.mechanism()
    return lambda: mechanism.randomize(values)


def keystream_ways(generator: Callable[[], str]) -> tuple[Way, Way]:
    """How fastdp and OpenSSL make the keystream of a cipher; ``generator`` says of which, once it is asked for."""

    def fastdp(_job: Job, zeros: np.ndarray) -> Call:
        from fastdp.kernels.stream.keystream import fill_plane
        from fastdp.kernels.stream.words import HALVES

        key, counters = key_words(generator(), KEY), np.empty(16, np.uint64)

        def call() -> np.ndarray:
            out = np.empty(zeros.size // 4, np.uint32)
            fill_plane(key, HALVES, np.uint64(0), counters, out)
            return out

        return call

    def openssl(_job: Job, zeros: np.ndarray) -> Call:
        def call() -> np.ndarray:
            out = np.empty(zeros.size, np.uint8)
            openssl_cipher(generator(), KEY).update_into(zeros.data, out.data)
            return out

        return call

    return Way(fastdp, exact=lambda zeros: openssl_in_lane_order(generator(), zeros.size)), Way(openssl)


def openssl_cipher(generator: str, key: bytes, nonce: bytes = bytes(16)) -> Any:
    """What encrypts by OpenSSL."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    chosen: Any = Cipher(algorithms.ChaCha20(key, nonce), None)
    if generator == AES:
        chosen = Cipher(algorithms.AES(key), modes.CTR(nonce))
    return chosen.encryptor()


def openssl_in_lane_order(generator: str, size: int) -> np.ndarray | None:
    """What fastdp's keystream must be: OpenSSL's, with the words of sixteen blocks side by side.

    Its own counter mode counts in another order, so for AES the cipher is given the counters one by one.
    """
    from fastdp.kernels.stream.words import HALVES

    plane = int(HALVES)
    try:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
    except ImportError:
        return None
    if generator == AES:
        inputs = np.zeros((size // 64, 4, 4), np.uint32)
        inputs[:, :, 0] = np.arange(size // 64, dtype=np.uint32)[:, None]
        inputs[:, :, 3] = 4 * plane + np.arange(4, dtype=np.uint32)
        stream = Cipher(algorithms.AES(KEY), modes.ECB()).encryptor().update(inputs.tobytes())
    else:
        nonce = bytes(8) + plane.to_bytes(4, "little") + bytes(4)
        stream = openssl_cipher(generator, KEY, nonce).update(bytes(size))
    return np.frombuffer(stream, np.uint32).reshape(-1, 16, 16).transpose(0, 2, 1).ravel()


def numpy_ways(source: Callable[[], Any]) -> dict[str, Way]:
    """The code anyone would write, on the generator that ``source`` makes; ``x + noise`` reuses the noise's memory."""

    def laplace(job: Job, x: np.ndarray) -> Call:
        draw, n = source().laplace, x.size
        if x.dtype == np.float32:
            return lambda: x + draw(0.0, job.scale, n).astype(np.float32)
        return lambda: x + draw(0.0, job.scale, n)

    def geometric(job: Job, x: np.ndarray) -> Call:
        draw, n, p = source().geometric, x.size, -math.expm1(-1 / job.scale)
        return lambda: x + (draw(p, n) - draw(p, n))

    def gaussian(job: Job, x: np.ndarray) -> Call:
        draw, n = source().normal, x.size
        return lambda: x + draw(0.0, job.scale, n)

    def rounded(job: Job, x: np.ndarray) -> Call:
        draw, n = source().normal, x.size
        return lambda: x + np.rint(draw(0.0, job.scale, n)).astype(np.int64)

    def krr(job: Job, codes: np.ndarray) -> Call:
        generator, n, k = source(), codes.size, job.domain
        keep = job.mechanism().p - job.mechanism().q
        uniform, integers = generator.random, generator.integers
        return lambda: np.where(uniform(n) < keep, codes, integers(0, k, n, dtype=codes.dtype))

    def keystream(_job: Job, zeros: np.ndarray) -> Call:
        draw, n = source().integers, zeros.size // 8
        return lambda: draw(0, 2**64, n, dtype=np.uint64)

    return {
        "laplace": Way(laplace),
        "geometric": Way(geometric),
        "gaussian": Way(gaussian),
        "discrete-gaussian": Way(rounded, law="rounded-gaussian"),
        "krr": Way(krr),
        "keystream": Way(keystream),
    }


def tuned_ways() -> dict[str, Way]:
    """The fastest found in numpy: SFC64, ziggurat exponentials and normals, arithmetic in place."""

    def source() -> np.random.Generator:
        return np.random.Generator(np.random.SFC64())

    def laplace(job: Job, x: np.ndarray) -> Call:
        rng, dtype = source(), x.dtype.type

        def call() -> np.ndarray:
            out = rng.standard_exponential(x.size, dtype=dtype)
            out -= rng.standard_exponential(x.size, dtype=dtype)
            out *= dtype(job.scale)
            out += x
            return out

        return call

    def geometric(job: Job, x: np.ndarray) -> Call:
        rng = source()

        def magnitude() -> np.ndarray:
            drawn = rng.standard_exponential(x.size)
            drawn *= job.scale
            return np.floor(drawn, out=drawn)

        def call() -> np.ndarray:
            noise = magnitude()
            noise -= magnitude()
            out = noise.astype(np.int64)
            out += x
            return out

        return call

    def normal(job: Job, x: np.ndarray) -> Call:
        rng = source()

        def call() -> np.ndarray:
            out = rng.standard_normal(x.size)
            out *= job.scale
            if x.dtype == np.int64:
                out = np.rint(out, out=out).astype(np.int64)
            out += x
            return out

        return call

    return {
        "laplace": Way(laplace),
        "geometric": Way(geometric),
        "gaussian": Way(normal),
        "discrete-gaussian": Way(normal, law="rounded-gaussian"),
    }


def mkl_ways() -> dict[str, Way]:
    """The same code on MKL's generators: of those that give sound numbers, the faster for each kind of job.

    ARS5 against SFMT19937, interleaved on Zen 4: Laplace 0.56, normal 1.00, geometric 1.12, bytes 1.44 times as fast.
    """

    def source(name: str) -> Callable[[], Any]:
        def make() -> Any:
            import mkl_random

            return mkl_random.MKLRandomState(brng=name)

        return make

    def keystream(_job: Job, zeros: np.ndarray) -> Call:
        draw, n = source("ARS5")().bytes, zeros.size
        return lambda: draw(n)

    def krr(job: Job, codes: np.ndarray) -> Call:
        state, n, k = source("SFMT19937")(), codes.size, job.domain
        keep = job.mechanism().p - job.mechanism().q
        return lambda: np.where(state.random_sample(n) < keep, codes, state.randint(0, k, n, dtype=codes.dtype))

    geometric = numpy_ways(source("ARS5"))["geometric"]
    own = {"geometric": geometric, "krr": Way(krr), "keystream": Way(keystream)}
    return numpy_ways(source("SFMT19937")) | own


def randomgen_source() -> np.random.Generator:
    import randomgen

    return np.random.Generator(randomgen.ChaCha(rounds=20))


OPENDP_TYPES = {"float64": "f64", "float32": "f32", "int64": "i64"}


def opendp_way(constructor: str, metric: str) -> Make:
    """OpenDP's vector mechanism, of known size and on fastdp's own grid: 2 to 4 times as fast as on its default one."""

    def make(job: Job, values: np.ndarray) -> Call:
        import opendp.prelude as dp

        dp.enable_features("contrib")
        kind = OPENDP_TYPES[job.dtype]
        is_float = job.dtype != "int64"
        atoms = dp.atom_domain(T=kind, nan=False) if is_float else dp.atom_domain(T=kind)
        distance = getattr(dp, metric)(T="f64" if metric == "l2_distance" and not is_float else kind)
        grid = {"k": int(math.log2(job.granularity))} if is_float else {}
        make_measurement = getattr(dp.m, constructor)
        measurement = make_measurement(dp.vector_domain(atoms, size=values.size), distance, scale=job.scale, **grid)
        own = values.copy()  # it takes no read-only arrays
        return lambda: measurement(own)

    return make


def diffprivlib_way(mechanism: str, **privacy: float) -> Make:
    """One value at a time: it has no other way."""

    def make(job: Job, values: np.ndarray) -> Call:
        import diffprivlib.mechanisms

        chosen = privacy or {"epsilon": 1 / job.scale}
        randomise = getattr(diffprivlib.mechanisms, mechanism)(sensitivity=1, **chosen).randomise
        numbers = values.tolist()
        return lambda: [randomise(number) for number in numbers]

    return make


def memcpy(_job: Job, values: np.ndarray) -> Call:
    target = np.empty_like(values)

    def call() -> np.ndarray:
        np.copyto(target, values)
        return target

    return call
