"""The libraries that are measured, and the jobs that each can do."""

from __future__ import annotations

import functools
import importlib
import re
import warnings
from dataclasses import dataclass, field

import numpy as np

from benchmarks.jobs import estimation, files, points, problems
from benchmarks.jobs.rooms import anonymity, audits, fairness, learning, releases
from benchmarks.rivals import local, noise, ways
from benchmarks.rivals.ways import Way
from fastdp.random.generator import CHACHA, process_generator


@dataclass(frozen=True)
class Library:
    """A library, how it is called here, and the largest input it is given: slow ones get less, and count per value.

    ``ways`` are by kind of job, or by a job's name where only that one can be done. A quick run leaves out all but the
    few that are ``is_quick``. Of a ``pooled`` library, which works in threads of its own, all of their time counts.
    """

    name: str
    note: str
    ways: dict[str, Way] = field(repr=False)
    module: str = "numpy"
    package: str | None = None
    largest: int | None = None
    pooled: bool = False

    @property
    def is_quick(self) -> bool:
        return self.name in QUICK

    @functools.cached_property
    def missing(self) -> str | None:
        """Why the library cannot be used here, file paths left out; None if it can."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                importlib.import_module(self.module)
        except (ImportError, OSError, AttributeError) as error:
            return f"{type(error).__name__}: " + re.sub(r"\s+\(?/\S+", "", str(error))
        return None


QUICK = ("fastdp", "memcpy", "numpy", "pyarrow", "cryptography")
_NOISES = ("laplace", "geometric", "gaussian", "discrete-gaussian")
_KEYSTREAMS = {
    "keystream": ways.keystream_ways(process_generator),
    "keystream-chacha20": ways.keystream_ways(lambda: CHACHA),
}
_COPY = Way(ways.memcpy, law="none", exact=lambda values: values)

_ALL = (
    Library(
        "fastdp",
        "one thread, keyed by the operating system",
        dict.fromkeys((*_NOISES, "krr"), Way(ways.fastdp_noise))
        | {kind: own for kind, (own, _) in _KEYSTREAMS.items()}
        | local.FASTDP
        | estimation.FASTDP
        | points.FASTDP
        | files.FASTDP
        | fairness.FASTDP
        | audits.FASTDP
        | learning.FASTDP
        | anonymity.FASTDP
        | releases.FASTDP,
        module="fastdp",
        package="fastdp",
    ),
    Library(
        "memcpy",
        "numpy.copyto into an array that exists",
        dict.fromkeys((*_NOISES, "krr", "keystream", *local.FASTDP, *points.FASTDP), _COPY),
    ),
    Library(
        "numpy",
        "the obvious vectorised code on numpy.random.default_rng(); unsafe",
        ways.numpy_ways(np.random.default_rng)
        | local.numpy_ways(np.random.default_rng)
        | audits.NUMPY
        | estimation.NUMPY
        | points.NUMPY
        | fairness.NUMPY
        | learning.NUMPY
        | releases.NUMPY,
        package="numpy",
    ),
    Library(
        "scipy",
        "its own distributions, Lambert's W for points, sparse products for sparse channels; unsafe",
        noise.SCIPY | points.SCIPY | problems.SCIPY,
        module="scipy.stats",
        package="scipy",
    ),
    Library(
        "pyarrow",
        "reads the file and writes it, and changes nothing",
        files.PYARROW,
        module="pyarrow.parquet",
        package="pyarrow",
    ),
    Library(
        "duckdb",
        "its SQL in one thread, from a table of its own; not private",
        fairness.DUCKDB | releases.DUCKDB | anonymity.DUCKDB,
        module="duckdb",
        package="duckdb",
    ),
    Library(
        "fairlearn",
        "MetricFrame of five rates, as its guide has it",
        fairness.FAIRLEARN,
        module="fairlearn.metrics",
        package="fairlearn",
    ),
    Library(
        "polars",
        "its expressions on a frame, the time of all its threads; not private",
        releases.POLARS,
        module="polars",
        package="polars",
        pooled=True,
    ),
    Library(
        "plain-em",
        "the update as taught, on fastdp's channel, to the same gap, or 80,000 times where that does not reach it",
        estimation.PLAIN_EM,
        module="fastdp",
    ),
    Library(
        "numpy-tuned",
        "the fastest we found in numpy: SFC64, differences of exponentials, arithmetic in place; unsafe",
        ways.tuned_ways() | releases.TUNED,
    ),
    Library(
        "mkl_random",
        "the same code on the faster of its generators, SFMT19937, or ARS5 for geometric and bytes; unsafe",
        ways.mkl_ways(),
        module="mkl_random",
        package="mkl_random",
    ),
    Library(
        "randomgen",
        "the same code on numpy's Generator over randomgen's ChaCha20: cryptographic bits, unsafe floats",
        ways.numpy_ways(ways.randomgen_source),
        module="randomgen",
        package="randomgen",
    ),
    Library(
        "opendp",
        "safe vector mechanisms of known size, floats on the same grid as fastdp's, faster than its default one",
        {
            "laplace": Way(ways.opendp_way("make_laplace", "l1_distance")),
            "geometric": Way(ways.opendp_way("make_laplace", "l1_distance")),
            "gaussian": Way(ways.opendp_way("make_gaussian", "l2_distance")),
            "discrete-gaussian": Way(ways.opendp_way("make_gaussian", "l2_distance")),
            **releases.OPENDP,
        },
        module="opendp.prelude",
        package="opendp",
        largest=20_000,
    ),
    Library(
        "diffprivlib",
        "one value at a time, as it works",
        {
            "laplace": Way(ways.diffprivlib_way("Laplace")),
            "geometric": Way(ways.diffprivlib_way("Geometric")),
            "gaussian-float64": Way(ways.diffprivlib_way("GaussianAnalytic", epsilon=1.0, delta=1e-6)),
        },
        module="diffprivlib.mechanisms",
        package="diffprivlib",
        largest=20_000,
    ),
    Library(
        "pydp",
        "Google's C++ library, one value at a time, as it works",
        noise.PYDP,
        module="pydp.algorithms.numerical_mechanisms",
        package="python-dp",
        largest=200_000,
    ),
    Library(
        "tmlt.core",
        "Tumult's samplers, one value at a time, as they work",
        noise.TMLT,
        module="tmlt.core.random.laplace",
        package="tmlt.core",
        largest=20_000,
    ),
    Library(
        "multi-freq-ldpy",
        "one record at a time, as it works",
        local.multi_freq_ldpy() | estimation.MULTI_FREQ_LDPY,
        module="multi_freq_ldpy.pure_frequency_oracles.LH",
        package="multi-freq-ldpy",
    ),
    Library("qif", "libqif's iterative Bayesian update", estimation.QIF, module="qif", package="qif"),
    Library(
        "pure-ldp",
        "one record at a time, as it works",
        local.pure_ldp(),
        module="pure_ldp.frequency_oracles.local_hashing",
        package="pure-ldp",
    ),
    Library("pycanon", "as it works", anonymity.PYCANON, module="pycanon.anonymity", package="pycanon"),
    Library("anjana", "a greedy search, from text", anonymity.ANJANA, module="anjana.anonymity", package="anjana"),
    Library("anonypy", "Mondrian in pandas", anonymity.ANONYPY, module="anonypy", package="anonypy"),
    Library(
        "cryptography",
        "OpenSSL's cipher of the same name on zeros, into a fresh array",
        {kind: openssl for kind, (_, openssl) in _KEYSTREAMS.items()},
        module="cryptography.hazmat.primitives.ciphers",
        package="cryptography",
    ),
    Library("torch", "the steps that Opacus does, one thread; unsafe", learning.TORCH, module="torch", package="torch"),
    Library(
        "torch-secure",
        "the same, with four draws of the noise for one, as its secure mode does",
        learning.TORCH_SECURE,
        module="torch",
        package="torch",
    ),
)
LIBRARIES = {library.name: library for library in _ALL}
