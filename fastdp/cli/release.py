"""``fastdp release``: answers about a file, with noise, from a budget."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fastdp.cli.options import INPUT_FORMAT, LEDGER, LEVEL, RECEIPT

if TYPE_CHECKING:
    from fastdp.queries.plans.plan import ReleasePlan
    from fastdp.queries.plans.run import Job, ReleaseAnswers


class _RunByDefault(click.Group):
    """``fastdp release FILE`` runs; ``init`` is a command of its own."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in {"-h", "--help"}:
            args = ["run", *args]
        return super().parse_args(context, args)


@click.group("release", cls=_RunByDefault)
def command() -> None:
    """Release counts, sums, means, quantiles and histograms of FILE, as a plan says.

    \b
    Examples:
      fastdp release init visits.parquet > release.toml
      fastdp release visits.parquet -p release.toml --explain
      fastdp release visits.parquet -p release.toml -o answers.parquet --ledger people.ledger
      fastdp release visits.parquet -p release.toml --chart
    """


@command.command("init")
@click.argument("source", metavar="FILE", type=click.Path(exists=True, allow_dash=True))
@INPUT_FORMAT
def init(source: str, *, input_format: str | None) -> None:
    """Print a commented release.toml for FILE, from its names and types only, never from its data.

    \b
    Examples:
      fastdp release init visits.parquet > release.toml
    """
    from fastdp.io.open import open_source
    from fastdp.queries.plans.template import skeleton

    click.echo(skeleton(open_source("release", source, input_format=input_format).schema), nl=False)


@command.command("run")
@click.argument("source", metavar="FILE", type=click.Path(exists=True, allow_dash=True))
@click.option(
    "-p", "--plan", "plan_path", required=True, type=click.Path(exists=True, dir_okay=False), help="release.toml"
)
@click.option("--sql", help="Ask this instead of the plan's queries; budget, bounds and persons are the plan's.")
@click.option("--keys", help='The groups of --sql: "select", or a file that lists them.')
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="The table to write: .parquet, .arrow or .csv.")
@click.option("--html", type=click.Path(dir_okay=False), help="A page with answers, intervals and pictures.")
@RECEIPT
@LEDGER
@click.option("--name", default="", help="What the release is called in the ledger.")
@LEVEL
@INPUT_FORMAT
@click.option(
    "--explain", "-n", "--dry-run", "explain", is_flag=True, help="Say what it would cost and tell; spend nothing."
)
@click.option("--chart", is_flag=True, help="Draw bars.")
@click.option("--top", type=click.IntRange(min=1), default=20, show_default=True, help="Groups shown of each answer.")
@click.option("--force", is_flag=True, help="Replace existing outputs.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but the results.")
def run(source: str, plan_path: str, **options: Any) -> None:
    """Release answers about FILE, as release.toml says.

    FILE is a Parquet, Arrow or CSV file, a folder of Parquet files, or "-" for standard input. Everything is checked
    and the ledger is charged before any noise is drawn; outputs appear when they are complete.

    \b
    Examples:
      fastdp release visits.parquet -p release.toml --explain
      fastdp release visits.parquet -p release.toml -o answers.parquet --ledger people.ledger
      fastdp release visits/ -p release.toml --html page.html --json
      fastdp release visits.csv -p release.toml --sql "select city, count(*) from t group by city" --keys select
    """
    from fastdp import validation
    from fastdp.cli.terminal.screen import progress
    from fastdp.queries.plans.plan import ReleasePlan
    from fastdp.queries.plans.run import Job, to_json

    level = validation.level("release", options["level"])
    plan = ReleasePlan.load(plan_path)
    if options["sql"]:
        plan = _with_sql(plan, options["sql"], options["keys"])
    elif options["keys"]:
        raise click.UsageError("--keys belongs to --sql; the plan has its own")
    job = Job(plan, source, input_format=options["input_format"])
    if options["explain"]:
        _explain(job, level, as_json=options["as_json"])
        return
    writers = _check(options, source, plan_path)
    with progress(quiet=options["quiet"], doing="reading") as update:
        answers = job.run(ledger=options["ledger"], name=options["name"], progress=update)
    _write(answers, writers, level, force=options["force"])
    if options["as_json"]:
        click.echo(to_json(answers, level), nl=False)
    elif not options["quiet"] or not writers:
        show(answers, level, top=options["top"], chart=options["chart"])


