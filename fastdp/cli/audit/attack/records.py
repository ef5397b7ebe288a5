"""Attacks on published records: tables, sparse records, graphs, pseudonyms."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import click

from fastdp.cli.audit.attack.command import EPSILON, EQUALS, RELEASE, attack, names_of, own_callable
from fastdp.cli.audit.words import read_count, read_mechanism

ON = click.option("--on", required=True, help="Columns that both have, with commas.")
TWO = click.argument("second", type=click.Path(exists=True))
ONE = click.argument("first", type=click.Path(exists=True))


@attack("linkage")
@ONE
@TWO
@ON
@EPSILON
@RELEASE
def linkage(first: str, second: str, on: str, epsilon: float, release: str | None) -> Any:
    """Name the rows of FIRST, a release, by SECOND, a register, on the columns that both have.

    The defended release has these columns by k-ary randomized response that shares the budget. A callable of yours
    takes a table of these columns of FIRST, which then holds the true records, and returns what is published of it.

    \b
    Example:
      fastdp audit attack linkage patients.parquet voters.parquet --on zip,birthday,sex
    """
    import pyarrow as pa

    from fastdp import KRR
    from fastdp.attacks import linkage as run
    from fastdp.attacks.keys import join_keys
    from fastdp.attacks.linkage import named_rows
    from fastdp.cli.audit.tables import read_columns

    names = names_of(on) or []
    records, register = read_columns(first, names), read_columns(second, names)
    coded = {name: join_keys("audit", [records, register], [name]) for name in names}
    known = pa.table({name: codes[1] for name, codes in coded.items()})
    sizes = {name: int(max(codes[0].max(initial=0), codes[1].max(initial=0))) + 1 for name, codes in coded.items()}
    mechanisms = {name: KRR(epsilon=epsilon / len(names), domain=max(sizes[name], 2)) for name in names}
    private = {name: mechanisms[name].randomize(codes[0]) for name, codes in coded.items()}
    found = run(records, register, on=names)
    truth = named_rows(records, register, names)
    expected = found.success * math.prod(mechanism.p for mechanism in mechanisms.values())
    formula = "the same times the probability that every report is true"
    defended = replace(run(private, known, on=names, truth=truth), expected=expected, formula=formula)
    releases = {"as released": found, "fastdp, one budget": defended}
    if release is None:
        return releases
    return releases | {"your release": run(own_callable(release), register, on=names, records=records)}


@attack("composition")
@ONE
@TWO
@click.option("--on-first", help="Columns that make the classes of FIRST, with commas; all by default.")
@click.option("--on-second", help="Columns that make the classes of SECOND, with commas; all by default.")
@EPSILON
@RELEASE
def composition(
    first: str, second: str, on_first: str | None, on_second: str | None, epsilon: float, release: str | None
) -> Any:
    """Read two k-anonymous tables of the same people together, row by row, and say what is left of k.

    The defended release has every column by k-ary randomized response that shares the budget. A callable of yours
    takes each of the tables and returns what is published of it.

    \b
    Example:
      fastdp audit attack composition ages.csv weights.csv
    """
    from fastdp.attacks import composition as run
    from fastdp.cli.audit.tables import read_columns

    own = [names_of(on_first), names_of(on_second)]
    tables = [read_columns(path, names) for path, names in zip((first, second), own, strict=True)]
    share = epsilon / sum(table.num_columns for table in tables)
    found = run(*tables)
    k, joined = found.details["k"], found.details["k_joined"]
    releases = {f"k {k[0]} with k {k[1]}, together k {joined}": found}
    releases["fastdp, one budget"] = run(*tables, release=lambda table: _randomized(table, share))
    return releases if release is None else releases | {"your release": run(*tables, release=own_callable(release))}


def _randomized(table: Any, epsilon: float) -> dict[str, Any]:
    """Every column of a table by k-ary randomized response, as codes."""
    from fastdp import KRR
    from fastdp.attacks.keys import join_keys

    codes = {name: join_keys("audit", [table], [name])[0] for name in table.column_names}
    return {
        name: KRR(epsilon=epsilon, domain=max(int(column.max(initial=0)) + 1, 2)).randomize(column)
        for name, column in codes.items()
    }


@attack("similarity")
@ONE
@TWO
@click.option("--person", default="person", show_default=True, help="The column of persons.")
@click.option("--item", default="item", show_default=True, help="The column of items.")
@click.option("--value", help="A column of numbers, such as ratings, that must agree.")
@click.option("--tolerance", type=float, default=0.0, show_default=True, help="How far values may differ.")
@click.option("--known", default="8", show_default=True, callback=read_count, help="Items known of a person.")
@EPSILON
@RELEASE
def similarity(
    first: str, second: str, person: str, item: str, value: str | None, tolerance: float, known: int, epsilon: float,
    release: str | None,
) -> Any:  # fmt: skip
    """Find people in FIRST, sparse records such as ratings of films, by the few that SECOND knows of them.

    The defended release has every item by k-ary randomized response. A callable of yours takes the rows of FIRST and
    returns those that are published.

    \b
    Example:
      fastdp audit attack similarity ratings.parquet reviews.csv --value stars --tolerance 1
    """
    from fastdp import KRR
    from fastdp.attacks import similarity as run
    from fastdp.attacks.keys import join_keys
    from fastdp.cli.audit.tables import read_columns

    names = [person, item, *([value] if value else [])]
    tables = [read_columns(path, names) for path in (first, second)]
    common: dict[str, Any] = {"value": value, "tolerance": tolerance, "known": known}
    found = run(*tables, person=person, item=item, **common)
    people, items = (join_keys("audit", tables, [name]) for name in (person, item))
    size = int(max(items[0].max(), items[1].max())) + 1
    noisy = KRR(epsilon=epsilon, domain=max(size, 2)).randomize(items[0])
    values = [{} if value is None else {str(value): table[value]} for table in tables]
    private = run(
        {"person": people[0], "item": noisy, **values[0]},
        {"person": people[1], "item": items[1], **values[1]},
        **common,
    )
    releases = {"as released": found, "fastdp, one budget": replace(private, expected=None)}
    if release is None:
        return releases
    own = run(own_callable(release), tables[1], person=person, item=item, records=tables[0], **common)
    return releases | {"your release": own}


@attack("topology")
@click.argument("first", type=click.Path(exists=True), metavar="EDGES")
@click.option("--rounds", default="3", show_default=True, callback=read_count, help="How far to look.")
@EPSILON
@RELEASE
def topology(first: str, rounds: int, epsilon: float, release: str | None) -> Any:
    """Name the nodes of a graph without names by their neighbourhoods; EDGES has two columns.

    The defended release has both ends of every edge by k-ary randomized response. A callable of yours takes the edges
    as an array of two columns of node numbers, and returns those that are published.

    \b
    Example:
      fastdp audit attack topology friends.csv
    """
    from fastdp import KRR
    from fastdp.attacks import topology as run
    from fastdp.cli.audit.tables import read_edges

    edges = read_edges(first)
    ends = KRR(epsilon=epsilon / 2, domain=max(int(edges.max()) + 1, 2))
    releases = {
        "as released": run(edges, rounds=rounds),
        "fastdp, one budget": run(
            lambda true: ends.randomize(true.ravel()).reshape(-1, 2), rounds=rounds, records=edges
        ),
    }
    return (
        releases
        if release is None
        else releases | {"your release": run(own_callable(release), rounds=rounds, records=edges)}
    )


@attack("dictionary")
@click.argument("first", type=click.Path(exists=True), metavar="FILE")
@click.option("--column", required=True, help="The column of pseudonyms.")
@click.option("--pattern", required=True, help="What was hashed: 9, A, a stand for a digit, a capital, a small letter.")
@click.option("--algorithm", default="md5", show_default=True, help="The hash.")
@EPSILON
@RELEASE
def dictionary(first: str, column: str, pattern: str, algorithm: str, epsilon: float, release: str | None) -> Any:
    """Undo pseudonyms that are hashes without a key, by hashing everything that they could stand for.

    The defended release has the pseudonyms by k-ary randomized response. With a callable of yours the column holds the
    true texts instead: the callable takes them and returns their pseudonyms.

    \b
    Example:
      fastdp audit attack dictionary trips.csv --column licence --pattern 9A99
    """
    import hashlib

    import pyarrow as pa

    from fastdp import KRR
    from fastdp.attacks import dictionary as run
    from fastdp.attacks.dictionary import checked_algorithm
    from fastdp.cli.audit.tables import read_columns

    given = read_columns(first, [column])[column]
    own = None if release is None else own_callable(release)
    texts = given.cast(pa.string()).combine_chunks().dictionary_encode()
    texts = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
    if own is not None:  # the column is what is hashed
        made = getattr(hashlib, checked_algorithm(algorithm))
        hashes = pa.array([made(str(text).encode()).hexdigest() for text in texts.dictionary.to_pylist()])
        texts = pa.DictionaryArray.from_arrays(texts.indices, hashes)
    hidden = texts.dictionary_decode()
    noisy = KRR(epsilon=epsilon, domain=max(len(texts.dictionary), 2)).randomize(texts.indices.to_numpy())
    private = texts.dictionary.take(pa.array(noisy % len(texts.dictionary)))
    releases = {
        "as released" if own is None else f"{algorithm} without a key": run(hidden, pattern, algorithm=algorithm),
        "fastdp, one budget": run(private, pattern, algorithm=algorithm, truth=hidden),
    }
    if own is None:
        return releases
    return releases | {"your release": run(own, pattern, algorithm=algorithm, records=given.cast(pa.string()))}


@attack("tracker")
@click.argument("first", type=click.Path(exists=True), metavar="FILE")
@click.option("--column", required=True, help="The column of zeros and ones.")
@EQUALS
@click.option("--on", required=True, help="Columns that the attacker knows, with commas.")
@click.option(
    "--least", default="10", show_default=True, callback=read_count, help="The smallest set that is answered."
)
@EPSILON
@RELEASE
def tracker(
    first: str, column: str, equals: str | None, on: str, least: int, epsilon: float, release: str | None
) -> Any:
    """Read people's bits by counts that are each about many people.

    A callable of yours takes the bits of some people and returns their count, or None to refuse.

    \b
    Example:
      fastdp audit attack tracker people.parquet --column disease --equals HIV --on zip,age,sex
    """
    from fastdp import Laplace
    from fastdp.attacks import tracker as run
    from fastdp.cli.audit.tables import read_bits, read_columns

    names = names_of(on) or []
    table = read_columns(first, [*names, column])
    bits = read_bits(table, column, equals)
    private = Laplace(epsilon=epsilon / 2, sensitivity=1.0)
    releases = {
        "exact, large sets alone": run(table, bits, on=names, k=least),
        "fastdp, one budget": run(table, bits, on=names, k=least, release=private),
    }
    if release is None:
        return releases
    made = read_mechanism(release)
    own: Any = (lambda mask: made(bits[mask])) if callable(made) else made
    return releases | {"your release": run(table, bits, on=names, k=least, release=own)}
