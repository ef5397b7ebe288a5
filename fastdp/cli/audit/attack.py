"""``fastdp audit attack``: the attacks of the literature on a file, beside their closed forms."""

from __future__ import annotations

import functools
import json
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fastdp.cli.audit.words import read_count, read_mechanism

if TYPE_CHECKING:
    from fastdp.attacks import Attack

FAILED = 1
FILE = click.argument("file", required=False, type=click.Path(exists=True, allow_dash=True))
EPSILON = click.option(
    "--epsilon", type=click.FloatRange(min=0, min_open=True), default=1.0, show_default=True,
    help="The budget of the release that defends.",
)  # fmt: skip
SIZE = click.option(
    "--size", default="1e6", show_default=True, callback=read_count, help="People, where no FILE is given."
)
COLUMN = click.option("--column", help="The column of zeros and ones in FILE.")
EQUALS = click.option("--equals", metavar="VALUE", help="The bit is whether the column has this value.")
RELEASE = click.option(
    "--release", metavar="RELEASE", help="Your own: a mechanism as the call that makes it, or module:callable."
)


@click.group("attack")
def command() -> None:
    """Run an attack of the literature on a release, beside its closed form.

    Each attack is run on an exact release, and on one that fastdp's budget defends; with --release also on your own.
    With --fail-above the exit code is 1 if the last of them succeeds more often.

    \b
    Examples:
      fastdp audit attack reconstruction --size 1e6
      fastdp audit attack linkage patients.parquet voters.parquet --on zip,birthday,sex
      fastdp audit attack dictionary trips.csv --column licence --pattern 9A99
    """


def attack(name: str) -> Callable[[Callable[..., Any]], click.Command]:
    """A subcommand that returns attacks by the name of the release, and perhaps a sweep over noise, and prints them."""

    def wrap(function: Callable[..., Any]) -> click.Command:
        @click.option("--fail-above", type=float, help="Exit with 1 if the last release is attacked more successfully.")
        @click.option("-o", "--output", type=click.Path(dir_okay=False), help="Write an HTML page.")
        @click.option("--force", is_flag=True, help="Replace an existing page.")
        @click.option("--json", "as_json", is_flag=True, help="Print JSON.")
        @functools.wraps(function)
        def run(fail_above: float | None, output: str | None, *, force: bool, as_json: bool, **given: Any) -> None:
            from fastdp.cli.files import check_outputs

            if output:
                check_outputs("audit", [Path(output)], {}, force=force)
            found = function(**given)
            attacks, sweep = found if isinstance(found, tuple) else (found, None)
            _show(attacks, as_json=as_json)
            if output:
                from fastdp.cli.files import page_writer, write_together
                from fastdp.report.attack import attack_page

                write_together("audit", {Path(output): page_writer(attack_page(attacks, sweep))}, force=force)
                click.echo(f"{output}: {next(iter(attacks.values())).name}", err=True)
            if fail_above is not None and list(attacks.values())[-1].success > fail_above:
                sys.exit(FAILED)

        made: click.Command = command.command(name)(run)
        return made

    return wrap


def _show(attacks: Mapping[str, Attack], *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({name: found.to_dict() for name, found in attacks.items()}, indent=2))
        return
    first = next(iter(attacks.values()))
    click.echo(f"{first.name}: the share of {first.measure}, of {first.trials:,}")
    width = max(len(name) for name in attacks)
    for name, found in attacks.items():
        theory = "" if found.expected is None else f"  theory {found.expected:.4f} ({found.formula.rstrip(',')})"
        click.echo(f"  {name:<{width}}  {found.success:.4f}{theory}")
    click.echo(f"  {'a guess':<{width}}  {first.baseline:.4f}")
    click.echo(f"  defence: {first.defended_by}")


def _bits(file: str | None, column: str | None, equals: str | None, size: int) -> Any:
    """The bits of a file's column, or fair coins."""
    from fastdp.attacks.attack import fair_bits
    from fastdp.cli.audit.tables import read_bits, read_columns

    if (file is None) != (column is None):
        raise click.UsageError("give FILE and --column together, or neither for made-up bits")
    return fair_bits(size) if file is None else read_bits(read_columns(file, [str(column)]), str(column), equals)


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def _releases(exact: Any, budget: Any, own: str | None) -> dict[str, Any]:
    releases = {"exact": exact, "fastdp, one budget": budget}
    return releases if own is None else releases | {"your release": read_mechanism(own)}


