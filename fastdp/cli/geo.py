"""``fastdp geo``: a private heat map from a file of places, and the lecture's experiment."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
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
    "--grids", type=click.Path(path_type=Path, dir_okay=False), help="The maps as a table: .arrow, or else .parquet."
)
@click.option("--experiment", type=click.Choice(["lecture"]), help="Repeat an experiment instead.")
@click.option(
    "--data", type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="The experiment's check-ins: a folder with san_francisco.csv and paris.csv; else they are synthetic.",
)  # fmt: skip
@click.option("--runs", type=click.IntRange(min=1), default=3, show_default=True, help="Runs of the experiment.")
@click.option("--force", is_flag=True, help="Replace existing outputs.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")
def command(source: str | None, *, experiment: str | None, output: Path | None, **given: Any) -> None:
    """Sanitize the places in FILE, win the heat map back, and write it as a page that needs nothing but itself.

    FILE is Parquet, Arrow or CSV. Every place is moved by planar Laplace noise; the map is restored from these reports
    by inversion, by the iterative Bayesian update (IBU) and by the regularised default. It runs in little memory
    whatever the size of FILE.

    \b
    Examples:
      fastdp geo checkins.parquet --region 48.82,48.91,2.25,2.42 --cell 250m --epsilon "ln(2)/100m" -o map.html
      fastdp geo checkins.csv --lat lat --lon lng --region 37.70,37.81,-122.52,-122.37 --epsilon 2/km --grids map.arrow
      fastdp geo checkins.parquet --region 48.82,48.91,2.25,2.42 --epsilon "ln(2)/100m" --truth -o evaluation.html
      fastdp geo --experiment lecture --data gowalla -o lecture.html
    """
    from fastdp.tables.atomic import check_free

    for path in (output, given["grids"]):
        if path is not None:
            check_free(path, force=given["force"])
    if experiment is not None:
        if source is not None:
            raise click.UsageError("an experiment takes its check-ins from --data, not from FILE")
        _lecture(output, given)
    else:
        if source is None:
            raise click.UsageError("name a FILE of places, or --experiment lecture")
        _survey(source, output, given)


def _survey(source: str, output: Path | None, given: dict[str, Any]) -> None:
    if output is None and given["grids"] is None:
        raise click.UsageError("say where to write: -o REPORT.html or --grids MAPS.arrow")
    if given["region"] is None:
        raise click.UsageError(NO_REGION)
    if given["epsilon"] is None:
        raise click.UsageError('say how private: --epsilon, such as "ln(2)/100m"')
    from fastdp.cli.terminal import progress
    from fastdp.locations.survey import survey
    from fastdp.quantities import parse_rate

    columns = _columns(given)
    grid = _grid(given, on_globe=given["x"] is None)
    with progress(quiet=given["quiet"]) as update:
        found = survey(
            source, grid, epsilon=parse_rate("geo", "epsilon", given["epsilon"]), columns=columns,
            mechanism=given["mechanism"], iterations=given["iterations"], truth=given["truth"],
            outside=given["outside"], progress=update,
        )  # fmt: skip
    if output is not None:
        from fastdp.report.survey import survey_page

        page = survey_page(found, f"Heat map of {found.n:,} places")
        _write(output, lambda file: file.write(page.encode()), force=given["force"])
    if given["grids"] is not None:
        _write_grids(given["grids"], found, force=given["force"])
    if not given["quiet"]:
        _tell(found, [path for path in (output, given["grids"]) if path is not None])


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
    if output is None:
        raise click.UsageError("say where to write: -o REPORT.html")
    from fastdp.locations.lecture import CELL, lecture
    from fastdp.quantities import parse_length
    from fastdp.report.lecture import lecture_page, winners

    quiet = given["quiet"]
    cell = CELL if given["cell"] is None else parse_length("geo", "cell", given["cell"])
    told = None if quiet else lambda what: click.echo(what, err=True)
    results = lecture(given["data"], cell=cell, runs=given["runs"], told=told)
    page = lecture_page(results)
    _write(output, lambda file: file.write(page.encode()), force=given["force"])
    if not quiet:
        for sentence in winners(results):
            click.echo(sentence, err=True)
        click.echo(f"wrote {output}", err=True)


def _write(path: Path, write: Callable[[IO[bytes]], Any], *, force: bool) -> None:
    """A file that appears whole or not at all."""
    from fastdp.tables.atomic import AtomicFile

    file = AtomicFile(path, force=force)
    try:
        write(file.file)
        file.flush()
        file.commit()
        file.settle()
    finally:
        file.discard()


def _write_grids(path: Path, found: Survey, *, force: bool) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from fastdp.locations.tables import grid_table

    privacy = found.mechanism.privacy
    notes = {
        "mechanism": type(found.mechanism).__name__, "epsilon": repr(privacy.epsilon), "unit": str(privacy.unit),
        "reports": str(found.n), "private": "yes" if found.is_private else "no",
    }  # fmt: skip
    table = grid_table(found.grid, {"reports": found.counts, **found.maps}, notes)

    def write(file: IO[bytes]) -> None:
        if path.suffix in {".arrow", ".feather"}:
            with pa.ipc.new_file(file, table.schema) as writer:
                writer.write_table(table)
        else:
            pq.write_table(table, file)

    _write(path, write, force=force)


def _tell(found: Survey, paths: list[Path]) -> None:
    cell, unit, noise = found.grid.cell, found.grid.unit, found.mechanism
    cost = noise.epsilon_at(cell) if hasattr(noise, "epsilon_at") else noise.privacy.epsilon * cell
    click.echo(f"{found.n:,} places sanitized: epsilon {cost:.4f} between places {cell:g} {unit} apart", err=True)
    for name, errors in found.errors.items():
        moved = "" if errors.wasserstein is None else f", {errors.wasserstein:.0f} {unit} off"
        click.echo(f"  {name:<10} total variation {errors.total_variation:.3f}{moved}", err=True)
    if not found.is_private:
        click.echo("the output is NOT PRIVATE: it holds the original", err=True)
    click.echo(f"wrote {' and '.join(str(path) for path in paths)}", err=True)
