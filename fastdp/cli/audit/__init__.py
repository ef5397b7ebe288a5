"""``fastdp audit``: what a mechanism, an anonymized table, a decision or a release gives away."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from typing import ClassVar

import click

from fastdp.cli.main import LazyGroup

COMMANDS = {
    "epsilon": "Prove a lower bound on the epsilon of a mechanism from its outputs.",
    "attack": "Run an attack of the literature on a release, beside its closed form.",
    "anonymity": "Count the classes of a table: k, l, t, and the risk of being found.",
    "fairness": "Compare the decisions about groups, with intervals that cover.",
}


class AuditGroup(LazyGroup):
    """The audits, one module each."""

    package = __name__
    parts: ClassVar[Mapping[str, str]] = {
        name: text for name, text in COMMANDS.items() if importlib.util.find_spec(f"{__name__}.{name}")
    }


@click.group("audit", cls=AuditGroup)
def command() -> None:
    """Measure what a mechanism, a table or a release gives away.

    \b
    Examples:
      fastdp audit epsilon "Laplace(epsilon=1, sensitivity=1)" 0 1
      fastdp audit attack reconstruction --size 1e6
    """
