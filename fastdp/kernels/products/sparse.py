"""Products with a matrix of which only the entries above 0 are stored, output by output.

Where the inputs of an output mostly stand side by side, as values near each other do, they are stored as runs: then
vectors are read and written where entries would be looked up one by one, at four times the speed.
"""

from __future__ import annotations

from fastdp.kernels.jit import kernel, summed
from fastdp.kernels.products.likelihood import sum_logs, weigh


@summed
def _gather(inputs, entries, p):
    """The sum of entries times p at their inputs."""
    total = 0.0
    for i in range(entries.size):
        total += entries[i] * p[inputs[i]]
    return total


@kernel
def apply_forward(starts, inputs, entries, p, out):
    """Write the sums of entries times p for each output; its entries are those from starts[y] to starts[y + 1]."""
    for y in range(out.size):
        out[y] = _gather(inputs[starts[y] : starts[y + 1]], entries[starts[y] : starts[y + 1]], p)


@kernel
def apply_backward(starts, inputs, entries, w, out):
    """Write the sums of entries times w for each input."""
    out[:] = 0.0
    for y in range(w.size):
        for i in range(starts[y], starts[y + 1]):
            out[inputs[i]] += entries[i] * w[y]


@kernel
def step_sparse(starts, inputs, entries, listed, counts, p, d, out):
    """As ``step_dense``; listed are the outputs with counts, and there is no padding."""
    out[:] = 0.0
    for place in range(listed.size):
        first, last = starts[listed[place]], starts[listed[place] + 1]
        here, values = inputs[first:last], entries[first:last]
        d[place] = _gather(here, values, p)
        weight = weigh(counts[place], d[place])
        for i in range(values.size):
            out[here[i]] += values[i] * weight
    return sum_logs(counts, d)


@summed
def _multiply(entries, p):
    """The sum of entries times p."""
    total = 0.0
    for i in range(entries.size):
        total += entries[i] * p[i]
    return total


@kernel
def step_runs(starts, firsts, edges, entries, listed, counts, p, d, out):
    """As ``step_sparse``, by runs: output y has those from starts[y] to starts[y + 1], and run r the entries from
    edges[r] to edges[r + 1], of inputs firsts[r] and following.
    """
    out[:] = 0.0
    for place in range(listed.size):
        runs = range(starts[listed[place]], starts[listed[place] + 1])
        total = 0.0
        for run in runs:
            values = entries[edges[run] : edges[run + 1]]
            total += _multiply(values, p[firsts[run] : firsts[run] + values.size])
        d[place] = total
        weight = weigh(counts[place], total)
        for run in runs:
            values = entries[edges[run] : edges[run + 1]]
            here = out[firsts[run] : firsts[run] + values.size]
            for i in range(values.size):
                here[i] += values[i] * weight
    return sum_logs(counts, d)
