"""Shared by all tests: kernels compile into one cache per user, and hypothesis runs the same examples every time."""

from __future__ import annotations

import pytest
from hypothesis import settings

import fastdp as fd

settings.register_profile("fastdp", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("fastdp")


@pytest.fixture
def rng():
    """A reproducible stream of its own for each test."""
    return fd.Rng.unsafe_seed(20261116)


@pytest.fixture
def threads():
    """Set the number of threads in a test; it is put back afterwards."""
    before = fd.get_threads()
    yield fd.set_threads
    fd.set_threads(before)
