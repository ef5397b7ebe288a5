"""Products with the channel of local hashing in cohorts, from a table of hashes."""

from __future__ import annotations

from fastdp.kernels.jit import kernel


@kernel
def add_by_hash(hashes, p, out):
    """Add each value's p to the place of its hash, in each cohort.

    Pre:  hashes is uint16[cohorts, values], below out.shape[1].
    """
    for cohort in range(hashes.shape[0]):
        row, sums = hashes[cohort], out[cohort]
        for x in range(p.size):
            sums[row[x]] += p[x]


@kernel
def add_of_hash(hashes, w, out):
    """Add to each value what stands at the place of its hash, in each cohort."""
    for cohort in range(hashes.shape[0]):
        row, values = hashes[cohort], w[cohort]
        for x in range(out.size):
            out[x] += values[row[x]]
