"""The limits of the machine, and what they allow."""

from __future__ import annotations

import pytest

from benchmarks.measuring import limits
from benchmarks.measuring.limits import LARGE, SMALL, least_seconds, rates, tasks
from tests.benchmarks.runs import limit

RATES = {
    "read": 20.0, "copy": 10.0, "read-shared": 30.0, "copy-shared": 15.0, "read-cached": 50.0, "copy-cached": 30.0,
    "keystream": 8.0,
}  # fmt: skip


@pytest.mark.parametrize(
    ("reads", "writes", "random", "seconds", "name"),
    [
        (1e9, 1e9, 0, 1e8, "copying"),
        (1e9, 0, 0, 5e7, "reading"),
        (1e9, 1e9, 4e9, 5e8, "keystream"),
        (0, 1e9, 1e9, 1.25e8, "keystream"),
        (1e5, 1e5, 0, 1e5 / 30, "copying"),
        (4e6, 4e6, 0, 4e6 / 15, "copying"),
    ],
)
def test_least_seconds__is_the_slowest_of_what_must_be_done(reads, writes, random, seconds, name):
    assert least_seconds(RATES, reads, writes, random) == (pytest.approx(seconds), name)


def test_least_seconds__bytes_that_are_used_again_stay_in_a_cache():
    assert least_seconds(RATES, 1e9, 0, 0, times=1e4) == (pytest.approx(1e9 / 50), "reading")
    assert least_seconds(RATES, 1e9, 0, 0, times=200) == (pytest.approx(1e9 / 30), "reading")


def test_least_seconds__without_a_cipher_leaves_keystream_out():
    known = {name: rate for name, rate in RATES.items() if name != "keystream"}
    assert least_seconds(known, 1e9, 1e9, 1e15)[1] == "copying"


def test_rates__name_the_best_cipher():
    found = rates([limit("copy", 10.0), limit("aes-256-ctr", 9.0), limit("chacha20", 5.0)])
    assert found["keystream"] == 9.0
    assert rates([limit("chacha20", 5.0), limit("own-keystream", 11.0)])["keystream"] == 11.0
    assert "keystream" not in rates([limit("copy", 10.0)])


def test_tasks__do_the_work_that_they_count(monkeypatch):
    """On small arrays: every kind is there, and its bytes are what it says."""
    monkeypatch.setattr(limits, "LARGE", LARGE // 100)
    monkeypatch.setattr(limits, "REPEATS", 20)
    found = {task.name: task for task in tasks()}
    places = {f"{name}{place}" for name in ("copy", "read") for place in ("", "-shared", "-cached")}
    assert set(found) == places | {"aes-256-ctr", "chacha20", "own-keystream", "arithmetic"}
    assert found["copy-cached"].size == 20 * SMALL
    for task in found.values():
        task.call()


def test_least_seconds__much_arithmetic_is_a_limit_too():
    known = RATES | {"arithmetic": 50.0}
    assert least_seconds(known, 1e3, 1e3, 0, operations=1e12) == (pytest.approx(2e10), "arithmetic")
    assert least_seconds(RATES, 1e3, 1e3, 0, operations=1e12)[1] == "copying"