@attack("differencing")
@FILE
@COLUMN
@EQUALS
@SIZE
@EPSILON
@RELEASE
def differencing(
    file: str | None, column: str | None, equals: str | None, size: int, epsilon: float, release: str | None
) -> Any:
    """Read people's bits off two sums that differ by one person.

    A callable of yours takes the bits of some people and returns their mean.

    \b
    Examples:
      fastdp audit attack differencing people.parquet --column disease --equals HIV
      fastdp audit attack differencing --epsilon 0.1
    """
    from fastdp import Laplace
    from fastdp.attacks import differencing as run

    bits = _bits(file, column, equals, size)
    releases = _releases(None, Laplace(epsilon=epsilon / 2, sensitivity=1.0), release)
    sweep = [0.1, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0]
    found = [(1 / e, run(bits, release=Laplace(epsilon=e, sensitivity=1.0), trials=20_000)) for e in sweep[::-1]]
    return {name: run(bits, release=one) for name, one in releases.items()}, ("scale of the noise", found)


@attack("averaging")
@click.option("--repeats", default="100", show_default=True, callback=read_count, help="Answers to the same question.")
@EPSILON
@RELEASE
def averaging(repeats: int, epsilon: float, release: str | None) -> Any:
    """Ask the same question again and again, and average the noise away.

    A callable of yours takes a count and the number of repeats, and returns as many answers.

    \b
    Example:
      fastdp audit attack averaging --repeats 1000
    """
    from fastdp import Laplace
    from fastdp.attacks import averaging as run

    each, budget = (Laplace(epsilon=e, sensitivity=1.0) for e in (epsilon, epsilon / repeats))
    releases: dict[str, Any] = {"fresh noise each time": each, "fastdp, one budget": budget}
    releases |= {} if release is None else {"your release": read_mechanism(release)}
    times = [1, 4, 16, 64, 256]
    found = [(float(t), run(each, repeats=t)) for t in times]
    return {name: run(one, repeats=repeats) for name, one in releases.items()}, ("repeats", found)


@attack("reconstruction")
@FILE
@COLUMN
@EQUALS
@SIZE
@click.option("--rho", type=click.FloatRange(min=0, min_open=True), default=1.0, show_default=True, help="The budget.")
@RELEASE
def reconstruction(
    file: str | None, column: str | None, equals: str | None, size: int, rho: float, release: str | None
) -> Any:
    """Win a column of bits back from noisy counts of subsets, a million bits in a tenth of a second.

    A callable of yours takes all true counts as an array and returns the answers.

    \b
    Examples:
      fastdp audit attack reconstruction --size 1e6 -o reconstruction.html
      fastdp audit attack reconstruction people.parquet --column disease --equals HIV
    """
    from fastdp import Gaussian
    from fastdp.attacks import reconstruction as run

    bits = _bits(file, column, equals, size)
    count = 1 << max(bits.size - 1, 1).bit_length()
    small = Gaussian(scale=max(math.sqrt(count) / 8, 1e-3), sensitivity=1.0)
    releases = {
        "exact": None, "noise of sqrt(n) / 8": small,
        **_releases(None, Gaussian(rho=rho / count, sensitivity=1.0), release),
    }  # fmt: skip
    sweep = [math.sqrt(count) / part for part in (16, 8, 4, 2, 1, 0.5)]
    found = [(scale, run(bits, release=Gaussian(scale=scale, sensitivity=1.0))) for scale in sweep]
    return {name: run(bits, release=one) for name, one in releases.items()}, ("standard deviation of the noise", found)


@attack("tracing")
@FILE
@click.option("--people", default="100", show_default=True, callback=read_count, help="People in the means.")
@click.option(
    "--attributes", default="1e4", show_default=True, callback=read_count, help="Means, where no FILE is given."
)
@EPSILON
@RELEASE
def tracing(file: str | None, people: int, attributes: int, epsilon: float, release: str | None) -> Any:
    """Tell by released means of many attributes who is in them.

    The first half of the rows of FILE are members, the others are not; all of its columns are zeros and ones. A
    callable of yours takes the members' rows and returns the means.

    \b
    Example:
      fastdp audit attack tracing --people 100 --attributes 1e4
    """
    import numpy as np

    from fastdp import Laplace
    from fastdp.attacks import tracing as run
    from fastdp.attacks.attack import fair_bits
    from fastdp.cli.audit.tables import read_bits, read_columns

    base = None
    if file is None:
        rows, base = fair_bits(2 * people * attributes).reshape(2 * people, attributes), np.full(attributes, 0.5)
    else:
        table = read_columns(file)
        rows = np.stack([read_bits(table, name, None) for name in table.column_names], axis=1)
    half, width = len(rows) // 2, rows.shape[1]
    if not half:
        raise click.UsageError("tracing needs at least two people")
    budget = Laplace(epsilon=epsilon / width, sensitivity=1 / half)
    releases = _releases(None, budget, release)
    found = {name: run(rows[:half], rows[half:], release=one, frequencies=base) for name, one in releases.items()}
    if base is None:
        return found
    from fastdp import Gaussian

    scales = [0.01, 0.03, 0.1, 0.3, 1.0, 3.0]
    noisy = [Gaussian(scale=scale, sensitivity=1.0) for scale in scales]
    dots = [(s, run(rows[:half], rows[half:], release=m, frequencies=base)) for s, m in zip(scales, noisy, strict=True)]
    return found, ("standard deviation of the noise on each mean", dots)


