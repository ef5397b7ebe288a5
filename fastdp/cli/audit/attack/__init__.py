"""``fastdp audit attack``: the attacks of the literature on a file, beside their closed forms."""

from fastdp.cli.audit.attack import numbers as numbers
from fastdp.cli.audit.attack import records as records
from fastdp.cli.audit.attack.command import command as command
