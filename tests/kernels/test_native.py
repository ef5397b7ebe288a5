"""Which code runs: prebuilt kernels where everything fits, else the compiler."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fastdp as fd
from fastdp.kernels import native, prebuild
from fastdp.kernels.cache import source_digest

KERNELS = ["fill_cell_noise", "add_floats", "fill_krr"]
EVERYTHING = frozenset(" ".join(native.LEVELS.values()).split())

DRAWS = """
import hashlib, sys, threading
import numpy as np, fastdp as fd
from fastdp.kernels import native
seen = hashlib.sha256()
for mechanism, values in (
    (fd.Laplace(epsilon=1.0, sensitivity=1.0), np.linspace(-3, 3, 5000)),
    (fd.Gaussian(rho=0.5, sensitivity=1.0), np.linspace(-3, 3, 5000)),
    (fd.KRR(epsilon=1.0, domain=100), (np.arange(5000) % 100).astype(np.uint8)),
):
    rng = fd.Rng.unsafe_seed(3)
    for count in (1, 7, 0, 5000, 1000, 2048):
        seen.update(mechanism.randomize(values[:count], rng=rng).tobytes())
    for given in (values[::3], values.astype(values.dtype.newbyteorder()), values[:3].tolist()):
        seen.update(np.asarray(mechanism.randomize(given, rng=rng)).tobytes())
    frozen = values.copy()
    frozen.flags.writeable = False
    seen.update(mechanism.randomize(frozen, rng=rng).tobytes())
"""
NUMBA = "print(native.chosen().why, 'numba' in sys.modules, seen.hexdigest())"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three prebuilt kernels, for the best level that this CPU runs."""
    levels = native.levels_of(native.cpu_flags())
    if not levels:
        pytest.skip("kernels are prebuilt for Linux on x86-64-v3 and better")
    made = tmp_path_factory.mktemp("prebuilt")
    prebuild.build(made, levels[:1], KERNELS)
    return made


