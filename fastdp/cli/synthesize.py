"""``fastdp synthesize``: rows of a private model of a file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from fastdp.cli.options import FORMATS, INPUT_FORMAT, LEDGER, LEVEL, RECEIPT

if TYPE_CHECKING:
    from fastdp.synthesis.result import Synthesis
    from fastdp.synthesis.synthesize import Job


@click.command("synthesize")
@click.argument("source", metavar="FILE", type=click.Path(exists=True, allow_dash=True))
@click.option(
    "-p", "--plan", "plan_path", required=True, type=click.Path(exists=True, dir_okay=False), help="synth.toml"
)
@click.option("-o", "--output", type=click.Path(allow_dash=True), help='The rows: .parquet, .arrow, .csv, or "-".')
@click.option("--rows", type=click.IntRange(min=1), help="How many; about as many as FILE has by default.")
@click.option("--html", type=click.Path(dir_okay=False), help="A page with noisy and synthetic marginals.")
@RECEIPT
@LEDGER
@click.option("--name", default="", help="What the synthesis is called in the ledger.")
@LEVEL
@INPUT_FORMAT
@click.option("--to", "output_format", type=FORMATS, help="The format of OUT, where its name does not tell.")
@click.option("--explain", "-n", "--dry-run", "explain", is_flag=True, help="Say what it would cost; spend nothing.")
@click.option("--force", is_flag=True, help="Replace existing outputs.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")
def command(source: str, plan_path: str, **options: Any) -> None:
    """Make synthetic rows of FILE, as synth.toml says.

    FILE is a Parquet, Arrow or CSV file, a folder of Parquet files, or "-" for standard input. Everything is checked
    and the ledger is charged before any noise is drawn. Rows cost nothing more, however many.

    \b
    Examples:
      fastdp synthesize people.parquet -p synth.toml --explain
      fastdp synthesize people.parquet -p synth.toml -o synthetic.parquet --ledger people.ledger
      fastdp synthesize people.csv -p synth.toml -o synthetic.csv --rows 1000000 --html page.html
    """
    from fastdp import validation
    from fastdp.synthesis.plan import SynthesisPlan
    from fastdp.synthesis.synthesize import Job

    level = validation.level("synthesize", options["level"])
    job = Job(SynthesisPlan.load(plan_path), source, input_format=options["input_format"])
    if options["explain"]:
        _explain(job, as_json=options["as_json"])
        return
    if not (options["output"] or options["html"]):
        raise click.UsageError("say where to write: -o OUT (or try it with --explain)")
    if options["output"] == "-" and options["as_json"]:
        raise click.UsageError("standard output is for the rows; leave --json out, or name a file")
    _check(options, source, plan_path)
    from fastdp.cli.terminal.screen import progress

    with progress(quiet=options["quiet"], doing="fitting") as update:
        made = job.run(
            ledger=options["ledger"], name=options["name"], report=lambda share, _doing: update(int(share * 100), 100)
        )
    if options["output"]:
        made.write(
            options["output"], options["rows"], receipt=options["receipt"], output_format=options["output_format"],
            force=options["force"],
        )  # fmt: skip
    if options["html"]:
        from pathlib import Path

        from fastdp.cli.files import page_writer, write_together
        from fastdp.report.synthesis import synthesis_page

        page = synthesis_page(made, level=level)
        write_together("synthesize", {Path(options["html"]): page_writer(page)}, force=options["force"])
    _say(made, level, as_json=options["as_json"], quiet=options["quiet"])


def _check(options: dict[str, Any], source: str, plan_path: str) -> None:
    """Where outputs go, refused before anything is spent."""
    from pathlib import Path

    from fastdp.cli.files import check_outputs, check_table_name
    from fastdp.io.sinks import receipt_path

    paths = [Path(options[key]) for key in ("html", "receipt") if options[key]]
    output = options["output"]
    if output and output != "-":
        if options["output_format"] is None:
            check_table_name("-o", Path(output))
        paths.append(Path(output))
        if not options["receipt"]:
            paths.append(receipt_path(Path(output)))
    inputs = {"input": source, "plan": plan_path, "ledger": options["ledger"]}
    check_outputs("synthesize", paths, inputs, force=options["force"])


def _explain(job: Job, *, as_json: bool) -> None:
    from fastdp.queries.plans.explain import in_words

    lines = job.explain()
    if as_json:
        stated = job.privacy
        click.echo(
            json.dumps({"epsilon": stated.epsilon, "delta": stated.delta, "rho": stated.rho, "marginals": lines})
        )
        return
    for line in lines:
        expected = (
            "decided by what is measured first" if line["expected"] is None else f"{100 * line['expected']:.3g} %"
        )
        click.echo(f"  {line['marginal']:<40} {line['cells']:>12,} cells  {expected}")
    click.echo(f"\nIt costs {in_words(job.privacy)}. Nothing was read but the schema, and nothing was spent.")


def _say(made: Synthesis, level: float, *, as_json: bool, quiet: bool) -> None:
    from fastdp.queries.plans.explain import in_words

    errors = made.errors(level).to_pylist()
    if as_json:
        click.echo(
            json.dumps({"level": level, "errors": errors, "receipt": made.receipt.to_dict()}, default=str, indent=2)
        )
    if quiet or as_json:
        return
    click.echo(made.warning, err=True)
    click.echo("Modelled: " + "; ".join(" × ".join(clique) for clique in made.modelled()), err=True)
    missing = made.not_modelled()
    if missing:
        click.echo(f"Not modelled: {len(missing)} pairs, such as {' × '.join(missing[0])}", err=True)
    mean = errors[0]
    if mean["error"] is not None:
        click.echo(
            f"Mean distance of the workload's marginals: {100 * mean['error']:.3g} % ({100 * level:g} %: "
            f"{100 * mean['low']:.3g} to {100 * mean['high']:.3g} %)", err=True,
        )  # fmt: skip
    click.echo(f"It cost {in_words(made.privacy)}.", err=True)
