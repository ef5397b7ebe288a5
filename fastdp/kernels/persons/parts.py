"""Rows into parts by person: each person's rows end up in one part, whatever the order they came in.

A record is a row as uint64 words: the keyed image of its person; its priority; its key's code, and the step of the
first column below it; then two steps per word. The priority is a keyed bijection of the key's tag, another one for
each person: one order that puts a person's equal keys together and the groups in random order.
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
        counts[mix(persons[i], key) >> shift] += np.int64(codes[i] >= 0)


@kernel
def scatter_rows(persons, seeds, codes, tags, steps, key, priority_key, shift, places, records):
    """Write the record of each row to its part.

    ``seeds`` names the person for its priorities, as ``persons`` does for its identity: where persons are codes, which
    depend on the order of rows, seeds must not.

    Pre:  places[p] is where the next record of part p goes; records is uint64[rows, 3 + steps.shape[0] // 2]; a code
          is its own tag if ``tags`` is empty.
    """
    columns = steps.shape[0]
    has_tags = tags.size > 0
    for i in range(persons.size):
        code = codes[i]
        if code < 0:
            continue
        image = mix(persons[i], key)
        part = image >> shift
        at = places[part]
        places[part] = at + 1
        records[at, 0] = image
        records[at, 1] = mix(np.uint64(tags[code]) if has_tags else np.uint64(code), priority_key ^ mix(seeds[i], key))
        word = np.uint64(code) << _HALF
        if columns:
            word |= np.uint64(steps[0, i]) & _LOW
        records[at, 2] = word
        for j in range(1, columns, 2):
            word = np.uint64(steps[j, i]) & _LOW
            if j + 1 < columns:
                word |= np.uint64(steps[j + 1, i]) << _HALF
            records[at, 3 + (j - 1) // 2] = word
