"""Rows into parts by person: each person's rows end up in one part, whatever the order they came in.

A record is a row as uint64 words: the keyed image of its person; its key's code, and the step of the first column below
it; then two steps per word. Whatever follows from these, such as priorities, is computed when a part is in the caches:
memory is what this pass waits for (24 -> 16 bytes: 7.2 -> 4 ns per row).
"""

from __future__ import annotations

import numpy as np

from fastdp.kernels.jit import kernel
from fastdp.kernels.persons.mixing import mix

_HALF, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)


@kernel
def count_parts(persons, codes, key, shift, counts):
    """Add the number of rows in each part to ``counts``; rows with a negative code are dropped.

    Pre:  the part of a person is the top bits of its image, above ``shift``; shift is below 64.
    """
    for i in range(persons.size):
        counts[mix(np.uint64(persons[i]), key) >> shift] += np.int64(codes[i] >= 0)


@kernel
def scatter_rows(persons, codes, steps, key, shift, places, records):
    """Write the record of each row to its part.

    Pre:  places[p] is where the next record of part p goes; records is uint64[rows, 2 + steps.shape[0] // 2].
    """
    columns = steps.shape[0]
    for i in range(persons.size):
        code = codes[i]
        if code < 0:
            continue
        image = mix(np.uint64(persons[i]), key)
        part = image >> shift
        at = places[part]
        places[part] = at + 1
        records[at, 0] = image
        word = np.uint64(code) << _HALF
        if columns:
            word |= np.uint64(steps[0, i]) & _LOW
        records[at, 1] = word
        for j in range(1, columns, 2):
            word = np.uint64(steps[j, i]) & _LOW
            if j + 1 < columns:
                word |= np.uint64(steps[j + 1, i]) << _HALF
            records[at, 2 + (j - 1) // 2] = word
