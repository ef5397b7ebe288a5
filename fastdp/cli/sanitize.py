"""``fastdp sanitize``: a file as its plan says."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fastdp.cli.files import csv_options
from fastdp.cli.options import FORMATS, RECEIPT

if TYPE_CHECKING:
    from fastdp.random.job import JobKey


@click.command("sanitize")
@click.argument("source", metavar="IN", type=click.Path(exists=True, allow_dash=True))
@click.option(
    "-p", "--plan", "plan_path", required=True, type=click.Path(exists=True, dir_okay=False), help="The plan, in TOML."
)
@click.option(
    "-o",
    "--output",
    type=click.Path(allow_dash=True),
    help='The file to write, which must not exist; a new folder if it ends in "/"; "-" for standard output.',
)
@click.option("--from", "input_format", type=FORMATS, help="The format of IN, where its content and name do not tell.")
@click.option("--to", "output_format", type=FORMATS, help="The format of OUT, where its name does not tell.")
@csv_options
@RECEIPT
@click.option(
    "--ledger", type=click.Path(dir_okay=False), help="The ledger that pays for the release; default: the plan's."
)
@click.option("--name", default="", help="What the release is called in the ledger.")
@click.option("--records", type=click.IntRange(min=1), help="Records of one unit of the budget, at the most.")
@click.option(
    "--key", "key_path", type=click.Path(dir_okay=False),
    help="The file of a job key, made if it is not there: the same key gives the same bytes, and is paid for once.",
)  # fmt: skip
@click.option("--shuffle", is_flag=True, help="Release the rows in a random order: for inputs that are sorted.")
@click.option("--force", is_flag=True, help="Replace an existing output file.")
@click.option("-n", "--dry-run", is_flag=True, help="Check plan and file, print what would be done, write nothing.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print the receipt as JSON; on standard error if the data are on output."
)
@click.option("-v", "--verbose", is_flag=True, help="Say what is done, stage by stage.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")
def command(
    source: str,
    plan_path: str,
    output: str | None,
    *,
    input_format: str | None,
    output_format: str | None,
    csv: dict[str, str | None],
    receipt: str | None,
    ledger: str | None,
    name: str,
    records: int | None,
    key_path: str | None,
    shuffle: bool,
    force: bool,
    dry_run: bool,
    as_json: bool,
    verbose: bool,
    quiet: bool,
) -> None:
    """Sanitize IN, column by column, as its plan says.

    IN is a Parquet, Arrow or CSV file, a folder of Parquet files, or "-" for standard input (Arrow stream or CSV). The
    format of the output follows its ending: .parquet, .arrow, .arrows (a stream), .csv, .csv.gz, .csv.zst, or "/" for
    a new folder. --delimiter, --quote, --encoding and --decimal hold for what is read and for what is written.

    The output appears when it is complete, with a receipt beside it (OUT.receipt.json); on any error nothing is left.
    Standard output cannot be taken back: on an error it ends early, and the exit status tells (in a shell's pipe, set
    pipefail); an Arrow stream then has no end marker.

    \b
    Examples:
      fastdp plan init people.parquet > plan.toml
      fastdp sanitize people.parquet -p plan.toml --dry-run
      fastdp sanitize people.parquet -p plan.toml -o private.parquet
      fastdp sanitize people.csv -p plan.toml -o private.csv --shuffle
      fastdp sanitize parts/ -p plan.toml -o private/
      fastdp sanitize people.parquet -p plan.toml -o private.parquet --ledger people.ledger
      fastdp sanitize people.csv.gz -p plan.toml -o private.csv.zst --delimiter ";" --decimal ,
      cat people.csv | fastdp sanitize - -p plan.toml -o - --receipt r.json > private.csv
    """
    if output is None and not dry_run:
        raise click.UsageError("say where to write: -o OUT (or try it with --dry-run)")
    if quiet and verbose:
        raise click.UsageError("-q and -v contradict each other")
    from fastdp.cli.terminal.screen import progress, spoken
    from fastdp.plans.explain import explain_total
    from fastdp.plans.plan import Plan
    from fastdp.tables.sanitizing.job import Job

    plan = Plan.load(plan_path)
    with spoken() if verbose else nullcontext():
        job = Job(source, plan, input_format=input_format, shuffle=shuffle, csv=csv)
        opened = None
        if output is not None:
            opened = job.open_output(output, receipt=receipt, output_format=output_format, force=force)
        if dry_run or opened is None:
            _explain(job, as_json=as_json)
            return
        with _shown_warnings(quiet=quiet), progress(quiet=quiet) as update:
            key = _open_key(key_path)
            job.pay(ledger, key, opened, name=name, records=records, repeatable=key_path is not None)
            made = job.write(opened, key, update)
    if as_json:
        click.echo(made.to_json(), nl=False, err=output == "-")
    if not quiet:
        click.echo(f"{made.rows:,} records written to {'standard output' if output == '-' else output}", err=True)
        for line in explain_total(plan, is_composed=False):
            click.echo(line, err=True)


def _open_key(path: str | None) -> JobKey:
    """The key of a file, a new one where there is no such file; from the operating system if none is named."""
    from fastdp.random.job import JobKey

    if path is None:
        return JobKey.derived(None)
    if not Path(path).exists():
        JobKey().save(path)
    return JobKey.load(path)


def _explain(job: Any, *, as_json: bool) -> None:
    """What would be done."""
    from fastdp.plans.guarantee import describe_guarantee

    if as_json:
        shown = {"rows": job.source.rows, "guarantee": describe_guarantee(job.plan)}
        click.echo(json.dumps(shown, indent=2, ensure_ascii=False))
    else:
        from fastdp.cli.plan import show

        show(job.plan)


@contextmanager
def _shown_warnings(*, quiet: bool) -> Iterator[None]:
    """Warnings as one line each, without the place in the code."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for warning in caught:
        if not quiet and warning.category is UserWarning:
            click.echo(f"warning: {warning.message}", err=True)
