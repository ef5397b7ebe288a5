"""``fastdp audit epsilon``: what the outputs of a mechanism prove about its epsilon."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fastdp.cli.audit.words import read_count, read_mechanism, read_value

if TYPE_CHECKING:
    from fastdp.audits.result import EpsilonAudit

REFUTED = 1


@click.command("epsilon")
@click.argument("mechanism", required=False)
@click.argument("pair", nargs=-1, metavar="[A B]")
@click.option("--all", "every", is_flag=True, help="Audit every mechanism of the registry.")
@click.option("--draws", default="1e6", show_default=True, callback=read_count, help="Fresh draws per input.")
@click.option("--delta", type=float, default=0.0, show_default=True, help="The delta at which epsilon is proven.")
@click.option("--level", type=float, default=1 - 1e-6, show_default="1 - 1e-6", help="The confidence level.")
@click.option("--claimed", type=float, help="The epsilon to compare with; default: what the mechanism states.")
@click.option("--seed", type=click.IntRange(min=0), help="Draw from a fixed seed, to repeat an audit.")
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="Write an HTML page, which must not exist.")
@click.option("--force", is_flag=True, help="Replace an existing page.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    mechanism: str | None,
    pair: tuple[str, ...],
    *,
    every: bool,
    draws: int,
    delta: float,
    level: float,
    claimed: float | None,
    seed: int | None,
    output: str | None,
    force: bool,
    as_json: bool,
) -> None:
    """Prove a lower bound on the epsilon of MECHANISM from its outputs on two inputs, A and B.

    MECHANISM is the call that makes it, or module:callable for a function draw(value, count) of your own that returns
    an array. Without A and B, pairs of neighbours that follow from its parameters are searched. The exit code is 1 if
    more is proven than is claimed.

    \b
    Examples:
      fastdp audit epsilon "Laplace(epsilon=1, sensitivity=1)" 0 1 --draws 1e8
      fastdp audit epsilon "KRR(epsilon=1, domain=16)" -o audit.html
      fastdp audit epsilon "Gaussian(epsilon=1, delta=1e-5, sensitivity=1)" 0 1 --delta 1e-5 --draws 1e8
      fastdp audit epsilon mymodule:noisy_count 10 11 --claimed 1
      fastdp audit epsilon --all
    """
    if every == (mechanism is not None) or len(pair) not in (0, 2) or (every and output):
        raise click.UsageError("give a mechanism and two inputs, or none for a search, or --all, which has no page")
    from fastdp.audits.audit import epsilon, registry, search
    from fastdp.cli.files import check_outputs, page_writer, write_together
    from fastdp.random import Rng

    rng = None if seed is None else Rng.unsafe_seed(seed)
    if output:
        check_outputs("audit", [Path(output)], {}, force=force)
    found: list[EpsilonAudit] = []
    if every:
        for one in registry(draws=draws, level=level, rng=rng):
            found.append(one)
            if not as_json:
                click.echo(in_one_line(one))
    else:
        chosen = read_mechanism(str(mechanism))
        common = {"draws": draws, "delta": delta, "level": level, "claimed": claimed, "rng": rng}
        if pair:
            found.append(epsilon(chosen, *map(read_value, pair), **common))  # type: ignore[arg-type]
        else:
            found.append(search(chosen, **common))  # type: ignore[arg-type]
        if not as_json:
            click.echo(str(found[0]))
    if as_json:
        stated = [one.to_dict() for one in found]
        click.echo(json.dumps(stated if every else stated[0], indent=2))
    if output:
        from fastdp.report.audit import audit_page

        write_together("audit", {Path(output): page_writer(audit_page(found[0]))}, force=force)
        click.echo(f"{output}: the audit of {found[0].name}", err=True)
    if any(one.is_refuted for one in found):
        sys.exit(REFUTED)


def in_one_line(found: EpsilonAudit) -> str:
    """The name, what is proven and claimed, and the verdict."""
    from fastdp.audits.result import digits_down

    name = found.name.partition("(")[0]
    claimed = "-" if found.claimed is None else f"{found.claimed:.4f}"
    at = f"  delta {found.delta:g}" if found.delta else ""
    return f"{name:<22} proven {digits_down(found.epsilon)}  claimed {claimed}  {found.verdict}{at}"