@attack("uniform")
@click.option(
    "--width", type=click.FloatRange(min=0, min_open=True), default=5.0, show_default=True, help="Of the noise."
)
@EPSILON
@RELEASE
def uniform(width: float, epsilon: float, release: str | None) -> Any:
    """Add uniform noise to a count, and see how often an answer is certain.

    A callable of yours takes a count and a number of draws, and returns as many answers.

    \b
    Example:
      fastdp audit attack uniform --width 5
    """
    import numpy as np

    from fastdp import Laplace
    from fastdp.attacks import bounded_noise as run

    source = np.random.default_rng()
    exact = run(lambda count, draws: count + source.uniform(0, width, draws), width=width)
    releases = {"uniform noise": exact, "fastdp Laplace": run(Laplace(epsilon=epsilon, sensitivity=1.0))}
    return releases if release is None else releases | {"your release": run(read_mechanism(release))}  # type: ignore[arg-type]


@attack("lattice")
@EPSILON
@RELEASE
def lattice(epsilon: float, release: str | None) -> Any:
    """Tell a value by the binary digits of floating-point noise.

    A callable of yours takes a value and a number of draws, and returns as many outputs.

    \b
    Example:
      fastdp audit attack lattice --release mymodule:noisy
    """
    import numpy as np

    from fastdp import Laplace
    from fastdp.attacks import lattice as run

    source = np.random.default_rng()
    leaky = run(lambda value, draws: value + source.laplace(0, 1 / epsilon, draws), epsilon=epsilon)
    releases = {"x + numpy laplace": leaky, "fastdp Laplace": run(Laplace(epsilon=epsilon, sensitivity=1.0))}
    return releases if release is None else releases | {"your release": run(read_mechanism(release), epsilon=epsilon)}


ON = click.option("--on", required=True, help="Columns that both have, with commas.")
TWO = click.argument("second", type=click.Path(exists=True))
ONE = click.argument("first", type=click.Path(exists=True))


@attack("linkage")
@ONE
@TWO
@ON
@EPSILON
def linkage(first: str, second: str, on: str, epsilon: float) -> Any:
    """Name the rows of FIRST, a release, by SECOND, a register, on the columns that both have.

    The defended release has these columns by k-ary randomized response that shares the budget.

    \b
    Example:
      fastdp audit attack linkage patients.parquet voters.parquet --on zip,birthday,sex
    """
    import pyarrow as pa

    from fastdp import KRR
    from fastdp.attacks import linkage as run
    from fastdp.attacks.keys import join_keys
    from fastdp.cli.audit.tables import read_columns

    names = _names(on) or []
    release, register = read_columns(first, names), read_columns(second, names)
    coded = {name: join_keys("audit", [release, register], [name]) for name in names}
    known = pa.table({name: codes[1] for name, codes in coded.items()})
    sizes = {name: int(max(codes[0].max(initial=0), codes[1].max(initial=0))) + 1 for name, codes in coded.items()}
    mechanisms = {name: KRR(epsilon=epsilon / len(names), domain=max(sizes[name], 2)) for name in names}
    private = {name: mechanisms[name].randomize(codes[0]) for name, codes in coded.items()}
    found = run(release, register, on=names)
    truth = _unique_truth(release, register, names)
    expected = found.success * math.prod(mechanism.p for mechanism in mechanisms.values())
    formula = "the same times the probability that every report is true"
    defended = replace(run(private, known, on=names, truth=truth), expected=expected, formula=formula)
    return {"as released": found, "fastdp, one budget": defended}


