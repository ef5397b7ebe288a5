"""The command line: thin over the package; each subcommand is imported when it runs."""

from fastdp.cli.main import main

__all__ = ["main"]
