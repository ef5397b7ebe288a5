"""``fastdp anonymize``: a table generalized until every class meets a requirement."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("anonymize")
@click.argument("source", metavar="FILE", type=click.Path(exists=True, allow_dash=True))
@click.option(
    "-p", "--plan", "plan_path", required=True, type=click.Path(exists=True, dir_okay=False), help="The plan, in TOML."
)
@click.option("-o", "--output", type=click.Path(), help='The file to write; a new folder if it ends in "/".')
@click.option(
    "--page", type=click.Path(dir_okay=False), help="Write an HTML page with the lattice, which must not exist."
)
@click.option("--force", is_flag=True, help="Replace existing files.")
@click.option("-n", "--dry-run", is_flag=True, help="Search, and say what would be written; write nothing.")
@click.option("--from", "input_format", type=click.Choice(["parquet", "arrow", "csv"]), help="The format of FILE.")
@click.option("--json", "as_json", is_flag=True, help="Print the certificate as JSON.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")
def command(
    source: str,
    *,
    plan_path: str,
    output: str | None,
    page: str | None,
    force: bool,
    dry_run: bool,
    input_format: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Generalize FILE as its plan says, until every class has k rows, at the least loss possible.

    Every combination of levels is checked and the best one is taken. The output is counted anew before it appears, and
    the recount is in its receipt (OUT.receipt.json).

    \b
    A plan:
      k = 10
      sensitive = "diagnosis"
      drop = ["name"]
      [quasi]
      age = { intervals = [5, 10, 20] }
      zip = { prefix = [4, 3, 2] }
      education = { file = "education.csv" }

    \b
    Examples:
      fastdp anonymize people.parquet -p anon.toml --dry-run
      fastdp anonymize people.parquet -p anon.toml -o anonymous.parquet
      fastdp anonymize people.csv -p anon.toml -o anonymous.csv --page page.html
    """
    if output is None and not dry_run:
        raise click.UsageError("say where to write: -o OUT (or try it with --dry-run)")
    from fastdp.anonymity.anonymize import anonymize
    from fastdp.anonymity.findings import describe
    from fastdp.anonymity.plan import load_plan
    from fastdp.cli.files import check_outputs, page_writer, write_together
    from fastdp.validation import visible_text

    plan = load_plan(plan_path)
    if page is not None:
        check_outputs("anonymize", [Path(page)], {"input": source, "plan": plan_path}, force=force)
    made = anonymize(source, **plan, output=None if dry_run else output, force=force, input_format=input_format)
    if page is not None:
        from fastdp.report.anonymity import anonymized_page

        write_together("anonymize", {Path(page): page_writer(anonymized_page(made))}, force=force)
    if as_json:
        click.echo(made.certificate.to_json(), nl=False)
    elif not quiet:
        for line in str(made).partition("\nrecounted:")[0].splitlines():
            click.echo(visible_text(line))
        click.echo("recounted:" if dry_run else f"written to {output}; recounted:")
        for line in describe(made.classes, 10):
            click.echo(visible_text(f"  {line}"))
