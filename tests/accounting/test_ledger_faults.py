"""The ledger under load and under kills: never over, nothing released that was not paid for, nothing lost."""

from __future__ import annotations

import json
import multiprocessing
import subprocess
import sys

import pytest

import fastdp as fd
from fastdp.accounting.ledger import Ledger
from fastdp.accounting.ledger.filters import Total
from fastdp.privacy import Privacy
from tests.patience import PATIENCE

PROCESSES, ROUNDS, FIT = 64, 50, 24
KILLS = 1000

pytestmark = pytest.mark.slow


def _spend(paths, barrier, results):
    granted = []
    for path in paths:
        barrier.wait(PATIENCE)
        try:
            Ledger(path).spend(Privacy(epsilon=0.25))
            granted.append(1)
        except fd.BudgetExceededError:
            granted.append(0)
    results.put(granted)


def test_64_processes__never_spend_more_than_there_is(tmp_path):
    """In each round all of them spend at once from a ledger of its own, of which 24 spends fit."""
    paths = [tmp_path / f"{i}.ledger" for i in range(ROUNDS)]
    for path in paths:
        Ledger.create(path, epsilon=0.25 * FIT)
    context = multiprocessing.get_context("spawn")
    barrier, results = context.Barrier(PROCESSES), context.Queue()
    workers = [context.Process(target=_spend, args=(paths, barrier, results)) for _ in range(PROCESSES)]
    for worker in workers:
        worker.start()
    granted = [results.get(timeout=PATIENCE) for _ in workers]
    for worker in workers:
        worker.join()
    assert [sum(one) for one in zip(*granted, strict=True)] == [FIT] * ROUNDS
    for path in paths:
        assert Ledger(path).verify() == FIT + 1
        assert Ledger(path).remaining == Total(0, 0)


MURDER = """
import json, os, random, signal, sys, time
from fastdp.accounting.ledger import Ledger
from fastdp.privacy import Privacy

path, kills = sys.argv[1], int(sys.argv[2])
random.seed(20261118)
released = set()
for kill in range(kills):
    read, write = os.pipe()
    child = os.fork()
    if not child:
        ledger = Ledger(path)
        while True:
            paid = ledger.spend(Privacy(epsilon=1e-6))
            os.write(write, b"%d\\n" % paid.entry.number)
    os.close(write)
    text = b""
    for _ in range(random.randrange(3)):
        text += os.read(read, 100)
    time.sleep(random.random() * 0.02)  # so that each comes at another point; any will do
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while more := os.read(read, 100):
        text += more
    os.close(read)
    released |= {int(line) for line in text.split()}
print(json.dumps(sorted(released)))
"""


def test_1000_kills__leave_no_release_without_a_spend(tmp_path):
    path = tmp_path / "a.ledger"
    Ledger.create(path, epsilon=5.0)
    done = subprocess.run(
        [sys.executable, "-c", MURDER, str(path), str(KILLS)], capture_output=True, text=True, check=True
    )
    released = json.loads(done.stdout)
    ledger = Ledger(path)
    count = ledger.verify()
    spends = {entry.number for entry in ledger.entries() if entry.kind == "spend"}
    assert set(released) <= spends
    assert len(released) > KILLS / 2
    assert len(spends) - len(released) <= KILLS  # at most the one that each kill came upon
    assert ledger.spent.amount == 1000 * len(spends)
    assert count == len(spends) + 1