def _unique_truth(release: Any, register: Any, names: list[str]) -> Any:
    """For each released row the row of the register that it was joined with; -1 where there are none or several."""
    import numpy as np

    from fastdp.attacks.keys import join_keys

    rows, known = join_keys("audit", [release, register], names)
    sizes = np.bincount(known, minlength=int(max(rows.max(initial=0), known.max(initial=0))) + 1)
    holder = np.full(sizes.size, -1)
    holder[known] = np.arange(known.size)
    return np.where(sizes[rows] == 1, holder[rows], -1)


@attack("composition")
@ONE
@TWO
@click.option("--on-first", help="Columns that make the classes of FIRST, with commas; all by default.")
@click.option("--on-second", help="Columns that make the classes of SECOND, with commas; all by default.")
def composition(first: str, second: str, on_first: str | None, on_second: str | None) -> Any:
    """Read two k-anonymous tables of the same people together, row by row, and say what is left of k.

    \b
    Example:
      fastdp audit attack composition ages.csv weights.csv
    """
    from fastdp.attacks import composition as run
    from fastdp.cli.audit.tables import read_columns

    own = [_names(on_first), _names(on_second)]
    tables = [read_columns(path, names) for path, names in zip((first, second), own, strict=True)]
    found = run(*tables)
    k, joined = found.details["k"], found.details["k_joined"]
    return {f"k {k[0]} with k {k[1]}, together k {joined}": found}


@attack("similarity")
@ONE
@TWO
@click.option("--person", default="person", show_default=True, help="The column of persons.")
@click.option("--item", default="item", show_default=True, help="The column of items.")
@click.option("--value", help="A column of numbers, such as ratings, that must agree.")
@click.option("--tolerance", type=float, default=0.0, show_default=True, help="How far values may differ.")
@click.option("--known", default="8", show_default=True, callback=read_count, help="Items known of a person.")
@EPSILON
def similarity(
    first: str, second: str, person: str, item: str, value: str | None, tolerance: float, known: int, epsilon: float
) -> Any:
    """Find people in FIRST, sparse records such as ratings of films, by the few that SECOND knows of them.

    The defended release has every item by k-ary randomized response.

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
    return {"as released": found, "fastdp, one budget": replace(private, expected=None)}


@attack("topology")
@click.argument("first", type=click.Path(exists=True), metavar="EDGES")
@click.option("--rounds", default="3", show_default=True, callback=read_count, help="How far to look.")
def topology(first: str, rounds: int) -> Any:
    """Name the nodes of a graph without names by their neighbourhoods; EDGES has two columns.

    \b
    Example:
      fastdp audit attack topology friends.csv
    """
    from fastdp.attacks import topology as run
    from fastdp.cli.audit.tables import read_edges

    return {"as released": run(read_edges(first), rounds=rounds)}


@attack("dictionary")
@click.argument("first", type=click.Path(exists=True), metavar="FILE")
@click.option("--column", required=True, help="The column of pseudonyms.")
@click.option("--pattern", required=True, help="What was hashed: 9, A, a stand for a digit, a capital, a small letter.")
@click.option("--algorithm", default="md5", show_default=True, help="The hash.")
def dictionary(first: str, column: str, pattern: str, algorithm: str) -> Any:
    """Undo pseudonyms that are hashes without a key, by hashing everything that they could stand for.

    \b
    Example:
      fastdp audit attack dictionary trips.csv --column licence --pattern 9A99
    """
    from fastdp.attacks import dictionary as run
    from fastdp.cli.audit.tables import read_columns

    return {"as released": run(read_columns(first, [column])[column], pattern, algorithm=algorithm)}


@attack("tracker")
@click.argument("first", type=click.Path(exists=True), metavar="FILE")
@click.option("--column", required=True, help="The column of zeros and ones.")
@EQUALS
@click.option("--on", required=True, help="Columns that the attacker knows, with commas.")
@click.option(
    "--least", default="10", show_default=True, callback=read_count, help="The smallest set that is answered."
)
@EPSILON
def tracker(first: str, column: str, equals: str | None, on: str, least: int, epsilon: float) -> Any:
    """Read people's bits by counts that are each about many people.

    \b
    Example:
      fastdp audit attack tracker people.parquet --column disease --equals HIV --on zip,age,sex
    """
    from fastdp import Laplace
    from fastdp.attacks import tracker as run
    from fastdp.cli.audit.tables import read_bits, read_columns

    names = _names(on) or []
    table = read_columns(first, [*names, column])
    bits = read_bits(table, column, equals)
    private = Laplace(epsilon=epsilon / 2, sensitivity=1.0)
    return {
        "exact, large sets alone": run(table, bits, on=names, k=least),
        "fastdp, one budget": run(table, bits, on=names, k=least, release=private),
    }
