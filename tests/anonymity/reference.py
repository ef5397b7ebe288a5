"""Models of anonymity as their definitions say, one class at a time, in plain Python."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from fractions import Fraction


def group(rows: list[tuple], secrets: list) -> dict[tuple, Counter]:
    """The sensitive values of every class."""
    found: dict[tuple, Counter] = defaultdict(Counter)
    for row, secret in zip(rows, secrets, strict=True):
        found[row][secret] += 1
    return found


def figures(rows: list[tuple], secrets: list) -> dict[str, float]:
    """Every model of a table, from exact fractions where that is possible."""
    classes, n = group(rows, secrets), len(rows)
    whole = Counter(secrets)
    order = sorted(whole)
    p = {s: Fraction(whole[s], n) for s in order}
    per_class = [one_class(counts, p, order) for counts in classes.values()]
    return {
        "k": min(sum(c.values()) for c in classes.values()),
        "classes": len(classes),
        "unique": sum(sum(c.values()) == 1 for c in classes.values()),
        "homogeneous": sum(sum(c.values()) for c in classes.values() if len(c) == 1),
        "guessed": sum(max(c.values()) for c in classes.values()) / n,
        "distinct_l": min(len(c) for c in classes.values()),
        "entropy_l": min(math.exp(one["entropy"]) for one in per_class),
        **{
            name: max(float(one[name]) for one in per_class)
            for name in ("alpha", "t_equal", "t_ordered", "beta", "delta")
        },
    }


def one_class(counts: Counter, p: dict, order: list) -> dict[str, float]:
    size = sum(counts.values())
    q = {s: Fraction(counts[s], size) for s in order}
    run, moved = Fraction(0), Fraction(0)
    for s in order:
        run += q[s] - p[s]
        moved += abs(run)
    return {
        "entropy": -sum(float(x) * math.log(x) for x in q.values() if x),
        "alpha": max(q.values()),
        "t_equal": sum(abs(q[s] - p[s]) for s in order) / 2,
        "t_ordered": moved / (len(order) - 1) if len(order) > 1 else 0,
        "beta": max((q[s] - p[s]) / p[s] for s in order),
        "delta": max(abs(math.log(q[s] / p[s])) if q[s] else math.inf for s in order),
    }


def recursive(counts: Counter, l: int) -> float:
    """r_1 / (r_l + ... + r_m)."""
    ranked = sorted(counts.values(), reverse=True)
    return ranked[0] / sum(ranked[l - 1 :]) if len(ranked) >= l else math.inf


def best_levels(columns: list[list], hierarchies: list, k: int, most: int, loss: str, fits=None, secrets=None):
    """The loss and suppression of every node that qualifies, by brute force over all levels."""
    n = len(columns[0])
    found = {}
    labels = [
        [h.generalize(sorted(set(c)), i) for i in range(h.levels)] for c, h in zip(columns, hierarchies, strict=True)
    ]
    places = [{v: i for i, v in enumerate(sorted(set(c)))} for c in columns]
    for levels in itertools.product(*(range(h.levels) for h in hierarchies)):
        maps = [labels[j][level] for j, level in enumerate(levels)]
        rows = [tuple(maps[j][places[j][column[i]]] for j, column in enumerate(columns)) for i in range(n)]
        classes = group(rows, secrets or [0] * n)
        good = {row for row, c in classes.items() if sum(c.values()) >= k and (fits is None or fits(c))}
        lost = sum(row not in good for row in rows)
        if lost > most or not good:
            continue
        found[levels] = (cost_of(loss, columns, maps, places, rows, classes, good), lost)
    return found


def cost_of(loss, columns, maps, places, rows, classes, good) -> float:
    n, width = len(rows), len(columns)
    if loss == "discernibility":
        return float(sum(sum(classes[row].values()) if row in good else n for row in rows))
    total = Fraction(0) if loss == "ncp" else 0.0
    most = 0.0
    for j, column in enumerate(columns):
        shared, rows_of, values = Counter(maps[j]), Counter(), Counter(column)
        for value in column:
            rows_of[maps[j][places[j][value]]] += 1
        for i, value in enumerate(column):
            label = maps[j][places[j][value]]
            kept = rows[i] in good
            if loss == "ncp":
                part = Fraction(shared[label] - 1, max(len(values) - 1, 1)) if kept else Fraction(1)
                total += part / (n * width)
            else:
                most += math.log(n / values[value])
                total += math.log((rows_of[label] if kept else n) / values[value])
    return float(total) if loss == "ncp" else total / most
