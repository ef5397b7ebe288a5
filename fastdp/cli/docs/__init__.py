"""``fastdp docs``: the site of the documentation, which lives in a checkout and is not installed."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import webbrowser
from pathlib import Path

import click

import fastdp


class NoSiteError(click.ClickException):
    """The site, or what makes it, is not here."""

    exit_code = 5


@click.command("docs")
@click.option("--build", is_flag=True, help="Make the site first; needs the extra docs.")
@click.option("--path", "show", is_flag=True, help="Print where the site lies; open nothing.")
def command(*, build: bool, show: bool) -> None:
    """Open the built site of the documentation in a browser.

    Works in a checkout of the repository. Every script of the tutorial, the lectures and the examples runs while the
    site is made, which takes a minute or two.

    \b
    Examples:
      fastdp docs --build
      fastdp docs --path
    """
    root = find_sources()
    page = root / "site" / "index.html"
    if build:
        make(root)
    if not page.is_file():
        raise NoSiteError(f"docs: {str(page)!r} is not there yet; make it with: fastdp docs --build")
    click.echo(str(page))
    if not show:
        webbrowser.open(page.as_uri())


def find_sources() -> Path:
    """The checkout that this package is used from in place, else the one that this is run in."""
    for root in (Path(fastdp.__file__).parent.parent, *(here := Path.cwd(), *here.parents)):
        if (root / "mkdocs.yml").is_file() and (root / "docs" / "site" / "hooks.py").is_file():
            return root
    raise NoSiteError("docs: the documentation is not installed with fastdp; run this in a checkout of its repository")


def make(root: Path) -> None:
    """Build the site; every warning is an error."""
    for module in ("mkdocs", "material", "mkdocstrings"):
        if importlib.util.find_spec(module) is None:
            raise NoSiteError(f"docs: needs {module}; install it with: pip install --editable '.[docs]'")
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    if subprocess.run(words, cwd=root, check=False).returncode:  # noqa: S603 - the words are our own
        raise NoSiteError("docs: the site could not be made")
