"""``fastdp budget``, as people type it."""

from __future__ import annotations

import json
import math

import pytest
from click.testing import CliRunner

import fastdp as fd
from fastdp.accounting.ledger import Ledger
from fastdp.cli import main


def call(*args):
    return CliRunner().invoke(main, ["budget", *map(str, args)])


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert call("create", "people.ledger", "--epsilon", "2", "--delta", "1e-6", "--name", "people").exit_code == 0
    return tmp_path / "people.ledger"


def test_create__never_replaces(path):
    done = call("create", "people.ledger", "--epsilon", "3")
    assert done.exit_code == 5
    assert "never replaces" in done.stderr
    assert Ledger(path).limit.amount == 2 * 10**9


def test_show__has_the_numbers_and_a_bar(path):
    Ledger(path).spend(fd.Laplace(epsilon=0.5, sensitivity=1.0), name="ages")
    done = call("show", "people.ledger")
    assert "people: epsilon 0.5 of epsilon 2 and delta 0.000001 per record spent" in done.stdout
    assert "25.0%" in done.stdout
    assert "epsilon 1.5 and delta 0.000001 remains" in done.stdout
    assert "not settled: entries 2" in done.stdout


def test_show__as_json(path):
    Ledger(path).spend(fd.Laplace(epsilon=0.5, sensitivity=1.0)).settle("digest")
    found = json.loads(call("show", "people.ledger", "--json").stdout)
    assert found["spent"]["amount"] == 500_000_000
    assert found["unsettled"] == []


def test_log_and_export__have_every_entry(path):
    Ledger(path).spend(fd.Laplace(epsilon=0.5, sensitivity=1.0), name="ages\x1b[31m")
    log = call("log", "people.ledger").stdout
    assert "ages?[31m" in log
    assert [json.loads(line)["kind"] for line in call("export", "people.ledger").stdout.splitlines()] == [
        "create",
        "spend",
    ]


def test_cost__spends_nothing_and_says_when_it_is_too_much(path):
    path.with_name("plan.toml").write_text('[columns.ill]\nmechanism = "randomized_response"\nepsilon = 1.5\n')
    done = call("cost", "people.ledger", "plan.toml")
    assert done.exit_code == 0
    assert "plan.toml: epsilon 1.5; epsilon 2 and delta 0.000001 remains" in done.stdout
    Ledger(path).spend(fd.KRR(epsilon=1.0, domain=3))
    done = call("cost", "people.ledger", "plan.toml")
    assert done.exit_code == 4
    assert "nothing was released" in done.stderr
    assert Ledger(path).spent.amount == 10**9


def test_verify__checks_receipts(path):
    paid = Ledger(path).spend(fd.Laplace(epsilon=0.5, sensitivity=1.0))
    receipt = path.with_name("receipt.json")
    receipt.write_text(json.dumps({"ledger": paid.stamp}))
    assert "2 entries" in call("verify", "people.ledger", "--receipt", "receipt.json").stdout
    receipt.write_text(json.dumps({"ledger": {**paid.stamp, "head": "00"}}))
    done = call("verify", "people.ledger", "--receipt", "receipt.json")
    assert done.exit_code != 0
    assert "older copy" in done.stderr
    receipt.write_text("{}")
    assert (
        "no receipt of a release that was paid" in call("verify", "people.ledger", "--receipt", "receipt.json").stderr
    )


def test_raise__is_shown(path):
    assert call("raise", "people.ledger", "--epsilon", "3").exit_code == 2
    assert call("raise", "people.ledger", "--epsilon", "3", "--because", "the board agreed").exit_code == 0
    assert "raised at entry 2: the board agreed" in call("show", "people.ledger").stdout


@pytest.mark.parametrize("name", ["show", "log", "export", "verify"])
def test_missing_ledger__is_named(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    done = call(name, "nothing.ledger")
    assert done.exit_code == 2
    assert "there is no ledger 'nothing.ledger'; make one by" in done.stderr


def test_curve__states_what_is_composed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ledger = fd.Ledger.create("a.ledger", epsilon=9.0)
    assert call("curve", "a.ledger").exit_code == 2
    ledger.spend(fd.Laplace(epsilon=0.1, sensitivity=1.0), times=50)
    expected = fd.compose([(fd.Laplace(epsilon=0.1, sensitivity=1.0), 50)]).epsilon(delta=1e-6)
    (found,) = json.loads(call("curve", "a.ledger", "--delta", "1e-6", "--json").stdout)["epsilon"]
    assert (found["lower"], found["upper"]) == expected
    shown = call("curve", "a.ledger").stdout
    assert "if all releases had been fixed beforehand, per record" in shown
    assert f"epsilon {math.ceil(expected.upper * 1e4) / 1e4:.4f} at delta 1e-06" in shown
    assert "at delta 1e-06; it decides nothing" in call("show", "a.ledger").stdout
