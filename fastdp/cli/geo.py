"""``fastdp geo``: a private heat map from a file of places, and the lecture's experiment."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    import pyarrow as pa

    from fastdp.locations.grid import Grid
    from fastdp.locations.survey import Survey

NO_REGION = (
    "say which region is mapped: --region SOUTH,NORTH,WEST,EAST (or x0,x1,y0,y1 with --x and --y). One taken from the "
    "data would tell where its outermost places are"
)


@click.command("geo")
@click.argument("source", metavar="[FILE]", required=False, type=click.Path(exists=True, allow_dash=True))
@click.option("--lat", "latitude", help="The column of latitudes.  [default: latitude]")
@click.option("--lon", "longitude", help="The column of longitudes.  [default: longitude]")
@click.option("--x", help="The column of x, in metres, instead of longitudes.")
@click.option("--y", help="The column of y, in metres, instead of latitudes.")
@click.option("--region", help="What is mapped: SOUTH,NORTH,WEST,EAST in degrees, or x0,x1,y0,y1 in metres.")
@click.option("--cell", help="The side of a cell, such as 250m.  [default: 250m; 150m for the experiment]")
@click.option("--epsilon", help='Epsilon per length, such as "ln(2)/100m".')
@click.option(
    "--mechanism", type=click.Choice(["planar", "grid"]), default="planar", show_default=True,
    help="Noise on points, or on the cells they are in.",
)  # fmt: skip
@click.option("--iterations", type=click.IntRange(min=1), default=300, show_default=True, help="Steps of the IBU map.")
@click.option(
    "--truth/--no-truth", default=False, show_default=True,
    help="Show the original and the errors against it. Then the report is NOT PRIVATE.",
)  # fmt: skip
@click.option(
    "--outside", type=click.Choice(["clamp", "drop"]), default="clamp", show_default=True,
    help="Move places outside the region onto its border, or leave them out (who is inside is then public).",
)  # fmt: skip
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="The report, an HTML page.")
@click.option(
    "--grids", type=click.Path(path_type=Path, dir_okay=False), help="The maps as a table: .arrow, .parquet or .csv."
)
@click.option("--experiment", type=click.Choice(["lecture"]), help="Repeat an experiment instead.")
@click.option(
    "--data", type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="The experiment's check-ins: a folder with san_francisco.csv and paris.csv; else they are synthetic.",
)  # fmt: skip
@click.option("--runs", type=click.IntRange(min=1), default=3, show_default=True, help="Runs of the experiment.")
@click.option("--force", is_flag=True, help="Replace existing outputs.")
@click.option(
    "-n", "--dry-run", is_flag=True, help="Check all that is given, print what would be done, read no points."
)
@click.option("--json", "as_json", is_flag=True, help="Print the numbers as JSON.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")
def command(
    source: str | None, *, experiment: str | None, output: Path | None, grids: Path | None, **given: Any
) -> None:
    """Sanitize the points in FILE, estimate the heat map from them, and write it as a self-contained page.

    FILE is Parquet, Arrow or CSV. Every point is moved by planar Laplace noise; the map is restored from these reports
    by inversion, by the iterative Bayesian update (IBU) and by the regularised default. It runs in little memory
    whatever the size of FILE.

    \b
    Examples:
      fastdp geo checkins.parquet --region 48.82,48.91,2.25,2.42 --cell 250m --epsilon "ln(2)/100m" -o map.html
      fastdp geo checkins.csv --lat lat --lon lng --region 37.70,37.81,-122.52,-122.37 --epsilon 2/km --grids map.arrow
      fastdp geo checkins.parquet --region 48.82,48.91,2.25,2.42 --epsilon "ln(2)/100m" --truth -o evaluation.html
      fastdp geo checkins.parquet --region 48.82,48.91,2.25,2.42 --epsilon "ln(2)/100m" --dry-run
      fastdp geo --experiment lecture --data gowalla -o lecture.html
    """
    if experiment is not None and source is not None:
        raise click.UsageError("an experiment takes its check-ins from --data, not from FILE")
    if experiment is None and source is None:
        raise click.UsageError("name a FILE of places, or --experiment lecture")
    if output is None and grids is None and not given["as_json"] and not given["dry_run"]:
        raise click.UsageError("say where to write: -o REPORT.html, --grids MAPS.arrow, or --json to print the numbers")
    from fastdp.cli.files import check_outputs, check_table_name

    if grids is not None:
        if experiment is not None:
            raise click.UsageError("--grids are of a FILE's maps; an experiment has a report, -o, and numbers, --json")
        check_table_name("--grids", grids)
    if experiment is not None and (given["epsilon"] or given["region"] or given["truth"]):
        raise click.UsageError("an experiment has its own epsilon and region, and always shows the truth")
    outputs = [path for path in (output, grids) if path is not None]
    inputs: dict[str, str | Path | None] = {"input": source}
    if given["data"] is not None:
        inputs |= {f"data's {path.name}": path for path in given["data"].glob("*.csv")}
    check_outputs("geo", outputs, inputs, force=given["force"])
    if source is None:
        _lecture(output, given)
    else:
        _survey(source, output, grids, given)


def _survey(source: str, output: Path | None, grids: Path | None, given: dict[str, Any]) -> None:
    if given["region"] is None:
        raise click.UsageError(NO_REGION)
    if given["epsilon"] is None:
        raise click.UsageError('say how private: --epsilon, such as "ln(2)/100m"')
    from fastdp.cli.files import Writer, page_writer, table_writer, write_together
    from fastdp.cli.terminal.screen import progress
    from fastdp.locations.survey import survey
    from fastdp.units.lengths import parse_rate

    columns = _columns(given)
    grid = _grid(given, on_globe=given["x"] is None)
    epsilon = parse_rate("geo", "epsilon", given["epsilon"])
    if given["dry_run"]:
        _explain(source, grid, columns, epsilon, given)
        return
    with progress(quiet=given["quiet"]) as update:
        found = survey(
            source, grid, epsilon=epsilon, columns=columns, mechanism=given["mechanism"],
            max_iterations=given["iterations"], truth=given["truth"], outside=given["outside"], progress=update,
        )  # fmt: skip
    writers: dict[Path, Writer] = {}
    if output is not None:
        from fastdp.report.survey import survey_page

        writers[output] = page_writer(survey_page(found, f"Heat map of {found.n:,} places"))
    if grids is not None:
        writers[grids] = table_writer(grids, _grids(found))
    write_together("geo", writers, force=given["force"])
    if given["as_json"]:
        click.echo(json.dumps(found.to_dict(), indent=2))
    if not given["quiet"]:
        _tell(found, list(writers))


def _explain(source: str, grid: Grid, columns: tuple[str, str], epsilon: float, given: dict[str, Any]) -> None:
    """What would be done."""
    from fastdp.locations.mechanisms import channel_on, make_mechanism
    from fastdp.locations.survey import cost_of_cell, describe_noise, open_places
    from fastdp.rounding import digits_up

    mechanism = make_mechanism(grid, given["mechanism"], epsilon)
    channel_on(grid, mechanism)  # refused here if it would be
    rows = open_places(source, columns).rows
    if given["as_json"]:
        click.echo(json.dumps({"places": rows, **describe_noise(mechanism, grid)}, indent=2))
        return
    places = "places" if rows is None else f"{rows:,} places"
    down, across = grid.shape
    click.echo(f"{places} would be reported through {type(mechanism).__name__}")
    cost = digits_up(cost_of_cell(mechanism, grid))
    click.echo(f"the guarantee: epsilon {cost} between places {grid.cell:g} {grid.unit} apart")
    click.echo(f"the map: {across} x {down} cells of {grid.cell:g} {grid.unit}")


def _columns(given: dict[str, Any]) -> tuple[str, str]:
    flat = (given["x"], given["y"])
    if flat == (None, None):
        return given["latitude"] or "latitude", given["longitude"] or "longitude"
    if None in flat or given["latitude"] or given["longitude"]:
        raise click.UsageError("give --x and --y, or --lat and --lon")
    return given["x"], given["y"]


def _grid(given: dict[str, Any], *, on_globe: bool) -> Grid:
    from fastdp.locations.grid import Grid

    try:
        ends = [float(part) for part in given["region"].split(",")]
    except ValueError:
        ends = []
    if len(ends) != 4:
        raise click.UsageError("--region must be four numbers with commas between them: SOUTH,NORTH,WEST,EAST")
    cell, pairs = given["cell"] or "250m", ((ends[0], ends[1]), (ends[2], ends[3]))
    if on_globe:
        return Grid.over(latitude=pairs[0], longitude=pairs[1], cell=cell)
    return Grid(x=pairs[0], y=pairs[1], cell=cell)


def _lecture(output: Path | None, given: dict[str, Any]) -> None:
    from fastdp.cli.files import page_writer, write_together
    from fastdp.locations.grid import Grid
    from fastdp.locations.lecture import CELL, CITIES, SIDE, lecture
    from fastdp.report.lecture import lecture_page, winners
    from fastdp.units.lengths import parse_length

    quiet = given["quiet"]
    cell = CELL if given["cell"] is None else parse_length("geo", "cell", given["cell"])
    if given["dry_run"]:
        Grid(x=(0, SIDE), y=(0, SIDE), cell=cell)  # refused here if it would be
        for city in CITIES:
            is_real = given["data"] is not None and (given["data"] / city.file).is_file()
            kind = "real" if is_real else "synthetic"
            click.echo(
                f"{city.name}: {kind} check-ins, {SIDE:g} x {SIDE:g} m in cells of {cell:g} m, {given['runs']} runs"
            )
        return
    show = None if quiet else lambda line: click.echo(line, err=True)
    results = lecture(given["data"], cell=cell, runs=given["runs"], callback=show)
    if output is not None:
        write_together("geo", {output: page_writer(lecture_page(results))}, force=given["force"])
    if given["as_json"]:
        click.echo(json.dumps([result.to_dict() for result in results], indent=2))
    if not quiet:
        for sentence in winners(results):
            click.echo(sentence, err=True)
        if output is not None:
            click.echo(f"wrote {output}", err=True)


def _grids(found: Survey) -> pa.Table:
    """A row per cell, and in the metadata what was promised."""
    from fastdp.locations.tables import grid_table

    privacy = found.mechanism.privacy
    notes = {
        "mechanism": type(found.mechanism).__name__, "epsilon": repr(privacy.epsilon), "unit": str(privacy.unit),
        "reports": str(found.n), "private": "yes" if found.is_private else "no",
    }  # fmt: skip
    return grid_table(found.grid, {"reports": found.counts, **found.maps}, notes)


def _tell(found: Survey, paths: list[Path]) -> None:
    from fastdp.locations.survey import cost_of_cell
    from fastdp.rounding import digits_up

    grid, cost = found.grid, digits_up(cost_of_cell(found.mechanism, found.grid))
    click.echo(f"{found.n:,} places sanitized: epsilon {cost} between places {grid.cell:g} {grid.unit} apart", err=True)
    if found.reports_outside:
        share = found.reports_outside / found.n
        click.echo(
            f"  {found.reports_outside:,} reports ({share:.1%}) lie on the border of the map or beyond it (--region)",
            err=True,
        )
    for name, errors in found.errors.items():
        moved = "" if errors.wasserstein is None else f", {errors.wasserstein:.0f} {grid.unit} off"
        click.echo(f"  {name:<10} total variation {errors.total_variation:.3f}{moved}", err=True)
    if not found.is_private:
        click.echo("the output is NOT PRIVATE: it holds the original", err=True)
    if paths:
        click.echo(f"wrote {' and '.join(str(path) for path in paths)}", err=True)
