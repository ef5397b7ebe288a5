"""Attacks on noisy numbers: sums, means, counts, and the digits of noise."""

from __future__ import annotations

import math
from typing import Any

import click

from fastdp.cli.audit.attack.command import COLUMN, EPSILON, EQUALS, FILE, RELEASE, SIZE, attack
from fastdp.cli.audit.words import read_count, read_mechanism


def _bits(file: str | None, column: str | None, equals: str | None, size: int) -> Any:
    """The bits of a file's column, or fair coins."""
    from fastdp.attacks.attack import fair_bits
    from fastdp.cli.audit.tables import read_bits, read_columns

    if (file is None) != (column is None):
        raise click.UsageError("give FILE and --column together, or neither for made-up bits")
    return fair_bits(size) if file is None else read_bits(read_columns(file, [str(column)]), str(column), equals)


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
