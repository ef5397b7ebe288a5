"""Every node of random lattices against brute force: loss, suppression, and the search that skips nodes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fastdp.anonymity.coding.codes import sort_values
from fastdp.anonymity.coding.encoding import reduce_rows
from fastdp.anonymity.coding.grouping import Shares
from fastdp.anonymity.coding.reading import open_table, read_rows
from fastdp.anonymity.generalization import climb_all
from fastdp.anonymity.lattice import Problem, search
from fastdp.anonymity.loss import LOSSES, Loss
from fastdp.anonymity.requirements import Requirement
from fastdp.hierarchies import Hierarchy
from tests.anonymity.reference import best_levels

LETTERS = Hierarchy.labels(
    {c: [(c in "abc" and "x") or (c in "de" and "y") or "z", (c in "abcde" and "u") or "v"] for c in "abcdefgh"}
)
HIERARCHIES = {
    "age": Hierarchy.intervals(5, 20),
    "letter": LETTERS,
    "zip": Hierarchy.prefix(2, 1),
    "sex": Hierarchy.suppress(),
}


def random_rows(seed: int, rows: int = 120) -> dict[str, list]:
    rng = np.random.default_rng(seed)
    return {
        "age": rng.integers(20, 70, rows).tolist(),
        "letter": [str(c) for c in rng.choice(list("abcdefgh"), rows, p=[0.3, 0.2, 0.1, 0.1, 0.1, 0.1, 0.05, 0.05])],
        "zip": [str(z) for z in rng.choice(["661", "662", "671", "101"], rows)],
        "sex": [str(z) for z in rng.choice(["f", "m"], rows)],
        "ill": [str(z) for z in rng.choice(["flu", "HIV", "none"], rows, p=[0.5, 0.2, 0.3])],
    }


def problem(table, requirement, loss, most, dummies=0, secrets=()):
    names = [*HIERARCHIES, *secrets]
    rows = reduce_rows(read_rows("test", open_table("test", table), names, "error"))
    ladders = climb_all("test", rows, HIERARCHIES)
    found = [sort_values(rows.of([name])[0], rows.weights) for name in secrets]
    shares = [Shares.of(counts) for _, counts in found]
    return Problem(
        ladders,
        rows.weights,
        [ranked for ranked, _ in found],
        shares,
        requirement,
        Loss.of(loss, ladders),
        most,
        dummies,
    )


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("seed", "k", "most"), [(1, 3, 12), (2, 5, 0), (3, 2, 40)])
def test_lattice__agrees_with_brute_force_at_every_node(loss, seed, k, most):
    table = random_rows(seed)
    expected = best_levels([table[name] for name in HIERARCHIES], list(HIERARCHIES.values()), k, most, loss)
    asked = problem(table, Requirement(k=k), loss, most)
    found = search(asked)
    assert found.size == 128
    assert found.visited == 128
    assert {node.levels: node.suppressed for node in found.nodes} == {
        levels: lost for levels, (_, lost) in expected.items()
    }
    for node in found.nodes:
        assert node.loss == pytest.approx(expected[node.levels][0], rel=1e-9, abs=1e-12)
    assert found.nodes[0].loss == min(node.loss for node in found.nodes)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(4))
def test_pruned_search__finds_the_optimum_in_fewer_visits(loss, seed):
    asked = problem(random_rows(seed), Requirement(k=4), loss, 6)
    whole, pruned = search(asked), search(asked, most_nodes=10)
    assert pruned.proven
    assert pruned.nodes[0].loss == pytest.approx(whole.nodes[0].loss, rel=1e-12)
    assert pruned.visited < whole.visited


FITS = {
    "l": (Requirement(k=3, l=3), lambda c: len(c) >= 3),
    "alpha": (Requirement(k=3, alpha=0.6), lambda c: max(c.values()) <= 0.6 * sum(c.values()) + 1e-9),
    "entropy": (
        Requirement(k=3, l=2.0, l_model="entropy"),
        lambda c: -sum(x / sum(c.values()) * math.log(x / sum(c.values())) for x in c.values()) >= math.log(2) - 1e-12,
    ),
}


@pytest.mark.parametrize("model", FITS)
def test_lattice__agrees_with_brute_force_where_values_count(model):
    requirement, fits = FITS[model]
    table = random_rows(9)
    expected = best_levels(
        [table[name] for name in HIERARCHIES], list(HIERARCHIES.values()), 3, 12, "ncp", fits, table["ill"]
    )
    asked = problem(table, requirement, "ncp", 12, secrets=["ill"])
    found = search(asked)
    assert {node.levels: node.suppressed for node in found.nodes} == {
        levels: lost for levels, (_, lost) in expected.items()
    }
    for node in found.nodes:
        assert node.loss == pytest.approx(expected[node.levels][0], rel=1e-9, abs=1e-12)
    assert search(asked, most_nodes=10).nodes[0].loss == pytest.approx(found.nodes[0].loss)


@pytest.mark.parametrize("asked", [{"l": 2}, {"t": 0.4}, {"alpha": 0.8}])
def test_lattice__judges_a_class_by_every_sensitive_column(asked):
    """Against numpy at every node; with either column alone more nodes or fewer rows would pass."""
    table = random_rows(11) | {"job": [str(one) for one in np.random.default_rng(3).choice(list("xyz"), 120)]}
    both, *alone = (
        problem(table, Requirement(k=3, **asked), "ncp", 25, secrets=names)
        for names in (["ill", "job"], ["ill"], ["job"])
    )
    found = search(both)
    assert found.nodes
    for node in found.nodes:
        assert both.assess(node.levels)[1] == node.suppressed
    lost = {node.levels: node.suppressed for node in found.nodes}
    for one in alone:
        other = {node.levels: node.suppressed for node in search(one).nodes}
        assert lost.keys() <= other.keys()
        assert all(other[levels] <= count for levels, count in lost.items())
        assert other != lost
    assert search(both, most_nodes=10).nodes[0].loss == pytest.approx(found.nodes[0].loss)


@pytest.mark.parametrize("dummies", [0, 5, 30])
def test_lattice__agrees_with_numpy_where_classes_are_padded(dummies):
    asked = problem(random_rows(4), Requirement(k=4), "ncp", 20, dummies)
    found = search(asked)
    for node in found.nodes:
        raw, lost, added = asked.assess(node.levels)
        assert (lost, added) == (node.suppressed, node.dummies)
        assert asked.loss.scaled(raw) == pytest.approx(node.loss)
        assert added <= dummies
    assert dummies == 0 or any(node.dummies for node in found.nodes)


def test_lattice__holds_more_than_64_bits():
    """Thirteen columns of some fifty values take 78 bits: two words."""
    rng = np.random.default_rng(5)
    names = [f"c{j}" for j in range(13)]
    table = {name: rng.integers(0, 100 if j < 5 else 2**20, 50).tolist() for j, name in enumerate(names)}
    rows = reduce_rows(read_rows("test", open_table("test", table), names, "error"))
    ladders = climb_all("test", rows, dict.fromkeys(names, Hierarchy.suppress()))
    asked = Problem(ladders, rows.weights, [], [], Requirement(k=5), Loss.of("ncp", ladders), 0, 0)
    found = search(asked, most_nodes=1 << 20)
    assert found.size == 2**13
    best = found.nodes[0]
    assert asked.assess(best.levels)[0] / 50 == pytest.approx(best.loss)
    pruned = search(asked, most_nodes=10)
    assert pruned.nodes[0].loss == pytest.approx(best.loss)
    assert pruned.visited < found.visited
