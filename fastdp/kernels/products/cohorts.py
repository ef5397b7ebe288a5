"""Products with the channel of local hashing in cohorts, from a table of joint hashes.

A few cohorts share one joint hash, the number whose digits to base g are theirs: one step for each value does the work
of one for each value and cohort, and neighbours seldom wait for the same place. Going from joint hashes to those of the
cohorts costs no more than there are joint hashes.
"""

from __future__ import annotations

from fastdp.kernels.jit import inlined, kernel

MOST_JOINT = 256
"""Joint hashes of a set of cohorts: 2 KiB of sums, which stay in the first-level cache."""
STRIDE = 4
"""Sets of cohorts at a time: each value is read and written once for all of them."""


def cohorts_joined(g: int) -> int:
    """How many cohorts share a joint hash."""
    joined = 1
    while g > 1 and g ** (joined + 1) <= MOST_JOINT:
        joined += 1
    return joined


@inlined
def _add_joint(row, p, sums):
    for x in range(p.size):
        sums[row[x]] += p[x]


@inlined
def _fold(sums, out):
    """Add sums by joint hash to the sums of each cohort; the sums are used up.

    Each cohort takes the last digit off what is left.
    """
    left = sums.size
    for cohort in range(out.shape[0]):
        g = out.shape[1]
        left //= g
        for rest in range(left):
            total = 0.0
            for digit in range(g):
                value = sums[rest * g + digit]
                out[cohort, digit] += value
                total += value
            sums[rest] = total


@inlined
def _unfold(w, sums):
    """Write for each joint hash the sum of what stands at its digits, the first cohort's being the last."""
    g, count = w.shape[1], 1
    sums[0] = 0.0
    for cohort in range(w.shape[0] - 1, -1, -1):
        for rest in range(count - 1, -1, -1):
            base = sums[rest]
            for digit in range(g):
                sums[rest * g + digit] = base + w[cohort, digit]
        count *= g


@kernel
def add_by_hash(joint, joined, p, sums, out):
    """Add each value's p to the place of its hash, in each cohort.

    Pre:  joint is uint16[sets, values]; set i is of cohorts i * joined and following, as many as there are up to
          joined, and joint[i] is the number whose digits to base out.shape[1] are their hashes, the first one the
          last digit. sums is scratch, float64[STRIDE, g ** joined].
    """
    for i in range(joint.shape[0]):
        here = out[i * joined : (i + 1) * joined]
        places = sums[0][: out.shape[1] ** here.shape[0]]
        places[:] = 0.0
        _add_joint(joint[i], p, places)
        _fold(places, here)


@kernel
def add_of_hash(joint, joined, w, sums, out):
    """Add to each value what stands at the place of its hash, in each cohort; as ``add_by_hash`` otherwise."""
    sets = joint.shape[0]
    whole = sets - sets % STRIDE
    for first in range(0, whole, STRIDE):
        for i in range(STRIDE):
            _unfold(w[(first + i) * joined : (first + i + 1) * joined], sums[i])
        r0, r1, r2, r3 = joint[first], joint[first + 1], joint[first + 2], joint[first + 3]
        s0, s1, s2, s3 = sums[0], sums[1], sums[2], sums[3]
        for x in range(out.size):
            out[x] += (s0[r0[x]] + s1[r1[x]]) + (s2[r2[x]] + s3[r3[x]])
    for i in range(whole, sets):
        _unfold(w[i * joined : (i + 1) * joined], sums[0])
        row, values = joint[i], sums[0]
        for x in range(out.size):
            out[x] += values[row[x]]
