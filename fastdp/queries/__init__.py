"""Central releases: counts, sums, means, quantiles, marginals; bounded per person, exact in integers, with intervals.

``unit`` knows every sensitivity; ``data/`` turns rows into bounded integer sums; ``tasks/`` are the kinds of queries;
``answers/`` holds noise, intervals and what is released; ``plans/`` is release.toml and its run. Noise is drawn in
``tasks/``, after the ledger was charged.
"""

from fastdp.queries import release

__all__ = ["release"]
