"""Products with the channel of local hashing in cohorts, from a table of hashes.

Four cohorts at a time: their sums do not wait for each other, and each value is read and written once for all four.
"""

from __future__ import annotations

from fastdp.kernels.jit import inlined, kernel

STRIDE = 4


@inlined
def _add_one_by_hash(row, p, sums):
    for x in range(p.size):
        sums[row[x]] += p[x]


@kernel
def add_by_hash(hashes, p, out):
    """Add each value's p to the place of its hash, in each cohort.

    Pre:  hashes is uint16[cohorts, values], below out.shape[1].
    """
    whole = hashes.shape[0] - hashes.shape[0] % STRIDE
    for c in range(0, whole, STRIDE):
        r0, r1, r2, r3 = hashes[c], hashes[c + 1], hashes[c + 2], hashes[c + 3]
        s0, s1, s2, s3 = out[c], out[c + 1], out[c + 2], out[c + 3]
        for x in range(p.size):
            value = p[x]
            s0[r0[x]] += value
            s1[r1[x]] += value
            s2[r2[x]] += value
            s3[r3[x]] += value
    for c in range(whole, hashes.shape[0]):
        _add_one_by_hash(hashes[c], p, out[c])


@kernel
def add_of_hash(hashes, w, out):
    """Add to each value what stands at the place of its hash, in each cohort."""
    whole = hashes.shape[0] - hashes.shape[0] % STRIDE
    for c in range(0, whole, STRIDE):
        r0, r1, r2, r3 = hashes[c], hashes[c + 1], hashes[c + 2], hashes[c + 3]
        w0, w1, w2, w3 = w[c], w[c + 1], w[c + 2], w[c + 3]
        for x in range(out.size):
            out[x] += (w0[r0[x]] + w1[r1[x]]) + (w2[r2[x]] + w3[r3[x]])
    for c in range(whole, hashes.shape[0]):
        row, values = hashes[c], w[c]
        for x in range(out.size):
            out[x] += values[row[x]]