def run(program: str, **environment: str) -> str:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    done = subprocess.run(
        [sys.executable, "-c", program], env=kept | environment, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_prebuilt__gives_the_bytes_of_the_compiler_without_numba(folder):
    prebuilt = run(DRAWS + NUMBA, FASTDP_PREBUILT=str(folder)).rsplit(" ", 2)
    compiled = run(DRAWS + NUMBA, FASTDP_PREBUILT="0").rsplit(" ", 2)
    level = native.levels_of(native.cpu_flags())[0]
    assert prebuilt[:2] == [f"prebuilt for {level}", "False"]
    assert compiled[:2] == ["compiled here: FASTDP_PREBUILT=0", "True"]
    assert prebuilt[2] == compiled[2]


def test_what_is_not_prebuilt__is_compiled_beside_it(folder):
    """A kernel that is not in the library; and its parts, some of which prebuilt ones were made of, too."""
    program = (
        "import numpy as np, fastdp as fd, sys\n"
        "m = fd.Geometric(scale=1.4); r = fd.Rng.unsafe_seed(1)\n"
        "print(m.randomize(np.zeros(20, np.int64), rng=r).tolist(), 'numba' in sys.modules)"
    )
    assert run(program, FASTDP_PREBUILT=str(folder)) == run(program, FASTDP_PREBUILT="0")


def copy_of(folder: Path, target: Path, **changed: object) -> Path:
    """The same libraries with something else in their manifests."""
    for file in folder.iterdir():
        text = file.read_bytes()
        if file.suffix == ".json":
            text = json.dumps(json.loads(text) | changed).encode()
        (target / file.name).write_bytes(text)
    return target


def test_library__of_other_sources_is_not_used(folder, tmp_path):
    where = {native.SWITCH: str(copy_of(folder, tmp_path, digest="0" * 20))}
    assert native.choose(where, native.cpu_flags()).why == ("compiled here: the prebuilt kernels are of other sources")


def test_library__that_is_broken_or_missing_is_not_used(folder, tmp_path):
    copied = copy_of(folder, tmp_path)
    (library,) = copied.glob("*.so")
    library.write_bytes(b"no library")
    assert "cannot be loaded" in native.choose({native.SWITCH: str(copied)}, native.cpu_flags()).why
    library.unlink()
    assert native.choose({native.SWITCH: str(copied)}, native.cpu_flags()).path is None
    (manifest,) = copied.glob("*.json")
    library.write_bytes(b"")
    manifest.write_text("{")
    assert native.choose({native.SWITCH: str(copied)}, native.cpu_flags()).path is None


@pytest.mark.parametrize("name", ["NUMBA_CPU_FEATURES", "NUMBA_CPU_NAME", "NUMBA_ENABLE_AVX", "NUMBA_OPT"])
def test_any_setting_of_numba__asks_for_the_compiler(name, folder):
    found = native.choose({native.SWITCH: str(folder), name: "0"}, native.cpu_flags())
    assert found.path is None
    assert found.why == f"compiled here: {name} is set"


def test_level__is_the_best_whose_every_flag_the_cpu_has():
    assert native.levels_of(EVERYTHING) == ["x86-64-v4-vaes", "x86-64-v4", "x86-64-v3"]
    for level, flags in native.LEVELS.items():
        for flag in flags.split():
            assert level not in native.levels_of(EVERYTHING - {flag})
    assert native.levels_of(frozenset()) == []


def test_level__without_vector_aes_has_no_aes():
    """Kernels that hold one cipher must not be given the key of the other."""
    assert native.choose({native.SWITCH: "0"}, frozenset()).features == frozenset()
    for level, (_, has, _) in prebuild.TARGETS.items():
        assert ("vaes" in has) == (level == "x86-64-v4-vaes")
        assert ("avx512f" in has) == ("v4" in level)


def test_library__needs_nothing_but_the_c_library(folder):
    """Its undefined symbols: no Python, no numba."""
    (library,) = folder.glob("*.so")
    assert ctypes.CDLL(str(library), mode=os.RTLD_NOW | os.RTLD_LOCAL)
    for word in (b"PyObject", b"PyErr", b"NRT_"):
        assert word not in library.read_bytes()


def test_manifest__names_these_sources(folder):
    (manifest,) = folder.glob("*.json")
    assert json.loads(manifest.read_text())["digest"] == source_digest()


def test_kinds__tell_apart_what_must_not_be_mixed():
    """Arrays in pieces, misaligned or swapped never reach a prebuilt kernel; other widths are other versions."""
    whole = np.zeros(8)
    assert native.kind_of(whole) == ("float64", 1, True)
    assert native.kind_of(whole[::2]) is None
    assert native.kind_of(np.zeros(17, np.uint8)[1:].view(np.float64)) is None
    assert native.kind_of(whole.astype(">f8")) is None
    assert native.kind_of(np.zeros((4, 4)).T) is None
    frozen = whole.copy()
    frozen.flags.writeable = False
    assert native.kind_of(frozen) == ("float64", 1, False)
    assert native.kind_of(1 << 63) is None
    assert [native.kind_of(one) for one in (1, True, 1.0, np.uint64(1))] == ["int64", "bool", "float64", "uint64"]
    assert native.kind_of(None) is None
    assert native.kind_of(np.ma.zeros(3)) is None


def test_words__are_what_a_c_program_writes():
    keep: list = []
    array = np.zeros((2, 3), np.int32)
    words = native.words_of((array, np.int64(-1), 1.5, np.float32(1.5), True, (np.uint8(7), array)), keep)
    assert words[:3] == [array.ctypes.data, 2, 3]
    assert words[3:7] == [(1 << 64) - 1, 0x3FF8000000000000, 0x3FC00000, 1]
    assert list(keep[0].words) == [7, array.ctypes.data, 2, 3]


def test_words__outlive_what_is_forgotten():
    """Words that a call uses stay when the list of known tuples is cleared; a new tuple in an old place is another."""
    keep: list = []
    words = native.words_of(((np.uint8(7),),), keep)
    for number in range(3 * native.MOST_DESCRIBED):
        assert list(native.described((np.int64(number),)).words) == [number]
    assert len(native._described) <= native.MOST_DESCRIBED
    assert ctypes.c_uint64.from_address(words[0]).value == 7


def test_library__is_the_one_in_use():
    assert fd.native.library() == native.chosen().path
    assert fd.native.why() == native.chosen().why
    assert fd.native.why().startswith(("prebuilt for", "compiled here"))