def _with_sql(plan: ReleasePlan, text: str, keys: str | None) -> ReleasePlan:
    """The plan with the question of a statement."""
    from fastdp.queries.plans.plan import ReleasePlan
    from fastdp.queries.plans.sql import read_sql

    query = read_sql(text)
    if keys is not None:
        query |= {"keys": keys} if keys == "select" else {"keys_file": keys}
    own = plan.to_dict()
    changed = ReleasePlan(queries=[query], budget=own["budget"], source=own["source"], columns=own["columns"])
    object.__setattr__(changed, "ledger", plan.ledger)
    return changed


def _explain(job: Job, level: float, *, as_json: bool) -> None:
    from fastdp.queries.plans.explain import in_words, table

    lines, privacy = job.explain(level), job.privacy
    if as_json:
        clean = [{key: None if value != value else value for key, value in line.items()} for line in lines]  # noqa: PLR0124
        stated = {"epsilon": privacy.epsilon, "delta": privacy.delta, "rho": privacy.rho, "unit": privacy.unit}
        click.echo(json.dumps({"level": level, "guarantee": stated, "answers": clean}, indent=2))
        return
    for line in table(lines, level):
        click.echo(line)
    click.echo(f"\nThe release costs {in_words(privacy)}. Nothing was read but the schema, and nothing was spent.")


def _check(options: dict[str, Any], source: str, plan_path: str) -> dict[str, Path]:
    """Where outputs go, refused before anything is spent."""
    from fastdp.cli.files import check_outputs, check_table_name
    from fastdp.io.sinks import receipt_path

    paths: dict[str, Path] = {}
    if options["output"]:
        paths["output"] = Path(options["output"])
        check_table_name("-o", paths["output"])
        paths["receipt"] = Path(options["receipt"]) if options["receipt"] else receipt_path(paths["output"])
    elif options["receipt"]:
        paths["receipt"] = Path(options["receipt"])
    if options["html"]:
        paths["html"] = Path(options["html"])
    inputs = {"input": source, "plan": plan_path, "ledger": options["ledger"]}
    check_outputs("release", list(paths.values()), inputs, force=options["force"])
    return paths


def _write(answers: ReleaseAnswers, paths: dict[str, Path], level: float, *, force: bool) -> None:
    from fastdp.cli.files import Writer, page_writer, table_writer, write_together

    writers: dict[Path, Writer] = {}
    if "output" in paths:
        from fastdp.io.stamps import METADATA_KEY

        table = answers.to_arrow(level).replace_schema_metadata({METADATA_KEY: answers.receipt.to_json()})
        writers[paths["output"]] = table_writer(paths["output"], table)
    if "receipt" in paths:
        writers[paths["receipt"]] = page_writer(answers.receipt.to_json())
    if "html" in paths:
        from fastdp.report.release import release_page

        writers[paths["html"]] = page_writer(release_page(answers, level=level))
    if writers:
        write_together("release", writers, force=force)


def show(answers: ReleaseAnswers, level: float, *, top: int, chart: bool) -> None:
    """The answers on standard output, the first ``top`` groups of each."""
    import sys

    from fastdp.cli.terminal.screen import draw_bar, draws_blocks, in_digits
    from fastdp.queries.plans.explain import in_words
    from fastdp.validation import visible_text

    for query, found in answers.items():
        click.echo(visible_text(query))
        for answer in found.values():
            rows = answer.to_arrow(level).to_pylist()
            names = list(rows[0])[:-4] if rows else []
            longest = max([abs(row["value"]) for row in rows], default=0.0) or 1.0
            for row in rows[:top]:
                key = ", ".join(visible_text(str(row[name])) for name in names)
                ends = "" if row["low"] is None else f"[{in_digits(row['low'])}, {in_digits(row['high'])}]"
                bar = ""
                if chart:
                    part = max(0.0, row["value"] / longest)
                    bar = draw_bar(part, part, 30, blocks=draws_blocks(sys.stdout))
                line = f"  {visible_text(answer.name):<20} {key:<24} {in_digits(row['value']):>14}  {ends:<28} {bar}"
                click.echo(line.rstrip())
            if len(rows) > top:
                click.echo(f"  and {len(rows) - top:,} more groups (--top, --json or -o for all)")
    click.echo(f"{100 * level:g} % intervals; the release costs {in_words(answers.privacy)}")
